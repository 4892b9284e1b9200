//! Tests of the `ConsumerProtocol` decoder and encoder.

use super::*;

/// Version 1 over a body of version 0: no topics, no user data.
const OLDER_BODY: [u8; 10] = [0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];

#[test]
fn only_the_tolerant_reader_accepts_an_older_body() {
    let error = decode_subscription(&OLDER_BODY, false).unwrap_err();
    assert_eq!(error.to_string(), "4 bytes are needed and 0 remain at offset 10 while reading owned_partitions");
    let read = decode_subscription(&OLDER_BODY, true).unwrap();
    assert_eq!((read.version, read.tolerated, read.body_version()), (1, Some(0), 0));
}

#[test]
fn the_tolerant_reader_rejects_truncated_bodies() {
    for cut in 0..OLDER_BODY.len() {
        assert!(decode_subscription(&OLDER_BODY[..cut], true).is_err(), "{cut}");
    }
}

#[test]
fn every_truncation_of_an_assignment_is_an_error() {
    let whole = [0, 0, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff];
    let assignment = decode_assignment(&whole).unwrap();
    assert_eq!(assignment.to_assignment().assigned_partitions, [entry("t", &[7])]);
    for cut in 0..whole.len() {
        assert!(decode_assignment(&whole[..cut]).is_err(), "{cut}");
    }
}

fn entry(topic: &str, partitions: &[i32]) -> TopicPartitions {
    TopicPartitions { topic: topic.into(), partitions: partitions.to_vec() }
}

fn subscription(version: i16) -> Subscription {
    Subscription {
        version,
        topics: ["b", "\u{ff5e}", "\u{1f600}", "b"].map(str::to_owned).to_vec(),
        user_data: Some(vec![]),
        owned_partitions: vec![entry("u", &[3, 1]), entry("t", &[2]), entry("none", &[]), entry("u", &[2, 1])],
        generation_id: 5,
        rack_id: Some("r".into()),
    }
}

#[test]
fn an_encoded_subscription_is_sorted_and_grouped() {
    let bytes = encode_subscription(&subscription(7)).unwrap();
    let written = decode_subscription(&bytes, false).unwrap().to_subscription();
    let expected = Subscription {
        version: 3,
        topics: ["b", "b", "\u{1f600}", "\u{ff5e}"].map(str::to_owned).to_vec(),
        owned_partitions: vec![entry("t", &[2]), entry("u", &[1, 1, 2, 3])],
        ..subscription(3)
    };
    assert_eq!(written, expected);
    assert_eq!(encode_subscription(&written), encode_subscription(&expected));
}

#[test]
fn a_field_newer_than_the_version_is_left_out() {
    let sizes: Vec<_> = (0..4).map(|version| encode_subscription(&subscription(version)).unwrap().len()).collect();
    assert_eq!(sizes, [2 + 4 + 3 + 3 + 6 + 5 + 4, 27 + 4 + 11 + 23, 65 + 4, 69 + 3]);
}

#[test]
fn an_assignment_keeps_its_order_and_is_grouped() {
    let partitions = vec![entry("u", &[3, 1]), entry("t", &[2]), entry("u", &[3])];
    let given = Assignment { version: 3, assigned_partitions: partitions, user_data: None };
    let bytes = encode_assignment(&given).unwrap();
    let written = decode_assignment(&bytes).unwrap();
    let grouped = vec![entry("u", &[3, 1, 3]), entry("t", &[2])];
    assert_eq!(written.to_assignment(), Assignment { assigned_partitions: grouped, ..given });
}

#[test]
fn encoding_errors_name_the_field() {
    let error = encode_subscription(&subscription(-1)).unwrap_err();
    assert_eq!(error.to_string(), "version -1 is negative while writing version");
    let partitions = vec![entry("t", &[0]), entry(&"é".repeat(16_384), &[0])];
    let error = encode_assignment(&Assignment { version: 0, assigned_partitions: partitions, user_data: None });
    assert_eq!(error.unwrap_err().field, "partitions[1].topic");
}

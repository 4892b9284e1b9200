//! `ConsumerProtocol` messages: conformance with Kafka's answers in `tests/vectors/wire_*`, and round trips of drawn bytes.
//!
//! `tests/conformance/test_wire.py` tests the same through Python.

use std::fs::File;
use std::io::{BufRead, BufReader};

use assignor::error::WireError;
use assignor::wire::{
    Assignment, Subscription, TopicPartitions, decode_assignment, decode_subscription, encode_assignment,
    encode_subscription,
};
use flate2::read::GzDecoder;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

fn bytes(hex: &Value) -> Option<Vec<u8>> {
    let hex = hex.as_str()?;
    Some((0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect())
}

fn partitions(pairs: &Value) -> Vec<TopicPartitions> {
    let entry = |pair: &Value| TopicPartitions {
        topic: pair[0].as_str().unwrap().to_owned(),
        partitions: vec![pair[1].as_i64().unwrap() as i32],
    };
    pairs.as_array().unwrap().iter().map(entry).collect()
}

fn version(case: &Value) -> i16 {
    case["version"].as_i64().map_or(3, |version| version as i16)
}

fn subscription(version: i16, fields: &Value) -> Subscription {
    Subscription {
        version,
        topics: fields["topics"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
        user_data: bytes(&fields["user_data"]),
        owned_partitions: partitions(&fields["owned"]),
        generation_id: fields["generation"].as_i64().map_or(-1, |generation| (generation as i32).max(-1)),
        rack_id: fields["rack"].as_str().map(str::to_owned),
    }
}

fn assignment(version: i16, fields: &Value) -> Assignment {
    Assignment {
        version,
        assigned_partitions: partitions(&fields["partitions"]),
        user_data: bytes(&fields["user_data"]),
    }
}

fn written(case: &Value) -> Result<Vec<u8>, WireError> {
    match case["kind"].as_str() {
        Some("subscription") => encode_subscription(&subscription(version(case), &case["object"])),
        _ => encode_assignment(&assignment(version(case), &case["object"])),
    }
}

/// Return topics with one partition each, in the format of the vectors.
fn single(entries: &[TopicPartitions]) -> Vec<TopicPartitions> {
    let pairs = entries.iter().flat_map(|entry| entry.partitions.iter().map(|id| (&entry.topic, *id)));
    pairs.map(|(topic, id)| TopicPartitions { topic: topic.clone(), partitions: vec![id] }).collect()
}

fn assert_read(case: &Value, data: &[u8]) {
    let (name, decoded) = (&case["name"], &case["decoded"]);
    if case["kind"] == "subscription" {
        match decode_subscription(data, false) {
            Err(error) => assert!(decoded.is_null(), "{name}: {error}"),
            Ok(read) => {
                let mut read = read.to_subscription();
                read.owned_partitions = single(&read.owned_partitions);
                read.generation_id = read.generation_id.max(-1);
                read.rack_id = read.rack_id.filter(|rack| !rack.is_empty());
                assert_eq!(subscription(read.version, decoded), read, "{name}");
            }
        }
        return;
    }
    match decode_assignment(data) {
        Err(error) => assert!(decoded.is_null(), "{name}: {error}"),
        Ok(read) => {
            let mut read = read.to_assignment();
            read.assigned_partitions = single(&read.assigned_partitions);
            assert_eq!(assignment(read.version, decoded), read, "{name}");
        }
    }
}

#[test]
fn messages_are_decoded_and_encoded_as_in_kafka() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/wire_visible.jsonl.gz");
    let mut counts = [0, 0];
    for line in BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines() {
        let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let data = bytes(&case["hex"]);
        let encodes = case["do"] == "encode";
        counts[usize::from(encodes)] += 1;
        if encodes {
            assert_eq!(data, written(&case).ok(), "{}", case["name"]);
        }
        if let Some(data) = data {
            assert_read(&case, &data);
        }
    }
    assert_eq!([400, 320], counts);
}

/// Draw bytes that are mostly zero or small, so that some can be decoded.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![6 => Just(0_u8), 2 => 1..4_u8, 1 => any::<u8>()], 0..80)
}

proptest! {
    #[test]
    fn decoded_messages_round_trip(data in any_bytes()) {
        for tolerant in [false, true] {
            if let Ok(read) = decode_subscription(&data, tolerant) {
                let once = encode_subscription(&read.to_subscription()).unwrap();
                prop_assert_eq!(once.capacity(), once.len());
                let again = decode_subscription(&once, false).unwrap().to_subscription();
                prop_assert_eq!(&once, &encode_subscription(&again).unwrap());
            }
        }
        if let Ok(read) = decode_assignment(&data) {
            let once = encode_assignment(&read.to_assignment()).unwrap();
            prop_assert_eq!(once.capacity(), once.len());
            let again = decode_assignment(&once).unwrap().to_assignment();
            prop_assert_eq!(&once, &encode_assignment(&again).unwrap());
        }
    }
}

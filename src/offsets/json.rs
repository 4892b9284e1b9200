//! Records as JSON text, equal to the output of Kafka's own JSON converters: Jackson's compact form with its escapes.
//!
//! Byte arrays are base64. Uuids are URL-safe base64 without padding, as in `org.apache.kafka.common.Uuid`.

use std::fmt::Write;

use super::Value;
use super::protocol::MemberProtocol;
use crate::wire::{Assignment, Subscription, TopicPartitions};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Return a uuid in Kafka's text form, of 22 characters.
#[must_use]
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(22);
    push_base64(&mut text, uuid, URL_SAFE);
    text
}

/// Parse a uuid in Kafka's text form; return None for any other text.
#[must_use]
pub fn uuid_from_text(text: &str) -> Option<[u8; 16]> {
    let digit = |byte: &u8| URL_SAFE.iter().position(|digit| digit == byte).map(|digit| digit as u128);
    // 22 digits of 6 bits are 4 bits more than a uuid has; they are zero.
    let (last, digits) = text.as_bytes().split_last().filter(|(_, digits)| digits.len() == 21)?;
    let last = digit(last).filter(|digit| digit % 16 == 0)?;
    let number = digits.iter().try_fold(0, |number, byte| Some(number << 6 | digit(byte)?))?;
    Some((number << 2 | last >> 4).to_be_bytes())
}

/// Return a key or value as JSON.
#[must_use]
pub fn value_json(value: &Value) -> String {
    let mut out = String::with_capacity(128);
    push_value(&mut out, value);
    out
}

/// Return the decoded blobs of a group's members as JSON: `memberId`, then `subscriptionVersion` and `subscription`, then
/// `assignmentVersion` and `assignment`.
///
/// If a blob cannot be decoded, `subscriptionError` or `assignmentError` has the error. If the tolerant reader can decode the
/// subscription, its result follows with `subscriptionTolerated`, the version of the body. An empty blob is null and has no version.
#[must_use]
pub fn consumer_protocol_json(members: &[MemberProtocol<'_>]) -> String {
    let mut out = String::new();
    push_list(&mut out, members, push_member);
    out
}

fn push_member(out: &mut String, member: &MemberProtocol<'_>) {
    out.push_str("{\"memberId\":");
    push_string(out, member.member_id);
    if let Some(error) = &member.subscription_error {
        out.push_str(",\"subscriptionError\":");
        push_string(out, &error.to_string());
    }
    if let Some(subscription) = &member.subscription {
        push_number(out, ",\"subscriptionVersion\":", subscription.version);
        if let Some(tolerated) = subscription.tolerated {
            push_number(out, ",\"subscriptionTolerated\":", tolerated);
        }
        out.push_str(",\"subscription\":");
        push_subscription(out, subscription);
    } else if member.subscription_error.is_none() {
        out.push_str(",\"subscription\":null");
    }
    if let Some(error) = &member.assignment_error {
        out.push_str(",\"assignmentError\":");
        push_string(out, &error.to_string());
    } else if let Some(assignment) = &member.assignment {
        push_number(out, ",\"assignmentVersion\":", assignment.version);
        out.push_str(",\"assignment\":");
        push_assignment(out, assignment);
    } else {
        out.push_str(",\"assignment\":null");
    }
    out.push('}');
}

fn push_subscription(out: &mut String, subscription: &Subscription) {
    let body = subscription.body_version();
    out.push_str("{\"topics\":");
    push_list(out, &subscription.topics, |out, topic| push_string(out, topic));
    push_user_data(out, subscription.user_data.as_deref());
    if body >= 1 {
        out.push_str(",\"ownedPartitions\":");
        push_list(out, &subscription.owned_partitions, push_topic_partitions);
    }
    if body >= 2 {
        push_number(out, ",\"generationId\":", subscription.generation_id);
    }
    if body >= 3 {
        out.push_str(",\"rackId\":");
        match &subscription.rack_id {
            Some(rack) => push_string(out, rack),
            None => out.push_str("null"),
        }
    }
    out.push('}');
}

fn push_assignment(out: &mut String, assignment: &Assignment) {
    out.push_str("{\"assignedPartitions\":");
    push_list(out, &assignment.assigned_partitions, push_topic_partitions);
    push_user_data(out, assignment.user_data.as_deref());
    out.push('}');
}

fn push_user_data(out: &mut String, user_data: Option<&[u8]>) {
    out.push_str(",\"userData\":");
    match user_data {
        Some(bytes) => push_bytes(out, bytes),
        None => out.push_str("null"),
    }
}

fn push_topic_partitions(out: &mut String, entry: &TopicPartitions) {
    out.push_str("{\"topic\":");
    push_string(out, &entry.topic);
    out.push_str(",\"partitions\":");
    push_list(out, &entry.partitions, |out, partition| push_number(out, "", *partition));
    out.push('}');
}

fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Int(number) => push_number(out, "", *number),
        Value::String(text) => push_string(out, text),
        Value::Bytes(bytes) => push_bytes(out, bytes),
        Value::Uuid(uuid) => {
            out.push('"');
            push_base64(out, uuid, URL_SAFE);
            out.push('"');
        }
        Value::Array(items) => push_list(out, items, push_value),
        Value::Struct(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "\"" } else { ",\"" });
                out.push_str(name);
                out.push_str("\":");
                push_value(out, value);
            }
            out.push('}');
        }
    }
}

fn push_list<T>(out: &mut String, items: &[T], push: impl Fn(&mut String, &T)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(']');
}

fn push_number(out: &mut String, before: &str, number: impl Into<i64>) {
    out.push_str(before);
    let number = number.into();
    if number < 0 {
        out.push('-');
    }
    // Digits of an i64, the last one first.
    let mut digits = [b'0'; 19];
    let mut first = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        first -= 1;
        digits[first] += (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    push_ascii(out, &digits[first..]);
}

fn push_ascii(out: &mut String, text: &[u8]) {
    debug_assert!(text.is_ascii());
    out.push_str(str::from_utf8(text).unwrap_or_default());
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    out.push('"');
    push_base64(out, bytes, STANDARD);
    out.push_str(["", "==", "="][bytes.len() % 3]);
    out.push('"');
}

fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.push_str(text);
        out.push('"');
        return;
    }
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Append the base64 of `bytes`, without padding.
fn push_base64(out: &mut String, bytes: &[u8], alphabet: &[u8; 64]) {
    const GROUPS: usize = 64;
    out.reserve(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3 * GROUPS) {
        let mut text = [0; 4 * GROUPS];
        let mut length = 0;
        for group in part.chunks(3) {
            let mut three = [0; 3];
            three[..group.len()].copy_from_slice(group);
            let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
            for sextet in 0..=group.len() {
                text[length] = alphabet[((bits >> (18 - 6 * sextet)) & 0x3f) as usize];
                length += 1;
            }
        }
        push_ascii(out, &text[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, -7, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            let mut text = String::new();
            push_number(&mut text, "n", number);
            assert_eq!(format!("n{number}"), text);
        }
    }

    #[test]
    fn long_byte_arrays_are_encoded_in_parts() {
        let bytes: Vec<u8> = (0..1_000).map(|number| (number * 7) as u8).collect();
        for length in [0, 1, 2, 3, 191, 192, 193, 385, 1_000] {
            let mut whole = String::new();
            push_base64(&mut whole, &bytes[..length], STANDARD);
            let mut parts = String::new();
            for part in bytes[..length].chunks(3) {
                push_base64(&mut parts, part, STANDARD);
            }
            assert_eq!(parts, whole);
            assert_eq!((length * 8).div_ceil(6), whole.len());
        }
    }

    #[test]
    fn a_uuid_has_one_text() {
        let uuid = [0xfb, 0xf0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xff];
        assert_eq!(uuid_from_text(&uuid_text(&uuid)), Some(uuid));
        assert_eq!(uuid_from_text(&uuid_text(&[0xff; 16])), Some([0xff; 16]));
        for wrong in
            ["", "_____________________x", "____________________w", "______________________w", "+____________________w"]
        {
            assert_eq!(uuid_from_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn bytes_are_padded_and_uuids_are_not() {
        let texts: Vec<_> =
            [&b""[..], b"f", b"fo", b"foo", &[0xfb, 0xff]].map(|b| value_json(&Value::Bytes(b.to_vec()))).into();
        assert_eq!(texts, ["\"\"", "\"Zg==\"", "\"Zm8=\"", "\"Zm9v\"", "\"+/8=\""]);
        assert_eq!(uuid_text(&[0xff; 16]), "_____________________w");
    }

    #[test]
    fn text_is_escaped() {
        let text = Value::String("a\"\\/\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\u{7f}\u{2028}\u{fffd}é".into());
        let json = "\"a\\\"\\\\/\\u0001\\b\\t\\n\\u000B\\f\\r\\u001F\u{7f}\u{2028}\u{fffd}é\"";
        assert_eq!(value_json(&text), json);
    }
}

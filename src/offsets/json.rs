//! Records as JSON text, equal to the output of Kafka's own JSON converters: Jackson's compact form with its escapes.
//!
//! The text is UTF-8, appended to bytes. Byte arrays are base64. Uuids are URL-safe base64 without padding, as in
//! `org.apache.kafka.common.Uuid`.

use super::protocol::MemberProtocol;
use super::{Content, FieldValue};
use crate::bytes::{Int32s, java_text};
use crate::wire::{DecodedAssignment, DecodedSubscription, Elements};

/// Two base64 characters for each value of 12 bits.
type Pairs = [[u8; 2]; 1 << 12];

const URL_SAFE_DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static STANDARD: Pairs = pairs(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
static URL_SAFE: Pairs = pairs(URL_SAFE_DIGITS);

const fn pairs(digits: &[u8; 64]) -> Pairs {
    let mut found = [[0; 2]; 1 << 12];
    let mut bits = 0;
    while bits < found.len() {
        found[bits] = [digits[bits >> 6], digits[bits & 0x3f]];
        bits += 1;
    }
    found
}

/// Return a uuid in Kafka's text form, of 22 characters.
#[must_use]
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = Vec::with_capacity(22);
    push_base64(&mut text, uuid, &URL_SAFE);
    String::from_utf8(text).unwrap_or_default()
}

/// Parse a uuid in Kafka's text form; return None for any other text.
#[must_use]
pub fn uuid_from_text(text: &str) -> Option<[u8; 16]> {
    let digit = |byte: &u8| URL_SAFE_DIGITS.iter().position(|digit| digit == byte).map(|digit| digit as u128);
    // 22 digits of 6 bits have 4 bits more than a uuid; these bits are zero.
    let (last, digits) = text.as_bytes().split_last().filter(|(_, digits)| digits.len() == 21)?;
    let last = digit(last).filter(|digit| digit % 16 == 0)?;
    let number = digits.iter().try_fold(0, |number, byte| Some(number << 6 | digit(byte)?))?;
    Some((number << 2 | last >> 4).to_be_bytes())
}

/// Append a key or value as JSON.
pub fn push_value_json(out: &mut Vec<u8>, value: FieldValue<'_>) {
    match value.content() {
        Content::Null => push(out, "null"),
        Content::Int(number) => push_number(out, "", number),
        Content::Text(bytes) => push_text(out, bytes),
        Content::Bytes(bytes) => push_bytes(out, bytes),
        Content::Uuid(uuid) => {
            out.push(b'"');
            push_base64(out, &uuid, &URL_SAFE);
            out.push(b'"');
        }
        Content::Int32s(numbers) => push_numbers(out, numbers),
        Content::Array => push_list(out, value.items(), push_value_json),
        Content::Struct => {
            let mut before = "{\"";
            for (name, value) in value.fields() {
                push(out, before);
                push(out, name);
                push(out, "\":");
                push_value_json(out, value);
                before = ",\"";
            }
            push(out, if before.starts_with('{') { "{}" } else { "}" });
        }
    }
}

/// Append the decoded blobs of a group's members as JSON: `memberId`, then `subscriptionVersion` and `subscription`, then
/// `assignmentVersion` and `assignment`.
///
/// If a blob cannot be decoded, `subscriptionError` or `assignmentError` has the error. If the tolerant reader can decode the
/// subscription, its result follows with `subscriptionTolerated`, the version of the body. An empty blob is null and has no version.
pub fn push_consumer_protocol_json<'a>(out: &mut Vec<u8>, members: impl Iterator<Item = MemberProtocol<'a>>) {
    push_list(out, members, |out, member| push_member(out, &member));
}

fn push_member(out: &mut Vec<u8>, member: &MemberProtocol<'_>) {
    push(out, "{\"memberId\":");
    push_text(out, member.member_id);
    if let Some(error) = &member.subscription_error {
        push(out, ",\"subscriptionError\":");
        push_string(out, &error.to_string());
    }
    if let Some(subscription) = &member.subscription {
        push_number(out, ",\"subscriptionVersion\":", subscription.version);
        if let Some(tolerated) = subscription.tolerated {
            push_number(out, ",\"subscriptionTolerated\":", tolerated);
        }
        push(out, ",\"subscription\":");
        push_subscription(out, subscription);
    } else if member.subscription_error.is_none() {
        push(out, ",\"subscription\":null");
    }
    if let Some(error) = &member.assignment_error {
        push(out, ",\"assignmentError\":");
        push_string(out, &error.to_string());
    } else if let Some(assignment) = &member.assignment {
        push_number(out, ",\"assignmentVersion\":", assignment.version);
        push(out, ",\"assignment\":");
        push_assignment(out, assignment);
    } else {
        push(out, ",\"assignment\":null");
    }
    out.push(b'}');
}

fn push_subscription(out: &mut Vec<u8>, subscription: &DecodedSubscription<'_>) {
    let body = subscription.body_version();
    push(out, "{\"topics\":");
    push_list(out, subscription.topics.topics(), push_text);
    push_user_data(out, subscription.user_data);
    if body >= 1 {
        push(out, ",\"ownedPartitions\":");
        push_topic_partitions(out, subscription.owned_partitions);
    }
    if body >= 2 {
        push_number(out, ",\"generationId\":", subscription.generation_id);
    }
    if body >= 3 {
        push(out, ",\"rackId\":");
        match subscription.rack_id() {
            Some(rack) => push_string(out, &rack),
            None => push(out, "null"),
        }
    }
    out.push(b'}');
}

fn push_assignment(out: &mut Vec<u8>, assignment: &DecodedAssignment<'_>) {
    push(out, "{\"assignedPartitions\":");
    push_topic_partitions(out, assignment.assigned_partitions);
    push_user_data(out, assignment.user_data);
    out.push(b'}');
}

fn push_user_data(out: &mut Vec<u8>, user_data: Option<&[u8]>) {
    push(out, ",\"userData\":");
    match user_data {
        Some(bytes) => push_bytes(out, bytes),
        None => push(out, "null"),
    }
}

fn push_topic_partitions(out: &mut Vec<u8>, entries: Elements<'_>) {
    push_list(out, entries.topic_partitions(), |out, (topic, partitions)| {
        push(out, "{\"topic\":");
        push_text(out, topic);
        push(out, ",\"partitions\":");
        push_numbers(out, partitions);
        out.push(b'}');
    });
}

fn push_numbers(out: &mut Vec<u8>, numbers: Int32s<'_>) {
    push_list(out, numbers.iter(), |out, number| push_number(out, "", number));
}

fn push_list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, push: impl Fn(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push(out, item);
    }
    out.push(b']');
}

fn push_number(out: &mut Vec<u8>, before: &str, number: impl Into<i64>) {
    push(out, before);
    let number = number.into();
    if number < 0 {
        out.push(b'-');
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
    out.extend_from_slice(&digits[first..]);
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    push_base64(out, bytes, &STANDARD);
    push(out, ["", "==", "="][bytes.len() % 3]);
    out.push(b'"');
}

/// Append text that [`java_text`] decodes.
fn push_text(out: &mut Vec<u8>, bytes: &[u8]) {
    // Checks all bytes, because a loop without an early end uses vector instructions.
    let is_plain = |byte: u8| (b' '..0x80).contains(&byte) && byte != b'"' && byte != b'\\';
    if bytes.iter().fold(true, |plain, byte| plain & is_plain(*byte)) {
        out.reserve(bytes.len() + 2);
        out.push(b'"');
        out.extend_from_slice(bytes);
        out.push(b'"');
    } else {
        push_string(out, &java_text(bytes));
    }
}

fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' => push(out, "\\\""),
            '\\' => push(out, "\\\\"),
            '\u{8}' => push(out, "\\b"),
            '\u{c}' => push(out, "\\f"),
            '\n' => push(out, "\\n"),
            '\r' => push(out, "\\r"),
            '\t' => push(out, "\\t"),
            control if control < ' ' => push(out, &format!("\\u{:04X}", u32::from(control))),
            other => push(out, other.encode_utf8(&mut [0; 4])),
        }
    }
    out.push(b'"');
}

/// Append the base64 of `bytes`, without padding.
fn push_base64(out: &mut Vec<u8>, bytes: &[u8], pairs: &Pairs) {
    const GROUPS: usize = 64;
    out.reserve(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3 * GROUPS) {
        let mut text = [0; 4 * GROUPS];
        let (groups, rest) = part.as_chunks::<3>();
        let (four, _) = text.as_chunks_mut::<4>();
        for (group, four) in groups.iter().zip(four) {
            let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]) as usize;
            let ([first, second], [third, fourth]) = (pairs[bits >> 12], pairs[bits & 0xfff]);
            *four = [first, second, third, fourth];
        }
        let mut length = groups.len() * 4;
        if !rest.is_empty() {
            let mut three = [0; 3];
            three[..rest.len()].copy_from_slice(rest);
            let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]) as usize;
            text[length..length + 2].copy_from_slice(&pairs[bits >> 12]);
            text[length + 2] = pairs[bits & 0xfff][0];
            length += rest.len() + 1;
        }
        out.extend_from_slice(&text[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_uuid_has_exactly_one_text_form() {
        let uuid = [0xfb, 0xf0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xff];
        assert_eq!(uuid_from_text(&uuid_text(&uuid)), Some(uuid));
        assert_eq!(uuid_from_text(&uuid_text(&[0xff; 16])), Some([0xff; 16]));
        for invalid in
            ["", "_____________________x", "____________________w", "______________________w", "+____________________w"]
        {
            assert_eq!(uuid_from_text(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn text_is_escaped() {
        let text = "a\"\\/\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\u{7f}\u{2028}\u{fffd}é";
        let json = "\"a\\\"\\\\/\\u0001\\b\\t\\n\\u000B\\f\\r\\u001F\u{7f}\u{2028}\u{fffd}é\"";
        assert_eq!(pushed(|out| push_text(out, text.as_bytes())), json);
    }
}

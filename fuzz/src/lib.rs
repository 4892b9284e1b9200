//! Functions of the fuzz targets, one for each reader of bytes from outside.
//!
//! Each function gives any bytes to a reader, checks what must hold for its answer, and returns true if the reader accepted them.
//! The programs in `fuzz_targets/` call them under libFuzzer; `tests/fuzz_targets.rs` calls them on stable Rust with the seeds in
//! `seeds/` and with mutations of the seeds.

use assignor::bytes::{Lengths, Reader, java_text};
use assignor::error::{MatchError, WireError};
use assignor::matching::catalog::Catalog;
use assignor::matching::dialect::Dialect;
use assignor::matching::pattern::Pattern;
use assignor::offsets::json::{push_consumer_protocol_json, push_value_json};
use assignor::offsets::{self, Content, DecodedRecord, FieldValue, Record, Status, Value, commit, protocol};
use assignor::replay::{Event, LogRecord, Replay};
use assignor::segments::cluster_metadata as metadata;
use assignor::segments::{Records, SegmentEnd, SegmentReader};
use assignor::wire::{self, Assignment, TopicPartitions, connect, streams};

/// Function of a fuzz target.
pub type Target = fn(&[u8]) -> bool;

/// Targets by name, which is also that of the program and of the folder of the seeds.
pub const TARGETS: [(&str, Target); 15] = [
    ("assignment", assignment),
    ("cluster_metadata", cluster_metadata),
    ("connect_assignment", connect_assignment),
    ("connect_subscription", connect_subscription),
    ("pattern_java", pattern_java),
    ("pattern_librdkafka", pattern_librdkafka),
    ("pattern_python", pattern_python),
    ("pattern_re2j", pattern_re2j),
    ("record", record),
    ("replay", replay),
    ("segment", segment),
    ("snapshot", snapshot),
    ("streams_assignment", streams_assignment),
    ("streams_subscription", streams_subscription),
    ("subscription", subscription),
];

// ---- ConsumerProtocol

/// Decode a subscription with both readers; encode it, and decode it again.
pub fn subscription(data: &[u8]) -> bool {
    let (strict, tolerant) = (wire::decode_subscription(data, false), wire::decode_subscription(data, true));
    if let Ok(found) = &strict {
        assert_eq!(Ok(found), tolerant.as_ref(), "the tolerant reader reads what the strict one reads");
    }
    for error in [strict.as_ref().err(), tolerant.as_ref().err()].into_iter().flatten() {
        check_place(error, data.len());
    }
    let Ok(found) = tolerant else { return false };
    // Text that is not UTF-8 can be longer after it is decoded.
    if let Ok(encoded) = wire::encode_subscription(&found.to_subscription()) {
        let again = wire::decode_subscription(&encoded, false).expect("an encoded subscription can be decoded");
        assert_eq!(wire::encode_subscription(&again.to_subscription()).as_ref(), Ok(&encoded));
    }
    strict.is_ok()
}

/// Decode an assignment; encode it, and decode it again.
pub fn assignment(data: &[u8]) -> bool {
    let read = |data: &[u8]| {
        wire::decode_assignment(data).map(|found| Assignment {
            version: found.version,
            assigned_partitions: found
                .assigned_partitions
                .topic_partitions()
                .map(|(topic, ids)| TopicPartitions {
                    topic: java_text(topic).into_owned(),
                    partitions: ids.iter().collect(),
                })
                .collect(),
            user_data: found.user_data.map(<[u8]>::to_vec),
        })
    };
    match read(data) {
        Ok(found) => {
            if let Ok(encoded) = wire::encode_assignment(&found) {
                let again = read(&encoded).expect("an encoded assignment can be decoded");
                assert_eq!(Ok(encoded), wire::encode_assignment(&again));
            }
            true
        }
        Err(error) => {
            check_place(&error, data.len());
            false
        }
    }
}

/// Check that an error of a decoder has an offset inside the bytes, a field and a reason.
fn check_place(error: &WireError, size: usize) {
    assert!(error.offset.is_some_and(|offset| offset <= size), "{error}");
    assert!(!error.field.is_empty() && !error.reason.is_empty(), "{error}");
}

// ---- Kafka Streams and Kafka Connect

/// Decode an assignment of Kafka Connect.
pub fn connect_assignment(data: &[u8]) -> bool {
    is_read(connect::decode_assignment(data), data)
}

/// Decode the state of a worker of Kafka Connect.
pub fn connect_subscription(data: &[u8]) -> bool {
    is_read(connect::decode_subscription(data), data)
}

/// Decode the user data of an assignment of Kafka Streams.
pub fn streams_assignment(data: &[u8]) -> bool {
    is_read(streams::decode_assignment(data), data)
}

/// Decode the user data of a subscription of Kafka Streams.
pub fn streams_subscription(data: &[u8]) -> bool {
    is_read(streams::decode_subscription(data), data)
}

/// Check the error of a decoder; return true if it accepted the bytes.
fn is_read<T>(found: Result<T, WireError>, data: &[u8]) -> bool {
    found.map_err(|error| check_place(&error, data.len())).is_ok()
}

// ---- records of __cluster_metadata

/// Decode the value of a record.
pub fn cluster_metadata(data: &[u8]) -> bool {
    match metadata::decode(data) {
        Ok(found) => matches!(found, metadata::Decoded::Change(_)),
        Err(error) => {
            check_place(&error, data.len());
            false
        }
    }
}

// ---- records of __consumer_offsets

/// Key and value of a record.
type Pair<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// Read key and value: each an int16 size, then the bytes; a negative size means null.
fn read_pair<'a>(reader: &mut Reader<'a>) -> Option<Pair<'a>> {
    let mut part = || reader.nullable_string_bytes(Lengths::Fixed).ok();
    Some((part()?, part()?))
}

/// Decode a record with all readers; encode it, and decode it again.
pub fn record(data: &[u8]) -> bool {
    let Some((key, value)) = read_pair(&mut Reader::new(data)) else { return false };
    let fast = commit::read_commit(key, value);
    let found = match offsets::decode_record(key, value) {
        Ok(found) => found,
        Err(error) => {
            assert_eq!(None, fast, "the fast reader only reads valid commits");
            let part = if error.field.starts_with("key") { key } else { value };
            check_place(&error, part.map_or(0, <[u8]>::len));
            return false;
        }
    };
    if let Some(commit) = fast {
        assert_eq!(Some(commit.group), found.group().as_deref());
        assert_eq!(commit.offset, found.value().and_then(|value| value.get("offset")).and_then(FieldValue::as_i64));
    }
    let json = json(&found);
    if found.status == Status::Decoded
        && let Ok((key, value)) = offsets::encode_record(&to_encode(&found))
    {
        // The value can differ: fields with unknown tags are not encoded.
        let again = offsets::decode_record(Some(&key), value.as_deref()).expect("an encoded record can be decoded");
        assert_eq!(json[0], self::json(&again)[0]);
        assert_eq!(offsets::encode_record(&to_encode(&again)).as_ref(), Ok(&(key.clone(), value.clone())));
    }
    true
}

/// Return key, value and the members' messages as JSON.
fn json(record: &DecodedRecord<'_>) -> [String; 3] {
    let text = |push: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    };
    let members = |out: &mut Vec<u8>| {
        if let Some(members) = protocol::consumer_protocol(record) {
            push_consumer_protocol_json(out, members);
        }
    };
    let value = |out: &mut Vec<u8>| record.value().into_iter().for_each(|value| push_value_json(out, value));
    [text(&|out| push_value_json(out, record.key())), text(&value), text(&members)]
}

fn to_encode(record: &DecodedRecord<'_>) -> Record {
    let (key, value) = (owned(record.key()), record.value().map(owned));
    Record { record_type: record.record_type, key, version: record.version, value }
}

fn owned(value: FieldValue<'_>) -> Value {
    match value.content() {
        Content::Null => Value::Null,
        Content::Int(number) => Value::Int(number),
        Content::Text(bytes) => Value::String(java_text(bytes).into_owned()),
        Content::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        Content::Uuid(uuid) => Value::Uuid(uuid),
        Content::Int32s(numbers) => Value::Array(numbers.iter().map(|number| Value::Int(number.into())).collect()),
        Content::Array => Value::Array(value.items().map(owned).collect()),
        Content::Struct => Value::Struct(value.fields().map(|(name, value)| (name, owned(value))).collect()),
    }
}

// ---- replay

/// Number of deadlines that a replay may have after the last record of a short log.
const MAX_DEADLINES: usize = 10_000;

/// Push a log: for each record an int8 step of the offset, an int64 timestamp, key and value. Return true if all of it was read.
pub fn replay(data: &[u8]) -> bool {
    let (mut replay, mut reader, mut offset) = (Replay::default(), Reader::new(data), 0);
    let mut events = Vec::new();
    while reader.remaining() > 0 {
        let (Ok(step), Ok(timestamp)) = (reader.int8(), reader.int64()) else { return false };
        let Some((key, value)) = read_pair(&mut reader) else { return false };
        offset += i64::from(step);
        replay.push("c", &LogRecord { partition: None, offset, timestamp, key, value }, &mut events);
    }
    let snapshot = replay.snapshot().expect("the state is small");
    let mut restored = Replay::default();
    restored.restore(&snapshot).expect("a snapshot can be restored");
    assert_eq!(Ok(snapshot), restored.snapshot());
    assert_eq!(replay.finish(), restored.finish());
    assert_eq!(end(&mut replay), end(&mut restored));
    true
}

/// Fire all deadlines; return the events.
fn end(replay: &mut Replay) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..MAX_DEADLINES {
        let Some(deadline) = replay.next_deadline() else { return events };
        replay.advance(deadline, None, &mut events);
    }
    panic!("{MAX_DEADLINES} deadlines fired, and the next one is {:?}", replay.next_deadline());
}

/// Size in bytes of the header of a snapshot; its last eight bytes are the length and the checksum of the body.
const HEADER: usize = 19;

/// Restore a snapshot, whose length and checksum are made right first, and use the state.
pub fn snapshot(data: &[u8]) -> bool {
    let mut replay = Replay::default();
    if replay.restore(data).is_err() {
        assert_eq!(0, replay.states().len(), "a snapshot that is rejected does not change the state");
    }
    let mut sealed = data.to_vec();
    if let Some((header, body)) = sealed.split_at_mut_checked(HEADER) {
        header[11..15].copy_from_slice(&(body.len() as u32).to_be_bytes());
        header[15..].copy_from_slice(&crc(body, CRC_32).to_be_bytes());
    }
    if replay.restore(&sealed).is_err() {
        return false;
    }
    let groups: Vec<_> = replay.states().into_iter().map(|state| (state.cluster, state.group)).collect();
    drop((replay.positions(), replay.finish()));
    let mut events = Vec::new();
    for (cluster, group) in groups.iter().take(4) {
        let mut key = vec![0, 2];
        key.extend((group.len() as u16).to_be_bytes());
        key.extend(group.as_bytes());
        let entry = LogRecord { partition: None, offset: i64::MAX, timestamp: 0, key: Some(&key), value: None };
        replay.push(cluster, &entry, &mut events);
    }
    end(&mut replay);
    let snapshot = replay.snapshot().expect("the state is small");
    let mut again = Replay::default();
    again.restore(&snapshot).expect("a snapshot of a restored state can be restored");
    assert_eq!(Ok(snapshot), again.snapshot());
    true
}

/// Polynomials of zlib's CRC-32, and of CRC-32C.
const CRC_32: u32 = 0xedb8_8320;
const CRC_32C: u32 = 0x82f6_3b78;

/// Return the checksum of bytes with a polynomial.
fn crc(data: &[u8], polynomial: u32) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ polynomial } else { crc >> 1 };
    !data.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

// ---- segments of a log

/// Size in bytes of offset and size, which are before each batch, and of a batch up to its version.
const ENTRY: usize = 12;
const PREFIX: usize = 17;

/// Read a segment, and one with right checksums, in one piece and in two. The answers must be equal.
pub fn segment(data: &[u8]) -> bool {
    let sealed = sealed_segment(data);
    let accepts = |data: &[u8]| {
        let (records, end) = read_segment(&[data]);
        let (first, second) = data.split_at(crc(data, CRC_32) as usize % (data.len() + 1));
        let (records_of_two, end_of_two) = read_segment(&[first, second]);
        assert_eq!(records, records_of_two);
        assert_eq!(end, end_of_two);
        assert_eq!(end.records, records.len() as u64);
        assert_eq!(end.read_bytes + end.tail_bytes, data.len() as u64);
        end.records > 0 && end.damage.is_empty()
    };
    accepts(data) | accepts(&sealed)
}

fn read_segment(pieces: &[&[u8]]) -> (Records, SegmentEnd) {
    let (mut reader, mut records) = (SegmentReader::default(), Records::default());
    for piece in pieces {
        reader.push(piece, &mut records).expect("the input is small");
    }
    (records, reader.end())
}

/// Return a segment whose batches have right checksums.
fn sealed_segment(data: &[u8]) -> Vec<u8> {
    let mut sealed = data.to_vec();
    let mut rest = sealed.as_mut_slice();
    while let Some(&mut [.., a, b, c, d, _, _, _, _, version]) = rest.first_chunk_mut::<PREFIX>() {
        let size = usize::try_from(i32::from_be_bytes([a, b, c, d])).unwrap_or_default();
        let Some((batch, behind)) = rest.split_at_mut_checked(ENTRY + size) else { break };
        let (at, checked, polynomial) = if version == 2 { (17, 21, CRC_32C) } else { (12, 16, CRC_32) };
        let Some(body) = batch.get(checked..) else { break };
        let checksum = crc(body, polynomial).to_be_bytes();
        batch[at..at + 4].copy_from_slice(&checksum);
        rest = behind;
    }
    sealed
}

// ---- patterns

const TOPICS: [&str; 8] = ["a", "ab", "aab", "orders", "orders-eu", "us.orders_2", "__consumer_offsets", "A-1"];

/// Compile and match a pattern of the dialect java.
pub fn pattern_java(data: &[u8]) -> bool {
    pattern(Dialect::Java, data)
}

/// Compile and match a pattern of the dialect re2j.
pub fn pattern_re2j(data: &[u8]) -> bool {
    pattern(Dialect::Re2j, data)
}

/// Compile and match a pattern of the dialect librdkafka.
pub fn pattern_librdkafka(data: &[u8]) -> bool {
    pattern(Dialect::Librdkafka, data)
}

/// Compile and match a pattern of the dialect python.
pub fn pattern_python(data: &[u8]) -> bool {
    pattern(Dialect::Python, data)
}

/// Match a pattern against names one by one and together.
fn pattern(dialect: Dialect, data: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(data) else { return false };
    let compiled = match Pattern::new(dialect, text, true) {
        Ok(compiled) => compiled,
        Err(error) => {
            assert!(error.position <= text.chars().count() && !error.reason.is_empty(), "{error}");
            return false;
        }
    };
    let together = compiled.select(&Catalog::new(TOPICS), &mut || true);
    let each: Result<Vec<bool>, MatchError> = TOPICS.iter().map(|name| compiled.matches(name, &mut || true)).collect();
    if let (Ok(together), Ok(each)) = (together, each) {
        let each: Vec<u32> = (0..).zip(each).filter(|(_, matches)| *matches).map(|(number, _)| number).collect();
        assert_eq!(together, each, "names are matched together as one by one");
    }
    true
}

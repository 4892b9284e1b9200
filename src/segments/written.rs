//! Bytes of batches for tests, written field by field from Kafka's documentation of the formats.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use lz4_flex::frame::FrameEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Compressions by the number that the attributes have.
pub(super) const CODECS: [i16; 5] = [0, 1, 2, 3, 4];

/// Compress bytes; snappy is a raw block.
pub(super) fn compressed(codec: i16, data: &[u8]) -> Vec<u8> {
    match codec {
        0 => data.to_vec(),
        1 => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        2 => snap::raw::Encoder::new().compress_vec(data).unwrap(),
        3 => {
            let mut encoder = FrameEncoder::new(Vec::new());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        _ => compress_to_vec(data, CompressionLevel::Fastest),
    }
}

/// Return blocks of at most `size` bytes in the framing of snappy-java.
pub(super) fn xerial(data: &[u8], size: usize) -> Vec<u8> {
    let mut found = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for block in data.chunks(size) {
        let block = compressed(2, block);
        found.extend((block.len() as u32).to_be_bytes());
        found.extend(block);
    }
    found
}

/// Record of a batch of version 2.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) offset_delta: i32,
    pub(super) timestamp_delta: i64,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Return a record with a value at a place in its batch.
pub(super) fn record(delta: i32, value: &str) -> Record {
    Record { offset_delta: delta, value: Some(value.into()), ..Record::default() }
}

pub(super) fn varint(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    let mut found = Vec::new();
    while rest >= 0x80 {
        found.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    found.push(rest as u8);
    found
}

fn sized(value: Option<&[u8]>) -> Vec<u8> {
    value.map_or_else(|| varint(-1), |value| [&varint(value.len() as i64), value].concat())
}

impl Record {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut body = vec![0];
        body.extend(varint(self.timestamp_delta));
        body.extend(varint(self.offset_delta.into()));
        body.extend(sized(self.key.as_deref()));
        body.extend(sized(self.value.as_deref()));
        body.extend(varint(self.headers.len() as i64));
        for (key, value) in &self.headers {
            body.extend(sized(Some(key)));
            body.extend(sized(value.as_deref()));
        }
        sized(Some(&body))
    }
}

/// Batch of version 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) base_offset: i64,
    pub(super) leader_epoch: i32,
    pub(super) attributes: i16,
    pub(super) last_offset_delta: i32,
    pub(super) base_timestamp: i64,
    pub(super) max_timestamp: i64,
    pub(super) producer_id: i64,
    pub(super) count: i32,
    pub(super) content: Vec<u8>,
}

impl Batch {
    /// Create a batch whose attributes are those of a codec.
    pub(super) fn new(base_offset: i64, codec: i16, records: &[Record]) -> Self {
        let content: Vec<u8> = records.iter().flat_map(Record::bytes).collect();
        Self {
            base_offset,
            leader_epoch: 7,
            attributes: codec,
            last_offset_delta: records.last().map_or(0, |record| record.offset_delta),
            base_timestamp: 1_000,
            max_timestamp: 9_000,
            producer_id: -1,
            count: records.len() as i32,
            content: compressed(codec, &content),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut body = self.attributes.to_be_bytes().to_vec();
        body.extend(self.last_offset_delta.to_be_bytes());
        body.extend(self.base_timestamp.to_be_bytes());
        body.extend(self.max_timestamp.to_be_bytes());
        body.extend(self.producer_id.to_be_bytes());
        body.extend(3_i16.to_be_bytes()); // producer epoch
        body.extend(0_i32.to_be_bytes()); // base sequence
        body.extend(self.count.to_be_bytes());
        body.extend(&self.content);
        let mut found = self.base_offset.to_be_bytes().to_vec();
        found.extend((body.len() as i32 + 9).to_be_bytes());
        found.extend(self.leader_epoch.to_be_bytes());
        found.push(2);
        found.extend(crc32c::crc32c(&body).to_be_bytes());
        found.extend(body);
        found
    }
}

/// Return a message of a message set; the timestamp is written for version 1.
pub(super) fn message(
    offset: i64,
    (version, attributes): (u8, u8),
    timestamp: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Vec<u8> {
    let mut body = vec![version, attributes];
    if version == 1 {
        body.extend(timestamp.to_be_bytes());
    }
    for part in [key, value] {
        body.extend(part.map_or(-1, |part| part.len() as i32).to_be_bytes());
        body.extend(part.unwrap_or_default());
    }
    let mut found = offset.to_be_bytes().to_vec();
    found.extend((body.len() as i32 + 4).to_be_bytes());
    found.extend(crc32fast::hash(&body).to_be_bytes());
    found.extend(body);
    found
}

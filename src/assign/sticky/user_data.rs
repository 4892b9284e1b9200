//! User data of Kafka's sticky assignors: the partitions that a member owned, and their generation.
//!
//! As in Kafka, bytes that cannot be decoded are not an error: they mean no partitions and the generation `NONE`.

use std::borrow::Cow;

/// Generation of a member that reports no generation.
pub(super) const NONE: i32 = -1;

/// Decoded user data of `StickyAssignor`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StickyUserData<'a> {
    /// The owned partitions: topic names with partition ids, in wire order.
    pub(super) topics: Vec<(Cow<'a, str>, PartitionIds<'a>)>,
    /// The generation in which the member got them.
    pub(super) generation: i32,
}

/// Partition ids, encoded as consecutive int32 values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartitionIds<'a>(&'a [u8]);

impl PartitionIds<'_> {
    /// Iterate over the ids.
    pub(super) fn iter(self) -> impl Iterator<Item = i32> {
        self.0.as_chunks().0.iter().map(|id| i32::from_be_bytes(*id))
    }
}

impl<'a> StickyUserData<'a> {
    /// Decode version 1, or version 0, which ends before the generation. Bytes after the last field are ignored.
    pub(super) fn decode(mut bytes: &'a [u8]) -> Self {
        let Some(topics) = read_topics(&mut bytes) else { return Self { topics: Vec::new(), generation: NONE } };
        Self { topics, generation: read_i32(&mut bytes).unwrap_or(NONE) }
    }
}

/// Return the generation in user data of `CooperativeStickyAssignor`.
pub(super) fn cooperative_generation(mut bytes: &[u8]) -> i32 {
    read_i32(&mut bytes).unwrap_or(NONE)
}

fn read_topics<'a>(bytes: &mut &'a [u8]) -> Option<Vec<(Cow<'a, str>, PartitionIds<'a>)>> {
    let count = read_length(bytes)?;
    // A topic takes at least six bytes, so a wrong count fails before it can cause a large allocation.
    let mut topics = Vec::new();
    for _ in 0..count {
        let length = i16::from_be_bytes(*bytes.split_off(..2)?.first_chunk()?);
        let name = bytes.split_off(..usize::try_from(length).ok()?)?;
        let ids = read_length(bytes)?;
        topics.push((String::from_utf8_lossy(name), PartitionIds(bytes.split_off(..ids.checked_mul(4)?)?)));
    }
    Some(topics)
}

fn read_length(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(read_i32(bytes)?).ok()
}

fn read_i32(bytes: &mut &[u8]) -> Option<i32> {
    Some(i32::from_be_bytes(*bytes.split_off(..4)?.first_chunk()?))
}

//! Encoder of the members' assignments (`ConsumerProtocol`) from spans.
//!
//! Source: kafka-clients 4.4.0, `ConsumerProtocol.serializeAssignment`: version, topics with their ids, null user data.

use crate::bytes::Writer;
use crate::error::WireError;
use crate::group::Names;
use crate::plan::{Plan, Span};

/// Size of all fields except the topics: version, topic count and length of the null user data.
const WITHOUT_TOPICS: usize = 2 + 4 + 4;

/// Size of a topic without its name and ids: the lengths of both.
const PER_TOPIC: usize = 2 + 4;

/// Encoder of the assignments of members from their spans; the encoded topic names are computed once.
#[derive(Debug)]
pub struct Encoder {
    version: i16,
    /// Per topic, the length and the name, encoded.
    names: Vec<u8>,
    /// Per topic, the end of its length and name in `names`.
    ends: Vec<usize>,
}

impl Encoder {
    /// Create an encoder for a plan.
    ///
    /// # Errors
    /// The version is negative, or a topic name is too long.
    pub fn new(plan: &Plan, version: i16) -> Result<Self, WireError> {
        let version = crate::wire::encoding_version(version)?;
        let topics = plan.topics();
        let names = Writer::encode(|writer| {
            topics.iter().try_for_each(|name| writer.string(name).map_err(|error| error.within("topic")))
        })?;
        let lengths = topics.iter().scan(0, |end, name| {
            *end += 2 + name.len();
            Some(*end)
        });
        let ends = lengths.collect();
        Ok(Self { version, names, ends })
    }

    fn name(&self, topic: u32) -> &[u8] {
        let start = topic.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.names[start..self.ends[topic as usize]]
    }

    /// Return the size of a member's assignment in bytes.
    #[must_use]
    pub fn length(&self, spans: &[Span]) -> usize {
        let mut length = WITHOUT_TOPICS;
        for (place, span) in spans.iter().enumerate() {
            if place == 0 || spans[place - 1].topic != span.topic {
                length += self.name(span.topic).len() + 4;
            }
            length += 4 * span.count as usize;
        }
        length
    }

    /// Write a member's assignment into a buffer of exactly that size.
    pub fn write(&self, spans: &[Span], buffer: &mut [u8]) {
        let topics = spans.chunk_by(|left, right| left.topic == right.topic);
        let mut rest = Rest(buffer);
        rest.put(&self.version.to_be_bytes());
        rest.put(&(topics.clone().count() as i32).to_be_bytes());
        for of_topic in topics {
            rest.put(self.name(of_topic[0].topic));
            rest.put(&of_topic.iter().map(|span| span.count).sum::<i32>().to_be_bytes());
            for span in of_topic {
                let (ids, after) = std::mem::take(&mut rest.0).split_at_mut(4 * span.count as usize);
                for (place, id) in ids.chunks_exact_mut(4).zip(span.ids()) {
                    place.copy_from_slice(&id.to_be_bytes());
                }
                rest.0 = after;
            }
        }
        rest.put(&(-1_i32).to_be_bytes());
    }
}

/// Part of a buffer that is not filled yet.
struct Rest<'a>(&'a mut [u8]);

impl Rest<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let (place, after) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        self.0 = after;
    }
}

/// Return the size of an assignment in bytes, as `Encoder::length` does, but without an encoder.
pub(super) fn length(topics: &Names, spans: &[Span]) -> usize {
    let of_topic = |spans: &[Span]| {
        PER_TOPIC
            + topics.get(spans[0].topic as usize).len()
            + spans.iter().map(|span| 4 * span.count as usize).sum::<usize>()
    };
    WITHOUT_TOPICS + spans.chunk_by(|left, right| left.topic == right.topic).map(of_topic).sum::<usize>()
}

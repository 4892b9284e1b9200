//! `ConsumerProtocol` blobs in the record of a classic group: subscription and assignment of each member.

use super::{Record, Value};
use crate::error::WireError;
use crate::wire::{Assignment, Subscription, decode_assignment, decode_subscription};

/// Protocol type of consumers; Kafka Connect and others have their own.
pub const CONSUMER: &str = "consumer";

/// Type number of a classic group's record.
const GROUP_METADATA: i16 = 2;

/// Both blobs of a member. An empty blob is neither a message nor an error: a broker stores an empty assignment for a member that
/// the leader left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberProtocol<'a> {
    /// The member's id.
    pub member_id: &'a str,
    /// The subscription; if `subscription_error` is set, the result of the tolerant reader.
    pub subscription: Option<Subscription>,
    /// The error of Kafka's strict reader.
    pub subscription_error: Option<WireError>,
    /// The assignment.
    pub assignment: Option<Assignment>,
    /// The error if the assignment cannot be decoded.
    pub assignment_error: Option<WireError>,
}

/// Decode the blobs of each member, in the order of the record. Return None if the record is not a `GROUP_METADATA` value of
/// protocol type `consumer`.
#[must_use]
pub fn consumer_protocol(record: &Record) -> Option<Vec<MemberProtocol<'_>>> {
    let value = record.value.as_ref().filter(|_| record.record_type == GROUP_METADATA)?;
    if value.get("protocolType").and_then(Value::as_str) != Some(CONSUMER) {
        return None;
    }
    Some(value.get("members")?.items().iter().map(read_member).collect())
}

fn read_member(member: &Value) -> MemberProtocol<'_> {
    let blob = |name| member.get(name).and_then(Value::as_bytes).unwrap_or_default();
    let (subscription, subscription_error) = match blob("subscription") {
        [] => (None, None),
        data => match read_subscription(data) {
            Ok((subscription, refusal)) => (Some(subscription), refusal),
            Err(error) => (None, Some(error)),
        },
    };
    let (assignment, assignment_error) = match read_assignment(blob("assignment")) {
        Ok(assignment) => (assignment, None),
        Err(error) => (None, Some(error)),
    };
    MemberProtocol {
        member_id: member.get("memberId").and_then(Value::as_str).unwrap_or_default(),
        subscription,
        subscription_error,
        assignment,
        assignment_error,
    }
}

/// Decode a subscription strictly, or else tolerantly; in the second case also return the strict reader's error.
///
/// # Errors
/// The tolerant reader cannot decode it either.
pub fn read_subscription(data: &[u8]) -> Result<(Subscription, Option<WireError>), WireError> {
    match decode_subscription(data, false) {
        Ok(subscription) => Ok((subscription, None)),
        Err(refusal) => Ok((decode_subscription(data, true)?, Some(refusal))),
    }
}

/// Decode an assignment; return None for an empty blob, which assigns no partitions.
///
/// # Errors
/// The bytes are not an assignment.
pub fn read_assignment(data: &[u8]) -> Result<Option<Assignment>, WireError> {
    if data.is_empty() { Ok(None) } else { decode_assignment(data).map(Some) }
}

//! `ConsumerProtocol` blobs in the record of a classic group: subscription and assignment of each member.

use super::{DecodedRecord, FieldValue};
use crate::error::WireError;
use crate::wire::{DecodedAssignment, DecodedSubscription, decode_assignment, decode_subscription};

/// Protocol type of consumers; Kafka Connect and others have their own.
pub const CONSUMER: &str = "consumer";

/// Type number of a classic group's record.
const GROUP_METADATA: i16 = 2;

/// Both blobs of a member. An empty blob is neither a message nor an error: a broker stores an empty assignment for a member that
/// the leader left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberProtocol<'a> {
    /// The bytes of the member's id, which [`java_text`](crate::bytes::java_text) decodes.
    pub member_id: &'a [u8],
    /// The subscription; if `subscription_error` is set, the result of the tolerant reader.
    pub subscription: Option<DecodedSubscription<'a>>,
    /// The error of Kafka's strict reader.
    pub subscription_error: Option<WireError>,
    /// The assignment.
    pub assignment: Option<DecodedAssignment<'a>>,
    /// The error if the assignment cannot be decoded.
    pub assignment_error: Option<WireError>,
}

/// Decode the blobs of each member, in the order of the record. Return None if the record is not a `GROUP_METADATA` value of
/// protocol type `consumer`.
#[must_use]
pub fn consumer_protocol<'a>(record: &'a DecodedRecord<'_>) -> Option<impl Iterator<Item = MemberProtocol<'a>>> {
    let value = record.value().filter(|_| record.record_type == GROUP_METADATA)?;
    if value.get("protocolType").and_then(FieldValue::as_text_bytes) != Some(CONSUMER.as_bytes()) {
        return None;
    }
    Some(value.get("members")?.items().map(read_member))
}

fn read_member(member: FieldValue<'_>) -> MemberProtocol<'_> {
    let blob = |name| member.get(name).and_then(FieldValue::as_bytes).unwrap_or_default();
    let (subscription, subscription_error) = match blob("subscription") {
        [] => (None, None),
        data => match read_subscription(data) {
            Ok((subscription, strict_error)) => (Some(subscription), strict_error),
            Err(error) => (None, Some(error)),
        },
    };
    let (assignment, assignment_error) = match read_assignment(blob("assignment")) {
        Ok(assignment) => (assignment, None),
        Err(error) => (None, Some(error)),
    };
    MemberProtocol {
        member_id: member.get("memberId").and_then(FieldValue::as_text_bytes).unwrap_or_default(),
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
pub fn read_subscription(data: &[u8]) -> Result<(DecodedSubscription<'_>, Option<WireError>), WireError> {
    match decode_subscription(data, false) {
        Ok(subscription) => Ok((subscription, None)),
        Err(strict_error) => Ok((decode_subscription(data, true)?, Some(strict_error))),
    }
}

/// Decode an assignment; return None for an empty blob, which assigns no partitions.
///
/// # Errors
/// The bytes are not an assignment.
pub fn read_assignment(data: &[u8]) -> Result<Option<DecodedAssignment<'_>>, WireError> {
    if data.is_empty() { Ok(None) } else { decode_assignment(data).map(Some) }
}

//! The blobs inside a classic group's record: what each member subscribed to and was assigned, where the group speaks
//! `ConsumerProtocol`.

use super::{Record, Value};
use crate::error::WireError;
use crate::wire::{Assignment, Subscription, decode_assignment, decode_subscription};

/// The protocol type of consumers, as against Kafka Connect's workers and others.
pub const CONSUMER: &str = "consumer";

/// The type number of a classic group's record.
const GROUP_METADATA: i16 = 2;

/// Both blobs of one member. An empty one is neither a message nor an error here; what it stands for differs: an empty
/// assignment is what the broker keeps for a member that its leader left out, an empty subscription says nothing at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberProtocol<'a> {
    /// The member's id.
    pub member_id: &'a str,
    /// The subscription; beside an error it is what the tolerant reader made of the bytes.
    pub subscription: Option<Subscription>,
    /// Why Kafka's own reader refuses the subscription.
    pub subscription_error: Option<WireError>,
    /// The assignment.
    pub assignment: Option<Assignment>,
    /// Why Kafka's own reader refuses the assignment.
    pub assignment_error: Option<WireError>,
}

/// The blobs of every member, in the record's order; None for any other record than a `GROUP_METADATA` value of protocol
/// type `consumer`.
#[must_use]
pub fn consumer_protocol(record: &Record) -> Option<Vec<MemberProtocol<'_>>> {
    let value = record.value.as_ref().filter(|_| record.record_type == GROUP_METADATA)?;
    if value.get("protocolType").and_then(Value::as_str) != Some(CONSUMER) {
        return None;
    }
    Some(value.get("members")?.items().iter().map(open).collect())
}

fn open(member: &Value) -> MemberProtocol<'_> {
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

/// A subscription as Kafka's own reader has it; or else as the tolerant one has it, with the refusal of the other.
///
/// # Errors
/// Neither can read it.
pub fn read_subscription(data: &[u8]) -> Result<(Subscription, Option<WireError>), WireError> {
    match decode_subscription(data, false) {
        Ok(subscription) => Ok((subscription, None)),
        Err(refusal) => Ok((decode_subscription(data, true)?, Some(refusal))),
    }
}

/// An assignment; None for the empty blob, which is an assignment of nothing.
///
/// # Errors
/// The bytes are something else.
pub fn read_assignment(data: &[u8]) -> Result<Option<Assignment>, WireError> {
    if data.is_empty() { Ok(None) } else { decode_assignment(data).map(Some) }
}

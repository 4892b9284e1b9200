//! The blobs inside a classic group's record: what each member subscribed to and was assigned, where the group speaks
//! `ConsumerProtocol`.

use super::{Record, Value};
use crate::error::WireError;
use crate::wire::{Assignment, Subscription, decode_assignment, decode_subscription};

/// The protocol type of consumers, as against Kafka Connect's workers and others.
const CONSUMER: &str = "consumer";

/// The type number of a classic group's record.
const GROUP_METADATA: i16 = 2;

/// Both blobs of one member. An empty blob is neither a message nor an error.
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
    let (subscription, subscription_error) = match read(blob("subscription"), |data| decode_subscription(data, false)) {
        (_, Some(error)) => (decode_subscription(blob("subscription"), true).ok(), Some(error)),
        strict => strict,
    };
    let (assignment, assignment_error) = read(blob("assignment"), decode_assignment);
    MemberProtocol {
        member_id: member.get("memberId").and_then(Value::as_str).unwrap_or_default(),
        subscription,
        subscription_error,
        assignment,
        assignment_error,
    }
}

fn read<T>(data: &[u8], decode: impl Fn(&[u8]) -> Result<T, WireError>) -> (Option<T>, Option<WireError>) {
    if data.is_empty() {
        return (None, None);
    }
    match decode(data) {
        Ok(message) => (Some(message), None),
        Err(error) => (None, Some(error)),
    }
}

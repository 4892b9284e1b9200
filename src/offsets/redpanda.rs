//! Recognition of group records (type 2) that Redpanda wrote.
//!
//! Redpanda uses Kafka's layout of keys, offset commits and empty groups. In the value of a group with members, each member begins with an
//! int16 version, which Kafka's layout does not have. Redpanda writes version 3 of the value and of the members only.

use crate::bytes::{Lengths, Reader, read_error};
use crate::error::WireError;

/// Version that Redpanda writes for the value and for each member.
const VERSION: i16 = 3;
/// Size of the smallest member: its version, id, instance id, client id, client host, two timeouts, subscription and assignment.
const SMALLEST_MEMBER: usize = 5 * size_of::<i16>() + 4 * size_of::<i32>();

/// Return the error for a value that Redpanda wrote, or None. The value must have members, all of them in Redpanda's layout, and no other
/// bytes.
pub(super) fn redpanda_error(value: &[u8]) -> Option<WireError> {
    let place = members_place(value).ok().flatten()?;
    let reason = "Redpanda's layout of a group record, in which each member begins with a version, cannot be decoded";
    Some(read_error(place, reason.to_owned()).within("members"))
}

/// Return the offset of the members; None if the value is not in Redpanda's layout.
fn members_place(value: &[u8]) -> Result<Option<usize>, WireError> {
    let mut reader = Reader::new(value);
    if reader.int16()? != VERSION {
        return Ok(None);
    }
    reader.string_bytes(Lengths::Fixed)?; // protocol type
    reader.int32()?; // generation
    reader.nullable_string_bytes(Lengths::Fixed)?; // protocol
    reader.nullable_string_bytes(Lengths::Fixed)?; // leader
    reader.int64()?; // time of the state
    let place = reader.position();
    let members = reader.count(Lengths::Fixed, SMALLEST_MEMBER)?;
    for _ in 0..members {
        if reader.int16()? != VERSION {
            return Ok(None);
        }
        reader.string_bytes(Lengths::Fixed)?; // member id
        reader.nullable_string_bytes(Lengths::Fixed)?; // group instance id
        reader.string_bytes(Lengths::Fixed)?; // client id
        reader.string_bytes(Lengths::Fixed)?; // client host
        reader.int32()?; // rebalance timeout
        reader.int32()?; // session timeout
        reader.bytes(Lengths::Fixed)?; // subscription
        reader.bytes(Lengths::Fixed)?; // assignment
    }
    Ok((members > 0 && reader.remaining() == 0).then_some(place))
}

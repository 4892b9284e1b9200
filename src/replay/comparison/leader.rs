//! Signs that the leader of a group is not a Java client of Kafka 3.5 or newer.
//!
//! The sticky assignors of other clients and of older Java clients differ from the engine's. A subscription shows which client wrote
//! it: newer Java clients write version 3, and each of Kafka's assignors has its own format of user data.

use std::sync::Arc;

use crate::assign::Assignor;
use crate::bytes::{Lengths, Reader};
use crate::error::WireError;
use crate::replay::classic::ParsedMember;

/// Version of subscriptions that Java clients write since Kafka 3.5.
const VERSION: i16 = 3;

/// Return the reason why the leader cannot be a Java client of Kafka 3.5 or newer, if there is one.
pub(super) fn other_client(assignor: Assignor, members: &[Arc<ParsedMember>], leader: &str) -> Option<String> {
    let member = members.iter().find(|member| member.id == leader)?;
    let subscription = member.subscription.as_ref().ok()?;
    let data = subscription.user_data.as_deref();
    let is_kafkas = match assignor {
        Assignor::Sticky => data.is_none_or(|data| read_sticky(data) == Ok(true)),
        Assignor::CooperativeSticky => data.is_some_and(|data| data.len() == size_of::<i32>()),
        _ => return None,
    };
    let reason = match subscription.version {
        version if version < VERSION => format!("its subscription has version {version}"),
        _ if !is_kafkas => format!("its user data does not have the format of Kafka's {} assignor", assignor.name()),
        _ => return None,
    };
    Some(format!("the leader {leader} is not a Java client of Kafka 3.5 or newer: {reason}"))
}

/// Return true if the data has partitions by topic and then a generation.
fn read_sticky(data: &[u8]) -> Result<bool, WireError> {
    let mut reader = Reader::new(data);
    for _ in 0..reader.count(Lengths::Fixed, 6)? {
        reader.string_bytes(Lengths::Fixed)?;
        for _ in 0..reader.count(Lengths::Fixed, 4)? {
            reader.int32()?;
        }
    }
    reader.int32()?;
    Ok(reader.remaining() == 0)
}

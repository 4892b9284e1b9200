//! Choice of a group's assignor from the names in the rows of its members.

use std::fmt;

use crate::assign::{Assignor, GroupProtocol};
use crate::error::NoAnswer;
use crate::group::java_order;

/// Columns of a member's row that name the group's assignor; a column may be missing or null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AssignorNames<'a> {
    /// Kafka's name of the assignor.
    pub assignor: Option<&'a str>,
    /// `classic`, `consumer` or `share`.
    pub group_protocol: Option<&'a str>,
}

/// Reason why the plan of a group cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotComputed {
    /// Rows of members have different values in this column.
    Different(&'static str, Vec<String>),
    /// No assignor of this protocol is known.
    GroupProtocol(String),
    /// The protocol has no assignor of this name.
    Assignor(GroupProtocol, String),
    /// The assignor has no answer.
    NoAnswer(NoAnswer),
}

impl fmt::Display for NotComputed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        match self {
            Self::NoAnswer(reason) => reason.fmt(f),
            Self::Different(column, values) => {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                write!(f, "members of the group have different values of {column}: {}", quoted(&values))
            }
            Self::GroupProtocol(name) => {
                let known = GroupProtocol::ALL.map(GroupProtocol::name);
                write!(f, "group_protocol '{name}' is not supported; supported: {}", quoted(&known))
            }
            Self::Assignor(protocol, name) => {
                let known = Assignor::ALL.into_iter().filter(|known| known.protocol() == *protocol);
                let mut known: Vec<&str> = known.map(Assignor::name).collect();
                known.sort_unstable();
                let protocol = protocol.name();
                // Protocols of Kafka Streams and Kafka Connect.
                let reason = match name.as_str() {
                    "stream" | "default" | "compatible" | "sessioned" => {
                        " because its answer depends on the memory of the leader"
                    }
                    _ => "",
                };
                write!(
                    f,
                    "assignor '{name}' of group_protocol '{protocol}' is not supported{reason}; supported: {}",
                    quoted(&known)
                )
            }
        }
    }
}

/// Return the assignor on which the rows of all members of a group agree.
///
/// Rows without a name are ignored. By default the protocol is `classic` and the assignor is Kafka's default.
///
/// # Errors
/// The rows have different values in a column, or Kafka has no protocol or assignor with the name in it.
pub fn assignor_of<'a>(rows: impl IntoIterator<Item = AssignorNames<'a>>) -> Result<Assignor, NotComputed> {
    let (mut assignors, mut protocols) = (Vec::new(), Vec::new());
    let mut last = None;
    for names in rows {
        if last != Some(names) {
            assignors.extend(names.assignor);
            protocols.extend(names.group_protocol);
            last = Some(names);
        }
    }
    let protocol = match shared("group_protocol", protocols)? {
        None => GroupProtocol::default(),
        Some(name) => GroupProtocol::named(name).ok_or_else(|| NotComputed::GroupProtocol(name.to_owned()))?,
    };
    match shared("assignor", assignors)? {
        None => Ok(protocol.default_assignor()),
        Some(name) => Assignor::named(protocol, name).ok_or_else(|| NotComputed::Assignor(protocol, name.to_owned())),
    }
}

/// Return the only distinct value of a column, if it has a value.
fn shared<'a>(column: &'static str, mut values: Vec<&'a str>) -> Result<Option<&'a str>, NotComputed> {
    values.sort_unstable_by(|left, right| java_order(left, right));
    values.dedup();
    if values.len() > 1 {
        return Err(NotComputed::Different(column, values.into_iter().map(str::to_owned).collect()));
    }
    Ok(values.first().copied())
}

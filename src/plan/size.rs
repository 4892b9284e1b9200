//! Size of the group's record in `__consumer_offsets`, which is limited by the topic's `max.message.bytes`.
//!
//! Source: Kafka 4.3.1, message definitions `GroupMetadataKey` (version 2) and `GroupMetadataValue` (version 3, which brokers since
//! Kafka 2.3 write), and `ConsumerProtocolSubscription` (versions 0 to 3).

use crate::group::Group;
use crate::plan::{Plan, wire};

/// Protocol type of consumer groups.
const PROTOCOL_TYPE: &str = "consumer";

/// Sizes in bytes of a member's client id and host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Client {
    /// The client id.
    pub id: usize,
    /// The client's host.
    pub host: usize,
}

impl Plan {
    /// Return the size of the record's key and value in bytes.
    ///
    /// `protocol` is the name of the assignor; it is ignored if the group has no members. `client` and `version` return the client
    /// sizes and the subscription version of a member id.
    pub fn group_metadata_size(
        &self,
        group_id: &str,
        protocol: &str,
        leader: Option<&str>,
        client: impl Fn(&str) -> Client,
        version: impl Fn(&str) -> i16,
    ) -> usize {
        let text = |length: usize| 2 + length;
        let key = 2 + text(group_id.len());
        let head = 2
            + text(PROTOCOL_TYPE.len())
            + 4 // generation
            + text(if self.members().is_empty() { 0 } else { protocol.len() })
            + text(leader.map_or(0, str::len))
            + 8 // timestamp of the state
            + 4; // number of members
        let names: Vec<usize> =
            (0..self.group.subscriptions().len() as u32).map(|subscription| names(&self.group, subscription)).collect();
        let mut members = 0;
        self.each_member(|number, spans| {
            let id = self.members().get(number as usize);
            let Client { id: client_id, host } = client(id);
            members += text(id.len())
                + text(self.group.instance_id(number as usize).map_or(0, str::len))
                + text(client_id)
                + text(host)
                + 4 // rebalance timeout
                + 4 // session timeout
                + 4 + subscription(&self.group, number as usize, names[self.group.subscription_of(number as usize) as usize], version(id))
                + 4 + wire::length(self.topics(), spans);
        });
        key + head + members
    }
}

/// Return the size of the topic names of a subscription, with their lengths.
fn names(group: &Group, subscription: u32) -> usize {
    group.names_of(subscription).map(|name| 2 + name.len()).sum()
}

/// Return the size of a member's subscription, given the size of its topic names.
fn subscription(group: &Group, member: usize, names: usize, version: i16) -> usize {
    let sizes = group.field_sizes(member);
    let fields = [2 + 4 + names + 4 + sizes.user_data, 4 + sizes.owned_partitions, 4, 2 + sizes.rack];
    fields[..=version.clamp(0, 3) as usize].iter().sum()
}

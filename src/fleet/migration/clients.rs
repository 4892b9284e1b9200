//! Clients of the members of a classic group, and whether they have the protocol of KIP-848.

use super::Judged;
use crate::wire::{Client, Library, Support, VERSION_0};

/// Members with the same client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCount {
    /// The client.
    pub client: Client,
    /// Whether it has the protocol: `yes`; `after an upgrade` of a version that is too old; `in newer versions` if the version is not
    /// visible; `no`; or `unknown`.
    pub support: &'static str,
    /// Number of members.
    pub members: usize,
}

impl Judged<'_> {
    /// Return the client of a member.
    pub(super) fn client(&self, id: &str) -> Client {
        let known = self.facts.members.get(id).map(|facts| &facts.client);
        known
            .filter(|client| **client != Client::default())
            .cloned()
            .unwrap_or_else(|| Client::of_member_id(id, self.group_id))
    }

    /// Return the clients of the members, the most frequent first.
    pub(super) fn clients(&self) -> Vec<ClientCount> {
        let mut found: Vec<ClientCount> = Vec::new();
        for member in &self.roster.members {
            let client = self.client(&member.id);
            match found.iter_mut().find(|known| known.client == client) {
                Some(known) => known.members += 1,
                None => found.push(ClientCount { support: support(&client), client, members: 1 }),
            }
        }
        let name = |count: &ClientCount| count.client.library.map_or("", Library::name);
        found.sort_by(|left, right| {
            let versions = left.client.version.cmp(&right.client.version);
            right.members.cmp(&left.members).then_with(|| name(left).cmp(name(right))).then(versions)
        });
        found
    }
}

pub(super) const YES: &str = "yes";
pub(super) const NO: &str = "no";
pub(super) const AFTER_UPGRADE: &str = "after an upgrade";
pub(super) const NEWER: &str = "in newer versions";
pub(super) const UNKNOWN: &str = "unknown";

/// Return whether a client has the protocol. A version that may be new enough counts as `unknown` if only a range is visible.
pub(super) fn support(client: &Client) -> &'static str {
    match client.library.map(Library::support) {
        Some(Support::Never) => NO,
        Some(Support::Since(..)) if client.is_too_old() => AFTER_UPGRADE,
        Some(Support::Since(..)) if client.version.as_ref().is_some_and(|version| !version.ends_with('+')) => YES,
        // The library has it; whether this version does is not visible.
        Some(Support::Since(..)) => NEWER,
        None if client.version.as_deref() == Some(VERSION_0) => NO,
        Some(Support::Unknown) | None => UNKNOWN,
    }
}

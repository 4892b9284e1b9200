//! What the log file of a broker says about rebalances: when each began, and why.
//!
//! The records of a group show the results of rebalances, not the requests that start them. A broker logs the request, or the timeout, when
//! the rebalance begins. `logged_causes` decides what follows from its line.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::departures::{CLOSED, EXPIRED, MOVED, POLL};

/// Causes that a broker can log.
const CAUSES: [&str; 21] = [
    "consumer_subscribed",
    CLOSED,
    EXPIRED[0],
    EXPIRED[1],
    "partitions_increased",
    "topic_created",
    "topic_deleted",
    "subscription_changed",
    "owned_partitions_changed",
    "leader_rejoined",
    "static_member_returned",
    "protocol_changed",
    "member_removed",
    "sync_timed_out",
    "assignment_not_stored",
    "over_capacity",
    "protocol_upgraded",
    "protocol_downgraded",
    "rejoin_timed_out",
    POLL,
    MOVED,
];

/// Return the name of a cause that a broker can log, as the replay stores it; None for another name.
#[must_use]
pub fn logged_cause(name: &str) -> Option<&'static str> {
    CAUSES.into_iter().find(|cause| *cause == name)
}

/// A rebalance whose beginning a broker logged.
#[derive(Debug, Clone)]
pub struct LoggedRebalance {
    /// The generation or epoch that it leads to; None if the line has none.
    pub generation: Option<i32>,
    /// Time of the line, in milliseconds since 1970.
    pub at: i64,
    /// The reason as the broker logged it; None if the line has none.
    pub reason: Option<String>,
    /// What the lines say: first why the rebalance began, then what happened until it was complete.
    pub facts: Vec<LoggedFact>,
}

/// What a line says about members.
#[derive(Debug, Clone)]
pub struct LoggedFact {
    /// Causes that agree with the line, the most specific one first.
    pub causes: Vec<&'static str>,
    /// Ids of the members that the line names.
    pub members: Vec<Arc<str>>,
    /// A sentence with the time and the text of the line.
    pub sentence: String,
}

/// Rebalances that brokers logged, by cluster and group.
#[derive(Debug, Clone, Default)]
pub struct BrokerLog(FxHashMap<Arc<str>, FxHashMap<Arc<str>, Vec<LoggedRebalance>>>);

impl BrokerLog {
    /// Add rebalances of the groups of a cluster; those of a group stay in the order of time.
    pub fn extend(&mut self, cluster: &str, found: impl IntoIterator<Item = (Arc<str>, LoggedRebalance)>) {
        let groups = self.0.entry(cluster.into()).or_default();
        for (group, rebalance) in found {
            groups.entry(group).or_default().push(rebalance);
        }
        for of_group in groups.values_mut() {
            of_group.sort_by_key(|rebalance| rebalance.at);
        }
    }

    /// Return true if no broker logged a rebalance.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Return the rebalances of a group that were logged between two times, the latest first.
    pub(super) fn between<'a>(
        &'a self,
        (cluster, group): (&str, &str),
        from: i64,
        until: i64,
    ) -> impl Iterator<Item = &'a LoggedRebalance> + use<'a> {
        let found = self.0.get(cluster).and_then(|groups| groups.get(group)).map_or(&[][..], Vec::as_slice);
        let end = found.partition_point(|rebalance| rebalance.at <= until);
        found[..end].iter().rev().take_while(move |rebalance| rebalance.at >= from)
    }
}

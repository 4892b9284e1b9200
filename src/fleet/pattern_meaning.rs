//! What the patterns of members mean after their group switches to another group protocol.
//!
//! In the classic protocol each client matches its patterns itself. With the protocol of KIP-848 it depends on the client: the Java
//! client still matches a `java.util.regex.Pattern` and sends names, but librdkafka sends its patterns, joined by `|`, to the
//! broker, which matches whole names by RE2/J.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::cluster::{Changed, Cluster};
use super::roster::RosterSubscription;
use crate::assign::GroupProtocol;
use crate::error::{MatchError, PatternError};
use crate::group::java_order;
use crate::matching::dialect::Dialect;

/// Patterns of a fleet by number, and the topics of one cluster that they match.
pub trait Patterns {
    /// Return the text and the dialect of a pattern.
    fn pattern(&self, number: u32) -> (String, Dialect);

    /// Return the number of the broker's pattern with this text.
    ///
    /// # Errors
    /// The pattern is invalid for the broker, or the engine cannot match it exactly.
    fn broker_pattern(&self, text: &str) -> Result<u32, PatternError>;

    /// Return true if a pattern matches a topic; false if matching takes too long.
    fn matches(&self, pattern: u32, topic: &str) -> bool;

    /// Return the numbers of the cluster's topics that a pattern matches.
    ///
    /// # Errors
    /// Matching takes too many steps.
    fn matching(&self, pattern: u32) -> Result<Vec<u32>, MatchError>;
}

/// Topics that members gain and lose because a switch of the group protocol changes what their patterns mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternChange {
    /// The ids of the members, in Kafka's order.
    pub members: Vec<String>,
    /// Their patterns.
    pub patterns: Vec<String>,
    /// The pattern that the broker gets; None if it gets none.
    pub sent: Option<String>,
    /// The topics that they gain, in Java's order.
    pub gained: Vec<String>,
    /// The topics that they lose, in Java's order.
    pub lost: Vec<String>,
    /// Why the members cannot use these patterns after the switch; None if they can.
    pub problem: Option<String>,
    /// True if the broker rejects the pattern, so that its members cannot join.
    pub is_rejected: bool,
}

/// Patterns of a subscription after a switch.
struct Meaning {
    /// The patterns that are matched; None if the broker rejects the subscription.
    matched_by: Option<Vec<u32>>,
    sent: Option<String>,
    problem: Option<String>,
}

impl Meaning {
    fn as_given(subscription: &RosterSubscription<'_>) -> Self {
        Self { matched_by: Some(subscription.patterns.clone()), sent: None, problem: None }
    }

    fn unchanged(subscription: &RosterSubscription<'_>) -> Self {
        Self { matched_by: Some(subscription.matched_by.clone()), sent: None, problem: None }
    }
}

/// Cluster in a scenario, with the patterns of the group.
#[derive(Clone, Copy)]
pub(super) struct Matching<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) changed: &'a Changed,
    pub(super) patterns: &'a dyn Patterns,
}

impl Matching<'_> {
    /// Change the topics of a subscription to those that its patterns match in a group protocol. Return the change without its
    /// members; None if the patterns have the same meaning.
    pub(super) fn switch(
        &self,
        subscription: &mut RosterSubscription<'_>,
        protocol: GroupProtocol,
    ) -> Option<PatternChange> {
        if subscription.patterns.is_empty() {
            return None;
        }
        let mut meaning = self.meaning(subscription, protocol);
        let is_rejected = meaning.matched_by.is_none();
        let before = self.existing(&subscription.topics);
        match meaning.matched_by.as_deref().map(|numbers| self.topics(subscription, numbers)) {
            None => subscription.topics.clear(),
            Some(Ok(topics)) => subscription.topics = topics.into_iter().map(Cow::Owned).collect(),
            Some(Err(error)) => {
                meaning.matched_by = Some(subscription.matched_by.clone());
                meaning.problem = Some(unknown(&error.to_string()));
            }
        }
        subscription.matched_by = meaning.matched_by.unwrap_or_default();
        let after = self.existing(&subscription.topics);
        let (gained, lost) = (without(&after, &before), without(&before, &after));
        if gained.is_empty() && lost.is_empty() && meaning.problem.is_none() {
            return None;
        }
        let patterns = subscription.patterns.iter().map(|number| self.patterns.pattern(*number).0).collect();
        Some(PatternChange {
            members: Vec::new(),
            patterns,
            sent: meaning.sent,
            gained,
            lost,
            problem: meaning.problem,
            is_rejected,
        })
    }

    fn meaning(&self, subscription: &RosterSubscription<'_>, protocol: GroupProtocol) -> Meaning {
        let as_given = Meaning::as_given(subscription);
        let given = subscription.patterns.iter().map(|number| (*number, self.patterns.pattern(*number)));
        let given: Vec<(u32, (String, Dialect))> = given.collect();
        let Some((_, (_, dialect))) = given.first() else { return as_given };
        match (protocol, dialect) {
            (GroupProtocol::Consumer, Dialect::Librdkafka) => {
                // A librdkafka pattern without a leading `^` is a name, which the client sends as a name.
                let (sent, names): (Vec<_>, Vec<_>) =
                    given.into_iter().partition(|(_, (text, _))| text.starts_with('^'));
                let names = names.into_iter().map(|(number, _)| number).collect();
                let sent: Vec<String> = sent.into_iter().map(|(_, (text, _))| text).collect();
                if sent.is_empty() { as_given } else { self.sent(as_given, names, sent.join("|")) }
            }
            (GroupProtocol::Consumer, Dialect::Python) => {
                let texts: Vec<String> = given.into_iter().map(|(_, (text, _))| text).collect();
                let problem = format!(
                    "kafka-python and aiokafka do not support the protocol of KIP-848, so another client is needed; the topics \
                     are assumed to stay the same{}",
                    self.elsewhere(subscription, &texts.join("|"))
                );
                Meaning { problem: Some(problem), ..Meaning::unchanged(subscription) }
            }
            (GroupProtocol::Share, _) => {
                let problem = "members of share groups subscribe to names only, so an application would have to resolve its patterns; \
                               the topics are assumed to stay the same";
                Meaning { problem: Some(problem.to_owned()), ..Meaning::unchanged(subscription) }
            }
            (GroupProtocol::Classic, Dialect::Re2j) => {
                let problem = "in the classic protocol the broker matches no patterns, so a pattern is needed that the client \
                               matches; the topics are assumed to stay the same";
                Meaning { problem: Some(problem.to_owned()), ..Meaning::unchanged(subscription) }
            }
            _ => as_given,
        }
    }

    /// Return the meaning of patterns that the broker gets as one text.
    fn sent(&self, as_given: Meaning, mut numbers: Vec<u32>, text: String) -> Meaning {
        match self.patterns.broker_pattern(&text) {
            Ok(number) => {
                numbers.push(number);
                Meaning { matched_by: Some(numbers), sent: Some(text), problem: None }
            }
            Err(error) if error.invalid => {
                let problem = format!(
                    "the broker rejects the pattern '{text}' with INVALID_REGULAR_EXPRESSION, and a member with it cannot join: \
                     {} (position {})",
                    error.reason, error.position
                );
                Meaning { matched_by: None, sent: Some(text), problem: Some(problem) }
            }
            Err(error) => {
                let problem = unknown(&format!("{} (position {})", error.reason, error.position));
                Meaning { sent: Some(text), problem: Some(problem), ..as_given }
            }
        }
    }

    /// Return the end of a sentence: the topics that the broker would add, and those that it would not match, with the same patterns.
    fn elsewhere(&self, subscription: &RosterSubscription<'_>, text: &str) -> String {
        let topics = self.patterns.broker_pattern(text).ok().map(|number| self.topics(subscription, &[number]));
        let topics = match topics {
            None => {
                return format!(
                    "; the broker does not accept the pattern '{text}', or this package cannot match it as the broker does"
                );
            }
            Some(Err(_)) => return String::new(),
            Some(Ok(topics)) => topics.into_iter().map(Cow::Owned).collect::<Vec<_>>(),
        };
        let (before, after) = (self.existing(&subscription.topics), self.existing(&topics));
        let changes = [("add", without(&after, &before)), ("not match", without(&before, &after))];
        let changes = changes.iter().filter(|(_, topics)| !topics.is_empty());
        let changes: Vec<String> = changes.map(|(verb, topics)| format!("{verb} {}", some(topics))).collect();
        if changes.is_empty() {
            return String::new();
        }
        format!(
            "; the broker, which matches whole names by RE2/J, would {} with the pattern '{text}'",
            changes.join(" and ")
        )
    }

    /// Return the topics of a subscription with these patterns: its names, then the topics that a pattern matches, in Java's order.
    fn topics(&self, subscription: &RosterSubscription<'_>, numbers: &[u32]) -> Result<Vec<String>, MatchError> {
        let names = self.cluster.topics().names();
        let mut found = Vec::new();
        for number in numbers {
            found
                .extend(self.patterns.matching(*number)?.into_iter().map(|topic| names.get(topic as usize).to_owned()));
            found.extend(self.changed.added(self.cluster).filter(|topic| self.patterns.matches(*number, topic)));
        }
        found.sort_unstable_by(|left, right| java_order(left, right));
        found.dedup();
        found.retain(|topic| !subscription.names.iter().any(|name| name == topic));
        Ok(subscription.names.iter().map(|name| name.clone().into_owned()).chain(found).collect())
    }

    fn existing(&self, topics: &[Cow<'_, str>]) -> Vec<String> {
        let exists = |topic: &&Cow<'_, str>| self.changed.count(self.cluster, topic).is_some();
        topics.iter().filter(exists).map(|topic| topic.clone().into_owned()).collect()
    }
}

/// Return the topics that are not among others, in Java's order.
fn without(topics: &[String], others: &[String]) -> Vec<String> {
    let others: FxHashSet<&String> = others.iter().collect();
    let mut found: Vec<String> = topics.iter().filter(|topic| !others.contains(topic)).cloned().collect();
    found.sort_unstable_by(|left, right| java_order(left, right));
    found.dedup();
    found
}

fn unknown(reason: &str) -> String {
    format!("the topics that the broker matches are not computed, and are assumed to stay the same: {reason}")
}

/// Largest number of topics that a sentence names.
const SHOWN: usize = 5;

fn some(topics: &[String]) -> String {
    let more = if topics.len() > SHOWN { format!(" and {} more", topics.len() - SHOWN) } else { String::new() };
    format!("{}{more}", topics[..topics.len().min(SHOWN)].join(", "))
}

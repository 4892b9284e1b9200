//! Incremental matcher: when topics or patterns change, it computes the matches gained and lost without repeating all matches.

use std::collections::BTreeMap;

use super::catalog::Catalog;
use super::literal_index::LiteralIndex;
use super::pattern::Pattern;
use crate::error::MatchError;

/// Minimum number of new names that are matched together, in order, by each pattern.
const MIN_SORTED_BATCH: usize = 32;

/// Minimum number of used topic numbers for which `renumber` has an effect.
const MIN_RENUMBERED: usize = 4096;

/// Topics that each of many patterns matches, kept up to date while topics and patterns change.
#[derive(Default)]
pub struct Matcher {
    topics: Catalog,
    patterns: BTreeMap<u32, MatchedPattern>,
    next_pattern: u32,
    literals: LiteralIndex,
}

struct MatchedPattern {
    pattern: Pattern,
    /// Numbers of the matching topics, ascending.
    found: Vec<u32>,
}

/// Ascending numbers of the topics that a pattern gained or lost, by number of the pattern.
pub type Changes = BTreeMap<u32, Vec<u32>>;

impl Matcher {
    /// Return the topics, by number.
    #[must_use]
    pub fn topics(&self) -> &Catalog {
        &self.topics
    }

    /// Add topics; return the numbers of the new topics, and the topics that patterns gained.
    ///
    /// # Errors
    ///
    /// Matching a name takes too many steps, or `proceed`, the interrupt check, returns false. Then nothing changes.
    pub fn add_topics(
        &mut self,
        names: &[&str],
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<(Vec<u32>, Changes), MatchError> {
        let new: Vec<&str> = names.iter().copied().filter(|name| self.topics.find(name.as_bytes()).is_none()).collect();
        let own = Catalog::new(new.iter().copied());
        let first = self.topics.next_number() as u32;
        let mut gained = Changes::new();
        if own.next_number() < MIN_SORTED_BATCH {
            for number in 0..own.next_number() as u32 {
                let name = String::from_utf8_lossy(own.bytes(number)).into_owned();
                for pattern in self.literals.candidates(name.as_bytes()) {
                    let Some(entry) = self.patterns.get(&pattern) else { continue };
                    let topics = gained.entry(pattern).or_default();
                    if topics.last() != Some(&(first + number)) && entry.pattern.matches(&name, proceed)? {
                        topics.push(first + number);
                    }
                }
                if !proceed() {
                    return Err(MatchError::Interrupted);
                }
            }
        } else {
            for (&pattern, entry) in &self.patterns {
                let found = entry.pattern.select(&own, proceed)?;
                gained.insert(pattern, found.into_iter().map(|number| first + number).collect());
            }
        }
        gained.retain(|_, topics| !topics.is_empty());
        for (&pattern, topics) in &gained {
            if let Some(entry) = self.patterns.get_mut(&pattern) {
                entry.found.extend(topics);
            }
        }
        Ok((self.topics.add(new), gained))
    }

    /// Remove topics, ignoring unknown topics; return their numbers, and the topics that patterns lost.
    #[must_use]
    pub fn remove_topics(&mut self, names: &[&str]) -> (Vec<u32>, Changes) {
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| self.topics.find(name.as_bytes())).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut lost = Changes::new();
        for &number in &numbers {
            for pattern in self.literals.candidates(self.topics.bytes(number)) {
                if self.found(pattern).binary_search(&number).is_ok() {
                    let topics = lost.entry(pattern).or_default();
                    if topics.last() != Some(&number) {
                        topics.push(number);
                    }
                }
            }
        }
        for (&pattern, topics) in &lost {
            if let Some(entry) = self.patterns.get_mut(&pattern) {
                entry.found.retain(|number| topics.binary_search(number).is_err());
            }
        }
        self.topics.remove(&numbers);
        (numbers, lost)
    }

    /// Add a pattern; return its number.
    ///
    /// # Errors
    ///
    /// Matching a name takes too many steps, or `proceed`, the interrupt check, returns false. Then nothing changes.
    pub fn add_pattern(&mut self, pattern: Pattern, proceed: &mut dyn FnMut() -> bool) -> Result<u32, MatchError> {
        let found = pattern.select(&self.topics, proceed)?;
        let number = self.next_pattern;
        self.next_pattern += 1;
        self.literals.add(number, pattern.required_literals().as_ref());
        self.patterns.insert(number, MatchedPattern { pattern, found });
        Ok(number)
    }

    /// Remove a pattern; return the topics that it matched.
    pub fn remove_pattern(&mut self, number: u32) -> Vec<u32> {
        let Some(entry) = self.patterns.remove(&number) else { return Vec::new() };
        self.literals.remove(number, entry.pattern.required_literals().as_ref());
        entry.found
    }

    /// Return the topics that a pattern matches, in the order in which they were added.
    #[must_use]
    pub fn found(&self, pattern: u32) -> &[u32] {
        self.patterns.get(&pattern).map_or(&[], |entry| &entry.found)
    }

    /// Renumber the topics in the same order if most numbers belong to removed topics; return the old number of each topic.
    pub fn renumber(&mut self) -> Option<Vec<u32>> {
        if self.topics.next_number() < MIN_RENUMBERED || self.topics.len() * 4 > self.topics.next_number() {
            return None;
        }
        let live: Vec<u32> = self.topics.live_numbers().collect();
        let names = live.iter().map(|&number| self.topics.bytes(number));
        let topics = Catalog::new(names.map(|name| std::str::from_utf8(name).unwrap_or_default()));
        for entry in self.patterns.values_mut() {
            for number in &mut entry.found {
                *number = live.partition_point(|live| live < number) as u32;
            }
        }
        self.topics = topics;
        Some(live)
    }
}

//! The incremental matcher: what each change of topics and patterns gains or loses, without matching everything again.

use std::collections::BTreeMap;

use super::catalog::Catalog;
use super::literal_index::LiteralIndex;
use super::pattern::Pattern;
use crate::error::MatchError;

/// From this number of new names on, each pattern is tried on all of them together, in order.
const MIN_SORTED_BATCH: usize = 32;

/// The lowest number of used topic numbers for which `renumber` does anything.
const MIN_RENUMBERED: usize = 4096;

/// The topics that each of many patterns matches, kept up to date while both change.
#[derive(Default)]
pub struct Matcher {
    topics: Catalog,
    patterns: BTreeMap<u32, MatchedPattern>,
    next_pattern: u32,
    literals: LiteralIndex,
}

struct MatchedPattern {
    pattern: Pattern,
    /// The topics that it matches, in ascending order.
    found: Vec<u32>,
}

/// What a change did: by number of a pattern, the numbers of the topics that it gained or lost, ascending.
pub type Changes = BTreeMap<u32, Vec<u32>>;

impl Matcher {
    /// The topics, by number.
    #[must_use]
    pub fn topics(&self) -> &Catalog {
        &self.topics
    }

    /// Adds topics: the numbers of those that are new, and what patterns gained.
    ///
    /// # Errors
    ///
    /// Where a pattern takes too many steps on a name, or if `proceed`, the interrupt check, returns false; nothing is changed then.
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
                    if topics.last() != Some(&(first + number)) && entry.pattern.matches(&name)? {
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

    /// Removes topics, unknown ones aside: their numbers, and what patterns lost.
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

    /// Adds a pattern: its number.
    ///
    /// # Errors
    ///
    /// Where it takes too many steps on a name, or if `proceed`, the interrupt check, returns false; nothing is changed then.
    pub fn add_pattern(&mut self, pattern: Pattern, proceed: &mut dyn FnMut() -> bool) -> Result<u32, MatchError> {
        let found = pattern.select(&self.topics, proceed)?;
        let number = self.next_pattern;
        self.next_pattern += 1;
        self.literals.add(number, pattern.required_literals().as_ref());
        self.patterns.insert(number, MatchedPattern { pattern, found });
        Ok(number)
    }

    /// Removes a pattern: the topics that it matched.
    pub fn remove_pattern(&mut self, number: u32) -> Vec<u32> {
        let Some(entry) = self.patterns.remove(&number) else { return Vec::new() };
        self.literals.remove(number, entry.pattern.required_literals().as_ref());
        entry.found
    }

    /// The topics that a pattern matches, in ascending order of their numbers: as they were added.
    #[must_use]
    pub fn found(&self, pattern: u32) -> &[u32] {
        self.patterns.get(&pattern).map_or(&[], |entry| &entry.found)
    }

    /// Numbers the topics anew, in the same order, once most numbers are of topics that were removed: the old number of each.
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

//! Topic names that patterns are matched against, sorted forwards and backwards, so that names with a common prefix or
//! suffix are adjacent.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::syntax::MAX_NAME_LENGTH;

/// Internal topics, which clients exclude by default (`Topic.INTERNAL_TOPICS`).
pub const INTERNAL_TOPICS: [&str; 3] = ["__consumer_offsets", "__share_group_state", "__transaction_state"];

/// Distinct names by number. Numbers are not reused.
#[derive(Default)]
pub struct Catalog {
    names: Vec<Option<Box<[u8]>>>,
    known: HashTable<u32>,
    /// Sorted names; built on first use, then kept sorted.
    sorted: OnceLock<SortedNames>,
    /// Reversed names, sorted; built on first use, then kept sorted.
    reversed: OnceLock<Vec<u32>>,
    /// Number of searches without sorted names.
    searches: AtomicUsize,
}

/// Sorted names, and the length of the common prefix of each name and its predecessor.
struct SortedNames {
    numbers: Vec<u32>,
    common: Vec<u16>,
}

/// Number of searches before names are sorted.
const UNSORTED_SEARCHES: usize = 4;

/// Maximum number of added or removed names that update the sorted lists one by one; for more names, all are sorted again.
const MAX_SINGLE_UPDATES: usize = 64;

/// Return true if patterns can be matched against a name: it is printable ASCII and not longer than Kafka allows.
#[must_use]
pub fn is_matchable(name: &str) -> bool {
    name.len() <= MAX_NAME_LENGTH && name.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Return true if a topic is internal.
#[must_use]
pub fn is_internal(name: &[u8]) -> bool {
    name.starts_with(b"__") && INTERNAL_TOPICS.iter().any(|internal| internal.as_bytes() == name)
}

impl Catalog {
    /// Return a catalog of distinct names, numbered from 0 in the order of their first occurrence.
    #[must_use]
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut catalog = Self::default();
        for name in names {
            catalog.number(name.as_bytes());
        }
        catalog
    }

    /// Return the number of a name.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.known.find(FxBuildHasher.hash_one(name), |&other| self.bytes(other) == name).copied()
    }

    /// Return the topic name with the given number; empty for an unknown number.
    #[must_use]
    pub fn bytes(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Return the number of names.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Return the number of the next new name.
    #[must_use]
    pub fn next_number(&self) -> usize {
        self.names.len()
    }

    /// Add names; return the numbers of the new names, in order.
    pub fn add<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Vec<u32> {
        let first = self.names.len() as u32;
        for name in names {
            self.number(name.as_bytes());
        }
        let new: Vec<u32> = (first..self.names.len() as u32).collect();
        if new.len() > MAX_SINGLE_UPDATES {
            self.drop_sorted();
        } else {
            for &number in &new {
                self.insert_sorted(number);
            }
        }
        new
    }

    /// Remove names by number.
    pub fn remove(&mut self, numbers: &[u32]) {
        for &number in numbers {
            if numbers.len() <= MAX_SINGLE_UPDATES {
                self.remove_sorted(number);
            }
            let hash = FxBuildHasher.hash_one(self.bytes(number));
            if let Ok(entry) = self.known.find_entry(hash, |&other| other == number) {
                entry.remove();
            }
            self.names[number as usize] = None;
        }
        if numbers.len() > MAX_SINGLE_UPDATES {
            self.drop_sorted();
        }
    }

    fn drop_sorted(&mut self) {
        self.sorted = OnceLock::new();
        self.reversed = OnceLock::new();
    }

    /// Return the position of a name in each sorted list, or None for a list that is not built.
    fn sorted_positions(&self, name: &[u8]) -> (Option<usize>, Option<usize>) {
        let before = |other: &u32| self.bytes(*other) < name;
        let before_reversed = |other: &u32| self.bytes(*other).iter().rev().lt(name.iter().rev());
        let sorted = self.sorted.get().map(|sorted| sorted.numbers.partition_point(before));
        (sorted, self.reversed.get().map(|reversed| reversed.partition_point(before_reversed)))
    }

    fn insert_sorted(&mut self, number: u32) {
        let name = self.bytes(number);
        let (sorted, reversed) = self.sorted_positions(name);
        if let (Some(position), Some(mut sorted)) = (sorted, self.sorted.take()) {
            sorted.numbers.insert(position, number);
            sorted.common.insert(position, 0);
            self.update_common_prefixes(&mut sorted, position);
            self.sorted = OnceLock::from(sorted);
        }
        if let (Some(position), Some(reversed)) = (reversed, self.reversed.get_mut()) {
            reversed.insert(position, number);
        }
    }

    fn remove_sorted(&mut self, number: u32) {
        let name = self.bytes(number);
        let (sorted, reversed) = self.sorted_positions(name);
        if let (Some(position), Some(mut sorted)) = (sorted, self.sorted.take()) {
            sorted.numbers.remove(position);
            sorted.common.remove(position);
            self.update_common_prefixes(&mut sorted, position);
            self.sorted = OnceLock::from(sorted);
        }
        if let (Some(position), Some(reversed)) = (reversed, self.reversed.get_mut()) {
            reversed.remove(position);
        }
    }

    /// Return the number of a name; a new name gets a new number.
    fn number(&mut self, name: &[u8]) -> u32 {
        if let Some(known) = self.find(name) {
            return known;
        }
        let number = self.names.len() as u32;
        self.names.push(Some(name.into()));
        let names = &self.names;
        let hash = |&other: &u32| FxBuildHasher.hash_one(names[other as usize].as_deref().unwrap_or_default());
        self.known.insert_unique(FxBuildHasher.hash_one(name), number, hash);
        number
    }

    /// Update the lengths of common prefixes at a position and after it.
    fn update_common_prefixes(&self, sorted: &mut SortedNames, position: usize) {
        for row in position..(position + 2).min(sorted.numbers.len()) {
            let last = row.checked_sub(1).map_or(&[][..], |before| self.bytes(sorted.numbers[before]));
            sorted.common[row] = common_prefix_length(last, self.bytes(sorted.numbers[row]));
        }
    }

    fn sorted_names(&self) -> &SortedNames {
        self.sorted.get_or_init(|| {
            let mut numbers: Vec<u32> = self.live_numbers().collect();
            numbers.sort_unstable_by(|&a, &b| self.bytes(a).cmp(self.bytes(b)));
            let mut last: &[u8] = &[];
            let share = |&number: &u32| {
                common_prefix_length(std::mem::replace(&mut last, self.bytes(number)), self.bytes(number))
            };
            let common = numbers.iter().map(share).collect();
            SortedNames { numbers, common }
        })
    }

    /// Return the numbers of the names that are not removed.
    pub(crate) fn live_numbers(&self) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.names).filter_map(|(number, name)| name.is_some().then_some(number))
    }

    /// Return the names with a prefix, each with the length of its common prefix with the previous name.
    pub(crate) fn with_prefix<'a>(&'a self, prefix: &'a [u8]) -> Box<dyn Iterator<Item = (u32, usize)> + 'a> {
        if !self.uses_sorted() {
            let begins = move |&number: &u32| self.bytes(number).starts_with(prefix);
            return Box::new(self.live_numbers().filter(begins).map(|number| (number, 0)));
        }
        let SortedNames { numbers, common } = self.sorted_names();
        let start = numbers.partition_point(|&number| self.bytes(number) < prefix);
        let behind = numbers[start..].partition_point(|&number| self.bytes(number).starts_with(prefix));
        let rows = numbers[start..start + behind].iter().zip(&common[start..]).enumerate();
        Box::new(rows.map(|(row, (&number, &common))| (number, if row == 0 { 0 } else { common as usize })))
    }

    /// Return the names that end with a suffix; its bytes are given in reverse order.
    pub(crate) fn with_suffix<'a>(&'a self, suffix: &'a [u8]) -> Box<dyn Iterator<Item = u32> + 'a> {
        let ends = move |&number: &u32| {
            let name = self.bytes(number);
            name.len() >= suffix.len() && name.iter().rev().take(suffix.len()).eq(suffix)
        };
        if !self.uses_sorted() {
            return Box::new(self.live_numbers().filter(ends));
        }
        let reversed = self.reversed.get_or_init(|| {
            let mut reversed: Vec<u32> = self.live_numbers().collect();
            reversed.sort_unstable_by(|&a, &b| self.bytes(a).iter().rev().cmp(self.bytes(b).iter().rev()));
            reversed
        });
        let start = reversed.partition_point(|&number| self.bytes(number).iter().rev().lt(suffix));
        let behind = reversed[start..].partition_point(ends);
        Box::new(reversed[start..start + behind].iter().copied())
    }

    /// Return true if a search should use sorted names. Sorting takes as long as a few searches of unsorted names.
    fn uses_sorted(&self) -> bool {
        self.sorted.get().is_some() || self.searches.fetch_add(1, Ordering::Relaxed) >= UNSORTED_SEARCHES
    }
}

/// Return the length of the common prefix of two names.
fn common_prefix_length(a: &[u8], b: &[u8]) -> u16 {
    a.iter().zip(b).take_while(|(a, b)| a == b).count() as u16
}

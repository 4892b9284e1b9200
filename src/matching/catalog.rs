//! The topic names that patterns are tried on, in order from both ends: names that begin or end alike lie together.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::OnceLock;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::syntax::LONGEST;

/// Topics that the broker keeps for itself; clients leave them out unless told otherwise (Topic.INTERNAL_TOPICS).
pub const INTERNAL: [&str; 3] = ["__consumer_offsets", "__share_group_state", "__transaction_state"];

/// Names by number, each once; a number is not given again.
#[derive(Default)]
pub struct Catalog {
    names: Vec<Option<Box<[u8]>>>,
    known: HashTable<u32>,
    forward: Vec<u32>,
    /// How many characters a name of `forward` has in common with the one before it.
    common: Vec<u16>,
    /// In the order of the names spelled backwards; made when first asked for.
    backward: OnceLock<Vec<u32>>,
}

/// Whether patterns can be tried on the name: printable ASCII and not too long, as every name that Kafka allows.
#[must_use]
pub fn can_be_tried(name: &str) -> bool {
    name.len() <= LONGEST && name.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Whether the broker keeps the topic for itself.
#[must_use]
pub fn is_internal(name: &[u8]) -> bool {
    name.starts_with(b"__") && INTERNAL.iter().any(|internal| internal.as_bytes() == name)
}

impl Catalog {
    /// A catalog of these names, numbered from 0 in their order; one that comes again has the number of the first.
    #[must_use]
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> (Self, Vec<u32>) {
        let mut catalog = Self::default();
        let numbers = names.into_iter().map(|name| catalog.number(name.as_bytes())).collect();
        catalog.forward = (0..catalog.names.len() as u32).collect();
        catalog.sort();
        (catalog, numbers)
    }

    /// The number of a name.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.known.find(FxBuildHasher.hash_one(name), |&other| self.bytes(other) == name).copied()
    }

    /// The name of a number.
    #[must_use]
    pub fn bytes(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// How many numbers were given.
    #[must_use]
    pub fn given(&self) -> usize {
        self.names.len()
    }

    /// Adds names; those that were not known, with their numbers, in the order given.
    pub fn add<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> Vec<u32> {
        let first = self.names.len() as u32;
        for name in names {
            self.number(name.as_bytes());
        }
        let new: Vec<u32> = (first..self.names.len() as u32).collect();
        if !new.is_empty() {
            self.forward.extend(&new);
            self.sort();
        }
        new
    }

    /// Removes names by number.
    pub fn remove(&mut self, numbers: &[u32]) {
        for &number in numbers {
            let hash = FxBuildHasher.hash_one(self.bytes(number));
            if let Ok(entry) = self.known.find_entry(hash, |&other| other == number) {
                entry.remove();
            }
            self.names[number as usize] = None;
        }
        self.forward.retain(|&number| self.names[number as usize].is_some());
        self.sort();
    }

    /// The number of a name, a new one where it is not known.
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

    /// Puts `forward` in order; what was in order stays so, and costs little.
    fn sort(&mut self) {
        let mut forward = std::mem::take(&mut self.forward);
        forward.sort_by(|&a, &b| self.bytes(a).cmp(self.bytes(b)));
        self.common.clear();
        let mut last: &[u8] = &[];
        for &number in &forward {
            let name = self.names[number as usize].as_deref().unwrap_or_default();
            let common = last.iter().zip(name).take_while(|(a, b)| a == b).count();
            self.common.push(common as u16);
            last = name;
        }
        self.forward = forward;
        self.backward = OnceLock::new();
    }

    /// The names in order, each with how many characters it has in common with the one before.
    pub(crate) fn forward(&self, range: Range<usize>) -> impl Iterator<Item = (u32, usize)> {
        let rows = self.forward[range.clone()].iter().zip(&self.common[range]);
        rows.enumerate().map(|(row, (&number, &common))| (number, if row == 0 { 0 } else { common as usize }))
    }

    /// Where in `forward` the names are that begin with a text.
    pub(crate) fn beginning(&self, head: &[u8]) -> Range<usize> {
        if head.is_empty() {
            return 0..self.forward.len();
        }
        let start = self.forward.partition_point(|&number| self.bytes(number) < head);
        let behind = self.forward[start..].partition_point(|&number| self.bytes(number).starts_with(head));
        start..start + behind
    }

    /// The names that end with a text, which is spelled backwards.
    pub(crate) fn ending(&self, tail: &[u8]) -> &[u32] {
        let backward = self.backward.get_or_init(|| {
            let mut backward = self.forward.clone();
            backward.sort_by(|&a, &b| self.bytes(a).iter().rev().cmp(self.bytes(b).iter().rev()));
            backward
        });
        let start = backward.partition_point(|&number| self.bytes(number).iter().rev().lt(tail));
        let ends = |&number: &u32| self.bytes(number).iter().rev().take(tail.len()).eq(tail);
        &backward[start..start + backward[start..].partition_point(ends)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(catalog: &Catalog, numbers: &[u32]) -> Vec<String> {
        numbers.iter().map(|&number| String::from_utf8_lossy(catalog.bytes(number)).into_owned()).collect()
    }

    fn beginning(catalog: &Catalog, head: &str) -> Vec<String> {
        let numbers: Vec<u32> = catalog.forward(catalog.beginning(head.as_bytes())).map(|(number, _)| number).collect();
        found(catalog, &numbers)
    }

    #[test]
    fn names_are_found_from_both_ends() {
        let (catalog, numbers) = Catalog::new(["b.v1", "a", "b", "a.v1", "a"]);

        assert_eq!(vec![0, 1, 2, 3, 1], numbers);
        assert_eq!(vec!["b", "b.v1"], beginning(&catalog, "b"));
        assert_eq!(vec!["a.v1", "b.v1"], found(&catalog, catalog.ending(b"1v.")));
        assert_eq!(Some(3), catalog.find(b"a.v1"));
    }

    #[test]
    fn what_is_added_and_removed_keeps_the_order() {
        let (mut catalog, _) = Catalog::new(["m", "x"]);

        assert_eq!(vec![2, 3], catalog.add(["z", "m", "a"]));
        catalog.remove(&[0]);
        assert_eq!(vec!["a", "x", "z"], beginning(&catalog, ""));
        assert_eq!(None, catalog.find(b"m"));
        assert_eq!(vec![4], catalog.add(["m"]));
        assert_eq!(vec!["m"], beginning(&catalog, "m"));
    }

    #[test]
    fn the_first_of_a_range_has_nothing_in_common_with_the_one_before() {
        let (catalog, _) = Catalog::new(["abc", "abd", "abe"]);

        let common: Vec<usize> = catalog.forward(1..3).map(|(_, common)| common).collect();
        assert_eq!(vec![0, 2], common);
    }

    #[test]
    fn only_what_kafka_could_name_can_be_tried() {
        assert!(can_be_tried("orders.v1"));
        assert!(!can_be_tried("größe"));
        assert!(!can_be_tried("a\n"));
        assert!(!can_be_tried(&"x".repeat(250)));
    }
}

//! The topic names that patterns are tried on, in order from both ends: names that begin or end alike lie together.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::syntax::LONGEST;

/// Topics that the broker keeps for itself; clients leave them out unless told otherwise (`Topic.INTERNAL_TOPICS`).
pub const INTERNAL: [&str; 3] = ["__consumer_offsets", "__share_group_state", "__transaction_state"];

/// Names by number, each once; a number is not given again.
#[derive(Default)]
pub struct Catalog {
    names: Vec<Option<Box<[u8]>>>,
    known: HashTable<u32>,
    /// In the order of the names; made when first asked for, and kept in order then.
    forward: OnceLock<Forward>,
    /// In the order of the names spelled backwards; likewise.
    backward: OnceLock<Vec<u32>>,
    /// How often names were looked for without an order.
    searches: AtomicUsize,
}

/// Names in order, and how many characters each has in common with the one before it.
struct Forward {
    numbers: Vec<u32>,
    common: Vec<u16>,
}

/// So many searches do without an order.
const SEARCHES: usize = 4;

/// So many names are put into the order one by one; with more all are sorted again.
const FEW: usize = 64;

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
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut catalog = Self::default();
        for name in names {
            catalog.number(name.as_bytes());
        }
        catalog
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

    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
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
        if new.len() > FEW {
            self.forget_order();
        } else {
            for &number in &new {
                self.put_in_order(number);
            }
        }
        new
    }

    /// Removes names by number.
    pub fn remove(&mut self, numbers: &[u32]) {
        for &number in numbers {
            if numbers.len() <= FEW {
                self.take_from_order(number);
            }
            let hash = FxBuildHasher.hash_one(self.bytes(number));
            if let Ok(entry) = self.known.find_entry(hash, |&other| other == number) {
                entry.remove();
            }
            self.names[number as usize] = None;
        }
        if numbers.len() > FEW {
            self.forget_order();
        }
    }

    fn forget_order(&mut self) {
        self.forward = OnceLock::new();
        self.backward = OnceLock::new();
    }

    /// Where a name belongs in each order that was made.
    fn places(&self, name: &[u8]) -> (Option<usize>, Option<usize>) {
        let before = |other: &u32| self.bytes(*other) < name;
        let before_backwards = |other: &u32| self.bytes(*other).iter().rev().lt(name.iter().rev());
        let forward = self.forward.get().map(|forward| forward.numbers.partition_point(before));
        (forward, self.backward.get().map(|backward| backward.partition_point(before_backwards)))
    }

    fn put_in_order(&mut self, number: u32) {
        let name = self.bytes(number);
        let (forward, backward) = self.places(name);
        if let (Some(place), Some(mut forward)) = (forward, self.forward.take()) {
            forward.numbers.insert(place, number);
            forward.common.insert(place, 0);
            self.share(&mut forward, place);
            self.forward = OnceLock::from(forward);
        }
        if let (Some(place), Some(backward)) = (backward, self.backward.get_mut()) {
            backward.insert(place, number);
        }
    }

    fn take_from_order(&mut self, number: u32) {
        let name = self.bytes(number);
        let (forward, backward) = self.places(name);
        if let (Some(place), Some(mut forward)) = (forward, self.forward.take()) {
            forward.numbers.remove(place);
            forward.common.remove(place);
            self.share(&mut forward, place);
            self.forward = OnceLock::from(forward);
        }
        if let (Some(place), Some(backward)) = (backward, self.backward.get_mut()) {
            backward.remove(place);
        }
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

    /// Says again how much the names from a place and behind it have in common with those before them.
    fn share(&self, forward: &mut Forward, place: usize) {
        for row in place..(place + 2).min(forward.numbers.len()) {
            let last = row.checked_sub(1).map_or(&[][..], |before| self.bytes(forward.numbers[before]));
            forward.common[row] = common(last, self.bytes(forward.numbers[row]));
        }
    }

    fn in_order(&self) -> &Forward {
        self.forward.get_or_init(|| {
            let mut numbers: Vec<u32> = self.standing().collect();
            numbers.sort_unstable_by(|&a, &b| self.bytes(a).cmp(self.bytes(b)));
            let mut last: &[u8] = &[];
            let share = |&number: &u32| common(std::mem::replace(&mut last, self.bytes(number)), self.bytes(number));
            let common = numbers.iter().map(share).collect();
            Forward { numbers, common }
        })
    }

    /// The numbers of the names that were not removed.
    pub(crate) fn standing(&self) -> impl Iterator<Item = u32> {
        (0u32..).zip(&self.names).filter_map(|(number, name)| name.is_some().then_some(number))
    }

    /// The names that begin with a text, each with how many characters it has in common with the one before.
    pub(crate) fn beginning<'a>(&'a self, head: &'a [u8]) -> Box<dyn Iterator<Item = (u32, usize)> + 'a> {
        if !self.is_ordered() {
            let begins = move |&number: &u32| self.bytes(number).starts_with(head);
            return Box::new(self.standing().filter(begins).map(|number| (number, 0)));
        }
        let Forward { numbers, common } = self.in_order();
        let start = numbers.partition_point(|&number| self.bytes(number) < head);
        let behind = numbers[start..].partition_point(|&number| self.bytes(number).starts_with(head));
        let rows = numbers[start..start + behind].iter().zip(&common[start..]).enumerate();
        Box::new(rows.map(|(row, (&number, &common))| (number, if row == 0 { 0 } else { common as usize })))
    }

    /// The names that end with a text, which is spelled backwards.
    pub(crate) fn ending<'a>(&'a self, tail: &'a [u8]) -> Box<dyn Iterator<Item = u32> + 'a> {
        let ends = move |&number: &u32| {
            let name = self.bytes(number);
            name.len() >= tail.len() && name.iter().rev().take(tail.len()).eq(tail)
        };
        if !self.is_ordered() {
            return Box::new(self.standing().filter(ends));
        }
        let backward = self.backward.get_or_init(|| {
            let mut backward: Vec<u32> = self.standing().collect();
            backward.sort_unstable_by(|&a, &b| self.bytes(a).iter().rev().cmp(self.bytes(b).iter().rev()));
            backward
        });
        let start = backward.partition_point(|&number| self.bytes(number).iter().rev().lt(tail));
        let behind = backward[start..].partition_point(ends);
        Box::new(backward[start..start + behind].iter().copied())
    }

    /// Whether the names are looked for in order: putting them in order costs as much as a few searches without.
    fn is_ordered(&self) -> bool {
        self.forward.get().is_some() || self.searches.fetch_add(1, Ordering::Relaxed) >= SEARCHES
    }
}

/// How many characters two names begin with alike.
fn common(a: &[u8], b: &[u8]) -> u16 {
    a.iter().zip(b).take_while(|(a, b)| a == b).count() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(catalog: &Catalog, numbers: impl Iterator<Item = u32>) -> Vec<String> {
        numbers.map(|number| String::from_utf8_lossy(catalog.bytes(number)).into_owned()).collect()
    }

    fn beginning(catalog: &Catalog, head: &str) -> Vec<String> {
        found(catalog, catalog.beginning(head.as_bytes()).map(|(number, _)| number))
    }

    fn ending(catalog: &Catalog, tail: &str) -> Vec<String> {
        found(catalog, catalog.ending(tail.as_bytes()))
    }

    /// The names by themselves, with an order that was made.
    fn ordered(names: &[&str]) -> Catalog {
        let catalog = Catalog::new(names.iter().copied());
        let (_, _) = (catalog.in_order(), catalog.ending(b"").count());
        catalog
    }

    #[test]
    fn names_are_found_from_both_ends_with_an_order_and_without() {
        let first_searches = Catalog::new(["b.v1", "a", "b", "a.v1", "a"]);

        let numbers = ["b.v1", "a", "b", "a.v1"].map(|name| first_searches.find(name.as_bytes()));
        assert_eq!([Some(0), Some(1), Some(2), Some(3)], numbers);
        assert_eq!((4, 4), (first_searches.len(), first_searches.given()));
        for (catalog, begin, end) in [
            (&first_searches, ["b.v1", "b"], ["b.v1", "a.v1"]),
            (&ordered(&["b.v1", "a", "b", "a.v1"]), ["b", "b.v1"], ["a.v1", "b.v1"]),
        ] {
            assert_eq!(begin.to_vec(), beginning(catalog, "b"));
            assert_eq!(end.to_vec(), ending(catalog, "1v."));
        }
    }

    #[test]
    fn what_is_added_and_removed_keeps_the_order() {
        let mut catalog = ordered(&["m", "x"]);

        assert_eq!(vec![2, 3], catalog.add(["z", "m", "a"]));
        catalog.remove(&[0]);
        assert_eq!(vec!["a", "x", "z"], beginning(&catalog, ""));
        assert_eq!(None, catalog.find(b"m"));
        assert_eq!(vec![4], catalog.add(["m"]));
        assert_eq!(vec!["m"], beginning(&catalog, "m"));
    }

    #[test]
    fn the_first_of_a_search_has_nothing_in_common_with_the_one_before() {
        let catalog = ordered(&["ab", "abd", "abda", "b"]);

        let common: Vec<usize> = catalog.beginning(b"abd").map(|(_, common)| common).collect();
        assert_eq!(vec![0, 3], common);
    }

    #[test]
    fn an_order_that_is_kept_is_the_one_that_is_made_anew() {
        let mut kept = ordered(&["m", "mb", "ab"]);
        let many: Vec<String> = (0..FEW + 10).map(|number| format!("t{number}")).collect();
        let few = |name: &'static str| vec![name];
        for (added, removed) in [
            (few("ma"), vec![]),
            (few("a"), vec![0]),
            (few("x"), vec![3, 4]),
            (many.iter().map(String::as_str).collect(), vec![1]),
            (few("m"), (10..10 + FEW as u32 + 3).collect()),
        ] {
            kept.add(added);
            kept.remove(&removed);
            let standing = found(&kept, kept.standing());
            let anew = ordered(&standing.iter().map(String::as_str).collect::<Vec<_>>());

            assert_eq!(beginning(&anew, ""), found(&kept, kept.in_order().numbers.iter().copied()));
            assert_eq!(anew.in_order().common, kept.in_order().common);
            assert_eq!(ending(&anew, ""), ending(&kept, ""));
        }
    }

    #[test]
    fn only_what_kafka_could_name_can_be_tried() {
        assert!(can_be_tried("orders.v1"));
        assert!(can_be_tried("")); // it is no topic, and all engines agree about it
        assert!(!can_be_tried("größe"));
        assert!(!can_be_tried("a\n"));
        assert!(!can_be_tried(&"x".repeat(250)));
    }
}

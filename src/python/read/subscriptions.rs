//! Turns the containers of topic names that members hand over into classes, looking at as little of them as is enough.
//!
//! In a large group most members hold the same names, often the same `str` objects, in the same order. So, cheapest first:
//! a container that holds the very objects of the one before, or of another one before, is of its class; a name that is
//! the same object as, or spelled like, the one that followed its predecessor last time is found without a table; only
//! what is left is looked up. Addresses mean something only while what they stand for is alive, so they are forgotten
//! whenever Python code may have run.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::group::{Group, Lists};
use crate::python::objects::entries::{Entry, addresses};

/// Stands for no topic.
const NONE: u32 = u32::MAX;

/// Containers that hold fewer names are as soon read as recognised.
const FEW: usize = 16;

/// Whether containers are recognised. A core compiled with `--cfg assignor_uninterned` gives every member a class of its own,
/// as if no two were alike; by that benches/instructions.py shows that it would notice.
const INTERNED: bool = !cfg!(assignor_uninterned);

/// What is known of a name.
#[derive(Clone, Copy)]
struct Seen {
    /// Its address; 0 where it is not known.
    at: usize,
    /// The number that followed.
    next: u32,
}

/// How many names ahead of the one that is read memory is asked for.
const AHEAD: usize = 16;

/// How containers are recognised.
pub(crate) struct SubscriptionInterner {
    /// Per number what followed it and where it was last time, and at the end what came first.
    seen: Vec<Seen>,
    /// Numbers whose `at` may be set since addresses were forgotten; once it is longer than `seen`, any may.
    learnt: Vec<u32>,
    /// Numbers of names that more than one container holds, by address.
    by_address: FxHashMap<usize, u32>,
    /// The last container: what it held, and its class.
    last: Vec<usize>,
    last_class: u32,
    /// Containers by a sample of what they held, with their class.
    by_sample: FxHashMap<u64, (Vec<usize>, u32)>,
    /// Containers that several members share, by their own address.
    containers: FxHashMap<usize, u32>,
    /// Sequences of numbers as containers had them, and the class of each.
    sequences: Lists,
    classes: Vec<u32>,
    table: HashTable<u32>,
    numbers: Vec<u32>,
    sorted: Vec<u32>,
}

impl SubscriptionInterner {
    /// One that has seen topics only: their numbers and the addresses of their names, in the order in which they came.
    pub(crate) fn new(topics: impl ExactSizeIterator<Item = (u32, usize)>) -> Self {
        let mut found = Self {
            seen: vec![Seen { at: 0, next: NONE }; topics.len() + 1],
            learnt: Vec::new(),
            by_address: FxHashMap::default(),
            last: Vec::new(),
            last_class: NONE,
            by_sample: FxHashMap::default(),
            containers: FxHashMap::default(),
            sequences: Lists::default(),
            classes: Vec::new(),
            table: HashTable::new(),
            numbers: Vec::new(),
            sorted: Vec::new(),
        };
        let mut before = topics.len();
        for (number, address) in topics {
            found.seen[before].next = number;
            found.seen[number as usize].at = address;
            before = number as usize;
            found.learnt.push(number);
        }
        found
    }

    /// Forgets addresses: Python code may have run.
    pub(crate) fn forget(&mut self) {
        if self.learnt.len() > self.seen.len() {
            self.seen.iter_mut().for_each(|seen| seen.at = 0);
        } else {
            self.learnt.iter().for_each(|number| self.seen[*number as usize].at = 0);
        }
        self.learnt.clear();
        // New ones, since to clear a table costs what it once held.
        self.by_address = FxHashMap::default();
        self.last.clear();
        self.last_class = NONE;
        self.by_sample = FxHashMap::default();
        self.containers = FxHashMap::default();
    }

    /// The class of a container that several members share, if it was seen before.
    pub(crate) fn of_container(&self, address: usize) -> Option<u32> {
        self.containers.get(&address).copied().filter(|_| INTERNED)
    }

    /// Notes the class of a container that several members share.
    pub(crate) fn note_container(&mut self, address: usize, class: u32) {
        self.containers.insert(address, class);
    }

    /// The class of a container that holds these names; Err with the place of the first that is no `str` in UTF-8.
    pub(crate) fn class(&mut self, group: &mut Group, entries: &[Entry<'_>]) -> Result<u32, usize> {
        let held = addresses(entries);
        if !INTERNED {
            self.resolve(group, entries)?;
            return Ok(self.of_numbers(group));
        }
        if self.last_class != NONE && self.last == held {
            return Ok(self.last_class);
        }
        let sample = if held.len() < FEW { 0 } else { sample(held) };
        let class = match self.by_sample.get(&sample) {
            Some((before, class)) if before == held => *class,
            _ => {
                let met_before = self.resolve(group, entries)?;
                let class = self.of_numbers(group);
                if met_before && held.len() >= FEW {
                    // Others will come with the same objects; fresh ones will not, and are not worth a copy.
                    self.by_sample.insert(sample, (held.to_vec(), class));
                }
                class
            }
        };
        self.last_class = class;
        self.last.clear();
        self.last.extend_from_slice(held);
        Ok(class)
    }

    /// The class of names that stay only while they are read.
    pub(crate) fn class_of_texts<'t>(&mut self, group: &mut Group, names: impl Iterator<Item = &'t str>) -> u32 {
        self.numbers.clear();
        let topics = self.seen.len() - 1;
        let mut before = topics;
        for name in names {
            let expected = self.seen[before].next as usize;
            let number = if expected < topics && group.topics().names().get(expected) == name {
                expected as u32
            } else {
                group.topic_number(name)
            };
            self.numbers.push(number);
            if (number as usize) < topics {
                self.seen[before].next = number;
                before = number as usize;
            }
        }
        self.of_numbers(group)
    }

    /// Fills in the numbers of a container's names; whether its objects were met before.
    fn resolve(&mut self, group: &mut Group, entries: &[Entry<'_>]) -> Result<bool, usize> {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        let topics = self.seen.len() - 1;
        let mut before = topics;
        let mut met = 0;
        for (place, entry) in entries.iter().enumerate() {
            let expected = self.seen[before].next as usize;
            let number = if self.seen.get(expected).is_some_and(|seen| seen.at == entry.address()) {
                met += 1;
                expected as u32
            } else if let Some(number) = self.by_address.get(&entry.address()) {
                met += 1;
                *number
            } else {
                // Text is read: names that are objects of their own lie anywhere, and so will the next ones.
                if let Some(ahead) = entries.get(place + AHEAD) {
                    ahead.prefetch();
                }
                let Some(name) = entry.text() else {
                    self.numbers = numbers;
                    return Err(place);
                };
                if expected < topics && group.topics().names().get(expected) == name {
                    expected as u32
                } else {
                    let number = group.topic_number(name);
                    if entry.is_shared() {
                        self.by_address.insert(entry.address(), number);
                    }
                    number
                }
            };
            numbers.push(number);
            if (number as usize) < topics {
                if self.learnt.len() <= topics + 1 {
                    self.learnt.push(number);
                }
                self.seen[number as usize].at = entry.address();
                self.seen[before].next = number;
                before = number as usize;
            }
        }
        self.numbers = numbers;
        Ok(met == entries.len())
    }

    /// The class of a sequence of numbers.
    fn of_numbers(&mut self, group: &mut Group) -> u32 {
        if !INTERNED {
            return group.push_subscription(&mut self.numbers);
        }
        if self.numbers.is_sorted_by(|left, right| left < right) {
            return group.intern_subscription(&mut self.numbers);
        }
        let numbers = &self.numbers[..];
        let hash = |numbers: &[u32]| FxBuildHasher.hash_one(numbers);
        let sequences = &self.sequences;
        let entry = self.table.entry(
            hash(numbers),
            |sequence| sequences.get(*sequence as usize) == numbers,
            |sequence| hash(sequences.get(*sequence as usize)),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => self.classes[*entry.get() as usize],
            hashbrown::hash_table::Entry::Vacant(entry) => {
                entry.insert(self.classes.len() as u32);
                self.sequences.push(numbers);
                self.sorted.clear();
                self.sorted.extend_from_slice(numbers);
                let class = group.intern_subscription(&mut self.sorted);
                self.classes.push(class);
                class
            }
        }
    }
}

/// A hash of a few of the addresses: enough to tell containers apart that differ by chance.
fn sample(held: &[usize]) -> u64 {
    let step = held.len() / 8 + 1;
    let mut state = FxBuildHasher.hash_one(held.len());
    for address in held.iter().step_by(step).chain(held.last()) {
        state = FxBuildHasher.hash_one((state, *address));
    }
    state
}

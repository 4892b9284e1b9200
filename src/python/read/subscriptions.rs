//! Interner of subscriptions, which recognises equal containers of topic names.
//!
//! In a large group most members give the same names in the same order, often as the same `str` objects. The cheapest test comes
//! first. A container with the same objects as an earlier one has the same subscription. If name B followed name A last time, the
//! name after A is first compared with B, by address and then by text; only other names are looked up in a table. An address
//! identifies an object only while the object is alive, so all addresses are forgotten when Python code may have run.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::group::Group;
use crate::python::objects::entries::{Entry, addresses};
use crate::python::objects::tuple_class::TupleClass;

/// Marks a missing topic or subscription.
const NONE: u32 = u32::MAX;

/// Minimum number of names in a container for which recognising the container is faster than reading the names.
const FEW: usize = 16;

/// Prediction of the name that follows a name.
#[derive(Clone, Copy)]
struct Prediction {
    /// Address of the name itself; 0 if it is not known.
    address: usize,
    /// Number of the name that followed last time.
    next: u32,
}

/// Distance, in names, between the name that is read and the name that is prefetched.
const AHEAD: usize = 16;

/// Interner of subscriptions.
pub(crate) struct SubscriptionInterner {
    /// By number of a name; the last entry predicts the first name of a container.
    predictions: Vec<Prediction>,
    /// True if all names may have an address in `predictions`; if false, only the names in `addressed` may have one.
    is_any_addressed: bool,
    addressed: Vec<u32>,
    /// Numbers of names that several containers hold, by address.
    by_address: FxHashMap<usize, u32>,
    /// Addresses of the names of the last container.
    last: Vec<usize>,
    last_is_set: bool,
    last_subscription: u32,
    /// By a hash of some addresses of a container, all its addresses and its subscription.
    by_sample: FxHashMap<u64, (Vec<usize>, u32)>,
    /// Subscriptions of containers that several members share, by the container's address.
    containers: FxHashMap<usize, u32>,
    /// Numbers of the topics of owned partitions, by the address of the name.
    owned_topics: FxHashMap<usize, u32>,
    /// Address of the name that was looked up last, and the number of its topic.
    last_owned_topic: (usize, u32),
    numbers: Vec<u32>,
    ids: Vec<i32>,
    /// The generation read last, by the address of its object.
    last_generation: (usize, i32),
}

impl SubscriptionInterner {
    /// Create an interner that predicts the topics in this order, given by number and address of the name.
    pub(crate) fn new(topics: impl ExactSizeIterator<Item = (u32, usize)>) -> Self {
        let mut found = Self {
            predictions: vec![Prediction { address: 0, next: NONE }; topics.len() + 1],
            is_any_addressed: true,
            addressed: Vec::new(),
            by_address: FxHashMap::default(),
            last: Vec::new(),
            last_is_set: false,
            last_subscription: NONE,
            by_sample: FxHashMap::default(),
            containers: FxHashMap::default(),
            owned_topics: FxHashMap::default(),
            last_owned_topic: (0, NONE),
            numbers: Vec::new(),
            ids: Vec::new(),
            last_generation: (0, 0),
        };
        let mut before = topics.len();
        for (number, address) in topics {
            found.predictions[before].next = number;
            found.predictions[number as usize].address = address;
            before = number as usize;
        }
        found
    }

    /// Forget all addresses: Python code may have run.
    pub(crate) fn forget_addresses(&mut self) {
        if self.is_any_addressed {
            self.predictions.iter_mut().for_each(|prediction| prediction.address = 0);
        } else {
            self.addressed.iter().for_each(|number| self.predictions[*number as usize].address = 0);
        }
        self.is_any_addressed = false;
        self.addressed.clear();
        // New tables: clearing a table takes time in proportion to its capacity.
        self.by_address = FxHashMap::default();
        self.last.clear();
        self.last_subscription = NONE;
        self.by_sample = FxHashMap::default();
        self.containers = FxHashMap::default();
        self.owned_topics = FxHashMap::default();
        self.last_owned_topic = (0, NONE);
        self.last_generation = (0, 0);
    }

    /// Return the generation read last, if the object with this address contained it.
    pub(crate) fn known_generation(&self, address: usize) -> Option<i32> {
        (address != 0 && self.last_generation.0 == address).then_some(self.last_generation.1)
    }

    /// Remember a generation as the one read last, with the address of the object that contained it.
    pub(crate) fn note_generation(&mut self, address: usize, generation: i32) {
        self.last_generation = (address, generation);
    }

    /// Add owned partitions of the member added last, up to the first entry that is not a pair of a plain `str` and an
    /// int32; return the number of partitions added.
    pub(crate) fn read_owned(&mut self, group: &mut Group, class: &TupleClass, partitions: &[Entry<'_>]) -> usize {
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        let (mut run, mut read) = (NONE, 0);
        for (index, partition) in partitions.iter().enumerate() {
            if let Some(ahead) = partitions.get(index + AHEAD) {
                ahead.prefetch();
            }
            let Some([name, id]) = partition.pair(class) else { break };
            let Some((topic, id)) = self.owned_topic(group, name).zip(id.int()) else { break };
            if topic != run && read > 0 {
                group.push_owned(run, ids.iter().copied());
                ids.clear();
            }
            run = topic;
            ids.push(id);
            read += 1;
        }
        if read > 0 {
            group.push_owned(run, ids.iter().copied());
        }
        self.ids = ids;
        read
    }

    /// Return the number of the topic of an owned partition; None if its name is not a `str` in UTF-8.
    #[inline]
    fn owned_topic(&mut self, group: &mut Group, name: Entry<'_>) -> Option<u32> {
        let address = name.address();
        if self.last_owned_topic.0 == address {
            return Some(self.last_owned_topic.1);
        }
        let topic = if let Some(topic) = self.owned_topics.get(&address) {
            *topic
        } else {
            let topic = group.owned_topic_number(name.text()?);
            if name.is_shared() {
                self.owned_topics.insert(address, topic);
            }
            topic
        };
        self.last_owned_topic = (address, topic);
        Some(topic)
    }

    /// Return the subscription of a container that several members share; None if the container is not known.
    pub(crate) fn known_container(&self, address: usize) -> Option<u32> {
        self.containers.get(&address).copied()
    }

    /// Remember the subscription of a container that several members share.
    pub(crate) fn note_container(&mut self, address: usize, subscription: u32) {
        self.containers.insert(address, subscription);
    }

    /// Return the subscription to the names in a container; Err has the index of the first entry that is not a `str` in UTF-8.
    ///
    /// The names of a set are sorted: the order in which it iterates differs from run to run.
    pub(crate) fn intern(&mut self, group: &mut Group, entries: &[Entry<'_>], is_set: bool) -> Result<u32, usize> {
        let held = addresses(entries);
        if self.last_subscription != NONE && self.last_is_set == is_set && self.last == held {
            return Ok(self.last_subscription);
        }
        let sample = if held.len() < FEW { 0 } else { sample(held) ^ u64::from(is_set) };
        let subscription = match self.by_sample.get(&sample) {
            Some((before, subscription)) if before == held => *subscription,
            _ => {
                let all_known = self.read_numbers(group, entries)?;
                if is_set {
                    self.numbers.sort_unstable();
                }
                let subscription = group.intern_subscription(&self.numbers);
                if all_known && held.len() >= FEW {
                    // Objects that were known before are likely to occur again.
                    self.by_sample.insert(sample, (held.to_vec(), subscription));
                }
                subscription
            }
        };
        self.last_subscription = subscription;
        self.last_is_set = is_set;
        self.last.clear();
        self.last.extend_from_slice(held);
        Ok(subscription)
    }

    /// Return the subscription to names that are given as text.
    pub(crate) fn intern_texts<'t>(&mut self, group: &mut Group, names: impl Iterator<Item = &'t str>) -> u32 {
        self.numbers.clear();
        let topics = self.predictions.len() - 1;
        let mut before = topics;
        for name in names {
            let expected = self.predictions[before].next as usize;
            let number = if expected < topics && group.topics().names().is(expected, name) {
                expected as u32
            } else {
                group.topic_number(name)
            };
            self.numbers.push(number);
            if (number as usize) < topics {
                self.predictions[before].next = number;
                before = number as usize;
            }
        }
        group.intern_subscription(&self.numbers)
    }

    /// Write the numbers of a container's names to `numbers`; return true if all its objects were known.
    fn read_numbers(&mut self, group: &mut Group, entries: &[Entry<'_>]) -> Result<bool, usize> {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        numbers.reserve_exact(entries.len());
        let topics = self.predictions.len() - 1;
        let mut before = topics;
        let mut known = 0;
        for (index, entry) in entries.iter().enumerate() {
            let expected = self.predictions[before].next as usize;
            let number =
                if self.predictions.get(expected).is_some_and(|prediction| prediction.address == entry.address()) {
                    known += 1;
                    expected as u32
                } else if let Some(number) = self.by_address.get(&entry.address()) {
                    known += 1;
                    *number
                } else {
                    // Names that are read as text may be anywhere in memory.
                    if let Some(ahead) = entries.get(index + AHEAD) {
                        ahead.prefetch();
                    }
                    let Some(name) = entry.text() else {
                        self.numbers = numbers;
                        return Err(index);
                    };
                    if expected < topics && group.topics().names().is(expected, name) {
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
                if !self.is_any_addressed {
                    self.addressed.push(number);
                    self.is_any_addressed = self.addressed.len() > topics;
                }
                self.predictions[number as usize].address = entry.address();
                self.predictions[before].next = number;
                before = number as usize;
            }
        }
        self.numbers = numbers;
        Ok(known == entries.len())
    }
}

/// Return a hash of some of the addresses.
fn sample(held: &[usize]) -> u64 {
    let step = held.len() / 8 + 1;
    let mut state = FxBuildHasher.hash_one(held.len());
    for address in held.iter().step_by(step).chain(held.last()) {
        state = FxBuildHasher.hash_one((state, *address));
    }
    state
}

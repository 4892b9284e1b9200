//! Iteration order of the broker's table of members.
//!
//! A broker copies the members into a `java.util.HashMap` in this order, and the answer of some assignors depends on the order of that
//! map. The table is a `TimelineHashMap`, which iterates by slot, latest key first. The slot of a key is in the high bits of its hash
//! code times a constant. This module computes the order for a table that is loaded from the log. The broker that wrote the log has the
//! same order if it wrote the whole log.
//!
//! Source: `org.apache.kafka.timeline.BaseHashTable` and `SnapshottableHashTable`.

/// Multiplier of the hash code.
const FIBONACCI: i64 = -7_046_029_254_386_353_131;

/// Keys of a table, in iteration order.
#[derive(Debug, Clone)]
pub(super) struct TimelineOrder {
    /// Per slot, its keys in insertion order.
    slots: Vec<Vec<String>>,
    size: usize,
}

impl Default for TimelineOrder {
    fn default() -> Self {
        Self { slots: vec![Vec::new(); 2], size: 0 }
    }
}

impl TimelineOrder {
    /// Add a key; return false if the table already has it.
    pub(super) fn add(&mut self, key: &str) -> bool {
        if (self.size + 1) * 3 > self.slots.len() * 4 {
            let before = std::mem::take(&mut self.slots);
            self.slots = vec![Vec::new(); 2 * before.len()];
            for key in before.into_iter().flatten() {
                let slot = self.slot(&key);
                self.slots[slot].push(key);
            }
        }
        let slot = self.slot(key);
        if self.slots[slot].iter().any(|other| other == key) {
            return false;
        }
        self.slots[slot].push(key.to_owned());
        self.size += 1;
        true
    }

    /// Return true if the table has a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.slots[self.slot(key)].iter().any(|other| other == key)
    }

    /// Remove a key if the table has it.
    pub(super) fn remove(&mut self, key: &str) {
        let slot = self.slot(key);
        if let Some(place) = self.slots[slot].iter().position(|other| other == key) {
            self.slots[slot].remove(place);
            self.size -= 1;
        }
    }

    /// Return the keys of each slot.
    pub(super) fn slots(&self) -> &[Vec<String>] {
        &self.slots
    }

    /// Return the table with these slots; None if the number of slots or the slot of a key is wrong.
    pub(super) fn of_slots(slots: Vec<Vec<String>>) -> Option<Self> {
        let size = slots.iter().map(Vec::len).sum();
        if slots.len() < 2 || !slots.len().is_power_of_two() {
            return None;
        }
        let found = Self { slots, size };
        let keys = found.slots.iter().enumerate().flat_map(|(slot, keys)| keys.iter().map(move |key| (slot, key)));
        let is_valid = keys.into_iter().all(|(slot, key)| found.slot(key) == slot);
        is_valid.then_some(found)
    }

    /// Iterate over the keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().flat_map(|slot| slot.iter().rev()).map(String::as_str)
    }

    fn slot(&self, key: &str) -> usize {
        let hash = key.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
        let mixed = i64::from(hash).wrapping_mul(FIBONACCI) as u64;
        (mixed >> (64 - self.slots.len().trailing_zeros())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_iterates_from_its_latest_key() {
        let mut order = TimelineOrder::default();
        for key in ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m5"] {
            order.add(key);
        }
        order.remove("m3");
        order.remove("missing");

        let keys: Vec<_> = order.keys().collect();

        assert_eq!(vec!["m5", "m0", "m2", "m7", "m4", "m1", "m6", "m8"], keys);
    }
}

//! Interner of the sets of racks that replicas are on.
//!
//! Replicas are often placed in a repeating pattern. If combination B followed combination A last time, the combination after A is
//! first compared with B, by the addresses of its names and then by their text. Most combinations are found in this way, without a
//! look-up in a table.

use pyo3::prelude::*;

use super::values::{iterate, with_name};
use crate::group::{Racks, Sets};
use crate::python::error::wrong_type;
use crate::python::objects::entries::{Entry, addresses, lend};

/// Interner of the racks of replicas.
#[derive(Default)]
pub(crate) struct RackSetInterner {
    racks: Racks,
    /// Combinations as given: in order, with repetitions.
    met: Sets,
    known: Vec<Combination>,
    /// By combination and place, the address of the name read last; 0 if it is not known.
    addresses: Vec<usize>,
    /// Combinations that may have addresses.
    addressed: Vec<u32>,
    last: u32,
    numbers: Vec<u32>,
}

/// Combination of racks.
struct Combination {
    /// Its set of racks.
    set: u32,
    /// The combination that followed last time.
    next: u32,
    /// Start and end of its addresses.
    start: usize,
    end: usize,
}

impl RackSetInterner {
    /// Forget the addresses of names: the objects may be gone.
    pub(crate) fn forget_addresses(&mut self) {
        for combination in self.addressed.drain(..) {
            let Combination { start, end, .. } = self.known[combination as usize];
            self.addresses[start..end].fill(0);
        }
    }

    /// Return the set of racks; None if an entry is not a name. All entries since `forget_addresses` have to be alive.
    #[inline]
    pub(crate) fn set(&mut self, entries: &[Entry<'_>]) -> Option<u32> {
        if let Some(last) = self.known.get(self.last as usize) {
            let next = last.next;
            let Combination { set, start, end, .. } = self.known[next as usize];
            let expected = &self.addresses[start..end];
            // Most names are few `str` objects that all partitions share.
            if expected.len() == entries.len()
                && expected.iter().zip(entries).all(|(address, entry)| *address == entry.address())
            {
                self.last = next;
                return Some(set);
            }
        }
        let set = self.set_by_text(entries)?;
        let Combination { start, end, .. } = self.known[self.last as usize];
        self.addressed.push(self.last);
        self.addresses[start..end].copy_from_slice(addresses(entries));
        Some(set)
    }

    /// Return the set of racks, and make its combination the last one; None if an entry is not a name.
    fn set_by_text(&mut self, entries: &[Entry<'_>]) -> Option<u32> {
        if let Some(Combination { next, .. }) = self.known.get(self.last as usize)
            && self.is(*next, entries)?
        {
            self.last = *next;
            return Some(self.known[self.last as usize].set);
        }
        self.numbers.clear();
        for rack in entries {
            self.numbers.push(self.racks.number(rack.text()?));
        }
        Some(self.note())
    }

    /// Return the set of racks in a container or iterable; None entries add nothing. Errors call the container `racks` and an entry
    /// `rack`.
    pub(crate) fn set_of(
        &mut self,
        given: &Bound<'_, PyAny>,
        racks: impl Fn() -> String,
        rack: impl Fn() -> String,
    ) -> PyResult<u32> {
        if let Some(Some(set)) = lend(given, |entries| self.set_by_text(entries)) {
            return Ok(set);
        }
        let type_error = || wrong_type(&racks(), "an iterable of str or None", given);
        let mut on: Vec<String> = Vec::new();
        for name in iterate(given, type_error)? {
            let name = name?;
            if !name.is_none() {
                on.push(with_name(&name, &rack, str::to_owned)?);
            }
        }
        Ok(self.set_of_texts(on.iter().map(String::as_str)))
    }

    /// Return the set of racks from an iterator of names.
    pub(crate) fn set_of_texts<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> u32 {
        self.numbers.clear();
        self.numbers.extend(texts.map(|rack| self.racks.number(rack)));
        self.note()
    }

    /// Return true if a combination has exactly these entries; None if an entry is not a name.
    fn is(&self, combination: u32, entries: &[Entry<'_>]) -> Option<bool> {
        let numbers = self.met.get(combination);
        if numbers.len() != entries.len() {
            return Some(false);
        }
        for (number, rack) in numbers.iter().zip(entries) {
            if !self.racks.is(*number, rack.text()?) {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Add the combination in `numbers`, and return its set.
    fn note(&mut self) -> u32 {
        let combination = self.met.number_of(&self.numbers);
        if combination as usize == self.known.len() {
            let set = self.racks.set(&mut self.numbers);
            let (start, end) = self.met.all().bounds(combination as usize);
            self.known.push(Combination { set, next: combination, start, end });
            self.addresses.resize(end, 0);
        }
        self.known[self.last as usize].next = combination;
        self.last = combination;
        self.known[combination as usize].set
    }

    /// Return the racks and their sets.
    pub(crate) fn racks(&self) -> &Racks {
        &self.racks
    }

    /// Return the racks and their sets, consuming the interner.
    pub(crate) fn into_racks(self) -> Racks {
        self.racks
    }
}

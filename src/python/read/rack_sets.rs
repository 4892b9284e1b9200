//! Interner of the sets of racks that replicas are on.
//!
//! Replicas are often placed in a repeating pattern. If combination B followed combination A last time, the combination after A is
//! first compared with B. Most combinations are found in this way, without a look-up in a table.

use pyo3::prelude::*;

use super::values::{is_text, iterate, with_name};
use crate::group::{Racks, Sets};
use crate::python::error::wrong_type;
use crate::python::objects::entries::{Entry, lend};

/// Interner of the racks of replicas.
#[derive(Default)]
pub(crate) struct RackSetInterner {
    racks: Racks,
    /// Combinations as given: in order, with repetitions.
    met: Sets,
    /// For each combination, its set of racks and the combination that followed last time.
    known: Vec<(u32, u32)>,
    last: u32,
    numbers: Vec<u32>,
}

impl RackSetInterner {
    /// Return the set of racks; None if an entry is not a name.
    pub(crate) fn set(&mut self, entries: &[Entry<'_>]) -> Option<u32> {
        if let Some((_, next)) = self.known.get(self.last as usize).copied()
            && self.is(next, entries)?
        {
            self.last = next;
            return Some(self.known[self.last as usize].0);
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
        if let Some(Some(set)) = lend(given, |entries| self.set(entries)) {
            return Ok(set);
        }
        let type_error = || wrong_type(&racks(), "an iterable of str or None", given);
        if is_text(given) {
            return Err(type_error());
        }
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
            if rack.text()? != self.racks.name(*number) {
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
            self.known.push((set, combination));
        }
        self.known[self.last as usize].1 = combination;
        self.last = combination;
        self.known[combination as usize].0
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

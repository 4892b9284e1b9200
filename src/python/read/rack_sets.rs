//! Turns the racks of a partition's replicas into a set, mostly without looking anything up.
//!
//! Replicas are spread in patterns: what comes after a combination of racks is most often what came after it before.

use pyo3::prelude::*;

use super::values::{is_text, iterate, with_name};
use crate::group::{Racks, Sets};
use crate::python::error::wrong_type;
use crate::python::objects::entries::{Entry, lend};

/// Interner of the racks of replicas.
#[derive(Default)]
pub(crate) struct RackSetInterner {
    racks: Racks,
    /// The combinations as they are written: in order, with repetitions.
    met: Sets,
    /// Per combination its set of racks, and what came after it last time.
    known: Vec<(u32, u32)>,
    last: u32,
    numbers: Vec<u32>,
}

impl RackSetInterner {
    /// The set of racks; None if some entry is no name.
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

    /// The set of racks in a container or iterable, None in it being no rack; the messages name it and what it holds.
    pub(crate) fn set_of(
        &mut self,
        given: &Bound<'_, PyAny>,
        racks: impl Fn() -> String,
        rack: impl Fn() -> String,
    ) -> PyResult<u32> {
        if let Some(Some(set)) = lend(given, |entries| self.set(entries)) {
            return Ok(set);
        }
        let refused = || wrong_type(&racks(), "an iterable of str or None", given);
        if is_text(given) {
            return Err(refused());
        }
        let mut on: Vec<String> = Vec::new();
        for name in iterate(given, refused)? {
            let name = name?;
            if !name.is_none() {
                on.push(with_name(&name, &rack, str::to_owned)?);
            }
        }
        Ok(self.set_of_texts(on.iter().map(String::as_str)))
    }

    /// The set of racks that come one by one.
    pub(crate) fn set_of_texts<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> u32 {
        self.numbers.clear();
        self.numbers.extend(texts.map(|rack| self.racks.number(rack)));
        self.note()
    }

    /// Return true if a combination is written like this; None if some entry is no name.
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

    /// Notes the combination in `numbers`, and gives its set.
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

    /// The racks that were met, and their sets.
    pub(crate) fn racks(&self) -> &Racks {
        &self.racks
    }

    /// The same, to keep.
    pub(crate) fn into_racks(self) -> Racks {
        self.racks
    }
}

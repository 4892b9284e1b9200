//! Index of patterns by the literals that they require, to find the patterns that could match a name.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::program::RequiredLiterals;

/// Numbers of patterns, indexed by their required literals.
#[derive(Default)]
pub(crate) struct LiteralIndex {
    exact: LiteralMap,
    prefixes: LiteralMap,
    suffixes: LiteralMap,
    /// Patterns that require no literal.
    others: Vec<u32>,
}

/// Patterns by literal, and the number of literals of each length.
#[derive(Default)]
struct LiteralMap {
    patterns: HashMap<Vec<u8>, Vec<u32>, FxBuildHasher>,
    lengths: BTreeMap<usize, usize>,
}

impl LiteralIndex {
    /// Add a pattern.
    pub(crate) fn add(&mut self, pattern: u32, required: Option<&RequiredLiterals<'_>>) {
        match required {
            Some(RequiredLiterals::Exact(names)) => self.exact.add(pattern, names),
            Some(RequiredLiterals::Prefixes(prefixes)) => self.prefixes.add(pattern, prefixes),
            Some(RequiredLiterals::Suffixes(suffixes)) => self.suffixes.add(pattern, suffixes),
            None => self.others.push(pattern),
        }
    }

    /// Remove a pattern, given the literals that it was added with.
    pub(crate) fn remove(&mut self, pattern: u32, required: Option<&RequiredLiterals<'_>>) {
        match required {
            Some(RequiredLiterals::Exact(names)) => self.exact.remove(pattern, names),
            Some(RequiredLiterals::Prefixes(prefixes)) => self.prefixes.remove(pattern, prefixes),
            Some(RequiredLiterals::Suffixes(suffixes)) => self.suffixes.remove(pattern, suffixes),
            None => self.others.retain(|&other| other != pattern),
        }
    }

    /// Return the patterns that could match a name: all that match, and possibly others.
    pub(crate) fn candidates(&self, name: &[u8]) -> Vec<u32> {
        let mut found = self.others.clone();
        found.extend(self.exact.patterns.get(name).into_iter().flatten());
        self.prefixes.collect(name, &mut found);
        if !self.suffixes.patterns.is_empty() {
            let reversed: Vec<u8> = name.iter().rev().copied().collect();
            self.suffixes.collect(&reversed, &mut found);
        }
        found
    }
}

impl LiteralMap {
    fn add(&mut self, pattern: u32, texts: &[Vec<u8>]) {
        for text in texts {
            self.patterns.entry_ref(text.as_slice()).or_default().push(pattern);
            *self.lengths.entry(text.len()).or_default() += 1;
        }
    }

    fn remove(&mut self, pattern: u32, texts: &[Vec<u8>]) {
        for text in texts {
            if let Some(patterns) = self.patterns.get_mut(text.as_slice()) {
                patterns.retain(|&other| other != pattern);
                if patterns.is_empty() {
                    self.patterns.remove(text.as_slice());
                }
            }
            if let Some(count) = self.lengths.get_mut(&text.len()) {
                *count -= 1;
                if *count == 0 {
                    self.lengths.remove(&text.len());
                }
            }
        }
    }

    /// Add the patterns whose literals are prefixes of a name.
    fn collect(&self, name: &[u8], found: &mut Vec<u32>) {
        for (&length, _) in self.lengths.range(..=name.len()) {
            found.extend(self.patterns.get(&name[..length]).into_iter().flatten());
        }
    }
}

//! Which patterns could match a name, told by the texts that every name they match must have.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::program::Clue;

/// Patterns by number, under the texts that they look for.
#[derive(Default)]
pub(crate) struct Clues {
    names: Texts,
    heads: Texts,
    tails: Texts,
    /// Patterns of which nothing is known.
    others: Vec<u32>,
}

/// Patterns by text, and how many texts there are of each length.
#[derive(Default)]
struct Texts {
    patterns: HashMap<Vec<u8>, Vec<u32>, FxBuildHasher>,
    lengths: BTreeMap<usize, usize>,
}

impl Clues {
    /// Adds a pattern.
    pub(crate) fn add(&mut self, pattern: u32, clue: Option<&Clue<'_>>) {
        match clue {
            Some(Clue::Names(names)) => self.names.add(pattern, names),
            Some(Clue::Heads(heads)) => self.heads.add(pattern, heads),
            Some(Clue::Tails(tails)) => self.tails.add(pattern, tails),
            None => self.others.push(pattern),
        }
    }

    /// Removes a pattern with the clue it was added with.
    pub(crate) fn remove(&mut self, pattern: u32, clue: Option<&Clue<'_>>) {
        match clue {
            Some(Clue::Names(names)) => self.names.remove(pattern, names),
            Some(Clue::Heads(heads)) => self.heads.remove(pattern, heads),
            Some(Clue::Tails(tails)) => self.tails.remove(pattern, tails),
            None => self.others.retain(|&other| other != pattern),
        }
    }

    /// The patterns that could match a name; none that could is missing.
    pub(crate) fn candidates(&self, name: &[u8]) -> Vec<u32> {
        let mut found = self.others.clone();
        found.extend(self.names.patterns.get(name).into_iter().flatten());
        self.heads.collect(name, &mut found);
        if !self.tails.patterns.is_empty() {
            let backwards: Vec<u8> = name.iter().rev().copied().collect();
            self.tails.collect(&backwards, &mut found);
        }
        found
    }
}

impl Texts {
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

    /// Adds the patterns under the texts that a name begins with.
    fn collect(&self, name: &[u8], found: &mut Vec<u32>) {
        for (&length, _) in self.lengths.range(..=name.len()) {
            found.extend(self.patterns.get(&name[..length]).into_iter().flatten());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(clues: &Clues, name: &str) -> Vec<u32> {
        let mut found = clues.candidates(name.as_bytes());
        found.sort_unstable();
        found
    }

    #[test]
    fn a_name_has_the_patterns_whose_texts_it_has() {
        let mut clues = Clues::default();
        let texts: Vec<Vec<u8>> = ["orders", "or", "qld-"].iter().map(|text| text.as_bytes().to_vec()).collect();
        clues.add(0, Some(&Clue::Names(&texts[..1])));
        clues.add(1, Some(&Clue::Heads(&texts[..2])));
        clues.add(2, Some(&Clue::Tails(&texts[2..])));
        clues.add(3, None);

        assert_eq!(vec![0, 1, 1, 3], sorted(&clues, "orders"));
        assert_eq!(vec![1, 2, 3], sorted(&clues, "or-dlq"));
        assert_eq!(vec![3], sorted(&clues, "mail"));

        clues.remove(1, Some(&Clue::Heads(&texts[..2])));
        clues.remove(3, None);
        assert_eq!(vec![0], sorted(&clues, "orders"));
        assert_eq!(1, clues.tails.lengths.len());
        assert!(clues.heads.lengths.is_empty());
    }
}

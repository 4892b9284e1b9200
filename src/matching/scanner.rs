//! A scanner over the text of a pattern, for the parsers; and errors that name a position in the pattern.

use std::cell::OnceCell;

use crate::error::PatternError;

/// How deep groups and classes may nest. Every parser descends by recursion; this keeps its stack small.
pub(crate) const MAX_DEPTH: usize = 100;

/// A pattern being read from left to right; a position counts characters.
pub(crate) struct Scanner {
    chars: Vec<char>,
    /// Position of the next character.
    pub(crate) at: usize,
    depth: usize,
    /// Position of the last `:]`, computed on first use.
    last_name_end: OnceCell<Option<usize>>,
}

impl Scanner {
    pub(crate) fn new(pattern: &str) -> Self {
        Self { chars: pattern.chars().collect(), at: 0, depth: 0, last_name_end: OnceCell::new() }
    }

    /// Whether all of it is read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.chars.len()
    }

    /// The next character, without taking it.
    pub(crate) fn peek(&self) -> Option<char> {
        self.look(0)
    }

    /// The character so many behind the next one.
    pub(crate) fn look(&self, further: usize) -> Option<char> {
        self.chars.get(self.at + further).copied()
    }

    /// Takes the next character.
    pub(crate) fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    /// Takes the given characters if they are the next ones.
    pub(crate) fn eat(&mut self, expected: &str) -> bool {
        let found = expected.chars().enumerate().all(|(index, char)| self.look(index) == Some(char));
        if found {
            self.at += expected.chars().count();
        }
        found
    }

    /// Takes characters as long as they are of a kind.
    pub(crate) fn take_while(&mut self, kind: impl Fn(char) -> bool) -> String {
        let rest = &self.chars[self.at.min(self.chars.len())..];
        let taken: String = rest.iter().copied().take_while(|&char| kind(char)).collect();
        self.at += taken.chars().count();
        taken
    }

    /// Whether there is a `:]` further on.
    pub(crate) fn has_name_end(&self) -> bool {
        let find = || self.chars.windows(2).rposition(|pair| pair == [':', ']']);
        self.last_name_end.get_or_init(find).is_some_and(|last| last >= self.at)
    }

    /// Enter a nested group or class; fails at the maximum depth. `leave` goes back.
    pub(crate) fn enter(&mut self) -> Result<(), PatternError> {
        if self.depth == MAX_DEPTH {
            return Err(unsupported(self.at, &format!("more than {MAX_DEPTH} nested groups")));
        }
        self.depth += 1;
        Ok(())
    }

    /// Leave the level that `enter` entered.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// What the dialect itself refuses.
pub(crate) fn invalid(position: usize, reason: &str) -> PatternError {
    PatternError { invalid: true, position, reason: reason.to_owned() }
}

/// What the dialect accepts and the engine cannot match exactly; the construct is named as a noun.
pub(crate) fn unsupported(position: usize, construct: &str) -> PatternError {
    PatternError { invalid: false, position, reason: construct.to_owned() }
}

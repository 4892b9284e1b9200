//! Scanner over the text of a pattern, and errors with a position in the pattern.

use std::cell::OnceCell;

use super::limits::{MAX_DEPTH, MAX_REFERENCED_GROUPS};
use crate::error::PatternError;

/// A scanner that reads a pattern from left to right. Positions count characters.
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

    /// Return true at the end of the pattern.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.chars.len()
    }

    /// Return the next character without consuming it.
    pub(crate) fn peek(&self) -> Option<char> {
        self.look(0)
    }

    /// Return the character that is `further` characters after the next one, without consuming it.
    pub(crate) fn look(&self, further: usize) -> Option<char> {
        self.chars.get(self.at + further).copied()
    }

    /// Consume and return the next character.
    pub(crate) fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    /// Return true if the expected characters are next.
    fn is_next(&self, expected: &str) -> bool {
        expected.chars().enumerate().all(|(index, char)| self.look(index) == Some(char))
    }

    /// Consume the expected characters if they are next; return true if they are.
    pub(crate) fn eat(&mut self, expected: &str) -> bool {
        let found = self.is_next(expected);
        if found {
            self.at += expected.chars().count();
        }
        found
    }

    /// Consume and return characters while they satisfy a predicate.
    pub(crate) fn take_while(&mut self, kind: impl Fn(char) -> bool) -> String {
        let rest = &self.chars[self.at.min(self.chars.len())..];
        let taken: String = rest.iter().copied().take_while(|&char| kind(char)).collect();
        self.at += taken.chars().count();
        taken
    }

    /// Return true if there is a `:]` after the current position.
    pub(crate) fn has_name_end(&self) -> bool {
        let find = || self.chars.windows(2).rposition(|pair| pair == [':', ']']);
        self.last_name_end.get_or_init(find).is_some_and(|last| last >= self.at)
    }

    /// Fail if a look-around group is next, for a dialect that has none. Other errors of such a group would not name the cause.
    pub(crate) fn reject_look_around(&self, dialect: &str) -> Result<(), PatternError> {
        match ["(?=", "(?!", "(?<=", "(?<!"].into_iter().find(|start| self.is_next(start)) {
            Some(start) => {
                Err(invalid(self.at, &format!("look-around '{start}' is not supported by dialect {dialect}")))
            }
            None => Ok(()),
        }
    }

    /// Enter a nested group or class; fail at the maximum depth.
    pub(crate) fn enter(&mut self) -> Result<(), PatternError> {
        if self.depth == MAX_DEPTH {
            return Err(unsupported(self.at, &format!("more than {MAX_DEPTH} nested groups")));
        }
        self.depth += 1;
        Ok(())
    }

    /// Leave a nested group or class.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// Return the error for a pattern that is invalid in its dialect.
pub(crate) fn invalid(position: usize, reason: &str) -> PatternError {
    PatternError { invalid: true, position, reason: reason.to_owned() }
}

/// Return the error for a valid pattern that the engine cannot match exactly; `construct` is a noun phrase.
pub(crate) fn unsupported(position: usize, construct: &str) -> PatternError {
    PatternError { invalid: false, position, reason: construct.to_owned() }
}

/// Return the construct of the error for references to too many groups.
pub(crate) fn too_many_references() -> String {
    format!("backreferences to more than {MAX_REFERENCED_GROUPS} groups")
}

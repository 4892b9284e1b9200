//! A position in the pattern as Java's parser sees it: quotes are escapes by then, and comments are no part of it.

use super::super::char_set::CharSet;
use super::super::scanner::{Scanner, invalid, unsupported};
use crate::error::PatternError;

/// Where Java throws, or forgets where it stands, once it matches a name.
pub(super) const FAILURE: &str = "a construct with which Java fails while matching";

/// The flags that change what is read; those of line breaks do not, as no name has one.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own in Java")]
pub(super) struct Flags {
    /// `i`: letters match in either case.
    pub(super) fold: bool,
    /// `u`: those of Unicode too.
    pub(super) unicode: bool,
    /// `x`: white space and comments mean nothing.
    pub(super) comments: bool,
    /// `d`: only `\n` ends a line.
    pub(super) unix_lines: bool,
    /// `U`: the classes of POSIX are those of Unicode.
    pub(super) classes: bool,
    /// `c`: canonical equivalence; it changes only how long Java thinks that a class is.
    pub(super) canonical: bool,
}

/// The characters of a pattern and the position of the next one. Behind the end there are NULs without end.
pub(super) struct Cursor {
    chars: Vec<char>,
    /// Where each character stands in the pattern, and where that ends.
    origins: Vec<usize>,
    pub(super) at: usize,
    pub(super) flags: Flags,
    depth: Scanner,
    /// The first thing that Java accepts and we cannot do; it counts only if Java accepts all the rest.
    doubt: Option<PatternError>,
}

impl Cursor {
    pub(super) fn new(pattern: &str) -> Self {
        let (chars, origins) = unquoted(&pattern.chars().collect::<Vec<_>>());
        Self { chars, origins, at: 0, flags: Flags::default(), depth: Scanner::new(""), doubt: None }
    }

    /// Whether all of it is read.
    pub(super) fn ended(&self) -> bool {
        self.at >= self.chars.len()
    }

    /// Whether all of it is read and nothing behind the end.
    pub(super) fn at_end(&self) -> bool {
        self.at == self.chars.len()
    }

    /// The character at an index, whatever the flags.
    pub(super) fn raw(&self, index: usize) -> char {
        self.chars.get(index).copied().unwrap_or('\0')
    }

    /// The characters between two indices.
    pub(super) fn between(&self, first: usize, end: usize) -> String {
        self.chars.get(first..end).unwrap_or_default().iter().collect()
    }

    /// The next character that is no comment, without taking it.
    pub(super) fn peek(&mut self) -> char {
        while self.flags.comments {
            match self.raw(self.at) {
                '\t'..='\r' | ' ' => self.at += 1,
                '#' => {
                    while self.raw(self.at) != '\0' && !self.ends_line(self.raw(self.at)) {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
        self.raw(self.at)
    }

    /// Goes one character further, and peeks.
    pub(super) fn next(&mut self) -> char {
        self.at += 1;
        self.peek()
    }

    /// Takes the next character that is no comment.
    pub(super) fn read(&mut self) -> char {
        let char = self.peek();
        self.at += 1;
        char
    }

    /// Goes one character back, be it of a comment.
    pub(super) fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    fn ends_line(&self, char: char) -> bool {
        char == '\n' || !self.flags.unix_lines && matches!(char, '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
    }

    /// Where an index lies in the pattern.
    pub(super) fn origin(&self, index: usize) -> usize {
        self.origins[index.min(self.chars.len())]
    }

    /// What Java refuses, at an index.
    pub(super) fn refuse(&self, index: usize, reason: &str) -> PatternError {
        invalid(self.origin(index), reason)
    }

    /// What Java accepts and we cannot do, at an index.
    pub(super) fn doubt(&mut self, index: usize, construct: &str) {
        let doubt = unsupported(self.origin(index), construct);
        self.doubt.get_or_insert(doubt);
    }

    /// The first doubt, if there is any.
    pub(super) fn settle(&mut self) -> Result<(), PatternError> {
        self.doubt.take().map_or(Ok(()), Err)
    }

    pub(super) fn enter(&mut self) -> Result<(), PatternError> {
        self.depth.at = self.origin(self.at);
        self.depth.enter()
    }

    pub(super) fn leave(&mut self) {
        self.depth.leave();
    }

    /// The characters that a literal one matches under the flags.
    pub(super) fn folded(&self, code: u32) -> CharSet {
        let Some(char) = char::from_u32(code) else { return CharSet::NONE };
        let partner = match char {
            'İ' | 'ı' => 'i',
            'ſ' => 's',
            '\u{212a}' => 'k',
            _ => char,
        };
        match (self.flags.fold, self.flags.unicode) {
            (false, _) => CharSet::one(char),
            (true, false) => CharSet::one(char).both_cases(),
            (true, true) => CharSet::one(partner).both_cases(),
        }
    }
}

/// The pattern with an escape for each character that is quoted by `\Q...\E`, and where each character comes from.
fn unquoted(pattern: &[char]) -> (Vec<char>, Vec<usize>) {
    let (mut chars, mut origins) = (Vec::with_capacity(pattern.len()), Vec::with_capacity(pattern.len() + 1));
    let mut put = |char: char, origin: usize| {
        chars.push(char);
        origins.push(origin);
    };
    let (mut at, mut quoted, mut first) = (0, false, false);
    while let Some(&char) = pattern.get(at) {
        let next = pattern.get(at + 1).copied();
        match (char, next) {
            ('\\', Some('E')) if quoted => {
                quoted = false;
                at += 1;
            }
            ('\\', Some('Q')) if !quoted => {
                (quoted, first) = (true, true);
                at += 2;
                continue;
            }
            ('\\', Some(next)) if !quoted => {
                put('\\', at);
                put(next, at + 1);
                at += 1;
            }
            // The first digit must not become a part of an escape before the quote.
            ('0'..='9', _) if first => ['\\', 'x', '3', char].into_iter().for_each(|char| put(char, at)),
            ('0'..='9' | 'a'..='z' | 'A'..='Z' | '\u{80}'.., _) => put(char, at),
            _ => {
                if quoted {
                    put('\\', at);
                }
                put(char, at);
            }
        }
        first = false;
        at += 1;
    }
    origins.push(pattern.len());
    (chars, origins)
}

//! Cursor over a pattern as in Java's parser: quoted characters are replaced by escapes, and comments are skipped.

use super::super::char_set::CharSet;
use super::super::scanner::{Scanner, invalid, unsupported};
use crate::error::PatternError;

/// Constructs with which Java throws an exception, or loses its position, while matching a name.
pub(super) const FAILURE: &str = "a construct with which Java fails while matching";

/// The flags that affect parsing. The flags `m` and `s` have no effect, since no name has a line break.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own in Java")]
pub(super) struct Flags {
    /// `i`: ignore the case of ASCII letters.
    pub(super) fold: bool,
    /// `u`: ignore the case of Unicode letters.
    pub(super) unicode: bool,
    /// `x`: skip white space and comments.
    pub(super) comments: bool,
    /// `d`: only `\n` ends a line (and so a comment).
    pub(super) unix_lines: bool,
    /// `U`: POSIX classes are those of Unicode.
    pub(super) classes: bool,
    /// `c`: canonical equivalence; it affects only the length that Java computes for a class.
    pub(super) canonical: bool,
}

/// The characters of a pattern, and the position of the next one. After the end, every character is NUL.
pub(super) struct Cursor {
    chars: Vec<char>,
    /// Position of each character in the pattern, and the length of the pattern.
    origins: Vec<usize>,
    pub(super) at: usize,
    pub(super) flags: Flags,
    depth: Scanner,
    /// The first unsupported construct. It is reported only if Java accepts the rest of the pattern.
    first_unsupported: Option<PatternError>,
}

impl Cursor {
    pub(super) fn new(pattern: &str) -> Self {
        let (chars, origins) = unquoted(&pattern.chars().collect::<Vec<_>>());
        Self { chars, origins, at: 0, flags: Flags::default(), depth: Scanner::new(""), first_unsupported: None }
    }

    /// Return true at the end of the pattern or after it.
    pub(super) fn ended(&self) -> bool {
        self.at >= self.chars.len()
    }

    /// Return true exactly at the end of the pattern, not after it.
    pub(super) fn at_end(&self) -> bool {
        self.at == self.chars.len()
    }

    /// Return the character at an index, without skipping comments.
    pub(super) fn raw(&self, index: usize) -> char {
        self.chars.get(index).copied().unwrap_or('\0')
    }

    /// Return the characters between two indices.
    pub(super) fn between(&self, first: usize, end: usize) -> String {
        self.chars.get(first..end).unwrap_or_default().iter().collect()
    }

    /// Skip comments; return the next character without consuming it.
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

    /// Advance by one character, and peek.
    pub(super) fn next(&mut self) -> char {
        self.at += 1;
        self.peek()
    }

    /// Skip comments; consume and return the next character.
    pub(super) fn read(&mut self) -> char {
        let char = self.peek();
        self.at += 1;
        char
    }

    /// Go back by one character, even into a comment.
    pub(super) fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    fn ends_line(&self, char: char) -> bool {
        char == '\n' || !self.flags.unix_lines && matches!(char, '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
    }

    /// Return the position in the pattern of the character at an index.
    pub(super) fn origin(&self, index: usize) -> usize {
        self.origins[index.min(self.chars.len())]
    }

    /// Return the error for an invalid pattern; convert the index to a position in the pattern.
    pub(super) fn invalid(&self, index: usize, reason: &str) -> PatternError {
        invalid(self.origin(index), reason)
    }

    /// Note an unsupported construct at an index; it is reported only if Java accepts the rest of the pattern.
    pub(super) fn note_unsupported(&mut self, index: usize, construct: &str) {
        let error = unsupported(self.origin(index), construct);
        self.first_unsupported.get_or_insert(error);
    }

    /// Return the first unsupported construct as an error, if there is any.
    pub(super) fn check_supported(&mut self) -> Result<(), PatternError> {
        self.first_unsupported.take().map_or(Ok(()), Err)
    }

    pub(super) fn enter(&mut self) -> Result<(), PatternError> {
        self.depth.at = self.origin(self.at);
        self.depth.enter()
    }

    pub(super) fn leave(&mut self) {
        self.depth.leave();
    }

    /// Return the characters that a literal matches under the flags.
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

/// Replace each character quoted by `\Q...\E` by an escape; return the characters and their positions in the pattern.
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
            // The first digit must not become part of an escape before the quote.
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

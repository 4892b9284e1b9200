//! Bit sets of the characters that a topic name can have.
//!
//! Kafka's names consist of `[a-zA-Z0-9._-]`. The sets cover all printable ASCII characters, so that patterns can also be
//! matched against names that Kafka does not allow. Other characters cannot occur in a name and are in no set.

use std::ops::{BitAnd, BitOr, Not, Sub};

/// A set of printable ASCII characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CharSet(u128);

impl CharSet {
    /// The empty set, which never matches.
    pub const NONE: Self = Self(0);
    /// All characters that a name can have.
    pub const ALL: Self = Self::between(b' ', b'~');
    /// `[0-9]`
    pub const DIGITS: Self = Self::between(b'0', b'9');
    /// `[a-z]`
    pub const LOWER: Self = Self::between(b'a', b'z');
    /// `[A-Z]`
    pub const UPPER: Self = Self::between(b'A', b'Z');
    /// `[a-zA-Z]`
    pub const LETTERS: Self = Self(Self::LOWER.0 | Self::UPPER.0);
    /// `[a-zA-Z0-9_]`
    pub const WORD: Self = Self(Self::LETTERS.0 | Self::DIGITS.0 | 1 << b'_');

    const fn between(first: u8, last: u8) -> Self {
        Self((u128::MAX >> (127 - last)) & (u128::MAX << first))
    }

    /// Return the set of one character; empty if no name can have it.
    #[must_use]
    pub fn one(char: char) -> Self {
        Self::range(char, char)
    }

    /// Return the characters from `first` to `last`, both included, that a name can have.
    #[must_use]
    pub fn range(first: char, last: char) -> Self {
        let (first, last) = (u32::from(first).max(u32::from(b' ')), u32::from(last).min(u32::from(b'~')));
        if first > last { Self::NONE } else { Self::between(first as u8, last as u8) }
    }

    /// Return the characters of a text that a name can have.
    #[must_use]
    pub fn of(text: &str) -> Self {
        text.chars().fold(Self::NONE, |set, char| set | Self::one(char))
    }

    /// Return the POSIX class with the given name, such as `alpha`, if it exists.
    #[must_use]
    pub fn posix(name: &str) -> Option<Self> {
        Some(match name {
            "alnum" => Self::LETTERS | Self::DIGITS,
            "alpha" => Self::LETTERS,
            "blank" | "space" => Self::one(' '),
            "cntrl" => Self::NONE,
            "digit" => Self::DIGITS,
            "graph" => Self::range('!', '~'),
            "lower" => Self::LOWER,
            "print" => Self::ALL,
            "punct" => Self::range('!', '~') - Self::LETTERS - Self::DIGITS,
            "upper" => Self::UPPER,
            "xdigit" => Self::DIGITS | Self::of("abcdefABCDEF"),
            _ => return None,
        })
    }

    /// Return true if a byte of a name is in the set.
    #[must_use]
    pub fn has(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }

    /// Return true if the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Return the set plus the other case of each of its ASCII letters.
    #[must_use]
    pub fn both_cases(self) -> Self {
        let (upper, lower) = (self.0 & Self::UPPER.0, self.0 & Self::LOWER.0);
        Self(self.0 | upper << 32 | lower >> 32)
    }

    /// Return the only character of the set; None if the set is empty or has more than one character.
    #[must_use]
    pub fn only(self) -> Option<u8> {
        self.0.is_power_of_two().then(|| self.0.trailing_zeros() as u8)
    }

    /// Return the first and last character of each run of consecutive characters, in ascending order.
    pub fn runs(self) -> impl Iterator<Item = (u8, u8)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let first = (rest != 0).then(|| rest.trailing_zeros())?;
            let length = (rest >> first).trailing_ones();
            rest &= !(((1 << length) - 1) << first);
            Some((first as u8, (first + length - 1) as u8))
        })
    }

    /// Return the characters in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        self.runs().flat_map(|(first, last)| first..=last)
    }
}

impl BitOr for CharSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for CharSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for CharSet {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Not for CharSet {
    type Output = Self;
    fn not(self) -> Self {
        Self::ALL - self
    }
}

impl std::fmt::Debug for CharSet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "[{}]", self.iter().map(char::from).collect::<String>())
    }
}

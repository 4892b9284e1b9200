//! State of the parser of `re`, and the parts that it returns.

use std::collections::{HashMap, HashSet};
use std::ops::{Add, BitOr, Range};

use super::flags::Mode;
use super::tokens::{Token, Tokens};
use crate::error::PatternError;
use crate::matching::limits::MAX_REFERENCED_GROUPS;
use crate::matching::scanner::{invalid, too_many_references, unsupported};
use crate::matching::syntax::Node;

/// Width above which `re` stops counting characters.
const MAX_WIDTH: u128 = 1 << 64;

/// Width of a part as `re` computes it, which may differ from the minimum and maximum length of a match.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Width {
    pub(super) least: u128,
    pub(super) most: u128,
}

impl Width {
    /// Width of one character.
    pub(super) const ONE: Self = Self { least: 1, most: 1 };

    /// Return the width of a repetition.
    pub(super) fn times(self, least: u32, most: Option<u32>) -> Self {
        let widest = match most {
            Some(most) => self.most * u128::from(most),
            None if self.most == 0 => 0,
            None => MAX_WIDTH,
        };
        Self { least: (self.least * u128::from(least)).min(MAX_WIDTH), most: widest.min(MAX_WIDTH) }
    }
}

impl Add for Width {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { least: (self.least + other.least).min(MAX_WIDTH), most: (self.most + other.most).min(MAX_WIDTH) }
    }
}

impl BitOr for Width {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// Kind of a part, which decides whether a quantifier may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An assertion, which cannot be repeated.
    Assertion,
    /// A repetition, which cannot be repeated again.
    Repeat,
    /// A part that can be repeated.
    Other,
}

/// A part of a pattern: its node, its width and its kind.
pub(super) struct ParsedNode {
    pub(super) node: Node,
    pub(super) width: Width,
    pub(super) kind: Kind,
}

impl ParsedNode {
    pub(super) fn new(node: Node, width: Width) -> Self {
        Self { node, width, kind: Kind::Other }
    }
}

/// State of the parser. Errors that `re` reports only when it compiles are kept until the whole pattern is parsed.
pub(super) struct ParserState {
    pub(super) tokens: Tokens,
    /// Flags of the whole pattern.
    pub(super) mode: Mode,
    /// True if the whole pattern has the flag u.
    pub(super) unicode: bool,
    /// Position of the flags that combine a and u.
    pub(super) exclusive: Option<usize>,
    /// True if the flag t is set, which forbids repetitions.
    pub(super) template: bool,
    /// Width of each group, None while the group is open; the first entry is the whole pattern.
    pub(super) widths: Vec<Option<Width>>,
    /// Numbers of the named groups.
    pub(super) names: HashMap<String, u32>,
    /// Number of the first group inside the outermost open look-behind.
    pub(super) behind: Option<u32>,
    /// Groups of conditionals, each with the position of its first conditional.
    pub(super) conditions: Vec<(u32, usize)>,
    /// Groups that backreferences or conditionals refer to, at most one more than are supported.
    pub(super) referenced: HashSet<u32>,
    /// Groups inside each possessive repetition, with the position of the repetition.
    pub(super) kept: Vec<(Range<u32>, usize)>,
    /// Errors that `re` raises when it compiles the parsed pattern.
    late_errors: Vec<PatternError>,
    /// Constructs that `re` accepts, but that this package does not support.
    unsupported_constructs: Vec<PatternError>,
}

impl ParserState {
    pub(super) fn new(pattern: &str) -> Result<Self, PatternError> {
        Ok(Self {
            tokens: Tokens::new(pattern)?,
            mode: Mode::default(),
            unicode: false,
            exclusive: None,
            template: false,
            widths: vec![None],
            names: HashMap::new(),
            behind: None,
            conditions: Vec::new(),
            referenced: HashSet::new(),
            kept: Vec::new(),
            late_errors: Vec::new(),
            unsupported_constructs: Vec::new(),
        })
    }

    /// Note a reference to a group.
    pub(super) fn refer(&mut self, group: u32, position: usize) {
        if self.referenced.len() <= MAX_REFERENCED_GROUPS
            && self.referenced.insert(group)
            && self.referenced.len() > MAX_REFERENCED_GROUPS
        {
            self.note_unsupported(position, &too_many_references());
        }
    }

    /// Note an error that `re` raises when it compiles.
    pub(super) fn note_late_error(&mut self, position: usize, reason: &str) {
        self.late_errors.push(invalid(position, reason));
    }

    /// Note an unsupported construct; it is reported only if `re` accepts the pattern.
    pub(super) fn note_unsupported(&mut self, position: usize, construct: &str) {
        self.unsupported_constructs.push(unsupported(position, construct));
    }

    /// Return the first noted error of the parsed pattern, if there is any.
    pub(super) fn finish(&mut self) -> Result<(), PatternError> {
        if let Some(at) = self.exclusive {
            return Err(invalid(at, "incompatible flags"));
        }
        if self.tokens.next != Token::End {
            return Err(invalid(self.tokens.at(), "unmatched closing parenthesis"));
        }
        if let Some(&(_, at)) = self.conditions.iter().find(|(group, _)| *group >= self.groups()) {
            return Err(invalid(at, "unknown group"));
        }
        for (groups, at) in std::mem::take(&mut self.kept) {
            if self.referenced.iter().any(|group| groups.contains(group)) {
                self.note_unsupported(at, "a backreference to a group inside a possessive repetition");
            }
        }
        for found in [&self.late_errors, &self.unsupported_constructs] {
            if let Some(first) = found.iter().min_by_key(|fault| fault.position) {
                return Err(first.clone());
            }
        }
        Ok(())
    }

    /// Return the number of the next group; the whole pattern is group 0.
    pub(super) fn groups(&self) -> u32 {
        self.widths.len() as u32
    }

    /// Return true if the group is open.
    pub(super) fn is_open(&self, group: u32) -> bool {
        self.widths.get(group as usize).is_some_and(Option::is_none)
    }

    /// Return an error for a group to which the current look-behind must not refer.
    pub(super) fn check_behind(&self, group: u32) -> Result<(), PatternError> {
        match self.behind {
            Some(_) if group >= self.groups() || self.is_open(group) => {
                Err(invalid(self.tokens.at(), "a reference to an open group"))
            }
            Some(first) if group >= first => {
                Err(invalid(self.tokens.at(), "a reference to a group in the same look-behind"))
            }
            _ => Ok(()),
        }
    }
}

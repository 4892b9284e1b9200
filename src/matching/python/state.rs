//! What the parser of `re` knows while it reads a pattern, and the parts that it makes.

use std::collections::{HashMap, HashSet};
use std::ops::{Add, BitOr, Range};

use super::flags::Mode;
use super::tokens::{Token, Tokens};
use crate::error::PatternError;
use crate::matching::scanner::{invalid, unsupported};
use crate::matching::syntax::Node;

/// Where `re` stops to count characters.
const WIDEST: u128 = 1 << 64;

/// How many characters something takes, as `re` computes it: not the fewest and the most that it can take.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Width {
    pub(super) least: u128,
    pub(super) most: u128,
}

impl Width {
    /// One character.
    pub(super) const ONE: Self = Self { least: 1, most: 1 };

    /// The width of a repetition.
    pub(super) fn times(self, least: u32, most: Option<u32>) -> Self {
        let widest = match most {
            Some(most) => self.most * u128::from(most),
            None if self.most == 0 => 0,
            None => WIDEST,
        };
        Self { least: (self.least * u128::from(least)).min(WIDEST), most: widest.min(WIDEST) }
    }
}

impl Add for Width {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { least: (self.least + other.least).min(WIDEST), most: (self.most + other.most).min(WIDEST) }
    }
}

impl BitOr for Width {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// What a part is to a quantifier behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is never repeated.
    Assertion,
    /// It is repeated already.
    Repeat,
    /// It can be repeated.
    Other,
}

/// A part of a pattern: what it means, how many characters it takes, and what it is to a quantifier.
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

/// What is known while a pattern is read. What `re` finds only later waits: anything wrong before that comes first.
pub(super) struct ParserState {
    pub(super) tokens: Tokens,
    /// The flags of the whole pattern.
    pub(super) mode: Mode,
    /// Whether the whole pattern has the flag u.
    pub(super) unicode: bool,
    /// Position of the flags that made it both a and u.
    pub(super) exclusive: Option<usize>,
    /// Whether the flag t refuses every repetition.
    pub(super) template: bool,
    /// The width of each group, none while it is open; the first is the whole pattern.
    pub(super) widths: Vec<Option<Width>>,
    /// The groups that have names.
    pub(super) names: HashMap<String, u32>,
    /// The first group within the outermost look-behind under way.
    pub(super) behind: Option<u32>,
    /// The groups that conditions ask for, each with the first position that does.
    pub(super) conditions: Vec<(u32, usize)>,
    /// The groups that anything asks for.
    pub(super) referenced: HashSet<u32>,
    /// The groups within each possessive repetition, with its position.
    pub(super) kept: Vec<(Range<u32>, usize)>,
    /// What `re` finds when it compiles what it read.
    faults: Vec<PatternError>,
    /// What `re` accepts and cannot be matched here.
    doubts: Vec<PatternError>,
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
            faults: Vec::new(),
            doubts: Vec::new(),
        })
    }

    /// Notes what `re` refuses when it compiles.
    pub(super) fn fault(&mut self, position: usize, reason: &str) {
        self.faults.push(invalid(position, reason));
    }

    /// Notes what cannot be matched exactly, unless `re` refuses the pattern anyway.
    pub(super) fn doubt(&mut self, position: usize, construct: &str) {
        self.doubts.push(unsupported(position, construct));
    }

    /// Refuses the pattern, of which all is read, for the first of what was noted.
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
                self.doubt(at, "a back-reference to a group inside a possessive repetition");
            }
        }
        for found in [&self.faults, &self.doubts] {
            if let Some(first) = found.iter().min_by_key(|fault| fault.position) {
                return Err(first.clone());
            }
        }
        Ok(())
    }

    /// How many groups there are, and the number of the next one.
    pub(super) fn groups(&self) -> u32 {
        self.widths.len() as u32
    }

    /// Whether the group has begun and not ended.
    pub(super) fn is_open(&self, group: u32) -> bool {
        self.widths.get(group as usize).is_some_and(Option::is_none)
    }

    /// Refuses a group that a look-behind cannot ask for.
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

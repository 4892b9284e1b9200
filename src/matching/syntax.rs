//! Syntax tree of a pattern, common to all dialects.
//!
//! The tree has no flags; parsers apply them to the character sets. The tree matches the *whole* name; the parser of a
//! dialect that matches a prefix, or any part of the name, adds "any text" before or after.

use super::char_set::CharSet;

/// Maximum length of a topic name in Kafka. Longer names are rejected before they are matched.
pub const MAX_NAME_LENGTH: usize = 249;

/// A node of the syntax tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// One character of the set.
    CharClass(CharSet),
    /// One node after the other; without nodes, the empty text.
    Concat(Vec<Node>),
    /// One of several nodes; earlier ones are preferred.
    Alternation(Vec<Node>),
    /// A node several times. An iteration that consumes no character ends the repetition.
    Repetition {
        /// The repeated node.
        node: Box<Node>,
        /// The minimum count.
        least: u32,
        /// The maximum count; None if unbounded.
        most: Option<u32>,
        /// The order in which counts are tried.
        greed: Greed,
    },
    /// A capturing group. Groups are numbered from 1.
    Capture(u32, Box<Node>),
    /// The preferred match of a node, without backtracking into it (`(?>...)`).
    Atomic(Box<Node>),
    /// An assertion about a position, which consumes no character.
    Assert(Assertion),
    /// Look-ahead or look-behind: the node must match after or before the position. It consumes no character.
    LookAround {
        /// Look-ahead if true, look-behind if false.
        ahead: bool,
        /// True if the node must not match.
        negated: bool,
        /// The node to look for.
        node: Box<Node>,
    },
    /// The text that a group captured last; no match if the group captured nothing.
    Backreference {
        /// The number of the group, which need not exist.
        group: u32,
        /// True if ASCII letters match in either case.
        folded: bool,
    },
    /// One of two nodes, depending on whether a group has captured anything.
    Conditional {
        /// The number of the group.
        group: u32,
        /// The node if the group has captured.
        taken: Box<Node>,
        /// The node if the group has not captured.
        other: Box<Node>,
    },
}

/// The order in which a repetition tries its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greed {
    /// Higher counts first.
    Greedy,
    /// Lower counts first.
    Lazy,
    /// Only the highest count, with the preferred match of each iteration (`a*+`).
    Possessive,
}

/// An assertion about a position in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assertion {
    /// At the start of the name.
    Start,
    /// At the end of the name.
    End,
    /// At a word boundary (`\b`): exactly one side of the position has a word character (`\w`).
    WordBoundary,
    /// Not at a word boundary (`\B`).
    NotWordBoundary,
    /// At the start of a word (`\<`).
    WordStart,
    /// At the end of a word (`\>`).
    WordEnd,
}

impl Node {
    /// The empty text.
    pub const EMPTY: Self = Self::Concat(Vec::new());
    /// A node that never matches.
    pub const NOTHING: Self = Self::CharClass(CharSet::NONE);

    /// Return the node that matches any text (`.*`).
    #[must_use]
    pub fn any_text() -> Self {
        Self::repeat(Self::CharClass(CharSet::ALL), 0, None, Greed::Greedy)
    }

    /// Return the concatenation of nodes.
    #[must_use]
    pub fn concat(mut nodes: Vec<Self>) -> Self {
        if nodes.len() == 1 { nodes.remove(0) } else { Self::Concat(nodes) }
    }

    /// Return the alternation of nodes.
    #[must_use]
    pub fn alternation(mut nodes: Vec<Self>) -> Self {
        if nodes.len() == 1 { nodes.remove(0) } else { Self::Alternation(nodes) }
    }

    /// Return the repetition of a node.
    #[must_use]
    pub fn repeat(node: Self, least: u32, most: Option<u32>, greed: Greed) -> Self {
        Self::Repetition { node: Box::new(node), least, most, greed }
    }

    /// Return the node that matches a text.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self::concat(text.chars().map(|char| Self::CharClass(CharSet::one(char))).collect())
    }

    /// Return the nodes directly inside.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Self> {
        let (nodes, rest): (&[Self], [Option<&Self>; 2]) = match self {
            Self::CharClass(_) | Self::Assert(_) | Self::Backreference { .. } => (&[], [None, None]),
            Self::Concat(nodes) | Self::Alternation(nodes) => (nodes, [None, None]),
            Self::Repetition { node, .. }
            | Self::Capture(_, node)
            | Self::Atomic(node)
            | Self::LookAround { node, .. } => (&[], [Some(node), None]),
            Self::Conditional { taken, other, .. } => (&[], [Some(taken), Some(other)]),
        };
        nodes.iter().chain(rest.into_iter().flatten())
    }

    /// Return true if this node, or any node inside, satisfies a predicate.
    pub(crate) fn has(&self, is: impl Fn(&Self) -> bool + Copy) -> bool {
        is(self) || self.children().any(|node| node.has(is))
    }

    /// Return the number of nodes.
    pub(crate) fn size(&self) -> usize {
        1 + self.children().map(Self::size).sum::<usize>()
    }

    /// Return the minimum length of a match.
    #[must_use]
    pub fn min_length(&self) -> usize {
        match self {
            Self::CharClass(_) => 1,
            Self::Concat(nodes) => nodes.iter().fold(0, |sum, node| sum.saturating_add(node.min_length())),
            Self::Alternation(nodes) => nodes.iter().map(Self::min_length).min().unwrap_or(0),
            Self::Repetition { node, least, .. } => node.min_length().saturating_mul(*least as usize),
            Self::Capture(_, node) | Self::Atomic(node) => node.min_length(),
            Self::Assert(_) | Self::LookAround { .. } | Self::Backreference { .. } => 0,
            Self::Conditional { taken, other, .. } => taken.min_length().min(other.min_length()),
        }
    }

    /// Return the maximum length of a match; None if unbounded.
    #[must_use]
    pub fn max_length(&self) -> Option<usize> {
        match self {
            Self::CharClass(_) => Some(1),
            Self::Concat(nodes) => {
                nodes.iter().try_fold(0usize, |sum, node| Some(sum.saturating_add(node.max_length()?)))
            }
            Self::Alternation(nodes) => {
                nodes.iter().map(Self::max_length).try_fold(0, |most, node| Some(most.max(node?)))
            }
            Self::Repetition { node, most, .. } => match (node.max_length(), most) {
                (Some(0), _) | (_, Some(0)) => Some(0),
                (node, most) => Some(node?.saturating_mul((*most)? as usize)),
            },
            Self::Capture(_, node) | Self::Atomic(node) => node.max_length(),
            Self::Assert(_) | Self::LookAround { .. } => Some(0),
            Self::Backreference { .. } => None,
            Self::Conditional { taken, other, .. } => Some(taken.max_length()?.max(other.max_length()?)),
        }
    }

    /// Return the number of nodes, without groups, after repetitions are unrolled.
    ///
    /// A repetition is unrolled to its maximum count if that many iterations fit into the longest name. Otherwise it is unrolled to
    /// its minimum count, limited to the iterations that fit, plus one.
    #[must_use]
    pub fn parts(&self) -> usize {
        match self {
            Self::CharClass(_) | Self::Assert(_) | Self::Backreference { .. } => 1,
            Self::Concat(nodes) | Self::Alternation(nodes) => {
                nodes.iter().fold(1, |sum, node| sum.saturating_add(node.parts()))
            }
            Self::Capture(_, node) | Self::Atomic(node) | Self::LookAround { node, .. } => node.parts(),
            Self::Conditional { taken, other, .. } => taken.parts().saturating_add(other.parts()),
            Self::Repetition { node, least, most, .. } => {
                let fits = MAX_NAME_LENGTH / node.min_length().max(1);
                let least = (*least as usize).min(fits);
                let times = most.map(|most| most as usize).filter(|&most| most <= fits).unwrap_or(least + 1);
                node.parts().saturating_mul(times.max(1))
            }
        }
    }
}

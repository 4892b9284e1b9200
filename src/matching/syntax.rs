//! What a pattern means, whatever the dialect it was written in: the tree that every parser of a dialect makes.
//!
//! Flags are gone by then: a parser has put them into the sets of characters. The tree speaks of the *whole* name: a dialect
//! that looks for a prefix, or anywhere in the name, says so by "any characters" before and after.

use super::chars::Chars;

/// The longest name that Kafka allows; no other can be asked about.
pub const LONGEST: usize = 249;

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// One character of the set.
    Chars(Chars),
    /// One after the other; none of them is the empty text.
    Concat(Vec<Node>),
    /// One of them, the earlier ones first.
    Either(Vec<Node>),
    /// The same several times. An iteration that takes no character is the last one.
    Repeat {
        /// What is repeated.
        node: Box<Node>,
        /// How often at least.
        least: u32,
        /// How often at most; none is without bound.
        most: Option<u32>,
        /// Which ways come first.
        greed: Greed,
    },
    /// What a group takes, kept for `Same` and `IfTaken`. Groups are numbered from 1.
    Group(u32, Box<Node>),
    /// The first way only: what follows may not ask for another (`(?>...)`).
    Atomic(Box<Node>),
    /// A place, which takes no character.
    At(Place),
    /// Whether the node does, or does not, match from here on or up to here; takes no character.
    Around {
        /// From here on, or up to here.
        ahead: bool,
        /// Whether it is that it does not match.
        negated: bool,
        /// What is looked for.
        node: Box<Node>,
    },
    /// The text that the group took last, in either case perhaps; nothing matches where it took none.
    Same {
        /// The number of the group; it need not exist.
        group: u32,
        /// Whether ASCII letters match in either case.
        folded: bool,
    },
    /// The one if the group took anything yet, else the other.
    IfTaken {
        /// The number of the group.
        group: u32,
        /// If it did.
        taken: Box<Node>,
        /// If not.
        other: Box<Node>,
    },
}

/// Which ways of a repetition come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greed {
    /// More before fewer.
    Greedy,
    /// Fewer before more.
    Lazy,
    /// As many as there are, each in its first way, and no other way (`a*+`).
    Possessive,
}

/// A place in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Before the first character.
    Start,
    /// Behind the last one.
    End,
    /// Between a character of `\w` and none.
    Boundary,
    /// Anywhere else.
    Inside,
    /// A `Boundary` with the word behind it (`\<`).
    WordStart,
    /// A `Boundary` with the word before it (`\>`).
    WordEnd,
}

impl Node {
    /// The empty text.
    pub const EMPTY: Self = Self::Concat(Vec::new());
    /// What never matches.
    pub const NOTHING: Self = Self::Chars(Chars::NONE);

    /// Any characters, as many as there are.
    #[must_use]
    pub fn anything() -> Self {
        Self::repeat(Self::Chars(Chars::ALL), 0, None, Greed::Greedy)
    }

    /// One after the other.
    #[must_use]
    pub fn concat(mut nodes: Vec<Self>) -> Self {
        if nodes.len() == 1 { nodes.remove(0) } else { Self::Concat(nodes) }
    }

    /// One of them.
    #[must_use]
    pub fn either(mut nodes: Vec<Self>) -> Self {
        if nodes.len() == 1 { nodes.remove(0) } else { Self::Either(nodes) }
    }

    /// The same several times.
    #[must_use]
    pub fn repeat(node: Self, least: u32, most: Option<u32>, greed: Greed) -> Self {
        Self::Repeat { node: Box::new(node), least, most, greed }
    }

    /// The characters of a text, one after the other.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::concat(text.chars().map(|char| Self::Chars(Chars::one(char))).collect())
    }

    /// The fewest characters that it takes.
    #[must_use]
    pub fn least(&self) -> usize {
        match self {
            Self::Chars(_) => 1,
            Self::Concat(nodes) => nodes.iter().fold(0, |sum, node| sum.saturating_add(node.least())),
            Self::Either(nodes) => nodes.iter().map(Self::least).min().unwrap_or(0),
            Self::Repeat { node, least, .. } => node.least().saturating_mul(*least as usize),
            Self::Group(_, node) | Self::Atomic(node) => node.least(),
            Self::At(_) | Self::Around { .. } | Self::Same { .. } => 0,
            Self::IfTaken { taken, other, .. } => taken.least().min(other.least()),
        }
    }

    /// The most characters that it takes; none where there is no bound.
    #[must_use]
    pub fn most(&self) -> Option<usize> {
        match self {
            Self::Chars(_) => Some(1),
            Self::Concat(nodes) => nodes.iter().try_fold(0usize, |sum, node| Some(sum.saturating_add(node.most()?))),
            Self::Either(nodes) => nodes.iter().map(Self::most).try_fold(0, |most, node| Some(most.max(node?))),
            Self::Repeat { node, most, .. } => match (node.most(), most) {
                (Some(0), _) | (_, Some(0)) => Some(0),
                (node, most) => Some(node?.saturating_mul((*most)? as usize)),
            },
            Self::Group(_, node) | Self::Atomic(node) => node.most(),
            Self::At(_) | Self::Around { .. } => Some(0),
            Self::Same { .. } => None,
            Self::IfTaken { taken, other, .. } => Some(taken.most()?.max(other.most()?)),
        }
    }

    /// How many sets and places there are once repetitions are spelled out, as far as they fit into a name.
    #[must_use]
    pub fn parts(&self) -> usize {
        match self {
            Self::Chars(_) | Self::At(_) | Self::Same { .. } => 1,
            Self::Concat(nodes) | Self::Either(nodes) => {
                nodes.iter().fold(1, |sum, node| sum.saturating_add(node.parts()))
            }
            Self::Group(_, node) | Self::Atomic(node) | Self::Around { node, .. } => node.parts(),
            Self::IfTaken { taken, other, .. } => taken.parts().saturating_add(other.parts()),
            Self::Repeat { node, least, most, .. } => {
                let fits = LONGEST / node.least().max(1);
                let least = (*least as usize).min(fits);
                let times = most.map(|most| most as usize).filter(|&most| most <= fits).unwrap_or(least + 1);
                node.parts().saturating_mul(times.max(1))
            }
        }
    }
}

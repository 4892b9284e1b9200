//! Lengths of parts of a pattern as Java computes them, for the limits of look-behinds and for repeated groups.
//!
//! The syntax tree cannot give these lengths: Java's ints overflow, and Java computes too short a length for some parts.

use super::super::char_set::CharSet;
use super::super::syntax::Node;

/// Length of a part, as Java computes it.
#[derive(Clone, Copy)]
pub(super) struct Width {
    pub(super) least: i32,
    pub(super) most: i32,
    /// True if there is a maximum length.
    pub(super) bounded: bool,
    /// True if there is only one way to match the part at a position.
    pub(super) one_way: bool,
}

/// A step of a sequence. The steps of a group without a quantifier count as steps of the sequence.
#[derive(Clone)]
pub(super) enum Step {
    /// A minimum and maximum number of characters.
    Add(i32, i32),
    /// At least this number of characters of a set; Java counts them as bounded.
    Many(i32),
    /// A character with its combining characters; Java adds nothing to the length for them.
    Cluster,
    /// A part with a minimum and maximum number of iterations.
    Times(Width, i32, i32),
    /// One of several alternatives.
    Alternation(Vec<Width>),
    /// A part whose length is computed separately; it may be optional.
    Inner(Vec<Step>, bool),
    /// A repeated group that can match in several ways; Java stops measuring here.
    Loop,
    /// A backreference.
    Reference,
}

impl Width {
    pub(super) const EMPTY: Self = Self { least: 0, most: 0, bounded: true, one_way: true };

    /// Return the width of a sequence.
    pub(super) fn of(steps: &[Step]) -> Self {
        Self::EMPTY.with(steps)
    }

    fn with(self, steps: &[Step]) -> Self {
        let mut width = self;
        // The width before an alternation is added at the end.
        let mut before = Vec::new();
        for step in steps {
            match step {
                Step::Add(least, most) => {
                    width.least = width.least.wrapping_add(*least);
                    width.most = width.most.wrapping_add(*most);
                }
                Step::Many(least) => {
                    width.least = width.least.wrapping_add(*least);
                    width.most = width.most.wrapping_add(i32::MAX);
                    width.one_way = false;
                }
                Step::Cluster => width.one_way = false,
                Step::Times(part, least, most) => width = width.with_repeated(*part, *least, *most),
                Step::Alternation(parts) => {
                    let least = parts.iter().map(|part| part.least).min().unwrap_or(0);
                    let most = parts.iter().map(|part| part.most).max().unwrap_or(0).max(-1);
                    before.push(Self {
                        least: width.least.wrapping_add(least),
                        most: width.most.wrapping_add(most),
                        bounded: width.bounded && parts.iter().all(|part| part.bounded),
                        one_way: false,
                    });
                    width = Self::EMPTY;
                }
                Step::Inner(steps, optional) => {
                    let least = width.least;
                    width = width.with(steps);
                    if *optional {
                        width.least = least;
                        width.one_way = false;
                    }
                }
                Step::Loop => {
                    width.bounded = false;
                    width.one_way = false;
                    break;
                }
                Step::Reference => width.bounded = false,
            }
        }
        for part in before {
            width.least = width.least.wrapping_add(part.least);
            width.most = width.most.wrapping_add(part.most);
            width.bounded &= part.bounded;
            width.one_way = false;
        }
        width
    }

    fn with_repeated(self, part: Self, least: i32, most: i32) -> Self {
        let mut width = self;
        width.least = part.least.wrapping_mul(least).wrapping_add(self.least);
        if width.least < self.least {
            width.least = 0x0fff_ffff;
        }
        width.bounded = self.bounded && part.bounded;
        width.most = part.most;
        if width.bounded {
            width.most = part.most.wrapping_mul(most).wrapping_add(self.most);
            width.bounded = width.most >= self.most;
        }
        width.one_way = part.one_way && least == most && self.one_way;
        width
    }
}

/// A node, and the length that Java computes for it.
pub(super) struct SizedNode {
    pub(super) node: Node,
    pub(super) steps: Vec<Step>,
}

/// Node that a quantifier can repeat, other than a plain or capturing group.
pub(super) struct Atom {
    pub(super) part: SizedNode,
    /// True if Java repeats the node by a loop over characters when the quantifier is greedy and has no maximum.
    pub(super) is_property: bool,
}

impl SizedNode {
    pub(super) fn alternation(parts: Vec<Self>) -> Self {
        let steps = vec![Step::Alternation(parts.iter().map(|part| Width::of(&part.steps)).collect())];
        Self { node: Node::Alternation(parts.into_iter().map(|part| part.node).collect()), steps }
    }
}

impl Atom {
    pub(super) fn of(node: Node, steps: Vec<Step>) -> Self {
        Self { part: SizedNode { node, steps }, is_property: false }
    }

    pub(super) fn property(set: CharSet) -> Self {
        Self { part: SizedNode { node: Node::CharClass(set), steps: vec![Step::Add(1, 1)] }, is_property: true }
    }
}

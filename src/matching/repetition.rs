//! Repetition as in engines that copy the repeated node, where each copy may match the empty text.
//!
//! In the syntax tree, an iteration that consumes no character ends the repetition. The results differ only if the repeated
//! node matches the empty text at some positions only: `(?:^|b){2}` matches "b", by the empty text and then the letter.
//! Such a repetition becomes a concatenation of copies.

use super::limits::MAX_COPIES_SIZE;
use super::scanner::unsupported;
use super::syntax::{Greed, Node};
use crate::error::PatternError;

/// Condition under which a node matches the empty text: never, at some positions, or always.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nullability {
    Never,
    AtAssertions,
    Always,
}

/// Writer of the copies of a pattern, whose total size is limited.
pub(super) struct Copies {
    /// Number of nodes that may still be added.
    left: usize,
}

impl Copies {
    pub(super) fn new() -> Self {
        Self { left: MAX_COPIES_SIZE }
    }

    /// Return the repetition of a node. These engines only test whether a name matches, so preference does not matter.
    pub(super) fn repeat(
        &mut self,
        node: Node,
        least: u32,
        most: Option<u32>,
        position: usize,
    ) -> Result<Node, PatternError> {
        if !is_nullable_at_assertions(&node, least) {
            return Ok(Node::repeat(node, least, most, Greed::Greedy));
        }
        let written = node.size().saturating_mul(least as usize + 1);
        let Some(left) = self.left.checked_sub(written) else {
            return Err(unsupported(
                position,
                "a high repetition count of a part that matches the empty text at some positions",
            ));
        };
        self.left = left;
        let mut copies = vec![node.clone(); least as usize];
        if most != Some(least) {
            copies.push(Node::repeat(node, 0, most.map(|most| most - least), Greed::Greedy));
        }
        Ok(Node::concat(copies))
    }
}

/// Return true if the repetition matches other names in these engines than in the tree, where an empty iteration ends it.
pub(super) fn is_nullable_at_assertions(node: &Node, least: u32) -> bool {
    least >= 2 && nullability(node) == Nullability::AtAssertions
}

fn nullability(node: &Node) -> Nullability {
    match node {
        Node::CharClass(_) => Nullability::Never,
        Node::Concat(nodes) => nodes.iter().map(nullability).min().unwrap_or(Nullability::Always),
        Node::Alternation(nodes) => nodes.iter().map(nullability).max().unwrap_or(Nullability::Never),
        Node::Repetition { least: 0, .. } => Nullability::Always,
        Node::Repetition { node, .. } | Node::Capture(_, node) | Node::Atomic(node) => nullability(node),
        Node::Assert(_) | Node::LookAround { .. } | Node::Backreference { .. } | Node::Conditional { .. } => {
            Nullability::AtAssertions
        }
    }
}

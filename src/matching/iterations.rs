//! Repetition as engines do it that copy what is repeated: every copy may be empty, wherever it stands.
//!
//! In the tree an iteration that takes no character is the last one, which is as good unless what is repeated is empty at some
//! places only: `(?:^|b){2}` matches "b", first nothing and then the letter. There the copies are written out.

use super::syntax::{Greed, Node};
use super::text::unsupported;
use crate::error::PatternError;

/// How many nodes copies may come to.
const LARGEST: usize = 10_000;

/// Whether a node matches the empty text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Empty {
    Never,
    AtPlaces,
    Always,
}

/// The same several times; which ways come first is left open, as it is to engines that only say whether a name matches.
pub(super) fn repeat(node: Node, least: u32, most: Option<u32>, position: usize) -> Result<Node, PatternError> {
    if !is_empty_at_places(&node, least) {
        return Ok(Node::repeat(node, least, most, Greed::Greedy));
    }
    let written = size(&node).saturating_mul(least as usize + 1);
    if written > LARGEST {
        return Err(unsupported(position, "a high count of what is empty at some places only"));
    }
    let mut copies = vec![node.clone(); least as usize];
    if most != Some(least) {
        copies.push(Node::repeat(node, 0, most.map(|most| most - least), Greed::Greedy));
    }
    Ok(Node::concat(copies))
}

/// Whether it makes a difference that the tree's empty iteration is the last one.
pub(super) fn is_empty_at_places(node: &Node, least: u32) -> bool {
    least >= 2 && empty(node) == Empty::AtPlaces
}

fn empty(node: &Node) -> Empty {
    match node {
        Node::Chars(_) => Empty::Never,
        Node::Concat(nodes) => nodes.iter().map(empty).min().unwrap_or(Empty::Always),
        Node::Either(nodes) => nodes.iter().map(empty).max().unwrap_or(Empty::Never),
        Node::Repeat { least: 0, .. } => Empty::Always,
        Node::Repeat { node, .. } | Node::Group(_, node) | Node::Atomic(node) => empty(node),
        Node::At(_) | Node::Around { .. } | Node::Same { .. } | Node::IfTaken { .. } => Empty::AtPlaces,
    }
}

fn size(node: &Node) -> usize {
    match node {
        Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().fold(1, |sum, node| sum + size(node)),
        Node::Repeat { node, .. } | Node::Group(_, node) | Node::Atomic(node) | Node::Around { node, .. } => {
            1 + size(node)
        }
        Node::IfTaken { taken, other, .. } => 1 + size(taken) + size(other),
        Node::Chars(_) | Node::At(_) | Node::Same { .. } => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::super::chars::Chars;
    use super::super::syntax::Place;
    use super::super::walk;
    use super::*;

    #[test]
    fn an_iteration_may_be_empty_where_it_can_and_another_one_not() {
        let start_or_b = Node::Either(vec![Node::At(Place::Start), Node::Chars(Chars::one('b'))]);
        let twice = repeat(start_or_b, 2, Some(3), 0).expect("few copies");

        let matching = ["", "b", "bb", "bbb", "bbbb"].map(|name| walk::matches(&twice, name.as_bytes()));
        assert_eq!([Ok(true), Ok(true), Ok(true), Ok(true), Ok(false)], matching);
    }

    #[test]
    fn more_copies_than_anybody_writes_are_not_made() {
        let place = Node::Either(vec![Node::At(Place::Start), Node::Chars(Chars::one('b'))]);

        let refusal = repeat(place, 5_000, None, 7).expect_err("many copies");
        assert_eq!((false, 7), (refusal.invalid, refusal.position));
    }
}

//! The quantifiers of `re`, and how often it does what may take no character.

use std::collections::HashSet;

use super::escapes::DECIMAL;
use super::tokens::{Token, Tokens};
use crate::error::PatternError;
use crate::matching::syntax::{Greed, Node};
use crate::matching::text::{invalid, unsupported};

/// How many nodes a pattern may spend on repetitions that are spelled out.
const LARGEST: u64 = 10_000;

/// How often a quantifier repeats.
pub(super) type Times = (u32, Option<u32>);

/// Reads a quantifier, of which the first token is taken; none where that is a plain character.
pub(super) fn bounds(tokens: &mut Tokens, token: Token) -> Result<Option<Times>, PatternError> {
    match token {
        Token::Char('*') => return Ok(Some((0, None))),
        Token::Char('+') => return Ok(Some((1, None))),
        Token::Char('?') => return Ok(Some((0, Some(1)))),
        Token::Char('{') if tokens.next != Token::Char('}') => {}
        _ => return Ok(None),
    }
    let here = tokens.at();
    let low = tokens.take_some(usize::MAX, DECIMAL)?;
    let high = if tokens.eat(',')? { tokens.take_some(usize::MAX, DECIMAL)? } else { low.clone() };
    if !tokens.eat('}')? {
        tokens.back(here)?;
        return Ok(None);
    }
    let (least, most) = (times(&low, here)?.unwrap_or(0), times(&high, here)?);
    if most.is_some_and(|most| most < least) {
        return Err(invalid(here, "a least number above the most"));
    }
    Ok(Some((least, most)))
}

fn times(digits: &str, at: usize) -> Result<Option<u32>, PatternError> {
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(times) if times < u32::MAX && digits.len() <= 4300 => Ok(Some(times)),
        _ => Err(invalid(at, "a number of repetitions too large")),
    }
}

/// Which ways come first, by what is behind the quantifier.
pub(super) fn greed(tokens: &mut Tokens) -> Result<Greed, PatternError> {
    if tokens.eat('?')? {
        return Ok(Greed::Lazy);
    }
    Ok(if tokens.eat('+')? { Greed::Possessive } else { Greed::Greedy })
}

/// The tree with the iterations that `re` never cuts short spelled out.
///
/// The walk ends a repetition with the first iteration that takes no character. `re` does so too, but only behind the
/// least number of iterations: `(?:^|a){2}` matches `a`. Where that shows, those iterations are one after the other.
/// Groups that nothing asks for are left out: each would make more states for the walk.
pub(super) fn spelled_out(node: Node, asked: &HashSet<u32>) -> Result<Node, PatternError> {
    let ordered = has(&node, |node| {
        matches!(
            node,
            Node::Atomic(_) | Node::Same { .. } | Node::IfTaken { .. } | Node::Repeat { greed: Greed::Possessive, .. }
        )
    });
    Speller { asked, ordered, left: LARGEST }.spelled_out(node)
}

struct Speller<'a> {
    /// The groups that anything asks for.
    asked: &'a HashSet<u32>,
    /// Whether anything depends on which way comes first.
    ordered: bool,
    left: u64,
}

impl Speller<'_> {
    fn spelled_out(&mut self, node: Node) -> Result<Node, PatternError> {
        Ok(match node {
            Node::Concat(nodes) => Node::Concat(self.all(nodes)?),
            Node::Either(nodes) => Node::Either(self.all(nodes)?),
            Node::Group(group, node) if self.asked.contains(&group) => Node::Group(group, self.boxed(*node)?),
            Node::Group(_, node) => self.spelled_out(*node)?,
            Node::Atomic(node) => Node::Atomic(self.boxed(*node)?),
            Node::Around { ahead, negated, node } => Node::Around { ahead, negated, node: self.boxed(*node)? },
            Node::IfTaken { group, taken, other } => {
                Node::IfTaken { group, taken: self.boxed(*taken)?, other: self.boxed(*other)? }
            }
            Node::Repeat { node, least, most, greed } => {
                let place = |node: &Node| matches!(node, Node::At(_) | Node::Around { .. });
                let shows = least > 0 && node.least() == 0 && (self.ordered || has(&node, place));
                let node = self.spelled_out(*node)?;
                if shows { self.one_by_one(node, least, most, greed)? } else { Node::repeat(node, least, most, greed) }
            }
            node => node,
        })
    }

    fn all(&mut self, nodes: Vec<Node>) -> Result<Vec<Node>, PatternError> {
        nodes.into_iter().map(|node| self.spelled_out(node)).collect()
    }

    fn boxed(&mut self, node: Node) -> Result<Box<Node>, PatternError> {
        self.spelled_out(node).map(Box::new)
    }

    fn one_by_one(&mut self, node: Node, least: u32, most: Option<u32>, greed: Greed) -> Result<Node, PatternError> {
        let once = if greed == Greed::Possessive { Node::Atomic(Box::new(node.clone())) } else { node.clone() };
        let Some(left) = self.left.checked_sub(size(&once).saturating_mul(u64::from(least))) else {
            return Err(unsupported(0, "so many repetitions of what may be empty"));
        };
        self.left = left;
        let mut nodes = vec![once; least as usize];
        if most != Some(least) {
            nodes.push(Node::repeat(node, 0, most.map(|most| most - least), greed));
        }
        Ok(Node::concat(nodes))
    }
}

/// Whether any part is of the kind.
fn has(node: &Node, kind: impl Fn(&Node) -> bool + Copy) -> bool {
    kind(node)
        || match node {
            Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().any(|node| has(node, kind)),
            Node::Repeat { node, .. } | Node::Group(_, node) | Node::Atomic(node) | Node::Around { node, .. } => {
                has(node, kind)
            }
            Node::IfTaken { taken, other, .. } => has(taken, kind) || has(other, kind),
            Node::Chars(_) | Node::At(_) | Node::Same { .. } => false,
        }
}

/// How many nodes there are.
fn size(node: &Node) -> u64 {
    1 + match node {
        Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().map(size).sum(),
        Node::Repeat { node, .. } | Node::Group(_, node) | Node::Atomic(node) | Node::Around { node, .. } => size(node),
        Node::IfTaken { taken, other, .. } => size(taken) + size(other),
        Node::Chars(_) | Node::At(_) | Node::Same { .. } => 0,
    }
}

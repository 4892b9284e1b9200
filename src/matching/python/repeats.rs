//! Quantifiers of `re`, and its repetition of parts that may match the empty text.

use std::collections::HashSet;

use super::escapes::DECIMAL;
use super::tokens::{Token, Tokens};
use crate::error::PatternError;
use crate::matching::limits::MAX_COPIES_SIZE;
use crate::matching::scanner::{invalid, unsupported};
use crate::matching::syntax::{Greed, Node};

/// Counts of a quantifier.
pub(super) type Times = (u32, Option<u32>);

/// Parse a quantifier after its first token; return None if the token is a literal.
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
        return Err(invalid(here, "the maximum repetition count is lower than the minimum"));
    }
    Ok(Some((least, most)))
}

fn times(digits: &str, at: usize) -> Result<Option<u32>, PatternError> {
    if digits.is_empty() {
        return Ok(None);
    }
    match digits.parse() {
        Ok(times) if times < u32::MAX && digits.len() <= 4300 => Ok(Some(times)),
        _ => Err(invalid(at, "the repetition count is too high")),
    }
}

/// Parse the order in which counts are tried, after the quantifier.
pub(super) fn greed(tokens: &mut Tokens) -> Result<Greed, PatternError> {
    if tokens.eat('?')? {
        return Ok(Greed::Lazy);
    }
    Ok(if tokens.eat('+')? { Greed::Possessive } else { Greed::Greedy })
}

/// Unroll the minimum iterations of repetitions where they may match the empty text.
///
/// The matcher ends a repetition at the first iteration that consumes no character. `re` does so only after the minimum
/// number of iterations: `(?:^|a){2}` matches `a`. Where that makes a difference, these iterations become a concatenation.
/// Groups that no backreference or conditional refers to are removed, because each makes more states for the matcher.
pub(super) fn unrolled(node: Node, referenced: &HashSet<u32>) -> Result<Node, PatternError> {
    let ordered = node.has(|node| {
        matches!(
            node,
            Node::Atomic(_)
                | Node::Backreference { .. }
                | Node::Conditional { .. }
                | Node::Repetition { greed: Greed::Possessive, .. }
        )
    });
    Unroller { referenced, ordered, left: MAX_COPIES_SIZE }.unrolled(node)
}

struct Unroller<'a> {
    /// Groups that backreferences or conditionals refer to.
    referenced: &'a HashSet<u32>,
    /// True if the order of preference matters.
    ordered: bool,
    left: usize,
}

impl Unroller<'_> {
    fn unrolled(&mut self, node: Node) -> Result<Node, PatternError> {
        Ok(match node {
            Node::Concat(nodes) => Node::Concat(self.all(nodes)?),
            Node::Alternation(nodes) => Node::Alternation(self.all(nodes)?),
            Node::Capture(group, node) if self.referenced.contains(&group) => Node::Capture(group, self.boxed(*node)?),
            Node::Capture(_, node) => self.unrolled(*node)?,
            Node::Atomic(node) => Node::Atomic(self.boxed(*node)?),
            Node::LookAround { ahead, negated, node } => Node::LookAround { ahead, negated, node: self.boxed(*node)? },
            Node::Conditional { group, taken, other } => {
                Node::Conditional { group, taken: self.boxed(*taken)?, other: self.boxed(*other)? }
            }
            Node::Repetition { node, least, most, greed } => {
                let is_conditional = |node: &Node| matches!(node, Node::Assert(_) | Node::LookAround { .. });
                let shows = least > 0 && node.min_length() == 0 && (self.ordered || node.has(is_conditional));
                let node = self.unrolled(*node)?;
                if shows { self.unroll(node, least, most, greed)? } else { Node::repeat(node, least, most, greed) }
            }
            node => node,
        })
    }

    fn all(&mut self, nodes: Vec<Node>) -> Result<Vec<Node>, PatternError> {
        nodes.into_iter().map(|node| self.unrolled(node)).collect()
    }

    fn boxed(&mut self, node: Node) -> Result<Box<Node>, PatternError> {
        self.unrolled(node).map(Box::new)
    }

    fn unroll(&mut self, node: Node, least: u32, most: Option<u32>, greed: Greed) -> Result<Node, PatternError> {
        let once = if greed == Greed::Possessive { Node::Atomic(Box::new(node.clone())) } else { node.clone() };
        let Some(left) = self.left.checked_sub(once.size().saturating_mul(least as usize)) else {
            return Err(unsupported(0, "too many repetitions of a part that may match the empty text"));
        };
        self.left = left;
        let mut nodes = vec![once; least as usize];
        if most != Some(least) {
            nodes.push(Node::repeat(node, 0, most.map(|most| most - least), greed));
        }
        Ok(Node::concat(nodes))
    }
}

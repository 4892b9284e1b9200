//! Repetition in glibc, which loses some assertions of the copies that it makes.
//!
//! glibc expands `x{2,}` to `xxx*` and marks the copies. To check an assertion (`^`, `\b`, ...), it makes a copy of the node
//! after the assertion. If that node is a copy already, glibc reuses it, and the assertion is not checked: `^(b|$a){2}`
//! matches "ba". If another assertion was met since the last character, the assertion is always checked.

use std::collections::BTreeMap;

use super::super::char_set::CharSet;
use super::super::repetition::repeat;
use super::super::scanner::unsupported;
use super::super::syntax::{Assertion, Greed, Node};
use crate::error::PatternError;

/// Maximum number of parts of all copies.
const MAX_COPIES_SIZE: usize = 10_000;

/// A part of a pattern before copying.
pub(super) enum GlibcNode {
    CharClass(CharSet),
    Assert(Assertion),
    Backreference(u32, usize),
    Group(u32, Box<GlibcNode>),
    Concat(Vec<GlibcNode>),
    Alternation(Vec<GlibcNode>),
    Times { part: Box<GlibcNode>, least: u32, most: Option<u32>, position: usize },
}

impl GlibcNode {
    /// Return true if glibc creates no node for the part.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Concat(parts) if parts.iter().all(Self::is_nothing))
    }

    fn has_assertion(&self) -> bool {
        match self {
            Self::Assert(_) => true,
            Self::CharClass(_) | Self::Backreference(..) => false,
            Self::Group(_, part) | Self::Times { part, .. } => part.has_assertion(),
            Self::Concat(parts) | Self::Alternation(parts) => parts.iter().any(Self::has_assertion),
        }
    }
}

/// A part whose copies are written out.
enum Unrolled {
    /// A node without assertions.
    Node(Node),
    /// An assertion, and whether a copy follows it.
    Assertion(Assertion, bool),
    Group(u32, Box<Unrolled>),
    Concat(Vec<Unrolled>),
    Alternation(Vec<Unrolled>),
    /// Any number of iterations, and the effect of an iteration on the assertion state.
    Many(Box<Unrolled>, Flow),
}

/// Groups that backreferences refer to, each with the position of its backreference.
type Used = BTreeMap<u32, usize>;

/// Return the tree of a pattern.
pub(super) fn tree(part: &GlibcNode) -> Result<Node, PatternError> {
    let mut used = Used::new();
    references(part, None, &mut used)?;
    groups(part, None, &used)?;
    let mut unroller = Unroller { used: &used, size: 0, position: 0 };
    let (written, _) = unroller.unroll(part, Neighbors { copied: false, next: false })?;
    Ok(resolve_assertions(&written, Met::NO, unroller.position)?.0)
}

/// Error for a backreference to a group that can match in several ways: glibc may compare it with the text of the wrong
/// match.
const AMBIGUOUS: &str = "a backreference that glibc may match incorrectly";

/// Collect the groups that backreferences refer to. Only one backreference may refer to a group, and it must not be repeated.
fn references(part: &GlibcNode, repeated: Option<usize>, used: &mut Used) -> Result<(), PatternError> {
    match (part, repeated) {
        (GlibcNode::Backreference(..), Some(position)) => return Err(unsupported(position, AMBIGUOUS)),
        (GlibcNode::Backreference(group, position), None) if used.contains_key(group) => {
            return Err(unsupported(*position, AMBIGUOUS));
        }
        (GlibcNode::Backreference(group, position), None) => drop(used.insert(*group, *position)),
        (GlibcNode::CharClass(_) | GlibcNode::Assert(_), _) => {}
        (GlibcNode::Group(_, part), _) => references(part, repeated, used)?,
        (GlibcNode::Concat(parts) | GlibcNode::Alternation(parts), _) => {
            for part in parts {
                references(part, repeated, used)?;
            }
        }
        (GlibcNode::Times { part, most, position, .. }, _) => {
            let again = (*most != Some(1)).then_some(*position);
            references(part, repeated.or(again), used)?;
        }
    }
    Ok(())
}

/// Return an error if a group that a backreference refers to is copied or has assertions.
fn groups(part: &GlibcNode, copied: Option<usize>, used: &Used) -> Result<(), PatternError> {
    match part {
        GlibcNode::Group(group, part) => match (used.get(group), copied) {
            (Some(_), Some(position)) => Err(unsupported(position, AMBIGUOUS)),
            (Some(&position), None) if part.has_assertion() => Err(unsupported(position, AMBIGUOUS)),
            _ => groups(part, copied, used),
        },
        GlibcNode::Concat(parts) | GlibcNode::Alternation(parts) => {
            parts.iter().try_for_each(|part| groups(part, copied, used))
        }
        GlibcNode::Times { part, least, most, position } => {
            let twice = (*least, *most) != (0, None) && *most != Some(1);
            groups(part, copied.or(twice.then_some(*position)), used)
        }
        GlibcNode::CharClass(_) | GlibcNode::Assert(_) | GlibcNode::Backreference(..) => Ok(()),
    }
}

/// Flags: the part is in a copy, and the part after it is a copy.
#[derive(Clone, Copy)]
struct Neighbors {
    copied: bool,
    next: bool,
}

struct Unroller<'a> {
    used: &'a Used,
    size: usize,
    /// Position of the last repetition that was written out.
    position: usize,
}

impl Unroller<'_> {
    /// Write out a part; return it, and true if its first node is a copy.
    fn unroll(&mut self, part: &GlibcNode, around: Neighbors) -> Result<(Unrolled, bool), PatternError> {
        let Neighbors { copied, next } = around;
        self.size += 1;
        if self.size > MAX_COPIES_SIZE {
            return Err(unsupported(self.position, "a high repetition count of a part with assertions"));
        }
        Ok(match part {
            GlibcNode::CharClass(set) => (Unrolled::Node(Node::CharClass(*set)), copied),
            GlibcNode::Backreference(group, _) => {
                (Unrolled::Node(Node::Backreference { group: *group, folded: false }), copied)
            }
            GlibcNode::Assert(assertion) => (Unrolled::Assertion(*assertion, next), copied),
            GlibcNode::Group(group, part) if self.used.contains_key(group) => {
                // glibc creates the nodes of groups after all copies.
                let (written, _) = self.unroll(part, Neighbors { copied, next: false })?;
                (Unrolled::Group(*group, Box::new(written)), false)
            }
            GlibcNode::Group(_, part) if part.is_nothing() => (Unrolled::Concat(Vec::new()), false),
            GlibcNode::Group(_, part) => self.unroll(part, around)?,
            GlibcNode::Concat(parts) => return self.row(parts, around),
            GlibcNode::Alternation(parts) => return self.branches(parts, around),
            GlibcNode::Times { part, least, most, position } => {
                self.position = *position;
                if part.has_assertion() {
                    return self.copies(part, *least, *most, around);
                }
                return self.compact(part, *least, *most, around);
            }
        })
    }

    fn row(&mut self, parts: &[GlibcNode], around: Neighbors) -> Result<(Unrolled, bool), PatternError> {
        let (mut written, mut first) = (Vec::new(), around.next);
        for part in parts.iter().rev() {
            let (node, before) = self.unroll(part, Neighbors { next: first, ..around })?;
            written.push(node);
            first = before;
        }
        written.reverse();
        Ok((Unrolled::Concat(written), first))
    }

    fn branches(&mut self, parts: &[GlibcNode], around: Neighbors) -> Result<(Unrolled, bool), PatternError> {
        let mut written = Vec::new();
        for part in parts {
            written.push(self.unroll(part, around)?.0);
        }
        Ok((Unrolled::Alternation(written), around.copied))
    }

    /// Return a repetition without assertions.
    fn compact(
        &mut self,
        part: &GlibcNode,
        least: u32,
        most: Option<u32>,
        around: Neighbors,
    ) -> Result<(Unrolled, bool), PatternError> {
        let position = self.position;
        let (written, first) = self.unroll(part, around)?;
        let (node, _) = resolve_assertions(&written, Met::NO, position)?;
        let node = repeat(node, least, most, position)?;
        Ok((Unrolled::Node(node), if least > 0 { first } else { around.copied }))
    }

    /// Write out `x{2,4}` as `xx((x)?x)?` and `x{2,}` as `xxx*`; every `x` except the first is a copy.
    fn copies(
        &mut self,
        part: &GlibcNode,
        least: u32,
        most: Option<u32>,
        around: Neighbors,
    ) -> Result<(Unrolled, bool), PatternError> {
        let mut written = Vec::new();
        let mut first = around.next;
        if most.is_none() {
            let next = around.copied;
            let (many, _) = self.unroll(part, Neighbors { copied: around.copied || least > 0, next })?;
            let flow = flow(&many).again();
            written.push(Unrolled::Many(Box::new(many), flow));
            first = around.copied;
        } else if most > Some(least) {
            written.push(self.optional(part, least, most.unwrap_or(least) - least, around)?);
            first = around.copied;
        }
        for index in (0..least).rev() {
            let (copy, before) = self.unroll(part, Neighbors { copied: around.copied || index > 0, next: first })?;
            written.push(copy);
            first = before;
        }
        written.reverse();
        Ok((Unrolled::Concat(written), first))
    }

    /// Write out `((x)?x)?` with `times` copies of `x`.
    fn optional(
        &mut self,
        part: &GlibcNode,
        least: u32,
        times: u32,
        around: Neighbors,
    ) -> Result<Unrolled, PatternError> {
        let mut copies = Vec::new();
        let mut next = around.next;
        for index in (0..times).rev() {
            let (copy, first) = self.unroll(part, Neighbors { copied: around.copied || least + index > 0, next })?;
            copies.push(copy);
            next = first;
        }
        let mut found = Unrolled::Concat(Vec::new());
        for copy in copies.into_iter().rev() {
            found = Unrolled::Alternation(vec![Unrolled::Concat(vec![found, copy]), Unrolled::Concat(Vec::new())]);
        }
        Ok(found)
    }
}

/// Assertion state: since the last character, some path met an assertion (`yes`), and some path met none (`no`).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Met {
    yes: bool,
    no: bool,
}

impl Met {
    const NO: Self = Self { yes: false, no: true };
    const YES: Self = Self { yes: true, no: false };

    fn or(self, other: Self) -> Self {
        Self { yes: self.yes || other.yes, no: self.no || other.no }
    }
}

/// Assertion state after a part, for each state before it.
#[derive(Clone, Copy)]
struct Flow {
    after_none: Met,
    after_assertion: Met,
}

impl Flow {
    const THROUGH: Self = Self { after_none: Met::NO, after_assertion: Met::YES };

    fn behind(self, met: Met) -> Met {
        match met {
            Met { yes: false, .. } => self.after_none,
            Met { no: false, .. } => self.after_assertion,
            _ => self.after_none.or(self.after_assertion),
        }
    }

    fn then(self, next: Self) -> Self {
        Self { after_none: next.behind(self.after_none), after_assertion: next.behind(self.after_assertion) }
    }

    fn or(self, other: Self) -> Self {
        Self {
            after_none: self.after_none.or(other.after_none),
            after_assertion: self.after_assertion.or(other.after_assertion),
        }
    }

    /// Return the flow of any number of iterations; more than two iterations have no further effect.
    fn again(self) -> Self {
        let once = self.or(Self::THROUGH);
        once.then(once)
    }
}

fn flow(written: &Unrolled) -> Flow {
    match written {
        Unrolled::Node(node) if node.max_length() == Some(0) => Flow::THROUGH,
        Unrolled::Node(node) if node.min_length() == 0 => {
            Flow { after_none: Met::NO, after_assertion: Met::YES.or(Met::NO) }
        }
        Unrolled::Node(_) => Flow { after_none: Met::NO, after_assertion: Met::NO },
        Unrolled::Assertion(_, true) => Flow::THROUGH,
        Unrolled::Assertion(_, false) => Flow { after_none: Met::YES, after_assertion: Met::YES },
        Unrolled::Group(_, inner) => flow(inner),
        Unrolled::Concat(parts) => parts.iter().map(flow).fold(Flow::THROUGH, Flow::then),
        Unrolled::Alternation(parts) => parts.iter().map(flow).reduce(Flow::or).unwrap_or(Flow::THROUGH),
        Unrolled::Many(_, flow) => *flow,
    }
}

/// Remove the assertions that glibc does not check; return the node and the assertion state after it.
fn resolve_assertions(written: &Unrolled, met: Met, position: usize) -> Result<(Node, Met), PatternError> {
    match written {
        Unrolled::Node(node) => Ok((node.clone(), flow(written).behind(met))),
        Unrolled::Assertion(assertion, copy_follows) => match (copy_follows, met) {
            (true, Met { yes: false, .. }) => Ok((Node::EMPTY, met)),
            (true, Met { no: true, .. }) => Err(unsupported(
                position,
                "a repetition in which an assertion follows another one in some matches only",
            )),
            _ => Ok((Node::Assert(*assertion), Met::YES)),
        },
        Unrolled::Group(group, inner) => {
            resolve_assertions(inner, met, position).map(|(node, met)| (Node::Capture(*group, Box::new(node)), met))
        }
        Unrolled::Concat(parts) => resolve_concat(parts, met, position),
        Unrolled::Alternation(parts) => resolve_alternation(parts, met, position),
        Unrolled::Many(inner, flow) => {
            let met = flow.behind(met);
            resolve_assertions(inner, met, position).map(|(node, _)| (Node::repeat(node, 0, None, Greed::Greedy), met))
        }
    }
}

fn resolve_concat(parts: &[Unrolled], mut met: Met, position: usize) -> Result<(Node, Met), PatternError> {
    let mut nodes = Vec::new();
    for part in parts {
        let (node, behind) = resolve_assertions(part, met, position)?;
        met = behind;
        if node != Node::EMPTY {
            nodes.push(node);
        }
    }
    Ok((Node::concat(nodes), met))
}

fn resolve_alternation(parts: &[Unrolled], met: Met, position: usize) -> Result<(Node, Met), PatternError> {
    let (mut nodes, mut behind) = (Vec::new(), None);
    for part in parts {
        let (node, met) = resolve_assertions(part, met, position)?;
        nodes.push(node);
        behind = Some(behind.map_or(met, |behind| met.or(behind)));
    }
    Ok((Node::alternation(nodes), behind.unwrap_or(met)))
}

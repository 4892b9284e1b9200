//! What a pattern means once glibc has written out the copies of what is repeated: some of its places are lost.
//!
//! glibc makes `x{2,}` into `xxx*` and remembers which nodes are copies. A place (`^`, `\b`, ...) holds for what follows it by a
//! copy of that, and where a copy follows already, glibc takes it for one of these and asks for nothing: `^(b|$a){2}` matches
//! "ba". Only where another place was met since the last character, a place is asked for whatever follows it.

use std::collections::BTreeMap;

use super::super::chars::Chars;
use super::super::iterations::repeat;
use super::super::syntax::{Greed, Node, Place};
use super::super::text::unsupported;
use crate::error::PatternError;

/// How many places and what stands between them copies may come to.
const LARGEST: usize = 10_000;

/// A part of a pattern as it is written.
pub(super) enum Part {
    Chars(Chars),
    Place(Place),
    Same(u32, usize),
    Group(u32, Box<Part>),
    Concat(Vec<Part>),
    Either(Vec<Part>),
    Times { part: Box<Part>, least: u32, most: Option<u32>, position: usize },
}

impl Part {
    /// Whether glibc has no node for it at all.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Concat(parts) if parts.iter().all(Self::is_nothing))
    }

    fn has_place(&self) -> bool {
        match self {
            Self::Place(_) => true,
            Self::Chars(_) | Self::Same(..) => false,
            Self::Group(_, part) | Self::Times { part, .. } => part.has_place(),
            Self::Concat(parts) | Self::Either(parts) => parts.iter().any(Self::has_place),
        }
    }
}

/// A part with its copies written out.
enum Written {
    /// There is no place in it.
    Node(Node),
    /// A place, and whether a copy follows it.
    Place(Place, bool),
    Group(u32, Box<Written>),
    Concat(Vec<Written>),
    Either(Vec<Written>),
    /// As often as there are, and what is met on the way through it.
    Many(Box<Written>, Flow),
}

/// The groups that are referred to, and where.
type Used = BTreeMap<u32, usize>;

/// The tree of a pattern.
pub(super) fn tree(part: &Part) -> Result<Node, PatternError> {
    let mut used = Used::new();
    references(part, None, &mut used)?;
    groups(part, None, &used)?;
    let mut writer = Writer { used: &used, size: 0, position: 0 };
    let (written, _) = writer.write(part, Around { copied: false, next: false })?;
    Ok(settle(&written, Met::NO, writer.position)?.0)
}

/// There are several ways to take the group then, and glibc mixes them up without a rule.
const MISTAKEN: &str = "a back-reference that glibc may get wrong";

/// Collects the groups that are referred to: once each, and in no repetition.
fn references(part: &Part, repeated: Option<usize>, used: &mut Used) -> Result<(), PatternError> {
    match (part, repeated) {
        (Part::Same(..), Some(position)) => return Err(unsupported(position, MISTAKEN)),
        (Part::Same(group, position), None) if used.contains_key(group) => {
            return Err(unsupported(*position, MISTAKEN));
        }
        (Part::Same(group, position), None) => drop(used.insert(*group, *position)),
        (Part::Chars(_) | Part::Place(_), _) => {}
        (Part::Group(_, part), _) => references(part, repeated, used)?,
        (Part::Concat(parts) | Part::Either(parts), _) => {
            for part in parts {
                references(part, repeated, used)?;
            }
        }
        (Part::Times { part, most, position, .. }, _) => {
            let again = (*most != Some(1)).then_some(*position);
            references(part, repeated.or(again), used)?;
        }
    }
    Ok(())
}

/// Refuses groups that are referred to and have copies or places.
fn groups(part: &Part, copied: Option<usize>, used: &Used) -> Result<(), PatternError> {
    match part {
        Part::Group(group, part) => match (used.get(group), copied) {
            (Some(_), Some(position)) => Err(unsupported(position, MISTAKEN)),
            (Some(&position), None) if part.has_place() => Err(unsupported(position, MISTAKEN)),
            _ => groups(part, copied, used),
        },
        Part::Concat(parts) | Part::Either(parts) => parts.iter().try_for_each(|part| groups(part, copied, used)),
        Part::Times { part, least, most, position } => {
            let twice = (*least, *most) != (0, None) && *most != Some(1);
            groups(part, copied.or(twice.then_some(*position)), used)
        }
        Part::Chars(_) | Part::Place(_) | Part::Same(..) => Ok(()),
    }
}

/// Whether a part is in a copy, and whether what follows it is.
#[derive(Clone, Copy)]
struct Around {
    copied: bool,
    next: bool,
}

struct Writer<'a> {
    used: &'a Used,
    size: usize,
    /// Of the last repetition that was written out.
    position: usize,
}

impl Writer<'_> {
    /// Writes a part out, and says whether the first node of it is a copy.
    fn write(&mut self, part: &Part, around: Around) -> Result<(Written, bool), PatternError> {
        let Around { copied, next } = around;
        self.size += 1;
        if self.size > LARGEST {
            return Err(unsupported(self.position, "a high count of what has places in it"));
        }
        Ok(match part {
            Part::Chars(set) => (Written::Node(Node::Chars(*set)), copied),
            Part::Same(group, _) => (Written::Node(Node::Same { group: *group, folded: false }), copied),
            Part::Place(place) => (Written::Place(*place, next), copied),
            Part::Group(group, part) if self.used.contains_key(group) => {
                // The nodes of groups are made after all copies.
                let (written, _) = self.write(part, Around { copied, next: false })?;
                (Written::Group(*group, Box::new(written)), false)
            }
            Part::Group(_, part) if part.is_nothing() => (Written::Concat(Vec::new()), false),
            Part::Group(_, part) => self.write(part, around)?,
            Part::Concat(parts) => return self.row(parts, around),
            Part::Either(parts) => return self.branches(parts, around),
            Part::Times { part, least, most, position } => {
                self.position = *position;
                if part.has_place() {
                    return self.copies(part, *least, *most, around);
                }
                return self.compact(part, *least, *most, around);
            }
        })
    }

    fn row(&mut self, parts: &[Part], around: Around) -> Result<(Written, bool), PatternError> {
        let (mut written, mut first) = (Vec::new(), around.next);
        for part in parts.iter().rev() {
            let (node, before) = self.write(part, Around { next: first, ..around })?;
            written.push(node);
            first = before;
        }
        written.reverse();
        Ok((Written::Concat(written), first))
    }

    fn branches(&mut self, parts: &[Part], around: Around) -> Result<(Written, bool), PatternError> {
        let mut written = Vec::new();
        for part in parts {
            written.push(self.write(part, around)?.0);
        }
        Ok((Written::Either(written), around.copied))
    }

    /// A repetition that no place is lost in.
    fn compact(
        &mut self,
        part: &Part,
        least: u32,
        most: Option<u32>,
        around: Around,
    ) -> Result<(Written, bool), PatternError> {
        let position = self.position;
        let (written, first) = self.write(part, around)?;
        let (node, _) = settle(&written, Met::NO, position)?;
        let node = repeat(node, least, most, position)?;
        Ok((Written::Node(node), if least > 0 { first } else { around.copied }))
    }

    /// `x{2,4}` is `xx((x)?x)?`, `x{2,}` is `xxx*`: all but the first `x` are copies.
    fn copies(
        &mut self,
        part: &Part,
        least: u32,
        most: Option<u32>,
        around: Around,
    ) -> Result<(Written, bool), PatternError> {
        let mut written = Vec::new();
        let mut first = around.next;
        if most.is_none() {
            let next = around.copied;
            let (many, _) = self.write(part, Around { copied: around.copied || least > 0, next })?;
            let flow = flow(&many).again();
            written.push(Written::Many(Box::new(many), flow));
            first = around.copied;
        } else if most > Some(least) {
            written.push(self.optional(part, least, most.unwrap_or(least) - least, around)?);
            first = around.copied;
        }
        for index in (0..least).rev() {
            let (copy, before) = self.write(part, Around { copied: around.copied || index > 0, next: first })?;
            written.push(copy);
            first = before;
        }
        written.reverse();
        Ok((Written::Concat(written), first))
    }

    /// `((x)?x)?`, so often.
    fn optional(&mut self, part: &Part, least: u32, times: u32, around: Around) -> Result<Written, PatternError> {
        let mut copies = Vec::new();
        let mut next = around.next;
        for index in (0..times).rev() {
            let (copy, first) = self.write(part, Around { copied: around.copied || least + index > 0, next })?;
            copies.push(copy);
            next = first;
        }
        let mut found = Written::Concat(Vec::new());
        for copy in copies.into_iter().rev() {
            found = Written::Either(vec![Written::Concat(vec![found, copy]), Written::Concat(Vec::new())]);
        }
        Ok(found)
    }
}

/// Whether a place was met since the last character: on some ways it was, on some it was not.
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

/// What is met behind a part, where no place or where one was met before it.
#[derive(Clone, Copy)]
struct Flow {
    after_none: Met,
    after_place: Met,
}

impl Flow {
    const THROUGH: Self = Self { after_none: Met::NO, after_place: Met::YES };

    fn behind(self, met: Met) -> Met {
        match met {
            Met { yes: false, .. } => self.after_none,
            Met { no: false, .. } => self.after_place,
            _ => self.after_none.or(self.after_place),
        }
    }

    fn then(self, next: Self) -> Self {
        Self { after_none: next.behind(self.after_none), after_place: next.behind(self.after_place) }
    }

    fn or(self, other: Self) -> Self {
        Self { after_none: self.after_none.or(other.after_none), after_place: self.after_place.or(other.after_place) }
    }

    /// Of the part any number of times; two times can show all that more would.
    fn again(self) -> Self {
        let once = self.or(Self::THROUGH);
        once.then(once)
    }
}

fn flow(written: &Written) -> Flow {
    match written {
        Written::Node(node) if node.most() == Some(0) => Flow::THROUGH,
        Written::Node(node) if node.least() == 0 => Flow { after_none: Met::NO, after_place: Met::YES.or(Met::NO) },
        Written::Node(_) => Flow { after_none: Met::NO, after_place: Met::NO },
        Written::Place(_, true) => Flow::THROUGH,
        Written::Place(_, false) => Flow { after_none: Met::YES, after_place: Met::YES },
        Written::Group(_, inner) => flow(inner),
        Written::Concat(parts) => parts.iter().map(flow).fold(Flow::THROUGH, Flow::then),
        Written::Either(parts) => parts.iter().map(flow).reduce(Flow::or).unwrap_or(Flow::THROUGH),
        Written::Many(_, flow) => *flow,
    }
}

/// Leaves the places out that are not asked for; says what was met behind the part.
fn settle(written: &Written, met: Met, position: usize) -> Result<(Node, Met), PatternError> {
    match written {
        Written::Node(node) => Ok((node.clone(), flow(written).behind(met))),
        Written::Place(place, copy_follows) => match (copy_follows, met) {
            (true, Met { yes: false, .. }) => Ok((Node::EMPTY, met)),
            (true, Met { no: true, .. }) => {
                Err(unsupported(position, "a repetition in which a place follows another one or not"))
            }
            _ => Ok((Node::At(*place), Met::YES)),
        },
        Written::Group(group, inner) => {
            settle(inner, met, position).map(|(node, met)| (Node::Group(*group, Box::new(node)), met))
        }
        Written::Concat(parts) => settle_row(parts, met, position),
        Written::Either(parts) => settle_branches(parts, met, position),
        Written::Many(inner, flow) => {
            let met = flow.behind(met);
            settle(inner, met, position).map(|(node, _)| (Node::repeat(node, 0, None, Greed::Greedy), met))
        }
    }
}

fn settle_row(parts: &[Written], mut met: Met, position: usize) -> Result<(Node, Met), PatternError> {
    let mut nodes = Vec::new();
    for part in parts {
        let (node, behind) = settle(part, met, position)?;
        met = behind;
        if node != Node::EMPTY {
            nodes.push(node);
        }
    }
    Ok((Node::concat(nodes), met))
}

fn settle_branches(parts: &[Written], met: Met, position: usize) -> Result<(Node, Met), PatternError> {
    let (mut nodes, mut behind) = (Vec::new(), None);
    for part in parts {
        let (node, met) = settle(part, met, position)?;
        nodes.push(node);
        behind = Some(behind.map_or(met, |behind| met.or(behind)));
    }
    Ok((Node::either(nodes), behind.unwrap_or(met)))
}

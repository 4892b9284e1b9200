//! Plan: the assignment that an assignor computes, as spans of partitions.
//!
//! A plan reads its spans from a layout. Columns can hold any assignment. An assignor may have its own compact layout, which computes
//! spans when they are read.

mod balance;
mod columnar;
mod diff;
mod owners;
pub(crate) mod ranges;
mod shared;
mod size;
mod weights;
mod wire;

use std::convert::Infallible;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::panic::RefUnwindSafe;
use std::sync::{Arc, OnceLock};

pub use balance::Balance;
pub use columnar::Columns;
pub use diff::{Diff, MemberSpans};
pub use size::Client;
pub use weights::{WeightedBalance, Weights};
pub use wire::Encoder;

pub(crate) use owners::{NO_OWNER, Owners};
pub(crate) use shared::SharedOwners;

use crate::cancellation;
use crate::error::PlanError;
use crate::group::{Group, Names};
use crate::memory::{self, OutOfMemory};

/// Run of consecutive partition ids of one topic that one member gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Index of the topic.
    pub topic: u32,
    /// The first id.
    pub start: i32,
    /// The number of ids.
    pub count: i32,
}

impl Span {
    /// Return one past the last id.
    #[must_use]
    pub fn end(self) -> i64 {
        i64::from(self.start) + i64::from(self.count)
    }

    /// Return the ids.
    #[must_use]
    pub fn ids(self) -> impl ExactSizeIterator<Item = i32> {
        (0..self.count).map(move |offset| self.start + offset)
    }
}

/// Representation of an assignment from which spans are read.
pub(crate) trait Layout: Debug + Send + Sync + RefUnwindSafe {
    /// Return the spans of a member.
    fn spans_of(&self, group: &Group, member: usize) -> Vec<Span>;

    /// Call `read` with each member and its spans, in the cheapest order, until it breaks.
    fn each_member(&self, group: &Group, read: &mut dyn FnMut(u32, &[Span]) -> ControlFlow<()>);

    /// Return the number of partitions of each member.
    fn counts(&self, group: &Group) -> Vec<i64>;
}

/// Memory for the columns of a span, and for the span itself while they are written.
const BYTES_PER_SPAN: u64 = 28;

/// Memory for a span with its owner, and for the lists by topic while it is written.
const BYTES_PER_OWNED_SPAN: u64 = 40;

fn check_spans(spans: usize) -> Result<(), OutOfMemory> {
    memory::check_each("a plan", "spans", spans as u64, BYTES_PER_SPAN)
}

/// The form in which an assignor returns an assignment.
#[derive(Debug)]
enum Answer {
    /// A compact layout.
    Layout(Box<dyn Layout>),
    /// An owner per partition.
    Owners(Owners),
    /// Several owners per partition.
    Shared(SharedOwners),
    /// Spans, already stored as columns.
    Columns,
}

/// Assignment as spans, which are ordered by topic in Java's order and then by id for each member.
#[derive(Debug)]
pub struct Plan {
    group: Arc<Group>,
    answer: Answer,
    /// The spans, computed from the answer when they are first read.
    columns: OnceLock<Columns>,
    owners: OnceLock<diff::Owners>,
    /// True if a partition may have several owners, and members may have partitions of other topics than those they subscribe to.
    is_shared: bool,
}

impl Plan {
    /// Create a plan with a compact layout.
    pub(crate) fn compact(group: Arc<Group>, layout: impl Layout + 'static) -> Self {
        Self::from_answer(group, Answer::Layout(Box::new(layout)))
    }

    /// Return the plan of the given owners.
    pub(crate) fn from_owners(group: &Arc<Group>, owners: Owners) -> Self {
        cancellation::check();
        Self::from_answer(Arc::clone(group), Answer::Owners(owners))
    }

    /// Return the plan of partitions that several members may own; `group` may have more topics than the assigned group.
    pub(crate) fn from_shared(group: Arc<Group>, owners: SharedOwners) -> Self {
        cancellation::check();
        Self { is_shared: true, ..Self::from_answer(group, Answer::Shared(owners)) }
    }

    fn from_answer(group: Arc<Group>, answer: Answer) -> Self {
        Self { group, answer, columns: OnceLock::new(), owners: OnceLock::new(), is_shared: false }
    }

    /// Create a plan from spans, given as (member, span); `is_shared` is true for the plan of a share group.
    ///
    /// # Errors
    /// The group does not have a member or topic, a span is empty, beyond int32 or not in order. Unless the plan is shared: a member
    /// does not subscribe to its topic, or a partition has two owners.
    pub fn from_spans(
        group: Arc<Group>,
        spans: impl IntoIterator<Item = (u32, Span)>,
        is_shared: bool,
    ) -> Result<Self, PlanError> {
        let columns = Columns::checked(&group, spans, is_shared)?;
        Ok(Self { columns: OnceLock::from(columns), is_shared, ..Self::from_answer(group, Answer::Columns) })
    }

    /// Return true if a partition may have several owners.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Return true if a member may have partitions that the topics of the group do not have.
    ///
    /// # Errors
    /// The spans do not fit into memory.
    pub fn has_unknown_partitions(&self) -> Result<bool, OutOfMemory> {
        if !self.is_shared {
            return Ok(false);
        }
        let columns = self.try_columns()?;
        let partitions = self.group.topics().partitions();
        let is_unknown = |row: usize| {
            let end = i64::from(columns.start[row]) + i64::from(columns.count[row]);
            end > partitions[columns.topic[row] as usize].ids.end() as i64
        };
        Ok((0..columns.len()).any(is_unknown))
    }

    /// Return the layout that is cheapest to read: the columns once they exist.
    fn layout(&self) -> &dyn Layout {
        match (&self.answer, self.columns.get()) {
            (Answer::Layout(layout), None) => &**layout,
            _ => self.columns(),
        }
    }

    /// Return the assigned group.
    #[must_use]
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// Return the member ids, in the order given.
    #[must_use]
    pub fn members(&self) -> &Names {
        self.group.members()
    }

    /// Return the topics, in Java's order.
    #[must_use]
    pub fn topics(&self) -> &Names {
        self.group.topics().names()
    }

    /// Return all spans as columns, by member in the given order, then by topic and id. They are computed once.
    #[must_use]
    pub fn columns(&self) -> &Columns {
        self.columns.get_or_init(|| {
            let Ok(columns) = self.compute_columns(|_| Ok::<(), Infallible>(()));
            columns
        })
    }

    /// Return all spans as columns, as `columns` does, if they fit into memory.
    ///
    /// # Errors
    /// The spans do not fit into memory.
    pub fn try_columns(&self) -> Result<&Columns, OutOfMemory> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        let columns = self.compute_columns(check_spans)?;
        Ok(self.columns.get_or_init(|| columns)) // another thread may have been faster
    }

    /// Check that the spans of members can be read. Only spans of owners are stored to read them.
    ///
    /// # Errors
    /// The spans do not fit into memory.
    pub fn check_readable(&self) -> Result<(), OutOfMemory> {
        match self.answer {
            Answer::Owners(_) | Answer::Shared(_) => self.try_columns().map(drop),
            Answer::Layout(_) | Answer::Columns => Ok(()),
        }
    }

    /// Check that the owner of a partition can be looked up, for which all spans are stored by topic.
    ///
    /// # Errors
    /// The spans do not fit into memory.
    pub fn check_owners(&self) -> Result<(), OutOfMemory> {
        if self.owners.get().is_some() {
            return Ok(());
        }
        let spans = self.try_columns()?.len() as u64;
        memory::check_each("a table of the owners", "spans", spans, BYTES_PER_OWNED_SPAN)
    }

    fn compute_columns<E>(&self, check: impl FnOnce(usize) -> Result<(), E>) -> Result<Columns, E> {
        match &self.answer {
            Answer::Layout(layout) => Columns::of(&self.group, &**layout, check),
            Answer::Owners(owners) => Columns::of_owners(&self.group, owners, check),
            Answer::Shared(owners) => {
                check(owners.total())?;
                let (spans, ends) = owners.spans(self.members().len());
                Ok(Columns::from_spans(&spans, ends))
            }
            Answer::Columns => Ok(Columns::default()),
        }
    }

    /// Return the spans of a member.
    #[must_use]
    pub fn spans_of(&self, member: usize) -> Vec<Span> {
        self.layout().spans_of(&self.group, member)
    }

    /// Call `read` with each member and its spans, in the cheapest order.
    ///
    /// # Errors
    /// The first error of `read`, which is then not called again.
    pub fn try_each_member<E>(&self, mut read: impl FnMut(u32, &[Span]) -> Result<(), E>) -> Result<(), E> {
        let mut failure = None;
        self.layout().each_member(&self.group, &mut |member, spans| match read(member, spans) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        });
        failure.map_or(Ok(()), Err)
    }

    /// Call `read` with each member and its spans, in the cheapest order.
    pub fn each_member(&self, mut read: impl FnMut(u32, &[Span])) {
        let Ok(()) = self.try_each_member(|member, spans| {
            read(member, spans);
            Ok::<(), Infallible>(())
        });
    }

    /// Return the number of partitions of each member.
    #[must_use]
    pub fn counts(&self) -> Vec<i64> {
        match &self.answer {
            Answer::Layout(layout) => layout.counts(&self.group),
            Answer::Shared(owners) => owners.counts(self.members().len()),
            _ => self.columns().counts(&self.group),
        }
    }

    /// Return the number of partitions of all members; a partition with several owners counts once for each.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.counts().iter().sum()
    }

    /// Return an upper limit of `total` that is cheap to compute.
    #[must_use]
    pub fn most_partitions(&self) -> u64 {
        if self.is_shared { self.total() as u64 } else { self.group.topics().total() }
    }

    /// Return the spans of a topic with their owners, by id.
    pub(crate) fn owners_of(&self, topic: u32) -> &[(Span, u32)] {
        self.owners.get_or_init(|| diff::Owners::of(self)).of_topic(topic)
    }

    /// Return the index of the member that has a partition, if any; the first of several members.
    #[must_use]
    pub fn owner(&self, topic: u32, partition: i32) -> Option<u32> {
        self.owners.get_or_init(|| diff::Owners::of(self)).owner(topic, partition)
    }

    /// Return the indices of the members that have a partition, ascending.
    #[must_use]
    pub fn owners(&self, topic: u32, partition: i32) -> Vec<u32> {
        self.owners.get_or_init(|| diff::Owners::of(self)).owners(topic, partition)
    }

    /// Return true if both plans give each member the same partitions. Spans have maximal length, so equal assignments have equal spans.
    #[must_use]
    pub fn same_as(&self, other: &Self, number_in_other: impl Fn(&str) -> Option<u32>) -> bool {
        let same_topic = |left: Span, right: Span| {
            self.topics().get(left.topic as usize) == other.topics().get(right.topic as usize)
                && (left.start, left.count) == (right.start, right.count)
        };
        self.members().len() == other.members().len()
            && self.members().iter().enumerate().all(|(member, name)| {
                number_in_other(name).is_some_and(|number| {
                    let (mine, others) = (self.columns().spans_of(member), other.columns().spans_of(number as usize));
                    mine.len() == others.len() && mine.zip(others).all(|(left, right)| same_topic(left, right))
                })
            })
    }
}

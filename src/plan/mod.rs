//! The answer of an assignor: which member gets which run of partitions of which topic.
//!
//! A plan reads its spans from a layout. An assignor may bring a compact one of its own, which computes spans when they are asked
//! for; any assignment can be laid out in columns.

mod balance;
mod columnar;
mod diff;
mod owners;
mod size;
mod wire;

use std::convert::Infallible;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::panic::RefUnwindSafe;
use std::sync::{Arc, OnceLock};

pub use balance::Balance;
pub use columnar::Columns;
pub use diff::{Diff, Gained};
pub use size::Client;
pub use wire::Encoder;

pub(crate) use owners::{NO_OWNER, Owners};

use crate::error::PlanError;
use crate::group::{Group, Names};

/// A run of consecutive partition ids of one topic that one member gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Index of the topic.
    pub topic: u32,
    /// The first id.
    pub start: i32,
    /// How many ids.
    pub count: i32,
}

impl Span {
    /// One past the last id.
    #[must_use]
    pub fn end(self) -> i64 {
        i64::from(self.start) + i64::from(self.count)
    }

    /// The ids.
    #[must_use]
    pub fn ids(self) -> impl ExactSizeIterator<Item = i32> {
        (0..self.count).map(move |offset| self.start + offset)
    }
}

/// A representation of an assignment from which spans are read.
pub(crate) trait Layout: Debug + Send + Sync + RefUnwindSafe {
    /// The spans of one member.
    fn spans_of(&self, group: &Group, member: usize) -> Vec<Span>;

    /// Call `read` with every member and its spans, in the order that costs least, until it breaks.
    fn each_member(&self, group: &Group, read: &mut dyn FnMut(u32, &[Span]) -> ControlFlow<()>);

    /// The number of partitions of each member.
    fn counts(&self, group: &Group) -> Vec<i64>;
}

/// The form in which an assignor returns an assignment.
#[derive(Debug)]
enum Answer {
    /// A compact layout.
    Layout(Box<dyn Layout>),
    /// An owner per partition.
    Owners(Owners),
    /// Spans; the plan has them as columns from the start.
    Columns,
}

/// An assignment as spans: of each member by topic in Java's order, then by id.
#[derive(Debug)]
pub struct Plan {
    group: Arc<Group>,
    answer: Answer,
    /// The spans, computed from the answer when they are first read.
    columns: OnceLock<Columns>,
    owners: OnceLock<diff::Owners>,
}

impl Plan {
    /// A plan with a compact layout of its assignor.
    pub(crate) fn compact(group: Arc<Group>, layout: impl Layout + 'static) -> Self {
        Self::from_answer(group, Answer::Layout(Box::new(layout)))
    }

    /// Return the plan of the given owners.
    pub(crate) fn from_owners(group: &Arc<Group>, owners: Owners) -> Self {
        Self::from_answer(Arc::clone(group), Answer::Owners(owners))
    }

    fn from_answer(group: Arc<Group>, answer: Answer) -> Self {
        Self { group, answer, columns: OnceLock::new(), owners: OnceLock::new() }
    }

    /// A plan with the given spans, as (member, span).
    ///
    /// # Errors
    /// Members or topics that the group does not have, a topic that its member does not subscribe to, spans without an id or
    /// beyond int32, or not in order, and a partition that two members have.
    pub fn from_spans(group: Arc<Group>, spans: impl IntoIterator<Item = (u32, Span)>) -> Result<Self, PlanError> {
        let columns = Columns::checked(&group, spans)?;
        Ok(Self::from_columns(group, columns))
    }

    fn from_columns(group: Arc<Group>, columns: Columns) -> Self {
        Self { columns: OnceLock::from(columns), ..Self::from_answer(group, Answer::Columns) }
    }

    /// The layout that is cheapest to read: columns once they are made.
    fn layout(&self) -> &dyn Layout {
        match (&self.answer, self.columns.get()) {
            (Answer::Layout(layout), None) => &**layout,
            _ => self.columns(),
        }
    }

    /// The group whose members have something here.
    #[must_use]
    pub fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// The member ids, in the order of the subscriptions.
    #[must_use]
    pub fn members(&self) -> &Names {
        self.group.members()
    }

    /// The topics, in Java's order.
    #[must_use]
    pub fn topics(&self) -> &Names {
        self.group.topics().names()
    }

    /// All spans as columns, by member in the order given, then by topic and id. They are made once.
    #[must_use]
    pub fn columns(&self) -> &Columns {
        self.columns.get_or_init(|| match &self.answer {
            Answer::Layout(layout) => Columns::of(&self.group, &**layout),
            Answer::Owners(owners) => Columns::of_owners(&self.group, owners),
            Answer::Columns => Columns::default(),
        })
    }

    /// The spans of one member.
    #[must_use]
    pub fn spans_of(&self, member: usize) -> Vec<Span> {
        self.layout().spans_of(&self.group, member)
    }

    /// Call `read` with every member and its spans, in the order that costs least.
    ///
    /// # Errors
    /// The first one of `read`, which then is not called again.
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

    /// The same for what cannot fail.
    pub fn each_member(&self, mut read: impl FnMut(u32, &[Span])) {
        let Ok(()) = self.try_each_member(|member, spans| {
            read(member, spans);
            Ok::<(), Infallible>(())
        });
    }

    /// The number of partitions of each member.
    #[must_use]
    pub fn counts(&self) -> Vec<i64> {
        match &self.answer {
            Answer::Layout(layout) => layout.counts(&self.group),
            _ => self.columns().counts(&self.group),
        }
    }

    /// How many partitions all members have.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.counts().iter().sum()
    }

    /// The runs of a topic's partitions by id, each with the index of the member that has it.
    pub(crate) fn owners_of(&self, topic: u32) -> &[(Span, u32)] {
        self.owners.get_or_init(|| diff::Owners::of(self)).of_topic(topic)
    }

    /// Index of the member that has a partition, if anybody has.
    #[must_use]
    pub fn owner(&self, topic: u32, partition: i32) -> Option<u32> {
        self.owners.get_or_init(|| diff::Owners::of(self)).owner(topic, partition)
    }

    /// Whether both give every member the same; spans are as long as can be, so equal ones mean equal lists.
    #[must_use]
    pub fn same_as(&self, other: &Self, number_in_other: impl Fn(&str) -> Option<u32>) -> bool {
        let same_topic = |left: Span, right: Span| {
            self.topics().get(left.topic as usize) == other.topics().get(right.topic as usize)
                && (left.start, left.count) == (right.start, right.count)
        };
        self.members().len() == other.members().len()
            && self.members().iter().enumerate().all(|(member, name)| {
                number_in_other(name).is_some_and(|twin| {
                    let (mine, others) = (self.columns().spans_of(member), other.columns().spans_of(twin as usize));
                    mine.len() == others.len() && mine.zip(others).all(|(left, right)| same_topic(left, right))
                })
            })
    }
}

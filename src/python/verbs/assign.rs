//! The functions `assign` and `plan`: the same assignment as lists or as a `Plan`.

use pyo3::prelude::*;

use super::group::{solve, solve_and_prepare};
use super::options::{Engine, PreferRackAware, keywords, options};
use super::partition_lists::assignment;
use super::plan::mapping::PyPlan;
use super::topics::topics_of;
use crate::assign::{GroupProtocol, Options};
use crate::python::read;
use crate::python::read::group::GroupInput;
use crate::python::read::named_topics::NamedTopics;
use crate::python::read::topic_ids::TopicIds;

/// Return the partitions of each member of a group, as one of Kafka's assignors assigns them.
///
/// A group of the protocol `"classic"` has an assignor of kafka-clients: `"range"` (the default), `"roundrobin"`, `"sticky"`
/// or `"cooperative-sticky"`. A group of the protocol `"consumer"` (KIP-848) has an assignor of the broker: `"uniform"` (the
/// default) or `"range"`. A group of the protocol `"share"` (KIP-932) has the broker's assignor `"simple"`, which may give a
/// partition to several members.
///
/// The sticky assignors, `"uniform"` and `"simple"` start from what members own. `"cooperative-sticky"`, `"uniform"` and
/// `"simple"` read `Subscription.owned_partitions`. `"sticky"` reads `user_data`, as in Kafka; if that is None, it reads `owned_partitions`
/// and `generation`. An owned partition that does not exist is ignored, except by `"simple"`. The other
/// assignors do not read any of these.
///
/// Share groups can read only some partitions of a topic: give these as a list of ids. If members subscribe to different topics,
/// a member keeps what it owns of topics that no member subscribes to, or that do not exist, as in the broker.
///
/// `"cooperative-sticky"` withholds a partition that another member still owns: no member has it in the answer.
///
/// Args:
///     partitions_per_topic: Topic to a count n (ids 0 to n-1) or to an iterable of ids or `PartitionInfo`, in any order;
///         or `Topics`.
///     subscriptions: Member id to a `Subscription` or an iterable of topic names. Topics without partitions are skipped,
///         and duplicate names have no effect.
///     assignor: Kafka's name of the assignor; None selects the default of the protocol.
///     group_protocol: `"classic"`, `"consumer"` or `"share"`.
///     topic_ids: Topic to its id: a `uuid.UUID`, 16 bytes, or a string in Kafka's format or in that of `str(uuid.UUID)`.
///         The broker's assignors process topics in an order that depends on the ids. A topic without an id gets the
///         128-bit FNV-1a hash of its name in UTF-8. Ids of other topics have no effect.
///     prefer_rack_aware: Kafka's test flag: use racks even if every partition is on every rack.
///     engine: `"rust"`, or `"reference"` for the implementation in plain Python.
///
/// Returns:
///     A new dict of member id to a list of `TopicPartition`, with one entry per member.
///
/// Order: members as in `subscriptions`; in each list, topics in Java's `String` order (UTF-16 code units), then ids
/// ascending. Equal inputs give equal outputs. The order of `subscriptions` affects range and roundrobin only for members with
/// the same instance id. Sticky and uniform first process the partitions that members keep, member by member. The order of the
/// members is the iteration order of a `java.util.HashMap` whose keys are the member ids, filled in the order of `subscriptions`.
/// For the other partitions, uniform and simple use the same order of members, sticky the order of member ids.
///
/// Raises:
///     WrongTypeError: A value of the wrong type, such as a `str` in place of a list of topics; NullArgumentError for None.
///     IllegalArgumentError: An unknown assignor or protocol, a negative count, a duplicate partition id or topic id, a
///         name with a lone surrogate, a mapping that changes size while it is read, or more than 2**28 partitions for
///         any assignor except classic range. The message names the topic or member and the value.
///     IllegalStateError: Kafka's `"simple"` fails, because members own partitions that do not exist.
///     NotDeterminedError: The answer of Kafka's `"simple"` differs from process to process, because eight or more topic ids have
///         the same hash code.
///
/// Source: kafka-clients and kafka-group-coordinator 4.4.0. docs/assignors/ lists the differences from Kafka.
///
/// Example:
///     >>> assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})["C1"]
///     [TopicPartition(topic='t0', partition=2), TopicPartition(topic='t1', partition=2)]
///     >>> from assignor import Subscription, TopicPartition
///     >>> owner = Subscription(("t",), owned_partitions=(TopicPartition("t", 1),), generation=4)
///     >>> assign({"t": 2}, {"a": owner, "b": ["t"]}, assignor="sticky")["a"]
///     [TopicPartition(topic='t', partition=1)]
///     >>> assign({"t": 2}, {"a": owner, "b": ["t"]}, group_protocol="consumer")["a"]  # uniform
///     [TopicPartition(topic='t', partition=1)]
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "these are the arguments of the Python function")]
#[pyo3(
    signature = (
        partitions_per_topic, subscriptions, *, assignor = None, group_protocol = GroupProtocol::Classic, topic_ids = None,
        prefer_rack_aware = PreferRackAware(false), engine = Engine::Rust
    ),
    text_signature = "(partitions_per_topic, subscriptions, *, assignor=None, group_protocol='classic', topic_ids=None, \
                      prefer_rack_aware=False, engine='rust')"
)]
pub(crate) fn assign<'py>(
    py: Python<'py>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    assignor: Option<&Bound<'py, PyAny>>,
    group_protocol: GroupProtocol,
    topic_ids: Option<&Bound<'py, PyAny>>,
    prefer_rack_aware: PreferRackAware,
    engine: Engine,
) -> PyResult<Bound<'py, PyAny>> {
    let options = options(assignor, group_protocol, prefer_rack_aware)?;
    let topic_ids = topic_ids.map(TopicIds::read).transpose()?;
    if let Some(verb) = engine.other(py, "assign", "assign")? {
        return call(&verb, partitions_per_topic, subscriptions, options, topic_ids.as_ref());
    }
    let GroupInput { group, topics, members } =
        read::group::read(topics_of(partitions_per_topic)?, subscriptions, topic_ids.as_ref())?;
    let plan = solve_and_prepare(py, &group, options)?;
    Ok(assignment(py, &plan, &NamedTopics::of_plan(topics, &plan), &members)?.into_any())
}

/// Return the assignment of a group as a `Plan`, which builds the list of a member when it is read.
///
/// Arguments, errors and order are those of `assign`. A plan stores spans of consecutive ids, which need less memory than
/// lists. With `engine="reference"` the reference computes the assignment; the result is the same `Plan` class.
///
/// Example:
///     >>> found = plan({"t": 1_000_000}, {"a": ["t"], "b": ["t"]})
///     >>> found.counts().tolist(), found.owner("t", 999_999)
///     ([500000, 500000], 'b')
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "these are the arguments of the Python function")]
#[pyo3(
    signature = (
        partitions_per_topic, subscriptions, *, assignor = None, group_protocol = GroupProtocol::Classic, topic_ids = None,
        prefer_rack_aware = PreferRackAware(false), engine = Engine::Rust
    ),
    text_signature = "(partitions_per_topic, subscriptions, *, assignor=None, group_protocol='classic', topic_ids=None, \
                      prefer_rack_aware=False, engine='rust')"
)]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    assignor: Option<&Bound<'py, PyAny>>,
    group_protocol: GroupProtocol,
    topic_ids: Option<&Bound<'py, PyAny>>,
    prefer_rack_aware: PreferRackAware,
    engine: Engine,
) -> PyResult<PyPlan> {
    let options = options(assignor, group_protocol, prefer_rack_aware)?;
    let topic_ids = topic_ids.map(TopicIds::read).transpose()?;
    if let Some(verb) = engine.other(py, "plan", "plan")? {
        let parts = call(&verb, partitions_per_topic, subscriptions, options, topic_ids.as_ref())?;
        return PyPlan::restore(&parts, options.assignor);
    }
    let GroupInput { group, topics, members } =
        read::group::read(topics_of(partitions_per_topic)?, subscriptions, topic_ids.as_ref())?;
    Ok(PyPlan::new(solve(py, &group, options)?, options.assignor, topics, members.into()))
}

/// Call a function of the reference.
fn call<'py>(
    verb: &Bound<'py, PyAny>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    options: Options,
    topic_ids: Option<&TopicIds>,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = keywords(verb.py(), options)?;
    if let Some(topic_ids) = topic_ids {
        keywords.set_item("topic_ids", topic_ids.to_python(verb.py())?)?;
    }
    verb.call((partitions_per_topic, subscriptions), Some(&keywords))
}

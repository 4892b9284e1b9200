//! The verbs `assign` and `plan`: one question, answered as lists or as a `Plan`.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::group::solve;
use super::options::{Engine, PreferRackAware};
use super::partition_lists::assignment;
use super::plan::mapping::PyPlan;
use super::topics::topics_of;
use crate::python::read;
use crate::python::read::group::GroupInput;

/// Says who gets which partition, exactly as Kafka's RangeAssignor does, as lists.
///
/// Every topic is laid out on its own: its partitions by ascending id, its consumers with static members first (by instance
/// id), then dynamic ones (by member id). Each gets a range of `partitions // consumers`, the first few one more. Where
/// members and replicas have racks, and racks can make a difference, partitions go first to members on a rack of a replica
/// (KIP-881), without changing how many anybody gets by more than one.
///
/// Args:
///     partitions_per_topic: Topic to a count n (ids 0 to n-1) or to an iterable of ids or `PartitionInfo`, in any order;
///         or `Topics`.
///     subscriptions: Member id to a `Subscription` or an iterable of topic names. Topics without partitions are skipped;
///         a name given twice has no further effect.
///     prefer_rack_aware: Kafka's test flag: look at racks even where every partition is on every rack.
///     engine: `"rust"`, or `"reference"` for the same in plain Python.
///
/// Returns:
///     A new dict with one entry per member.
///
/// Order: members as in `subscriptions`; in a list topics in Java's `String` order (UTF-16 code units), ids ascending. Equal
/// inputs give equal outputs whatever the order of the mappings, but for members with the same instance id: there the
/// order given decides.
///
/// Raises:
///     WrongTypeError: A value of a wrong type, such as a `str` where a list of topics is meant; NullArgumentError for None.
///     IllegalArgumentError: A negative count, an id given twice, a name with a lone surrogate, a mapping that changes size
///         while it is read. The message names the topic or member and the value.
///
/// Source: RangeAssignor, kafka-clients 4.4.0; KIP-345, KIP-881. Where ids have holes, co-partitioned topics under rack logic
/// are solved by position, so that every partition is handed out once (docs/decisions.md).
///
/// Example:
///     >>> assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})["C1"]
///     [TopicPartition(topic='t0', partition=2), TopicPartition(topic='t1', partition=2)]
#[pyfunction]
#[pyo3(
    signature = (partitions_per_topic, subscriptions, *, prefer_rack_aware = PreferRackAware(false), engine = Engine::Rust),
    text_signature = "(partitions_per_topic, subscriptions, *, prefer_rack_aware=False, engine='rust')"
)]
pub(crate) fn assign<'py>(
    py: Python<'py>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    prefer_rack_aware: PreferRackAware,
    engine: Engine,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(verb) = engine.other(py, "assign", "assign")? {
        return call(&verb, partitions_per_topic, subscriptions, prefer_rack_aware.0);
    }
    let GroupInput { group, topics, members } = read::group::read(topics_of(partitions_per_topic)?, subscriptions)?;
    let plan = solve(py, &group, prefer_rack_aware.0);
    Ok(assignment(py, &plan, &topics, &members)?.into_any())
}

/// Says who gets which partition, as `assign` does, as a `Plan`: spans that become lists only when asked for.
///
/// Args, errors and order are those of `assign`. A plan of many partitions costs a fraction of their lists. With
/// `engine="reference"` the reference computes the assignment; the `Plan` that holds its spans is the same class.
///
/// Example:
///     >>> found = plan({"t": 1_000_000}, {"a": ["t"], "b": ["t"]})
///     >>> found.counts().tolist(), found.owner("t", 999_999)
///     ([500000, 500000], 'b')
#[pyfunction]
#[pyo3(
    signature = (partitions_per_topic, subscriptions, *, prefer_rack_aware = PreferRackAware(false), engine = Engine::Rust),
    text_signature = "(partitions_per_topic, subscriptions, *, prefer_rack_aware=False, engine='rust')"
)]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    prefer_rack_aware: PreferRackAware,
    engine: Engine,
) -> PyResult<PyPlan> {
    if let Some(verb) = engine.other(py, "plan", "plan")? {
        return PyPlan::restore(&call(&verb, partitions_per_topic, subscriptions, prefer_rack_aware.0)?);
    }
    let GroupInput { group, topics, members } = read::group::read(topics_of(partitions_per_topic)?, subscriptions)?;
    Ok(PyPlan::new(solve(py, &group, prefer_rack_aware.0), topics, members))
}

/// Call a verb of another engine.
fn call<'py>(
    verb: &Bound<'py, PyAny>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    prefer_rack_aware: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(verb.py());
    options.set_item("prefer_rack_aware", prefer_rack_aware)?;
    verb.call((partitions_per_topic, subscriptions), Some(&options))
}

//! `assign` and `plan` as Python sees them, and the lazy mapping that `plan` returns.

use std::sync::OnceLock;

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyKeyError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyIterator, PyList, PyMapping, PyString, PyTuple, PyType};
use rustc_hash::FxHashMap;

use super::engine::{Engine, PreferRackAware};
use super::error::wrong_type;
use super::read;
use crate::plan::{Plan, Span};
use crate::range;

/// Says who gets which partition, exactly as Kafka's RangeAssignor does, as lists.
///
/// Every topic is laid out on its own: its partitions by ascending id, its consumers with static members first (by instance
/// id), then dynamic ones (by member id). Each gets a range of `partitions // consumers`, the first few one more. Where
/// members and replicas have racks, and racks can make a difference, partitions go first to members on a rack of a replica
/// (KIP-881), without changing how many anybody gets by more than one.
///
/// Args:
///     partitions_per_topic: Topic to a count n (ids 0 to n-1) or to an iterable of ids or `PartitionInfo`, in any order.
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
pub(super) fn assign<'py>(
    py: Python<'py>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    prefer_rack_aware: PreferRackAware,
    engine: Engine,
) -> PyResult<Bound<'py, PyAny>> {
    match engine {
        Engine::Reference => reference(py, "assign", partitions_per_topic, subscriptions, prefer_rack_aware.0),
        Engine::Rust => {
            let group = read::group(partitions_per_topic, subscriptions)?;
            let plan = py.detach(|| range::assign(&group, prefer_rack_aware.0));
            let topics = plan.topics().iter().map(|topic| PyString::new(py, topic)).collect::<Vec<_>>();
            let _quiet = NoCollection::new(py)?;
            let assignment = PyDict::new(py);
            for (number, member) in plan.members().iter().enumerate() {
                let partitions = partition_list(py, plan.spans_of(number), |topic| topics[topic as usize].clone())?;
                assignment.set_item(member, partitions)?;
            }
            Ok(assignment.into_any())
        }
    }
}

/// Says who gets which partition, as `assign` does, as a `Plan`: spans that become lists only when asked for.
///
/// Args, errors and order are those of `assign`. A plan of many partitions costs a fraction of their lists.
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
pub(super) fn plan<'py>(
    py: Python<'py>,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    prefer_rack_aware: PreferRackAware,
    engine: Engine,
) -> PyResult<PyPlan> {
    match engine {
        Engine::Reference => {
            let answer = reference(py, "spans", partitions_per_topic, subscriptions, prefer_rack_aware.0)?;
            let (members, topics, rows): (_, _, Vec<(u32, u32, i32, i32)>) = answer.extract()?;
            let spans: Vec<Span> =
                rows.into_iter().map(|(member, topic, start, count)| Span { member, topic, start, count }).collect();
            Ok(PyPlan::new(Plan::new(members, topics, &spans)))
        }
        Engine::Rust => {
            let group = read::group(partitions_per_topic, subscriptions)?;
            Ok(PyPlan::new(py.detach(|| range::assign(&group, prefer_rack_aware.0))))
        }
    }
}

fn reference<'py>(
    py: Python<'py>,
    verb: &str,
    partitions_per_topic: &Bound<'py, PyAny>,
    subscriptions: &Bound<'py, PyAny>,
    prefer_rack_aware: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(py);
    options.set_item("prefer_rack_aware", prefer_rack_aware)?;
    py.import("assignor.reference.range")?.getattr(verb)?.call((partitions_per_topic, subscriptions), Some(&options))
}

/// A list of `TopicPartition` from spans; `topic` gives the name of a topic number as Python has it.
fn partition_list<'py>(
    py: Python<'py>,
    spans: &[Span],
    mut topic: impl FnMut(u32) -> Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyList>> {
    static TOPIC_PARTITION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static NEW_TUPLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = TOPIC_PARTITION.import(py, "assignor.model", "TopicPartition")?;
    // As a named tuple's own `_make` does it, which spares a call of Python code for each.
    let new_tuple =
        NEW_TUPLE.get_or_try_init(py, || Ok::<_, PyErr>(py.get_type::<PyTuple>().getattr("__new__")?.unbind()))?;
    let mut partitions = Vec::new();
    for span in spans {
        let topic = topic(span.topic);
        for offset in 0..span.count {
            partitions.push(new_tuple.bind(py).call1((class, (&topic, span.start + offset)))?);
        }
    }
    PyList::new(py, partitions)
}

/// Keeps Python from collecting garbage until dropped.
///
/// None can come of building tuples of a str and an int, but each of them counts towards the next collection, and the
/// collections would cost several times what the building does.
struct NoCollection<'py>(Option<Bound<'py, PyModule>>);

impl<'py> NoCollection<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        let gc = py.import("gc")?;
        let enabled = gc.call_method0("isenabled")?.is_truthy()?;
        if enabled {
            gc.call_method0("disable")?;
        }
        Ok(Self(enabled.then_some(gc)))
    }
}

impl Drop for NoCollection<'_> {
    fn drop(&mut self) {
        if let Some(gc) = &self.0 {
            // It cannot fail, and there is nobody to tell.
            let _ = gc.call_method0("enable");
        }
    }
}

/// An assignment: a read-only mapping of member ids to lists of `TopicPartition`, which are built when asked for.
///
/// It keeps spans, runs of consecutive ids, and so stays small where partitions are many. Each look-up builds a new list.
///
/// Order: members as in the subscriptions; in a list topics in Java's `String` order, ids ascending.
///
/// Example:
///     >>> found = plan({"t": 3}, {"a": ["t"], "b": ["t"]})
///     >>> found["b"]
///     [TopicPartition(topic='t', partition=2)]
#[pyclass(frozen, mapping, name = "Plan", module = "assignor")]
pub(super) struct PyPlan {
    plan: Plan,
    member_numbers: OnceLock<FxHashMap<String, u32>>,
    topic_numbers: OnceLock<FxHashMap<String, u32>>,
}

impl PyPlan {
    fn new(plan: Plan) -> Self {
        Self { plan, member_numbers: OnceLock::new(), topic_numbers: OnceLock::new() }
    }

    fn list<'py>(&self, py: Python<'py>, member: u32) -> PyResult<Bound<'py, PyList>> {
        let _quiet = NoCollection::new(py)?;
        let mut last: Option<(u32, Bound<'py, PyString>)> = None;
        partition_list(py, self.plan.spans_of(member as usize), |topic| match &last {
            Some((number, name)) if *number == topic => name.clone(),
            _ => {
                let name = PyString::new(py, &self.plan.topics()[topic as usize]);
                last = Some((topic, name.clone()));
                name
            }
        })
    }

    fn numbers(&self) -> &FxHashMap<String, u32> {
        self.member_numbers.get_or_init(|| numbered(self.plan.members()))
    }

    /// Whether both give every member the same; spans are as long as can be, so equal ones mean equal lists.
    fn equals(&self, other: &Self) -> bool {
        let spans = |plan: &'_ Plan, member: u32| {
            let named = plan.spans_of(member as usize).iter();
            named.map(|span| (plan.topics()[span.topic as usize].clone(), span.start, span.count)).collect::<Vec<_>>()
        };
        self.plan.members().len() == other.plan.members().len()
            && self.numbers().iter().all(|(name, member)| {
                other.numbers().get(name).is_some_and(|twin| spans(&self.plan, *member) == spans(&other.plan, *twin))
            })
    }

    fn member(&self, member: &Bound<'_, PyAny>) -> Option<u32> {
        let name = member.cast::<PyString>().ok()?.to_cow().ok()?;
        self.numbers().get(&*name).copied()
    }

    fn column<'py>(&self, py: Python<'py>, value: impl Fn(&Span) -> i32) -> Bound<'py, PyArray1<i32>> {
        self.plan.spans().iter().map(value).collect::<Vec<_>>().into_pyarray(py)
    }
}

fn numbered(names: &[String]) -> FxHashMap<String, u32> {
    names.iter().enumerate().map(|(number, name)| (name.clone(), number as u32)).collect()
}

/// A view of a mapping from `collections.abc`.
fn view<'py>(plan: &Bound<'py, PyPlan>, class: &str) -> PyResult<Bound<'py, PyAny>> {
    plan.py().import("collections.abc")?.getattr(class)?.call1((plan,))
}

#[pymethods]
impl PyPlan {
    /// The member ids, in the order of the subscriptions.
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.plan.members())
    }

    /// All topics of the input, in Java's order.
    #[getter]
    fn topics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.plan.topics())
    }

    /// The spans as four int32 columns: indices into `members` and `topics`, first id, number of ids.
    ///
    /// Order: by member, then topic, then id.
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static SPANS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let columns = (
            self.column(py, |span| span.member as i32),
            self.column(py, |span| span.topic as i32),
            self.column(py, |span| span.start),
            self.column(py, |span| span.count),
        );
        SPANS.import(py, "assignor.model", "Spans")?.call1(columns)
    }

    /// How many partitions each member has, as int64, in the order of `members`.
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let counts: Vec<i64> = (0..self.plan.members().len()).map(|member| self.plan.count(member)).collect();
        counts.into_pyarray(py)
    }

    /// The partitions of one member, as a new list.
    ///
    /// Raises:
    ///     KeyError: The group has no such member.
    fn partitions<'py>(&self, py: Python<'py>, member: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        match self.member(member) {
            Some(number) => self.list(py, number),
            None => Err(PyKeyError::new_err((member.clone().unbind(),))),
        }
    }

    /// The member that has a partition; None if nobody has it.
    fn owner<'py>(
        &self,
        topic: &Bound<'py, PyAny>,
        partition: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let py = topic.py();
        let topic = topic.cast::<PyString>().map_err(|_| wrong_type("topic", "a str", topic))?;
        if !read::is_int(partition)? {
            return Err(wrong_type("partition", "an int", partition));
        }
        let partition = match partition.extract::<i32>() {
            Ok(partition) => partition,
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Ok(topic) = topic.to_cow() else { return Ok(None) };
        let numbers = self.topic_numbers.get_or_init(|| numbered(self.plan.topics()));
        let owner = numbers.get(&*topic).and_then(|topic| self.plan.owner(*topic, partition));
        Ok(owner.map(|owner| PyString::new(py, &self.plan.members()[owner as usize])))
    }

    /// The partitions of one member, or `default` if the group has no such member.
    #[pyo3(signature = (member, default = None, /))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        member: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.member(member) {
            Some(number) => Ok(Some(self.list(py, number)?.into_any())),
            None => Ok(default),
        }
    }

    /// The member ids.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "KeysView")
    }

    /// Pairs of member id and partitions.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "ItemsView")
    }

    /// The partitions of each member.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "ValuesView")
    }

    fn __getitem__<'py>(&self, py: Python<'py>, member: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.partitions(py, member)
    }

    fn __contains__(&self, member: &Bound<'_, PyAny>) -> bool {
        self.member(member).is_some()
    }

    fn __len__(&self) -> usize {
        self.plan.members().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.members(py)?.try_iter()
    }

    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let equal = if let Ok(other) = other.cast::<Self>() {
            slf.get().equals(other.get())
        } else if let Ok(other) = other.cast::<PyMapping>() {
            let _quiet = NoCollection::new(py)?;
            let (left, right) = (PyDict::new(py), PyDict::new(py));
            left.update(slf.cast::<PyMapping>()?)?;
            right.update(other)?;
            left.eq(right)?
        } else {
            return Ok(py.NotImplemented());
        };
        Ok(PyBool::new(py, equal).to_owned().into_any().unbind())
    }

    fn __repr__(&self) -> String {
        let partitions: i64 = (0..self.plan.members().len()).map(|member| self.plan.count(member)).sum();
        format!(
            "<Plan: {} members, {} topics, {partitions} partitions in {} spans>",
            self.plan.members().len(),
            self.plan.topics().len(),
            self.plan.spans().len()
        )
    }
}

/// Makes `Plan` a `collections.abc.Mapping` to `isinstance` and to pattern matching.
pub(super) fn register(py: Python<'_>) -> PyResult<()> {
    PyMapping::register::<PyPlan>(py)
}

//! What else a plan is asked for: columns, differences, balance, bytes, sizes, and itself as text.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use pyo3::exceptions::{PyImportError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyInt, PyMapping, PyString, PyTuple, PyType};
use pyo3_arrow::{PyRecordBatch, PyTable};
use rustc_hash::FxHashMap;

use super::error::{IllegalArgumentError, MissingDependencyError, shown, wrong_type};
use super::fast::{COLUMNS, arrow_column, numpy_column};
use super::lists::Lists;
use super::plan::PyPlan;
use super::read::{Input, is_int, restored};
use crate::assign::Assignor;
use crate::group::{Names, java_order};
use crate::plan::{Client, Encoder, Gained, Plan, Span};
use crate::wire::encoding_version;

/// Members and topics named in the columns of `Plan.to_arrow`, in the order of their columns.
const NAMED: [&str; 2] = ["member_id", "topic"];

#[pymethods]
impl PyPlan {
    /// The spans as four int32 columns: indices into `members` and `topics`, first id, number of ids.
    ///
    /// The arrays are views of the plan's own memory, read-only, and nothing is copied.
    ///
    /// Order: by member, then topic, then id.
    fn spans<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static SPANS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let columns = COLUMNS.map(|column| numpy_column(slf, column));
        SPANS.import(slf.py(), "assignor.model", "Spans")?.call1(PyTuple::new(slf.py(), columns)?)
    }

    /// The spans as a `pyarrow.Table` with the columns member_id and topic (text by dictionary), start and count (int32).
    ///
    /// What reads Arrow takes the plan itself as well, pyarrow or not: `polars.from_dataframe(plan)`, `duckdb.sql("FROM plan")`
    /// (but `polars.DataFrame(plan)` looks at it as the mapping of member ids that it is, too).
    ///
    /// Order: by member, then topic, then id.
    ///
    /// Raises:
    ///     MissingDependencyError: pyarrow is not installed.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.table()?.into_pyarrow(py).map_err(|error| {
            if !error.is_instance_of::<PyImportError>(py) {
                return error;
            }
            MissingDependencyError::new_err(
                "Plan.to_arrow() needs pyarrow: pip install pyarrow; without it hand the plan itself to what reads Arrow",
            )
        })
    }

    /// The spans as an Arrow stream, with the columns of `to_arrow` (the Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.table()?)?.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    /// The spans as an Arrow array of structs, with the columns of `to_arrow` (the Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, PyRecordBatch::new(self.batch()?))?.call_method1("__arrow_c_array__", (requested_schema,))
    }

    /// The schema of the columns of `to_arrow` (the Arrow PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.table()?)?.call_method0("__arrow_c_schema__")
    }

    /// Says what changes from this plan to a later one.
    ///
    /// Members and topics of the two are the same if their names are; either may have some that the other has not.
    ///
    /// Args:
    ///     other: The later plan.
    ///
    /// Returns:
    ///     A `Diff`: `added` and `revoked` map each member with a change to its partitions; `moved` counts the partitions
    ///     that have an owner in both plans, and not the same.
    ///
    /// Order: members as in the plan that has them; partitions by topic in Java's order, then id.
    ///
    /// Example:
    ///     >>> two, three = (plan({"t": 3}, dict.fromkeys(names, ["t"])) for names in ("ab", "abc"))
    ///     >>> two.diff(three).moved, two.diff(three).revoked
    ///     (2, {'a': [TopicPartition(topic='t', partition=1)], 'b': [TopicPartition(topic='t', partition=2)]})
    fn diff<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        static DIFF: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let Ok(later) = other.cast::<Self>() else {
            return Err(wrong_type("other", "a Plan", other));
        };
        let later = later.get();
        let found = py.detach(|| self.plan.diff(&later.plan));
        let (added, revoked) = (later.named(py, &found.added)?, self.named(py, &found.revoked)?);
        DIFF.import(py, "assignor.model", "Diff")?.call1((added, revoked, found.moved))
    }

    /// Says how evenly this plan shares.
    ///
    /// Returns:
    ///     A `Balance`: `min`, `max` and `mean` of the partitions that a member has; `idle`, the members without any, in order;
    ///     `spread`, topic to the difference between the most and the fewest partitions that one of its consumers has of it.
    ///
    /// Example:
    ///     >>> plan({"t": 3, "u": 1}, {"a": ["t", "u"], "b": ["t", "u"], "c": []}).balance()
    ///     Balance(min=0, max=3, mean=1.3333333333333333, idle=('c',), spread={'t': 1, 'u': 1})
    fn balance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static BALANCE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let found = py.detach(|| self.plan.balance());
        let idle = PyTuple::new(py, found.idle.iter().map(|member| &self.ids(py)[*member as usize]))?;
        let spread = PyDict::new(py);
        for (topic, difference) in self.topics.objects(py).iter().zip(found.spread) {
            spread.set_item(topic, difference)?;
        }
        BALANCE.import(py, "assignor.model", "Balance")?.call1((found.min, found.max, found.mean, idle, spread))
    }

    /// Writes every member's assignment as `ConsumerProtocol` bytes, straight from spans.
    ///
    /// Args:
    ///     version: Of the header, 0 to 3; a higher one is written as 3. The body is the same in all of them.
    ///
    /// Returns:
    ///     A new dict of member id to bytes, with null user data; `assignor.wire.decode_assignment` reads them.
    ///
    /// Raises:
    ///     WireError: A negative version, or the name of a topic that is longer than 32,767 bytes.
    ///     WrongTypeError: The version is no int.
    ///
    /// Example:
    ///     >>> plan({"t": 1}, {"a": ["t"]}).encode(0)["a"].hex()
    ///     '0000000000010001740000000100000000ffffffff'
    #[pyo3(signature = (version = Version(3)), text_signature = "($self, version=3)")]
    fn encode<'py>(&self, py: Python<'py>, version: Version) -> PyResult<Bound<'py, PyDict>> {
        let encoder = Encoder::new(&self.plan, version.0)?;
        let mut of_members: Vec<Option<Bound<'py, PyBytes>>> = Vec::new();
        of_members.resize_with(self.plan.members().len(), || None);
        self.plan.try_each_member(|member, spans| {
            let bytes = PyBytes::new_with(py, encoder.length(spans), |buffer| {
                encoder.write(spans, buffer);
                Ok(())
            });
            of_members[member as usize] = Some(bytes?);
            Ok::<(), PyErr>(())
        })?;
        let found = PyDict::new(py);
        for (member, bytes) in self.ids(py).iter().zip(of_members) {
            found.set_item(member, bytes)?;
        }
        Ok(found)
    }

    /// Says how many bytes key and value of the group's record in `__consumer_offsets` take (`GROUP_METADATA`, version 3).
    ///
    /// A coordinator writes all members into one record, and a group whose record is longer than the topic's
    /// `max.message.bytes` (1 MiB unless changed) cannot complete a rebalance.
    ///
    /// Args:
    ///     group_id: The group.
    ///     leader: Member id of the leader; None leaves it out.
    ///     clients: Member id to (client id, client host) as the coordinator knows them; what is not given counts as empty.
    ///     versions: Version of the members' `ConsumerProtocol` bytes: an int for all, or member id to int (3 if not given).
    ///
    /// Raises:
    ///     WrongTypeError: A value of a wrong type; the message names it.
    ///     WireError: A negative version.
    ///
    /// Example:
    ///     >>> plan({"t": 3}, {"a": ["t"]}).group_metadata_size("g", leader="a", clients={"a": ("app", "/10.0.0.1")})
    ///     132
    #[pyo3(
        signature = (group_id, *, leader = None, clients = None, versions = Versions::All(3)),
        text_signature = "($self, group_id, *, leader=None, clients=None, versions=3)"
    )]
    fn group_metadata_size(
        &self,
        group_id: &Bound<'_, PyAny>,
        leader: Option<&Bound<'_, PyAny>>,
        clients: Option<&Bound<'_, PyAny>>,
        versions: Versions,
    ) -> PyResult<usize> {
        let group_id = name(group_id, "group_id")?;
        let leader = leader.map(|leader| name(leader, "leader")).transpose()?;
        let mut known: FxHashMap<String, Client> = FxHashMap::default();
        if let Some(clients) = clients {
            for (member, client) in entries(clients, "clients", "a mapping by member id")? {
                let what = format!("clients['{member}']");
                let Ok((id, host)) = client.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                    return Err(wrong_type(&what, "a pair of client id and client host", &client));
                };
                known.insert(member, Client { id: name(&id, &what)?.len(), host: name(&host, &what)?.len() });
            }
        }
        Ok(self.plan.group_metadata_size(
            &group_id,
            Assignor::default().name(),
            leader.as_deref(),
            |member| known.get(member).copied().unwrap_or_default(),
            |member| versions.of(member),
        ))
    }

    /// This plan as text: one JSON object that `Plan.from_json` reads.
    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("assignor.plan_json")?.getattr("dumps")?.call1((self.parts(py)?,))
    }

    /// Reads what `to_json` wrote.
    ///
    /// Args:
    ///     text: The JSON object, as str or bytes.
    ///
    /// Raises:
    ///     IllegalArgumentError: The text is no JSON, or not that of a plan; the message says where.
    ///
    /// Example:
    ///     >>> found = plan({"t": 3}, {"a": ["t"]})
    ///     >>> Plan.from_json(found.to_json()) == found
    ///     True
    #[staticmethod]
    fn from_json(text: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::restore(&text.py().import("assignor.plan_json")?.getattr("loads")?.call1((text,))?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().to_json(slf.py())?,)))
    }
}

impl PyPlan {
    /// What this plan is made of: topics, distinct subscriptions, members, spans; see `assignor.plan_json`.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let group = self.plan.group();
        let classes = 0..group.subscriptions().len() as u32;
        let sorted = |class| {
            let mut names: Vec<&str> = group.names_of(class).collect();
            names.sort_by(|left, right| java_order(left, right)); // absent ones come last, in the order they were met
            names
        };
        let subscriptions: Vec<Vec<&str>> = classes.map(sorted).collect();
        let member = |(number, id)| {
            let extra = group.extra(number);
            (
                id,
                group.subscription_of(number),
                group.instance_id(number),
                extra.user_data,
                extra.owned_partitions,
                extra.rack,
            )
        };
        let members: Vec<_> = group.members().iter().enumerate().map(member).collect();
        let columns = COLUMNS.map(|column| column(self.plan.columns()));
        (group.topics().names().iter().collect::<Vec<_>>(), subscriptions, members, columns).into_pyobject(py)
    }

    /// A plan from what it is made of.
    pub(super) fn restore(parts: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (input, [member, topic, start, count]): (Input, [Vec<i32>; 4]) = restored(parts)?;
        if [&topic, &start, &count].iter().any(|column| column.len() != member.len()) {
            return Err(IllegalArgumentError::new_err("the columns of spans differ in length"));
        }
        let spans = (0..member.len())
            .map(|row| (member[row] as u32, Span { topic: topic[row] as u32, start: start[row], count: count[row] }));
        let plan =
            Plan::from_spans(input.group, spans).map_err(|error| IllegalArgumentError::new_err(error.to_string()))?;
        Ok(Self::new(plan, input.topics, input.members))
    }

    fn table(&self) -> PyResult<PyTable> {
        let batch = self.batch()?;
        let schema = batch.schema();
        PyTable::try_new(vec![batch], schema)
    }

    fn batch(&self) -> PyResult<RecordBatch> {
        let wrong = |error: arrow_schema::ArrowError| PyValueError::new_err(error.to_string());
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        for ((name, column), names) in NAMED.iter().zip(COLUMNS).zip([self.plan.members(), self.plan.topics()]) {
            let numbers = Int32Array::new(arrow_column(&self.plan, column), None);
            let column = DictionaryArray::<Int32Type>::try_new(numbers, Arc::new(texts(names)?)).map_err(wrong)?;
            columns.push((name, Arc::new(column)));
        }
        for (name, column) in ["start", "count"].iter().zip(&COLUMNS[2..]) {
            columns.push((name, Arc::new(Int32Array::new(arrow_column(&self.plan, *column), None))));
        }
        let fields: Vec<Field> =
            columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), false)).collect();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(wrong)
    }

    /// What members gain, as lists by member id.
    fn named<'py>(&self, py: Python<'py>, gained: &[Gained]) -> PyResult<Bound<'py, PyDict>> {
        let mut lists = Lists::new(py, &self.topics)?;
        let found = PyDict::new(py);
        for Gained { member, spans } in gained {
            found.set_item(&self.ids(py)[*member as usize], lists.list(spans)?)?;
        }
        Ok(found)
    }
}

fn texts(names: &Names) -> PyResult<StringArray> {
    if i32::try_from(names.total_bytes()).is_err() {
        return Err(IllegalArgumentError::new_err("the names pass 2 GiB, which an Arrow text column cannot hold"));
    }
    Ok(StringArray::from_iter_values(names.iter()))
}

fn name(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    let Ok(text) = value.cast::<PyString>() else { return Err(wrong_type(what, "a str", value)) };
    let text = text.to_cow().map_err(|_| {
        IllegalArgumentError::new_err(format!(
            "{what} has a lone surrogate, which UTF-8 cannot carry: {}",
            shown(value)
        ))
    })?;
    Ok(text.into_owned())
}

fn read_version(value: &Bound<'_, PyAny>, what: &str) -> PyResult<i16> {
    if !is_int(value)? {
        return Err(wrong_type(what, "an int", value));
    }
    let number = if value.is_instance_of::<PyInt>() { value.clone() } else { value.call_method0("__index__")? };
    // Beyond int16 there is nothing but newer versions, and negative ones.
    Ok(number.extract::<i16>().unwrap_or(if number.lt(0)? { -1 } else { i16::MAX }))
}

/// The version to write, that of `encode`.
struct Version(i16);

impl FromPyObject<'_, '_> for Version {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        Ok(Self(read_version(&value, "version")?))
    }
}

/// The versions of members' bytes.
enum Versions {
    All(i16),
    Of(FxHashMap<String, i16>),
}

impl Versions {
    fn of(&self, member: &str) -> i16 {
        match self {
            Self::All(version) => *version,
            Self::Of(versions) => versions.get(member).copied().unwrap_or(3),
        }
    }
}

impl FromPyObject<'_, '_> for Versions {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if is_int(&value)? {
            return Ok(Self::All(encoding_version(read_version(&value, "versions")?)?));
        }
        let mut found = FxHashMap::default();
        for (member, version) in entries(&value, "versions", "an int or a mapping by member id")? {
            let version = read_version(&version, &format!("versions['{member}']"))?;
            found.insert(member, encoding_version(version)?);
        }
        Ok(Self::Of(found))
    }
}

/// The entries of a mapping by member id.
fn entries<'py>(given: &Bound<'py, PyAny>, what: &str, wanted: &str) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let Ok(mapping) = given.cast::<PyMapping>() else { return Err(wrong_type(what, wanted, given)) };
    let mut found = Vec::new();
    for item in mapping.items()? {
        let (member, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item.extract()?;
        found.push((name(&member, &format!("a member id in {what}"))?, value));
    }
    Ok(found)
}

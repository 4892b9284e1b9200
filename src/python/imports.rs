//! Python names that Rust imports. Each is imported at its first use and cached.

use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::type_object::PyTypeCheck;
use pyo3::types::PyType;

import_exception!(assignor.errors, AssignorError);
import_exception!(assignor.errors, IllegalArgumentError);
import_exception!(assignor.errors, IllegalStateError);
import_exception!(assignor.errors, InvalidPatternError);
import_exception!(assignor.errors, NotDeterminedError);
import_exception!(assignor.errors, NullArgumentError);
import_exception!(assignor.errors, OutOfMemoryError);
import_exception!(assignor.errors, SnapshotError);
import_exception!(assignor.errors, UnsupportedPatternError);
import_exception!(assignor.errors, WireError);
import_exception!(assignor.errors, WrongTypeError);

pub(crate) static REQUIRE: Import = Import::new("assignor.dependencies", "require");

pub(crate) static SUBSCRIPTION: Import<PyType> = Import::new("assignor.model", "Subscription");

pub(crate) static BALANCE: Import<PyType> = Import::new("assignor.tuples", "Balance");
pub(crate) static DIFF: Import<PyType> = Import::new("assignor.tuples", "Diff");
pub(crate) static PARTITION_INFO: Import<PyType> = Import::new("assignor.tuples", "PartitionInfo");
pub(crate) static SEGMENT_END: Import<PyType> = Import::new("assignor.tuples", "SegmentEnd");
pub(crate) static SPANS: Import<PyType> = Import::new("assignor.tuples", "Spans");
pub(crate) static TOPIC_PARTITION: Import<PyType> = Import::new("assignor.tuples", "TopicPartition");
pub(crate) static WEIGHTED_BALANCE: Import<PyType> = Import::new("assignor.tuples", "WeightedBalance");

pub(crate) static WEIGHT_COLUMNS: Import = Import::new("assignor.weights", "weight_columns");

pub(crate) static MEMBER_COLUMNS: Import<PyType> = Import::new("assignor.columns", "MemberColumns");
pub(crate) static TOPIC_COLUMNS: Import<PyType> = Import::new("assignor.columns", "TopicColumns");

pub(crate) static PLAN_HTML: Import = Import::new("assignor.display", "plan_html");

pub(crate) static PLAN_FROM_JSON: Import = Import::new("assignor.plan_json", "loads");
pub(crate) static PLAN_TO_JSON: Import = Import::new("assignor.plan_json", "dumps");

pub(crate) static READ_PARTITIONS: Import = Import::new("assignor.validation", "read_partitions");
pub(crate) static REFERENCE_VERB: Import = Import::new("assignor._engine", "reference_verb");

pub(crate) static ITEMS_VIEW: Import<PyType> = Import::new("collections.abc", "ItemsView");
pub(crate) static KEYS_VIEW: Import<PyType> = Import::new("collections.abc", "KeysView");
pub(crate) static VALUES_VIEW: Import<PyType> = Import::new("collections.abc", "ValuesView");

pub(crate) static MEMBER_DESCRIPTOR: Import<PyType> = Import::new("types", "MemberDescriptorType");

pub(crate) static UUID: Import<PyType> = Import::new("uuid", "UUID");

pub(crate) static AS_CONTIGUOUS_ARRAY: Import = Import::new("numpy", "ascontiguousarray");
pub(crate) static INDEX: Import = Import::new("operator", "index");

/// Return pyarrow's function `table`. It is not cached, because pyarrow is optional.
///
/// Error: MissingDependencyError, if pyarrow is missing, too old or cannot be imported.
pub(crate) fn pyarrow_table(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    REQUIRE.get(py)?.call1(("pyarrow",))?;
    py.import("pyarrow")?.getattr("table")
}

/// An attribute of a Python module.
pub(crate) struct Import<T = PyAny> {
    module: &'static str,
    name: &'static str,
    object: PyOnceLock<Py<T>>,
}

impl<T: PyTypeCheck> Import<T> {
    const fn new(module: &'static str, name: &'static str) -> Self {
        Self { module, name, object: PyOnceLock::new() }
    }

    /// Return the object; the first call imports it.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, T>> {
        self.object.import(py, self.module, self.name)
    }
}

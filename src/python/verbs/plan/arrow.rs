//! Spans of a plan as columns: numpy arrays, a pyarrow table, and the Arrow PyCapsule interface.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::mapping::{PyPlan, SPAN_COLUMNS};
use crate::group::Names;
use crate::python::imports::{IllegalArgumentError, SPANS, pyarrow_table};
use crate::python::objects::arrow_capsules::{ArrowArray, schema_capsule, stream_capsule};
use crate::python::objects::borrowed_columns::{arrow_column, numpy_column};

/// Columns of `Plan.to_arrow` that contain names, in order.
const NAMED: [&str; 2] = ["member_id", "topic"];

#[pymethods]
impl PyPlan {
    /// Return the spans as four int32 columns: indices into `members` and `topics`, first id, number of ids.
    ///
    /// The arrays are read-only views of the plan's memory.
    ///
    /// Order: by member, then topic, then id.
    fn spans<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().with_columns()?;
        let columns = SPAN_COLUMNS.into_iter().map(|column| numpy_column(slf, |plan| column(&plan.plan)));
        SPANS.get(slf.py())?.call1(PyTuple::new(slf.py(), columns.collect::<PyResult<Vec<_>>>()?)?)
    }

    /// Return the spans as a `pyarrow.Table` with the columns member_id and topic (dictionary-encoded text), start and count
    /// (int32).
    ///
    /// Libraries that read Arrow accept the plan itself, without pyarrow: `polars.from_dataframe(plan)`, `duckdb.sql("FROM
    /// plan")`. `polars.DataFrame(plan)` reads it as a mapping instead.
    ///
    /// Order: by member, then topic, then id.
    ///
    /// Raises:
    ///     MissingDependencyError: pyarrow is missing, too old or cannot be imported.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        pyarrow_table(slf.py())?.call1((slf,))
    }

    /// Return the spans as an Arrow stream with the columns of `to_arrow` (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        stream_capsule(py, self.batch()?)
    }

    /// Return the spans as an Arrow array of structs with the columns of `to_arrow` (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        ArrowArray::from(self.batch()?).__arrow_c_array__(py, requested_schema)
    }

    /// Return the schema of the columns of `to_arrow` (Arrow PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch()?.schema())
    }
}

impl PyPlan {
    fn batch(&self) -> PyResult<RecordBatch> {
        let plan = self.with_columns()?;
        let wrong = |error: arrow_schema::ArrowError| IllegalArgumentError::new_err(error.to_string());
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        for ((name, column), names) in NAMED.iter().zip(SPAN_COLUMNS).zip([plan.members(), plan.topics()]) {
            let numbers = Int32Array::new(arrow_column(plan, column), None);
            let column = DictionaryArray::<Int32Type>::try_new(numbers, Arc::new(texts(names)?)).map_err(wrong)?;
            columns.push((name, Arc::new(column)));
        }
        for (name, column) in ["start", "count"].iter().zip(&SPAN_COLUMNS[2..]) {
            columns.push((name, Arc::new(Int32Array::new(arrow_column(plan, *column), None))));
        }
        let fields: Vec<Field> =
            columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), false)).collect();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(wrong)
    }
}

fn texts(names: &Names) -> PyResult<StringArray> {
    if i32::try_from(names.total_bytes()).is_err() {
        return Err(IllegalArgumentError::new_err(
            "names of members or topics exceed the 2 GiB of an Arrow text column",
        ));
    }
    Ok(StringArray::from_iter_values(names.iter()))
}

//! The class `SegmentReader`: the records of a log segment as Arrow columns.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Int16Array, Int32Array, Int64Array, RecordBatch};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PyTuple};

use crate::python::error::{is_failed_conversion, wrong_type};
use crate::python::imports::{IllegalArgumentError, IllegalStateError, SEGMENT_END};
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::segments::{ColumnsFull, Records, SegmentReader, Values};

/// Reader of the bytes of one segment.
#[pyclass(frozen, name = "SegmentReader", module = "assignor._core")]
pub(crate) struct PySegmentReader(Mutex<State>);

#[derive(Default)]
struct State {
    reader: SegmentReader,
    is_finished: bool,
}

#[pymethods]
impl PySegmentReader {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(State::default()))
    }

    /// Read the next bytes of the file, and return the records of the batches that are complete.
    fn push(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<ArrowArray> {
        let data = bytes_of(data)?;
        let piece = data.as_bytes();
        let records = py.detach(|| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.is_finished {
                return Err(None);
            }
            let mut records = Records::default();
            state.reader.push(piece, &mut records).map(|()| record_batch(records)).map_err(Some)
        });
        match records {
            Ok(batch) => Ok(batch.map_err(|error| IllegalArgumentError::new_err(error.to_string()))?.into()),
            Err(None) => Err(IllegalStateError::new_err("finish() was called: a reader reads one file")),
            Err(Some(ColumnsFull(limit))) => {
                let size = piece.len();
                let reason = format!("the records of {size} bytes have more than {limit} bytes of keys or values");
                Err(IllegalArgumentError::new_err(format!("{reason}: push fewer bytes per call")))
            }
        }
    }

    /// End the file, and return its summary.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let end = py.detach(|| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.is_finished = true;
            state.reader.end()
        });
        let damage = PyTuple::new(py, end.damage.into_iter().map(|found| (found.position, found.reason)))?;
        let counts = (end.batches, end.records, end.end_offset, end.read_bytes);
        let (batches, records, end_offset, read_bytes) = counts;
        let fields = (batches, records, end_offset, read_bytes, damage, end.tail.as_str(), end.tail_bytes);
        SEGMENT_END.get(py)?.call1(fields)
    }
}

/// Return the contents of a bytes-like object. They are copied unless the object is immutable, because another thread may change
/// them while they are read.
fn bytes_of<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let copied = PyMemoryView::from(data).and_then(|view| view.call_method0("tobytes"));
    let copied = copied.map_err(|error| {
        if is_failed_conversion(data.py(), &error) { wrong_type("data", "a bytes-like object", data) } else { error }
    })?;
    Ok(copied.cast_into::<PyBytes>()?)
}

fn record_batch(records: Records) -> Result<RecordBatch, ArrowError> {
    let columns: [(&str, ArrayRef, bool); 8] = [
        ("offset", Arc::new(Int64Array::from(records.offset)), false),
        ("timestamp", Arc::new(Int64Array::from(records.timestamp)), false),
        ("key", Arc::new(binary(records.key)?), true),
        ("value", Arc::new(binary(records.value)?), true),
        ("leader_epoch", Arc::new(Int32Array::from(records.leader_epoch)), false),
        ("producer_id", Arc::new(Int64Array::from(records.producer_id)), false),
        ("is_transactional", Arc::new(BooleanArray::from(records.is_transactional)), false),
        ("control", Arc::new(Int16Array::from(records.control)), true),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array, is_nullable)| Field::new(*name, DataType::clone(array.data_type()), *is_nullable))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.map(|(_, array, _)| array).to_vec())
}

/// Return a column of bytes, without a copy of them.
fn binary(values: Values) -> Result<BinaryArray, ArrowError> {
    let ends = OffsetBuffer::new(ScalarBuffer::from(values.ends));
    let is_present = Some(NullBuffer::from(values.is_present)).filter(|nulls| nulls.null_count() > 0);
    BinaryArray::try_new(ends, Buffer::from_vec(values.data), is_present)
}

//! Functions on columns of `__consumer_offsets` records: decode them, and find their groups.

use pyo3::prelude::*;

use super::decoded_columns::{DecodedColumns, too_many_records};
use super::table::{Column, ColumnFull, LARGEST_OFFSET, Type};
use crate::offsets::{self, DecodedRecord};
use crate::python::imports::IllegalArgumentError;
use crate::python::objects::arrow_capsules::ArrowArray;
use crate::python::read::binary_column::BinaryColumn;

/// Decode records from two binary columns into the columns of [`DecodedColumns`].
#[pyfunction]
pub(crate) fn decode_batch(py: Python<'_>, keys: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<ArrowArray> {
    let (keys, values) = (BinaryColumn::read("keys", keys)?, BinaryColumn::read("values", values)?);
    let rows = keys.len();
    if rows != values.len() {
        let message = format!("keys has {rows} rows, and values has {}: their lengths must be equal", values.len());
        return Err(IllegalArgumentError::new_err(message));
    }
    let columns = py.detach(|| {
        let mut columns = DecodedColumns::new();
        for row in 0..rows {
            let (key, value) = (keys.get(row), values.get(row));
            columns.push(key, value, &offsets::decode_record(key, value))?;
        }
        Ok(columns)
    });
    let columns = columns.map_err(|full| too_many_records(&full, rows))?;
    Ok(columns.finish()?.into())
}

/// Return the group id of each record key; null if a key has no group id or is malformed.
#[pyfunction]
pub(crate) fn record_groups(py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<ArrowArray> {
    let keys = BinaryColumn::read("keys", keys)?;
    let groups = py.detach(|| {
        let mut groups = Column::new("group_id", Type::Text, LARGEST_OFFSET);
        for row in 0..keys.len() {
            groups.add(offsets::decode_key(keys.get(row)).ok().as_ref().and_then(DecodedRecord::group))?;
        }
        Ok(groups)
    });
    let groups = groups.map_err(|full: ColumnFull| too_many_records(&full, keys.len()))?;
    Ok(ArrowArray::new(groups.finish()))
}

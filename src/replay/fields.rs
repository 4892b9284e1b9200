//! Fields of a decoded record, with the defaults that replay uses for a field that a version lacks.

use std::borrow::Cow;

use crate::bytes::Int32s;
use crate::offsets::FieldValue;

/// Return a text field; empty if it is missing or null.
pub(super) fn text(value: FieldValue<'_>, field: &str) -> String {
    optional_text(value, field).unwrap_or_default()
}

/// Return a nullable text field.
pub(super) fn optional_text(value: FieldValue<'_>, field: &str) -> Option<String> {
    value.get(field).and_then(FieldValue::as_text).map(Cow::into_owned)
}

/// Return the texts of a list; empty if it is missing.
pub(super) fn texts(value: FieldValue<'_>, field: &str) -> Vec<String> {
    let items = value.get(field).into_iter().flat_map(FieldValue::items);
    items.filter_map(FieldValue::as_text).map(Cow::into_owned).collect()
}

/// Return the int32 values of a list; empty if it is missing.
pub(super) fn ints<'a>(value: FieldValue<'a>, field: &str) -> impl Iterator<Item = i32> + use<'a> {
    value.get(field).and_then(FieldValue::as_int32s).into_iter().flat_map(Int32s::iter)
}

/// Return an int32 field; `default` if it is missing.
pub(super) fn int(value: FieldValue<'_>, field: &str, default: i32) -> i32 {
    value.get(field).and_then(FieldValue::as_i64).map_or(default, |found| found as i32)
}

//! The function `folded_hash`: the hash code of a text in a Java hash table.

use pyo3::prelude::*;

use crate::group;

/// Return the hash code of a text with its high half folded into its low half; its low bits select the bucket.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn folded_hash(text: &str) -> u32 {
    group::folded_hash(group::string_hash(text))
}

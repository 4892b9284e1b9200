//! Function that reads the members of a JoinGroup response as a Kafka client has decoded them.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::group::PyGroup;
use super::topics::topics_of;
use crate::python::read::decoded_members::{self, DecodedMembers};

/// Return the group, and the subscribed topics that `partitions_per_topic` lacks.
///
/// Args:
///     partitions_per_topic: As for `Group`.
///     members: An object with the attributes of `assignor.clients.membership.JoinedMembers`.
///
/// Raises:
///     AssignorError: Invalid input; the message names the member.
#[pyfunction]
pub(crate) fn decoded_group<'py>(
    py: Python<'py>,
    partitions_per_topic: &Bound<'py, PyAny>,
    members: DecodedMembers<'py>,
) -> PyResult<(PyGroup, Bound<'py, PyList>)> {
    let group = decoded_members::read(topics_of(partitions_per_topic)?, &members, true, None)?;
    let missing = PyList::new(py, group.group.absent().iter())?;
    Ok((PyGroup::of(partitions_per_topic.py(), group)?, missing))
}

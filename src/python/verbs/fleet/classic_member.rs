//! Function on the bytes of a classic member: its client library, and whether a broker can take it over into a group of KIP-848.

use pyo3::prelude::*;

use crate::wire::{Client, Library, Unconvertible};

/// Return the name of the client library, its version, and what prevents the conversion of the member.
#[pyfunction]
pub(crate) fn classic_member(
    group_id: &str,
    assignor: &str,
    client_id: &str,
    metadata: &[u8],
    assignment: &[u8],
) -> (Option<&'static str>, Option<String>, Option<&'static str>) {
    let client = Client::of_member(client_id, group_id, assignor, metadata);
    let problem = Unconvertible::of(metadata, assignment);
    (client.library.map(Library::name), client.version, problem.map(Unconvertible::name))
}

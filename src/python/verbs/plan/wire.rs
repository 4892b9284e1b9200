//! Encoding of a plan: assignments as bytes, and the size of the group's record.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};
use rustc_hash::FxHashMap;

use super::mapping::PyPlan;
use crate::assign::GroupProtocol;
use crate::memory::{self, UNCHECKED};
use crate::plan::{Client, Encoder};
use crate::python::error::wrong_type;
use crate::python::imports::IllegalStateError;
use crate::python::read::values::{index, is_int, pairs, with_name};
use crate::wire::encoding_version;

#[pymethods]
impl PyPlan {
    /// Encode the assignment of each member as `ConsumerProtocol` bytes, without building lists.
    ///
    /// Args:
    ///     version: Version in the header, 0 to 3; a higher version is written as 3. The body is the same in all versions.
    ///
    /// Returns:
    ///     A new dict of member id to bytes, with null user data; `assignor.wire.decode_assignment` decodes them.
    ///
    /// Raises:
    ///     WireError: The version is negative, or a topic name is longer than 32,767 bytes.
    ///     WrongTypeError: The version is not an int.
    ///
    /// Example:
    ///     >>> plan({"t": 1}, {"a": ["t"]}).encode(0)["a"].hex()
    ///     '0000000000010001740000000100000000ffffffff'
    #[pyo3(signature = (version = Version(3)), text_signature = "($self, version=3)")]
    fn encode<'py>(&self, py: Python<'py>, version: Version) -> PyResult<Bound<'py, PyDict>> {
        let plan = self.readable()?;
        let encoder = Encoder::new(plan, version.0)?;
        self.check_encoded(&encoder)?;
        let mut of_members: Vec<Option<Bound<'py, PyBytes>>> = Vec::new();
        of_members.resize_with(plan.members().len(), || None);
        plan.try_each_member(|member, spans| {
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

    /// Return the size in bytes of key and value of the group's record in `__consumer_offsets` (`GROUP_METADATA`, version 3).
    ///
    /// A coordinator writes all members into one record. If the record is longer than the topic's `max.message.bytes`
    /// (1 MiB by default), the group cannot complete a rebalance.
    ///
    /// Args:
    ///     group_id: The group id.
    ///     leader: Member id of the leader; None leaves it out.
    ///     clients: Member id to (client id, client host). Both are empty for a member without an entry.
    ///     versions: Version of the `ConsumerProtocol` bytes: an int for all members, or member id to int (default 3).
    ///
    /// Raises:
    ///     WrongTypeError: A value of the wrong type; the message names it.
    ///     WireError: A version is negative.
    ///     IllegalStateError: The group protocol is not `"classic"`; such a group has no `GROUP_METADATA` record.
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
        if self.assignor.protocol() != GroupProtocol::Classic {
            return Err(IllegalStateError::new_err(format!(
                "the plan is of assignor '{}' of group_protocol '{}': only a group of group_protocol 'classic' has a \
                 GROUP_METADATA record",
                self.assignor.name(),
                self.assignor.protocol().name()
            )));
        }
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
        Ok(self.readable()?.group_metadata_size(
            &group_id,
            self.assignor.name(),
            leader.as_deref(),
            |member| known.get(member).copied().unwrap_or_default(),
            |member| versions.of(member),
        ))
    }
}

impl PyPlan {
    /// Check that the encoded assignments fit into memory.
    fn check_encoded(&self, encoder: &Encoder) -> PyResult<()> {
        if self.plan.most_partitions().saturating_mul(4) > UNCHECKED {
            let (mut partitions, mut bytes) = (0, 0);
            self.plan.each_member(|_, spans| {
                partitions += spans.iter().map(|span| span.count as u64).sum::<u64>();
                bytes += encoder.length(spans) as u64;
            });
            memory::check("the encoded assignment", "partitions", partitions, bytes)?;
        }
        Ok(())
    }
}

fn name(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    with_name(value, || what.to_owned(), str::to_owned)
}

fn read_version(value: &Bound<'_, PyAny>, what: &str) -> PyResult<i16> {
    if !is_int(value)? {
        return Err(wrong_type(what, "an int", value));
    }
    let number = index(value, || what.to_owned())?;
    // A version outside int16 is a newer version or negative.
    Ok(number.extract::<i16>().unwrap_or(if number.lt(0)? { -1 } else { i16::MAX }))
}

/// Version argument of `encode`.
struct Version(i16);

impl FromPyObject<'_, '_> for Version {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        Ok(Self(read_version(&value, "version")?))
    }
}

/// Versions of the members' bytes.
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

/// Return the entries of a mapping by member id.
fn entries<'py>(given: &Bound<'py, PyAny>, what: &str, wanted: &str) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let Ok(mapping) = given.cast::<PyMapping>() else { return Err(wrong_type(what, wanted, given)) };
    let mut found = Vec::new();
    for (member, value) in pairs(mapping, what)? {
        found.push((name(&member, &format!("a member id in {what}"))?, value));
    }
    Ok(found)
}

//! Functions that decode what Kafka's own applications write, Kafka Streams and Kafka Connect, to raw fields.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use rustc_hash::FxHashMap;

use crate::wire::connect::{self, ConnectAssignment, ConnectorsAndTasks};
use crate::wire::streams::{self, Host, Partition, TaskId};

/// Names as `str` objects. Names that share memory in Rust share an object, so that a long name is stored once.
struct SharedNames<'py> {
    py: Python<'py>,
    found: FxHashMap<*const u8, Bound<'py, PyString>>,
}

impl<'py> SharedNames<'py> {
    fn new(py: Python<'py>) -> Self {
        Self { py, found: FxHashMap::default() }
    }

    fn get(&mut self, name: &Arc<str>) -> Bound<'py, PyString> {
        self.found.entry(name.as_ptr()).or_insert_with(|| PyString::new(self.py, name)).clone()
    }

    fn partitions(&mut self, partitions: &[Partition]) -> Vec<(Bound<'py, PyString>, i32)> {
        partitions.iter().map(|(topic, id)| (self.get(topic), *id)).collect()
    }

    fn hosts(&mut self, hosts: &[(Host, Vec<Partition>)]) -> PyHosts<'py> {
        let entry = |(host, partitions): &(Host, Vec<Partition>)| {
            ((self.get(&host.host), host.port), self.partitions(partitions))
        };
        hosts.iter().map(entry).collect()
    }

    fn tasks(&mut self, found: &ConnectorsAndTasks) -> PyConnectTasks<'py> {
        let connectors = found.connectors.iter().map(|connector| self.get(connector)).collect();
        let tasks = found.tasks.iter().map(|task| (self.get(&task.connector), task.task)).collect();
        (connectors, tasks)
    }

    fn assignment(&mut self, found: &ConnectAssignment) -> PyConnectAssignment<'py> {
        let (leader, leader_url) = (found.leader.clone(), found.leader_url.clone());
        let (assigned, revoked) = (self.tasks(&found.assigned), self.tasks(&found.revoked));
        (found.version, found.error, leader, leader_url, found.config_offset, assigned, revoked, found.delay_ms)
    }
}

type PyTask = (i32, i32, Option<String>);
type PyPartitions<'py> = Vec<(Bound<'py, PyString>, i32)>;
type PyHosts<'py> = Vec<((Bound<'py, PyString>, i32), PyPartitions<'py>)>;
type PyConnectTasks<'py> = (Vec<Bound<'py, PyString>>, PyPartitions<'py>);
type PyConnectAssignment<'py> = (i16, i16, String, String, i64, PyConnectTasks<'py>, PyConnectTasks<'py>, i32);

fn task(task: TaskId) -> PyTask {
    (task.subtopology, task.partition, task.topology)
}

fn tasks(found: Vec<TaskId>) -> Vec<PyTask> {
    found.into_iter().map(task).collect()
}

type PyStreamsSubscription<'py> = (
    i32,
    Option<i32>,
    Bound<'py, PyBytes>,
    Vec<PyTask>,
    Vec<PyTask>,
    Vec<(PyTask, i64)>,
    Option<String>,
    i8,
    i32,
    Vec<(String, String)>,
);

/// Decode the user data of a subscription of Kafka Streams into raw fields.
#[pyfunction]
pub(crate) fn decode_streams_subscription<'py>(
    py: Python<'py>,
    user_data: &[u8],
) -> PyResult<PyStreamsSubscription<'py>> {
    let read = py.detach(|| streams::decode_subscription(user_data))?;
    Ok((
        read.version,
        read.latest_supported_version,
        PyBytes::new(py, &read.process_id),
        tasks(read.previous_active),
        tasks(read.previous_standby),
        read.offset_sums.into_iter().map(|(id, sum)| (task(id), sum)).collect(),
        read.user_endpoint,
        read.unique_field,
        read.error_code,
        read.client_tags,
    ))
}

type PyStreamsAssignment<'py> =
    (i32, Option<i32>, Vec<PyTask>, Vec<(PyTask, PyPartitions<'py>)>, PyHosts<'py>, PyHosts<'py>, i32, Option<i64>);

/// Decode the user data of an assignment of Kafka Streams into raw fields.
#[pyfunction]
pub(crate) fn decode_streams_assignment<'py>(py: Python<'py>, user_data: &[u8]) -> PyResult<PyStreamsAssignment<'py>> {
    let read = py.detach(|| streams::decode_assignment(user_data))?;
    let mut names = SharedNames::new(py);
    Ok((
        read.version,
        read.latest_supported_version,
        tasks(read.active_tasks),
        read.standby_tasks.into_iter().map(|(id, partitions)| (task(id), names.partitions(&partitions))).collect(),
        names.hosts(&read.partitions_by_host),
        names.hosts(&read.standby_partitions_by_host),
        read.error_code,
        read.next_rebalance_ms,
    ))
}

/// Decode the state of a worker of Kafka Connect into raw fields.
#[pyfunction]
pub(crate) fn decode_connect_subscription<'py>(
    py: Python<'py>,
    data: &[u8],
) -> PyResult<(i16, String, i64, Option<PyConnectAssignment<'py>>)> {
    let read = py.detach(|| connect::decode_subscription(data))?;
    let owned = read.owned.map(|owned| SharedNames::new(py).assignment(&owned));
    Ok((read.version, read.url, read.config_offset, owned))
}

/// Decode an assignment of Kafka Connect into raw fields.
#[pyfunction]
pub(crate) fn decode_connect_assignment<'py>(py: Python<'py>, data: &[u8]) -> PyResult<PyConnectAssignment<'py>> {
    let read = py.detach(|| connect::decode_assignment(data))?;
    Ok(SharedNames::new(py).assignment(&read))
}

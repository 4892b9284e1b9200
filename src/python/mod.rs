//! Python bindings. They convert arguments, call the engine without the interpreter lock, and wrap the result.

#![allow(
    clippy::doc_markdown,
    clippy::needless_pass_by_value,
    reason = "docstrings follow Python's conventions, and PyO3 passes arguments by value"
)]

mod error;
mod imports;
mod interrupt;
mod numpy_api;
mod objects;
mod read;
mod verbs;

use pyo3::prelude::*;

/// Cargo profile of this build. Benchmarks accept `release` only.
const BUILD: &str = env!("ASSIGNOR_PROFILE_FOLDER");

#[pymodule(gil_used = true)]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::verbs::application_wire::{
        decode_connect_assignment, decode_connect_subscription, decode_streams_assignment, decode_streams_subscription,
    };
    #[pymodule_export]
    use super::verbs::assign::{assign, plan};
    #[pymodule_export]
    use super::verbs::check::check;
    #[pymodule_export]
    use super::verbs::cluster_metadata::read_cluster_metadata;
    #[pymodule_export]
    use super::verbs::decode_batch::{decode_batch, record_groups};
    #[pymodule_export]
    use super::verbs::decoded_group::decoded_group;
    #[pymodule_export]
    use super::verbs::fleet::classic_member::classic_member;
    #[pymodule_export]
    use super::verbs::fleet::clusters::PyClusters;
    #[pymodule_export]
    use super::verbs::folded_hash::folded_hash;
    #[pymodule_export]
    use super::verbs::group::PyGroup;
    #[pymodule_export]
    use super::verbs::match_topics::{match_each, match_topics};
    #[pymodule_export]
    use super::verbs::matcher::PyMatcher;
    #[pymodule_export]
    use super::verbs::plan::mapping::PyPlan;
    #[pymodule_export]
    use super::verbs::records::{coordinator_partition, decode_record, encode_record, encode_record_with_rows};
    #[pymodule_export]
    use super::verbs::replay::{PyReplay, event_schema};
    #[pymodule_export]
    use super::verbs::segments::PySegmentReader;
    #[pymodule_export]
    use super::verbs::silences::PySilenceFinder;
    #[pymodule_export]
    use super::verbs::streams_sticky::assign_tasks;
    #[pymodule_export]
    use super::verbs::topic_pattern::PyTopicPattern;
    #[pymodule_export]
    use super::verbs::topics::PyTopics;
    #[pymodule_export]
    use super::verbs::untrack::untrack;
    #[pymodule_export]
    use super::verbs::wire::{decode_assignment, decode_subscription, encode_assignment, encode_subscription};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::verbs::plan::mapping::register(module.py())?;
        super::verbs::topics::register(module.py())?;
        module.add("LATEST_TIME", crate::replay::times::LATEST_TIME)?;
        module.add("__build__", super::BUILD)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

//! The binding: the only folder that names Python. It reads what Python hands over, calls one verb of the engine without
//! the interpreter lock, and wraps the answer.

#![allow(
    clippy::doc_markdown,
    clippy::needless_pass_by_value,
    reason = "docstrings here are Python's, and so is the way arguments arrive"
)]

mod engine;
mod error;
mod fast;
mod fleet;
mod group;
mod history;
mod lists;
mod matcher;
mod patterns;
mod plan;
mod read;
mod records;
mod replay;
mod spans;
mod text;
mod topics;
mod verbs;
mod views;
mod wire;

use pyo3::prelude::*;

/// How this extension was compiled; benchmarks refuse `debug`.
const BUILD: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

#[pymodule]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::fleet::PyClusters;
    #[pymodule_export]
    use super::group::PyGroup;
    #[pymodule_export]
    use super::matcher::PyMatcher;
    #[pymodule_export]
    use super::patterns::{PyTopicPattern, match_each, match_topics};
    #[pymodule_export]
    use super::plan::PyPlan;
    #[pymodule_export]
    use super::records::{coordinator_partition, decode_batch, decode_record, encode_record};
    #[pymodule_export]
    use super::replay::replay_groups;
    #[pymodule_export]
    use super::topics::PyTopics;
    #[pymodule_export]
    use super::verbs::{assign, plan};
    #[pymodule_export]
    use super::wire::{decode_assignment, decode_subscription, encode_assignment, encode_subscription};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::plan::register(module.py())?;
        super::topics::register(module.py())?;
        module.add("__build__", super::BUILD)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

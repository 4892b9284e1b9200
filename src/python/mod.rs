//! The binding: the only folder that names Python. It reads what Python hands over, calls one verb of the engine without
//! the interpreter lock, and wraps the answer.

use pyo3::prelude::*;

mod records;

/// How this extension was compiled; benchmarks refuse `debug`.
const BUILD: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

#[pymodule]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::records::{coordinator_partition, decode_assignment, decode_batch, decode_record, decode_subscription};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__build__", super::BUILD)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

//! Long computations that release the interpreter lock and that Ctrl-C can interrupt.

use pyo3::prelude::*;

use crate::error::MatchError;

/// Run `work` without the interpreter lock. `work` calls its argument from time to time, and stops if that returns
/// false: a signal handler has raised an exception.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, MatchError> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let mut proceed = || {
        raised = Python::attach(|py| py.check_signals().err());
        raised.is_none()
    };
    let found = py.detach(|| work(&mut proceed));
    raised.map_or_else(|| Ok(found?), Err)
}

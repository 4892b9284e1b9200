//! Long computations that Ctrl-C and other signals can interrupt, by an exception that a handler raises.
//!
//! Only the main thread handles signals. In other threads the checks find none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::cancellation;
use crate::error::MatchError;

/// Time between two checks for signals. A check may have to wait for the interpreter lock, so it must be rare.
const INTERVAL: Duration = Duration::from_millis(50);

/// Run `work` without the interpreter lock. `work` calls its argument from time to time, and stops if that returns
/// false: a signal handler has raised an exception.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, MatchError> + Send,
) -> PyResult<T> {
    checked(|proceed| py.detach(|| work(proceed)))
}

/// Run `work` like `interruptible`, but hold the interpreter lock.
pub(crate) fn with_signals<T>(
    _py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, MatchError>,
) -> PyResult<T> {
    checked(|proceed| work(proceed))
}

/// Number of steps between two looks at the clock. A step may take some microseconds.
const STEPS: u32 = 1 << 10;

/// Checks for signals between the steps of work that holds the interpreter lock.
#[derive(Default)]
pub(crate) struct Steps {
    taken: u32,
    last: Option<Instant>,
}

impl Steps {
    /// Count a step. Return true if signal handlers may have run, which can change any object, and the exception of one.
    #[inline]
    pub(crate) fn count(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.taken += 1;
        if self.taken < STEPS { Ok(false) } else { self.check(py) }
    }

    #[cold]
    fn check(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.taken = 0;
        if self.last.get_or_insert_with(Instant::now).elapsed() < INTERVAL {
            return Ok(false);
        }
        self.last = Some(Instant::now());
        py.check_signals()?;
        Ok(true)
    }
}

fn checked<T>(work: impl FnOnce(&mut (dyn FnMut() -> bool + Send)) -> Result<T, MatchError>) -> PyResult<T> {
    let mut raised = None;
    let mut last = Instant::now();
    let mut proceed = || {
        if last.elapsed() < INTERVAL {
            return true;
        }
        raised = Python::attach(|py| py.check_signals().err());
        last = Instant::now();
        raised.is_none()
    };
    let found = work(&mut proceed);
    raised.map_or_else(|| Ok(found?), Err)
}

/// Run `work`, which does not check for signals, on a thread of its own, while this thread waits without the interpreter lock.
///
/// If a signal handler raises an exception, return it at once. `work` then stops at its next `cancellation::check`, and its result
/// is dropped.
pub(crate) fn waiting<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Clone + Send + 'static,
) -> PyResult<T> {
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let (sender, mut receiver) = mpsc::sync_channel(1);
    let (on_thread, seen) = (work.clone(), Arc::clone(&is_cancelled));
    let run = move || {
        // The receiver is gone after an exception.
        let _ = sender.send(cancellation::run(seen, on_thread));
    };
    let Ok(thread) = thread::Builder::new().name("assignor".to_owned()).spawn(run) else {
        return Ok(py.detach(work)); // the process has too many threads
    };
    loop {
        let waiting = &mut receiver;
        match py.detach(move || waiting.recv_timeout(INTERVAL)) {
            Ok(Some(answer)) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals() {
                    is_cancelled.store(true, Ordering::Relaxed);
                    return Err(raised);
                }
            }
            Ok(None) | Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("the thread is cancelled only after an exception"),
            },
        }
    }
}

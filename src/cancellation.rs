//! Cancellation of a long computation from another thread.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// Whether the computation of this thread is cancelled; None for a computation that cannot be cancelled.
    static IS_CANCELLED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Payload of the unwinding that ends a cancelled computation.
struct Cancelled;

/// Run a computation; return None if it was cancelled. It then left no result anywhere.
pub fn run<T>(is_cancelled: Arc<AtomicBool>, work: impl FnOnce() -> T) -> Option<T> {
    let before = IS_CANCELLED.replace(Some(is_cancelled));
    let found = catch_unwind(AssertUnwindSafe(work));
    IS_CANCELLED.set(before);
    match found {
        Ok(found) => Some(found),
        Err(payload) if payload.is::<Cancelled>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// End the computation of this thread if it is cancelled. Call it between steps that may take more than a second.
pub(crate) fn check() {
    let is_cancelled = IS_CANCELLED.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)));
    if is_cancelled {
        // Unlike `panic!`, it prints no message.
        resume_unwind(Box::new(Cancelled));
    }
}

/// Do the same as `check`, for computations that ask whether to go on.
pub(crate) fn proceed() -> bool {
    check();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_computation_ends_at_its_next_check() {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let cancel = Arc::clone(&is_cancelled);
        let mut steps = 0;
        let found = run(is_cancelled, || {
            for step in 1.. {
                steps = step;
                cancel.store(step == 3, Ordering::Relaxed);
                check();
            }
        });

        assert_eq!((None, 3), (found, steps));
    }

    #[test]
    fn a_computation_that_is_not_cancelled_ends_with_its_result() {
        check();
        assert_eq!(Some(5), run(Arc::default(), || run(Arc::default(), || 5).inspect(|_| check()).unwrap_or(0)));
    }
}

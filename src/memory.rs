//! Memory for results whose size depends on the number of partitions. It is checked before any of it is reserved.

use thiserror::Error;

/// Error for a result that does not fit into memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} of {count} {items} would need {bytes} bytes of memory{}", limit(*.available))]
pub struct OutOfMemory {
    /// The result, such as "a list".
    pub what: &'static str,
    /// What it consists of, such as "partitions".
    pub items: &'static str,
    /// The number of items.
    pub count: u64,
    /// The memory for them in bytes.
    pub bytes: u64,
    /// The available memory in bytes; None if it is not known.
    pub available: Option<u64>,
}

fn limit(available: Option<u64>) -> String {
    available.map_or_else(
        || ", which the operating system does not grant".into(),
        |available| format!("; {available} bytes are available"),
    )
}

/// Size in bytes up to which results are not checked: any machine has as much memory, and the check would take longer than the
/// result.
pub const UNCHECKED: u64 = 1 << 26;

/// Check that a result fits into memory.
///
/// # Errors
/// The result needs more than the available memory, or the operating system does not grant as much address space.
pub fn check(what: &'static str, items: &'static str, count: u64, bytes: u64) -> Result<(), OutOfMemory> {
    if bytes <= UNCHECKED {
        return Ok(());
    }
    let available = available();
    if available.is_some_and(|available| bytes > available) {
        return Err(OutOfMemory { what, items, count, bytes, available });
    }
    // Address space can be limited (RLIMIT_AS). The memory is returned at once, and no page of it is touched.
    let granted = usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    if granted { Ok(()) } else { Err(OutOfMemory { what, items, count, bytes, available: None }) }
}

/// Check that a result fits into memory, given the bytes of one item.
///
/// # Errors
/// As for `check`.
#[inline]
pub fn check_each(what: &'static str, items: &'static str, count: u64, bytes: u64) -> Result<(), OutOfMemory> {
    check(what, items, count, count.saturating_mul(bytes))
}

/// Append a value to a list whose length is not known before. Memory that the list needs to grow is checked first.
///
/// # Errors
/// The list does not fit into memory.
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T, what: &'static str, items: &'static str) -> Result<(), OutOfMemory> {
    if list.len() == list.capacity() {
        grow(list, what, items)?;
    }
    list.push(value);
    Ok(())
}

#[cold]
fn grow<T>(list: &mut Vec<T>, what: &'static str, items: &'static str) -> Result<(), OutOfMemory> {
    let count = list.len() as u64;
    let bytes = count.saturating_mul(2 * size_of::<T>() as u64);
    check(what, items, count, bytes)?;
    list.try_reserve(1).map_err(|_| OutOfMemory { what, items, count, bytes, available: None })
}

/// Return the memory in bytes that can be reserved without the end of a process; None if it is not known.
///
/// On Linux, this is the memory that is free or can be freed, and at most the limit of the process's control group.
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| free_memory(&text));
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group = limits.into_iter().filter_map(read).find_map(|text| text.trim().parse().ok());
    [machine, group].into_iter().flatten().min()
}

/// Return the available memory and swap space in the text of `/proc/meminfo`, in bytes.
fn free_memory(text: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(field("MemAvailable")?.saturating_add(field("SwapFree").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_results_are_not_checked() {
        assert_eq!(Ok(()), check("a list", "partitions", 1, UNCHECKED));
    }

    #[test]
    fn a_result_that_cannot_fit_is_refused_with_its_size() {
        let error = check("a list", "partitions", 7, u64::MAX).unwrap_err();
        assert_eq!((7, u64::MAX), (error.count, error.bytes));
        let begin = "a list of 7 partitions would need 18446744073709551615 bytes of memory";
        assert!(error.to_string().starts_with(begin), "{error}");
    }

    #[test]
    fn available_memory_is_what_linux_reports() {
        let text = "MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:       3 kB\nSwapTotal: 8 kB\nSwapFree:   2 kB\n";
        assert_eq!(Some(5 * 1024), free_memory(text));
        assert_eq!(Some(3 * 1024), free_memory("MemAvailable: 3 kB\n"));
        assert_eq!(None, free_memory("MemFree: 3 kB\n"));
        assert_eq!(None, free_memory("MemAvailable: many kB\n"));
    }
}

//! What a dialect makes of a pattern, for the tests of its parser.

use super::dialect::Dialect;
use super::walk;

/// Whether the pattern matches each of the names.
pub(super) fn matches(dialect: Dialect, pattern: &str, names: &[&str]) -> Vec<bool> {
    let node = dialect.parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error:?}"));
    names.iter().map(|name| walk::matches(&node, name.as_bytes()).expect("few steps")).collect()
}

/// Where and why the dialect refuses the pattern.
pub(super) fn refusal(dialect: Dialect, pattern: &str) -> (usize, String) {
    let error = dialect.parse(pattern).expect_err(pattern);
    assert!(error.invalid, "{pattern}: {error:?}");
    (error.position, error.reason)
}

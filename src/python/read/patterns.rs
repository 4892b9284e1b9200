//! Reader of patterns and their dialects.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::values::{iterate, with_name};
use crate::matching::dialect::Dialect;
use crate::matching::pattern::Pattern;
use crate::python::error::{shown, wrong_type};
use crate::python::imports::{IllegalArgumentError, InvalidPatternError, UnsupportedPatternError};

/// Parse a pattern; errors name its `owner`, if it has one.
pub(crate) fn parse(text: &str, dialect: Dialect, include_internal: bool, owner: Option<&str>) -> PyResult<Pattern> {
    Pattern::new(dialect, text, include_internal).map_err(|error| {
        let details = (error.reason, text.to_owned(), dialect.name(), error.position, owner.map(str::to_owned));
        if error.invalid { InvalidPatternError::new_err(details) } else { UnsupportedPatternError::new_err(details) }
    })
}

/// Return the patterns of a `Subscription`: one text, or several in an iterable. Errors name the `owner`.
pub(crate) fn texts(pattern: &Bound<'_, PyAny>, owner: &str) -> PyResult<Vec<String>> {
    if pattern.is_instance_of::<PyString>() {
        return Ok(vec![with_name(pattern, || format!("{owner}: pattern"), str::to_owned)?]);
    }
    let wrong = || wrong_type(&format!("{owner}: pattern"), "a str or an iterable of str", pattern);
    let each = iterate(pattern, wrong)?;
    each.map(|text| with_name(&text?, || format!("{owner}: a pattern"), str::to_owned)).collect()
}

/// Return the dialect with the given name.
pub(crate) fn dialect(name: &Bound<'_, PyAny>) -> PyResult<Dialect> {
    let found = name.cast::<PyString>().ok().and_then(|name| Dialect::named(&name.to_string_lossy()));
    found.ok_or_else(|| unknown_dialect("dialect", &shown(name)))
}

/// Return the error for an unknown dialect.
pub(crate) fn unknown_dialect(what: &str, shown: &str) -> PyErr {
    let known: Vec<String> = Dialect::ALL.iter().map(|dialect| format!("'{}'", dialect.name())).collect();
    IllegalArgumentError::new_err(format!("{what} must be one of {}, not {shown}", known.join(", ")))
}

/// Parse a pattern that Python gives with the name of its dialect; errors name its `owner`, if it has one.
pub(crate) fn pattern(
    pattern: &Bound<'_, PyAny>,
    dialect: &Bound<'_, PyAny>,
    include_internal: bool,
    owner: Option<&str>,
) -> PyResult<Pattern> {
    let dialect = self::dialect(dialect)?;
    let what = || owner.map_or_else(|| "a pattern".to_owned(), |owner| format!("{owner}: pattern"));
    with_name(pattern, what, |text| parse(text, dialect, include_internal, owner))?
}

//! Reader of patterns and their dialects.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::values::with_name;
use crate::matching::dialect::Dialect;
use crate::matching::pattern::Pattern;
use crate::python::error::shown;
use crate::python::imports::{IllegalArgumentError, InvalidPatternError, UnsupportedPatternError};

/// Parse a pattern; errors name its `owner`, if it has one.
pub(crate) fn parse(text: &str, dialect: Dialect, include_internal: bool, owner: Option<&str>) -> PyResult<Pattern> {
    Pattern::new(dialect, text, include_internal).map_err(|error| {
        let details = (error.reason, text.to_owned(), dialect.name(), error.position, owner.map(str::to_owned));
        if error.invalid { InvalidPatternError::new_err(details) } else { UnsupportedPatternError::new_err(details) }
    })
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

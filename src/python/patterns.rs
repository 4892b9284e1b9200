//! Topic patterns as Python sees them: one pattern, several at once, and those of the members of a group.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use rustc_hash::FxHashMap;

use super::error::{IllegalArgumentError, InvalidPatternError, UnsupportedPatternError, shown, wrong_type};
use super::read::{NamedTopics, is_text, iterate, with_name};
use crate::error::MatchError;
use crate::group::{Group, Topics};
use crate::matching::catalog::{self, Catalog};
use crate::matching::dialect::Dialect;
use crate::matching::pattern::Pattern;

/// Reads a pattern; `owner` says whose it is, if anybody's, when it cannot be used.
pub(super) fn read(text: &str, dialect: Dialect, include_internal: bool, owner: Option<&str>) -> PyResult<Pattern> {
    Pattern::new(dialect, text, include_internal).map_err(|error| {
        let details = (error.reason, text.to_owned(), dialect.name(), error.position, owner.map(str::to_owned));
        if error.invalid { InvalidPatternError::new_err(details) } else { UnsupportedPatternError::new_err(details) }
    })
}

/// Does work without the interpreter lock; what it is given to ask says whether to go on, which Ctrl-C ends.
pub(super) fn searching<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, MatchError> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let mut pulse = || {
        raised = Python::attach(|py| py.check_signals().err());
        raised.is_none()
    };
    let found = py.detach(|| work(&mut pulse));
    raised.map_or_else(|| Ok(found?), Err)
}

/// The dialect of a name.
pub(super) fn dialect(name: &Bound<'_, PyAny>) -> PyResult<Dialect> {
    let found = name.cast::<PyString>().ok().and_then(|name| Dialect::named(&name.to_string_lossy()));
    found.ok_or_else(|| unknown_dialect("dialect", &shown(name)))
}

/// The error for what is no dialect.
pub(super) fn unknown_dialect(what: &str, shown: &str) -> PyErr {
    let known: Vec<String> = Dialect::ALL.iter().map(|dialect| format!("'{}'", dialect.name())).collect();
    IllegalArgumentError::new_err(format!("{what} must be one of {}, not {shown}", known.join(", ")))
}

/// Names of topics that patterns can be tried on.
pub(super) fn topics<'py>(given: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
    let refused = || wrong_type("topics", "an iterable of topic names", given);
    if is_text(given) {
        return Err(refused());
    }
    let py = given.py();
    let mut found = Vec::with_capacity(given.len().unwrap_or(0));
    for topic in iterate(given, refused)? {
        let topic = topic?;
        with_name(&topic, || "a topic".into(), |name| can_be_tried(py, name))??;
        found.push(topic.cast_into::<PyString>()?);
    }
    Ok(found)
}

/// Their texts.
pub(super) fn texts<'a>(topics: &'a [Bound<'_, PyString>]) -> PyResult<Vec<&'a str>> {
    topics.iter().map(|topic| topic.to_str()).collect()
}

/// Refuses a name that Kafka could not have, and that no pattern is tried on.
fn can_be_tried(py: Python<'_>, name: &str) -> PyResult<()> {
    if catalog::can_be_tried(name) {
        return Ok(());
    }
    let (name, kafka) = (shown(&PyString::new(py, name)), "Kafka's names are of 1 to 249 characters of [a-zA-Z0-9._-]");
    Err(IllegalArgumentError::new_err(format!("no pattern can be tried on the topic {name}: {kafka}")))
}

/// The topics that a pattern matches, in the order given.
#[pyfunction]
pub(super) fn match_topics<'py>(
    pattern: &Bound<'py, PyAny>,
    topics: &Bound<'py, PyAny>,
    dialect: &Bound<'py, PyAny>,
    include_internal: bool,
) -> PyResult<Bound<'py, PyList>> {
    let pattern = plain(pattern, dialect, include_internal, None)?;
    matching(topics.py(), &pattern, &self::topics(topics)?)
}

/// The topics that a pattern matches, tried one by one.
fn matching<'py>(py: Python<'py>, pattern: &Pattern, topics: &[Bound<'py, PyString>]) -> PyResult<Bound<'py, PyList>> {
    let names = texts(topics)?;
    let found = searching(py, |pulse| {
        let mut found = Vec::new();
        for (row, name) in names.iter().enumerate() {
            if row % 16 == 15 && !pulse() {
                return Err(MatchError::Interrupted);
            }
            if pattern.matches(name)? {
                found.push(row);
            }
        }
        Ok(found)
    })?;
    PyList::new(py, found.into_iter().map(|row| &topics[row]))
}

/// So few patterns are tried on names one by one: putting them in a catalog would take longer.
const FEW: usize = 3;

/// The topics that each of several patterns, with dialect and owner, matches; `topics` has none twice.
#[pyfunction]
pub(super) fn match_each<'py>(
    patterns: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>, String)>,
    topics: &Bound<'py, PyAny>,
    include_internal: bool,
) -> PyResult<Vec<Bound<'py, PyList>>> {
    let py = topics.py();
    let topics = self::topics(topics)?;
    let patterns =
        patterns.into_iter().map(|(pattern, dialect, owner)| plain(&pattern, &dialect, include_internal, Some(&owner)));
    let patterns = patterns.collect::<PyResult<Vec<_>>>()?;
    if patterns.len() <= FEW {
        return patterns.iter().map(|pattern| matching(py, pattern, &topics)).collect();
    }
    let names = texts(&topics)?;
    let found = searching(py, |pulse| {
        let catalog = Catalog::new(names);
        patterns.iter().map(|pattern| pattern.select(&catalog, pulse)).collect::<Result<Vec<_>, _>>()
    })?;
    let list = |numbers: Vec<u32>| PyList::new(py, numbers.into_iter().map(|number| &topics[number as usize]));
    found.into_iter().map(list).collect()
}

fn plain(
    pattern: &Bound<'_, PyAny>,
    dialect: &Bound<'_, PyAny>,
    include_internal: bool,
    owner: Option<&str>,
) -> PyResult<Pattern> {
    let dialect = self::dialect(dialect)?;
    let what = || owner.map_or_else(|| "a pattern".to_owned(), |owner| format!("{owner}: pattern"));
    with_name(pattern, what, |text| read(text, dialect, include_internal, owner))?
}

/// One pattern, read once and tried on single names.
///
/// Args:
///     pattern: The pattern.
///     dialect: Who reads it: `"java"`, `"re2j"`, `"librdkafka"` or `"python"`.
///
/// Raises:
///     InvalidPatternError: The dialect refuses the pattern.
///     UnsupportedPatternError: The dialect accepts it, and what it means cannot be matched exactly here.
///
/// Example:
///     >>> TopicPattern("orders-.*").matches("orders-eu"), TopicPattern("orders-.*").matches("orders")
///     (True, False)
#[pyclass(frozen, eq, hash, name = "TopicPattern", module = "assignor.matching")]
pub(super) struct PyTopicPattern(Pattern);

impl PartialEq for PyTopicPattern {
    fn eq(&self, other: &Self) -> bool {
        (self.0.text(), self.0.dialect()) == (other.0.text(), other.0.dialect())
    }
}

impl std::hash::Hash for PyTopicPattern {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.0.text(), self.0.dialect()).hash(state);
    }
}

#[pymethods]
impl PyTopicPattern {
    #[new]
    #[pyo3(signature = (pattern, dialect = None), text_signature = "(pattern, dialect='java')")]
    fn new(pattern: &Bound<'_, PyAny>, dialect: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let java = PyString::new(pattern.py(), Dialect::Java.name()).into_any();
        plain(pattern, dialect.unwrap_or(&java), true, None).map(Self)
    }

    /// The text of the pattern.
    #[getter]
    fn pattern(&self) -> &str {
        self.0.text()
    }

    /// Who reads it.
    #[getter]
    fn dialect(&self) -> &'static str {
        self.0.dialect().name()
    }

    /// Whether the pattern matches a topic, be it an internal one or not.
    ///
    /// Raises:
    ///     IllegalArgumentError: A name that Kafka could not have.
    ///     UnsupportedPatternError: The pattern takes too many steps on the name.
    fn matches(&self, topic: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = topic.py();
        let name = with_name(topic, || "a topic".into(), str::to_owned)?;
        can_be_tried(py, &name)?;
        Ok(self.0.matches(&name)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (pattern, dialect) = (PyString::new(py, self.0.text()), PyString::new(py, self.dialect()));
        Ok(format!("TopicPattern({}, {})", pattern.repr()?, dialect.repr()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let arguments = (slf.get().pattern(), slf.get().dialect()).into_pyobject(slf.py())?;
        PyTuple::new(slf.py(), [slf.get_type().into_any(), arguments.into_any()])
    }
}

/// What the patterns of the members of a group mean among its topics: each distinct pattern is tried once.
#[derive(Default)]
pub(super) struct Resolved {
    classes: FxHashMap<(String, Dialect), u32>,
}

impl Resolved {
    /// The class of the members with a pattern; `owner` says whose it is when it cannot be meant.
    pub(super) fn class(
        &mut self,
        py: Python<'_>,
        group: &mut Group,
        topics: &NamedTopics,
        (pattern, dialect): (&str, Dialect),
        owner: &str,
    ) -> PyResult<u32> {
        let key = (pattern.to_owned(), dialect);
        if let Some(&class) = self.classes.get(&key) {
            return Ok(class);
        }
        let found = read(pattern, dialect, false, Some(owner))?;
        let catalog = topics.catalog(py)?;
        let mut found = searching(py, |pulse| found.select(catalog, pulse))?;
        let class = group.intern_subscription(&mut found);
        self.classes.insert(key, class);
        Ok(class)
    }
}

/// The names of topics for patterns, under their numbers.
pub(super) fn catalog_of(py: Python<'_>, topics: &Topics) -> PyResult<Catalog> {
    for name in topics.names().iter() {
        can_be_tried(py, name)?;
    }
    Ok(Catalog::new(topics.names().iter()))
}

//! Program of a pattern: literal lookups, an automaton or a backtracking match.

use super::automaton::{Automaton, TooLarge};
use super::backtracking::{Backtracking, Stopped};
use super::catalog::Catalog;
use super::limits::MAX_DENSE_BYTES;
use super::literals::{self, Literals};
use super::simplify::simplify;
use super::syntax::Node;

/// Method that matches names.
pub(crate) enum Program {
    /// The name is one of these sorted names.
    Exact(Vec<Vec<u8>>),
    /// The name has one of these prefixes, and at least this number of characters after it.
    Prefixes(Vec<Vec<u8>>, usize),
    /// The name has one of these reversed suffixes, and at least this number of characters before it.
    Suffixes(Vec<Vec<u8>>, usize),
    /// Programs that must match the name, or must not match it if the flag is true.
    Conditions(Vec<(bool, Program)>),
    /// The name has the prefix, and the automaton matches.
    Automaton(Vec<u8>, Box<Automaton>),
    /// The name has the prefix, and the backtracking matcher matches.
    Backtracking(Vec<u8>, Backtracking),
}

/// Required literals of a pattern: each matching name has one of them.
pub(crate) enum RequiredLiterals<'a> {
    /// As the whole name.
    Exact(&'a [Vec<u8>]),
    /// As a prefix.
    Prefixes(&'a [Vec<u8>]),
    /// As a suffix, reversed.
    Suffixes(&'a [Vec<u8>]),
}

/// Reason why a search failed.
pub(crate) enum SearchError {
    /// The backtracking matcher took too many steps on this name.
    TooManySteps(String),
    /// The interrupt check returned false.
    Interrupted,
}

impl Program {
    pub(crate) fn new(node: Node) -> Result<Self, TooLarge> {
        Self::of(simplify(node), true, MAX_DENSE_BYTES)
    }

    /// Compile a simplified tree; it may be split into several conditions if `split` is true. `table_bytes` is the maximum size of
    /// the table of an automaton.
    fn of(node: Node, split: bool, table_bytes: usize) -> Result<Self, TooLarge> {
        Ok(match literals::extract(&node, split) {
            Literals::Exact(names) => Self::Exact(names),
            Literals::Prefixes(prefixes, more) => Self::Prefixes(prefixes, more),
            Literals::Suffixes(suffixes, more) => Self::Suffixes(suffixes, more),
            Literals::Conditions(conditions) => {
                let table_bytes = table_bytes / conditions.len();
                let condition = |(negated, node)| Ok((negated, Self::of(simplify(node), false, table_bytes)?));
                let all = conditions.into_iter().map(condition);
                Self::Conditions(all.collect::<Result<_, _>>()?)
            }
            Literals::Search(prefix) => match Automaton::new(&node, table_bytes) {
                Some(automaton) => Self::Automaton(prefix, Box::new(automaton?)),
                None => Self::Backtracking(prefix, Backtracking::new(node)),
            },
        })
    }

    /// Return true if the pattern matches the name. `proceed` is the interrupt check, which returns false to stop.
    pub(crate) fn matches(&self, name: &[u8], proceed: &mut dyn FnMut() -> bool) -> Result<bool, SearchError> {
        Ok(match self {
            Self::Exact(names) => names.binary_search_by(|other| other.as_slice().cmp(name)).is_ok(),
            Self::Prefixes(prefixes, more) => {
                prefixes.iter().any(|prefix| name.starts_with(prefix) && name.len() >= prefix.len() + more)
            }
            Self::Suffixes(suffixes, more) => suffixes
                .iter()
                .any(|suffix| name.len() >= suffix.len() + more && name.iter().rev().take(suffix.len()).eq(suffix)),
            Self::Conditions(conditions) => {
                for (negated, program) in conditions {
                    if program.matches(name, proceed)? == *negated {
                        return Ok(false);
                    }
                }
                true
            }
            Self::Automaton(prefix, automaton) => {
                name.starts_with(prefix) && {
                    if automaton.is_slow() && !proceed() {
                        return Err(SearchError::Interrupted);
                    }
                    automaton.matches(name)
                }
            }
            Self::Backtracking(prefix, pattern) => name.starts_with(prefix) && backtrack(pattern, name, proceed)?,
        })
    }

    /// Append the numbers of all matching names in any order. `proceed` is the interrupt check, which returns false to stop.
    pub(crate) fn select(
        &self,
        catalog: &Catalog,
        found: &mut Vec<u32>,
        proceed: &mut dyn FnMut() -> bool,
    ) -> Result<(), SearchError> {
        match self {
            Self::Exact(names) => found.extend(names.iter().filter_map(|name| catalog.find(name))),
            Self::Prefixes(prefixes, more) => {
                for prefix in prefixes {
                    let begin = catalog.with_prefix(prefix).map(|(number, _)| number);
                    found.extend(
                        begin.filter(|&number| *more == 0 || catalog.bytes(number).len() >= prefix.len() + more),
                    );
                }
            }
            Self::Suffixes(suffixes, more) => {
                for suffix in suffixes {
                    let end = catalog.with_suffix(suffix);
                    found
                        .extend(end.filter(|&number| *more == 0 || catalog.bytes(number).len() >= suffix.len() + more));
                }
            }
            Self::Conditions(conditions) => {
                let mut all: Option<Vec<u32>> = None;
                for (negated, program) in conditions {
                    let mut some = Vec::new();
                    program.select(catalog, &mut some, proceed)?;
                    some.sort_unstable();
                    all = Some(match all {
                        None => some,
                        Some(mut all) => {
                            all.retain(|number| some.binary_search(number).is_ok() != *negated);
                            all
                        }
                    });
                }
                found.extend(all.unwrap_or_default());
            }
            Self::Automaton(prefix, automaton) => {
                let mut search = automaton.search();
                let checked = automaton.names_per_check();
                for (row, (number, common)) in catalog.with_prefix(prefix).enumerate() {
                    if row % checked == checked - 1 && !proceed() {
                        return Err(SearchError::Interrupted);
                    }
                    if search.matches(catalog.bytes(number), common) {
                        found.push(number);
                    }
                }
            }
            Self::Backtracking(prefix, pattern) => {
                for (row, (number, _)) in catalog.with_prefix(prefix).enumerate() {
                    if row % 16 == 15 && !proceed() {
                        return Err(SearchError::Interrupted);
                    }
                    if backtrack(pattern, catalog.bytes(number), proceed)? {
                        found.push(number);
                    }
                }
            }
        }
        Ok(())
    }

    /// Return the literals that a matching name must have; None if there are none.
    pub(crate) fn required_literals(&self) -> Option<RequiredLiterals<'_>> {
        match self {
            Self::Exact(names) => Some(RequiredLiterals::Exact(names)),
            Self::Prefixes(prefixes, _) => Some(RequiredLiterals::Prefixes(prefixes)),
            Self::Suffixes(suffixes, _) => Some(RequiredLiterals::Suffixes(suffixes)),
            Self::Conditions(conditions) => {
                conditions.iter().find(|(negated, _)| !negated).and_then(|(_, program)| program.required_literals())
            }
            Self::Automaton(prefix, _) | Self::Backtracking(prefix, _) => {
                Some(RequiredLiterals::Prefixes(std::slice::from_ref(prefix)))
            }
        }
    }
}

fn backtrack(pattern: &Backtracking, name: &[u8], proceed: &mut dyn FnMut() -> bool) -> Result<bool, SearchError> {
    pattern.matches(name, proceed).map_err(|why| match why {
        Stopped::TooManySteps => SearchError::TooManySteps(String::from_utf8_lossy(name).into_owned()),
        Stopped::Interrupted => SearchError::Interrupted,
    })
}

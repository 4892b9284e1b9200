//! How a pattern is tried on names: by looking texts up, by an automaton, or by walking the tree.

use super::catalog::Catalog;
use super::regular::{Regular, TooLarge};
use super::shape::{Shape, shape};
use super::simplify::simplify;
use super::syntax::Node;
use super::walk::{self, TooManySteps};

/// What is done with names.
pub(crate) enum Program {
    /// Whether it is one of these, which are in order.
    Names(Vec<Vec<u8>>),
    /// Whether it begins with one of these and has so many characters more.
    Heads(Vec<Vec<u8>>, usize),
    /// Whether it ends with one of these, spelled backwards, and has so many characters before.
    Tails(Vec<Vec<u8>>, usize),
    /// Whether all of these say yes, or no (true).
    All(Vec<(bool, Program)>),
    /// Whether it begins with the text, and the automaton says yes.
    Search(Vec<u8>, Box<Regular>),
    /// Whether it begins with the text, and the tree matches.
    Walk(Vec<u8>, Node),
}

/// Texts of which one is in every name that matches.
pub(crate) enum Clue<'a> {
    /// The whole name.
    Names(&'a [Vec<u8>]),
    /// Its beginning.
    Heads(&'a [Vec<u8>]),
    /// Its ending, spelled backwards.
    Tails(&'a [Vec<u8>]),
}

/// Why there is no answer for a name.
pub(crate) enum Stop {
    /// It took too many steps.
    TooManySteps(String),
    /// Whoever asked does not want to know any more.
    Interrupted,
}

impl Program {
    pub(crate) fn new(node: Node) -> Result<Self, TooLarge> {
        Self::of(simplify(node), true)
    }

    /// The program of a simplified tree; `split` is whether conditions in it may be looked at one by one.
    fn of(node: Node, split: bool) -> Result<Self, TooLarge> {
        Ok(match shape(&node, split) {
            Shape::Names(names) => Self::Names(names),
            Shape::Heads(heads, more) => Self::Heads(heads, more),
            Shape::Tails(tails, more) => Self::Tails(tails, more),
            Shape::All(conditions) => {
                let all = conditions.into_iter().map(|(negated, node)| Ok((negated, Self::of(simplify(node), false)?)));
                Self::All(all.collect::<Result<_, _>>()?)
            }
            Shape::Other(head) => match Regular::new(&node) {
                Some(regular) => Self::Search(head, Box::new(regular?)),
                None => Self::Walk(head, node),
            },
        })
    }

    /// Whether the pattern matches the name.
    pub(crate) fn matches(&self, name: &[u8]) -> Result<bool, Stop> {
        Ok(match self {
            Self::Names(names) => names.binary_search_by(|other| other.as_slice().cmp(name)).is_ok(),
            Self::Heads(heads, more) => {
                heads.iter().any(|head| name.starts_with(head) && name.len() >= head.len() + more)
            }
            Self::Tails(tails, more) => {
                tails.iter().any(|tail| name.len() >= tail.len() + more && name.iter().rev().take(tail.len()).eq(tail))
            }
            Self::All(conditions) => {
                for (negated, program) in conditions {
                    if program.matches(name)? == *negated {
                        return Ok(false);
                    }
                }
                true
            }
            Self::Search(head, regular) => name.starts_with(head) && regular.matches(name),
            Self::Walk(head, node) => name.starts_with(head) && walked(node, name)?,
        })
    }

    /// Adds the numbers of all names that match, in no order; `pulse` is asked from time to time whether to go on.
    pub(crate) fn select(
        &self,
        catalog: &Catalog,
        found: &mut Vec<u32>,
        pulse: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        match self {
            Self::Names(names) => found.extend(names.iter().filter_map(|name| catalog.find(name))),
            Self::Heads(heads, more) => {
                for head in heads {
                    let begin = catalog.beginning(head).map(|(number, _)| number);
                    found
                        .extend(begin.filter(|&number| *more == 0 || catalog.bytes(number).len() >= head.len() + more));
                }
            }
            Self::Tails(tails, more) => {
                for tail in tails {
                    let end = catalog.ending(tail);
                    found.extend(end.filter(|&number| *more == 0 || catalog.bytes(number).len() >= tail.len() + more));
                }
            }
            Self::All(conditions) => {
                let mut all: Option<Vec<u32>> = None;
                for (negated, program) in conditions {
                    let mut some = Vec::new();
                    program.select(catalog, &mut some, pulse)?;
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
            Self::Search(head, regular) => {
                let mut run = regular.run();
                for (row, (number, common)) in catalog.beginning(head).enumerate() {
                    if row % 256 == 255 && !pulse() {
                        return Err(Stop::Interrupted);
                    }
                    if run.matches(catalog.bytes(number), common) {
                        found.push(number);
                    }
                }
            }
            Self::Walk(head, node) => {
                for (row, (number, _)) in catalog.beginning(head).enumerate() {
                    if row % 16 == 15 && !pulse() {
                        return Err(Stop::Interrupted);
                    }
                    if walked(node, catalog.bytes(number))? {
                        found.push(number);
                    }
                }
            }
        }
        Ok(())
    }

    /// Texts of which every name that matches has one; none where nothing is known.
    pub(crate) fn clue(&self) -> Option<Clue<'_>> {
        match self {
            Self::Names(names) => Some(Clue::Names(names)),
            Self::Heads(heads, _) => Some(Clue::Heads(heads)),
            Self::Tails(tails, _) => Some(Clue::Tails(tails)),
            Self::All(conditions) => {
                conditions.iter().find(|(negated, _)| !negated).and_then(|(_, program)| program.clue())
            }
            Self::Search(head, _) | Self::Walk(head, _) => Some(Clue::Heads(std::slice::from_ref(head))),
        }
    }
}

fn walked(node: &Node, name: &[u8]) -> Result<bool, Stop> {
    walk::matches(node, name).map_err(|TooManySteps| Stop::TooManySteps(String::from_utf8_lossy(name).into_owned()))
}

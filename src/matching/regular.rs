//! The automaton of what needs no memory of groups and no look around: a pass over the name, whatever the pattern.

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::hybrid;
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

use super::iterations::is_empty_at_places;
use super::syntax::{Greed, Node, Place};

/// How many bytes all states of a pattern may take; a pattern with more has them made when they are met.
const MOST_DENSE: usize = 1 << 20;

/// Whether names match, told by a table of states.
pub(crate) enum Regular {
    /// All states there are.
    Dense(Box<Dense>),
    /// States as they are met.
    Lazy(Box<hybrid::dfa::DFA>),
}

/// A table of all states, and the one to start in.
pub(crate) struct Dense {
    table: dense::DFA<Vec<u32>>,
    start: StateID,
}

/// The pattern has more parts than memory is spent on.
pub(crate) struct TooLarge;

impl Regular {
    /// The automaton of a tree; none where the tree is not regular.
    pub(crate) fn new(node: &Node) -> Option<Result<Self, TooLarge>> {
        let hir = Hir::concat(vec![hir(node)?, Hir::look(Look::End)]);
        Some(Self::build(&hir).ok_or(TooLarge))
    }

    fn build(hir: &Hir) -> Option<Self> {
        let limits = thompson::Config::new().utf8(false).which_captures(thompson::WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(limits).build_from_hir(hir).ok()?;
        let dense = dense::Config::new()
            .start_kind(StartKind::Anchored)
            .match_kind(MatchKind::All)
            .dfa_size_limit(Some(MOST_DENSE))
            .determinize_size_limit(Some(MOST_DENSE));
        if let Ok(table) = dense::Builder::new().configure(dense).build_from_nfa(&nfa) {
            let start = table.start_state(&start::Config::new().anchored(Anchored::Yes)).ok()?;
            return Some(Self::Dense(Box::new(Dense { table, start })));
        }
        let lazy = hybrid::dfa::Config::new().match_kind(MatchKind::All).skip_cache_capacity_check(true);
        hybrid::dfa::Builder::new().configure(lazy).build_from_nfa(nfa).ok().map(|lazy| Self::Lazy(Box::new(lazy)))
    }

    /// Whether a name matches.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        match self {
            Self::Dense(dense) => {
                let mut state = dense.start;
                for &byte in name {
                    state = dense.table.next_state(state, byte);
                    if dense.table.is_dead_state(state) {
                        return false;
                    }
                }
                dense.table.is_match_state(dense.table.next_eoi_state(state))
            }
            Self::Lazy(_) => self.run().matches(name, 0),
        }
    }

    /// Something that tells of one name after the other.
    pub(crate) fn run(&self) -> Run<'_> {
        match self {
            Self::Dense(dense) => Run::Dense { dense, states: vec![dense.start], dead_at: usize::MAX },
            Self::Lazy(lazy) => Run::Lazy { lazy, cache: Box::new(lazy.create_cache()) },
        }
    }
}

/// A walk of the automaton over names, which keeps what it did for the characters that the next name begins with as well.
pub(crate) enum Run<'a> {
    /// With all states at hand.
    Dense {
        /// The table.
        dense: &'a Dense,
        /// The state before each character of the last name, as far as it was read.
        states: Vec<StateID>,
        /// How many characters of the last name leave no way to match; more than it has where there still was one.
        dead_at: usize,
    },
    /// With the states met so far.
    Lazy {
        /// What makes states.
        lazy: &'a hybrid::dfa::DFA,
        /// The states met so far.
        cache: Box<hybrid::dfa::Cache>,
    },
}

impl Run<'_> {
    /// Whether the name matches, of which the first `common` characters are those of the name asked for last.
    pub(crate) fn matches(&mut self, name: &[u8], common: usize) -> bool {
        match self {
            Self::Dense { dense, states, dead_at } => {
                if common >= *dead_at {
                    return false;
                }
                states.truncate(common + 1);
                let mut state = states[common];
                for &byte in &name[common..] {
                    state = dense.table.next_state(state, byte);
                    if dense.table.is_dead_state(state) {
                        *dead_at = states.len();
                        return false;
                    }
                    states.push(state);
                }
                *dead_at = usize::MAX;
                dense.table.is_match_state(dense.table.next_eoi_state(state))
            }
            Self::Lazy { lazy, cache } => {
                let input = Input::new(name).anchored(Anchored::Yes);
                matches!(lazy.try_search_fwd(cache, &input), Ok(Some(_)))
            }
        }
    }
}

/// The tree as the automaton's makers read it; none where it is not regular.
fn hir(node: &Node) -> Option<Hir> {
    Some(match node {
        Node::Chars(set) => {
            let ranges = set.iter().map(|byte| ClassBytesRange::new(byte, byte));
            Hir::class(Class::Bytes(ClassBytes::new(ranges)))
        }
        Node::Concat(nodes) => Hir::concat(nodes.iter().map(hir).collect::<Option<_>>()?),
        Node::Either(nodes) => Hir::alternation(nodes.iter().map(hir).collect::<Option<_>>()?),
        Node::Repeat { greed: Greed::Possessive, .. }
        | Node::Atomic(_)
        | Node::Around { .. }
        | Node::Same { .. }
        | Node::IfTaken { .. } => return None,
        // In an automaton every iteration may be empty where it can.
        Node::Repeat { node, least, .. } if is_empty_at_places(node, *least) => return None,
        Node::Repeat { node, least, most, greed } => Hir::repetition(Repetition {
            min: *least,
            max: *most,
            greedy: *greed == Greed::Greedy,
            sub: Box::new(hir(node)?),
        }),
        Node::Group(_, node) => hir(node)?,
        Node::At(place) => Hir::look(match place {
            Place::Start => Look::Start,
            Place::End => Look::End,
            Place::Boundary => Look::WordAscii,
            Place::Inside => Look::WordAsciiNegate,
            Place::WordStart => Look::WordStartAscii,
            Place::WordEnd => Look::WordEndAscii,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::chars::Chars;

    fn answers(node: &Node, names: &[(&str, usize)]) -> Vec<bool> {
        let Some(Ok(regular)) = Regular::new(node) else { panic!("no automaton") };
        let mut run = regular.run();
        names.iter().map(|(name, common)| run.matches(name.as_bytes(), *common)).collect()
    }

    #[test]
    fn names_that_begin_alike_are_read_from_where_they_differ() {
        let digits = Node::repeat(Node::Chars(Chars::DIGITS), 1, Some(2), Greed::Greedy);
        let node = Node::Concat(vec![Node::text("t"), digits]);

        let names =
            [("s", 0), ("t", 0), ("t1", 1), ("t12", 2), ("t123", 3), ("t1234", 4), ("t1x", 2), ("t1xy", 3), ("t2", 1)];
        let expected = [false, false, true, true, false, false, false, false, true];
        assert_eq!(expected.to_vec(), answers(&node, &names));
    }

    #[test]
    fn what_is_empty_at_some_places_only_is_not_repeated_by_an_automaton() {
        let start_or_b = Node::Either(vec![Node::At(Place::Start), Node::Chars(Chars::one('b'))]);

        assert!(Regular::new(&Node::repeat(start_or_b.clone(), 2, None, Greed::Greedy)).is_none());
        assert!(Regular::new(&Node::repeat(start_or_b, 1, None, Greed::Greedy)).is_some());
    }

    #[test]
    fn a_pattern_of_many_states_has_them_made_as_they_are_met() {
        let wide = Node::repeat(Node::Chars(Chars::ALL), 24, Some(24), Greed::Greedy);
        let node = Node::Concat(vec![Node::anything(), Node::text("a"), wide]);

        assert!(matches!(Regular::new(&node), Some(Ok(Regular::Lazy(_)))));
        let long = "b".repeat(24);
        let names = [(format!("xa{long}"), 0), (format!("ab{long}"), 0)];
        let names: Vec<(&str, usize)> = names.iter().map(|(name, common)| (name.as_str(), *common)).collect();
        assert_eq!(vec![true, false], answers(&node, &names));
    }
}

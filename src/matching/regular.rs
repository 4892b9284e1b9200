//! The automaton of what needs no memory of groups and no look around: a pass over the name, whatever the pattern.

use std::sync::{Mutex, OnceLock, PoisonError};

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::hybrid;
use regex_automata::hybrid::{CacheError, LazyStateID};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

use super::iterations::is_empty_at_places;
use super::syntax::{Greed, Node, Place};

/// How many bytes all states of a pattern may take for a table of them.
const MOST_DENSE: usize = 1 << 20;

/// Whether names match: for many names in order states are made as they are met, for single ones there is a table.
pub(crate) struct Regular {
    nfa: NFA,
    lazy: hybrid::dfa::DFA,
    /// The table, once a single name was asked for; None where it would be too large.
    dense: OnceLock<Option<Dense>>,
    /// What is used where there is no table, with the states met so far.
    forgetful: OnceLock<Option<(Mutex<hybrid::dfa::Cache>, hybrid::dfa::DFA)>>,
}

/// A table of all states, and the one to start in.
struct Dense {
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
        let plain = thompson::Config::new().utf8(false).which_captures(thompson::WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(plain).build_from_hir(hir).ok()?;
        // What is kept of the last name are states: where there are too many, it gives up instead of forgetting them.
        let lazy = lazy(&nfa, Some(0))?;
        Some(Self { nfa, lazy, dense: OnceLock::new(), forgetful: OnceLock::new() })
    }

    /// Whether a name matches.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        match self.dense.get_or_init(|| Dense::new(&self.nfa)) {
            Some(dense) => dense.matches(name),
            None => self.matches_slowly(name),
        }
    }

    /// Whether a name matches, by following states that are forgotten where they are too many.
    fn matches_slowly(&self, name: &[u8]) -> bool {
        let forgetful = self.forgetful.get_or_init(|| {
            let lazy = lazy(&self.nfa, None)?;
            Some((Mutex::new(lazy.create_cache()), lazy))
        });
        let Some((cache, lazy)) = forgetful else { return false };
        let input = Input::new(name).anchored(Anchored::Yes);
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(lazy.try_search_fwd(&mut cache, &input), Ok(Some(_)))
    }

    /// Something that tells of one name after the other.
    pub(crate) fn run(&self) -> Run<'_> {
        Run { regular: self, cache: self.lazy.create_cache(), states: Vec::new(), dead_at: usize::MAX }
    }
}

/// States that are made as they are met; it gives up after forgetting them so many times, or never.
fn lazy(nfa: &NFA, forgets: Option<usize>) -> Option<hybrid::dfa::DFA> {
    let config = hybrid::dfa::Config::new()
        .match_kind(MatchKind::All)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(forgets);
    hybrid::dfa::Builder::new().configure(config).build_from_nfa(nfa.clone()).ok()
}

impl Dense {
    fn new(nfa: &NFA) -> Option<Self> {
        let config = dense::Config::new()
            .start_kind(StartKind::Anchored)
            .match_kind(MatchKind::All)
            .accelerate(false) // names are too short for it
            .dfa_size_limit(Some(MOST_DENSE))
            .determinize_size_limit(Some(MOST_DENSE));
        let table = dense::Builder::new().configure(config).build_from_nfa(nfa).ok()?;
        let start = table.start_state(&start::Config::new().anchored(Anchored::Yes)).ok()?;
        Some(Self { table, start })
    }

    fn matches(&self, name: &[u8]) -> bool {
        let mut state = self.start;
        for &byte in name {
            state = self.table.next_state(state, byte);
            if self.table.is_dead_state(state) {
                return false;
            }
        }
        self.table.is_match_state(self.table.next_eoi_state(state))
    }
}

/// A walk of the automaton over names, which keeps what it did for the characters that the next name begins with as well.
pub(crate) struct Run<'a> {
    regular: &'a Regular,
    cache: hybrid::dfa::Cache,
    /// The state before each character of the last name, as far as it was read.
    states: Vec<LazyStateID>,
    /// How many characters of the last name leave no way to match; more than it has where there still was one.
    dead_at: usize,
}

impl Run<'_> {
    /// Whether the name matches, of which the first `common` characters are those of the name asked for last.
    pub(crate) fn matches(&mut self, name: &[u8], common: usize) -> bool {
        if common >= self.dead_at {
            return false;
        }
        self.follow(name, common).unwrap_or_else(|_: CacheError| self.regular.matches(name))
    }

    fn follow(&mut self, name: &[u8], common: usize) -> Result<bool, CacheError> {
        let (lazy, cache) = (&self.regular.lazy, &mut self.cache);
        if self.states.is_empty() {
            let Ok(start) = lazy.start_state(cache, &start::Config::new().anchored(Anchored::Yes)) else {
                return Ok(self.regular.matches(name));
            };
            self.states.push(start);
        }
        // Where it gave up before, less of the last name was read than the two have in common.
        let common = common.min(self.states.len() - 1);
        self.states.truncate(common + 1);
        self.dead_at = usize::MAX;
        let mut state = self.states[common];
        for &byte in &name[common..] {
            state = lazy.next_state(cache, state, byte)?;
            if state.is_dead() {
                self.dead_at = self.states.len();
                return Ok(false);
            }
            self.states.push(state);
        }
        Ok(lazy.next_eoi_state(cache, state)?.is_match())
    }
}

/// The tree as the automaton's makers read it; none where it is not regular.
fn hir(node: &Node) -> Option<Hir> {
    Some(match node {
        Node::Chars(set) => {
            let ranges = set.runs().map(|(first, last)| ClassBytesRange::new(first, last));
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
    fn a_run_that_gives_up_goes_on_without_what_it_kept() {
        let wide = Node::repeat(Node::Chars(Chars::of("ab")), 14, Some(14), Greed::Greedy);
        let node = Node::Concat(vec![Node::anything(), Node::text("a"), wide]);
        let Some(Ok(regular)) = Regular::new(&node) else { panic!("no automaton") };
        let mut run = regular.run();
        let name = |number: u32| -> String {
            (0..60)
                .map(|bit| if number.wrapping_mul(2_654_435_761).rotate_left(bit) & 1 == 1 { 'a' } else { 'b' })
                .collect()
        };

        let mut last = String::new();
        for number in 0..3000 {
            let next = name(number);
            let common = last.bytes().zip(next.bytes()).take_while(|(a, b)| a == b).count();
            assert_eq!(next.as_bytes()[60 - 15] == b'a', run.matches(next.as_bytes(), common), "{next}");
            last = next;
        }
        assert!(run.states.len() < 61, "it never gave up");
    }

    #[test]
    fn what_is_empty_at_some_places_only_is_not_repeated_by_an_automaton() {
        let start_or_b = Node::Either(vec![Node::At(Place::Start), Node::Chars(Chars::one('b'))]);

        assert!(Regular::new(&Node::repeat(start_or_b.clone(), 2, None, Greed::Greedy)).is_none());
        assert!(Regular::new(&Node::repeat(start_or_b, 1, None, Greed::Greedy)).is_some());
    }

    #[test]
    fn a_pattern_of_too_many_states_for_a_table_is_matched_without() {
        let wide = Node::repeat(Node::Chars(Chars::ALL), 24, Some(24), Greed::Greedy);
        let node = Node::Concat(vec![Node::anything(), Node::text("a"), wide]);

        let Some(Ok(regular)) = Regular::new(&node) else { panic!("no automaton") };
        assert!(regular.matches(format!("ba{}", "c".repeat(24)).as_bytes()));
        assert!(matches!(regular.dense.get(), Some(None)));
        let long = "b".repeat(24);
        let names = [(format!("xa{long}"), 0), (format!("ab{long}"), 0)];
        let names: Vec<(&str, usize)> = names.iter().map(|(name, common)| (name.as_str(), *common)).collect();
        assert_eq!(vec![true, false], answers(&node, &names));
    }
}

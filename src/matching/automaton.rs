//! Automata for patterns without backreferences, look-around and atomic groups. They match a name in one pass.

use std::sync::{Mutex, OnceLock, PoisonError};

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::hybrid;
use regex_automata::hybrid::{CacheError, LazyStateID};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

use super::repetition::is_nullable_at_assertions;
use super::syntax::{Assertion, Greed, Node};

/// Size of the work between two interrupt checks of a search, in states of the automaton times names.
const STATES_PER_CHECK: usize = 1 << 16;

/// Maximum number of names between two interrupt checks of a search.
const NAMES_PER_CHECK: usize = 256;

/// An automaton, with lazily built states for many names in order, and a table of all states for single names.
pub(crate) struct Automaton {
    nfa: NFA,
    lazy: hybrid::dfa::DFA,
    /// The table, built when the first single name is matched; None if it would be too large.
    dense: OnceLock<Option<DenseTable>>,
    /// Matcher of single names without a table: lazily built states, which are dropped when there are too many.
    bounded: OnceLock<Option<(Mutex<hybrid::dfa::Cache>, hybrid::dfa::DFA)>>,
    /// Maximum size in bytes of the table.
    table_bytes: usize,
}

/// A table of all states, and the start state.
struct DenseTable {
    table: dense::DFA<Vec<u32>>,
    start: StateID,
}

/// An automaton that would take too much memory.
pub(crate) struct TooLarge;

impl Automaton {
    /// Build the automaton of a syntax tree; None if the tree is not regular. The table of all states has at most `table_bytes`.
    pub(crate) fn new(node: &Node, table_bytes: usize) -> Option<Result<Self, TooLarge>> {
        let hir = Hir::concat(vec![hir(node)?, Hir::look(Look::End)]);
        Some(Self::build(&hir, table_bytes).ok_or(TooLarge))
    }

    fn build(hir: &Hir, table_bytes: usize) -> Option<Self> {
        let plain = thompson::Config::new().utf8(false).which_captures(thompson::WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(plain).build_from_hir(hir).ok()?;
        // A search reuses the states of the last name. So if there are too many states, it must give up instead of dropping them.
        let lazy = lazy(&nfa, Some(0))?;
        Some(Self { nfa, lazy, dense: OnceLock::new(), bounded: OnceLock::new(), table_bytes })
    }

    /// Return true if matching a single name may take milliseconds.
    pub(crate) fn is_slow(&self) -> bool {
        self.nfa.states().len() > STATES_PER_CHECK / NAMES_PER_CHECK
    }

    /// Return the number of names that a search may match between two interrupt checks.
    pub(crate) fn names_per_check(&self) -> usize {
        (STATES_PER_CHECK / self.nfa.states().len().max(1)).clamp(1, NAMES_PER_CHECK)
    }

    /// Return true if a name matches.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        match self.dense.get_or_init(|| DenseTable::new(&self.nfa, self.table_bytes)) {
            Some(dense) => dense.matches(name),
            None => self.matches_without_table(name),
        }
    }

    /// Return true if a name matches, by lazily built states.
    fn matches_without_table(&self, name: &[u8]) -> bool {
        let bounded = self.bounded.get_or_init(|| {
            let lazy = lazy(&self.nfa, None)?;
            Some((Mutex::new(lazy.create_cache()), lazy))
        });
        let Some((cache, lazy)) = bounded else { return false };
        let input = Input::new(name).anchored(Anchored::Yes);
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(lazy.try_search_fwd(&mut cache, &input), Ok(Some(_)))
    }

    /// Start a search over sorted names.
    pub(crate) fn search(&self) -> PrefixSearch<'_> {
        PrefixSearch { automaton: self, cache: self.lazy.create_cache(), states: Vec::new(), dead_at: usize::MAX }
    }
}

/// Return an automaton with lazily built states. It gives up after dropping them `drops` times; with None it never gives up.
fn lazy(nfa: &NFA, drops: Option<usize>) -> Option<hybrid::dfa::DFA> {
    let config = hybrid::dfa::Config::new()
        .match_kind(MatchKind::All)
        .skip_cache_capacity_check(true)
        .minimum_cache_clear_count(drops);
    hybrid::dfa::Builder::new().configure(config).build_from_nfa(nfa.clone()).ok()
}

impl DenseTable {
    fn new(nfa: &NFA, bytes: usize) -> Option<Self> {
        let config = dense::Config::new()
            .start_kind(StartKind::Anchored)
            .match_kind(MatchKind::All)
            .accelerate(false) // names are too short to benefit
            .dfa_size_limit(Some(bytes))
            .determinize_size_limit(Some(bytes));
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

/// A search over sorted names that reuses the states of the common prefix with the previous name.
pub(crate) struct PrefixSearch<'a> {
    automaton: &'a Automaton,
    cache: hybrid::dfa::Cache,
    /// The state before each character of the last name, up to the last character that was read.
    states: Vec<LazyStateID>,
    /// The length of the prefix of the last name after which no match is possible; `usize::MAX` if there is no such prefix.
    dead_at: usize,
}

impl PrefixSearch<'_> {
    /// Return true if the name matches; its first `common` characters are those of the previous name.
    pub(crate) fn matches(&mut self, name: &[u8], common: usize) -> bool {
        if common >= self.dead_at {
            return false;
        }
        self.follow(name, common).unwrap_or_else(|_: CacheError| self.automaton.matches(name))
    }

    fn follow(&mut self, name: &[u8], common: usize) -> Result<bool, CacheError> {
        let (lazy, cache) = (&self.automaton.lazy, &mut self.cache);
        if self.states.is_empty() {
            let Ok(start) = lazy.start_state(cache, &start::Config::new().anchored(Anchored::Yes)) else {
                return Ok(self.automaton.matches(name));
            };
            self.states.push(start);
        }
        // A search that gave up may have read less than the common prefix.
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

/// Translate a syntax tree for regex-automata; None if it is not regular.
fn hir(node: &Node) -> Option<Hir> {
    Some(match node {
        Node::CharClass(set) => {
            let ranges = set.runs().map(|(first, last)| ClassBytesRange::new(first, last));
            Hir::class(Class::Bytes(ClassBytes::new(ranges)))
        }
        Node::Concat(nodes) => Hir::concat(nodes.iter().map(hir).collect::<Option<_>>()?),
        Node::Alternation(nodes) => Hir::alternation(nodes.iter().map(hir).collect::<Option<_>>()?),
        Node::Repetition { greed: Greed::Possessive, .. }
        | Node::Atomic(_)
        | Node::LookAround { .. }
        | Node::Backreference { .. }
        | Node::Conditional { .. } => return None,
        // In an automaton every iteration may match the empty text, not only the last one.
        Node::Repetition { node, least, .. } if is_nullable_at_assertions(node, *least) => return None,
        Node::Repetition { node, least, most, greed } => Hir::repetition(Repetition {
            min: *least,
            max: *most,
            greedy: *greed == Greed::Greedy,
            sub: Box::new(hir(node)?),
        }),
        Node::Capture(_, node) => hir(node)?,
        Node::Assert(place) => Hir::look(match place {
            Assertion::Start => Look::Start,
            Assertion::End => Look::End,
            Assertion::WordBoundary => Look::WordAscii,
            Assertion::NotWordBoundary => Look::WordAsciiNegate,
            Assertion::WordStart => Look::WordStartAscii,
            Assertion::WordEnd => Look::WordEndAscii,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::char_set::CharSet;
    use crate::matching::limits::MAX_DENSE_BYTES;

    fn answers(node: &Node, names: &[(&str, usize)]) -> Vec<bool> {
        let Some(Ok(automaton)) = Automaton::new(node, MAX_DENSE_BYTES) else { panic!("no automaton") };
        let mut search = automaton.search();
        names.iter().map(|(name, common)| search.matches(name.as_bytes(), *common)).collect()
    }

    #[test]
    fn common_prefixes_of_names_are_read_once() {
        let digits = Node::repeat(Node::CharClass(CharSet::DIGITS), 1, Some(2), Greed::Greedy);
        let node = Node::Concat(vec![Node::literal("t"), digits]);

        let names =
            [("s", 0), ("t", 0), ("t1", 1), ("t12", 2), ("t123", 3), ("t1234", 4), ("t1x", 2), ("t1xy", 3), ("t2", 1)];
        let expected = [false, false, true, true, false, false, false, false, true];
        assert_eq!(expected.to_vec(), answers(&node, &names));
    }

    #[test]
    fn a_search_that_gives_up_continues_without_its_states() {
        let wide = Node::repeat(Node::CharClass(CharSet::of("ab")), 14, Some(14), Greed::Greedy);
        let node = Node::Concat(vec![Node::any_text(), Node::literal("a"), wide]);
        let Some(Ok(automaton)) = Automaton::new(&node, MAX_DENSE_BYTES) else { panic!("no automaton") };
        let mut search = automaton.search();
        let name = |number: u32| -> String {
            (0..60)
                .map(|bit| if number.wrapping_mul(2_654_435_761).rotate_left(bit) & 1 == 1 { 'a' } else { 'b' })
                .collect()
        };

        let mut last = String::new();
        for number in 0..3000 {
            let next = name(number);
            let common = last.bytes().zip(next.bytes()).take_while(|(a, b)| a == b).count();
            assert_eq!(next.as_bytes()[60 - 15] == b'a', search.matches(next.as_bytes(), common), "{next}");
            last = next;
        }
        assert!(search.states.len() < 61, "it never gave up");
    }

    #[test]
    fn a_node_that_is_nullable_at_assertions_is_not_repeated_by_an_automaton() {
        let start_or_b = Node::Alternation(vec![Node::Assert(Assertion::Start), Node::CharClass(CharSet::one('b'))]);

        assert!(Automaton::new(&Node::repeat(start_or_b.clone(), 2, None, Greed::Greedy), MAX_DENSE_BYTES).is_none());
        assert!(Automaton::new(&Node::repeat(start_or_b, 1, None, Greed::Greedy), MAX_DENSE_BYTES).is_some());
    }

    #[test]
    fn pattern_with_too_many_states_matches_without_a_table() {
        let wide = Node::repeat(Node::CharClass(CharSet::ALL), 24, Some(24), Greed::Greedy);
        let node = Node::Concat(vec![Node::any_text(), Node::literal("a"), wide]);

        let Some(Ok(automaton)) = Automaton::new(&node, MAX_DENSE_BYTES) else { panic!("no automaton") };
        assert!(automaton.matches(format!("ba{}", "c".repeat(24)).as_bytes()));
        assert!(matches!(automaton.dense.get(), Some(None)));
        let long = "b".repeat(24);
        let names = [(format!("xa{long}"), 0), (format!("ab{long}"), 0)];
        let names: Vec<(&str, usize)> = names.iter().map(|(name, common)| (name.as_str(), *common)).collect();
        assert_eq!(vec![true, false], answers(&node, &names));
    }
}

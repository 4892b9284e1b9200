//! A backtracking matcher, for constructs that need more than a finite automaton: look-around, backreferences, atomic
//! groups.
//!
//! A node maps a start state to the distinct end states of its matches, in order of preference. Without backreferences a
//! state is only a position, so there are few states, and backtracking is polynomial. With backreferences the number of
//! steps is limited.

use std::collections::{HashMap, HashSet};

use super::char_set::CharSet;
use super::syntax::{Assertion, Greed, Node};

/// Maximum number of steps per name.
pub(super) const MAX_STEPS: usize = 1_000_000;

/// A match that took more than `MAX_STEPS` steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManySteps;

/// A position in the name, and the captures of groups up to it; None for a pattern without backreferences.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    at: usize,
    groups: Option<Box<[Captured]>>,
}

/// Start and end of the capture of a group; None if the group has not captured yet.
type Captured = Option<(usize, usize)>;

struct Backtracker<'a> {
    name: &'a [u8],
    steps: usize,
    /// End states of repetitions by start position, so that nested loops are tried once per position.
    memo: HashMap<(*const Node, usize), Vec<State>>,
}

/// Return true if the pattern matches the whole name.
///
/// # Errors
///
/// The match takes too many steps, which can happen with backreferences, or with deeply nested loops and long names.
pub(super) fn matches(node: &Node, name: &[u8]) -> Result<bool, TooManySteps> {
    let groups = highest_reference(node).map(|most| vec![None; most as usize + 1].into_boxed_slice());
    let mut backtracker = Backtracker { name, steps: 0, memo: HashMap::new() };
    let ends = backtracker.ends(node, &State { at: 0, groups })?;
    Ok(ends.iter().any(|state| state.at == name.len()))
}

/// Return the highest group number that a backreference or conditional refers to.
fn highest_reference(node: &Node) -> Option<u32> {
    let own = match node {
        Node::Backreference { group, .. } | Node::Conditional { group, .. } => Some(*group),
        _ => None,
    };
    node.children().map(highest_reference).max().flatten().max(own)
}

impl Backtracker<'_> {
    /// Return the end states of a node's matches from a state; count one step, and one more for each end state.
    fn ends(&mut self, node: &Node, from: &State) -> Result<Vec<State>, TooManySteps> {
        let ends = self.match_node(node, from)?;
        self.steps += 1 + ends.len();
        if self.steps > MAX_STEPS { Err(TooManySteps) } else { Ok(ends) }
    }

    fn match_node(&mut self, node: &Node, from: &State) -> Result<Vec<State>, TooManySteps> {
        let here = |found: bool| if found { vec![from.clone()] } else { Vec::new() };
        Ok(match node {
            Node::CharClass(set) => match self.name.get(from.at) {
                Some(&byte) if set.has(byte) => vec![State { at: from.at + 1, groups: from.groups.clone() }],
                _ => Vec::new(),
            },
            Node::Concat(nodes) => {
                let mut states = vec![from.clone()];
                for node in nodes {
                    let mut next = DistinctStates::default();
                    for state in &states {
                        next.extend(self.ends(node, state)?);
                    }
                    states = next.states;
                }
                states
            }
            Node::Alternation(nodes) => {
                let mut found = DistinctStates::default();
                for node in nodes {
                    found.extend(self.ends(node, from)?);
                }
                found.states
            }
            Node::Repetition { .. } => {
                let key = (std::ptr::from_ref(node), from.at);
                if from.groups.is_none()
                    && let Some(known) = self.memo.get(&key)
                {
                    return Ok(known.clone());
                }
                let found = self.repeat(node, from)?;
                if from.groups.is_none() {
                    self.memo.insert(key, found.clone());
                }
                found
            }
            Node::Capture(group, node) => {
                let mut ends = self.ends(node, from)?;
                for state in &mut ends {
                    if let Some(slot) = state.groups.as_mut().and_then(|groups| groups.get_mut(*group as usize)) {
                        *slot = Some((from.at, state.at));
                    }
                }
                ends
            }
            Node::Atomic(node) => self.ends(node, from)?.into_iter().take(1).collect(),
            Node::Assert(assertion) => here(self.holds(*assertion, from.at)),
            Node::LookAround { ahead, negated, node } => {
                let found =
                    if *ahead { self.ends(node, from)?.into_iter().next() } else { self.look_behind(node, from)? };
                match found {
                    Some(state) if !negated => vec![State { at: from.at, groups: state.groups }],
                    None if *negated => here(true),
                    _ => Vec::new(),
                }
            }
            Node::Backreference { group, folded } => {
                let taken = from.groups.as_ref().and_then(|groups| groups.get(*group as usize).copied().flatten());
                match taken {
                    Some((start, end)) => {
                        let text = &self.name[start..end];
                        let same = self.name[from.at..]
                            .get(..text.len())
                            .is_some_and(|next| if *folded { next.eq_ignore_ascii_case(text) } else { next == text });
                        if same {
                            vec![State { at: from.at + text.len(), groups: from.groups.clone() }]
                        } else {
                            Vec::new()
                        }
                    }
                    None => Vec::new(),
                }
            }
            Node::Conditional { group, taken, other } => {
                let was =
                    from.groups.as_ref().is_some_and(|groups| groups.get(*group as usize).is_some_and(Option::is_some));
                self.ends(if was { taken } else { other }, from)?
            }
        })
    }

    fn repeat(&mut self, node: &Node, from: &State) -> Result<Vec<State>, TooManySteps> {
        let Node::Repetition { node, least, most, greed } = node else { return Ok(Vec::new()) };
        if *greed == Greed::Possessive {
            return self.possessive(node, *least, *most, from);
        }
        let lazy = *greed == Greed::Lazy;
        let (seen, found) = (HashSet::new(), DistinctStates::default());
        let mut loops = Loop { node, least: *least, most: *most, lazy, seen, found };
        self.iterate(&mut loops, 0, from.clone())?;
        Ok(loops.found.states)
    }

    /// Continue from a state after `done` iterations.
    fn iterate(&mut self, loops: &mut Loop<'_>, done: u32, state: State) -> Result<(), TooManySteps> {
        // Past the minimum count, the number of iterations matters only if there is a maximum count.
        let count = if loops.most.is_none() { done.min(loops.least) } else { done };
        if !loops.seen.insert((count, state.clone())) {
            return Ok(());
        }
        let may_end = done >= loops.least;
        if may_end && loops.lazy {
            loops.found.push(state.clone());
        }
        if loops.most.is_none_or(|most| done < most) {
            for end in self.ends(loops.node, &state)? {
                if end.at == state.at {
                    loops.found.push(end);
                } else {
                    self.iterate(loops, done + 1, end)?;
                }
            }
        }
        if may_end && !loops.lazy {
            loops.found.push(state);
        }
        Ok(())
    }

    fn possessive(
        &mut self,
        node: &Node,
        least: u32,
        most: Option<u32>,
        from: &State,
    ) -> Result<Vec<State>, TooManySteps> {
        let (mut state, mut done) = (from.clone(), 0);
        while most.is_none_or(|most| done < most) {
            let Some(end) = self.ends(node, &state)?.into_iter().next() else { break };
            let stuck = end.at == state.at;
            (state, done) = (end, done + 1);
            if stuck {
                done = done.max(least);
                break;
            }
        }
        Ok(if done >= least { vec![state] } else { Vec::new() })
    }

    /// Return the match that ends at the current position and starts nearest to it.
    fn look_behind(&mut self, node: &Node, from: &State) -> Result<Option<State>, TooManySteps> {
        let furthest = node.max_length().map_or(0, |most| from.at.saturating_sub(most));
        for start in (furthest..=from.at).rev() {
            let ends = self.ends(node, &State { at: start, groups: from.groups.clone() })?;
            if let Some(found) = ends.into_iter().find(|end| end.at == from.at) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn holds(&self, assertion: Assertion, at: usize) -> bool {
        let word = |index: Option<usize>| {
            index.and_then(|index| self.name.get(index)).is_some_and(|&byte| CharSet::WORD.has(byte))
        };
        let (before, behind) = (word(at.checked_sub(1)), word(Some(at)));
        match assertion {
            Assertion::Start => at == 0,
            Assertion::End => at == self.name.len(),
            Assertion::WordBoundary => before != behind,
            Assertion::NotWordBoundary => before == behind,
            Assertion::WordStart => !before && behind,
            Assertion::WordEnd => before && !behind,
        }
    }
}

/// Distinct states, in the order of insertion.
#[derive(Default)]
struct DistinctStates {
    states: Vec<State>,
    seen: HashSet<State>,
}

impl DistinctStates {
    fn push(&mut self, state: State) {
        if self.seen.insert(state.clone()) {
            self.states.push(state);
        }
    }

    fn extend(&mut self, states: Vec<State>) {
        for state in states {
            self.push(state);
        }
    }
}

/// State of the matching of a repetition.
struct Loop<'a> {
    node: &'a Node,
    least: u32,
    most: Option<u32>,
    lazy: bool,
    seen: HashSet<(u32, State)>,
    found: DistinctStates,
}

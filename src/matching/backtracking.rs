//! A backtracking matcher, for constructs that need more than a finite automaton: look-around, backreferences, atomic
//! groups.
//!
//! A node maps a start state to the distinct end states of its matches, in order of preference. Without backreferences a
//! state is only a position, so there are few states, and backtracking is polynomial. With backreferences the number of
//! steps is limited.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::char_set::CharSet;
use super::limits::{CAPTURES_PER_STEP, MAX_STEPS};
use super::syntax::{Assertion, Greed, Node};

/// Number of steps between two interrupt checks. They take some milliseconds.
const STEPS_PER_CHECK: usize = 1 << 14;

/// Number of states up to which a linear search is faster than a set.
const FEW: usize = 8;

/// A pattern for the backtracking matcher.
pub(super) struct Backtracking {
    node: Node,
    /// The number of groups that backreferences and conditionals refer to; they are numbered from 0.
    groups: usize,
}

/// Reason why a match was not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// It takes more than `MAX_STEPS` steps.
    TooManySteps,
    /// The interrupt check returned false.
    Interrupted,
}

/// A position in the name, and the captures of groups up to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    at: u16,
    /// Start and end of the capture of each group; None for a pattern without backreferences.
    captures: Option<Rc<[u16]>>,
}

/// Start and end of a group that has not captured yet.
const NOT_CAPTURED: u16 = u16::MAX;

impl State {
    /// Return the state at another position.
    fn moved(&self, at: usize) -> Self {
        Self { at: at as u16, captures: self.captures.clone() }
    }

    fn at(&self) -> usize {
        usize::from(self.at)
    }

    /// Return start and end of the text that a group captured.
    fn captured(&self, group: u32) -> Option<(usize, usize)> {
        let captures = self.captures.as_ref()?;
        let (start, end) = (captures[2 * group as usize], captures[2 * group as usize + 1]);
        (end != NOT_CAPTURED).then_some((start.into(), end.into()))
    }
}

struct Backtracker<'a> {
    name: &'a [u8],
    proceed: &'a mut dyn FnMut() -> bool,
    /// Number of steps that an end state costs.
    step: usize,
    steps: usize,
    /// Number of steps at which the limit is compared and `proceed` is called.
    next_check: usize,
    /// End states of repetitions by start position, so that nested loops are tried once per position.
    memo: FxHashMap<(*const Node, u16), Vec<State>>,
    /// Maximum lengths of look-behinds.
    widths: FxHashMap<*const Node, Option<usize>>,
}

impl Backtracking {
    /// Return a pattern from a simplified tree.
    pub(super) fn new(node: Node) -> Self {
        let groups = node.referenced_groups().into_iter().max().map_or(0, |most| most as usize + 1);
        Self { node, groups }
    }

    /// Return true if the pattern matches the whole name, which has at most `MAX_NAME_LENGTH` characters.
    ///
    /// # Errors
    ///
    /// The match takes too many steps, which can happen with backreferences, or with deeply nested loops and long names; or
    /// `proceed`, the interrupt check, returns false.
    pub(super) fn matches(&self, name: &[u8], proceed: &mut dyn FnMut() -> bool) -> Result<bool, Stopped> {
        let captures = (self.groups > 0).then(|| vec![NOT_CAPTURED; 2 * self.groups].into());
        let mut backtracker = Backtracker {
            name,
            proceed,
            step: 1 + self.groups / CAPTURES_PER_STEP,
            steps: 0,
            next_check: STEPS_PER_CHECK,
            memo: FxHashMap::default(),
            widths: FxHashMap::default(),
        };
        let ends = backtracker.ends(&self.node, &State { at: 0, captures })?;
        Ok(ends.iter().any(|state| state.at() == name.len()))
    }
}

/// The functions that call each other recursively are not inlined, so that each keeps a small stack frame.
impl Backtracker<'_> {
    /// Return the end states of a node's matches from a state; count one step, and more for each end state.
    fn ends(&mut self, node: &Node, from: &State) -> Result<Vec<State>, Stopped> {
        let ends = match node {
            Node::CharClass(set) => match self.name.get(from.at()) {
                Some(&byte) if set.has(byte) => vec![from.moved(from.at() + 1)],
                _ => Vec::new(),
            },
            Node::Assert(assertion) => here(from, self.holds(*assertion, from.at())),
            Node::Backreference { group, folded } => self.same(*group, *folded, from),
            Node::Concat(nodes) => self.concat(nodes, from)?,
            Node::Alternation(nodes) => self.alternation(nodes, from)?,
            Node::Repetition { .. } => self.repetition(node, from)?,
            Node::Capture(group, node) => self.capture(*group, node, from)?,
            Node::Atomic(node) => self.first(node, from)?,
            Node::LookAround { ahead, negated, node } => self.look_around(*ahead, *negated, node, from)?,
            Node::Conditional { group, taken, other } => {
                self.ends(if from.captured(*group).is_some() { taken } else { other }, from)?
            }
        };
        self.steps += 1 + ends.len() * self.step;
        if self.steps >= self.next_check {
            self.check()?;
        }
        Ok(ends)
    }

    #[cold]
    fn check(&mut self) -> Result<(), Stopped> {
        if self.steps > MAX_STEPS {
            return Err(Stopped::TooManySteps);
        }
        self.next_check = (self.steps + STEPS_PER_CHECK).min(MAX_STEPS + 1);
        if (self.proceed)() { Ok(()) } else { Err(Stopped::Interrupted) }
    }

    #[inline(never)]
    fn concat(&mut self, nodes: &[Node], from: &State) -> Result<Vec<State>, Stopped> {
        let mut states = vec![from.clone()];
        for node in nodes {
            if states.is_empty() {
                break; // the other nodes would cost time and no steps
            }
            if let [state] = states.as_slice() {
                states = self.ends(node, state)?;
                continue;
            }
            let mut next = DistinctStates::default();
            for state in &states {
                next.extend(self.ends(node, state)?);
            }
            states = next.states;
        }
        Ok(states)
    }

    #[inline(never)]
    fn alternation(&mut self, nodes: &[Node], from: &State) -> Result<Vec<State>, Stopped> {
        let mut found = DistinctStates::default();
        for node in nodes {
            found.extend(self.ends(node, from)?);
        }
        Ok(found.states)
    }

    #[inline(never)]
    fn capture(&mut self, group: u32, node: &Node, from: &State) -> Result<Vec<State>, Stopped> {
        let mut ends = self.ends(node, from)?;
        for state in &mut ends {
            if let Some(captures) = &mut state.captures {
                Rc::make_mut(captures)[2 * group as usize..][..2].copy_from_slice(&[from.at, state.at]);
            }
        }
        // Ends that differed only in an earlier capture of the group are equal now.
        Ok(if ends.len() > 1 { DistinctStates::of(ends) } else { ends })
    }

    #[inline(never)]
    fn first(&mut self, node: &Node, from: &State) -> Result<Vec<State>, Stopped> {
        let mut ends = self.ends(node, from)?;
        ends.truncate(1);
        Ok(ends)
    }

    #[inline(never)]
    fn look_around(&mut self, ahead: bool, negated: bool, node: &Node, from: &State) -> Result<Vec<State>, Stopped> {
        let found = if ahead { self.ends(node, from)?.into_iter().next() } else { self.look_behind(node, from)? };
        Ok(match found {
            Some(state) if !negated => vec![state.moved(from.at())],
            found => here(from, negated && found.is_none()),
        })
    }

    fn same(&self, group: u32, folded: bool, from: &State) -> Vec<State> {
        let Some((start, end)) = from.captured(group) else { return Vec::new() };
        let text = &self.name[start..end];
        let is_same = self.name[from.at()..]
            .get(..text.len())
            .is_some_and(|next| if folded { next.eq_ignore_ascii_case(text) } else { next == text });
        if is_same { vec![from.moved(from.at() + text.len())] } else { Vec::new() }
    }

    #[inline(never)]
    fn repetition(&mut self, node: &Node, from: &State) -> Result<Vec<State>, Stopped> {
        if from.captures.is_some() {
            return self.repeat(node, from);
        }
        let key = (std::ptr::from_ref(node), from.at);
        if let Some(known) = self.memo.get(&key) {
            return Ok(known.clone());
        }
        let found = self.repeat(node, from)?;
        self.memo.insert(key, found.clone());
        Ok(found)
    }

    #[inline(never)]
    fn repeat(&mut self, node: &Node, from: &State) -> Result<Vec<State>, Stopped> {
        let Node::Repetition { node, least, most, greed } = node else { return Ok(Vec::new()) };
        if *greed == Greed::Possessive {
            return self.possessive(node, *least, *most, from);
        }
        self.iterate(node, *least, *most, *greed == Greed::Lazy, from)
    }

    /// Return the end states of all numbers of iterations. The open iterations are on the heap, because at each nesting level their number
    /// can reach the length of the name.
    fn iterate(
        &mut self,
        node: &Node,
        least: u32,
        most: Option<u32>,
        lazy: bool,
        from: &State,
    ) -> Result<Vec<State>, Stopped> {
        let (mut seen, mut found) = (FxHashSet::default(), DistinctStates::default());
        let mut open: Vec<Iteration> = Vec::new();
        let mut next = Some((0, from.clone()));
        loop {
            if let Some((done, state)) = next.take() {
                // Past the minimum count, the number of iterations matters only if there is a maximum count.
                let count = if most.is_none() { done.min(least) } else { done };
                if seen.insert((count, state.clone())) {
                    if lazy && done >= least {
                        found.push(state.clone());
                    }
                    let may_go_on = most.is_none_or(|most| done < most);
                    let ends = if may_go_on { self.ends(node, &state)? } else { Vec::new() };
                    open.push(Iteration { done, state, ends: ends.into_iter() });
                }
            }
            let Some(inner) = open.last_mut() else { return Ok(found.states) };
            match inner.ends.next() {
                Some(end) if end.at == inner.state.at => found.push(end),
                Some(end) => next = Some((inner.done + 1, end)),
                None => {
                    if let Some(Iteration { done, state, .. }) = open.pop()
                        && !lazy
                        && done >= least
                    {
                        found.push(state);
                    }
                }
            }
        }
    }

    #[inline(never)]
    fn possessive(&mut self, node: &Node, least: u32, most: Option<u32>, from: &State) -> Result<Vec<State>, Stopped> {
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
    #[inline(never)]
    fn look_behind(&mut self, node: &Node, from: &State) -> Result<Option<State>, Stopped> {
        let width = *self.widths.entry(std::ptr::from_ref(node)).or_insert_with(|| node.max_length());
        let furthest = width.map_or(0, |most| from.at().saturating_sub(most));
        for start in (furthest..=from.at()).rev() {
            let ends = self.ends(node, &from.moved(start))?;
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

/// Return the state if `found` is true.
fn here(state: &State, found: bool) -> Vec<State> {
    if found { vec![state.clone()] } else { Vec::new() }
}

/// Distinct states, in the order of insertion.
#[derive(Default)]
struct DistinctStates {
    states: Vec<State>,
    /// The states; empty while there are few.
    seen: FxHashSet<State>,
}

impl DistinctStates {
    fn of(states: Vec<State>) -> Vec<State> {
        let mut distinct = Self::default();
        distinct.extend(states);
        distinct.states
    }

    fn push(&mut self, state: State) {
        if self.states.len() < FEW {
            if !self.states.contains(&state) {
                self.states.push(state);
            }
            return;
        }
        if self.seen.is_empty() {
            self.seen.extend(self.states.iter().cloned());
        }
        if self.seen.insert(state.clone()) {
            self.states.push(state);
        }
    }

    fn extend(&mut self, states: Vec<State>) {
        if self.states.is_empty() && states.len() == 1 {
            self.states = states;
            return;
        }
        for state in states {
            self.push(state);
        }
    }
}

/// An open iteration of a repetition.
struct Iteration {
    /// The number of iterations before it.
    done: u32,
    /// The state before it.
    state: State,
    /// The states after it that have not been followed yet.
    ends: std::vec::IntoIter<State>,
}

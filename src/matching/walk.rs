//! Matches a name by walking the tree: for what no finite automaton can do (look-around, back-references, atomic groups).
//!
//! A node turns an ordered list of states into the ordered list of states in which it can end, the preferred ways first, each
//! state once. Where nothing asks what a group took, a state is only a position, so there are few of them and no pattern is
//! catastrophic; where something does, the number of steps is limited.

use std::collections::{HashMap, HashSet};

use super::chars::Chars;
use super::syntax::{Greed, Node, Place};

/// How many steps one name may take.
pub const STEPS: usize = 1_000_000;

/// The name took more than `STEPS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySteps;

/// Where a way through the tree stands, and what the groups took on it; no groups where nothing asks for them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    at: usize,
    groups: Option<Box<[Taken]>>,
}

/// What a group took: from where to where; None where it took nothing yet.
type Taken = Option<(usize, usize)>;

struct Walk<'a> {
    name: &'a [u8],
    steps: usize,
    /// Where repetitions can end from a position, as far as that is known: loops within loops are walked once.
    known: HashMap<(*const Node, usize), Vec<State>>,
}

/// Whether the pattern matches the whole name.
///
/// # Errors
///
/// Where that takes too many steps: with back-references it may, and with loops many deep on long names.
pub fn matches(node: &Node, name: &[u8]) -> Result<bool, TooManySteps> {
    let groups = asked(node).map(|most| vec![None; most as usize + 1].into_boxed_slice());
    let mut walk = Walk { name, steps: 0, known: HashMap::new() };
    let ends = walk.ends(node, &State { at: 0, groups })?;
    Ok(ends.iter().any(|state| state.at == name.len()))
}

/// The highest group that anything asks for.
fn asked(node: &Node) -> Option<u32> {
    match node {
        Node::Chars(_) | Node::At(_) => None,
        Node::Concat(nodes) | Node::Either(nodes) => nodes.iter().filter_map(asked).max(),
        Node::Repeat { node, .. } | Node::Group(_, node) | Node::Atomic(node) | Node::Around { node, .. } => {
            asked(node)
        }
        Node::Same { group, .. } => Some(*group),
        Node::IfTaken { group, taken, other } => Some(*group).max(asked(taken)).max(asked(other)),
    }
}

impl Walk<'_> {
    /// The states in which a node can end, from one in which it starts.
    fn ends(&mut self, node: &Node, from: &State) -> Result<Vec<State>, TooManySteps> {
        let ends = self.reached(node, from)?;
        self.steps += 1 + ends.len();
        if self.steps > STEPS { Err(TooManySteps) } else { Ok(ends) }
    }

    fn reached(&mut self, node: &Node, from: &State) -> Result<Vec<State>, TooManySteps> {
        let here = |found: bool| if found { vec![from.clone()] } else { Vec::new() };
        Ok(match node {
            Node::Chars(set) => match self.name.get(from.at) {
                Some(&byte) if set.has(byte) => vec![State { at: from.at + 1, groups: from.groups.clone() }],
                _ => Vec::new(),
            },
            Node::Concat(nodes) => {
                let mut states = vec![from.clone()];
                for node in nodes {
                    let mut next = Ordered::default();
                    for state in &states {
                        next.extend(self.ends(node, state)?);
                    }
                    states = next.states;
                }
                states
            }
            Node::Either(nodes) => {
                let mut found = Ordered::default();
                for node in nodes {
                    found.extend(self.ends(node, from)?);
                }
                found.states
            }
            Node::Repeat { .. } => {
                let place = (std::ptr::from_ref(node), from.at);
                if from.groups.is_none()
                    && let Some(known) = self.known.get(&place)
                {
                    return Ok(known.clone());
                }
                let found = self.repeat(node, from)?;
                if from.groups.is_none() {
                    self.known.insert(place, found.clone());
                }
                found
            }
            Node::Group(group, node) => {
                let mut ends = self.ends(node, from)?;
                for state in &mut ends {
                    if let Some(slot) = state.groups.as_mut().and_then(|groups| groups.get_mut(*group as usize)) {
                        *slot = Some((from.at, state.at));
                    }
                }
                ends
            }
            Node::Atomic(node) => self.ends(node, from)?.into_iter().take(1).collect(),
            Node::At(place) => here(self.is_at(*place, from.at)),
            Node::Around { ahead, negated, node } => {
                let found = if *ahead { self.ends(node, from)?.into_iter().next() } else { self.behind(node, from)? };
                match found {
                    Some(state) if !negated => vec![State { at: from.at, groups: state.groups }],
                    None if *negated => here(true),
                    _ => Vec::new(),
                }
            }
            Node::Same { group, folded } => {
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
            Node::IfTaken { group, taken, other } => {
                let was =
                    from.groups.as_ref().is_some_and(|groups| groups.get(*group as usize).is_some_and(Option::is_some));
                self.ends(if was { taken } else { other }, from)?
            }
        })
    }

    fn repeat(&mut self, node: &Node, from: &State) -> Result<Vec<State>, TooManySteps> {
        let Node::Repeat { node, least, most, greed } = node else { return Ok(Vec::new()) };
        if *greed == Greed::Possessive {
            return self.possessive(node, *least, *most, from);
        }
        let lazy = *greed == Greed::Lazy;
        let (seen, found) = (HashSet::new(), Ordered::default());
        let mut loops = Loop { node, least: *least, most: *most, lazy, seen, found };
        self.iterate(&mut loops, 0, from.clone())?;
        Ok(loops.found.states)
    }

    /// Goes on from a state in which so many iterations are done.
    fn iterate(&mut self, loops: &mut Loop<'_>, done: u32, state: State) -> Result<(), TooManySteps> {
        // Past the least number, the count says nothing more unless there is a most.
        let count = if loops.most.is_none() { done.min(loops.least) } else { done };
        if !loops.seen.insert((count, state.clone())) {
            return Ok(());
        }
        let enough = done >= loops.least;
        if enough && loops.lazy {
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
        if enough && !loops.lazy {
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

    /// The nearest way to match up to here.
    fn behind(&mut self, node: &Node, from: &State) -> Result<Option<State>, TooManySteps> {
        let furthest = node.most().map_or(0, |most| from.at.saturating_sub(most));
        for start in (furthest..=from.at).rev() {
            let ends = self.ends(node, &State { at: start, groups: from.groups.clone() })?;
            if let Some(found) = ends.into_iter().find(|end| end.at == from.at) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn is_at(&self, place: Place, at: usize) -> bool {
        let word = |index: Option<usize>| {
            index.and_then(|index| self.name.get(index)).is_some_and(|&byte| Chars::WORD.has(byte))
        };
        let (before, behind) = (word(at.checked_sub(1)), word(Some(at)));
        match place {
            Place::Start => at == 0,
            Place::End => at == self.name.len(),
            Place::Boundary => before != behind,
            Place::Inside => before == behind,
            Place::WordStart => !before && behind,
            Place::WordEnd => before && !behind,
        }
    }
}

/// States in the order in which they were found, each once.
#[derive(Default)]
struct Ordered {
    states: Vec<State>,
    seen: HashSet<State>,
}

impl Ordered {
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

/// A repetition under way.
struct Loop<'a> {
    node: &'a Node,
    least: u32,
    most: Option<u32>,
    lazy: bool,
    seen: HashSet<(u32, State)>,
    found: Ordered,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> Node {
        Node::Chars(Chars::of(text))
    }

    fn star(node: Node, greed: Greed) -> Node {
        Node::repeat(node, 0, None, greed)
    }

    fn found(node: &Node, name: &str) -> bool {
        matches(node, name.as_bytes()).expect("few steps")
    }

    #[test]
    fn what_gives_nothing_back_leaves_nothing() {
        let then_a = |greed| Node::Concat(vec![star(letters("a"), greed), letters("a")]);

        assert!(found(&then_a(Greed::Greedy), "aaa"));
        assert!(found(&then_a(Greed::Lazy), "aaa"));
        assert!(!found(&then_a(Greed::Possessive), "aaa"));
        let first_way = Node::Atomic(Box::new(Node::Either(vec![letters("a"), Node::text("ab")])));
        assert!(!found(&Node::Concat(vec![first_way, letters("c")]), "abc"));
    }

    #[test]
    fn a_group_is_asked_for_what_it_took_last() {
        let group = Node::Group(1, Box::new(letters("ab")));
        let twice = Node::Concat(vec![star(group, Greed::Greedy), Node::Same { group: 1, folded: false }]);

        assert!(found(&twice, "abb"));
        assert!(!found(&twice, "aba"));
        assert!(!found(&Node::Same { group: 1, folded: false }, ""));
    }

    #[test]
    fn looking_back_finds_the_nearest_way() {
        let behind = Node::Around { ahead: false, negated: true, node: Box::new(Node::text("-dlq")) };
        let node = Node::Concat(vec![Node::anything(), behind]);

        assert!(found(&node, "orders"));
        assert!(!found(&node, "orders-dlq"));
    }

    #[test]
    fn loops_within_loops_are_few_steps_and_back_references_may_be_too_many() {
        let loops = (0..6).fold(letters("a"), |node, _| star(node, Greed::Greedy));
        let name = "a".repeat(60) + "b";
        assert!(!found(&loops, &name));

        let group = |number| Node::Group(number, Box::new(star(letters("a"), Greed::Greedy)));
        let mut nodes: Vec<Node> = (1..7).map(group).collect();
        nodes.extend((1..7).map(|group| Node::Same { group, folded: false }));
        nodes.push(letters("c"));
        assert_eq!(Err(TooManySteps), matches(&Node::Concat(nodes), name.as_bytes()));
    }
}

//! Simplification of a syntax tree into a smaller, equivalent tree in which literals are easier to find.

use super::char_set::CharSet;
use super::syntax::{Assertion, Greed, MAX_NAME_LENGTH, Node};

/// Return a smaller tree that matches the same names.
pub(crate) fn simplify(node: Node) -> Node {
    let mut referenced = node.referenced_groups();
    referenced.sort_unstable();
    referenced.dedup();
    strip_anchors(rewrite(node, &referenced))
}

/// Remove the anchors at both ends, which always match there.
fn strip_anchors(node: Node) -> Node {
    match node {
        Node::Concat(mut nodes) => {
            let start = nodes.iter().take_while(|node| **node == Node::Assert(Assertion::Start)).count();
            nodes.drain(..start);
            while nodes.last() == Some(&Node::Assert(Assertion::End)) {
                nodes.pop();
            }
            Node::concat(nodes)
        }
        Node::Assert(Assertion::Start | Assertion::End) => Node::EMPTY,
        Node::Alternation(nodes) => alternation(nodes.into_iter().map(strip_anchors).collect()),
        node => node,
    }
}

/// Remove nodes without effect, and captures of groups that are not `referenced`. The other groups get new numbers: their places
/// among the referenced ones, from 0.
fn rewrite(node: Node, referenced: &[u32]) -> Node {
    match node {
        Node::Concat(nodes) => concat(nodes.into_iter().map(|node| rewrite(node, referenced)).collect()),
        Node::Alternation(nodes) => alternation(nodes.into_iter().map(|node| rewrite(node, referenced)).collect()),
        Node::Capture(group, node) => {
            let node = rewrite(*node, referenced);
            match referenced.binary_search(&group) {
                Ok(place) => Node::Capture(place as u32, Box::new(node)),
                Err(_) => node,
            }
        }
        Node::Backreference { group, folded } => Node::Backreference { group: place_of(group, referenced), folded },
        Node::Atomic(node) => match rewrite(*node, referenced) {
            node if node.is_unambiguous() => node,
            node => Node::Atomic(Box::new(node)),
        },
        Node::LookAround { ahead, negated, node } => {
            Node::LookAround { ahead, negated, node: Box::new(rewrite(*node, referenced)) }
        }
        Node::Conditional { group, taken, other } => Node::Conditional {
            group: place_of(group, referenced),
            taken: Box::new(rewrite(*taken, referenced)),
            other: Box::new(rewrite(*other, referenced)),
        },
        Node::Repetition { node, least, most, greed } => repeat(rewrite(*node, referenced), least, most, greed),
        node @ (Node::CharClass(_) | Node::Assert(_)) => node,
    }
}

/// Return the place of a group among the referenced ones.
fn place_of(group: u32, referenced: &[u32]) -> u32 {
    referenced.partition_point(|other| *other < group) as u32
}

fn concat(nodes: Vec<Node>) -> Node {
    let mut flat: Vec<Node> = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::Concat(inner) => flat.extend(inner),
            node => flat.push(node),
        }
    }
    if flat.contains(&Node::NOTHING) { Node::NOTHING } else { Node::concat(flat) }
}

fn alternation(nodes: Vec<Node>) -> Node {
    let mut flat: Vec<Node> = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::Alternation(inner) => flat.extend(inner),
            Node::NOTHING => {}
            node => flat.push(node),
        }
    }
    let sets: Option<Vec<CharSet>> =
        flat.iter().map(|node| if let Node::CharClass(set) = node { Some(*set) } else { None }).collect();
    match sets {
        Some(sets) => Node::CharClass(sets.into_iter().fold(CharSet::NONE, |all, set| all | set)),
        None => Node::alternation(flat),
    }
}

/// Return a repetition with counts limited by the length of a name; higher counts would only enlarge the automaton.
fn repeat(node: Node, least: u32, most: Option<u32>, greed: Greed) -> Node {
    let takes = node.min_length();
    if takes.saturating_mul(least as usize) > MAX_NAME_LENGTH {
        return Node::NOTHING;
    }
    if most == Some(0) || node == Node::EMPTY {
        return Node::EMPTY;
    }
    if node == Node::NOTHING {
        return if least == 0 { Node::EMPTY } else { Node::NOTHING };
    }
    if (least, most) == (1, Some(1)) && greed != Greed::Possessive {
        return node;
    }
    if takes > 0 {
        let most = most.filter(|&most| (most as usize) <= MAX_NAME_LENGTH / takes);
        return Node::repeat(node, least, most, greed);
    }
    // A name has fewer characters than `many`, and the number of empty iterations makes no difference.
    let many = MAX_NAME_LENGTH as u32 + 1;
    Node::repeat(node, least.min(many), most.filter(|&most| most < many), greed)
}

impl Node {
    /// Return true if the tree has a backreference or conditional.
    pub(crate) fn has_references(&self) -> bool {
        self.has(|node| matches!(node, Self::Backreference { .. } | Self::Conditional { .. }))
    }

    /// Return the groups that backreferences and conditionals refer to, in the order of the pattern.
    pub(crate) fn referenced_groups(&self) -> Vec<u32> {
        let mut found = Vec::new();
        self.add_referenced_groups(&mut found);
        found
    }

    fn add_referenced_groups(&self, found: &mut Vec<u32>) {
        if let Self::Backreference { group, .. } | Self::Conditional { group, .. } = self {
            found.push(*group);
        }
        self.children().for_each(|node| node.add_referenced_groups(found));
    }

    /// Return true if there is at most one way to match the node from any position.
    fn is_unambiguous(&self) -> bool {
        match self {
            Self::CharClass(_) | Self::Assert(_) | Self::Backreference { .. } => true,
            Self::Concat(nodes) => nodes.iter().all(Self::is_unambiguous),
            Self::Repetition { node, least, most, .. } => Some(*least) == *most && node.is_unambiguous(),
            Self::Capture(_, node) => node.is_unambiguous(),
            Self::Atomic(_) | Self::LookAround { .. } | Self::Alternation(_) | Self::Conditional { .. } => false,
        }
    }
}

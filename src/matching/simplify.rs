//! Rewrites a tree into a smaller one that means the same for every name: what is looked for is seen more easily in it.

use super::chars::Chars;
use super::syntax::{Greed, LONGEST, Node, Place};

/// A smaller tree that matches the same names.
pub(crate) fn simplify(node: Node) -> Node {
    let asks = node.asks();
    open(rewrite(node, asks))
}

/// Leaves out the anchors at both ends, which hold there anyway.
fn open(node: Node) -> Node {
    match node {
        Node::Concat(mut nodes) => {
            while nodes.first() == Some(&Node::At(Place::Start)) {
                nodes.remove(0);
            }
            while nodes.last() == Some(&Node::At(Place::End)) {
                nodes.pop();
            }
            Node::concat(nodes)
        }
        Node::At(Place::Start | Place::End) => Node::EMPTY,
        Node::Either(nodes) => either(nodes.into_iter().map(open).collect()),
        node => node,
    }
}

/// The same without what changes nothing; `asks` is whether anything asks what a group took.
fn rewrite(node: Node, asks: bool) -> Node {
    match node {
        Node::Concat(nodes) => concat(nodes.into_iter().map(|node| rewrite(node, asks)).collect()),
        Node::Either(nodes) => either(nodes.into_iter().map(|node| rewrite(node, asks)).collect()),
        Node::Group(group, node) => {
            let node = rewrite(*node, asks);
            if asks { Node::Group(group, Box::new(node)) } else { node }
        }
        Node::Atomic(node) => match rewrite(*node, asks) {
            node if node.has_one_way() => node,
            node => Node::Atomic(Box::new(node)),
        },
        Node::Around { ahead, negated, node } => Node::Around { ahead, negated, node: Box::new(rewrite(*node, asks)) },
        Node::IfTaken { group, taken, other } => {
            Node::IfTaken { group, taken: Box::new(rewrite(*taken, asks)), other: Box::new(rewrite(*other, asks)) }
        }
        Node::Repeat { node, least, most, greed } => repeat(rewrite(*node, asks), least, most, greed),
        node @ (Node::Chars(_) | Node::At(_) | Node::Same { .. }) => node,
    }
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

fn either(nodes: Vec<Node>) -> Node {
    let mut flat: Vec<Node> = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::Either(inner) => flat.extend(inner),
            Node::NOTHING => {}
            node => flat.push(node),
        }
    }
    let sets: Option<Vec<Chars>> =
        flat.iter().map(|node| if let Node::Chars(set) = node { Some(*set) } else { None }).collect();
    match sets {
        Some(sets) => Node::Chars(sets.into_iter().fold(Chars::NONE, |all, set| all | set)),
        None => Node::either(flat),
    }
}

/// A repetition, cut to what fits into a name: counts of a thousand would make large automata for nothing.
fn repeat(node: Node, least: u32, most: Option<u32>, greed: Greed) -> Node {
    let takes = node.least();
    if takes.saturating_mul(least as usize) > LONGEST {
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
        let most = most.filter(|&most| (most as usize) <= LONGEST / takes);
        return Node::repeat(node, least, most, greed);
    }
    // So many iterations that take a character do not fit; how many take none makes no difference beyond.
    let many = LONGEST as u32 + 1;
    Node::repeat(node, least.min(many), most.filter(|&most| most < many), greed)
}

impl Node {
    /// Whether anything in it asks what a group took.
    pub(crate) fn asks(&self) -> bool {
        match self {
            Self::Same { .. } | Self::IfTaken { .. } => true,
            Self::Chars(_) | Self::At(_) => false,
            Self::Concat(nodes) | Self::Either(nodes) => nodes.iter().any(Self::asks),
            Self::Repeat { node, .. } | Self::Group(_, node) | Self::Atomic(node) | Self::Around { node, .. } => {
                node.asks()
            }
        }
    }

    /// Whether there is at most one way to match it from any place.
    fn has_one_way(&self) -> bool {
        match self {
            Self::Chars(_) | Self::At(_) | Self::Same { .. } => true,
            Self::Concat(nodes) => nodes.iter().all(Self::has_one_way),
            Self::Repeat { node, least, most, .. } => Some(*least) == *most && node.has_one_way(),
            Self::Group(_, node) => node.has_one_way(),
            Self::Atomic(_) | Self::Around { .. } | Self::Either(_) | Self::IfTaken { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(char: char) -> Node {
        Node::Chars(Chars::one(char))
    }

    #[test]
    fn anchors_at_the_ends_and_groups_that_nobody_asks_for_are_left_out() {
        let inner = Node::Group(1, Box::new(Node::text("ab")));
        let node = Node::Concat(vec![Node::At(Place::Start), inner, Node::At(Place::End)]);

        assert_eq!(Node::text("ab"), simplify(node));
    }

    #[test]
    fn a_group_that_is_asked_for_stays() {
        let node = Node::Concat(vec![Node::Group(1, Box::new(letter('a'))), Node::Same { group: 1, folded: false }]);

        assert_eq!(node.clone(), simplify(node));
    }

    #[test]
    fn counts_that_no_name_can_reach_are_cut() {
        let many = |least, most| simplify(Node::repeat(Node::text("ab"), least, most, Greed::Greedy));

        assert_eq!(Node::NOTHING, many(125, None));
        assert_eq!(Node::repeat(Node::text("ab"), 2, None, Greed::Greedy), many(2, Some(1000)));
        assert_eq!(Node::repeat(Node::text("ab"), 2, Some(124), Greed::Greedy), many(2, Some(124)));
    }

    #[test]
    fn alternatives_of_single_characters_are_one_set() {
        let node = Node::Either(vec![letter('a'), Node::NOTHING, Node::Either(vec![letter('b'), letter('c')])]);

        assert_eq!(Node::Chars(Chars::of("abc")), simplify(node));
    }
}

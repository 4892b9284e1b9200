//! Alternatives that RE2/J 1.8 factors incorrectly.
//!
//! RE2/J factors a common first part out of neighbouring alternatives. Its comparison of single letters ignores
//! whether case matters, and it stores a letter that matches in either case as the upper-case letter. So for `O[0-9]+|[oO]rders`,
//! it takes `O` out of both, and no longer matches `orders`.

use super::super::char_set::CharSet;
use super::super::syntax::Node;

/// Return true if two neighbouring alternatives, after the parts that they share, begin with the same letter: one with the
/// upper-case letter only, the other with the letter in either case. RE2/J factors some of these correctly; they are rejected, too.
pub(super) fn can_be_misfactored(alternatives: &[Node]) -> bool {
    let mut flat = Vec::new();
    flatten(alternatives, &mut flat);
    let mut waiting: Vec<Vec<&[&Node]>> = vec![flat.iter().map(Vec::as_slice).collect()];
    while let Some(alternatives) = waiting.pop() {
        let groups = alternatives.chunk_by(|left, right| left.first() == right.first());
        let first = |group: &[&[&Node]]| group[0].first().map(|first| first_chars(first)).unwrap_or_default();
        let firsts: Vec<Heads> = groups.clone().map(first).collect();
        if firsts.windows(2).any(|pair| pair[0].differ_in_case(pair[1])) {
            return true;
        }
        let shared = groups.filter(|group| group.len() > 1 && !group[0].is_empty());
        waiting.extend(shared.map(|group| group.iter().map(|parts| &parts[1..]).collect()));
    }
    false
}

/// Add the parts of each alternative; a nested alternation counts as several alternatives of the outer one.
fn flatten<'a>(alternatives: &'a [Node], flat: &mut Vec<Vec<&'a Node>>) {
    for alternative in alternatives {
        if let Node::Alternation(nodes) = alternative {
            flatten(nodes, flat);
        } else {
            let mut parts = Vec::new();
            split(alternative, &mut parts);
            flat.push(parts);
        }
    }
}

fn split<'a>(node: &'a Node, parts: &mut Vec<&'a Node>) {
    match node {
        Node::Concat(nodes) => nodes.iter().for_each(|node| split(node, parts)),
        _ => parts.push(node),
    }
}

/// Letters with which a node can begin, in upper case: those that match only in upper case, and those that match in either case.
#[derive(Clone, Copy, Default)]
struct Heads {
    upper: CharSet,
    either: CharSet,
}

impl Heads {
    fn of(chars: CharSet) -> Self {
        let upper = chars & CharSet::UPPER;
        match upper.only() {
            Some(_) if chars == upper => Self { upper, either: CharSet::NONE },
            Some(_) if chars == upper.both_cases() => Self { upper: CharSet::NONE, either: upper },
            _ => Self::default(),
        }
    }

    fn and(self, other: Self) -> Self {
        Self { upper: self.upper | other.upper, either: self.either | other.either }
    }

    fn differ_in_case(self, other: Self) -> bool {
        self.upper & other.either != CharSet::NONE || self.either & other.upper != CharSet::NONE
    }
}

/// Return the letters with which a node can begin. RE2/J makes one set of an alternation of single characters.
fn first_chars(node: &Node) -> Heads {
    match node {
        Node::CharClass(chars) => Heads::of(*chars),
        Node::Repetition { node, least, most, .. } if *most == Some(*least) => first_chars(node),
        Node::Concat(nodes) => nodes.first().map(first_chars).unwrap_or_default(),
        Node::Alternation(nodes) => {
            let one = nodes.iter().try_fold(CharSet::NONE, |all, node| match node {
                Node::CharClass(chars) => Some(all | *chars),
                _ => None,
            });
            nodes.iter().map(first_chars).fold(one.map(Heads::of).unwrap_or_default(), Heads::and)
        }
        _ => Heads::default(),
    }
}

//! Literals of a pattern: exact names, prefixes and suffixes that are looked up in sorted names.

use super::char_set::CharSet;
use super::limits::MAX_CONDITIONS;
use super::syntax::{Assertion, Greed, Node};

/// Maximum number of literals that a pattern is expanded to.
const MAX_LITERALS: usize = 64;

/// The part of a pattern that can be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Literals {
    /// The name is one of these sorted, distinct names.
    Exact(Vec<Vec<u8>>),
    /// The name has one of these prefixes, and at least this number of characters after it. No prefix is a prefix of another.
    Prefixes(Vec<Vec<u8>>, usize),
    /// The name has one of these reversed suffixes, and at least this number of characters before it. No suffix is a suffix
    /// of another.
    Suffixes(Vec<Vec<u8>>, usize),
    /// Nodes that the name must match, or must not match if the flag is true.
    Conditions(Vec<(bool, Node)>),
    /// The name has this prefix, which may be empty; the rest needs a search.
    Search(Vec<u8>),
}

/// Extract the literals of a simplified tree; it may be split into several conditions if `split` is true.
pub(crate) fn extract(node: &Node, split: bool) -> Literals {
    if let Some(names) = expand(node) {
        return Literals::Exact(names);
    }
    let nodes = concatenated(node);
    if let Some((open, more)) = any_text(nodes.iter().rev())
        && let Some(prefixes) = expand_all(&nodes[..nodes.len() - open])
    {
        return Literals::Prefixes(shortest(prefixes), more);
    }
    if let Some((open, more)) = any_text(nodes.iter())
        && let Some(suffixes) = expand_all(&nodes[open..])
    {
        let suffixes = suffixes.into_iter().map(|suffix| suffix.into_iter().rev().collect()).collect();
        return Literals::Suffixes(shortest(suffixes), more);
    }
    if split && let Some(both) = conditions(nodes) {
        return Literals::Conditions(both);
    }
    Literals::Search(
        nodes.iter().map_while(|node| if let Node::CharClass(set) = node { set.only() } else { None }).collect(),
    )
}

/// Return the nodes that a node concatenates.
fn concatenated(node: &Node) -> &[Node] {
    match node {
        Node::Concat(nodes) => nodes,
        node => std::slice::from_ref(node),
    }
}

/// Return the number of leading nodes that match any text, and the minimum number of characters that they consume.
fn any_text<'a>(nodes: impl Iterator<Item = &'a Node>) -> Option<(usize, usize)> {
    let (mut run, mut more, mut bounded) = (0, 0, true);
    for node in nodes {
        match node {
            Node::CharClass(CharSet::ALL) => more += 1,
            // A possessive repetition would leave nothing for the nodes after it.
            Node::Repetition { node, least, most: None, greed: Greed::Greedy | Greed::Lazy }
                if **node == Node::CharClass(CharSet::ALL) =>
            {
                more += *least as usize;
                bounded = false;
            }
            _ => break,
        }
        run += 1;
    }
    (!bounded).then_some((run, more))
}

/// Return all texts that a node matches, sorted and distinct; None if there are too many, or if the node has assertions.
fn expand(node: &Node) -> Option<Vec<Vec<u8>>> {
    let mut texts = match node {
        Node::CharClass(set) => set.iter().take(MAX_LITERALS + 1).map(|byte| vec![byte]).collect(),
        Node::Concat(nodes) => expand_all(nodes)?,
        Node::Alternation(nodes) => {
            let mut found = Vec::new();
            for node in nodes {
                found.extend(expand(node)?);
                if found.len() > MAX_LITERALS {
                    return None;
                }
            }
            found
        }
        Node::Repetition { node, least, most: Some(most), greed: Greed::Greedy | Greed::Lazy } => {
            let once = expand(node)?;
            let mut found = Vec::new();
            let mut times = vec![Vec::new()];
            for time in 0..=*most {
                if time >= *least {
                    found.extend(times.iter().cloned());
                }
                if time < *most {
                    times = product(&times, &once)?;
                }
                if found.len() > MAX_LITERALS {
                    return None;
                }
            }
            found
        }
        _ => return None,
    };
    texts.sort_unstable();
    texts.dedup();
    (texts.len() <= MAX_LITERALS).then_some(texts)
}

fn expand_all(nodes: &[Node]) -> Option<Vec<Vec<u8>>> {
    let mut found = vec![Vec::new()];
    for node in nodes {
        match expand(node)?.as_slice() {
            [only] => found.iter_mut().for_each(|text| text.extend(only)),
            several => found = product(&found, several)?,
        }
    }
    Some(found)
}

fn product(firsts: &[Vec<u8>], seconds: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    if firsts.len() * seconds.len() > MAX_LITERALS {
        return None;
    }
    Some(
        firsts.iter().flat_map(|first| seconds.iter().map(move |second| [first.as_slice(), second].concat())).collect(),
    )
}

/// Sort the texts, and remove each that has another one as its prefix.
fn shortest(mut texts: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    texts.sort_unstable();
    texts.dedup_by(|next, kept| next.starts_with(kept));
    texts
}

/// Return the conditions of a pattern whose look-around is only at its ends.
fn conditions(nodes: &[Node]) -> Option<Vec<(bool, Node)>> {
    let ahead = nodes.iter().take_while(|node| matches!(node, Node::LookAround { ahead: true, .. })).count();
    let rest = &nodes[ahead..];
    let behind = rest.iter().rev().take_while(|node| matches!(node, Node::LookAround { ahead: false, .. })).count();
    if ahead + behind == 0 || ahead + behind > MAX_CONDITIONS || nodes.iter().any(Node::has_references) {
        return None;
    }
    let (middle, after) = rest.split_at(rest.len() - behind);
    let mut all = vec![(false, Node::Concat(middle.to_vec()))];
    for node in nodes[..ahead].iter().chain(after) {
        let Node::LookAround { ahead, negated, node } = node else { continue };
        let mut whole = concatenated(node).to_vec();
        if !*ahead {
            whole.insert(0, Node::any_text());
        } else if whole.last() != Some(&Node::Assert(Assertion::End)) {
            whole.push(Node::any_text());
        }
        all.push((*negated, Node::Concat(whole)));
    }
    Some(all)
}

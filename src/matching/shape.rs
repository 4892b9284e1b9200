//! Sees what of a pattern is plain text: whole names, beginnings and endings are looked up, not searched for.

use super::chars::Chars;
use super::syntax::{Greed, Node, Place};

/// How many texts a pattern may stand for to be taken for a list of them.
const MANY: usize = 64;

/// What a pattern looks for, as far as that is plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One of these names; in order, each once.
    Names(Vec<Vec<u8>>),
    /// One of these beginnings and at least so many characters more; none of them begins with another.
    Heads(Vec<Vec<u8>>, usize),
    /// One of these endings, spelled backwards, and at least so many characters before; none of them ends with another.
    Tails(Vec<Vec<u8>>, usize),
    /// All of these, or not these (true).
    All(Vec<(bool, Node)>),
    /// Anything else; it begins with this text.
    Other(Vec<u8>),
}

/// The shape of a simplified tree; `split` is whether it may be that of several conditions.
pub(crate) fn shape(node: &Node, split: bool) -> Shape {
    if let Some(names) = texts(node) {
        return Shape::Names(names);
    }
    let nodes = parts(node);
    if let Some((open, more)) = anything(nodes.iter().rev())
        && let Some(heads) = texts_of(&nodes[..nodes.len() - open])
    {
        return Shape::Heads(shortest(heads), more);
    }
    if let Some((open, more)) = anything(nodes.iter())
        && let Some(tails) = texts_of(&nodes[open..])
    {
        let tails = tails.into_iter().map(|tail| tail.into_iter().rev().collect()).collect();
        return Shape::Tails(shortest(tails), more);
    }
    if split && let Some(both) = conditions(nodes) {
        return Shape::All(both);
    }
    Shape::Other(nodes.iter().map_while(|node| if let Node::Chars(set) = node { set.only() } else { None }).collect())
}

/// The parts that follow each other.
fn parts(node: &Node) -> &[Node] {
    match node {
        Node::Concat(nodes) => nodes,
        node => std::slice::from_ref(node),
    }
}

/// How many of the nodes take any characters, without bound, and how many characters they take at least.
fn anything<'a>(nodes: impl Iterator<Item = &'a Node>) -> Option<(usize, usize)> {
    let (mut run, mut more, mut bounded) = (0, 0, true);
    for node in nodes {
        match node {
            Node::Chars(Chars::ALL) => more += 1,
            // One that gives nothing back would leave nothing to what follows it.
            Node::Repeat { node, least, most: None, greed: Greed::Greedy | Greed::Lazy }
                if **node == Node::Chars(Chars::ALL) =>
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

/// All texts that it stands for, in order, each once; none where there are too many, or not only texts.
fn texts(node: &Node) -> Option<Vec<Vec<u8>>> {
    let mut texts = match node {
        Node::Chars(set) => set.iter().take(MANY + 1).map(|byte| vec![byte]).collect(),
        Node::Concat(nodes) => texts_of(nodes)?,
        Node::Either(nodes) => {
            let mut found = Vec::new();
            for node in nodes {
                found.extend(texts(node)?);
                if found.len() > MANY {
                    return None;
                }
            }
            found
        }
        Node::Repeat { node, least, most: Some(most), greed: Greed::Greedy | Greed::Lazy } => {
            let once = texts(node)?;
            let mut found = Vec::new();
            let mut times = vec![Vec::new()];
            for time in 0..=*most {
                if time >= *least {
                    found.extend(times.iter().cloned());
                }
                if time < *most {
                    times = product(&times, &once)?;
                }
                if found.len() > MANY {
                    return None;
                }
            }
            found
        }
        _ => return None,
    };
    texts.sort_unstable();
    texts.dedup();
    (texts.len() <= MANY).then_some(texts)
}

fn texts_of(nodes: &[Node]) -> Option<Vec<Vec<u8>>> {
    let mut found = vec![Vec::new()];
    for node in nodes {
        match texts(node)?.as_slice() {
            [only] => found.iter_mut().for_each(|text| text.extend(only)),
            several => found = product(&found, several)?,
        }
    }
    Some(found)
}

fn product(firsts: &[Vec<u8>], seconds: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    if firsts.len() * seconds.len() > MANY {
        return None;
    }
    Some(
        firsts.iter().flat_map(|first| seconds.iter().map(move |second| [first.as_slice(), second].concat())).collect(),
    )
}

/// In order, without those that begin with another.
fn shortest(mut texts: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    texts.sort_unstable();
    texts.dedup_by(|next, kept| next.starts_with(kept));
    texts
}

/// What the name must be, and must not be, where the pattern looks around at its ends only.
fn conditions(nodes: &[Node]) -> Option<Vec<(bool, Node)>> {
    let ahead = nodes.iter().take_while(|node| matches!(node, Node::Around { ahead: true, .. })).count();
    let rest = &nodes[ahead..];
    let behind = rest.iter().rev().take_while(|node| matches!(node, Node::Around { ahead: false, .. })).count();
    if ahead + behind == 0 || nodes.iter().any(Node::asks) {
        return None;
    }
    let (middle, after) = rest.split_at(rest.len() - behind);
    let mut all = vec![(false, Node::Concat(middle.to_vec()))];
    for node in nodes[..ahead].iter().chain(after) {
        let Node::Around { ahead, negated, node } = node else { continue };
        let mut whole = parts(node).to_vec();
        if !*ahead {
            whole.insert(0, Node::anything());
        } else if whole.last() != Some(&Node::At(Place::End)) {
            whole.push(Node::anything());
        }
        all.push((*negated, Node::Concat(whole)));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_character_is_not_anything() {
        let node = Node::Concat(vec![Node::text("t"), Node::Chars(Chars::ALL)]);

        assert_eq!(Shape::Other(b"t".to_vec()), shape(&node, true));
    }

    fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn alternatives_of_texts_are_names() {
        let region = Node::Either(vec![Node::text("us"), Node::text("eu"), Node::text("us")]);
        let node = Node::Concat(vec![region, Node::Chars(Chars::of("12"))]);

        assert_eq!(Shape::Names(texts(&["eu1", "eu2", "us1", "us2"])), shape(&node, true));
    }

    #[test]
    fn a_text_before_anything_is_a_head_and_behind_it_a_tail() {
        let names = Node::Either(vec![Node::text("orders"), Node::text("order"), Node::text("mail")]);
        let heads = Node::Concat(vec![names, Node::anything()]);
        let tail = Node::Concat(vec![
            Node::anything(),
            Node::Chars(Chars::ALL),
            Node::Chars(Chars::one('-')),
            Node::text("d"),
            Node::text("l"),
        ]);

        assert_eq!(Shape::Heads(texts(&["mail", "order"]), 0), shape(&heads, true));
        assert_eq!(Shape::Tails(texts(&["ld-"]), 1), shape(&tail, true));
    }

    #[test]
    fn anything_is_the_empty_head() {
        assert_eq!(Shape::Heads(texts(&[""]), 0), shape(&Node::anything(), true));
    }

    #[test]
    fn anything_that_gives_nothing_back_is_no_tail() {
        let all = Node::repeat(Node::Chars(Chars::ALL), 0, None, Greed::Possessive);
        let node = Node::Concat(vec![all, Node::text("a")]);

        assert_eq!(Shape::Other(Vec::new()), shape(&node, true));
    }

    #[test]
    fn looking_around_at_the_ends_is_a_condition_on_the_name() {
        let not = Node::Around { ahead: true, negated: true, node: Box::new(Node::text("__")) };
        let node = Node::Concat(vec![not, Node::anything()]);

        let letter = Node::Chars(Chars::one('_'));
        let internal = Node::Concat(vec![letter.clone(), letter, Node::anything()]);
        assert_eq!(
            Shape::All(vec![(false, Node::Concat(vec![Node::anything()])), (true, internal)]),
            shape(&node, true)
        );
    }

    #[test]
    fn anything_else_begins_with_what_text_it_begins_with() {
        let more = Node::repeat(Node::text("a"), 1, None, Greed::Lazy);
        let node = Node::Concat(vec![Node::text("t"), Node::text("-"), more]);

        assert_eq!(Shape::Other(b"t-".to_vec()), shape(&node, true));
    }
}

//! Parts of a pattern: what they mean, and how Java sees their length.

use super::super::chars::Chars;
use super::super::syntax::Node;
use super::width::{Step, Width};

/// What a part means, and how Java sees its length.
pub(super) struct Part {
    pub(super) node: Node,
    pub(super) steps: Vec<Step>,
}

/// A part that is no group, and whether Java repeats it by a loop over characters.
pub(super) struct Atom {
    pub(super) part: Part,
    pub(super) is_property: bool,
}

impl Part {
    pub(super) fn either(parts: Vec<Self>) -> Self {
        let steps = vec![Step::Either(parts.iter().map(|part| Width::of(&part.steps)).collect())];
        Self { node: Node::Either(parts.into_iter().map(|part| part.node).collect()), steps }
    }
}

impl Atom {
    pub(super) fn of(node: Node, steps: Vec<Step>) -> Self {
        Self { part: Part { node, steps }, is_property: false }
    }

    pub(super) fn property(set: Chars) -> Self {
        Self { part: Part { node: Node::Chars(set), steps: vec![Step::Add(1, 1)] }, is_property: true }
    }
}

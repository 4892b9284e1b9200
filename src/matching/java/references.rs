//! Whether a back-reference can be followed exactly.
//!
//! Java forgets what a group took when it takes back the way that led there, but not for a group inside of a
//! look-around, an atomic group, a possessive repetition, or a repeated group that can match in one way only. There, a
//! reference may see what was taken on a way that failed; unless every way to the reference passes the group, and only
//! once.

use super::super::syntax::Node;
use std::collections::BTreeSet;

/// Whether no reference can see what one of the `kept` groups took on a way that failed.
pub(super) fn are_exact(node: &Node, kept: &BTreeSet<u32>) -> bool {
    kept.is_empty() || passes(node, kept, false, &mut BTreeSet::new())
}

/// Goes through a node, `taken` being the groups that were passed once on every way; whether all references are exact.
fn passes(node: &Node, kept: &BTreeSet<u32>, repeated: bool, taken: &mut BTreeSet<u32>) -> bool {
    match node {
        Node::CharClass(_) | Node::Assert(_) => true,
        Node::Concat(nodes) => nodes.iter().all(|node| passes(node, kept, repeated, taken)),
        Node::Alternation(nodes) => {
            let mut common: Option<BTreeSet<u32>> = None;
            for node in nodes {
                let mut there = taken.clone();
                if !passes(node, kept, repeated, &mut there) {
                    return false;
                }
                common = Some(common.map_or_else(|| there.clone(), |common| &common & &there));
            }
            *taken = common.unwrap_or_default();
            true
        }
        Node::Repetition { node, .. } => passes(node, kept, true, &mut taken.clone()),
        Node::Capture(group, node) => {
            let exact = passes(node, kept, repeated, taken);
            if !repeated {
                taken.insert(*group);
            }
            exact
        }
        Node::Atomic(node) | Node::LookAround { node, negated: false, .. } => passes(node, kept, repeated, taken),
        Node::LookAround { node, negated: true, .. } => passes(node, kept, repeated, &mut taken.clone()),
        Node::Backreference { group, .. } => !kept.contains(group) || taken.contains(group),
        Node::Conditional { taken: then, other, .. } => {
            passes(then, kept, repeated, &mut taken.clone()) && passes(other, kept, repeated, &mut taken.clone())
        }
    }
}

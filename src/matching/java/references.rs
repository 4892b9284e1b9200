//! Check that backreferences can be matched exactly.
//!
//! When Java backtracks over a group, it restores the group's previous capture. It does not restore the capture of a group
//! inside a look-around, an atomic group, a possessive repetition, or a repeated group that can match in only one way. A
//! backreference to such a group may see a capture from a failed path, unless every path to the backreference captures the
//! group exactly once.

use super::super::syntax::Node;
use std::collections::BTreeSet;

/// Return true if no backreference can see a capture of the `kept` groups that Java kept after backtracking.
pub(super) fn are_exact(node: &Node, kept: &BTreeSet<u32>) -> bool {
    kept.is_empty() || passes(node, kept, false, &mut BTreeSet::new())
}

/// Return true if all backreferences in a node are exact; update `taken`, the groups that every path captured once.
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
            if !repeated && kept.contains(group) {
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

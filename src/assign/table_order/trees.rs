//! Iteration order of a `java.util.HashMap` in which a bucket becomes a tree.
//!
//! In a table of 64 or more buckets, a bucket with nine or more keys becomes a red-black tree; in a table that `computeIfAbsent`
//! fills, a bucket with eight keys does. Its keys also form a list, which
//! iteration follows: a new key is inserted after its parent in the tree, and the root then moves to the front. When the table
//! doubles, a tree is split in the order of its list; a part with six or fewer keys becomes a chain again. A tree compares keys by
//! hash code, then by their natural order.
//!
//! This module simulates all insertions, which is slow. It is used only if a bucket may be a tree.

use std::cmp::Ordering;

use super::{MIN_TREEIFY_CAPACITY, TREEIFY_THRESHOLD, is_full};
use crate::group::folded_hash;

/// Largest number of keys with which a part of a split tree becomes a chain again (`UNTREEIFY_THRESHOLD`).
const UNTREEIFY_THRESHOLD: usize = 6;

/// No key.
const NONE: u32 = u32::MAX;

/// Key as a node of a tree. Sides are 0 for left and 1 for right.
#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    children: [u32; 2],
    is_red: bool,
}

/// Keys in iteration order, and the root if they form a tree, else `NONE`.
struct Bucket {
    keys: Vec<u32>,
    root: u32,
}

impl Bucket {
    const fn new() -> Self {
        Self { keys: Vec::new(), root: NONE }
    }
}

/// Method that adds keys to a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    /// `put`: the last place of a bucket.
    Put,
    /// `computeIfAbsent`: the first place of a bucket.
    Compute {
        /// True if a call for a known key follows the last insertion.
        is_called_again: bool,
    },
}

/// Table whose buckets may be trees; keys are numbered in insertion order.
pub(super) struct TreeTable<'a, F> {
    hashes: &'a [i32],
    /// Natural order of keys with equal hash codes.
    compare: F,
    buckets: Vec<Bucket>,
    nodes: Vec<Node>,
}

impl<'a, F: Fn(u32, u32) -> Ordering> TreeTable<'a, F> {
    /// Return the keys in iteration order.
    pub(super) fn order(hashes: &'a [i32], capacity: usize, filling: Filling, compare: F) -> Vec<u32> {
        let nodes = vec![Node { parent: NONE, children: [NONE; 2], is_red: false }; hashes.len()];
        let mut table = Self { hashes, compare, buckets: (0..capacity).map(|_| Bucket::new()).collect(), nodes };
        for key in 0..hashes.len() {
            match filling {
                Filling::Put => {
                    table.add(key as u32, false);
                    table.double_if_full(key + 1);
                }
                Filling::Compute { .. } => {
                    table.double_if_full(key);
                    table.add(key as u32, true);
                }
            }
        }
        if filling == (Filling::Compute { is_called_again: true }) {
            table.double_if_full(hashes.len());
        }
        table.buckets.into_iter().flat_map(|bucket| bucket.keys).collect()
    }

    fn double_if_full(&mut self, keys: usize) {
        if is_full(keys, self.buckets.len()) {
            self.double();
        }
    }

    /// Add a key as the last or the first of its bucket.
    fn add(&mut self, key: u32, is_first: bool) {
        let place = self.hash(key) as usize & (self.buckets.len() - 1);
        let root = self.buckets[place].root;
        if root != NONE {
            let parent = self.attach(root, key);
            let keys = &mut self.buckets[place].keys;
            let after = keys.iter().position(|other| *other == parent).map_or(keys.len(), |index| index + 1);
            keys.insert(after, key);
            let root = self.balance(root, key);
            self.set_root(place, root);
            return;
        }
        let keys = &mut self.buckets[place].keys;
        keys.insert(if is_first { 0 } else { keys.len() }, key);
        if keys.len() + usize::from(is_first) > TREEIFY_THRESHOLD as usize {
            if self.buckets.len() < MIN_TREEIFY_CAPACITY { self.double() } else { self.treeify(place) }
        }
    }

    fn double(&mut self) {
        let size = self.buckets.len();
        let doubled = (0..2 * size).map(|_| Bucket::new()).collect();
        for (place, bucket) in std::mem::replace(&mut self.buckets, doubled).into_iter().enumerate() {
            let count = bucket.keys.len();
            for key in bucket.keys {
                let part = place + (self.hash(key) as usize & size);
                self.buckets[part].keys.push(key);
            }
            for part in [place, place + size] {
                if bucket.root == NONE || self.buckets[part].keys.len() <= UNTREEIFY_THRESHOLD {
                    continue;
                }
                if self.buckets[part].keys.len() == count {
                    self.buckets[part].root = bucket.root;
                } else {
                    self.treeify(part);
                }
            }
        }
    }

    fn treeify(&mut self, place: usize) {
        let keys = self.buckets[place].keys.clone();
        let mut root = keys[0];
        self.nodes[root as usize] = Node { parent: NONE, children: [NONE; 2], is_red: false };
        for key in &keys[1..] {
            self.attach(root, *key);
            root = self.balance(root, *key);
        }
        self.set_root(place, root);
    }

    fn set_root(&mut self, place: usize, root: u32) {
        let bucket = &mut self.buckets[place];
        bucket.root = root;
        if let Some(index) = bucket.keys.iter().position(|key| *key == root) {
            bucket.keys[..=index].rotate_right(1);
        }
    }

    /// Insert a key where a search for it ends; return its parent.
    fn attach(&mut self, root: u32, key: u32) -> u32 {
        let mut parent = root;
        loop {
            let by_hash = (self.hash(key) as i32).cmp(&(self.hash(parent) as i32));
            let side = usize::from(by_hash.then_with(|| (self.compare)(key, parent)).is_ge());
            let child = self.nodes[parent as usize].children[side];
            if child == NONE {
                self.nodes[key as usize] = Node { parent, children: [NONE; 2], is_red: true };
                self.nodes[parent as usize].children[side] = key;
                return parent;
            }
            parent = child;
        }
    }

    /// Restore the invariants of a red-black tree after an insertion; return the root.
    fn balance(&mut self, mut root: u32, mut key: u32) -> u32 {
        loop {
            let mut parent = self.nodes[key as usize].parent;
            if parent == NONE {
                self.nodes[key as usize].is_red = false;
                return key;
            }
            let above = self.nodes[parent as usize].parent;
            if !self.nodes[parent as usize].is_red || above == NONE {
                return root;
            }
            let near = self.side(above, parent);
            let uncle = self.nodes[above as usize].children[1 - near];
            if uncle != NONE && self.nodes[uncle as usize].is_red {
                self.nodes[uncle as usize].is_red = false;
                self.nodes[parent as usize].is_red = false;
                self.nodes[above as usize].is_red = true;
                key = above;
                continue;
            }
            if key == self.nodes[parent as usize].children[1 - near] {
                std::mem::swap(&mut key, &mut parent);
                root = self.rotate(root, key, 1 - near);
            }
            self.nodes[parent as usize].is_red = false;
            self.nodes[above as usize].is_red = true;
            root = self.rotate(root, above, near);
        }
    }

    /// Rotate a node: replace it by its child on a side; return the root.
    fn rotate(&mut self, root: u32, node: u32, side: usize) -> u32 {
        let child = self.nodes[node as usize].children[side];
        if child == NONE {
            return root;
        }
        let inner = self.nodes[child as usize].children[1 - side];
        self.nodes[node as usize].children[side] = inner;
        if inner != NONE {
            self.nodes[inner as usize].parent = node;
        }
        let above = self.nodes[node as usize].parent;
        self.nodes[child as usize].parent = above;
        if above == NONE {
            self.nodes[child as usize].is_red = false;
        } else {
            let side_above = self.side(above, node);
            self.nodes[above as usize].children[side_above] = child;
        }
        self.nodes[child as usize].children[1 - side] = node;
        self.nodes[node as usize].parent = child;
        if above == NONE { child } else { root }
    }

    fn side(&self, parent: u32, child: u32) -> usize {
        usize::from(self.nodes[parent as usize].children[0] != child)
    }

    fn hash(&self, key: u32) -> u32 {
        folded_hash(self.hashes[key as usize])
    }
}

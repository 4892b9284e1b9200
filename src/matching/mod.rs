//! Topic patterns: which topic names a pattern matches, in the dialect of the client or broker that it is written for.
//!
//! The parser of a dialect makes a syntax tree of a pattern (`syntax`). It follows the rules of its dialect alone, with that
//! dialect's errors. Topic names have few characters, so the tree holds plain sets of them, and no two engines need to agree
//! on what a letter is. `program` turns a tree into literal lookups, an automaton or a backtracking match.

mod automaton;
mod backtracking;
pub mod catalog;
pub mod char_set;
pub mod dialect;
mod java;
mod librdkafka;
mod literal_index;
mod literals;
pub mod matcher;
pub mod pattern;
mod program;
mod python;
mod re2j;
mod repetition;
mod scanner;
mod simplify;
pub mod syntax;

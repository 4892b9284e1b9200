//! Topic patterns: matching of topic names by the regular expressions of clients and of the broker.
//!
//! Each dialect has a parser, with the dialect's rules and errors, that turns a pattern into a syntax tree (`syntax`). Topic
//! names have few distinct characters, so the tree contains plain character sets, and the dialects' definitions of letters
//! do not matter afterwards. `program` turns a tree into literal lookups, an automaton or a backtracking match.

mod automaton;
mod backtracking;
pub mod catalog;
pub mod char_set;
pub mod dialect;
mod java;
mod librdkafka;
pub mod limits;
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

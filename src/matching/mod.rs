//! Which topics a pattern means, in the dialect of who wrote it.
//!
//! A dialect's parser makes a tree of what the pattern means (`syntax`), with the dialect's own rules and none of another's.
//! Topic names have few characters, so the tree holds plain sets of them and can be exact where no two engines agree on text.

#[cfg(test)]
mod asked;
pub mod catalog;
pub mod chars;
mod clues;
pub mod dialect;
mod iterations;
mod java;
mod librdkafka;
pub mod matcher;
pub mod pattern;
mod program;
mod python;
mod re2j;
mod regular;
mod shape;
mod simplify;
pub mod syntax;
mod text;
pub mod walk;

//! The dialect java: `java.util.regex` of Java 17, over the whole name.
//!
//! Java parses a pattern in one pass, which has undocumented effects on the places of comments, the combination of nested classes
//! and the maximum length of look-behinds. This parser has the same structure.

mod brackets;
mod cursor;
mod escape;
mod look_behind;
pub(super) mod names;
mod parser;
mod properties;
mod quantifier;
mod references;
mod width;

use super::syntax::Node;
use crate::error::PatternError;

/// Parse a pattern into a tree that matches whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    parser::Parser::new(pattern).pattern()
}

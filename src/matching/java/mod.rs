//! The dialect java: `java.util.regex` of Java 17, over the whole name.
//!
//! Java reads a pattern in one pass, with effects that its documentation does not tell: where comments may stand, what a
//! nested class takes of the one around it, which look-behinds have a maximum length. The parser goes the same way.

mod brackets;
mod cursor;
mod escape;
mod names;
mod parser;
mod properties;
mod references;
mod width;

use super::syntax::Node;
use crate::error::PatternError;

/// What the pattern means, over whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    parser::Parser::new(pattern).pattern()
}

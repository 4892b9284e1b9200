//! The dialect re2j.

use super::syntax::Node;
use super::text::{Text, unsupported};
use crate::error::PatternError;

/// What the pattern means, over whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    let text = Text::new(pattern);
    Err(unsupported(text.at, "everything"))
}

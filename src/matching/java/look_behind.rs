//! Look-behinds, which go back as far as the length that Java computes for them.

use super::super::char_set::CharSet;
use super::super::syntax::{Greed, Node};
use super::cursor::Cursor;
use super::width::Width;
use crate::error::PatternError;

/// Maximum length of a name.
const MAX_NAME_LENGTH: i32 = super::super::syntax::MAX_NAME_LENGTH as i32;

/// Return a look-behind that goes back no further than Java does.
pub(super) fn look_behind(
    cursor: &mut Cursor,
    body: Node,
    width: Width,
    negated: bool,
    start: usize,
) -> Result<Node, PatternError> {
    if !width.bounded {
        return Err(cursor.invalid(start, "a look-behind without an obvious maximum length"));
    }
    let least = i32::try_from(body.min_length()).unwrap_or(i32::MAX);
    let most = body.max_length().and_then(|most| i32::try_from(most).ok()).unwrap_or(i32::MAX);
    // If the maximum length overflowed, it is negative. Java subtracts it from the position to get the earliest start,
    // which is then after the position, so nothing matches. From position `needed` on, this difference overflows, too,
    // and matches are possible.
    let needed = if width.most < 0 { i32::MAX.wrapping_add(width.most).wrapping_add(1) } else { 0 };
    let never = width.most >= 0 && least.max(width.least) > width.most || needed > MAX_NAME_LENGTH;
    if never {
        return Ok(if negated { Node::EMPTY } else { Node::NOTHING });
    }
    if width.most >= 0 && most.min(MAX_NAME_LENGTH) > width.most {
        let construct = "a look-behind that can match more characters than Java computes";
        cursor.note_unsupported(start, construct);
        return Ok(Node::NOTHING);
    }
    let around = |negated, node| Node::LookAround { ahead: false, negated, node: Box::new(node) };
    if needed <= least {
        return Ok(around(negated, body));
    }
    let room = around(
        negated,
        Node::repeat(Node::CharClass(CharSet::ALL), needed.unsigned_abs(), Some(needed.unsigned_abs()), Greed::Greedy),
    );
    let found = around(negated, body);
    Ok(if negated { Node::Alternation(vec![room, found]) } else { Node::Concat(vec![room, found]) })
}

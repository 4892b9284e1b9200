//! Look-behinds, which go as far back as Java thinks that they are long.

use super::super::chars::Chars;
use super::super::syntax::{Greed, Node};
use super::cursor::Cursor;
use super::width::Width;
use crate::error::PatternError;

/// No name is longer.
const LONGEST: i32 = super::super::syntax::LONGEST as i32;

/// A look-behind, which looks no further back than Java believes to be necessary.
pub(super) fn look_behind(
    cursor: &mut Cursor,
    body: Node,
    width: Width,
    negated: bool,
    start: usize,
) -> Result<Node, PatternError> {
    if !width.bounded {
        return Err(cursor.refuse(start, "a look-behind without an obvious maximum length"));
    }
    let least = i32::try_from(body.least()).unwrap_or(i32::MAX);
    let most = body.most().and_then(|most| i32::try_from(most).ok()).unwrap_or(i32::MAX);
    // If the most has become negative, Java looks from a place behind, unless that overflows in turn.
    let needed = if width.most < 0 { i32::MAX.wrapping_add(width.most).wrapping_add(1) } else { 0 };
    let never = width.most >= 0 && least.max(width.least) > width.most || needed > LONGEST;
    if never {
        return Ok(if negated { Node::EMPTY } else { Node::NOTHING });
    }
    if width.most >= 0 && most.min(LONGEST) > width.most {
        let construct = "a look-behind that is longer than its maximum length in Java";
        cursor.doubt(start, construct);
        return Ok(Node::NOTHING);
    }
    let around = |negated, node| Node::Around { ahead: false, negated, node: Box::new(node) };
    if needed <= least {
        return Ok(around(negated, body));
    }
    let room = around(
        negated,
        Node::repeat(Node::Chars(Chars::ALL), needed.unsigned_abs(), Some(needed.unsigned_abs()), Greed::Greedy),
    );
    let found = around(negated, body);
    Ok(if negated { Node::Either(vec![room, found]) } else { Node::Concat(vec![room, found]) })
}

//! Quantifiers: `?`, `*`, `+`, and counts in braces.

use super::super::syntax::{Greed, Node};
use super::cursor::Cursor;
use super::width::{Step, Width};
use crate::error::PatternError;

/// Counts and greed of a repetition.
#[derive(Clone, Copy)]
pub(super) struct Quantifier {
    pub(super) least: i32,
    pub(super) most: Option<i32>,
    pub(super) greed: Greed,
}

impl Quantifier {
    pub(super) fn is_optional(self) -> bool {
        (self.least, self.most) == (0, Some(1))
    }

    pub(super) fn times(self, steps: &[Step]) -> Step {
        Step::Times(Width::of(steps), self.least, self.most.unwrap_or(i32::MAX))
    }

    pub(super) fn of(self, node: Node) -> Node {
        if node == Node::EMPTY {
            return node;
        }
        Node::repeat(node, self.least.unsigned_abs(), self.most.map(i32::unsigned_abs), self.greed)
    }
}

/// Parse the quantifier at the cursor, if there is one.
pub(super) fn quantifier(cursor: &mut Cursor) -> Result<Option<Quantifier>, PatternError> {
    let start = cursor.at;
    let (least, most) = match cursor.peek() {
        '?' => (0, Some(1)),
        '*' => (0, None),
        '+' => (1, None),
        '{' => counts(cursor)?,
        _ => return Ok(None),
    };
    if most.is_some_and(|most| most < least) {
        return Err(cursor.invalid(start, "the maximum repetition count is lower than the minimum"));
    }
    let greed = match cursor.next() {
        '?' => Greed::Lazy,
        '+' => Greed::Possessive,
        _ => Greed::Greedy,
    };
    if greed != Greed::Greedy {
        cursor.next();
    }
    Ok(Some(Quantifier { least, most, greed }))
}

/// Parse the counts in braces; the cursor stops at the closing brace.
fn counts(cursor: &mut Cursor) -> Result<(i32, Option<i32>), PatternError> {
    let start = cursor.at;
    if !cursor.raw(start + 1).is_ascii_digit() {
        return Err(cursor.invalid(start, "a repetition without a count"));
    }
    cursor.at += 1;
    let least = count(cursor, start)?;
    let mut most = Some(least);
    if cursor.peek() == ',' {
        most = if cursor.next() == '}' { None } else { Some(count(cursor, start)?) };
    }
    if cursor.peek() == '}' {
        Ok((least, most))
    } else {
        Err(cursor.invalid(start, "the repetition count is not closed"))
    }
}

fn count(cursor: &mut Cursor, start: usize) -> Result<i32, PatternError> {
    let mut count = 0i32;
    while let Some(digit) = cursor.peek().to_digit(10) {
        let next = count.checked_mul(10).and_then(|count| count.checked_add_unsigned(digit));
        count = next.ok_or_else(|| cursor.invalid(start, "the repetition count is too high"))?;
        cursor.next();
    }
    Ok(count)
}

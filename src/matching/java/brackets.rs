//! Character classes in brackets, with Java's rules for unions and intersections.

use super::super::char_set::CharSet;
use super::cursor::{Cursor, FAILURE};
use super::escape::{Escape, escape};
use super::properties::property;
use crate::error::PatternError;

/// An operand: all single characters of the class, or a set.
#[derive(Clone, Copy)]
enum Operand {
    Singles,
    Set(CharSet),
}

/// Parse a class, with the cursor at its bracket. If `closed` is false, there are no brackets: parse the right side of `&&`,
/// with the cursor one character before it.
pub(super) fn class(cursor: &mut Cursor, closed: bool) -> Result<CharSet, PatternError> {
    cursor.enter()?;
    let found = members(cursor, closed);
    cursor.leave();
    found
}

fn members(cursor: &mut Cursor, closed: bool) -> Result<CharSet, PatternError> {
    let start = cursor.at;
    // As in Java, all single characters of the class are one operand, so those after `&&` also belong to its left side.
    let (mut singles, mut pending) = (CharSet::NONE, false);
    let mut terms: Vec<(bool, Operand)> = Vec::new();
    // The last operand; None after a single character. Java uses it again as the right side of `&&` if that side is empty.
    let mut last = None;
    let mut char = cursor.next();
    let negated = char == '^' && cursor.raw(cursor.at - 1) == '[';
    if negated {
        char = cursor.next();
    }
    loop {
        match char {
            '[' => {
                let set = Operand::Set(class(cursor, true)?);
                last = Some(set);
                terms.push((false, set));
                char = cursor.peek();
                continue;
            }
            '&' => {
                let behind = cursor.at;
                if cursor.next() == '&' {
                    let right = right_side(cursor)?;
                    if pending {
                        if terms.is_empty() {
                            last = Some(Operand::Singles);
                        }
                        terms.push((false, Operand::Singles));
                        pending = false;
                    }
                    if let Some(right) = right {
                        last = Some(Operand::Set(right));
                    } else if terms.is_empty() {
                        return Err(cursor.invalid(behind, "an intersection without operands"));
                    }
                    match last {
                        Some(last) => terms.push((!terms.is_empty(), last)),
                        // While matching a name, Java throws an exception if the left side matches.
                        None => cursor.note_unsupported(behind, FAILURE),
                    }
                    char = cursor.peek();
                    continue;
                }
                cursor.back();
            }
            '\0' if cursor.ended() => return Err(cursor.invalid(start, "the character class is not closed")),
            ']' if pending || !terms.is_empty() => {
                if closed {
                    cursor.next();
                }
                break;
            }
            _ => {}
        }
        if let Some(set) = item(cursor, &mut singles)? {
            last = Some(Operand::Set(set));
            terms.push((false, Operand::Set(set)));
        } else {
            last = None;
            pending = true;
        }
        char = cursor.peek();
    }
    if pending {
        terms.push((false, Operand::Singles));
    }
    let set = terms.into_iter().fold(CharSet::NONE, |set, (both, operand)| {
        let operand = match operand {
            Operand::Singles => singles,
            Operand::Set(set) => set,
        };
        if both { set & operand } else { set | operand }
    });
    Ok(if negated { !set } else { set })
}

/// Parse the right side of `&&`, with the cursor at the second `&`; return None if it is empty.
fn right_side(cursor: &mut Cursor) -> Result<Option<CharSet>, PatternError> {
    let mut right: Option<CharSet> = None;
    let mut char = cursor.next();
    while char != ']' && char != '&' {
        let set = if char == '[' {
            class(cursor, true)?
        } else {
            cursor.back();
            class(cursor, false)?
        };
        right = Some(right.unwrap_or(CharSet::NONE) | set);
        char = cursor.peek();
    }
    Ok(right)
}

/// Parse a character, range or escape. A single character is added to `singles`; any other item is returned as a set.
fn item(cursor: &mut Cursor, singles: &mut CharSet) -> Result<Option<CharSet>, PatternError> {
    let start = cursor.at;
    let first = if cursor.peek() == '\\' {
        if matches!(cursor.raw(cursor.at + 1), 'p' | 'P') {
            return property(cursor).map(Some);
        }
        let in_range = cursor.raw(cursor.at + 2) == '-';
        match escape(cursor, true, in_range)? {
            Escape::Char(code) => code,
            Escape::Set(set) => return Ok(Some(set)),
            _ => return Err(cursor.invalid(start, "an escape that is not a character")),
        }
    } else {
        let char = cursor.peek();
        cursor.next();
        u32::from(char)
    };
    if cursor.peek() == '-' && !matches!(cursor.raw(cursor.at + 1), '[' | ']') {
        let last = if cursor.next() == '\\' {
            match escape(cursor, true, true)? {
                Escape::Char(code) => Some(code),
                _ => None,
            }
        } else {
            let char = cursor.peek();
            cursor.next();
            Some(u32::from(char))
        };
        let Some(last) = last.filter(|&last| first <= last) else {
            return Err(cursor.invalid(start, "a character range that ends before it starts"));
        };
        let range = range(first, last);
        return Ok(Some(if cursor.flags.fold { range.both_cases() } else { range }));
    }
    let set = cursor.folded(first);
    // If case is ignored for Unicode letters, Java does not add the characters of `is_folded_apart` to the single characters of the
    // class: each is an operand of its own.
    let apart = cursor.flags.fold && cursor.flags.unicode && is_folded_apart(first);
    if first < 256 && !apart {
        *singles = *singles | set;
        return Ok(None);
    }
    Ok(Some(set))
}

fn is_folded_apart(code: u32) -> bool {
    matches!(code, 0x49 | 0x4b | 0x53 | 0x69 | 0x6b | 0x73 | 0xb5 | 0xc5 | 0xe5 | 0xff)
}

/// Return the characters between two codes, which may be surrogates.
fn range(first: u32, last: u32) -> CharSet {
    match (char::from_u32(first), char::from_u32(last.min(0x7f))) {
        (Some(first), Some(last)) => CharSet::range(first, last),
        _ => CharSet::NONE,
    }
}

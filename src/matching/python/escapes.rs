//! Escapes of `re`, inside and outside of sets.

use super::super::java::names::ascii_code;
use super::tokens::Tokens;
use crate::error::PatternError;
use crate::matching::char_set::CharSet;
use crate::matching::scanner::invalid;
use crate::matching::syntax::Assertion;

/// The decimal digits.
pub(super) const DECIMAL: &str = "0123456789";
const OCTAL: &str = "01234567";
const HEXADECIMAL: &str = "0123456789abcdefABCDEF";

/// Meaning of an escape outside of a set.
pub(super) enum Escape {
    /// A character.
    Code(u32),
    /// A backreference.
    Group(u32),
    /// A character with an unknown name.
    Unknown,
}

/// Return a class of characters. For topic names, the Unicode class and the ASCII class are equal.
pub(super) fn class(char: char) -> Option<CharSet> {
    Some(match char {
        'd' => CharSet::DIGITS,
        'D' => !CharSet::DIGITS,
        's' => CharSet::one(' '),
        'S' => !CharSet::one(' '),
        'w' => CharSet::WORD,
        'W' => !CharSet::WORD,
        _ => return None,
    })
}

/// Return the assertion of an escape.
pub(super) fn assertion(char: char) -> Option<Assertion> {
    Some(match char {
        'A' => Assertion::Start,
        'Z' => Assertion::End,
        'b' => Assertion::WordBoundary,
        'B' => Assertion::NotWordBoundary,
        _ => return None,
    })
}

/// Parse an escape in a set after its first token; return its character code, or None for an unknown name.
pub(super) fn code_in_class(tokens: &mut Tokens, char: char, start: usize) -> Result<Option<u32>, PatternError> {
    if OCTAL.contains(char) {
        let digits = tokens.take_some(2, OCTAL)?;
        return octal(&format!("{char}{digits}"), start).map(Some);
    }
    if char.is_ascii_digit() {
        return Err(invalid(start, "unknown escape"));
    }
    if char == 'b' { Ok(Some(8)) } else { code(tokens, char, start) }
}

/// Parse an escape outside of a set that is neither a class nor an assertion.
pub(super) fn code_or_group(tokens: &mut Tokens, char: char, start: usize) -> Result<Escape, PatternError> {
    if char == '0' {
        let digits = tokens.take_some(2, OCTAL)?;
        return octal(&digits, start).map(Escape::Code);
    }
    if char.is_ascii_digit() {
        let digits = format!("{char}{}", tokens.take_some(1, DECIMAL)?);
        if digits.len() == 2 && digits.chars().all(|digit| OCTAL.contains(digit)) {
            let third = tokens.take_some(1, OCTAL)?;
            if !third.is_empty() {
                return octal(&format!("{digits}{third}"), start).map(Escape::Code);
            }
        }
        return Ok(Escape::Group(number(&digits, 10)));
    }
    Ok(code(tokens, char, start)?.map_or(Escape::Unknown, Escape::Code))
}

fn code(tokens: &mut Tokens, char: char, start: usize) -> Result<Option<u32>, PatternError> {
    let length = match char {
        'a' => return Ok(Some(7)),
        't' => return Ok(Some(9)),
        'n' => return Ok(Some(10)),
        'v' => return Ok(Some(11)),
        'f' => return Ok(Some(12)),
        'r' => return Ok(Some(13)),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        'N' if tokens.eat('{')? => {
            let name = tokens.name('}', "character name")?.to_ascii_uppercase();
            // Control characters have no name.
            return Ok(ascii_code(&name).filter(|code| (0x20..0x7F).contains(code)));
        }
        'N' => return Err(invalid(tokens.at(), "missing { after \\N")),
        char if char.is_ascii_alphabetic() => return Err(invalid(start, "unknown escape")),
        char => return Ok(Some(u32::from(char))),
    };
    let digits = tokens.take_some(length, HEXADECIMAL)?;
    if digits.len() < length {
        return Err(invalid(start, "incomplete escape"));
    }
    let code = number(&digits, 16);
    if code > u32::from(char::MAX) {
        return Err(invalid(start, "an escape above U+10FFFF"));
    }
    Ok(Some(code))
}

fn octal(digits: &str, start: usize) -> Result<u32, PatternError> {
    let code = number(digits, 8);
    if code > 0o377 { Err(invalid(start, "an octal escape above 377")) } else { Ok(code) }
}

/// Return the number that at most eight digits represent.
fn number(digits: &str, radix: u32) -> u32 {
    digits.chars().filter_map(|digit| digit.to_digit(radix)).fold(0, |sum, digit| sum * radix + digit)
}

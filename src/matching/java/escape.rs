//! Escapes, inside and outside of classes.

use super::super::char_set::CharSet;
use super::super::scanner::unsupported;
use super::super::syntax::{Assertion, Node};
use super::cursor::Cursor;
use super::names::ascii_code;
use crate::error::PatternError;

/// Meaning of an escape.
pub(super) enum Escape {
    /// A character code, which may be a surrogate.
    Char(u32),
    /// A set of characters.
    Set(CharSet),
    /// An assertion.
    Assertion(Assertion),
    /// `\b{g}`: between any two characters, as names have no combining characters.
    Anywhere,
    /// `\R`: no name has a line break.
    LineBreak,
    /// `\X`: one character, as names have no combining characters.
    Grapheme,
    /// `\1`: the first digit of a group number.
    Number(u32),
    /// `\k<name>`.
    Name(String),
}

/// Parse the escape at the cursor. `\v` is a set, but at either end of a range it is one character.
pub(super) fn escape(cursor: &mut Cursor, in_class: bool, in_range: bool) -> Result<Escape, PatternError> {
    let start = cursor.at;
    let char = cursor.raw(cursor.at + 1);
    cursor.at += 2;
    Ok(match char {
        '0' => Escape::Char(octal(cursor, start)?),
        'x' => Escape::Char(hexadecimal(cursor, start)?),
        'u' => Escape::Char(utf16(cursor, start)?),
        'N' => Escape::Char(named(cursor, start)?),
        'c' if cursor.ended() => return Err(cursor.invalid(start, "a control character without its letter")),
        'c' => Escape::Char(u32::from(cursor.read()) ^ 64),
        'a' => Escape::Char(0x07),
        'e' => Escape::Char(0x1b),
        'f' => Escape::Char(0x0c),
        'n' => Escape::Char(0x0a),
        'r' => Escape::Char(0x0d),
        't' => Escape::Char(0x09),
        'v' if in_range => Escape::Char(0x0b),
        'd' => Escape::Set(CharSet::DIGITS),
        'D' => Escape::Set(!CharSet::DIGITS),
        'h' | 's' => Escape::Set(CharSet::one(' ')),
        'H' | 'S' => Escape::Set(!CharSet::one(' ')),
        'v' => Escape::Set(CharSet::NONE),
        'V' => Escape::Set(CharSet::ALL),
        'w' => Escape::Set(CharSet::WORD),
        'W' => Escape::Set(!CharSet::WORD),
        '1'..='9' if !in_class => Escape::Number(u32::from(char) - u32::from('0')),
        'A' | 'G' if !in_class => Escape::Assertion(Assertion::Start),
        'Z' | 'z' if !in_class => Escape::Assertion(Assertion::End),
        'B' if !in_class => Escape::Assertion(Assertion::NotWordBoundary),
        'R' if !in_class => Escape::LineBreak,
        'X' if !in_class => Escape::Grapheme,
        'b' if !in_class => boundary(cursor, start)?,
        'k' if !in_class => {
            if cursor.read() != '<' {
                return Err(cursor.invalid(start, "a reference without a name"));
            }
            Escape::Name(group_name(cursor, start)?)
        }
        'a'..='z' | 'A'..='Z' | '1'..='9' => return Err(cursor.invalid(start, "unknown escape")),
        _ => Escape::Char(u32::from(char)),
    })
}

impl Escape {
    /// Return the node of an escape that is neither a character nor a backreference.
    pub(super) fn node(&self) -> Node {
        match self {
            Self::Set(set) => Node::CharClass(*set),
            Self::Assertion(assertion) => Node::Assert(*assertion),
            Self::Grapheme => Node::CharClass(CharSet::ALL),
            Self::Anywhere => Node::EMPTY,
            _ => Node::NOTHING,
        }
    }
}

fn boundary(cursor: &mut Cursor, start: usize) -> Result<Escape, PatternError> {
    if cursor.peek() != '{' {
        return Ok(Escape::Assertion(Assertion::WordBoundary));
    }
    // Other text in braces is parsed as a quantifier, which is invalid here.
    if cursor.raw(cursor.at + 1) != 'g' {
        return Ok(Escape::Assertion(Assertion::WordBoundary));
    }
    cursor.at += 2;
    if cursor.read() == '}' { Ok(Escape::Anywhere) } else { Err(cursor.invalid(start, "unknown boundary")) }
}

/// Parse the name of a group up to `>`, with the cursor at its first character.
pub(super) fn group_name(cursor: &mut Cursor, start: usize) -> Result<String, PatternError> {
    let mut name = String::new();
    let mut char = cursor.read();
    if !char.is_ascii_alphabetic() {
        return Err(cursor.invalid(start, "the name of the group does not start with a letter"));
    }
    while char.is_ascii_alphanumeric() {
        name.push(char);
        char = cursor.read();
    }
    if char == '>' { Ok(name) } else { Err(cursor.invalid(start, "the name of the group is not closed")) }
}

fn octal(cursor: &mut Cursor, start: usize) -> Result<u32, PatternError> {
    let Some(first) = cursor.read().to_digit(8) else {
        return Err(cursor.invalid(start, "an octal escape without digits"));
    };
    let mut code = first;
    for _ in 0..if first <= 3 { 2 } else { 1 } {
        let Some(digit) = cursor.read().to_digit(8) else {
            cursor.back();
            break;
        };
        code = code * 8 + digit;
    }
    Ok(code)
}

fn hexadecimal(cursor: &mut Cursor, start: usize) -> Result<u32, PatternError> {
    let malformed = "a malformed hexadecimal escape";
    let first = cursor.read();
    if let Some(first) = first.to_digit(16) {
        let second = cursor.read().to_digit(16);
        return second.map(|second| first * 16 + second).ok_or_else(|| cursor.invalid(start, malformed));
    }
    if first != '{' || !cursor.peek().is_ascii_hexdigit() {
        return Err(cursor.invalid(start, malformed));
    }
    let mut code = 0;
    loop {
        match cursor.read() {
            '}' => return Ok(code),
            char => match char.to_digit(16) {
                Some(digit) => code = code * 16 + digit,
                None => return Err(cursor.invalid(start, malformed)),
            },
        }
        if code > 0x0010_ffff {
            return Err(cursor.invalid(start, "the character code is too high"));
        }
    }
}

/// Parse four hexadecimal digits, and a second `\u` escape if the two are a surrogate pair.
fn utf16(cursor: &mut Cursor, start: usize) -> Result<u32, PatternError> {
    let high = four_digits(cursor, start)?;
    if (0xd800..0xdc00).contains(&high) {
        let behind = cursor.at;
        if cursor.read() == '\\' && cursor.read() == 'u' {
            let low = four_digits(cursor, start)?;
            if (0xdc00..0xe000).contains(&low) {
                return Ok(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            }
        }
        cursor.at = behind;
    }
    Ok(high)
}

fn four_digits(cursor: &mut Cursor, start: usize) -> Result<u32, PatternError> {
    let mut code = 0;
    for _ in 0..4 {
        match cursor.read().to_digit(16) {
            Some(digit) => code = code * 16 + digit,
            None => return Err(cursor.invalid(start, "a malformed Unicode escape")),
        }
    }
    Ok(code)
}

/// Parse a character name in braces.
fn named(cursor: &mut Cursor, start: usize) -> Result<u32, PatternError> {
    if cursor.read() != '{' {
        return Err(cursor.invalid(start, "a character name without braces"));
    }
    let first = cursor.at;
    while cursor.read() != '}' {
        if cursor.ended() {
            return Err(cursor.invalid(start, "the character name is not closed"));
        }
    }
    let name = cursor.between(first, cursor.at - 1);
    let name = name.trim_matches(|char| char <= ' ').to_uppercase();
    if let Some(code) = ascii_code(&name) {
        return Ok(code);
    }
    let well_formed = name.chars().all(|char| matches!(char, 'A'..='Z' | '0'..='9' | ' ' | '-' | '(' | ')'));
    if name.is_empty() || !well_formed {
        return Err(cursor.invalid(start, "unknown character name"));
    }
    // Only Java's own table shows whether the name exists.
    Err(unsupported(cursor.origin(start), "the name of a non-ASCII character"))
}

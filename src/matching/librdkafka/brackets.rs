//! POSIX bracket expressions as in glibc with the collation of the C locale.

use super::super::char_set::CharSet;
use super::super::scanner::{Scanner, invalid};
use crate::error::PatternError;

const OPEN: &str = "the bracket expression is not closed";

/// An element in brackets: a character, which may be an end of a range, or a class.
enum Element {
    One(char),
    Class(CharSet),
}

/// Parse a bracket expression.
pub(super) fn bracket(text: &mut Scanner) -> Result<CharSet, PatternError> {
    let start = text.at;
    text.take();
    let negated = text.eat("^");
    let mut set = CharSet::NONE;
    let mut first = true;
    while first || text.peek() != Some(']') {
        let position = text.at;
        set = set
            | match element(text, start, first)? {
                Element::Class(class) => class,
                // A hyphen before the closing bracket is a literal.
                Element::One(from) if text.peek() == Some('-') && text.look(1) != Some(']') => {
                    text.take();
                    range(from, &element(text, start, true)?)
                        .ok_or_else(|| invalid(position, "a character range that the C locale does not have"))?
                }
                Element::One(char) => CharSet::one(char),
            };
        first = false;
    }
    text.take();
    Ok(if negated { !set } else { set })
}

/// Return the characters of a range. The C locale has no order of non-ASCII characters.
fn range(from: char, to: &Element) -> Option<CharSet> {
    match *to {
        Element::One(to) if from <= to && to.is_ascii() => Some(CharSet::range(from, to)),
        _ => None,
    }
}

fn element(text: &mut Scanner, start: usize, hyphen: bool) -> Result<Element, PatternError> {
    let position = text.at;
    let Some(char) = text.take() else {
        return Err(invalid(start, OPEN));
    };
    match (char, text.peek()) {
        ('[', Some(kind @ ('.' | '=' | ':'))) => {
            text.take();
            symbol(text, start, position, kind)
        }
        ('-', next) if !hyphen && next != Some(']') => {
            Err(invalid(position, "a hyphen that is neither part of a range nor first or last in brackets"))
        }
        _ => Ok(Element::One(char)),
    }
}

/// Parse `[.a.]`, `[=a=]` or `[:alpha:]` after its first two characters.
fn symbol(text: &mut Scanner, start: usize, position: usize, kind: char) -> Result<Element, PatternError> {
    let mut name = String::new();
    loop {
        match text.take() {
            Some(char) if char == kind && text.peek() == Some(']') => break,
            Some(char) => name.push(char),
            None => return Err(invalid(start, OPEN)),
        }
    }
    text.take();
    let one = name.chars().next().filter(|char| char.is_ascii() && name.len() == 1);
    let found = match kind {
        '.' => one.map(Element::One),
        '=' => one.map(|char| Element::Class(CharSet::one(char))),
        _ => CharSet::posix(&name).map(Element::Class),
    };
    found.ok_or_else(|| invalid(position, "a character class or collating element that the C locale does not have"))
}

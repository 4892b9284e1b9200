//! The dialect of librdkafka: a name, or behind a `^` what glibc's `regcomp` reads as a POSIX extended pattern, anywhere in a name.
//!
//! The locale is that of a process with UTF-8 characters and the C locale's collation, as Python and most services have it.
//! glibc says only whether a name matches, so which ways come first is left out of the tree.

mod brackets;
mod copies;

use super::chars::Chars;
use super::syntax::{Node, Place};
use super::text::{Text, invalid};
use crate::error::PatternError;
use copies::Part;

/// The highest count of a repetition (`RE_DUP_MAX`).
const MOST: u32 = 0x7FFF;

struct Parser {
    text: Text,
    /// How many groups were opened.
    groups: u32,
    /// Of the groups 1 to 9, those that are closed and may be referred to.
    closed: Vec<u32>,
}

/// What the pattern means, over whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    if let Some(position) = pattern.chars().position(|char| char == '\0') {
        return Err(invalid(position, "a NUL character, where C ends the pattern"));
    }
    if !pattern.starts_with('^') {
        return Ok(Node::text(pattern));
    }
    let mut parser = Parser { text: Text::new(pattern), groups: 0, closed: Vec::new() };
    let part = parser.alternatives(false)?;
    let found = copies::tree(&part)?;
    let mut parts = vec![found, Node::anything()];
    if !starts(&parts[0]) {
        parts.insert(0, Node::anything());
    }
    Ok(Node::concat(parts))
}

/// Whether every way begins at the start of the name.
fn starts(node: &Node) -> bool {
    match node {
        Node::At(place) => *place == Place::Start,
        Node::Concat(nodes) => nodes.iter().find(|node| node.most() != Some(0) || starts(node)).is_some_and(starts),
        Node::Either(nodes) => nodes.iter().all(starts),
        Node::Group(_, node) => starts(node),
        Node::Repeat { node, least, .. } => *least > 0 && starts(node),
        _ => false,
    }
}

impl Parser {
    fn alternatives(&mut self, nested: bool) -> Result<Part, PatternError> {
        // A branch may not refer to a group of another one.
        let before = self.closed.clone();
        let first = self.branch(nested)?;
        if self.text.peek() != Some('|') {
            return Ok(first);
        }
        let mut branches = vec![first];
        while self.text.eat("|") {
            let closed = std::mem::replace(&mut self.closed, before.clone());
            branches.push(self.branch(nested)?);
            self.closed.extend(closed);
        }
        Ok(Part::Either(branches))
    }

    fn branch(&mut self, nested: bool) -> Result<Part, PatternError> {
        let mut parts = Vec::new();
        while let Some(next) = self.text.peek() {
            // Out of any group, a closing parenthesis is a character.
            if next == '|' || nested && next == ')' {
                break;
            }
            parts.push(self.repeated(next)?);
        }
        Ok(Part::Concat(parts))
    }

    /// An item with its repetitions.
    fn repeated(&mut self, next: char) -> Result<Part, PatternError> {
        let mut part = self.item(next)?;
        // What stands behind a place is no repetition of it.
        if matches!(part, Part::Place(_)) {
            return Ok(part);
        }
        let mut piled = false;
        while let Some(operator @ ('*' | '+' | '?' | '{')) = self.text.peek() {
            let position = self.text.at;
            self.text.take();
            let (least, most) = match operator {
                '*' => (0, None),
                '+' => (1, None),
                '?' => (0, Some(1)),
                _ => self.counts(position)?,
            };
            // `a**` makes the tree deeper, but no group does.
            if piled {
                self.text.enter()?;
            }
            piled = true;
            part = match (part, most) {
                (_, Some(0)) => Part::Concat(Vec::new()),
                (part, _) if part.is_nothing() => part,
                (part, _) => Part::Times { part: Box::new(part), least, most, position },
            };
        }
        Ok(part)
    }

    fn item(&mut self, next: char) -> Result<Part, PatternError> {
        let position = self.text.at;
        if next == '[' {
            return Ok(Part::Chars(brackets::bracket(&mut self.text)?));
        }
        self.text.take();
        Ok(match next {
            '^' => Part::Place(Place::Start),
            '$' => Part::Place(Place::End),
            '.' => Part::Chars(Chars::ALL),
            '(' => self.group(position)?,
            '\\' => self.escape(position)?,
            '*' | '+' | '?' | '{' => return Err(invalid(position, "a repetition of nothing")),
            _ => Part::Chars(Chars::one(next)),
        })
    }

    fn group(&mut self, position: usize) -> Result<Part, PatternError> {
        self.text.enter()?;
        self.groups += 1;
        let group = self.groups;
        let part = self.alternatives(true)?;
        if !self.text.eat(")") {
            return Err(invalid(position, "a group that is not closed"));
        }
        self.text.leave();
        if group <= 9 {
            self.closed.push(group);
        }
        Ok(Part::Group(group, Box::new(part)))
    }

    fn escape(&mut self, position: usize) -> Result<Part, PatternError> {
        let Some(char) = self.text.take() else {
            return Err(invalid(position, "a backslash at the end"));
        };
        Ok(match char {
            '1'..='9' => {
                let group = u32::from(char) - u32::from('0');
                if !self.closed.contains(&group) {
                    return Err(invalid(position, "a reference to a group that is not closed before it"));
                }
                Part::Same(group, position)
            }
            '<' => Part::Place(Place::WordStart),
            '>' => Part::Place(Place::WordEnd),
            'b' => Part::Place(Place::Boundary),
            'B' => Part::Place(Place::Inside),
            '`' => Part::Place(Place::Start),
            '\'' => Part::Place(Place::End),
            'w' => Part::Chars(Chars::WORD),
            'W' => Part::Chars(!Chars::WORD),
            's' => Part::Chars(Chars::one(' ')),
            'S' => Part::Chars(!Chars::one(' ')),
            _ => Part::Chars(Chars::one(char)),
        })
    }

    /// The counts of `{2}`, `{2,}`, `{,3}`, `{2,3}` or `{,}`, behind the brace.
    fn counts(&mut self, position: usize) -> Result<(u32, Option<u32>), PatternError> {
        let mut least = self.number(position)?;
        let mut most = least;
        if self.text.eat(",") || self.text.eat("\\,") {
            least = least.or(Some(0));
            most = self.number(position)?;
        }
        let Some(least) = least.filter(|_| self.text.eat("}")) else {
            return Err(invalid(position, "a brace that opens no count"));
        };
        if least > MOST || most.is_some_and(|most| most > MOST || most < least) {
            return Err(invalid(position, "a count that is too high or below the one before"));
        }
        Ok((least, most))
    }

    /// A number or nothing in front of a comma or the closing brace.
    fn number(&mut self, position: usize) -> Result<Option<u32>, PatternError> {
        let mut number = None;
        while self.text.peek() != Some('}') && !self.at_comma() {
            // An escaped zero is a zero, while other escaped digits are back-references.
            if self.text.look(1) == Some('0') {
                self.text.eat("\\");
            }
            let Some(digit) = self.text.take().and_then(|digit| digit.to_digit(10)) else {
                return Err(invalid(position, "a brace that opens no count"));
            };
            number = Some((number.unwrap_or(0) * 10 + digit).min(MOST + 1));
        }
        Ok(number)
    }

    fn at_comma(&self) -> bool {
        self.text.peek() == Some(',') || self.text.peek() == Some('\\') && self.text.look(1) == Some(',')
    }
}

#[cfg(test)]
mod tests;

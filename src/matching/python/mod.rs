//! The dialect of Python's `re`, as version 3.11 has it: a prefix of the name has to match, as in `re.match`.

mod escapes;
mod flags;
mod groups;
mod names;
mod repeats;
mod sets;
mod state;
mod tokens;

use self::escapes::{Escape, class, code_or_group, place};
use self::flags::Mode;
use self::repeats::{Times, bounds, greed, spelled_out};
use self::state::{Kind, Part, State, Width};
use self::tokens::Token;
use super::chars::Chars;
use super::syntax::{Greed, Node, Place};
use super::text::invalid;
use crate::error::PatternError;

/// What the pattern means, over whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    let mut state = State::new(pattern)?;
    let node = state.either(None)?.node;
    state.finish()?;
    Ok(Node::concat(vec![spelled_out(node)?, Node::anything()]))
}

impl State {
    /// Reads alternatives up to the end or a `)`; no mode is that of the whole pattern.
    fn either(&mut self, mode: Option<Mode>) -> Result<Part, PatternError> {
        let first = self.sequence(mode, mode.is_none())?;
        let (mut nodes, mut width) = (vec![first.node], first.width);
        while self.tokens.eat('|')? {
            let next = self.sequence(mode, false)?;
            nodes.push(next.node);
            width = width | next.width;
        }
        Ok(Part::new(Node::either(nodes), width))
    }

    /// Reads what is one after the other up to the end, a `|` or a `)`.
    fn sequence(&mut self, within: Option<Mode>, leads: bool) -> Result<Part, PatternError> {
        let mut parts: Vec<Part> = Vec::new();
        // The first group that can be within the last part.
        let mut groups = self.groups();
        while self.tokens.next != Token::End && !self.tokens.next.is_of("|)") {
            let mode = within.unwrap_or(self.mode);
            let (start, token) = (self.tokens.at(), self.tokens.take()?);
            if mode.verbose && token.is_of(" \t\n\r\x0b\x0c") {
                continue;
            }
            if mode.verbose && token == Token::Char('#') {
                while !matches!(self.tokens.take()?, Token::End | Token::Char('\n')) {}
                continue;
            }
            if let Some(times) = bounds(&mut self.tokens, token)? {
                self.repeat(&mut parts, times, start, groups)?;
                continue;
            }
            let before = self.groups();
            let part = if token == Token::Char('(') {
                self.group(mode, start, leads && parts.is_empty())?
            } else {
                Some(self.one(mode, token, start)?)
            };
            if let Some(part) = part {
                parts.push(part);
                groups = before;
            }
        }
        let width = parts.iter().fold(Width::default(), |sum, part| sum + part.width);
        Ok(Part::new(Node::concat(parts.into_iter().map(|part| part.node).collect()), width))
    }

    /// A character, a set, a place or an escape.
    fn one(&mut self, mode: Mode, token: Token, start: usize) -> Result<Part, PatternError> {
        let char = match token {
            Token::Char('.') => return Ok(chars(Chars::ALL)),
            Token::Char('^') => return Ok(at(Place::Start)),
            Token::Char('$') => return Ok(at(Place::End)),
            Token::Char('[') => return self.set(mode, start).map(chars),
            Token::Char(char) => return Ok(chars(mode.span(u32::from(char), u32::from(char)))),
            Token::End => return Ok(Part::new(Node::EMPTY, Width::default())),
            Token::Escape(char) => char,
        };
        if let Some(set) = class(char) {
            return Ok(chars(set));
        }
        if let Some(place) = place(char) {
            return Ok(at(place));
        }
        match code_or_group(&mut self.tokens, char, start)? {
            Escape::Code(code) => Ok(chars(mode.span(code, code))),
            Escape::Group(group) if group >= self.groups() => Err(invalid(start + 1, "an unknown group")),
            Escape::Group(group) => self.same(group, mode, start),
            Escape::Unknown => {
                self.doubt(start, "a character name beyond ASCII");
                Ok(chars(Chars::NONE))
            }
        }
    }

    /// Repeats the last part, in which the groups from that one on are.
    fn repeat(
        &mut self,
        parts: &mut Vec<Part>,
        (least, most): Times,
        start: usize,
        groups: u32,
    ) -> Result<(), PatternError> {
        let Some(part) = parts.pop_if(|part| part.kind != Kind::Place) else {
            return Err(invalid(start, "nothing to repeat"));
        };
        if part.kind == Kind::Repeat {
            return Err(invalid(start, "a repetition of a repetition"));
        }
        let greed = greed(&mut self.tokens)?;
        if greed == Greed::Possessive {
            self.kept.push((groups..self.groups(), start));
        }
        if self.template {
            self.fault(start, "a repetition under the flag t");
        }
        let node = Node::repeat(part.node, least, most, greed);
        parts.push(Part { node, width: part.width.times(least, most), kind: Kind::Repeat });
        Ok(())
    }
}

fn chars(set: Chars) -> Part {
    Part::new(Node::Chars(set), Width::ONE)
}

fn at(place: Place) -> Part {
    Part { node: Node::At(place), width: Width::default(), kind: Kind::Place }
}

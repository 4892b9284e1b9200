//! The dialect python: `re` of Python 3.11 on a prefix of the name, as in `re.match`.

mod escapes;
mod flags;
mod groups;
mod repeats;
mod sets;
mod state;
mod tokens;

use self::escapes::{Escape, assertion, class, code_or_group};
use self::flags::Mode;
use self::repeats::{Times, bounds, greed, unrolled};
use self::state::{Kind, ParsedNode, ParserState, Width};
use self::tokens::Token;
use super::char_set::CharSet;
use super::scanner::invalid;
use super::syntax::{Assertion, Greed, Node};
use crate::error::PatternError;

/// Parse a pattern into a tree that matches whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    let mut state = ParserState::new(pattern)?;
    let node = state.alternation(None)?.node;
    state.finish()?;
    Ok(Node::concat(vec![unrolled(node, &state.referenced)?, Node::any_text()]))
}

impl ParserState {
    /// Parse alternatives up to the end or a `)`. Without a mode, the mode is that of the whole pattern.
    fn alternation(&mut self, mode: Option<Mode>) -> Result<ParsedNode, PatternError> {
        let first = self.sequence(mode, mode.is_none())?;
        let (mut nodes, mut width) = (vec![first.node], first.width);
        while self.tokens.eat('|')? {
            let next = self.sequence(mode, false)?;
            nodes.push(next.node);
            width = width | next.width;
        }
        Ok(ParsedNode::new(Node::alternation(nodes), width))
    }

    /// Parse a sequence up to the end, a `|` or a `)`.
    fn sequence(&mut self, within: Option<Mode>, leads: bool) -> Result<ParsedNode, PatternError> {
        let mut parts: Vec<ParsedNode> = Vec::new();
        // The number of the first group that can be inside the last part.
        let mut groups = self.groups();
        while self.tokens.next != Token::End && !self.tokens.next.is_of("|)") {
            let mode = within.unwrap_or(self.mode);
            let (start, before) = (self.tokens.at(), self.groups());
            let part = if self.tokens.eat('(')? {
                self.group(mode, start, leads && parts.is_empty())?
            } else {
                self.item(mode, &mut parts, groups)?
            };
            if let Some(part) = part {
                parts.push(part);
                groups = before;
            }
        }
        let width = parts.iter().fold(Width::default(), |sum, part| sum + part.width);
        Ok(ParsedNode::new(Node::concat(parts.into_iter().map(|part| part.node).collect()), width))
    }

    /// Parse an item other than a group. Return None for a quantifier, which repeats the last part, and for skipped text.
    fn item(
        &mut self,
        mode: Mode,
        parts: &mut Vec<ParsedNode>,
        groups: u32,
    ) -> Result<Option<ParsedNode>, PatternError> {
        let (start, token) = (self.tokens.at(), self.tokens.take()?);
        if mode.verbose && token.is_of(" \t\n\r\x0b\x0c") {
            return Ok(None);
        }
        if mode.verbose && token == Token::Char('#') {
            while !matches!(self.tokens.take()?, Token::End | Token::Char('\n')) {}
            return Ok(None);
        }
        if let Some(times) = bounds(&mut self.tokens, token)? {
            return self.repeat(parts, times, start, groups).map(|()| None);
        }
        self.one(mode, token, start).map(Some)
    }

    /// Parse a character, a set, an assertion or an escape.
    fn one(&mut self, mode: Mode, token: Token, start: usize) -> Result<ParsedNode, PatternError> {
        let char = match token {
            Token::Char('.') => return Ok(chars(CharSet::ALL)),
            Token::Char('^') => return Ok(at(Assertion::Start)),
            Token::Char('$') => return Ok(at(Assertion::End)),
            Token::Char('[') => return self.set(mode, start).map(chars),
            Token::Char(char) => return Ok(chars(mode.span(u32::from(char), u32::from(char)))),
            Token::End => return Ok(ParsedNode::new(Node::EMPTY, Width::default())),
            Token::Escape(char) => char,
        };
        if let Some(set) = class(char) {
            return Ok(chars(set));
        }
        if let Some(assertion) = assertion(char) {
            return Ok(at(assertion));
        }
        match code_or_group(&mut self.tokens, char, start)? {
            Escape::Code(code) => Ok(chars(mode.span(code, code))),
            Escape::Group(group) if group >= self.groups() => Err(invalid(start + 1, "unknown group")),
            Escape::Group(group) => self.same(group, mode, start),
            Escape::Unknown => {
                self.note_unsupported(start, "the name of a non-ASCII character");
                Ok(chars(CharSet::NONE))
            }
        }
    }

    /// Repeat the last part; its groups are numbered from `groups` on.
    fn repeat(
        &mut self,
        parts: &mut Vec<ParsedNode>,
        (least, most): Times,
        start: usize,
        groups: u32,
    ) -> Result<(), PatternError> {
        let Some(part) = parts.pop_if(|part| part.kind != Kind::Assertion) else {
            return Err(invalid(start, "nothing to repeat"));
        };
        if part.kind == Kind::Repeat {
            return Err(invalid(start, "nested quantifiers"));
        }
        let greed = greed(&mut self.tokens)?;
        if greed == Greed::Possessive {
            self.kept.push((groups..self.groups(), start));
        }
        if self.template {
            self.note_late_error(start, "a repetition with the flag t");
        }
        let node = Node::repeat(part.node, least, most, greed);
        parts.push(ParsedNode { node, width: part.width.times(least, most), kind: Kind::Repeat });
        Ok(())
    }
}

fn chars(set: CharSet) -> ParsedNode {
    ParsedNode::new(Node::CharClass(set), Width::ONE)
}

fn at(assertion: Assertion) -> ParsedNode {
    ParsedNode { node: Node::Assert(assertion), width: Width::default(), kind: Kind::Assertion }
}

//! Groups and other constructs of `re` that begin with a parenthesis.

use super::flags::{KNOWN, Mode, group_flags};
use super::state::{ParsedNode, ParserState, Width};
use super::tokens::Token;
use crate::error::PatternError;
use crate::matching::scanner::invalid;
use crate::matching::syntax::Node;

const MAX_GROUPS: u64 = (1 << 30) - 1;

/// Opening of a group.
enum Opening {
    /// A complete construct: a comment, global flags, or a backreference.
    Done(Option<ParsedNode>),
    /// A capturing group.
    Capture,
    /// A group that captures nothing.
    Plain(Mode),
    Atomic,
    Around {
        ahead: bool,
        negated: bool,
    },
    /// A conditional on the group with this number.
    Condition(u32),
}

impl ParserState {
    /// Parse a group after its `(`, which is at `start`. Return None for a comment and for global flags.
    ///
    /// Global flags must be at the start of the pattern. This function is recursive. To keep its stack frame small, the functions
    /// that it calls hold most local variables.
    pub(super) fn group(&mut self, mode: Mode, start: usize, leads: bool) -> Result<Option<ParsedNode>, PatternError> {
        let opening = match self.opening(mode, start, leads)? {
            Opening::Done(part) => return Ok(part),
            opening => opening,
        };
        let (group, outer) = (self.groups(), self.behind);
        let condition = self.begin(&opening)?;
        let mode = if let Opening::Plain(mode) = opening { mode } else { mode };
        let inner = if condition { self.sequence(Some(mode), false) } else { self.alternation(Some(mode)) }?;
        let mut other = None;
        if condition && self.tokens.eat('|')? {
            other = Some(self.sequence(Some(mode), false)?);
        }
        self.behind = outer;
        self.end(&opening, start)?;
        Ok(Some(self.ended(&opening, inner, other, group, start)))
    }

    /// Register the start of a group; return true if it is a conditional.
    fn begin(&mut self, opening: &Opening) -> Result<bool, PatternError> {
        match opening {
            Opening::Capture => self.widths.push(None),
            Opening::Around { ahead: false, .. } if self.behind.is_none() => self.behind = Some(self.groups()),
            _ => {}
        }
        self.tokens.text.enter()?;
        Ok(matches!(opening, Opening::Condition(_)))
    }

    /// Parse the end of a group.
    fn end(&mut self, opening: &Opening, start: usize) -> Result<(), PatternError> {
        if matches!(opening, Opening::Condition(_)) && self.tokens.next == Token::Char('|') {
            return Err(invalid(self.tokens.at(), "a condition with more than two branches"));
        }
        if !self.tokens.eat(')')? {
            return Err(invalid(start, "the group is not closed"));
        }
        self.tokens.text.leave();
        Ok(())
    }

    /// Return the node of a complete group.
    fn ended(
        &mut self,
        opening: &Opening,
        inner: ParsedNode,
        other: Option<ParsedNode>,
        group: u32,
        start: usize,
    ) -> ParsedNode {
        let (node, width) = (Box::new(inner.node), inner.width);
        match *opening {
            Opening::Done(_) | Opening::Plain(_) => ParsedNode::new(*node, width),
            Opening::Atomic => ParsedNode::new(Node::Atomic(node), width),
            Opening::Capture => {
                if let Some(known) = self.widths.get_mut(group as usize) {
                    *known = Some(width);
                }
                ParsedNode::new(Node::Capture(group, node), width)
            }
            Opening::Around { ahead, negated } => {
                if !ahead && width.least > u128::from(u32::MAX) {
                    self.note_late_error(start, "the look-behind is too wide");
                } else if !ahead && width.least != width.most {
                    self.note_late_error(start, "a look-behind without a fixed width");
                }
                ParsedNode::new(Node::LookAround { ahead, negated, node }, Width::default())
            }
            Opening::Condition(group) => {
                let other = other.unwrap_or_else(|| ParsedNode::new(Node::EMPTY, Width::default()));
                let node = Node::Conditional { group, taken: node, other: Box::new(other.node) };
                ParsedNode::new(node, width | other.width)
            }
        }
    }

    fn opening(&mut self, mode: Mode, start: usize, leads: bool) -> Result<Opening, PatternError> {
        if !self.tokens.eat('?')? {
            return Ok(Opening::Capture);
        }
        let char = match self.tokens.take()? {
            Token::End => return Err(invalid(self.tokens.at(), "the group is not closed")),
            Token::Escape(_) => return Err(invalid(start + 1, "unknown group type")),
            Token::Char(char) => char,
        };
        match char {
            'P' => Ok(self.named(mode, start)?.map_or(Opening::Capture, |same| Opening::Done(Some(same)))),
            ':' => Ok(Opening::Plain(mode)),
            '>' => Ok(Opening::Atomic),
            '#' => self.skip_comment(start).map(|()| Opening::Done(None)),
            '=' | '!' => Ok(Opening::Around { ahead: true, negated: char == '!' }),
            '<' => match self.tokens.take()? {
                Token::End => Err(invalid(self.tokens.at(), "the group is not closed")),
                Token::Char(char) if "=!".contains(char) => Ok(Opening::Around { ahead: false, negated: char == '!' }),
                _ => Err(invalid(start + 1, "unknown group type")),
            },
            '(' => self.condition(start).map(Opening::Condition),
            char if char == '-' || KNOWN.contains(char) => {
                let flags = group_flags(&mut self.tokens, char)?;
                if flags.for_all {
                    return self.flags_for_all(&flags.on, start, leads).map(|()| Opening::Done(None));
                }
                Ok(Opening::Plain(mode.with_flags(&flags.on, &flags.off)))
            }
            _ => Err(invalid(start + 1, "unknown group type")),
        }
    }

    /// Parse a backreference or a group name after `(?P`; return None if a group begins.
    fn named(&mut self, mode: Mode, start: usize) -> Result<Option<ParsedNode>, PatternError> {
        if self.tokens.eat('<')? {
            let at = self.tokens.at();
            let name = self.tokens.name('>', "group name")?;
            self.check_name(&name, at)?;
            let group = self.groups();
            if self.names.insert(name, group).is_some() {
                return Err(invalid(at, "duplicate group name"));
            }
            return Ok(None);
        }
        if self.tokens.eat('=')? {
            let at = self.tokens.at();
            let name = self.tokens.name(')', "group name")?;
            self.check_name(&name, at)?;
            let Some(&group) = self.names.get(&name) else { return Err(invalid(at, "unknown group name")) };
            return self.same(group, mode, at).map(Some);
        }
        match self.tokens.take()? {
            Token::End => Err(invalid(self.tokens.at(), "the group is not closed")),
            _ => Err(invalid(start + 1, "unknown group type")),
        }
    }

    /// Return a backreference.
    pub(super) fn same(&mut self, group: u32, mode: Mode, at: usize) -> Result<ParsedNode, PatternError> {
        let Some(width) = self.widths.get(group as usize).copied().flatten() else {
            return Err(invalid(at, "a reference to an open group"));
        };
        self.check_behind(group)?;
        self.refer(group, at);
        Ok(ParsedNode::new(Node::Backreference { group, folded: mode.ignore }, width))
    }

    /// Return an error if a name is not an identifier. Whether a non-ASCII name is one depends on the version of Unicode.
    fn check_name(&mut self, name: &str, at: usize) -> Result<(), PatternError> {
        if !is_identifier(name) {
            return Err(invalid(at, "invalid group name"));
        }
        if !name.is_ascii() {
            self.note_unsupported(at, "a non-ASCII group name");
        }
        Ok(())
    }

    fn skip_comment(&mut self, start: usize) -> Result<(), PatternError> {
        loop {
            match self.tokens.take()? {
                Token::End => return Err(invalid(start, "the comment is not closed")),
                Token::Char(')') => return Ok(()),
                _ => {}
            }
        }
    }

    /// Parse the group of a conditional after `(?(`.
    fn condition(&mut self, start: usize) -> Result<u32, PatternError> {
        let at = self.tokens.at();
        let name = self.tokens.name(')', "group name")?;
        let group = self.condition_group(&name, at)?;
        if group > 0 {
            self.check_behind(group)?;
            self.refer(group, start);
            if self.is_open(group) {
                self.note_unsupported(start, "a conditional on a group inside that group");
            }
        }
        Ok(group)
    }

    /// Return the group of a name or number; 0 if it is unknown.
    fn condition_group(&mut self, name: &str, at: usize) -> Result<u32, PatternError> {
        if let Some(&group) = self.names.get(name) {
            return Ok(group);
        }
        if !name.is_ascii() {
            let numeric = |char: char| char.is_ascii_digit() || "+-_".contains(char) || is_blank(char);
            if name.chars().any(|char| char.is_ascii() && !numeric(char)) {
                return Err(invalid(at, "invalid group name"));
            }
            self.note_unsupported(at, "a non-ASCII group name");
            return Ok(0);
        }
        if is_identifier(name) {
            return Err(invalid(at, "unknown group name"));
        }
        let group = number(name).ok_or_else(|| invalid(at, "invalid group name"))?;
        if group == 0 {
            return Err(invalid(at, "a reference to group 0"));
        }
        if group >= MAX_GROUPS {
            return Err(invalid(at, "unknown group"));
        }
        let group = group as u32;
        if !self.conditions.iter().any(|(known, _)| *known == group) {
            self.conditions.push((group, at));
        }
        Ok(group)
    }

    fn flags_for_all(&mut self, on: &str, start: usize, leads: bool) -> Result<(), PatternError> {
        if !leads {
            return Err(invalid(start, "global flags that are not at the start"));
        }
        self.mode.ignore |= on.contains('i');
        self.mode.ascii |= on.contains('a');
        self.mode.verbose |= on.contains('x');
        self.unicode |= on.contains('u');
        self.template |= on.contains('t');
        if self.mode.ascii && self.unicode && self.exclusive.is_none() {
            self.exclusive = Some(start);
        }
        Ok(())
    }
}

/// Return true if the ASCII characters of a name are those of an identifier.
fn is_identifier(name: &str) -> bool {
    !name.starts_with(|char: char| char.is_ascii_digit())
        && name.chars().all(|char| !char.is_ascii() || char == '_' || char.is_ascii_alphanumeric())
}

/// Return true if `int` treats the character as white space.
fn is_blank(char: char) -> bool {
    matches!(char, '\t'..='\r' | '\x1c'..=' ')
}

/// Parse a number as `int` does: with surrounding white space, a sign, and single underscores between digits.
fn number(text: &str) -> Option<u64> {
    let text = text.trim_matches(is_blank);
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.split('_').any(|part| part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let digits = digits.replace('_', "");
    let number = digits.bytes().fold(0u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    (digits.len() <= 4300 && !(negative && number > 0)).then_some(number)
}

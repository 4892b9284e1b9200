//! What begins with a parenthesis in a pattern of `re`.

use super::flags::{KNOWN, Mode, group_flags};
use super::state::{ParsedNode, ParserState, Width};
use super::tokens::Token;
use crate::error::PatternError;
use crate::matching::scanner::invalid;
use crate::matching::syntax::Node;

const MOST_GROUPS: u64 = (1 << 30) - 1;

/// How a group begins.
enum Opening {
    /// It is done: a comment, flags for all, or what another group took.
    Done(Option<ParsedNode>),
    /// It keeps what it takes.
    Capture,
    /// It captures nothing.
    Plain(Mode),
    Atomic,
    Around {
        ahead: bool,
        negated: bool,
    },
    /// A condition on the group of that number.
    Condition(u32),
}

impl ParserState {
    /// Reads a group on behind its `(`, which is at `start`; none for a comment and for flags for all.
    ///
    /// Such flags have to lead: nothing may be before them. This recurs: what it calls besides keeps its own locals.
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

    /// Notes that a group begins, and whether it is a condition.
    fn begin(&mut self, opening: &Opening) -> Result<bool, PatternError> {
        match opening {
            Opening::Capture => self.widths.push(None),
            Opening::Around { ahead: false, .. } if self.behind.is_none() => self.behind = Some(self.groups()),
            _ => {}
        }
        self.tokens.text.enter()?;
        Ok(matches!(opening, Opening::Condition(_)))
    }

    /// Takes the end of a group.
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

    /// What a group that has ended means.
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
                    self.fault(start, "the look-behind is too wide");
                } else if !ahead && width.least != width.most {
                    self.fault(start, "a look-behind without a fixed width");
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

    /// Reads on behind `(?P`: what a group took, or the name of a group; none where a group begins.
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

    /// What a group took, again.
    pub(super) fn same(&mut self, group: u32, mode: Mode, at: usize) -> Result<ParsedNode, PatternError> {
        let Some(width) = self.widths.get(group as usize).copied().flatten() else {
            return Err(invalid(at, "a reference to an open group"));
        };
        self.check_behind(group)?;
        self.referenced.insert(group);
        Ok(ParsedNode::new(Node::Backreference { group, folded: mode.ignore }, width))
    }

    /// Refuses what is no identifier; beyond ASCII, what is one changes with the version of Unicode.
    fn check_name(&mut self, name: &str, at: usize) -> Result<(), PatternError> {
        if !is_identifier(name) {
            return Err(invalid(at, "invalid group name"));
        }
        if !name.is_ascii() {
            self.doubt(at, "a non-ASCII group name");
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

    /// Reads the group of a condition on behind `(?(`.
    fn condition(&mut self, start: usize) -> Result<u32, PatternError> {
        let at = self.tokens.at();
        let name = self.tokens.name(')', "group name")?;
        let group = self.condition_group(&name, at)?;
        if group > 0 {
            self.check_behind(group)?;
            self.referenced.insert(group);
            if self.is_open(group) {
                self.doubt(start, "a conditional on a group inside that group");
            }
        }
        Ok(group)
    }

    /// The group of a name or number; 0 where that cannot be known.
    fn condition_group(&mut self, name: &str, at: usize) -> Result<u32, PatternError> {
        if let Some(&group) = self.names.get(name) {
            return Ok(group);
        }
        if !name.is_ascii() {
            let numeric = |char: char| char.is_ascii_digit() || "+-_".contains(char) || is_blank(char);
            if name.chars().any(|char| char.is_ascii() && !numeric(char)) {
                return Err(invalid(at, "invalid group name"));
            }
            self.doubt(at, "a non-ASCII group name");
            return Ok(0);
        }
        if is_identifier(name) {
            return Err(invalid(at, "unknown group name"));
        }
        let group = number(name).ok_or_else(|| invalid(at, "invalid group name"))?;
        if group == 0 {
            return Err(invalid(at, "a reference to group 0"));
        }
        if group >= MOST_GROUPS {
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

/// Whether a name is an identifier as far as its ASCII characters go.
fn is_identifier(name: &str) -> bool {
    !name.starts_with(|char: char| char.is_ascii_digit())
        && name.chars().all(|char| !char.is_ascii() || char == '_' || char.is_ascii_alphanumeric())
}

/// Whether `int` takes it for white space.
fn is_blank(char: char) -> bool {
    matches!(char, '\t'..='\r' | '\x1c'..=' ')
}

/// The number that `int` reads: white space around it, a sign, and single underscores between the digits.
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

//! The dialect librdkafka: one exact name, or, with a leading `^`, a POSIX extended regular expression of glibc's `regcomp`
//! on any part of the name.
//!
//! glibc reads a pattern by the locale of the process. This module assumes UTF-8 characters and the collation of the C locale, which
//! a Python process and most services have. librdkafka only tests whether a name matches, so the tree has no preferences.

mod brackets;
mod copies;

use super::char_set::CharSet;
use super::scanner::{Scanner, invalid};
use super::syntax::{Assertion, Node};
use crate::error::PatternError;
use copies::GlibcNode;

/// Maximum count of a repetition (`RE_DUP_MAX`).
const MAX_COUNT: u32 = 0x7FFF;

/// Bits of the closed groups 1 to 9, which backreferences may refer to.
type Closed = u16;

/// An open group, or the whole pattern.
struct Open {
    /// Position of the opening parenthesis.
    position: usize,
    group: u32,
    branches: Vec<GlibcNode>,
    /// Nodes of the current branch.
    parts: Vec<GlibcNode>,
    /// Groups that were closed before this group. A branch must not refer to a group of another branch.
    before: Closed,
    /// Groups that were closed in the branches so far.
    within: Closed,
}

struct Parser {
    text: Scanner,
    /// Number of opened groups.
    count: u32,
    closed: Closed,
    whole: Open,
    groups: Vec<Open>,
}

/// Parse a pattern into a tree that matches whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    if let Some(position) = pattern.chars().position(|char| char == '\0') {
        return Err(invalid(position, "a NUL character, which ends a pattern in C"));
    }
    if !pattern.starts_with('^') {
        return Ok(Node::literal(pattern));
    }
    let mut parser =
        Parser { text: Scanner::new(pattern), count: 0, closed: 0, whole: Open::at(0, 0, 0), groups: Vec::new() };
    while let Some(next) = parser.text.peek() {
        parser.read(next)?;
    }
    if let Some(open) = parser.groups.last() {
        return Err(invalid(open.position, "the group is not closed"));
    }
    let part = parser.whole.close(&mut parser.closed);
    let found = copies::tree(&part)?;
    let mut parts = vec![found, Node::any_text()];
    if !starts(&parts[0]) {
        parts.insert(0, Node::any_text());
    }
    Ok(Node::concat(parts))
}

/// Return true if every alternative begins at the start of the name.
fn starts(node: &Node) -> bool {
    match node {
        Node::Assert(assertion) => *assertion == Assertion::Start,
        Node::Concat(nodes) => {
            nodes.iter().find(|node| node.max_length() != Some(0) || starts(node)).is_some_and(starts)
        }
        Node::Alternation(nodes) => nodes.iter().all(starts),
        Node::Capture(_, node) => starts(node),
        Node::Repetition { node, least, .. } => *least > 0 && starts(node),
        _ => false,
    }
}

impl Open {
    fn at(position: usize, group: u32, before: Closed) -> Self {
        Self { position, group, branches: Vec::new(), parts: Vec::new(), before, within: 0 }
    }

    fn branch(&mut self, closed: &mut Closed) {
        self.branches.push(GlibcNode::Concat(std::mem::take(&mut self.parts)));
        self.within |= *closed;
        *closed = self.before;
    }

    fn close(mut self, closed: &mut Closed) -> GlibcNode {
        self.branch(closed);
        *closed |= self.within;
        if self.branches.len() == 1 { self.branches.remove(0) } else { GlibcNode::Alternation(self.branches) }
    }
}

impl Parser {
    /// Parse one item.
    fn read(&mut self, next: char) -> Result<(), PatternError> {
        match next {
            '(' => self.open()?,
            '|' => {
                self.text.take();
                self.groups.last_mut().unwrap_or(&mut self.whole).branch(&mut self.closed);
            }
            // Outside of groups, a closing parenthesis is a literal.
            ')' if !self.groups.is_empty() => {
                if let Some(part) = self.close() {
                    self.repeated(part)?;
                }
            }
            _ => {
                let part = self.item(next)?;
                self.repeated(part)?;
            }
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), PatternError> {
        let position = self.text.at;
        self.text.take();
        self.text.enter()?;
        self.count += 1;
        self.groups.push(Open::at(position, self.count, self.closed));
        Ok(())
    }

    fn close(&mut self) -> Option<GlibcNode> {
        let open = self.groups.pop()?;
        self.text.take();
        self.text.leave();
        let group = open.group;
        let part = open.close(&mut self.closed);
        if group <= 9 {
            self.closed |= 1 << group;
        }
        Some(GlibcNode::Group(group, Box::new(part)))
    }

    /// Add a part with its quantifiers.
    fn repeated(&mut self, mut part: GlibcNode) -> Result<(), PatternError> {
        let mut piled = false;
        // A quantifier after an assertion does not repeat it.
        while !matches!(part, GlibcNode::Assert(_)) {
            let position = self.text.at;
            let Some(operator @ ('*' | '+' | '?' | '{')) = self.text.peek() else { break };
            self.text.take();
            let (least, most) = match operator {
                '*' => (0, None),
                '+' => (1, None),
                '?' => (0, Some(1)),
                _ => self.counts(position)?,
            };
            // `a**` makes the tree deeper without a group, so count a level.
            if piled {
                self.text.enter()?;
            }
            piled = true;
            part = match (part, most) {
                (_, Some(0)) => GlibcNode::Concat(Vec::new()),
                (part, _) if part.is_nothing() => part,
                (part, _) => GlibcNode::Times { part: Box::new(part), least, most, position },
            };
        }
        self.groups.last_mut().unwrap_or(&mut self.whole).parts.push(part);
        Ok(())
    }

    fn item(&mut self, next: char) -> Result<GlibcNode, PatternError> {
        let position = self.text.at;
        if next == '[' {
            return Ok(GlibcNode::CharClass(brackets::bracket(&mut self.text)?));
        }
        self.text.take();
        Ok(match next {
            '^' => GlibcNode::Assert(Assertion::Start),
            '$' => GlibcNode::Assert(Assertion::End),
            '.' => GlibcNode::CharClass(CharSet::ALL),
            '\\' => self.escape(position)?,
            '*' | '+' | '?' | '{' => return Err(invalid(position, "nothing to repeat")),
            _ => GlibcNode::CharClass(CharSet::one(next)),
        })
    }

    fn escape(&mut self, position: usize) -> Result<GlibcNode, PatternError> {
        let Some(char) = self.text.take() else {
            return Err(invalid(position, "a backslash at the end of the pattern"));
        };
        Ok(match char {
            '1'..='9' => {
                let group = u32::from(char) - u32::from('0');
                if self.closed >> group & 1 == 0 {
                    return Err(invalid(position, "a backreference to a group that is not closed before it"));
                }
                GlibcNode::Backreference(group, position)
            }
            '<' => GlibcNode::Assert(Assertion::WordStart),
            '>' => GlibcNode::Assert(Assertion::WordEnd),
            'b' => GlibcNode::Assert(Assertion::WordBoundary),
            'B' => GlibcNode::Assert(Assertion::NotWordBoundary),
            '`' => GlibcNode::Assert(Assertion::Start),
            '\'' => GlibcNode::Assert(Assertion::End),
            'w' => GlibcNode::CharClass(CharSet::WORD),
            'W' => GlibcNode::CharClass(!CharSet::WORD),
            's' => GlibcNode::CharClass(CharSet::one(' ')),
            'S' => GlibcNode::CharClass(!CharSet::one(' ')),
            _ => GlibcNode::CharClass(CharSet::one(char)),
        })
    }

    /// Parse the counts of `{2}`, `{2,}`, `{,3}`, `{2,3}` or `{,}` after the brace.
    fn counts(&mut self, position: usize) -> Result<(u32, Option<u32>), PatternError> {
        let mut least = self.number(position)?;
        let mut most = least;
        if self.text.eat(",") || self.text.eat("\\,") {
            least = least.or(Some(0));
            most = self.number(position)?;
        }
        let Some(least) = least.filter(|_| self.text.eat("}")) else {
            return Err(invalid(position, "a brace without a repetition count"));
        };
        if least > MAX_COUNT || most.is_some_and(|most| most > MAX_COUNT || most < least) {
            return Err(invalid(position, "a repetition count that is too high, or lower than the minimum"));
        }
        Ok((least, most))
    }

    /// Parse an optional number before a comma or the closing brace.
    fn number(&mut self, position: usize) -> Result<Option<u32>, PatternError> {
        let mut number = None;
        while self.text.peek() != Some('}') && !self.at_comma() {
            // An escaped zero is a zero; other escaped digits are backreferences.
            if self.text.look(1) == Some('0') {
                self.text.eat("\\");
            }
            let Some(digit) = self.text.take().and_then(|digit| digit.to_digit(10)) else {
                return Err(invalid(position, "a brace without a repetition count"));
            };
            number = Some((number.unwrap_or(0) * 10 + digit).min(MAX_COUNT + 1));
        }
        Ok(number)
    }

    fn at_comma(&self) -> bool {
        self.text.peek() == Some(',') || self.text.peek() == Some('\\') && self.text.look(1) == Some(',')
    }
}

#[cfg(test)]
mod tests;

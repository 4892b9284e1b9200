//! The dialect of librdkafka: a name, or behind a `^` what glibc's `regcomp` reads as a POSIX extended pattern, anywhere in a name.
//!
//! The locale is that of a process with UTF-8 characters and the C locale's collation, as Python and most services have it.
//! glibc says only whether a name matches, so which ways come first is left out of the tree.

mod brackets;
mod copies;

use super::char_set::CharSet;
use super::scanner::{Scanner, invalid};
use super::syntax::{Assertion, Node};
use crate::error::PatternError;
use copies::GlibcNode;

/// The highest count of a repetition (`RE_DUP_MAX`).
const MOST: u32 = 0x7FFF;

/// The groups 1 to 9 that are closed and may be referred to, as bits.
type Closed = u16;

/// A group that is open, or the whole pattern.
struct Open {
    /// Where its parenthesis stands.
    position: usize,
    group: u32,
    branches: Vec<GlibcNode>,
    /// The branch that is being read.
    parts: Vec<GlibcNode>,
    /// What was closed before it. A branch may not refer to a group of another one.
    before: Closed,
    /// What was closed in the branches that are read.
    within: Closed,
}

struct Parser {
    text: Scanner,
    /// How many groups were opened.
    count: u32,
    closed: Closed,
    whole: Open,
    groups: Vec<Open>,
}

/// What the pattern means, over whole names.
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

/// Whether every way begins at the start of the name.
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
    /// Reads what begins with the next character.
    fn read(&mut self, next: char) -> Result<(), PatternError> {
        match next {
            '(' => self.open()?,
            '|' => {
                self.text.take();
                self.groups.last_mut().unwrap_or(&mut self.whole).branch(&mut self.closed);
            }
            // Out of any group, a closing parenthesis is a character.
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

    /// Takes a part with the repetitions that follow it.
    fn repeated(&mut self, mut part: GlibcNode) -> Result<(), PatternError> {
        let mut piled = false;
        // What stands behind an assertion is no repetition of it.
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
            // `a**` makes the tree deeper, but no group does.
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
                    return Err(invalid(position, "a back-reference to a group that is not closed before it"));
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

    /// The counts of `{2}`, `{2,}`, `{,3}`, `{2,3}` or `{,}`, behind the brace.
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
        if least > MOST || most.is_some_and(|most| most > MOST || most < least) {
            return Err(invalid(position, "a repetition count that is too high, or lower than the minimum"));
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
                return Err(invalid(position, "a brace without a repetition count"));
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

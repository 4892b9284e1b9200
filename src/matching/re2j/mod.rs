//! The dialect re2j, of the broker: RE2/J 1.8 without flags, on the whole name.
//!
//! RE2/J matches with an automaton, so the tree has neither preferences nor captures. Of the inline flags only `i` has an
//! effect, because names have no line breaks.

mod classes;
mod factoring;

use std::collections::HashSet;

use factoring::can_be_misfactored;

use super::char_set::CharSet;
use super::repetition::Copies;
use super::scanner::{Scanner, invalid, unsupported};
use super::syntax::{Assertion, Node};
use crate::error::PatternError;

/// Maximum count of a repetition.
const MAX_COUNT: u32 = 1000;

/// An open group, or the whole pattern.
struct Open {
    /// Position of the opening parenthesis.
    position: usize,
    /// True if case is ignored after the group.
    folded: bool,
    branches: Vec<Node>,
    /// Nodes of the current branch.
    items: Vec<Node>,
}

struct Parser {
    text: Scanner,
    folded: bool,
    names: HashSet<String>,
    copies: Copies,
    whole: Open,
    groups: Vec<Open>,
    /// Number of quantifiers of the last item.
    piled: u32,
    /// True if the last item read is a repetition.
    repeated: bool,
}

/// Parse a pattern into a tree that matches whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    let mut parser = Parser {
        text: Scanner::new(pattern),
        folded: false,
        names: HashSet::new(),
        copies: Copies::new(),
        whole: Open::at(0, false),
        groups: Vec::new(),
        piled: 0,
        repeated: false,
    };
    while let Some(next) = parser.text.peek() {
        let repeated = parser.read(next)?;
        parser.repeated = repeated;
    }
    match parser.groups.last() {
        Some(open) => Err(invalid(open.position, "the group is not closed")),
        None => parser.whole.close(),
    }
}

impl Open {
    fn at(position: usize, folded: bool) -> Self {
        Self { position, folded, branches: Vec::new(), items: Vec::new() }
    }

    fn branch(&mut self) {
        self.branches.push(Node::concat(std::mem::take(&mut self.items)));
    }

    fn close(mut self) -> Result<Node, PatternError> {
        self.branch();
        if can_be_misfactored(&self.branches) {
            return Err(unsupported(
                self.position,
                "neighbouring alternatives that begin with the same letter, one only in upper case and one in either case, which \
                 RE2/J 1.8 matches incorrectly",
            ));
        }
        Ok(Node::alternation(self.branches))
    }
}

impl Parser {
    /// Parse one item; return whether it is a repetition.
    fn read(&mut self, next: char) -> Result<bool, PatternError> {
        let position = self.text.at;
        match next {
            '*' | '+' | '?' => {
                self.text.take();
                let (least, most) = (u32::from(next == '+'), (next == '?').then_some(1));
                self.repeat(position, least, most)?;
                return Ok(true);
            }
            '{' => {
                match self.counts()? {
                    Some((least, most)) => self.repeat(position, least, most)?,
                    None => self.literal()?,
                }
                // RE2/J counts a literal brace as a repetition when it looks for nested quantifiers: `a{*` is invalid.
                return Ok(true);
            }
            '(' => self.open()?,
            ')' => self.close()?,
            '[' => {
                let class = classes::class(&mut self.text, self.folded)?;
                self.push(Node::CharClass(class));
            }
            '\\' => self.escape()?,
            '|' => {
                self.text.take();
                self.innermost().branch();
            }
            '^' => self.assertion(1, Assertion::Start),
            '$' => self.assertion(1, Assertion::End),
            '.' => {
                self.text.take();
                self.push(Node::CharClass(CharSet::ALL));
            }
            _ => self.literal()?,
        }
        Ok(false)
    }

    fn innermost(&mut self) -> &mut Open {
        self.groups.last_mut().unwrap_or(&mut self.whole)
    }

    fn push(&mut self, node: Node) {
        self.piled = 0;
        self.innermost().items.push(node);
    }

    fn assertion(&mut self, length: usize, assertion: Assertion) {
        self.text.at += length;
        self.push(Node::Assert(assertion));
    }

    /// Parse the next character as a literal.
    fn literal(&mut self) -> Result<(), PatternError> {
        let position = self.text.at;
        if let Some(char) = self.text.take() {
            let code = u32::from(char);
            self.push(Node::CharClass(classes::range(code, code, self.folded, position)?));
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), PatternError> {
        let position = self.text.at;
        match self.text.look(1) {
            Some('A') => self.assertion(2, Assertion::Start),
            Some('z') => self.assertion(2, Assertion::End),
            Some('b') => self.assertion(2, Assertion::WordBoundary),
            Some('B') => self.assertion(2, Assertion::NotWordBoundary),
            Some('Q') => {
                self.text.at += 2;
                while !self.text.is_at_end() && !self.text.eat("\\E") {
                    self.literal()?;
                }
            }
            _ => {
                let class = if let Some(class) = classes::escaped(&mut self.text, self.folded)? {
                    class
                } else {
                    let code = classes::character(&mut self.text)?;
                    classes::range(code, code, self.folded, position)?
                };
                self.push(Node::CharClass(class));
            }
        }
        Ok(())
    }

    /// Repeat the last item. The quantifier is consumed except for the `?` of a lazy one.
    fn repeat(&mut self, position: usize, least: u32, most: Option<u32>) -> Result<(), PatternError> {
        self.text.eat("?");
        if self.repeated {
            return Err(invalid(position, "nested quantifiers"));
        }
        let Some(node) = self.innermost().items.pop() else {
            return Err(invalid(position, "nothing to repeat"));
        };
        // Flags can separate two quantifiers, as in `a*(?i)*`. The tree gets deeper without a group, so count a level.
        if self.piled > 0 {
            self.text.enter()?;
        }
        let node = self.copies.repeat(node, least, most, position)?;
        self.innermost().items.push(node);
        self.piled += 1;
        Ok(())
    }

    /// Parse the counts of `{2}`, `{2,}` or `{2,3}`; consume nothing if the brace is a literal.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let position = self.text.at;
        self.text.take();
        let counts = self.bounds();
        let Some((least, most)) = counts.filter(|_| self.text.eat("}")) else {
            self.text.at = position;
            return Ok(None);
        };
        if least > MAX_COUNT || most.is_some_and(|most| most > MAX_COUNT || most < least) {
            return Err(invalid(position, "a repetition count that is too high, or lower than the minimum"));
        }
        Ok(Some((least, most)))
    }

    fn bounds(&mut self) -> Option<(u32, Option<u32>)> {
        let least = self.number()?;
        if !self.text.eat(",") {
            return Some((least, Some(least)));
        }
        if self.text.peek() == Some('}') {
            return Some((least, None));
        }
        Some((least, Some(self.number()?)))
    }

    /// Parse a number without leading zeros; a number over the maximum is cut to the maximum plus one.
    fn number(&mut self) -> Option<u32> {
        let digits = self.text.take_while(|char| char.is_ascii_digit());
        let plain = !digits.is_empty() && (digits.len() == 1 || !digits.starts_with('0'));
        plain.then(|| digits.parse().map_or(MAX_COUNT + 1, |number: u32| number.min(MAX_COUNT + 1)))
    }

    fn open(&mut self) -> Result<(), PatternError> {
        self.text.reject_look_around("re2j")?;
        let position = self.text.at;
        let before = self.folded;
        if self.text.eat("(?P<") || self.text.eat("(?<") {
            self.name(position)?;
        } else if self.text.eat("(?") {
            if !self.flags(position)? {
                return Ok(());
            }
        } else {
            self.text.take();
        }
        self.text.enter()?;
        self.groups.push(Open::at(position, before));
        Ok(())
    }

    fn name(&mut self, position: usize) -> Result<(), PatternError> {
        let start = self.text.at;
        let name = self.text.take_while(|char| char != '>');
        if !self.text.eat(">") {
            return Err(invalid(position, "the group name is not closed"));
        }
        if name.is_empty() || !name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_') {
            return Err(invalid(start, "a group name with a character other than letters, digits and _"));
        }
        if !self.names.insert(name) {
            return Err(invalid(start, "duplicate group name"));
        }
        Ok(())
    }

    /// Parse flags; return true if they open a group, false if they apply to the rest of the current group.
    fn flags(&mut self, position: usize) -> Result<bool, PatternError> {
        let (mut folded, mut negated, mut any) = (self.folded, false, false);
        loop {
            match self.text.take() {
                Some('i') => (folded, any) = (!negated, true),
                Some('m' | 's' | 'U') => any = true,
                Some('-') if !negated => (negated, any) = (true, false),
                Some(end @ (':' | ')')) if any || !negated => {
                    self.folded = folded;
                    return Ok(end == ':');
                }
                _ => return Err(invalid(position, "unknown group type or flag")),
            }
        }
    }

    fn close(&mut self) -> Result<(), PatternError> {
        let Some(open) = self.groups.pop() else {
            return Err(invalid(self.text.at, "unmatched closing parenthesis"));
        };
        self.text.take();
        self.text.leave();
        self.folded = open.folded;
        let node = open.close()?;
        self.push(node);
        Ok(())
    }
}

//! The dialect of the broker: RE2/J 1.8 without flags, over whole names.
//!
//! RE2/J answers as an automaton does, so which ways come first and what groups take is left out of the tree. Of its flags only
//! `i` says anything about names, which have no line breaks.

mod classes;

use std::collections::HashSet;

use super::char_set::CharSet;
use super::repetition::repeat;
use super::scanner::{Scanner, invalid};
use super::syntax::{Assertion, Node};
use crate::error::PatternError;

/// The highest count of a repetition.
const MOST: u32 = 1000;

/// A group that is open, or the whole pattern.
struct Open {
    /// Where its parenthesis stands.
    position: usize,
    /// Whether case is ignored again behind it.
    folded: bool,
    branches: Vec<Node>,
    /// The branch that is being read.
    items: Vec<Node>,
}

struct Parser {
    text: Scanner,
    folded: bool,
    names: HashSet<String>,
    whole: Open,
    groups: Vec<Open>,
    /// How often the last item is repeated already.
    piled: u32,
    /// Whether what was read last is a repetition.
    repeated: bool,
}

/// What the pattern means, over whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    let mut parser = Parser {
        text: Scanner::new(pattern),
        folded: false,
        names: HashSet::new(),
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
        None => Ok(parser.whole.close()),
    }
}

impl Open {
    fn at(position: usize, folded: bool) -> Self {
        Self { position, folded, branches: Vec::new(), items: Vec::new() }
    }

    fn branch(&mut self) {
        self.branches.push(Node::concat(std::mem::take(&mut self.items)));
    }

    fn close(mut self) -> Node {
        self.branch();
        Node::alternation(self.branches)
    }
}

impl Parser {
    /// Reads what begins with the next character; says whether that was a repetition.
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
                // RE2/J takes a literal brace for a repetition too when it looks for one behind another: `a{*` is refused.
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

    /// The next character, whatever it is, for itself.
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

    /// Repeats the last item; the operator is read, but for the `?` of a lazy one.
    fn repeat(&mut self, position: usize, least: u32, most: Option<u32>) -> Result<(), PatternError> {
        self.text.eat("?");
        if self.repeated {
            return Err(invalid(position, "nested quantifiers"));
        }
        let Some(node) = self.innermost().items.pop() else {
            return Err(invalid(position, "nothing to repeat"));
        };
        // Something that is no item stood in between, as in `a*(?i)*`: it makes the tree deeper, but no group does.
        if self.piled > 0 {
            self.text.enter()?;
        }
        let node = repeat(node, least, most, position)?;
        self.innermost().items.push(node);
        self.piled += 1;
        Ok(())
    }

    /// The counts of `{2}`, `{2,}` or `{2,3}`; nothing is read where it is none of these and the brace is literal.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let position = self.text.at;
        self.text.take();
        let counts = self.bounds();
        let Some((least, most)) = counts.filter(|_| self.text.eat("}")) else {
            self.text.at = position;
            return Ok(None);
        };
        if least > MOST || most.is_some_and(|most| most > MOST || most < least) {
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

    /// A number without leading zeros, as far as its size matters.
    fn number(&mut self) -> Option<u32> {
        let digits = self.text.take_while(|char| char.is_ascii_digit());
        let plain = !digits.is_empty() && (digits.len() == 1 || !digits.starts_with('0'));
        plain.then(|| digits.parse().map_or(MOST + 1, |number: u32| number.min(MOST + 1)))
    }

    fn open(&mut self) -> Result<(), PatternError> {
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

    /// Reads flags; says whether they open a group, or else hold for the rest of this one.
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
        self.push(open.close());
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! The dialect librdkafka: one exact name, or, with a leading `^`, a POSIX extended regular expression of glibc's `regcomp`
//! on any part of the name.
//!
//! glibc reads a pattern by the locale of the process. This module assumes UTF-8 characters and the collation of the C locale, which
//! a Python process and most services have. librdkafka only tests whether a name matches, so the tree has no preferences.
//!
//! glibc expands `x{2,}` to `xxx*`, and does not check an assertion (`^`, `\b`, ...) before a node that is a copy: `^(b|$a){2}`
//! matches "ba". Patterns for which this could change the result are not supported.

mod brackets;

use super::char_set::CharSet;
use super::repetition::Copies;
use super::scanner::{Scanner, invalid, unsupported};
use super::syntax::{Assertion, Node};
use crate::error::PatternError;

/// Maximum count of a repetition (`RE_DUP_MAX`).
const MAX_COUNT: u32 = 0x7FFF;

const UNCHECKED: &str = "a repetition with an assertion (^, $, \\b, ...) that glibc does not check in every iteration";

/// A group with a backreference that can match in several ways: glibc may compare the text of the wrong match.
const AMBIGUOUS: &str = "a backreference that glibc may match incorrectly";

/// Bits of the groups 1 to 9, which backreferences may refer to.
type Groups = u16;

/// Where a part of a pattern has assertions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Assertions {
    Nowhere,
    /// Only at ends, so the node after the assertion is the node after the part.
    AtEnds,
    /// Before a node of the part.
    Inside,
}

/// A part of a pattern that a quantifier may follow.
struct Part {
    node: Node,
    assertions: Assertions,
    /// Number of the groups that were opened before the part.
    first: u32,
    /// Groups to which backreferences before the part refer.
    used: Groups,
}

/// An open group, or the whole pattern.
struct Open {
    /// Position of the opening parenthesis.
    position: usize,
    group: u32,
    branches: Vec<Node>,
    /// Nodes of the current branch.
    nodes: Vec<Node>,
    /// Assertions of the current branch.
    current: Assertions,
    /// Assertions of the other branches.
    assertions: Assertions,
    /// Groups that were closed before this group. A branch must not refer to a group of another branch.
    before: Groups,
    /// Groups that were closed in the branches so far.
    within: Groups,
    /// Groups to which backreferences before this group refer.
    used: Groups,
}

struct Parser {
    text: Scanner,
    /// Number of opened groups.
    count: u32,
    closed: Groups,
    /// Groups to which backreferences refer.
    used: Groups,
    /// Groups that contain assertions.
    asserting: Groups,
    /// For each group, the position of the outermost repetition that copies it.
    copied: [Option<usize>; 10],
    copies: Copies,
    whole: Open,
    groups: Vec<Open>,
    /// First construct that is not supported. It is raised after parsing, because an invalid pattern is reported as invalid.
    refused: Option<PatternError>,
}

/// Parse a pattern into a tree that matches whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    if let Some(position) = pattern.chars().position(|char| char == '\0') {
        return Err(invalid(position, "a NUL character, which ends a pattern in C"));
    }
    if !pattern.starts_with('^') {
        return Ok(Node::literal(pattern));
    }
    let mut parser = Parser::new(pattern);
    while let Some(next) = parser.text.peek() {
        parser.read(next)?;
    }
    if let Some(open) = parser.groups.last() {
        return Err(invalid(open.position, "the group is not closed"));
    }
    if let Some(error) = parser.refused {
        return Err(error);
    }
    let (found, _) = parser.whole.close(&mut parser.closed);
    let mut nodes = vec![found, Node::any_text()];
    if !starts(&nodes[0]) {
        nodes.insert(0, Node::any_text());
    }
    Ok(Node::concat(nodes))
}

/// Return true if every alternative begins at the start of the name.
fn starts(node: &Node) -> bool {
    match node {
        Node::Assert(assertion) => *assertion == Assertion::Start,
        // The first node that consumes characters decides, unless an assertion before it does. Each node is visited once.
        Node::Concat(nodes) => nodes
            .iter()
            .map(|node| (starts(node), node))
            .find(|(starts, node)| *starts || node.max_length() != Some(0))
            .is_some_and(|(starts, _)| starts),
        Node::Alternation(nodes) => nodes.iter().all(starts),
        Node::Capture(_, node) => starts(node),
        Node::Repetition { node, least, .. } => *least > 0 && starts(node),
        _ => false,
    }
}

impl Assertions {
    /// Return where the assertions of a part and of the part after it are.
    fn then(self, next: Self) -> Self {
        if self == Self::Nowhere { next } else { Self::Inside }
    }
}

impl Open {
    fn at(position: usize, group: u32, before: Groups, used: Groups) -> Self {
        let (branches, nodes) = (Vec::new(), Vec::new());
        let none = Assertions::Nowhere;
        Self { position, group, branches, nodes, current: none, assertions: none, before, within: 0, used }
    }

    fn push(&mut self, node: Node, assertions: Assertions) {
        if node != Node::EMPTY {
            self.nodes.push(node);
            self.current = self.current.then(assertions);
        }
    }

    fn branch(&mut self, closed: &mut Groups) {
        self.branches.push(Node::concat(std::mem::take(&mut self.nodes)));
        self.assertions = self.assertions.max(self.current);
        self.current = Assertions::Nowhere;
        self.within |= *closed;
        *closed = self.before;
    }

    fn close(mut self, closed: &mut Groups) -> (Node, Assertions) {
        self.branch(closed);
        *closed |= self.within;
        (Node::alternation(self.branches), self.assertions)
    }
}

impl Parser {
    fn new(pattern: &str) -> Self {
        Self {
            text: Scanner::new(pattern),
            count: 0,
            closed: 0,
            used: 0,
            asserting: 0,
            copied: [None; 10],
            copies: Copies::new(),
            whole: Open::at(0, 0, 0, 0),
            groups: Vec::new(),
            refused: None,
        }
    }

    /// Return the innermost open group, or the whole pattern.
    fn innermost(&mut self) -> &mut Open {
        self.groups.last_mut().unwrap_or(&mut self.whole)
    }

    fn refuse(&mut self, position: usize, construct: &str) {
        self.refused.get_or_insert_with(|| unsupported(position, construct));
    }

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
                let used = self.used;
                match self.item(next)? {
                    // A quantifier after an assertion does not repeat it.
                    node @ Node::Assert(_) => self.innermost().push(node, Assertions::AtEnds),
                    node => {
                        self.repeated(Part { node, assertions: Assertions::Nowhere, first: self.count, used })?;
                    }
                }
            }
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), PatternError> {
        self.text.reject_look_around("librdkafka")?;
        let position = self.text.at;
        self.text.take();
        self.text.enter()?;
        self.count += 1;
        self.groups.push(Open::at(position, self.count, self.closed, self.used));
        Ok(())
    }

    fn close(&mut self) -> Option<Part> {
        let open = self.groups.pop()?;
        self.text.take();
        self.text.leave();
        let (group, used) = (open.group, open.used);
        let (node, assertions) = open.close(&mut self.closed);
        if group <= 9 {
            self.closed |= 1 << group;
            self.asserting |= u16::from(assertions != Assertions::Nowhere) << group;
        }
        Some(Part { node: Node::Capture(group, Box::new(node)), assertions, first: group - 1, used })
    }

    /// Add a part with its quantifiers.
    fn repeated(&mut self, mut part: Part) -> Result<(), PatternError> {
        let mut piled = false;
        loop {
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
            if most == Some(0) {
                self.used = part.used;
                part.node = Node::EMPTY;
            } else if part.node != Node::EMPTY {
                part = self.times(part, least, most, position);
            }
        }
        self.innermost().push(part.node, part.assertions);
        Ok(())
    }

    /// Return the repetition of a part.
    fn times(&mut self, part: Part, least: u32, most: Option<u32>, position: usize) -> Part {
        let Part { node, mut assertions, first, used } = part;
        if most != Some(1) {
            if self.used != used {
                self.refuse(position, AMBIGUOUS);
            }
            if (least, most) != (0, None) {
                self.check_copies(&node, assertions, least, most, position);
                for group in first + 1..=self.count.min(9) {
                    self.copied[group as usize] = Some(position);
                }
            }
            // The node after the assertion is the one that glibc adds for the other iterations.
            if assertions == Assertions::AtEnds && most != Some(least) {
                assertions = Assertions::Inside;
            }
        }
        let node = self.copies.repeat(node, least, most, position).unwrap_or_else(|error| {
            self.refused.get_or_insert(error);
            Node::EMPTY
        });
        Part { node, assertions, first, used }
    }

    /// Refuse the copies of a part if the result may depend on an assertion that glibc does not check.
    ///
    /// In each copy except the first, these are the assertions before a node of the part. If the next copy follows directly (`x{2}`,
    /// but not `x+`, which is `xx*`), it is also the assertions at the end. A part that consumes no character has all its iterations
    /// at one position, so it is enough that the first or the last copy is checked completely.
    fn check_copies(&mut self, node: &Node, assertions: Assertions, least: u32, most: Option<u32>, position: usize) {
        let is_checked = match assertions {
            Assertions::Nowhere => true,
            Assertions::AtEnds => node.max_length() == Some(0) || (least, most) == (1, None),
            Assertions::Inside => node.max_length() == Some(0) && least <= 1,
        };
        if !is_checked {
            self.refuse(position, UNCHECKED);
        }
    }

    fn item(&mut self, next: char) -> Result<Node, PatternError> {
        let position = self.text.at;
        if next == '[' {
            return Ok(Node::CharClass(brackets::bracket(&mut self.text)?));
        }
        self.text.take();
        Ok(match next {
            '^' => Node::Assert(Assertion::Start),
            '$' => Node::Assert(Assertion::End),
            '.' => Node::CharClass(CharSet::ALL),
            '\\' => self.escape(position)?,
            '*' | '+' | '?' | '{' => return Err(invalid(position, "nothing to repeat")),
            _ => Node::CharClass(CharSet::one(next)),
        })
    }

    fn escape(&mut self, position: usize) -> Result<Node, PatternError> {
        let Some(char) = self.text.take() else {
            return Err(invalid(position, "a backslash at the end of the pattern"));
        };
        Ok(match char {
            '1'..='9' => {
                let group = u32::from(char) - u32::from('0');
                if self.closed >> group & 1 == 0 {
                    return Err(invalid(position, "a backreference to a group that is not closed before it"));
                }
                self.refer(group, position)
            }
            '<' => Node::Assert(Assertion::WordStart),
            '>' => Node::Assert(Assertion::WordEnd),
            'b' => Node::Assert(Assertion::WordBoundary),
            'B' => Node::Assert(Assertion::NotWordBoundary),
            '`' => Node::Assert(Assertion::Start),
            '\'' => Node::Assert(Assertion::End),
            'w' => Node::CharClass(CharSet::WORD),
            'W' => Node::CharClass(!CharSet::WORD),
            's' => Node::CharClass(CharSet::one(' ')),
            'S' => Node::CharClass(!CharSet::one(' ')),
            _ => Node::CharClass(CharSet::one(char)),
        })
    }

    /// Return a backreference. A group may have one, must not be copied, and must not contain assertions.
    fn refer(&mut self, group: u32, position: usize) -> Node {
        let bit = 1 << group;
        if self.used & bit != 0 || self.asserting & bit != 0 {
            self.refuse(position, AMBIGUOUS);
        } else if let Some(copied) = self.copied[group as usize] {
            self.refuse(copied, AMBIGUOUS);
        }
        self.used |= bit;
        Node::Backreference { group, folded: false }
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

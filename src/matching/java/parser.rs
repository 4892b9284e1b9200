//! Parser of alternatives, sequences, groups and repetitions.

use super::super::char_set::CharSet;
use super::super::limits::MAX_REFERENCED_GROUPS;
use super::super::scanner::too_many_references;
use super::super::syntax::{Assertion, Greed, Node};
use super::brackets::class;
use super::cursor::{Cursor, FAILURE};
use super::escape::{Escape, escape, group_name};
use super::look_behind::look_behind;
use super::properties::property;
use super::quantifier::quantifier;
use super::references;
use super::width::{Atom, SizedNode, Step, Width};
use crate::error::PatternError;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of a group.
#[derive(PartialEq, Eq)]
enum Kind {
    /// Only setting flags.
    Flags,
    Plain,
    Capturing,
    Atomic,
    Around {
        ahead: bool,
        negated: bool,
    },
}

/// Parser of a pattern.
pub(super) struct Parser {
    cursor: Cursor,
    names: BTreeMap<String, u32>,
    /// Number of opened groups.
    groups: u32,
    /// Groups whose capture Java keeps after backtracking.
    kept: BTreeSet<u32>,
    references: Vec<(u32, usize)>,
    /// Groups that backreferences refer to.
    referenced: BTreeSet<u32>,
    /// Position of the first `\b{g}`.
    boundary: Option<usize>,
    /// True if the pattern has a construct with which Java wrongly moves the position from which `\b{g}` searches.
    is_moved: bool,
}

impl Parser {
    pub(super) fn new(pattern: &str) -> Self {
        Self {
            cursor: Cursor::new(pattern),
            names: BTreeMap::new(),
            groups: 0,
            kept: BTreeSet::new(),
            references: Vec::new(),
            referenced: BTreeSet::new(),
            boundary: None,
            is_moved: false,
        }
    }

    /// Parse the whole pattern.
    pub(super) fn pattern(mut self) -> Result<Node, PatternError> {
        let node = self.alternatives()?.node;
        if self.cursor.peek() == ')' && !self.cursor.ended() {
            return Err(self.cursor.invalid(self.cursor.at, "unmatched closing parenthesis"));
        }
        if !self.cursor.at_end() {
            return Err(self.cursor.invalid(self.cursor.at, "an incomplete escape at the end of the pattern"));
        }
        let unsure = self.references.iter().find(|(group, _)| self.kept.contains(group));
        if let Some((_, position)) = unsure
            && self.referenced.len() <= MAX_REFERENCED_GROUPS
            && !references::are_exact(&node, &(&self.kept & &self.referenced))
        {
            let construct = "a backreference to a group whose capture Java may keep after backtracking";
            self.cursor.note_unsupported(*position, construct);
        }
        if let (Some(position), true) = (self.boundary, self.is_moved) {
            self.cursor.note_unsupported(position, FAILURE);
        }
        self.cursor.check_supported()?;
        Ok(node)
    }

    fn alternatives(&mut self) -> Result<SizedNode, PatternError> {
        let mut parts = vec![self.sequence()?];
        while self.cursor.peek() == '|' {
            self.cursor.next();
            parts.push(self.sequence()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { SizedNode::alternation(parts) })
    }

    fn sequence(&mut self) -> Result<SizedNode, PatternError> {
        let (mut nodes, mut steps) = (Vec::new(), Vec::new());
        loop {
            let start = self.cursor.at;
            let part = match self.cursor.peek() {
                '(' => match self.group()? {
                    Some(part) => part,
                    None => continue,
                },
                '|' | ')' => break,
                '\0' if self.cursor.ended() => break,
                '*' | '+' | '?' => return Err(self.cursor.invalid(start, "nothing to repeat")),
                char => self.single(char)?,
            };
            if part.node != Node::EMPTY {
                nodes.push(part.node);
            }
            steps.extend(part.steps);
        }
        Ok(SizedNode { node: Node::concat(nodes), steps })
    }

    /// Parse an item other than a group, and its quantifier. `char` is the first character of the item.
    fn single(&mut self, char: char) -> Result<SizedNode, PatternError> {
        let atom = match char {
            '[' => {
                let set = class(&mut self.cursor, true)?;
                self.of_class(set)
            }
            '\\' if matches!(self.cursor.raw(self.cursor.at + 1), 'p' | 'P') => {
                let set = property(&mut self.cursor)?;
                self.of_class(set)
            }
            '^' | '$' => {
                self.cursor.next();
                Atom::of(Node::Assert(if char == '^' { Assertion::Start } else { Assertion::End }), Vec::new())
            }
            '.' => {
                self.cursor.next();
                Atom::property(CharSet::ALL)
            }
            _ => self.literal()?,
        };
        self.repeated(atom)
    }

    fn of_class(&self, set: CharSet) -> Atom {
        if self.cursor.flags.canonical {
            Atom::of(Node::CharClass(set), vec![Step::Cluster])
        } else {
            Atom::property(set)
        }
    }

    /// Parse a run of literal characters, or one escape that is not a character.
    fn literal(&mut self) -> Result<Atom, PatternError> {
        let mut sets = Vec::new();
        // Index of the last character.
        let mut last = self.cursor.at;
        loop {
            let char = self.cursor.peek();
            let code = match char {
                '*' | '+' | '?' | '{' => {
                    // A quantifier applies only to the last character.
                    if sets.len() > 1 {
                        self.cursor.at = last;
                        sets.pop();
                    }
                    break;
                }
                '$' | '.' | '^' | '(' | '[' | '|' | ')' => break,
                '\0' if self.cursor.ended() => break,
                '\\' => {
                    if matches!(self.cursor.raw(self.cursor.at + 1), 'p' | 'P') {
                        break;
                    }
                    let start = self.cursor.at;
                    match escape(&mut self.cursor, false, false)? {
                        Escape::Char(code) => {
                            last = start;
                            code
                        }
                        escape if sets.is_empty() => return self.of_escape(&escape, start),
                        Escape::Name(name) => {
                            self.group_named(&name, start)?;
                            self.cursor.at = start;
                            break;
                        }
                        _ => {
                            self.cursor.at = start;
                            break;
                        }
                    }
                }
                _ => {
                    last = self.cursor.at;
                    self.cursor.next();
                    u32::from(char)
                }
            };
            sets.push(self.cursor.folded(code));
        }
        if let [set] = sets[..] {
            return Ok(Atom::property(set));
        }
        let length = i32::try_from(sets.len()).unwrap_or(i32::MAX);
        Ok(Atom::of(Node::Concat(sets.into_iter().map(Node::CharClass).collect()), vec![Step::Add(length, length)]))
    }

    fn of_escape(&mut self, escape: &Escape, start: usize) -> Result<Atom, PatternError> {
        Ok(match escape {
            Escape::Set(set) => Atom::property(*set),
            Escape::Grapheme => Atom::of(escape.node(), vec![Step::Cluster]),
            Escape::LineBreak => Atom::of(escape.node(), vec![Step::Add(1, 2)]),
            Escape::Number(digit) => {
                let group = self.group_number(*digit);
                self.reference(group, start)
            }
            Escape::Name(name) => {
                let group = self.group_named(name, start)?;
                self.reference(group, start)
            }
            Escape::Anywhere => {
                self.boundary.get_or_insert(start);
                Atom::of(escape.node(), Vec::new())
            }
            _ => Atom::of(escape.node(), Vec::new()),
        })
    }

    fn reference(&mut self, group: u32, start: usize) -> Atom {
        self.references.push((group, start));
        if self.referenced.insert(group) && self.referenced.len() > MAX_REFERENCED_GROUPS {
            self.cursor.note_unsupported(start, &too_many_references());
        }
        Atom::of(Node::Backreference { group, folded: self.cursor.flags.fold }, vec![Step::Reference])
    }

    fn group_named(&self, name: &str, start: usize) -> Result<u32, PatternError> {
        self.names.get(name).copied().ok_or_else(|| self.cursor.invalid(start, "unknown group name"))
    }

    /// Parse the rest of a group number. A digit belongs to it only if a group with the longer number exists.
    fn group_number(&mut self, first: u32) -> u32 {
        let mut group = first;
        while let Some(digit) = self.cursor.peek().to_digit(10) {
            if group * 10 + digit > self.groups {
                break;
            }
            group = group * 10 + digit;
            self.cursor.read();
        }
        group
    }

    /// Parse a group and its quantifier; return None if it only sets flags.
    ///
    /// This function is recursive. To keep its stack frame small, the functions that it calls hold most local variables.
    fn group(&mut self) -> Result<Option<SizedNode>, PatternError> {
        let (start, flags, first) = (self.cursor.at, self.cursor.flags, self.groups + 1);
        self.cursor.enter()?;
        let kind = self.kind(start)?;
        if kind == Kind::Flags {
            self.cursor.leave();
            return Ok(None);
        }
        let body = self.alternatives()?;
        self.cursor.leave();
        if self.cursor.read() != ')' {
            return Err(self.cursor.invalid(start, "the group is not closed"));
        }
        self.cursor.flags = flags;
        self.whole(&kind, body, first, start).map(Some)
    }

    /// Parse the kind of a group; the cursor moves from the parenthesis to the body of the group.
    fn kind(&mut self, start: usize) -> Result<Kind, PatternError> {
        if self.cursor.next() != '?' {
            self.groups += 1;
            return Ok(Kind::Capturing);
        }
        let kind = self.cursor.raw(self.cursor.at + 1);
        self.cursor.at += 2;
        Ok(match kind {
            ':' => Kind::Plain,
            '=' | '!' => Kind::Around { ahead: true, negated: kind == '!' },
            '>' => Kind::Atomic,
            '<' => {
                let sign = self.cursor.read();
                if matches!(sign, '=' | '!') {
                    return Ok(Kind::Around { ahead: false, negated: sign == '!' });
                }
                self.cursor.back();
                let name = group_name(&mut self.cursor, start)?;
                self.groups += 1;
                if self.names.insert(name, self.groups).is_some() {
                    return Err(self.cursor.invalid(start, "duplicate group name"));
                }
                Kind::Capturing
            }
            _ => {
                self.cursor.back();
                self.set_flags();
                match self.cursor.read() {
                    ')' => Kind::Flags,
                    ':' => Kind::Plain,
                    _ => return Err(self.cursor.invalid(start, "unknown group type")),
                }
            }
        })
    }

    /// Return a group with its quantifier; `first` is the number of the group itself or of the first group in it.
    fn whole(&mut self, kind: &Kind, body: SizedNode, first: u32, start: usize) -> Result<SizedNode, PatternError> {
        let part = match *kind {
            Kind::Flags | Kind::Plain => return self.repeated_group(body, first, false),
            Kind::Capturing => {
                let part = SizedNode { node: Node::Capture(first, Box::new(body.node)), steps: body.steps };
                return self.repeated_group(part, first, true);
            }
            Kind::Around { ahead: true, negated } => {
                let node = Box::new(body.node);
                SizedNode { node: Node::LookAround { ahead: true, negated, node }, steps: Vec::new() }
            }
            Kind::Around { ahead: false, negated } => SizedNode {
                node: look_behind(&mut self.cursor, body.node, Width::of(&body.steps), negated, start)?,
                steps: Vec::new(),
            },
            Kind::Atomic => {
                SizedNode { node: Node::Atomic(Box::new(body.node)), steps: vec![Step::Inner(body.steps, false)] }
            }
        };
        self.kept.extend(first..=self.groups);
        self.is_moved = true;
        self.repeated(Atom { part, is_property: false })
    }

    fn set_flags(&mut self) {
        let mut on = true;
        loop {
            let char = self.cursor.peek();
            let flags = &mut self.cursor.flags;
            match char {
                'i' => flags.fold = on,
                'u' => flags.unicode = on,
                'x' => flags.comments = on,
                'd' => flags.unix_lines = on,
                'U' => (flags.classes, flags.unicode) = (on, on),
                'c' => flags.canonical = on,
                'm' | 's' => {}
                '-' if on => on = false,
                _ => return,
            }
            self.cursor.next();
        }
    }

    /// Return an atom with its quantifier.
    fn repeated(&mut self, atom: Atom) -> Result<SizedNode, PatternError> {
        let Some(quantifier) = quantifier(&mut self.cursor)? else { return Ok(atom.part) };
        let SizedNode { node, steps } = atom.part;
        let is_loop = atom.is_property && quantifier.most.is_none() && quantifier.greed == Greed::Greedy;
        self.is_moved |= !is_loop;
        let steps = if is_loop {
            vec![Step::Many(quantifier.least)]
        } else if quantifier.is_optional() {
            vec![Step::Inner(steps, true)]
        } else {
            vec![quantifier.times(&steps)]
        };
        Ok(SizedNode { node: quantifier.of(node), steps })
    }

    /// Return a group with its quantifier; `first` is the number of the group if it is `capturing`, else of the first in it.
    fn repeated_group(&mut self, part: SizedNode, first: u32, capturing: bool) -> Result<SizedNode, PatternError> {
        let Some(quantifier) = quantifier(&mut self.cursor)? else { return Ok(part) };
        let width = Width::of(&part.steps);
        let within = first..=self.groups;
        self.is_moved |= quantifier.greed == Greed::Possessive || !quantifier.is_optional() && width.one_way;
        let steps = match (quantifier.greed, quantifier.is_optional()) {
            (Greed::Possessive, is_optional) => {
                self.kept.extend(within);
                vec![if is_optional { Step::Inner(part.steps, true) } else { quantifier.times(&part.steps) }]
            }
            (_, true) => vec![Step::Alternation(vec![width, Width::EMPTY])],
            (_, false) if width.one_way => {
                let is_kept = |group: &u32| !capturing || *group != first || part.node.min_length() == 0;
                self.kept.extend(within.filter(is_kept));
                vec![quantifier.times(&part.steps)]
            }
            (_, false) => vec![Step::Loop],
        };
        Ok(SizedNode { node: quantifier.of(part.node), steps })
    }
}

//! The dialect python: `re` of Python 3.11 on a prefix of the name, as in `re.match`.

mod escapes;
mod flags;
mod groups;
mod names;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::dialect::Dialect;

    fn found(pattern: &str, names: &[&str]) -> Vec<bool> {
        Dialect::Python.matches(pattern, names)
    }

    fn error_of(pattern: &str) -> (usize, String) {
        Dialect::Python.error_of(pattern)
    }

    fn unsupported(pattern: &str) -> String {
        let fault = parse(pattern).unwrap_err();
        assert!(!fault.invalid, "{pattern}: {fault:?}");
        fault.reason
    }

    #[test]
    fn pattern_matches_a_prefix_unless_anchored_at_the_end() {
        assert_eq!(vec![true, true, false], found("ab", &["ab", "abc", "cab"]));
        assert_eq!(vec![true, false], found("ab$", &["ab", "abc"]));
        assert_eq!(vec![true, false], found(r"ab\Z", &["ab", "abc"]));
        assert_eq!(vec![true], found("", &["a"]));
    }

    #[test]
    fn characters_that_no_name_has_never_match() {
        assert_eq!(vec![false], found("a\n", &["a"]));
        assert_eq!(vec![true], found("[^é\n]$", &["a"]));
        assert_eq!(vec![true], found("𐐀|a", &["a"]));
    }

    #[test]
    fn non_ascii_characters_fold_to_ascii_without_the_flag_a() {
        assert_eq!(vec![true, true], found("(?i)ſ", &["s", "S"]));
        assert_eq!(vec![true, true], found("(?i)[\u{212a}]", &["k", "K"]));
        assert_eq!(vec![false, true], found("(?i)[^ı-ĵ]", &["I", "s"]));
        assert_eq!(vec![false, false], found("(?ai)ſ", &["s", "S"]));
        assert_eq!(vec![true, false], found("(?i:a)(?a-i:b)", &["Ab", "AB"]));
    }

    #[test]
    fn a_backslash_and_digits_are_a_group_or_an_octal_number() {
        assert_eq!(vec![true, false], found(r"(a|b)\1", &["aa", "ab"]));
        assert_eq!(vec![true], found(r"\141\x61\u0061\N{latin small letter a}\0?", &["aaaa"]));
        assert_eq!((1, "unknown group".to_owned()), error_of(r"\1"));
        assert_eq!((2, "a reference to an open group".to_owned()), error_of(r"(a\1)"));
        assert_eq!((0, "an octal escape above 377".to_owned()), error_of(r"\400"));
    }

    #[test]
    fn sets_have_no_operators() {
        assert_eq!(vec![true, true, false], found("[[a&&b]$", &["[", "&", "c"]));
        assert_eq!(vec![true, true, false], found("[]-_]$", &["]", "_", "-"]));
        assert_eq!((3, "invalid character range".to_owned()), error_of(r"[\x61-\d]"));
        assert_eq!((0, "the character set is not closed".to_owned()), error_of("[]"));
    }

    #[test]
    fn brace_without_repetition_is_literal() {
        assert_eq!(vec![true, false], found("a{,2}$", &["aa", "aaa"]));
        assert_eq!(vec![true], found("a{,}$", &["aaa"]));
        assert_eq!(vec![true, true], found("a({}|{x}|{1 })", &["a{}", "a{x}"]));
        assert_eq!((4, "nested quantifiers".to_owned()), error_of("a{1}{2}"));
        assert_eq!((1, "nothing to repeat".to_owned()), error_of("^*"));
        assert_eq!((2, "the maximum repetition count is lower than the minimum".to_owned()), error_of("a{2,1}"));
        assert_eq!((2, "the repetition count is too high".to_owned()), error_of("a{4294967295}"));
    }

    #[test]
    fn minimum_iterations_may_be_empty() {
        assert_eq!(vec![true], found("(?:^|a){2}$", &["a"]));
        assert_eq!(vec![true, false], found(r"(?:()|b\1){2}$", &["b", "bb"]));
        assert_eq!(vec![true], found(r"(?:()|\1b)+$", &["b"]));
    }

    #[test]
    fn possessive_and_atomic_parts_do_not_backtrack() {
        assert_eq!(vec![false, true], found("a*+a|b", &["aa", "b"]));
        assert_eq!(vec![false], found("(?>a|ab)c", &["abc"]));
        assert_eq!("a backreference to a group inside a possessive repetition", unsupported(r"(?:(a)|b)*+\1"));
        assert_eq!(vec![true], found("((a)|b)*+$", &["aba"]));
    }

    #[test]
    fn conditionals_test_captures() {
        assert_eq!(vec![true, true, false], found("(<)?a(?(1)>|$)", &["<a>", "a", "<a"]));
        assert_eq!(vec![true, false], found("(?P<q>-)?a(?(q)-)$", &["-a-", "-a"]));
        assert_eq!((3, "unknown group".to_owned()), error_of("(?(9)a)"));
        assert_eq!("a conditional on a group inside that group", unsupported("((?(1)a|b))"));
    }

    #[test]
    fn a_look_behind_needs_a_fixed_width() {
        assert_eq!(vec![true, false], found("..(?<=ab|cd)x", &["abx", "acx"]));
        assert_eq!((1, "a look-behind without a fixed width".to_owned()), error_of("a(?<=a|bc)"));
        assert_eq!((6, "a reference to an open group".to_owned()), error_of(r"(?<=(a\1))"));
        assert_eq!((9, "a reference to a group in the same look-behind".to_owned()), error_of(r"(?<=(a)\1)"));
    }

    #[test]
    fn global_flags_must_be_at_the_start() {
        assert_eq!(vec![true], found("(?x) (?i) a # b\n b $", &["AB"]));
        assert_eq!((1, "global flags that are not at the start".to_owned()), error_of("a(?i)"));
        assert_eq!((4, "incompatible flags".to_owned()), error_of("(?a)(?u)"));
        assert_eq!((3, "the flag L is only for bytes patterns".to_owned()), error_of("(?L)"));
    }

    #[test]
    fn backslash_escapes_also_in_comments_and_names() {
        assert_eq!(vec![true], found(r"(?#\))a", &["a"]));
        assert_eq!((1, "a backslash at the end of the pattern".to_owned()), error_of(r"*\"));
    }

    #[test]
    fn nesting_is_limited() {
        for begin in ["(", "(?:", "(?=", "(?<!", "(?>", "(?i-s:", "(?P<n>", "(?(1)"] {
            let nested = |levels: usize| {
                let begins: String = (0..levels).map(|level| begin.replace('n', &format!("n{level}"))).collect();
                format!("(a)|{begins}a{}", ")".repeat(levels))
            };

            assert_eq!(vec![true], found(&nested(100), &["a"]), "{begin}");
            assert_eq!("more than 100 nested groups", unsupported(&nested(101)));
        }
    }

    #[test]
    fn a_pattern_can_be_long() {
        assert_eq!(vec![true], found(&"a|".repeat(10_000), &["b"]));
        assert_eq!(vec![false], found(&"a?b*".repeat(10_000).replace("b*", "b"), &["ab"]));
        assert_eq!((0, "the character set is not closed".to_owned()), error_of(&format!("[{}", "[^a".repeat(10_000))));
        assert_eq!("too many repetitions of a part that may match the empty text", unsupported("(?:^|a){20000}"));
    }
}

//! The dialect java: `java.util.regex` of Java 17, over the whole name.
//!
//! Java parses a pattern in one pass, which has undocumented effects on the places of comments, the combination of nested classes
//! and the maximum length of look-behinds. This parser has the same structure.

mod brackets;
mod cursor;
mod escape;
mod look_behind;
mod names;
mod parser;
mod properties;
mod quantifier;
mod references;
mod width;

use super::syntax::Node;
use crate::error::PatternError;

/// Parse a pattern into a tree that matches whole names.
pub(super) fn parse(pattern: &str) -> Result<Node, PatternError> {
    parser::Parser::new(pattern).pattern()
}

#[cfg(test)]
mod tests {
    use super::super::backtracking;
    use super::*;

    fn matching<'a>(pattern: &str, names: &[&'a str]) -> Vec<&'a str> {
        let node = parse(pattern).unwrap();
        names.iter().copied().filter(|name| backtracking::matches(&node, name.as_bytes()).unwrap()).collect()
    }

    fn error_of(pattern: &str) -> (bool, usize, String) {
        let error = parse(pattern).unwrap_err();
        (error.invalid, error.position, error.reason)
    }

    #[test]
    fn intersections_are_those_of_java() {
        assert_eq!(vec!["b"], matching("[a-z&&[^ac-z]]", &["a", "b", "c"]));
        assert_eq!(vec!["a"], matching("[a&&]", &["a", "&"]));
        assert_eq!(vec!["a"], matching("[&&a]", &["a", "&"]));
        assert_eq!(vec!["b"], matching("[^a&&a]", &["a", "b"]));
        assert_eq!((true, 1, "an intersection without operands".to_owned()), error_of("[&&]"));
    }

    #[test]
    fn single_characters_after_an_intersection_belong_to_its_left_side() {
        assert_eq!(vec!["a", "b", "&"], matching("[a&&[b]&b]", &["a", "b", "&", "c"]));
    }

    #[test]
    fn empty_intersection_can_fail_in_java() {
        assert_eq!((false, 5, cursor::FAILURE.to_owned()), error_of("[a-cd&&&]"));
    }

    #[test]
    fn a_second_count_repeats_the_empty_text() {
        assert_eq!(vec!["aa"], matching("a{2}{3}", &["aa", "aaaaaa"]));
        assert_eq!((true, 2, "nothing to repeat".to_owned()), error_of("a**"));
    }

    #[test]
    fn quotes_are_literal_even_if_they_do_not_end() {
        assert_eq!(vec!["a.b"], matching(r"a\Q.b", &["a.b", "axb"]));
        assert_eq!(vec!["?"], matching(r"(\Q?\E)", &["?", ""]));
        assert_eq!(vec!["."], matching(r"[\Q.]\E]", &[".", "a"]));
    }

    #[test]
    fn comments_may_occur_within_classes_and_escapes() {
        assert_eq!(vec!["ab"], matching("(?x) [ a ] # first\n \\x6 2", &["ab", " ab"]));
    }

    #[test]
    fn unicode_folding_reaches_ascii_letters() {
        assert_eq!(vec!["k", "K"], matching("(?iu)\u{212a}", &["k", "K"]));
        assert_eq!(vec!["s"], matching("(?iu)[ſ]", &["s", "t"]));
        assert!(matching("(?i)\u{212a}", &["k", "K"]).is_empty());
    }

    #[test]
    fn properties_are_known_by_all_of_their_names() {
        assert_eq!(vec!["a"], matching(r"\p{IsLatin}", &["a", "1"]));
        assert_eq!(vec!["1"], matching(r"\p{general_category=Nd}", &["a", "1"]));
        assert_eq!(vec!["a", "1"], matching(r"\p{InBasic_Latin}", &["a", "1"]));
        assert_eq!(vec!["$"], matching(r"(?U)\P{Punct}", &["$", "."]));
        assert_eq!((true, 0, "unknown property".to_owned()), error_of(r"\p{Latin}"));
    }

    #[test]
    fn backreference_to_an_unknown_group_never_matches() {
        assert!(matching(r"(a)\2", &["a", "aa", "a2"]).is_empty());
        assert_eq!(vec!["aa1"], matching(r"(a)\11", &["a", "aa1"]));
    }

    #[test]
    fn backreference_that_java_matches_incorrectly_is_not_supported() {
        let construct = "a backreference to a group whose capture Java may keep after backtracking";
        assert_eq!((false, 8, construct.to_owned()), error_of(r"(?:(.))*\1"));
        assert_eq!(vec!["aaab"], matching(r"(?=(a+))\1b", &["aaab", "aab_"]));
    }

    #[test]
    fn look_behind_needs_a_maximum_length_in_java() {
        assert_eq!(vec!["baax"], matching(".*(?<=ba*)x", &["baax", "aax"]));
        assert!(matching(".*(?<=a*b*)x", &["abx", "x"]).is_empty());
        assert_eq!((true, 0, "a look-behind without an obvious maximum length".to_owned()), error_of("(?<=(a|b){2})x"));
    }

    #[test]
    fn invalid_patterns_take_precedence_over_unsupported_constructs() {
        assert_eq!((true, 10, "the group is not closed".to_owned()), error_of(r"(?:(.))*\1("));
    }

    #[test]
    fn nesting_depth_is_limited() {
        assert!(!error_of(&"(".repeat(100_000)).0);
        assert!(!error_of(&"[".repeat(100_000)).0);
        assert!(!error_of(&"[a&&b".repeat(1000)).0);
    }
}

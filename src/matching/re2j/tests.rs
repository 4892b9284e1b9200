use super::super::dialect::Dialect;
use super::*;

fn matches(pattern: &str, names: &[&str]) -> Vec<bool> {
    Dialect::Re2j.matches(pattern, names)
}

fn error_of(pattern: &str) -> (usize, String) {
    Dialect::Re2j.error_of(pattern)
}

#[test]
fn pattern_must_match_the_whole_name() {
    assert_eq!([true, false, false], matches("orders|a", &["orders", "orders.eu", "my.orders"])[..]);
    assert_eq!([true, false], matches("", &["", "a"])[..]);
    assert_eq!([true, true, false], matches("a|", &["a", "", "b"])[..]);
}

#[test]
fn brace_without_count_is_literal() {
    assert_eq!([true, false], matches("a{,3}", &["a{,3}", "aa"])[..]);
    assert_eq!([true, false], matches("a{02}", &["a{02}", "aa"])[..]);
    assert_eq!([true, false, true], matches("a{2,}", &["aa", "a", "aaa"])[..]);
}

#[test]
fn counts_are_limited_to_1000() {
    assert!(parse("(?:a{1000}){1000}").is_ok());
    assert_eq!((1, "a repetition count that is too high, or lower than the minimum".to_owned()), error_of("a{1001}"));
    assert_eq!((1, "a repetition count that is too high, or lower than the minimum".to_owned()), error_of("a{3,2}"));
}

#[test]
fn nested_quantifiers_are_invalid_unless_flags_separate_them() {
    for pattern in ["a**", "a*+", "a{2}{3}", "a???", "a++", "a{*", "{{2}"] {
        assert_eq!("nested quantifiers", error_of(pattern).1, "{pattern}");
    }
    assert_eq!([true, true], matches("a*(?i)*", &["", "aa"])[..]);
    assert_eq!([true, false], matches("ab\\Q\\E{2}", &["abb", "abab"])[..]);
}

#[test]
fn quantifier_needs_something_to_repeat() {
    for (pattern, position) in [("*a", 0), ("a|*b", 2), ("(+)", 1), ("{2}", 0), ("(?i)?", 4)] {
        assert_eq!((position, "nothing to repeat".to_owned()), error_of(pattern));
    }
}

#[test]
fn case_is_ignored_up_to_the_end_of_the_group() {
    assert_eq!([true, true, false], matches("(a(?i)b)c", &["abc", "aBc", "abC"])[..]);
    assert_eq!([true, false], matches("(?i:a)b", &["Ab", "aB"])[..]);
    assert_eq!([true, false], matches("(?i)a(?-i)b", &["Ab", "AB"])[..]);
}

#[test]
fn two_non_ascii_letters_fold_to_ascii_letters() {
    assert_eq!([true, true, false], matches("(?i)\u{17F}", &["s", "S", "f"])[..]);
    assert_eq!([true, true, false], matches("(?i)[\u{2100}-\u{2200}]", &["k", "K", "s"])[..]);
    assert_eq!([false, false], matches("\u{17F}", &["s", "S"])[..]);
}

#[test]
fn lower_case_category_folds_by_the_table_of_re2j() {
    assert_eq!([true, true, false], matches("(?i)\\p{Ll}", &["a", "K", "A"])[..]);
    assert_eq!([true, true], matches("(?i)\\p{Lu}", &["a", "A"])[..]);
    assert_eq!([false, true], matches("\\P{^Lu}", &["a", "A"])[..]);
}

#[test]
fn bracket_expressions_have_their_own_syntax() {
    assert_eq!([true, true, false], matches("[]a]", &["]", "a", "b"])[..]);
    assert_eq!([true, true, true], matches("[a&&b]", &["a", "&", "b"])[..]);
    assert_eq!([true, false], matches("[a-z[0-9]]", &["[]", "a"])[..]);
    assert_eq!([true, true, false], matches("[\\d-z]", &["1", "-", "y"])[..]);
    assert_eq!((1, "unknown character class".to_owned()), error_of("[[:]a]"));
    assert_eq!((0, "the character class is not closed".to_owned()), error_of("[]"));
}

#[test]
fn escapes_are_octal_or_hexadecimal_or_of_punctuation() {
    assert_eq!([true], matches("\\141\\x62\\x{00063}\\<\\_", &["abc<_"])[..]);
    assert_eq!([false], matches("\\0141", &["a"])[..]);
    for pattern in ["\\1", "\\8", "\\Z", "\\C", "\\x{}", "\\x{110000}", "\\q", "[\\b]"] {
        assert_eq!("unknown escape", error_of(pattern).1, "{pattern}");
    }
}

#[test]
fn group_names_may_begin_with_a_digit_and_are_unique() {
    assert_eq!([true], matches("(?P<1a>a)(?<_>b)", &["ab"])[..]);
    assert_eq!((12, "duplicate group name".to_owned()), error_of("(?P<n>a)(?P<n>b)"));
    assert!(parse("(?<=a)b").is_err());
}

#[test]
fn endless_folding_and_deep_nesting_are_not_supported() {
    let endless = parse("(?i)a\u{1C80}").expect_err("endless");
    assert_eq!((false, 5), (endless.invalid, endless.position));
    let deep = parse(&"(".repeat(100_000)).expect_err("deep");
    assert_eq!((false, 101), (deep.invalid, deep.position));
    let piled = parse(&("a".to_owned() + &"*(?i)".repeat(100_000))).expect_err("piled");
    assert!(!piled.invalid);
}

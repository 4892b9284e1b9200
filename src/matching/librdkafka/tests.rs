use super::super::dialect::Dialect;
use super::*;

fn matches(pattern: &str, names: &[&str]) -> Vec<bool> {
    Dialect::Librdkafka.matches(pattern, names)
}

fn error_of(pattern: &str) -> (usize, String) {
    Dialect::Librdkafka.error_of(pattern)
}

#[test]
fn pattern_without_caret_is_a_name() {
    assert_eq!([true, false], matches("a.*", &["a.*", "ab"])[..]);
    assert_eq!([true, false], matches("", &["", "a"])[..]);
    assert_eq!((1, "a NUL character, which ends a pattern in C".to_owned()), error_of("a\0"));
}

#[test]
fn pattern_matches_any_part_of_the_name() {
    assert_eq!([true, true, false], matches("^order", &["order", "orders", "my.order"])[..]);
    assert_eq!([true, true, false], matches("^a|b", &["ac", "cb", "ca"])[..]);
    assert_eq!([true, true], matches("^", &["", "a"])[..]);
}

#[test]
fn only_unanchored_patterns_match_after_the_start() {
    for pattern in ["^a", "^(^a|\\`b)", "^^", "^\\b^a", "^(a)"] {
        let node = parse(pattern).expect(pattern);
        assert!(starts(&node), "{pattern}: {node:?}");
    }
    assert!(!starts(&parse("^a|b").expect("a pattern")));
}

#[test]
fn a_repetition_may_be_repeated_but_an_assertion_may_not() {
    assert_eq!([true, true], matches("^a**$", &["", "aa"])[..]);
    assert_eq!([true, false], matches("^a{2}{3}$", &["aaaaaa", "aaaaa"])[..]);
    for (pattern, position) in [("^*", 1), ("^a|*b", 3), ("^(+a)", 2), ("^\\b{2}", 3), ("^a$?", 3), ("^{1}", 1)] {
        assert_eq!((position, "nothing to repeat".to_owned()), error_of(pattern));
    }
}

#[test]
fn counts_need_a_closing_brace_but_no_numbers() {
    assert_eq!([true, true, false], matches("^a{,2}$", &["", "aa", "aaa"])[..]);
    assert_eq!([true, true], matches("^a{,}$", &["", "aaa"])[..]);
    assert_eq!([true, false], matches("^a{\\02}$", &["aa", "a"])[..]);
    for pattern in ["^a{", "^a{}", "^a{1", "^a{x}", "^a{1,2,3}", "^a{\\1}"] {
        assert_eq!((2, "a brace without a repetition count".to_owned()), error_of(pattern), "{pattern}");
    }
    assert!(parse("^a{32767}").is_ok());
    assert_eq!((2, "a repetition count that is too high, or lower than the minimum".to_owned()), error_of("^a{32768}"));
}

#[test]
fn closing_parenthesis_outside_of_groups_is_literal() {
    assert_eq!([true, false], matches("^a)$", &["a)", "a"])[..]);
    assert_eq!([true, true], matches("^(|a)$", &["", "a"])[..]);
    assert_eq!((1, "the group is not closed".to_owned()), error_of("^(a"));
}

#[test]
fn bracket_expressions_have_their_own_syntax() {
    assert_eq!([true, true, false], matches("^[]a]$", &["]", "a", "b"])[..]);
    assert_eq!([true, true, false], matches("^[\\w]$", &["\\", "w", "a"])[..]);
    assert_eq!([true, true], matches("^[[.-.][=a=]]$", &["-", "a"])[..]);
    assert_eq!([true, true], matches("^[[:alpha:]-]$", &["a", "-"])[..]);
    assert_eq!([true, true], matches("^[^é]é?$", &["a", "-"])[..]);
    for pattern in ["^[[:alpha:]-z]", "^[a-c-e]"] {
        assert_eq!(
            "a hyphen that is neither part of a range nor first or last in brackets",
            error_of(pattern).1,
            "{pattern}"
        );
    }
    for pattern in ["^[b-a]", "^[a-é]", "^[a-[=b=]]"] {
        assert_eq!("a character range that the C locale does not have", error_of(pattern).1, "{pattern}");
    }
    for pattern in ["^[[:word:]]", "^[[.hyphen.]]", "^[[=é=]]"] {
        let reason = "a character class or collating element that the C locale does not have";
        assert_eq!((2, reason.to_owned()), error_of(pattern), "{pattern}");
    }
}

#[test]
fn escapes_are_those_of_gnu() {
    assert_eq!([true, true, false], matches("^\\w\\W$", &["a-", "_.", "ab"])[..]);
    assert_eq!([true, false], matches("^.*\\<b\\>", &["a.b", "ab"])[..]);
    assert_eq!([true], matches("^\\n\\d\\{$", &["nd{"])[..]);
    assert_eq!((1, "a backslash at the end of the pattern".to_owned()), error_of("^\\"));
}

#[test]
fn backreferences_need_a_closed_group_of_the_same_branch() {
    assert_eq!([true, false], matches("^(a|b)*-\\1$", &["ab-b", "ab-a"])[..]);
    assert_eq!([false], matches("^(a){0}\\1", &["a"])[..]);
    for pattern in ["^(a\\1)", "^(a)|\\1", "^\\2(a)(b)", "^(a)\\2"] {
        assert_eq!("a backreference to a group that is not closed before it", error_of(pattern).1, "{pattern}");
    }
}

#[test]
fn assertions_that_glibc_does_not_check_are_not_supported() {
    for (pattern, position) in [
        ("^(b|$a){2}$", 7),
        ("^(\\<ab)+$", 7),
        ("^(a$){2}", 5),
        ("^(a$){1,2}", 5),
        ("^((a\\b)*c){2}", 10),
        ("^(a(\\b)+)+", 9),
        ("^(a(\\b){1,2})+", 13),
        ("^(\\b\\B){2}", 7),
        ("^(a|\\b|b){3}", 9),
        ("^(\\ba){9999}", 6),
    ] {
        let error = parse(pattern).expect_err(pattern);
        assert_eq!((false, position, UNCHECKED), (error.invalid, error.position, &*error.reason), "{pattern}");
    }
    assert!(parse("^(\\<ab)+)(").expect_err("an open group").invalid);
}

#[test]
fn assertions_that_glibc_checks_may_be_repeated() {
    assert_eq!([true, true, false], matches("^(a\\b|-)+$", &["a-a", "a", "aa"])[..]);
    assert_eq!([true, false], matches("^(\\ba|-)*$", &["a-a", "aa"])[..]);
    assert_eq!([true, false], matches("^(\\ba|-){1}$", &["a", "a-a"])[..]);
    assert_eq!([true, false], matches("^(\\b){3}a", &["a", "-a"])[..]);
    assert_eq!([true, false], matches("^.(a(\\b){2})+$", &["-a", "-aa"])[..]);
    assert_eq!([true, false], matches("^.(\\b\\<)+a$", &["-a", "aa"])[..]);
}

#[test]
fn ambiguous_backreferences_are_not_supported() {
    for (pattern, position) in
        [("^(a)+\\1", 4), ("^(a)(b|\\1)*", 10), ("^((a)|b){2}\\2", 8), ("^(a)\\1\\1", 6), ("^(a$)\\1", 5)]
    {
        let reference = parse(pattern).expect_err(pattern);
        assert_eq!((false, position), (reference.invalid, reference.position), "{pattern}");
    }
    assert!(parse("^(a)(\\1){0}\\1").is_ok());
    let stars = format!("^{}$b{}", "(a".repeat(90), ")*".repeat(90));
    assert!(parse(&stars).is_ok());
    let deep = parse(&("^".to_owned() + &"(".repeat(100_000))).expect_err("deep");
    assert!(!deep.invalid);
    let piled = parse(&("^a".to_owned() + &"*".repeat(100_000))).expect_err("piled");
    assert!(!piled.invalid);
}

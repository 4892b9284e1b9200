use super::super::backtracking::Backtracking;
use super::super::simplify::simplify;
use super::*;

fn matches(pattern: &str, names: &[&str]) -> Vec<bool> {
    let node = parse(pattern).expect(pattern);
    let pattern = Backtracking::new(simplify(node));
    let is_match = |name: &&str| pattern.matches(name.as_bytes(), &mut || true).expect("few steps");
    names.iter().map(is_match).collect()
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

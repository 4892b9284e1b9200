//! Properties of `\p{...}` as sets of printable ASCII characters.

use super::super::char_set::CharSet;
use super::cursor::{Cursor, Flags};
use super::names::{ALIAS_BLOCKS, BLOCKS, SCRIPTS};
use crate::error::PatternError;

/// Parse a property, with the cursor at its backslash.
pub(super) fn property(cursor: &mut Cursor) -> Result<CharSet, PatternError> {
    let start = cursor.at;
    cursor.at += 1;
    let negated = cursor.raw(cursor.at) == 'P';
    let name = if cursor.next() == '{' {
        cursor.next();
        let first = cursor.at;
        loop {
            if cursor.ended() {
                return Err(cursor.invalid(start, "the name of the property is not closed"));
            }
            if cursor.read() == '}' {
                break;
            }
        }
        if cursor.at <= first + 1 {
            return Err(cursor.invalid(start, "the name of the property is empty"));
        }
        cursor.between(first, cursor.at - 1)
    } else {
        cursor.read().to_string()
    };
    let Some(set) = named(&name, cursor.flags) else {
        return Err(cursor.invalid(start, "unknown property"));
    };
    Ok(if negated { !set } else { set })
}

fn named(name: &str, flags: Flags) -> Option<CharSet> {
    if let Some((key, value)) = name.split_once('=') {
        return match key.to_lowercase().as_str() {
            "sc" | "script" => script(value),
            "blk" | "block" => block(value),
            "gc" | "general_category" => category(value, flags.fold),
            _ => None,
        };
    }
    if let Some(name) = name.strip_prefix("In") {
        return block(name);
    }
    if let Some(name) = name.strip_prefix("Is") {
        return binary(name, flags.fold).or_else(|| category(name, flags.fold)).or_else(|| script(name));
    }
    let posix = if flags.classes { posix(name, flags.fold) } else { None };
    posix.or_else(|| category(name, flags.fold))
}

/// Return a general category, a POSIX class in ASCII, or a class of `java.lang.Character`.
fn category(name: &str, fold: bool) -> Option<CharSet> {
    Some(match name {
        "Lu" | "Upper" | "javaUpperCase" => cased(CharSet::UPPER, fold),
        "Ll" | "Lower" | "javaLowerCase" => cased(CharSet::LOWER, fold),
        "Lt" | "javaTitleCase" => cased(CharSet::NONE, fold),
        "L" | "LC" | "Alpha" | "javaAlphabetic" | "javaLetter" | "javaUnicodeIdentifierStart" => CharSet::LETTERS,
        "Nd" | "N" | "Digit" | "javaDigit" => CharSet::DIGITS,
        "LD" | "Alnum" | "javaLetterOrDigit" => CharSet::LETTERS | CharSet::DIGITS,
        "Zs" | "Z" | "Blank" | "Space" | "javaSpaceChar" | "javaWhitespace" => CharSet::one(' '),
        "Pd" => CharSet::one('-'),
        "Ps" => CharSet::of("([{"),
        "Pe" => CharSet::of(")]}"),
        "Pc" => CharSet::one('_'),
        "Po" => CharSet::of("!\"#%&'*,./:;?@\\"),
        "P" => punctuation(),
        "Sm" => CharSet::of("+<=>|~"),
        "Sc" => CharSet::one('$'),
        "Sk" => CharSet::of("^`"),
        "S" => symbols(),
        "Punct" => punctuation() | symbols(),
        "L1" | "all" | "ASCII" | "Print" | "javaDefined" => CharSet::ALL,
        "Graph" => !CharSet::one(' '),
        "XDigit" => hexadecimal(),
        "javaJavaIdentifierStart" => CharSet::LETTERS | CharSet::of("$_"),
        "javaJavaIdentifierPart" => CharSet::WORD | CharSet::one('$'),
        "javaUnicodeIdentifierPart" => CharSet::WORD,
        "javaMirrored" => CharSet::of("()<>[]{}"),
        "Cn"
        | "Lm"
        | "Lo"
        | "M"
        | "Mn"
        | "Me"
        | "Mc"
        | "Nl"
        | "No"
        | "Zl"
        | "Zp"
        | "C"
        | "Cc"
        | "Cf"
        | "Co"
        | "Cs"
        | "So"
        | "Pi"
        | "Pf"
        | "Cntrl"
        | "javaIdeographic"
        | "javaIdentifierIgnorable"
        | "javaISOControl" => CharSet::NONE,
        _ => return None,
    })
}

/// Return a POSIX class by Unicode properties.
fn posix(name: &str, fold: bool) -> Option<CharSet> {
    Some(match name.to_uppercase().as_str() {
        "ALPHA" => CharSet::LETTERS,
        "LOWER" => cased(CharSet::LOWER, fold),
        "UPPER" => cased(CharSet::UPPER, fold),
        "SPACE" | "BLANK" => CharSet::one(' '),
        "PUNCT" => punctuation(),
        "XDIGIT" => hexadecimal(),
        "ALNUM" => CharSet::LETTERS | CharSet::DIGITS,
        "CNTRL" => CharSet::NONE,
        "DIGIT" => CharSet::DIGITS,
        "GRAPH" => !CharSet::one(' '),
        "PRINT" => CharSet::ALL,
        _ => return None,
    })
}

/// Return a binary property; the POSIX classes are among them.
fn binary(name: &str, fold: bool) -> Option<CharSet> {
    Some(match name.to_uppercase().as_str() {
        "ALPHABETIC" | "LETTER" => CharSet::LETTERS,
        "LOWERCASE" => cased(CharSet::LOWER, fold),
        "UPPERCASE" => cased(CharSet::UPPER, fold),
        "TITLECASE" => cased(CharSet::NONE, fold),
        "WHITESPACE" | "WHITE_SPACE" => CharSet::one(' '),
        "PUNCTUATION" => punctuation(),
        "HEXDIGIT" | "HEX_DIGIT" => hexadecimal(),
        "ASSIGNED" => CharSet::ALL,
        "WORD" => CharSet::WORD,
        "CONTROL"
        | "IDEOGRAPHIC"
        | "JOINCONTROL"
        | "JOIN_CONTROL"
        | "NONCHARACTERCODEPOINT"
        | "NONCHARACTER_CODE_POINT" => CharSet::NONE,
        _ => return posix(name, fold),
    })
}

fn script(name: &str) -> Option<CharSet> {
    match name.to_uppercase().as_str() {
        "LATIN" | "LATN" => Some(CharSet::LETTERS),
        "COMMON" | "ZYYY" => Some(!CharSet::LETTERS),
        name => SCRIPTS.split(' ').any(|known| known == name).then_some(CharSet::NONE),
    }
}

/// Return a block by its name, with or without spaces, or by the name of Java's constant.
fn block(name: &str) -> Option<CharSet> {
    let name = name.to_uppercase();
    let is_named = |known: &str| known == name || known.replace(' ', "") == name;
    let is_constant = |known: &str| known.replace([' ', '-'], "_") == name;
    if is_named("BASIC LATIN") || is_constant("BASIC LATIN") {
        return Some(CharSet::ALL);
    }
    let found =
        BLOCKS.split(';').any(|known| is_named(known) || is_constant(known)) || ALIAS_BLOCKS.split(';').any(is_named);
    found.then_some(CharSet::NONE)
}

/// Return letters of one case, or of both cases if case is ignored.
fn cased(set: CharSet, fold: bool) -> CharSet {
    if fold { CharSet::LETTERS } else { set }
}

fn punctuation() -> CharSet {
    CharSet::of("!\"#%&'()*,-./:;?@[\\]_{}")
}

fn symbols() -> CharSet {
    CharSet::of("$+<=>^`|~")
}

fn hexadecimal() -> CharSet {
    CharSet::DIGITS | CharSet::of("abcdefABCDEF")
}

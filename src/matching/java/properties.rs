//! The properties of `\p{...}`, as sets of printable ASCII characters.

use super::super::chars::Chars;
use super::cursor::{Cursor, Flags};
use super::names::{ALIAS_BLOCKS, BLOCKS, SCRIPTS};
use crate::error::PatternError;

/// The property at the cursor, which is at the backslash.
pub(super) fn property(cursor: &mut Cursor) -> Result<Chars, PatternError> {
    let start = cursor.at;
    cursor.at += 1;
    let negated = cursor.raw(cursor.at) == 'P';
    let name = if cursor.next() == '{' {
        cursor.next();
        let first = cursor.at;
        loop {
            if cursor.ended() {
                return Err(cursor.refuse(start, "the name of the property is not closed"));
            }
            if cursor.read() == '}' {
                break;
            }
        }
        if cursor.at <= first + 1 {
            return Err(cursor.refuse(start, "the name of the property is empty"));
        }
        cursor.between(first, cursor.at - 1)
    } else {
        cursor.read().to_string()
    };
    let Some(set) = named(&name, cursor.flags) else {
        return Err(cursor.refuse(start, "no such property"));
    };
    Ok(if negated { !set } else { set })
}

fn named(name: &str, flags: Flags) -> Option<Chars> {
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

/// General categories, the classes of POSIX in ASCII, and those of `java.lang.Character`.
fn category(name: &str, fold: bool) -> Option<Chars> {
    Some(match name {
        "Lu" | "Upper" | "javaUpperCase" => cased(Chars::UPPER, fold),
        "Ll" | "Lower" | "javaLowerCase" => cased(Chars::LOWER, fold),
        "Lt" | "javaTitleCase" => cased(Chars::NONE, fold),
        "L" | "LC" | "Alpha" | "javaAlphabetic" | "javaLetter" | "javaUnicodeIdentifierStart" => Chars::LETTERS,
        "Nd" | "N" | "Digit" | "javaDigit" => Chars::DIGITS,
        "LD" | "Alnum" | "javaLetterOrDigit" => Chars::LETTERS | Chars::DIGITS,
        "Zs" | "Z" | "Blank" | "Space" | "javaSpaceChar" | "javaWhitespace" => Chars::one(' '),
        "Pd" => Chars::one('-'),
        "Ps" => Chars::of("([{"),
        "Pe" => Chars::of(")]}"),
        "Pc" => Chars::one('_'),
        "Po" => Chars::of("!\"#%&'*,./:;?@\\"),
        "P" => punctuation(),
        "Sm" => Chars::of("+<=>|~"),
        "Sc" => Chars::one('$'),
        "Sk" => Chars::of("^`"),
        "S" => symbols(),
        "Punct" => punctuation() | symbols(),
        "L1" | "all" | "ASCII" | "Print" | "javaDefined" => Chars::ALL,
        "Graph" => !Chars::one(' '),
        "XDigit" => hexadecimal(),
        "javaJavaIdentifierStart" => Chars::LETTERS | Chars::of("$_"),
        "javaJavaIdentifierPart" => Chars::WORD | Chars::one('$'),
        "javaUnicodeIdentifierPart" => Chars::WORD,
        "javaMirrored" => Chars::of("()<>[]{}"),
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
        | "javaISOControl" => Chars::NONE,
        _ => return None,
    })
}

/// The classes of POSIX by the properties of Unicode.
fn posix(name: &str, fold: bool) -> Option<Chars> {
    Some(match name.to_uppercase().as_str() {
        "ALPHA" => Chars::LETTERS,
        "LOWER" => cased(Chars::LOWER, fold),
        "UPPER" => cased(Chars::UPPER, fold),
        "SPACE" | "BLANK" => Chars::one(' '),
        "PUNCT" => punctuation(),
        "XDIGIT" => hexadecimal(),
        "ALNUM" => Chars::LETTERS | Chars::DIGITS,
        "CNTRL" => Chars::NONE,
        "DIGIT" => Chars::DIGITS,
        "GRAPH" => !Chars::one(' '),
        "PRINT" => Chars::ALL,
        _ => return None,
    })
}

/// The binary properties, to which the classes of POSIX belong.
fn binary(name: &str, fold: bool) -> Option<Chars> {
    Some(match name.to_uppercase().as_str() {
        "ALPHABETIC" | "LETTER" => Chars::LETTERS,
        "LOWERCASE" => cased(Chars::LOWER, fold),
        "UPPERCASE" => cased(Chars::UPPER, fold),
        "TITLECASE" => cased(Chars::NONE, fold),
        "WHITESPACE" | "WHITE_SPACE" => Chars::one(' '),
        "PUNCTUATION" => punctuation(),
        "HEXDIGIT" | "HEX_DIGIT" => hexadecimal(),
        "ASSIGNED" => Chars::ALL,
        "WORD" => Chars::WORD,
        "CONTROL"
        | "IDEOGRAPHIC"
        | "JOINCONTROL"
        | "JOIN_CONTROL"
        | "NONCHARACTERCODEPOINT"
        | "NONCHARACTER_CODE_POINT" => Chars::NONE,
        _ => return posix(name, fold),
    })
}

fn script(name: &str) -> Option<Chars> {
    match name.to_uppercase().as_str() {
        "LATIN" | "LATN" => Some(Chars::LETTERS),
        "COMMON" | "ZYYY" => Some(!Chars::LETTERS),
        name => SCRIPTS.split(' ').any(|known| known == name).then_some(Chars::NONE),
    }
}

/// A block, by its name with or without its spaces, or by that of Java's constant.
fn block(name: &str) -> Option<Chars> {
    let name = name.to_uppercase();
    let is_named = |known: &str| known == name || known.replace(' ', "") == name;
    let is_constant = |known: &str| known.replace([' ', '-'], "_") == name;
    if is_named("BASIC LATIN") || is_constant("BASIC LATIN") {
        return Some(Chars::ALL);
    }
    let found =
        BLOCKS.split(';').any(|known| is_named(known) || is_constant(known)) || ALIAS_BLOCKS.split(';').any(is_named);
    found.then_some(Chars::NONE)
}

/// Letters of one case, or of any where cases do not matter.
fn cased(set: Chars, fold: bool) -> Chars {
    if fold { Chars::LETTERS } else { set }
}

fn punctuation() -> Chars {
    Chars::of("!\"#%&'()*,-./:;?@[\\]_{}")
}

fn symbols() -> Chars {
    Chars::of("$+<=>^`|~")
}

fn hexadecimal() -> Chars {
    Chars::DIGITS | Chars::of("abcdefABCDEF")
}

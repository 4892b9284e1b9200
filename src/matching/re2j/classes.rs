//! Character classes and escapes of RE2/J.

use super::super::char_set::CharSet;
use super::super::scanner::{Scanner, invalid, unsupported};
use crate::error::PatternError;

const LAST: u32 = 0x0010_FFFF;
/// First and last code point that has other cases. A range that includes both contains all cases of its letters.
const FOLDED: (u32, u32) = (0x41, 0x1044F);
/// Cyrillic letters that are in Java's tables but not in those of RE2/J 1.8: its loop over the cases of such a letter never ends.
const ENDLESS: (u32, u32) = (0x1C80, 0x1C88);
/// The long s and the Kelvin sign are other cases of s and k.
const LONG_S: u32 = 0x17F;
const KELVIN: u32 = 0x212A;

/// Scripts of RE2/J 1.8 without an ASCII character in either case.
const SCRIPTS: &str = "\
    Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian \
    Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic \
    Gothic Greek Gujarati Gurmukhi Han Hangul Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi \
    Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao Lepcha Limbu Linear_B Lisu Lycian \
    Lydian Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham Ol_Chiki Old_Italic Old_Persian \
    Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic Samaritan Saurashtra Shavian Sinhala \
    Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Tamil Telugu Thaana Thai Tibetan Tifinagh \
    Ugaritic Unknown Vai Yi";

/// Return the characters between two code points, with their other cases if case is ignored.
pub(super) fn range(first: u32, last: u32, folded: bool, position: usize) -> Result<CharSet, PatternError> {
    // No name has a non-ASCII character, so U+0080 can represent all of them.
    let ascii = |code: u32| char::from_u32(code.min(0x80)).unwrap_or('\u{80}');
    let set = CharSet::range(ascii(first), ascii(last));
    if !folded || first <= FOLDED.0 && FOLDED.1 <= last {
        return Ok(set);
    }
    if first <= ENDLESS.1 && ENDLESS.0 <= last {
        return Err(unsupported(
            position,
            "a case-insensitive letter from U+1C80 to U+1C88, for which RE2/J does not terminate",
        ));
    }
    let with = |code: u32, letters: &str| {
        if first <= code && code <= last { CharSet::of(letters) } else { CharSet::NONE }
    };
    Ok(set.both_cases() | with(LONG_S, "sS") | with(KELVIN, "kK"))
}

/// Parse a class in brackets.
pub(super) fn class(text: &mut Scanner, folded: bool) -> Result<CharSet, PatternError> {
    let start = text.at;
    text.take();
    let negated = text.eat("^");
    let mut set = CharSet::NONE;
    let mut first = true;
    while first || text.peek() != Some(']') {
        first = false;
        if let Some(found) = named(text, folded)? {
            set = set | found;
        } else if let Some(found) = escaped(text, folded)? {
            set = set | found;
        } else {
            let position = text.at;
            let from = member(text, start)?;
            let mut to = from;
            // A hyphen before the closing bracket is a literal.
            if text.peek() == Some('-') && text.look(1) != Some(']') {
                text.take();
                to = member(text, start)?;
                if to < from {
                    return Err(invalid(position, "a character range that ends before it starts"));
                }
            }
            set = set | range(from, to, folded, position)?;
        }
    }
    text.take();
    Ok(if negated { !set } else { set })
}

/// Parse one character of a class that starts at `start`.
fn member(text: &mut Scanner, start: usize) -> Result<u32, PatternError> {
    if text.peek() == Some('\\') {
        return character(text);
    }
    text.take().map(u32::from).ok_or_else(|| invalid(start, "the character class is not closed"))
}

/// Parse `[:alpha:]` or `[:^alpha:]`, if one is next.
fn named(text: &mut Scanner, folded: bool) -> Result<Option<CharSet>, PatternError> {
    let start = text.at;
    if (text.peek(), text.look(1)) != (Some('['), Some(':')) {
        return Ok(None);
    }
    text.take();
    if !text.has_name_end() {
        text.at = start;
        return Ok(None);
    }
    // Do not consume the colon: in `[:]` the same colon begins and ends the name.
    let mut name = String::new();
    while !text.eat(":]") {
        name.extend(text.take());
    }
    let name = name.strip_prefix(':').unwrap_or_default();
    let negated = name.starts_with('^');
    let set = match name.strip_prefix('^').unwrap_or(name) {
        "ascii" => Some(CharSet::ALL),
        "word" => Some(CharSet::WORD),
        name => CharSet::posix(name),
    };
    let set = set.ok_or_else(|| invalid(start, "unknown character class"))?;
    let set = if folded { set.both_cases() } else { set };
    Ok(Some(if negated { !set } else { set }))
}

/// Parse `\d`, `\pL` or a similar escape, if one is next.
pub(super) fn escaped(text: &mut Scanner, folded: bool) -> Result<Option<CharSet>, PatternError> {
    if text.peek() != Some('\\') {
        return Ok(None);
    }
    let set = match text.look(1) {
        Some('p' | 'P') => return unicode(text, folded).map(Some),
        Some('d') => CharSet::DIGITS,
        Some('D') => !CharSet::DIGITS,
        Some('s') => CharSet::one(' '),
        Some('S') => !CharSet::one(' '),
        Some('w') => CharSet::WORD,
        Some('W') => !CharSet::WORD,
        _ => return Ok(None),
    };
    text.at += 2;
    Ok(Some(set))
}

/// Parse `\pL`, `\p{Greek}` or `\P{^Lu}`.
fn unicode(text: &mut Scanner, folded: bool) -> Result<CharSet, PatternError> {
    let start = text.at;
    let mut negated = text.look(1) == Some('P');
    text.at += 2;
    let mut name = if text.eat("{") {
        let name = text.take_while(|char| char != '}');
        if !text.eat("}") {
            return Err(invalid(start, "the class name is not closed"));
        }
        name
    } else {
        text.take().map(String::from).unwrap_or_default()
    };
    if let Some(rest) = name.strip_prefix('^') {
        negated = !negated;
        name = rest.to_owned();
    }
    let set = category(&name, folded).ok_or_else(|| invalid(start, "unknown character class"))?;
    Ok(if negated { !set } else { set })
}

/// Return the ASCII characters of a general category or a script.
fn category(name: &str, folded: bool) -> Option<CharSet> {
    Some(match name {
        "Any" => CharSet::ALL,
        "L" | "Latin" => CharSet::LETTERS,
        "Lu" if folded => CharSet::LETTERS,
        "Lu" => CharSet::UPPER,
        // RE2/J adds other cases to `Ll` only for letters with more than two cases, here K and S.
        "Ll" if folded => CharSet::LOWER | CharSet::of("KS"),
        "Ll" => CharSet::LOWER,
        "N" | "Nd" => CharSet::DIGITS,
        "P" => CharSet::of("!\"#%&'()*,-./:;?@[\\]_{}"),
        "Pc" => CharSet::one('_'),
        "Pd" => CharSet::one('-'),
        "Pe" => CharSet::of(")]}"),
        "Po" => CharSet::of("!\"#%&'*,./:;?@\\"),
        "Ps" => CharSet::of("([{"),
        "S" => CharSet::of("$+<=>^`|~"),
        "Sc" => CharSet::one('$'),
        "Sk" => CharSet::of("^`"),
        "Sm" => CharSet::of("+<=>|~"),
        "Z" | "Zs" => CharSet::one(' '),
        "Common" => !CharSet::LETTERS,
        "C" | "Cc" | "Cf" | "Co" | "Cs" | "Lm" | "Lo" | "Lt" | "M" | "Mc" | "Me" | "Mn" | "Nl" | "No" | "Pf" | "Pi"
        | "So" | "Zl" | "Zp" => CharSet::NONE,
        _ if SCRIPTS.split(' ').any(|script| script == name) => CharSet::NONE,
        _ => return None,
    })
}

/// Parse an escape of a single character, inside or outside a class.
pub(super) fn character(text: &mut Scanner) -> Result<u32, PatternError> {
    let start = text.at;
    text.take();
    let unknown = || invalid(start, "unknown escape");
    let Some(char) = text.take() else {
        return Err(invalid(start, "a backslash at the end of the pattern"));
    };
    match char {
        '0'..='7' => {
            // A single digit other than 0 would be a backreference.
            if char != '0' && !matches!(text.peek(), Some('0'..='7')) {
                return Err(unknown());
            }
            let mut code = char.to_digit(8).unwrap_or(0);
            for _ in 0..2 {
                let Some(digit) = text.peek().and_then(|digit| digit.to_digit(8)) else { break };
                text.take();
                code = code * 8 + digit;
            }
            Ok(code)
        }
        'x' if text.eat("{") => {
            let digits = text.take_while(|char| char.is_ascii_hexdigit());
            let code = digits.chars().filter_map(|digit| digit.to_digit(16)).try_fold(0, |code, digit| {
                let code = code * 16 + digit;
                (code <= LAST).then_some(code)
            });
            code.filter(|_| !digits.is_empty() && text.eat("}")).ok_or_else(unknown)
        }
        'x' => {
            let mut digit = || text.take().and_then(|digit| digit.to_digit(16));
            let (high, low) = (digit(), digit());
            high.zip(low).map(|(high, low)| high * 16 + low).ok_or_else(unknown)
        }
        'a' => Ok(0x07),
        'f' => Ok(0x0C),
        'n' => Ok(0x0A),
        'r' => Ok(0x0D),
        't' => Ok(0x09),
        'v' => Ok(0x0B),
        _ if char.is_ascii_alphanumeric() => Err(unknown()),
        _ => Ok(u32::from(char)),
    }
}

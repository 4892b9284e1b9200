//! Flags of `re`, and their effect on sets of characters.

use super::tokens::{Token, Tokens};
use crate::error::PatternError;
use crate::matching::char_set::CharSet;
use crate::matching::scanner::invalid;

/// All flags of `re`.
pub(super) const KNOWN: &str = "aiLmstux";
const KINDS: &str = "auL";

/// Non-ASCII characters that are other cases of an ASCII letter: İ, ı, ſ and the Kelvin sign.
const BEYOND: [(u32, &str); 4] = [(0x130, "iI"), (0x131, "iI"), (0x17f, "sS"), (0x212a, "kK")];

/// Flags that affect matching. `m` and `s` concern line breaks, which no name has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mode {
    pub(super) ignore: bool,
    pub(super) ascii: bool,
    pub(super) verbose: bool,
}

impl Mode {
    /// Return the mode in a group that turns flags on and off.
    pub(super) fn with_flags(self, on: &str, off: &str) -> Self {
        Self {
            ignore: (self.ignore || on.contains('i')) && !off.contains('i'),
            ascii: if on.contains(['a', 'u']) { on.contains('a') } else { self.ascii },
            verbose: (self.verbose || on.contains('x')) && !off.contains('x'),
        }
    }

    /// Return the characters of names that match a range of codes.
    pub(super) fn span(self, first: u32, last: u32) -> CharSet {
        // Names have no non-ASCII characters. A code may be a surrogate, which a `char` cannot be.
        let ascii = |code: u32| char::from(code.min(0x7f) as u8);
        let chars = CharSet::range(ascii(first), ascii(last));
        if !self.ignore {
            return chars;
        }
        let partners = BEYOND.iter().filter(|(code, _)| !self.ascii && (first..=last).contains(code));
        partners.fold(chars.both_cases(), |chars, (_, partners)| chars | CharSet::of(partners))
    }
}

/// The flags of a group.
pub(super) struct GroupFlags {
    pub(super) on: String,
    pub(super) off: String,
    /// True if the flags apply to the whole pattern.
    pub(super) for_all: bool,
}

/// Parse inline flags after their first token.
pub(super) fn group_flags(tokens: &mut Tokens, mut flag: char) -> Result<GroupFlags, PatternError> {
    let mut found = GroupFlags { on: String::new(), off: String::new(), for_all: false };
    while flag != '-' {
        found.on.push(flag);
        if flag == 'L' {
            return Err(invalid(tokens.at(), "the flag L is only for bytes patterns"));
        }
        if KINDS.contains(flag) && found.on.chars().any(|other| other != flag && KINDS.contains(other)) {
            return Err(invalid(tokens.at(), "incompatible flags"));
        }
        flag = next_flag(tokens, ")-:")?;
        if flag == ')' {
            found.for_all = true;
            return Ok(found);
        }
        if flag == ':' {
            check_not_global(tokens, &found.on)?;
            return Ok(found);
        }
    }
    check_not_global(tokens, &found.on)?;
    flag = next_flag(tokens, "")?;
    while flag != ':' {
        if KINDS.contains(flag) {
            return Err(invalid(tokens.at(), "a flag that cannot be turned off"));
        }
        found.off.push(flag);
        flag = next_flag(tokens, ":")?;
    }
    check_not_global(tokens, &found.off)?;
    if found.off.chars().any(|flag| found.on.contains(flag)) {
        return Err(invalid(tokens.at() - 1, "a flag that is turned on and off"));
    }
    Ok(found)
}

/// Parse the next flag, or one of the characters that may end flags.
fn next_flag(tokens: &mut Tokens, ends: &str) -> Result<char, PatternError> {
    let at = tokens.at();
    match tokens.take()? {
        Token::Char(char) if KNOWN.contains(char) || ends.contains(char) => Ok(char),
        Token::Char(char) if char.is_ascii_alphabetic() => Err(invalid(at, "unknown flag")),
        _ => Err(invalid(at, "the flags are not closed")),
    }
}

fn check_not_global(tokens: &Tokens, flags: &str) -> Result<(), PatternError> {
    if flags.contains('t') {
        return Err(invalid(tokens.at() - 1, "a flag that is only allowed for the whole pattern"));
    }
    Ok(())
}

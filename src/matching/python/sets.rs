//! Sets of characters in a pattern of `re`: `[...]`. There is no `&&` and no set within a set.

use super::escapes::{class, code_in_class};
use super::flags::Mode;
use super::state::State;
use super::tokens::Token;
use crate::error::PatternError;
use crate::matching::chars::Chars;
use crate::matching::text::invalid;

/// One thing in a set.
#[derive(Clone, Copy)]
enum Member {
    Code(u32),
    Class(Chars),
    /// A character whose name is not known.
    Unknown,
}

impl Member {
    fn chars(self, mode: Mode) -> Chars {
        match self {
            Self::Code(code) => mode.span(code, code),
            Self::Class(chars) => chars,
            Self::Unknown => Chars::NONE,
        }
    }
}

impl State {
    /// Reads a set on behind the `[`.
    pub(super) fn set(&mut self, mode: Mode, start: usize) -> Result<Chars, PatternError> {
        let negated = self.tokens.eat('^')?;
        let mut chars = Chars::NONE;
        let mut first = true;
        loop {
            let token = self.tokens.take()?;
            if token == Token::Char(']') && !first {
                break;
            }
            first = false;
            let low = self.member(token, start)?;
            if !self.tokens.eat('-')? {
                chars = chars | low.chars(mode);
                continue;
            }
            let last = self.tokens.take()?;
            if last == Token::Char(']') {
                chars = chars | low.chars(mode) | Chars::one('-');
                break;
            }
            let high = self.member(last, start)?;
            // The position is the one that `re` gives: it counts an escape as two characters, however long it is.
            let bad = invalid(self.tokens.at() - token.len() - 1 - last.len(), "a bad range");
            chars = match (low, high) {
                (Member::Class(_), _) | (_, Member::Class(_)) => return Err(bad),
                (Member::Code(low), Member::Code(high)) if high < low => return Err(bad),
                (Member::Code(low), Member::Code(high)) => chars | mode.span(low, high),
                (Member::Unknown, _) | (_, Member::Unknown) => chars,
            };
        }
        Ok(if negated { !chars } else { chars })
    }

    /// What a token begins.
    fn member(&mut self, token: Token, start: usize) -> Result<Member, PatternError> {
        let char = match token {
            Token::End => return Err(invalid(start, "a set without an end")),
            Token::Char(char) => return Ok(Member::Code(u32::from(char))),
            Token::Escape(char) => char,
        };
        if let Some(chars) = class(char) {
            return Ok(Member::Class(chars));
        }
        let at = self.tokens.at() - 2;
        Ok(if let Some(code) = code_in_class(&mut self.tokens, char, at)? {
            Member::Code(code)
        } else {
            self.doubt(at, "a character name beyond ASCII");
            Member::Unknown
        })
    }
}

//! Sets of characters in a pattern of `re`: `[...]`. There are no intersections and no nested sets.

use super::escapes::{class, code_in_class};
use super::flags::Mode;
use super::state::ParserState;
use super::tokens::Token;
use crate::error::PatternError;
use crate::matching::char_set::CharSet;
use crate::matching::scanner::invalid;

/// An item of a set.
#[derive(Clone, Copy)]
enum SetItem {
    Code(u32),
    Class(CharSet),
    /// A character with an unknown name.
    Unknown,
}

impl SetItem {
    fn chars(self, mode: Mode) -> CharSet {
        match self {
            Self::Code(code) => mode.span(code, code),
            Self::Class(chars) => chars,
            Self::Unknown => CharSet::NONE,
        }
    }
}

impl ParserState {
    /// Parse a set after its `[`.
    pub(super) fn set(&mut self, mode: Mode, start: usize) -> Result<CharSet, PatternError> {
        let negated = self.tokens.eat('^')?;
        let mut chars = CharSet::NONE;
        let mut first = true;
        loop {
            let token = self.tokens.take()?;
            if token == Token::Char(']') && !first {
                break;
            }
            first = false;
            let low = self.set_item(token, start)?;
            if !self.tokens.eat('-')? {
                chars = chars | low.chars(mode);
                continue;
            }
            let last = self.tokens.take()?;
            if last == Token::Char(']') {
                chars = chars | low.chars(mode) | CharSet::one('-');
                break;
            }
            let high = self.set_item(last, start)?;
            // `re` counts any escape as two characters in this position.
            let bad = invalid(self.tokens.at() - token.len() - 1 - last.len(), "invalid character range");
            chars = match (low, high) {
                (SetItem::Class(_), _) | (_, SetItem::Class(_)) => return Err(bad),
                (SetItem::Code(low), SetItem::Code(high)) if high < low => return Err(bad),
                (SetItem::Code(low), SetItem::Code(high)) => chars | mode.span(low, high),
                (SetItem::Unknown, _) | (_, SetItem::Unknown) => chars,
            };
        }
        Ok(if negated { !chars } else { chars })
    }

    /// Parse the item that begins with a token.
    fn set_item(&mut self, token: Token, start: usize) -> Result<SetItem, PatternError> {
        let char = match token {
            Token::End => return Err(invalid(start, "the character set is not closed")),
            Token::Char(char) => return Ok(SetItem::Code(u32::from(char))),
            Token::Escape(char) => char,
        };
        if let Some(chars) = class(char) {
            return Ok(SetItem::Class(chars));
        }
        let at = self.tokens.at() - 2;
        Ok(if let Some(code) = code_in_class(&mut self.tokens, char, at)? {
            SetItem::Code(code)
        } else {
            self.note_unsupported(at, "the name of a non-ASCII character");
            SetItem::Unknown
        })
    }
}

//! Tokens of `re`: single characters, and backslashes with the character after them.

use crate::error::PatternError;
use crate::matching::scanner::{Scanner, invalid};

/// A token of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// A character.
    Char(char),
    /// A backslash and a character.
    Escape(char),
    /// The end of the pattern.
    End,
}

impl Token {
    /// Return the number of characters of the token.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Char(_) => 1,
            Self::Escape(_) => 2,
            Self::End => 0,
        }
    }

    /// Return true if the token is one of these characters.
    pub(super) fn is_of(self, chars: &str) -> bool {
        matches!(self, Self::Char(char) if chars.contains(char))
    }
}

/// Tokens of a pattern. The next token is read ahead. So, as in `re`, an error for a lone backslash at the end comes
/// before an error for the token in front of it.
pub(super) struct Tokens {
    /// The pattern.
    pub(super) text: Scanner,
    /// The next token.
    pub(super) next: Token,
}

impl Tokens {
    pub(super) fn new(pattern: &str) -> Result<Self, PatternError> {
        let mut tokens = Self { text: Scanner::new(pattern), next: Token::End };
        tokens.read()?;
        Ok(tokens)
    }

    fn read(&mut self) -> Result<(), PatternError> {
        self.next = match self.text.take() {
            Some('\\') => match self.text.take() {
                Some(char) => Token::Escape(char),
                None => return Err(invalid(self.text.at - 1, "a backslash at the end of the pattern")),
            },
            Some(char) => Token::Char(char),
            None => Token::End,
        };
        Ok(())
    }

    /// Return the position of the next token.
    pub(super) fn at(&self) -> usize {
        self.text.at - self.next.len()
    }

    /// Consume and return the next token.
    pub(super) fn take(&mut self) -> Result<Token, PatternError> {
        let taken = self.next;
        self.read()?;
        Ok(taken)
    }

    /// Consume the next token if it is the expected character; return true if it is.
    pub(super) fn eat(&mut self, expected: char) -> Result<bool, PatternError> {
        let found = self.next == Token::Char(expected);
        if found {
            self.read()?;
        }
        Ok(found)
    }

    /// Consume and return up to `most` characters from a set.
    pub(super) fn take_some(&mut self, most: usize, of: &str) -> Result<String, PatternError> {
        let mut taken = String::new();
        while let Token::Char(char) = self.next {
            if taken.len() == most || !of.contains(char) {
                break;
            }
            taken.push(char);
            self.read()?;
        }
        Ok(taken)
    }

    /// Consume a name and the character that ends it; return the name. `kind` names it in errors.
    pub(super) fn name(&mut self, end: char, kind: &str) -> Result<String, PatternError> {
        let (mut name, start) = (String::new(), self.at());
        loop {
            match self.take()? {
                Token::End if !name.is_empty() => return Err(invalid(start, &format!("the {kind} is not closed"))),
                Token::End => return Err(invalid(start, &format!("missing {kind}"))),
                Token::Char(char) if char == end && name.is_empty() => {
                    return Err(invalid(start, &format!("missing {kind}")));
                }
                Token::Char(char) if char == end => return Ok(name),
                Token::Char(char) => name.push(char),
                Token::Escape(char) => name.extend(['\\', char]),
            }
        }
    }

    /// Go back to the position of a token.
    pub(super) fn back(&mut self, at: usize) -> Result<(), PatternError> {
        self.text.at = at;
        self.read()
    }
}

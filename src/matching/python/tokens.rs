//! The tokens that `re` reads a pattern in: characters, each backslash with the character behind it.

use crate::error::PatternError;
use crate::matching::scanner::{Scanner, invalid};

/// What a pattern is read in.
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
    /// How many characters it has.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Char(_) => 1,
            Self::Escape(_) => 2,
            Self::End => 0,
        }
    }

    /// Whether it is one of the characters.
    pub(super) fn is_of(self, chars: &str) -> bool {
        matches!(self, Self::Char(char) if chars.contains(char))
    }
}

/// A pattern as tokens, with the next one already read: a lone backslash at the end shows when it becomes the next.
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

    /// Position of the next token.
    pub(super) fn at(&self) -> usize {
        self.text.at - self.next.len()
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Result<Token, PatternError> {
        let taken = self.next;
        self.read()?;
        Ok(taken)
    }

    /// Takes the next token if it is the expected character.
    pub(super) fn eat(&mut self, expected: char) -> Result<bool, PatternError> {
        let found = self.next == Token::Char(expected);
        if found {
            self.read()?;
        }
        Ok(found)
    }

    /// Takes as many of the characters as there are, but not more than so many.
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

    /// Takes a name of that kind and the character that ends it.
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

    /// Goes back to a token's position.
    pub(super) fn back(&mut self, at: usize) -> Result<(), PatternError> {
        self.text.at = at;
        self.read()
    }
}

//! A compiled topic pattern.

use super::automaton::TooLarge;
use super::catalog::{Catalog, is_internal};
use super::dialect::Dialect;
use super::limits::{MAX_LENGTH, MAX_PARTS, MAX_STEPS};
use super::program::{Program, RequiredLiterals, SearchError};
use super::scanner::unsupported;
use crate::error::{MatchError, PatternError};

/// A compiled pattern of a dialect.
pub struct Pattern {
    dialect: Dialect,
    text: String,
    program: Program,
    shows_internal: bool,
}

impl Pattern {
    /// Compile a pattern; it may match internal topics if `include_internal` is true.
    ///
    /// A pattern of the broker's dialect, and a plain name, may always match internal topics.
    ///
    /// # Errors
    ///
    /// The pattern is invalid in its dialect, or the engine cannot match it exactly.
    pub fn new(dialect: Dialect, pattern: &str, include_internal: bool) -> Result<Self, PatternError> {
        let length = pattern.chars().count();
        if length > MAX_LENGTH {
            return Err(unsupported(0, &format!("a pattern of {length} characters; the limit is {MAX_LENGTH}")));
        }
        let node = dialect.parse(pattern)?;
        let too_many_parts = || unsupported(0, &format!("repetitions with more than {MAX_PARTS} parts in total"));
        if node.parts() > MAX_PARTS {
            return Err(too_many_parts());
        }
        let program = Program::new(node).map_err(|TooLarge| too_many_parts())?;
        let shows_internal = include_internal || !dialect.excludes_internal(pattern);
        Ok(Self { dialect, text: pattern.to_owned(), program, shows_internal })
    }

    /// Return true if the pattern matches the name.
    ///
    /// # Errors
    ///
    /// The match takes too many steps, or `proceed`, the interrupt check, returns false.
    pub fn matches(&self, name: &str, proceed: &mut dyn FnMut() -> bool) -> Result<bool, MatchError> {
        let found = self.program.matches(name.as_bytes(), proceed).map_err(|why| self.error(why))?;
        Ok(found && (self.shows_internal || !is_internal(name.as_bytes())))
    }

    /// Return the numbers of all matching names in ascending order.
    ///
    /// # Errors
    ///
    /// A match takes too many steps, or `proceed`, the interrupt check, returns false.
    pub fn select(&self, catalog: &Catalog, proceed: &mut dyn FnMut() -> bool) -> Result<Vec<u32>, MatchError> {
        let mut found = Vec::new();
        self.program.select(catalog, &mut found, proceed).map_err(|why| self.error(why))?;
        if !self.shows_internal {
            found.retain(|&number| !is_internal(catalog.bytes(number)));
        }
        sort_numbers(&mut found, catalog.next_number());
        Ok(found)
    }

    /// Return the text of the pattern.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Return the dialect of the pattern.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn error(&self, why: SearchError) -> MatchError {
        match why {
            SearchError::Interrupted => MatchError::Interrupted,
            SearchError::TooManySteps(topic) => {
                let (pattern, dialect) = (self.text.clone(), self.dialect.name());
                MatchError::TooManySteps { pattern, dialect, topic, steps: MAX_STEPS }
            }
        }
    }

    /// Return the literals that a matching name must have; None if there are none.
    pub(crate) fn required_literals(&self) -> Option<RequiredLiterals<'_>> {
        self.program.required_literals()
    }
}

/// Sort distinct numbers below a bound, by a bit set if there are many.
fn sort_numbers(numbers: &mut Vec<u32>, bound: usize) {
    if numbers.len() < 64 + bound / 64 {
        numbers.sort_unstable();
        return;
    }
    let mut marks = vec![0u64; bound.div_ceil(64)];
    for &number in numbers.iter() {
        marks[number as usize / 64] |= 1 << (number % 64);
    }
    numbers.clear();
    for (word, &bits) in marks.iter().enumerate() {
        let mut bits = bits;
        while bits != 0 {
            numbers.push(word as u32 * 64 + bits.trailing_zeros());
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_numbers_are_sorted_like_few() {
        let mut many: Vec<u32> = (0..1000).rev().filter(|number| number % 3 == 0).collect();
        let mut expected = many.clone();
        expected.sort_unstable();

        sort_numbers(&mut many, 1000);
        assert_eq!(expected, many);
    }
}

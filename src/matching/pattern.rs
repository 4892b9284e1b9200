//! A pattern that is ready to be tried on topics.

use super::catalog::{Catalog, is_internal};
use super::dialect::Dialect;
use super::program::{Clue, Program, Stop};
use super::regular::TooLarge;
use super::text::unsupported;
use super::walk::STEPS;
use crate::error::{MatchError, PatternError};

/// How many parts a pattern may have once its repetitions are spelled out.
pub const MOST_PARTS: usize = 20_000;

/// Which topics someone subscribes to, in the words of a dialect.
pub struct Pattern {
    dialect: Dialect,
    text: String,
    program: Program,
    shows_internal: bool,
}

impl Pattern {
    /// Reads a pattern; `include_internal` is whether it may match topics that the broker keeps for itself.
    ///
    /// The broker's own dialect matches them anyway, and so does a plain name.
    ///
    /// # Errors
    ///
    /// Where the dialect refuses the pattern, or the engine cannot do what it means.
    pub fn new(dialect: Dialect, pattern: &str, include_internal: bool) -> Result<Self, PatternError> {
        let node = dialect.parse(pattern)?;
        let too_large = || unsupported(0, &format!("repetitions with over {MOST_PARTS} parts in all"));
        if node.parts() > MOST_PARTS {
            return Err(too_large());
        }
        let program = Program::new(node).map_err(|TooLarge| too_large())?;
        let shows_internal = include_internal || !dialect.hides_internal(pattern);
        Ok(Self { dialect, text: pattern.to_owned(), program, shows_internal })
    }

    /// Whether the pattern matches the name.
    ///
    /// # Errors
    ///
    /// Where that takes too many steps.
    pub fn matches(&self, name: &str) -> Result<bool, MatchError> {
        let found = self.program.matches(name.as_bytes()).map_err(|why| self.error(why))?;
        Ok(found && (self.shows_internal || !is_internal(name.as_bytes())))
    }

    /// The numbers of all names that match, in ascending order.
    ///
    /// # Errors
    ///
    /// Where that takes too many steps, or `pulse`, which is asked from time to time, says not to go on.
    pub fn select(&self, catalog: &Catalog, pulse: &mut dyn FnMut() -> bool) -> Result<Vec<u32>, MatchError> {
        let mut found = Vec::new();
        self.program.select(catalog, &mut found, pulse).map_err(|why| self.error(why))?;
        if !self.shows_internal {
            found.retain(|&number| !is_internal(catalog.bytes(number)));
        }
        ascending(&mut found, catalog.given());
        Ok(found)
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who reads it.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn error(&self, why: Stop) -> MatchError {
        match why {
            Stop::Interrupted => MatchError::Interrupted,
            Stop::TooManySteps(topic) => {
                let (pattern, dialect) = (self.text.clone(), self.dialect.name());
                MatchError::TooManySteps { pattern, dialect, topic, steps: STEPS }
            }
        }
    }

    /// Texts of which every name that matches has one; none where nothing is known.
    pub(crate) fn clue(&self) -> Option<Clue<'_>> {
        self.program.clue()
    }
}

/// Sorts distinct numbers below a bound; where they are many, marks in a row of bits are faster.
fn ascending(numbers: &mut Vec<u32>, bound: usize) {
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
    fn many_numbers_come_out_in_order_as_few_do() {
        let mut many: Vec<u32> = (0..1000).rev().filter(|number| number % 3 == 0).collect();
        let mut expected = many.clone();
        expected.sort_unstable();

        ascending(&mut many, 1000);
        assert_eq!(expected, many);
    }
}

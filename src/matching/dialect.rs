//! The dialects, and the parser of each.

use super::syntax::Node;
use super::{java, librdkafka, python, re2j};
use crate::error::PatternError;

/// The client or broker whose rules give a pattern its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// java.util.regex, the whole name: the Java client.
    Java,
    /// RE2/J, the whole name: the broker, for KIP-848 members.
    Re2j,
    /// POSIX extended, anywhere in the name, if the pattern begins with `^`; else it is a name: librdkafka.
    Librdkafka,
    /// Python's `re`, a prefix of the name: kafka-python and aiokafka.
    Python,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 4] = [Self::Java, Self::Re2j, Self::Librdkafka, Self::Python];

    /// The name that users give it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::Re2j => "re2j",
            Self::Librdkafka => "librdkafka",
            Self::Python => "python",
        }
    }

    /// The dialect of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Whether a pattern excludes internal topics by default.
    ///
    /// Clients do so, the broker does not; a plain name is no pattern.
    #[must_use]
    pub fn hides_internal(self, pattern: &str) -> bool {
        match self {
            Self::Java | Self::Python => true,
            Self::Librdkafka => pattern.starts_with('^'),
            Self::Re2j => false,
        }
    }

    /// What the pattern means, over whole names.
    ///
    /// # Errors
    ///
    /// Where the dialect refuses the pattern, or the engine cannot do what it means.
    pub fn parse(self, pattern: &str) -> Result<Node, PatternError> {
        match self {
            Self::Java => java::parse(pattern),
            Self::Re2j => re2j::parse(pattern),
            Self::Librdkafka => librdkafka::parse(pattern),
            Self::Python => python::parse(pattern),
        }
    }
}

/// What the tests of the parsers ask of a dialect.
#[cfg(test)]
impl Dialect {
    /// Whether a pattern matches each of the names.
    pub(super) fn matches(self, pattern: &str, names: &[&str]) -> Vec<bool> {
        let node = self.parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error:?}"));
        names.iter().map(|name| super::backtracking::matches(&node, name.as_bytes()).expect("few steps")).collect()
    }

    /// The position and the reason of an invalid pattern.
    pub(super) fn refusal(self, pattern: &str) -> (usize, String) {
        let error = self.parse(pattern).expect_err(pattern);
        assert!(error.invalid, "{pattern}: {error:?}");
        (error.position, error.reason)
    }
}

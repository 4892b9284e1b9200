//! The dialects of patterns and their parsers.

use super::syntax::Node;
use super::{java, librdkafka, python, re2j};
use crate::error::PatternError;

/// Dialect of a pattern: the regular expressions of a client or of the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// java.util.regex on the whole name: the Java client.
    Java,
    /// RE2/J on the whole name: the broker, for members of the KIP-848 protocol.
    Re2j,
    /// POSIX extended regular expression on any part of the name; without a leading `^`, one exact name: librdkafka.
    Librdkafka,
    /// Python's `re` on a prefix of the name: kafka-python and aiokafka.
    Python,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 4] = [Self::Java, Self::Re2j, Self::Librdkafka, Self::Python];

    /// Return the name of the dialect.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::Re2j => "re2j",
            Self::Librdkafka => "librdkafka",
            Self::Python => "python",
        }
    }

    /// Return the dialect with the given name, if it exists.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Return true if a pattern excludes internal topics by default.
    ///
    /// Clients exclude internal topics, the broker does not. A plain name is not a pattern.
    #[must_use]
    pub fn excludes_internal(self, pattern: &str) -> bool {
        match self {
            Self::Java | Self::Python => true,
            Self::Librdkafka => pattern.starts_with('^'),
            Self::Re2j => false,
        }
    }

    /// Parse a pattern into a tree that matches whole names.
    ///
    /// # Errors
    ///
    /// The pattern is invalid in the dialect, or the engine cannot match it exactly.
    pub fn parse(self, pattern: &str) -> Result<Node, PatternError> {
        match self {
            Self::Java => java::parse(pattern),
            Self::Re2j => re2j::parse(pattern),
            Self::Librdkafka => librdkafka::parse(pattern),
            Self::Python => python::parse(pattern),
        }
    }
}

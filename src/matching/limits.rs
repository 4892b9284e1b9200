//! Limits on the size of a pattern and on the work of matching it. docs/matching.md lists those that reject a pattern.

/// Maximum number of characters of a pattern. It bounds the time of the parsers.
pub const MAX_LENGTH: usize = 250_000;

/// Maximum nesting depth of groups and classes. It bounds the stack of everything that is recursive.
pub(crate) const MAX_DEPTH: usize = 100;

/// Maximum number of parts of a pattern after its repetitions are unrolled.
pub const MAX_PARTS: usize = 20_000;

/// Maximum number of nodes that a parser adds to a pattern by writing out repetitions of parts that may match the empty text.
pub(crate) const MAX_COPIES_SIZE: usize = 10_000;

/// Maximum number of groups that backreferences and conditionals refer to. Each state of a match has a copy of their captures.
pub(crate) const MAX_REFERENCED_GROUPS: usize = 100;

/// Maximum number of steps of the backtracking matcher per name.
pub(crate) const MAX_STEPS: usize = 1_000_000;

/// Number of captures that a step copies. A state with more captures costs several steps.
pub(crate) const CAPTURES_PER_STEP: usize = 16;

/// Maximum number of look-arounds at the ends of a pattern that become automata of their own.
pub(crate) const MAX_CONDITIONS: usize = 32;

/// Maximum size in bytes of the tables of all automata of a pattern.
pub(crate) const MAX_DENSE_BYTES: usize = 1 << 20;

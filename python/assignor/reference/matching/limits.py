"""Limits on the size of a pattern and on the work of matching it; docs/matching.md lists those that reject patterns."""

from __future__ import annotations

MAX_LENGTH = 250_000
"""Maximum number of characters of a pattern."""

MAX_DEPTH = 100
"""Maximum nesting depth of groups and classes."""

MAX_PARTS = 20_000
"""Maximum number of parts of a pattern after its repetitions are unrolled."""

MAX_COPIES_SIZE = 10_000
"""Maximum number of nodes that a parser adds by writing out repetitions of parts that may match the empty text."""

MAX_REFERENCED_GROUPS = 100
"""Maximum number of groups that backreferences refer to. Each state of a match has a copy of their captures."""

MAX_STEPS = 1_000_000
"""Maximum number of steps of the backtracking matcher per name."""

CAPTURES_PER_STEP = 16
"""Number of captures that a step copies. A state with more captures costs several steps."""

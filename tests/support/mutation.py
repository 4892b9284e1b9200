"""Random changes of bytes, to test decoders."""

from __future__ import annotations

import random


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Return a copy with a few bytes changed, removed or added."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0:
                changed[at : at + 1] = rng.choice([b"\0", b"\1", b"\x7f", b"\x80", b"\xff", rng.randbytes(1)])
            case 1:
                del changed[at:]
            case 2:
                changed[at:at] = rng.randbytes(rng.randint(1, 4))
            case _:
                del changed[at : at + rng.randint(1, 4)]
    return bytes(changed)

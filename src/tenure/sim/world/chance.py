"""All chance of a world, from one seed.

Each purpose has a stream of its own, made from the seed and the purpose's name, so that leaving a fault out of a plan
does not change what agents do or how a provider answers: that is what makes a plan shrinkable."""

from __future__ import annotations

import random
from typing import final


@final
class Chance:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, purpose: str) -> random.Random:
        """Always the same one for a purpose."""
        found = self._streams.get(purpose)
        if found is None:
            # A text seeds by its SHA-512, whatever the interpreter's hashes are.
            found = self._streams[purpose] = random.Random(f"{self.seed}/{purpose}")  # noqa: S311 - no secret is made
        return found


@final
class SimIds:
    """`core.clock.IdSource`: ids that count. Tokens differ, and nobody in the world guesses."""

    def __init__(self) -> None:
        self._count = 0

    def new_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count:026d}"

    def token(self, nbytes: int = 32) -> str:
        self._count += 1
        return f"tnr_{self._count:040d}"

"""How many commands that nobody waits for may share a commit.

Whoever asks for something while such a commit is under way waits for its end. So it may take as long as two of those
that somebody waits for, and no longer. What those take is followed quickly when it falls and slowly when it rises, so
that a single large one does not count for much. On a slow disk more commands fit, because its share is paid once for them
all; on a busy machine fewer."""

from __future__ import annotations

from typing import final

FIRST, LEAST = 8, 4
"""Commands of the first commit, and of the smallest: with fewer, a commit is nearly all its own cost."""
FIRST_USUAL_NS = 1_000_000
"""What a commit takes on a quick disk, until one was measured."""
TIMES = 2
"""So many usual commits may one take that nobody waits for. `python -m bench sweep` shows what it does to claims."""
FALL, RISE = 2, 16
"""What is usual follows a shorter commit by one part in `FALL` of the difference, a longer one by one in `RISE`."""


@final
class Pace:
    """`size`: commands that may share a commit now, from `LEAST` to `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._usual_ns = FIRST_USUAL_NS
        self.size = min(FIRST, most)

    @property
    def usual_s(self) -> float:
        """What a commit that somebody waits for usually takes."""
        return self._usual_ns / 1e9

    def others_took(self, took_ns: int) -> None:
        """A commit that somebody waited for took so long."""
        longer_ns = took_ns - self._usual_ns
        self._usual_ns += longer_ns // (RISE if longer_ns > 0 else FALL)

    def took(self, took_ns: int) -> None:
        """A commit that nobody waited for took so long."""
        if took_ns > TIMES * self._usual_ns:
            self.size = max(min(LEAST, self._most), self.size * 3 // 4)
        else:
            self.size = min(self._most, self.size + 1)

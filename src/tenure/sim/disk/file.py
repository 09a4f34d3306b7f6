"""One file of the simulated disk: what processes see of it, and what a loss of power leaves of it.

A write changes what is seen at once and what is kept only at a sync. Until then it waits in order, and a loss of
power keeps any part of what waits: each sector (512 bytes, or a page of 4096) is as it was or as one of the writes
made it, whichever came first to the platter. A write that covers a part of a sector changes that part only, or
nothing: a sector is never torn inside, and what stands beside a write in its sector stays (SQLite calls that
"powersafe overwrite", and takes it for given on every unix). The size follows the truncations in their order; what
was written after a truncation that is lost is lost too, since it went to other blocks. A file may have grown by some
of its new bytes only, and its holes read as zeros.

A sync that fails loses what a kernel loses: some of what waited is kept, the rest is forgotten and will not be written
by any later sync, although it may still be seen (the pages count as clean) until they leave the memory.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from random import Random
from typing import final

from msgspec import Struct

SECTOR = 512
PAGE = 4096


class Keeping(StrEnum):
    """How much of what was not synced survives a loss of power."""

    NOTHING = "nothing"
    EVERYTHING = "everything"
    PREFIX = "prefix"
    """As if written in order: the first so many, and the next one torn."""
    WRITES = "writes"
    """Each write whole or not at all."""
    ALL_BUT_ONE = "all_but_one"
    SECTORS = "sectors"
    """Each sector for itself."""


class Loss(Struct):
    """What a loss of power did to a file."""

    lost: int = 0
    torn: int = 0
    reordered: bool = False
    cut: bool = False


class _Waiting(Struct, frozen=True):
    """Bytes written at `offset`, or a truncation to `offset` where `data` is None."""

    offset: int
    data: bytes | None


@final
class DiskFile:
    """`number` tells files of one name apart. `is_new_log`: a journal or log whose first sync also makes its name
    durable, as SQLite's unix port does."""

    __slots__ = ("_ghosts", "_waiting", "is_new_log", "kept", "number", "seen")

    def __init__(self, number: int, is_new_log: bool = False) -> None:
        self.number = number
        self.is_new_log = is_new_log
        self.seen = bytearray()
        self.kept = bytearray()
        self._waiting: list[_Waiting] = []
        self._ghosts = False

    @property
    def is_clean(self) -> bool:
        """Would a loss of power change nothing?"""
        return not self._waiting and not self._ghosts

    def read(self, length: int, offset: int) -> bytes:
        """What is there of these bytes; fewer at the end of the file."""
        return bytes(self.seen[offset : offset + length])

    def write(self, data: bytes, offset: int) -> None:
        end = offset + len(data)
        _put(self.seen, data, offset)
        if self._ghosts:
            # A page is written whole, with what a failed sync has left in it.
            offset -= offset % PAGE
            data = bytes(self.seen[offset : end + -end % PAGE])
        self._waiting.append(_Waiting(offset, data))

    def truncate(self, size: int) -> None:
        if size < len(self.seen):
            del self.seen[size:]
        else:
            self.seen.extend(bytes(size - len(self.seen)))
        self._waiting.append(_Waiting(size, None))

    def sync(self) -> None:
        for one in self._waiting:
            _apply(self.kept, one)
        self._waiting.clear()

    def fail_sync(self, rng: Random) -> None:
        """A sync that fails: what it did not write is forgotten. What is seen stays as it was, or is read anew."""
        self.kept = self._survivors(rng, rng.choice(list(Keeping)), Loss())
        self._waiting.clear()
        if rng.random() < 0.5:
            self.seen = bytearray(self.kept)
        self._ghosts = self.seen != self.kept

    def lose_power(self, rng: Random, keeping: Keeping) -> Loss:
        """Keep what survives, and forget the rest."""
        loss = Loss()
        if self._waiting:
            self.kept = self._survivors(rng, keeping, loss)
            self._waiting.clear()
        self._ghosts = False
        self.seen = bytearray(self.kept)
        return loss

    def copy(self) -> DiskFile:
        """The same file on another disk."""
        file = DiskFile(self.number, self.is_new_log)
        file.seen, file.kept = bytearray(self.seen), bytearray(self.kept)
        file._waiting, file._ghosts = list(self._waiting), self._ghosts
        return file

    def flip_bit(self, place: int) -> None:
        """Turn one bit over, in what is kept and in what is seen."""
        for content in (self.seen, self.kept):
            if place // 8 < len(content):
                content[place // 8] ^= 1 << place % 8

    def _survivors(self, rng: Random, keeping: Keeping, loss: Loss) -> bytearray:
        kept = bytearray(self.kept)
        waiting = self._waiting
        if keeping is Keeping.NOTHING or not waiting:
            loss.lost = len(waiting)
            return kept
        if keeping is Keeping.EVERYTHING:
            for one in waiting:
                _apply(kept, one)
            return kept
        sector = rng.choice((SECTOR, PAGE))
        fates = _fates(rng, keeping, len(waiting))
        size = self._grown(rng, fates)
        for one, fate in zip(waiting, fates, strict=True):
            if one.data is None:
                if fate < 1:
                    loss.cut = True
                    break
                _apply(kept, one)
            else:
                _write_some(kept, one, rng, sector, fate, loss)
        loss.reordered = any(before < after for before, after in pairwise(fates))
        if len(kept) > size:
            loss.cut = True
            del kept[size:]
        return kept

    def _grown(self, rng: Random, fates: list[float]) -> int:
        """The largest size that survives: some size that the file has had."""
        sizes = [len(self.kept)]
        for one, fate in zip(self._waiting, fates, strict=True):
            if one.data is not None:
                sizes.append(max(sizes[-1], one.offset + len(one.data)))
            elif fate >= 1:
                sizes = [one.offset]
            else:
                break
        return rng.choice(sizes) if rng.random() < 0.3 else sizes[-1]


def _fates(rng: Random, keeping: Keeping, count: int) -> list[float]:
    """For each that waits, the chance of each of its sectors to survive."""
    if keeping is Keeping.PREFIX:
        whole = rng.randrange(count + 1)
        return [1.0] * whole + [0.5] * min(1, count - whole) + [0.0] * (count - whole - 1)
    if keeping is Keeping.ALL_BUT_ONE:
        lost = rng.randrange(count)
        return [0.0 if one == lost else 1.0 for one in range(count)]
    if keeping is Keeping.WRITES:
        return [float(rng.random() < 0.5) for _ in range(count)]
    share = rng.choice((0.1, 0.5, 0.9))
    return [share if rng.random() < 0.8 else float(rng.random() < 0.5) for _ in range(count)]


def _write_some(kept: bytearray, one: _Waiting, rng: Random, sector: int, fate: float, loss: Loss) -> None:
    data = one.data or b""
    if fate >= 1:
        _put(kept, data, one.offset)
        return
    survived = 0
    start = 0
    pieces = 0
    while start < len(data):
        end = min(len(data), start + sector - (one.offset + start) % sector)
        pieces += 1
        if fate > 0 and rng.random() < fate:
            _put(kept, data[start:end], one.offset + start)
            survived += 1
        start = end
    loss.lost += survived == 0
    loss.torn += 0 < survived < pieces


def _apply(content: bytearray, one: _Waiting) -> None:
    if one.data is not None:
        _put(content, one.data, one.offset)
    elif one.offset < len(content):
        del content[one.offset :]
    else:
        content.extend(bytes(one.offset - len(content)))


def _put(content: bytearray, data: bytes, offset: int) -> None:
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data

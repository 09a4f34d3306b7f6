"""What the steps say, kept within bounds: their output as raw bytes, and the harness's own JSON lines.

Nothing here raises for a full disk: what could not be kept is counted, and the harness goes on. Memory holds one
chunk of output, and one protocol line at most. Standard library only.
"""

import errno
import os

from tenure.node.runner.record import awake_s, decode, remove

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

CHUNK_BYTES = 256 * 1024
LAST_WORDS = (b'"result"', b'"ask"')
OVERLAP_BYTES = 16  # kept of a line that is too long, so that such a word is found across a cut
RETRY_S = 1.0  # between tries on a full disk
FILE_BYTES = 32 << 20
"""Read of each end of a protocol file; of one that is longer than both the middle is skipped."""


class Spool:
    """One stream of one step. The first segment is kept, and of the later ones the newest few.

    A segment's name ends in the offset of its first byte in the stream, so that a reader sees each gap.
    """

    def __init__(self, name: str, limits: "Json") -> None:
        self.name, self.limits = name, limits
        self.bytes = self.lost_bytes = 0
        self.segments: list[str] = []
        self.fd, self.room = -1, 0
        self.retry_at = 0.0

    def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                if not self.room:
                    self.open_segment()
                done = os.write(self.fd, left[: self.room])
                self.room -= done
            except OSError:
                done = len(left)
                self.lost_bytes += done
                self.give_up_segment()
            self.bytes += done
            left = left[done:]

    def open_segment(self) -> None:
        if awake_s() < self.retry_at:
            raise OSError(errno.ENOSPC, "the disk was full a moment ago")
        self.close()
        path = f"{self.name}.{self.bytes:020d}"
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        self.segments.append(path)
        self.room = max(1, self.limits["segment_bytes" if len(self.segments) > 1 else "head_bytes"])
        if len(self.segments) > 1 + self.limits["segments"]:
            remove(self.segments.pop(1))

    def give_up_segment(self) -> None:
        """What comes next has another offset, so it needs another segment; an empty one must not push out a full one."""
        if awake_s() >= self.retry_at:
            self.retry_at = awake_s() + RETRY_S
        self.room = 0
        if self.fd >= 0 and os.fstat(self.fd).st_size == 0:
            remove(self.segments.pop())
        self.close()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def sync(self) -> None:
        """Makes durable what is there; the outcome, written after it, must not speak of bytes that a power cut takes."""
        for path in self.segments:
            try:
                fd = os.open(path, os.O_RDONLY)
            except OSError:
                continue
            try:
                os.fsync(fd)
            except OSError:
                continue
            finally:
                os.close(fd)


class Protocol:
    """The harness's lines. Its last word, a `result` or an `ask`, is kept in memory, whatever else is dropped.

    A line that is too long and looks like a last word takes the place of an earlier one as "none": with lines
    dropped and no last word known, the reader must not take the exit code's word for it.
    """

    def __init__(self, limits: "Json") -> None:
        self.limits = limits
        self.lines = self.dropped_lines = 0
        self.last_word: bytes | None = None
        self.part, self.is_too_long = bytearray(), False
        self.fd, self.size = -1, 0

    def feed(self, data: bytes) -> None:
        for number, piece in enumerate(data.split(b"\n")):
            if number:
                self.end_line()
            self.part += piece
            if self.is_too_long or len(self.part) > self.limits["protocol_line_bytes"]:
                self.is_too_long = True
                if LAST_WORDS[0] in self.part or LAST_WORDS[1] in self.part:
                    self.last_word = None
                del self.part[:-OVERLAP_BYTES]

    def end_line(self) -> None:
        """A line is complete, or its source has ended."""
        line, is_too_long = bytes(self.part), self.is_too_long
        self.part, self.is_too_long = bytearray(), False
        if not line.strip() and not is_too_long:
            return
        self.lines += 1
        if not is_too_long and is_last_word(line):
            self.last_word = line
        if is_too_long or not self.append(line + b"\n"):
            self.dropped_lines += 1

    def append(self, line: bytes) -> bool:
        """All of the line or nothing."""
        if self.size + len(line) > self.limits["protocol_bytes"]:
            return False
        try:
            if self.fd < 0:
                self.fd = os.open("protocol.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            if os.write(self.fd, line) < len(line):
                os.ftruncate(self.fd, self.size)
                return False
        except OSError:
            return False
        self.size += len(line)
        return True

    def read_file(self, path: str) -> None:
        """What a program wrote that cannot use a descriptor; a FIFO or a link in the file's place is not read."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return
        try:
            size = os.fstat(fd).st_size  # it may still grow; then this is where the turn ended
            self.read_range(fd, 0, min(size, FILE_BYTES))
            if size > FILE_BYTES:
                # The first line after a gap is torn, and so is the last before it.
                self.is_too_long = self.is_too_long or size > 2 * FILE_BYTES
                self.read_range(fd, max(FILE_BYTES, size - FILE_BYTES), size)
        except OSError:
            pass
        finally:
            os.close(fd)
        self.end_line()

    def read_range(self, fd: int, start: int, end: int) -> None:
        while start < end and (data := os.pread(fd, min(CHUNK_BYTES, end - start), start)):
            self.feed(data)
            start += len(data)


def is_last_word(line: bytes) -> bool:
    """Whether it is a `result` or an `ask`."""
    if LAST_WORDS[0] not in line and LAST_WORDS[1] not in line:
        return False
    try:
        return decode(line)["type"] in {"result", "ask"}
    except (ValueError, KeyError, TypeError, IndexError):
        return False

"""What the runner reads and writes besides output: its clocks, JSON, and files that survive a crash.

The outcome's room on disk is taken before the start (`reserve_outcome`), so that a disk that fills up meanwhile
cannot turn a known end into an unknown one. Both `started_by` and `outcome.json` are written under another name,
synced, and then appear at once.

Standard library only. JSON goes through the C halves of `json`: its Python half would double the start time.
"""

import _json
import errno
import fcntl
import os
import sys
import time

from tenure.node.runner.process_tree import read_file, wait_s

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]

VERSION = 1
"""Of `launch.json`, `started_by` and `outcome.json`."""
UNKNOWN_OF_STEP = (
    "exit_code", "signal", "start_error", "start_error_text", "oom_killed", "started_at_ms", "started_boottime_ns",
    "ended_at_ms", "ended_boottime_ns",
)  # fmt: skip
RESERVE_BYTES = (2 << 20) + (128 << 10)
"""The longest result line, with what JSON adds to it, and the rest of the outcome."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
OUTCOME_BOUND_S = 60.0
RETRY_S = 0.5
LOG_BYTES = 65_536
LOCK_TRIES = 60
LOCK_RETRY_S = 0.005  # the daemon's probe holds the lock for microseconds; that must not cost a start
CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"

# Darwin's CLOCK_MONOTONIC runs on through a sleep and CLOCK_UPTIME_RAW does not: the reverse of Linux's names.
BOOT_CLOCK = time.CLOCK_MONOTONIC if sys.platform == "darwin" else time.CLOCK_BOOTTIME
AWAKE_CLOCK = time.CLOCK_UPTIME_RAW if sys.platform == "darwin" else time.CLOCK_MONOTONIC


def boot_ns() -> int:
    """A clock that runs on through a suspend: deadlines are on it."""
    return time.clock_gettime_ns(BOOT_CLOCK)


def awake_s() -> float:
    """A clock that stands still in a suspend: time-outs and graces are on it."""
    return time.clock_gettime(AWAKE_CLOCK)


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class Sleep:
    """How long the machine has been suspended since this was made."""

    def __init__(self) -> None:
        self.lag_ns = self.lag()

    def lag(self) -> int:
        return boot_ns() - time.clock_gettime_ns(AWAKE_CLOCK)

    def total_s(self) -> float:
        # The two clocks are read one after the other, so a little less than nothing can come out.
        return max(0, self.lag() - self.lag_ns) // 1_000_000 / 1000


def stamp(name: str) -> "Json":
    """An instant for the record, on both clocks."""
    return {f"{name}_at_ms": wall_ms(), f"{name}_boottime_ns": boot_ns()}


def boot_id() -> str:
    """Names this boot; empty where the system does not."""
    return read_file("/proc/sys/kernel/random/boot_id").strip().decode()


def new_runner_id() -> str:
    """`i_` and a UUIDv7 (RFC 9562) in Crockford's base 32, as all our ids."""
    random = int.from_bytes(os.urandom(10), "big")
    value = wall_ms() << 80 | 7 << 76 | (random >> 62 & 0xFFF) << 64 | 2 << 62 | random & (1 << 62) - 1
    return "i_" + "".join(CROCKFORD[value >> shift & 31] for shift in range(125, -1, -5))


class Log:
    """What is worth a person's look, on standard error (`runner.log`), within a bound."""

    def __init__(self) -> None:
        self.room = LOG_BYTES

    def write(self, text: str) -> None:
        line = f"{wall_ms()} {text}\n".encode(errors="replace")[: self.room]
        self.room -= len(line)
        try:
            os.write(2, line)
        except OSError:
            return


# -- JSON


class Grammar:
    """What the C scanner asks its caller for."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def decode(data: bytes) -> "Any":
    """One JSON value. As lenient as the reader of the harness protocol: broken UTF-8, NUL or NaN do not hide it.

    Raises:
        ValueError: it is not JSON, or nested beyond what the scanner bears.
    """
    text = data.decode(errors="replace").strip("\ufeff\0 \t\r\n")
    try:
        value, end = _json.make_scanner(Grammar)(text, 0)  # pyright: ignore - typeshed wants a JSONDecoder
    except (StopIteration, RecursionError, SystemError) as error:
        # SystemError: the scanner looks for JSONDecodeError in a module that nobody has imported (Python 3.11).
        raise ValueError(f"not JSON: {error!r}") from None
    if end != len(text):
        raise ValueError("not one JSON value")
    return value


def encode(value: "Any") -> bytes:
    """One line of JSON without its end; a surrogate, which UTF-8 cannot hold, becomes a question mark."""
    encoder = _json.make_encoder(None, repr, _json.encode_basestring, None, ":", ",", False, False, True)
    return "".join(encoder(value, 0)).encode("utf-8", "replace")


# -- files


def lock_folder() -> bool:
    """Takes the lock of the current folder until this process ends; False if another holds it."""
    lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            wait_s(LOCK_RETRY_S)
    os.close(lock)
    return False


def reserve_outcome() -> None:
    """Takes the outcome's room on disk.

    Raises:
        OSError: there is none.
    """
    fd = os.open("outcome.tmp", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        if not allocate(fd, RESERVE_BYTES):
            write_all(fd, bytes(RESERVE_BYTES))
    finally:
        os.close(fd)


def allocate(fd: int, size: int) -> bool:
    """Takes room without writing it; False where the system or the file system cannot.

    Raises:
        OSError: there is no room.
    """
    if not hasattr(os, "posix_fallocate"):
        return False
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        return False
    return True


def publish(temporary: str, name: str, data: bytes, move: "Callable[[str, str], None]") -> None:
    """Makes a file appear at once and durably. `move` is os.link where an existing one must stand, else os.rename.

    Raises:
        FileExistsError: os.link found the name taken.
        OSError: it may not be durable.
    """
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        write_all(fd, data)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    finally:
        os.close(fd)
    move(temporary, name)
    folder = os.open(".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def new_outcome(launch: "Json") -> "Json":
    """The outcome of a run of which nothing is known yet; run.messages says what each field means."""
    steps = [
        {"name": step["name"], "kind": step["kind"], "ran": False, "timed_out": False, "stdout_bytes": 0,
         "stderr_bytes": 0, **dict.fromkeys(UNKNOWN_OF_STEP)}
        for step in launch["steps"]
    ]  # fmt: skip
    return {
        "version": VERSION, "delivery_id": launch["delivery_id"], "fence": launch["fence"],
        "runner_id": new_runner_id(), "boot_id": boot_id(), "steps": steps, "never_started": None, "unknown": None,
        "canceled": False, "timed_out": False, "killed_stale": False, "runner_signal": None, "ended_by": None, "stops": [],
        "tree_gone": True, "leftovers": 0, "survivors": 0, "spool_lost_bytes": 0, "result_lost": False,
    }  # fmt: skip


def record_outcome(outcome: "Json", log: Log, bound_s: float | None) -> bool:
    """Writes `outcome.json`, again and again within a bound. False: it is not there, the end will be `unknown`."""
    give_up_at = awake_s() + (OUTCOME_BOUND_S if bound_s is None else bound_s)
    while True:
        data = encode(outcome)
        try:
            publish("outcome.tmp", "outcome.json", data, os.rename)
            return True
        except OSError as error:
            log.write(f"outcome: {error}")
            if error.errno in NO_ROOM and len(data) > RESERVE_BYTES:
                outcome["result_line"], outcome["result_lost"] = None, True
        if awake_s() > give_up_at:
            return False
        wait_s(RETRY_S)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return

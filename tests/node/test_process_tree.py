"""The walk over all processes: who belongs to a tree, and that nobody else is ever touched."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenure.node.runner import process_tree
from tenure.node.runner.process_tree import MARKER_VARIABLE, Process, Tree, read_processes, send_signal
from tests.eventually import eventually
from tests.process.runner_lab import BOUND_S, is_alive, is_stopped, process_of

SPAWN = """
import os, signal, sys
child = os.fork()
if child == 0:
    os.setsid()
    while True:
        signal.pause()
print(child, flush=True)
while True:
    signal.pause()
"""


@contextmanager
def family(marker: str) -> Iterator[tuple[int, int]]:
    """A process with a child in a session of its own, both with the marker; the child is an orphan in the end."""
    env = {"PATH": os.environ["PATH"], MARKER_VARIABLE: marker}
    parent = subprocess.Popen([sys.executable, "-S", "-c", SPAWN], env=env, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    try:
        yield parent.pid, child
    finally:
        for pid in (child, parent.pid):
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        parent.wait(BOUND_S)
        parent.stdout.close()


def tree(marker: str) -> Tree:
    return Tree(marker, None, time.monotonic)


def pids(of: Tree) -> set[int]:
    return {process.pid for process in of.members(deep=True)}


def test_the_marker_alone_finds_pauses_continues_and_kills_a_tree() -> None:
    with family("one") as (parent, child), family("one-and-more") as others:
        found = tree("one")
        assert pids(found) == {parent, child}
        assert found.pause()
        assert is_stopped(parent)
        assert is_stopped(child)
        assert not any(is_stopped(pid) for pid in others)
        found.resume()
        eventually(lambda: not is_stopped(parent) and not is_stopped(child), BOUND_S)
        assert not found.is_empty()
        assert found.kill() == 0
        assert not is_alive(parent)
        assert not is_alive(child)
        assert found.is_empty()
        assert all(is_alive(pid) for pid in others)


def test_an_orphan_with_the_marker_is_found() -> None:
    with family("orphan") as (parent, child):
        os.kill(parent, signal.SIGKILL)
        eventually(lambda: not is_alive(parent), BOUND_S)
        assert pids(tree("orphan")) == {child}


def test_who_was_stopped_before_the_pause_stays_so_after_it() -> None:
    with family("stopped") as (parent, child):
        os.kill(child, signal.SIGSTOP)
        eventually(lambda: is_stopped(child), BOUND_S)
        found = tree("stopped")
        found.pause()
        found.resume()
        eventually(lambda: not is_stopped(parent), BOUND_S)
        assert is_stopped(child)


def test_a_pause_is_repeatable_and_takes_in_who_was_continued_by_others() -> None:
    with family("again") as (parent, child):
        found = tree("again")
        found.pause()
        os.kill(child, signal.SIGCONT)
        eventually(lambda: not is_stopped(child), BOUND_S)
        assert found.pause()
        assert is_stopped(child)
        found.resume()
        eventually(lambda: not is_stopped(parent) and not is_stopped(child), BOUND_S)


def test_a_tree_without_a_root_holds_neither_init_nor_the_one_who_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nobody = tree("nobody-has-this-marker")
    assert nobody.members(deep=True) == []
    assert nobody.is_empty()
    assert nobody.kill() == 0
    # Even if this process itself carried the marker.
    everybody = tree("x")
    everybody.marker = b"\0"
    assert not {1, os.getpid()} & pids(everybody)


def test_a_process_that_only_has_the_same_pid_is_not_signaled() -> None:
    with family("recycled") as (pid, _):
        found = process_of(pid)
        assert found is not None
        found.start -= 1  # as if the one that was seen had died and its pid had been given out again
        send_signal(found, signal.SIGKILL)
        send_signal(found, signal.SIGSTOP)
        assert is_alive(pid)
        assert not is_stopped(pid)
        found.start += 1
        send_signal(found, signal.SIGKILL)
        eventually(lambda: not is_alive(pid), BOUND_S)


def test_without_a_pidfd_the_start_time_is_still_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def old_kernel(_pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(process_tree.os, "pidfd_open", old_kernel)
    with family("old-kernel") as (pid, _):
        found = process_of(pid)
        assert found is not None
        found.start -= 1
        send_signal(found, signal.SIGKILL)
        assert is_alive(pid)
        found.start += 1
        send_signal(found, signal.SIGKILL)
        eventually(lambda: not is_alive(pid), BOUND_S)


def test_a_signal_to_who_is_gone_goes_nowhere() -> None:
    with family("gone") as (pid, _):
        found = process_of(pid)
    assert found is not None
    send_signal(found, signal.SIGKILL)


def test_a_kill_gives_up_at_its_bound_and_says_how_many_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_process: Process, _number: int) -> None:
        """As with a process that waits in the kernel for a dead disk."""

    monkeypatch.setattr(process_tree, "send_signal", nothing)
    monkeypatch.setattr(process_tree, "KILL_BOUND_S", 0.2)
    monkeypatch.setattr(process_tree, "PAUSE_BOUND_S", 0.2)
    with family("immortal"):
        assert tree("immortal").kill() == 2
        assert tree("immortal").pause() is False


def test_the_name_of_a_program_cannot_confuse_the_table() -> None:
    row = Process(5, b"5 (a) R 1 2 3) S 77 5 5 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 999 0\n")
    assert (row.state, row.parent, row.start, row.cpu) == ("S", 77, 999, 10)


def test_a_process_whose_first_thread_has_ended_still_lives() -> None:
    dead = Process(5, b"5 (x) Z 1 5 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0\n")
    half = Process(5, b"5 (x) Z 1 5 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 9 0\n")
    assert (dead.state, half.state) == ("Z", "R")


def test_every_process_on_the_machine_can_be_read() -> None:
    assert {1, os.getpid()} <= read_processes().keys()


# -- the files of a cgroup, made up: what they say is believed only if it is there


@pytest.fixture
def cgroup(tmp_path: Path) -> Callable[[str, str], Tree]:
    def with_file(name: str, text: str) -> Tree:
        (tmp_path / name).write_text(text)
        return Tree("nobody-has-this-marker", str(tmp_path), time.monotonic)

    return with_file


def test_oom_kills_are_told_only_by_a_cgroup_that_counts_them(cgroup: Callable[[str, str], Tree]) -> None:
    assert tree("x").oom_kills() is None
    assert cgroup("cgroup.procs", "").oom_kills() is None
    assert (
        cgroup("memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\noom_group_kill 0\n").oom_kills()
        == 1
    )


def test_the_time_of_a_cgroup_is_its_own(cgroup: Callable[[str, str], Tree]) -> None:
    assert cgroup("cpu.stat", "usage_usec 1234567\nuser_usec 1\nsystem_usec 1\n").usage() == (1234, 0)


def test_a_cgroup_that_says_it_is_populated_is_not_empty(cgroup: Callable[[str, str], Tree]) -> None:
    assert not cgroup("cgroup.events", "populated 1\nfrozen 0\n").is_empty()
    assert cgroup("cgroup.events", "populated 0\nfrozen 0\n").is_empty()


def test_a_cgroup_that_was_divided_is_seen_whole(cgroup: Callable[[str, str], Tree], tmp_path: Path) -> None:
    (tmp_path / "inner" / "most").mkdir(parents=True)
    (tmp_path / "inner" / "cgroup.procs").write_text("11\n12\n")
    (tmp_path / "inner" / "most" / "cgroup.procs").write_text("13\n")
    assert sorted(cgroup("cgroup.procs", "10\n").cgroup_pids()) == [10, 11, 12, 13]

"""A short run of the real thing, and that what it is judged by can fail."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from tenure.sim.checkers.checking import check
from tenure.sim.checkers.entry import Applied, Entry, Read, Recorded, Start, Submit
from tenure.sim.checkers.history import History, load
from tests.chaos.__main__ import options
from tests.chaos.checks import effects_once, verdicts_true
from tests.chaos.fleet import free_ports
from tests.chaos.leftovers import DRIVER, PREFIX, claim, clear_killed_runs, what_is_left
from tests.chaos.machine import Abilities, found_faketime
from tests.chaos.outside import counted
from tests.chaos.plan import DECK, KINDS, plan
from tests.chaos.processes import RUN, seen
from tests.chaos.provider import KeptState, whole_lines
from tests.chaos.proxy import Link
from tests.eventually import eventually

ROOT = Path(__file__).parents[2]
BOUND_S = 240
ENDED_PID = 4_194_305
"""More than any kernel gives out."""
LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are found by their environment in /proc"
)


def forget_a_task(entries: list[Entry]) -> list[Entry]:
    """The Task that was acknowledged first is in no read any more, and whoever asks for it is told that it is not there."""
    lost = next(one.task_id for one in entries if isinstance(one, Submit) and one.acknowledged_at)
    assert lost is not None

    def without(one: Read) -> Read:
        tasks = tuple(view for view in one.tasks if view.task_id != lost)
        return replace(one, tasks=tasks, missing=one.missing if tasks else (*one.missing, lost))

    return [
        without(one) if isinstance(one, Read) and lost in {view.task_id for view in one.tasks} else one
        for one in entries
    ]


def repeat(kind: type[Applied] | type[Start]) -> Callable[[list[Entry]], list[Entry]]:
    """What really happened once happened once more, a little later."""

    def again(entries: list[Entry]) -> list[Entry]:
        one = next(one for one in entries if isinstance(one, kind))
        return [*entries, replace(one, at=one.at + 1)]

    return again


def grant_under_the_same_fence(entries: list[Entry]) -> list[Entry]:
    """The last grant of the record is made once more, as another Delivery."""
    events = [one for one in entries if isinstance(one, Recorded)]
    last = max((one for one in events if one.kind == "delivery_granted"), key=lambda one: one.seq)
    seq = max(one.seq for one in events) + 1
    return [*entries, replace(last, seq=seq, body=last.body | {"delivery_id": "d_another"})]


def go_back(entries: list[Entry]) -> list[Entry]:
    """After the end a Task that had ended is read as working."""
    read = next(one for one in reversed(entries) if isinstance(one, Read) and one.every_task)
    assert read.ended is not None
    view = replace(read.tasks[0], state="working")
    return [
        *entries,
        replace(read, began=read.ended + 1, ended=read.ended + 2, tasks=(view,), every_task=False),
    ]


def answer_with_another(entries: list[Entry]) -> list[Entry]:
    """A key that was acknowledged is acknowledged again, as another Task."""
    first, other, *_ = (one for one in entries if isinstance(one, Submit) and one.task_id)
    return [*entries, replace(first, task_id=other.task_id)]


def ask_nobody(entries: list[Entry]) -> list[Entry]:
    """An Attempt whose end nobody knows was never on the list of questions."""
    read = next(one for one in reversed(entries) if isinstance(one, Read) and one.every_task)
    view = replace(read.tasks[0], tries=(replace(read.tasks[0].tries[0], number=77, verdict="unknown"),))
    return [replace(one, tasks=(view,)) if one is read else one for one in entries]


DOCTORS: dict[str, Callable[[list[Entry]], list[Entry]]] = {
    "acknowledged": forget_a_task,
    "effects_once": repeat(Applied),
    "fences": grant_under_the_same_fence,
    "starts": repeat(Start),
    "monotonic": go_back,
    "idempotent": answer_with_another,
    "unknowns": ask_nobody,
}


class ShortRun(Struct, frozen=True):
    code: int
    said: str
    history: History


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShortRun]:
    runs = tmp_path_factory.mktemp("runs")
    words = [sys.executable, "-m", "tests.chaos", "--minutes", "0.17", "--seed", "397", "--brief", "--keep"]
    ran = subprocess.run(
        words,
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(runs)},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    (folder,) = runs.glob(f"{PREFIX}*")
    with (folder / "history.jsonl").open("rb") as file:
        history = load(file)
    yield ShortRun(ran.returncode, ran.stdout + ran.stderr, history)
    shutil.rmtree(runs)


@LINUX
def test_a_short_run_of_real_processes_under_faults_ends_without_a_violation(short_run: ShortRun) -> None:
    assert short_run.code == 0, short_run.said
    assert "violations: 0" in short_run.said


@LINUX
@pytest.mark.parametrize("doctored", DOCTORS)
def test_the_same_run_with_its_history_doctored_is_found_out(short_run: ShortRun, doctored: str) -> None:
    entries = DOCTORS[doctored](list(short_run.history.entries))
    assert doctored in {one.checker.removeprefix("record: ") for one in check(History(entries))}


@LINUX
def test_nothing_is_left_of_a_run_whose_driver_was_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.chaos", "--minutes", "1", "--seed", "1"]
    env = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        folder = Path(driver.stdout.readline().split()[1])
        try:
            eventually(lambda: len(seen(str(folder))) >= 2, within_s=120, what="the hub beside the provider")
        finally:
            driver.kill()
    eventually(lambda: not what_is_left(folder), within_s=60, what="the end of all that is of the run")
    shutil.rmtree(folder)


@LINUX
@pytest.mark.parametrize(
    "mark", [f"{ENDED_PID} 1\n", f"{os.getpid()} 1\n", ""], ids=["ended", "its pid is another's now", "torn"]
)
def test_a_start_clears_what_a_killed_run_has_left_and_says_so(tmp_path: Path, mark: str) -> None:
    killed, live, kept = (tmp_path / f"{PREFIX}{name}" for name in ("killed", "live", "kept"))
    for one in (killed, live, kept):
        one.mkdir()
    (killed / DRIVER).write_text(mark)
    claim(live)
    words = [sys.executable, "-S", "-c", "import signal; signal.pause()"]
    with subprocess.Popen(words, env={RUN: str(killed)}) as stray:
        try:
            eventually(lambda: seen(str(killed)), within_s=60, what="the process that is in the way")
            told = list(clear_killed_runs(tmp_path))
            assert stray.wait(10) < 0
        finally:
            stray.kill()
    assert told == [
        f"cleared a run that was killed, {killed}: its folder, 1 processes",
        f"another run goes on in {live} (process {os.getpid()}); it is left alone",
    ]
    assert sorted(tmp_path.iterdir()) == sorted((live, kept))


@pytest.mark.parametrize(
    "words",
    ["--minutes 0", "--minutes -1", "--minutes nan", "--minutes soon", "--without rain", "--plant rain"],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        options().parse_args(words.split())
    assert refused.value.code == 2
    assert words.split()[1] in capsys.readouterr().err


def test_what_is_left_out_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("tests.chaos.machine.LIBRARY", "nowhere/libfaketime.so.1")
    poor = Abilities(tmp_path, without=("slow",))
    assert [one.split()[0] for one in poor.missing] == ["slow:", "disk", "new", "lost", "clock"]
    assert [kind for kind in KINDS if not poor.can(kind)] == ["lost", "disk", "clock"]


@pytest.mark.skipif(found_faketime() is None, reason="libfaketime is not installed")
def test_the_clock_of_a_process_that_runs_follows_what_its_machine_is_told(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0")
    env = Abilities(tmp_path).clock_env(clock)
    script = "import sys, time\nfor _ in sys.stdin: print(time.time(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", script], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answered = process.stdin, process.stdout

        def ahead_s() -> float:
            asked.write("now\n")
            asked.flush()
            return float(answered.readline()) - time.time()

        assert abs(ahead_s()) < 60
        clock.write_text("+3600")
        eventually(lambda: 3500 < ahead_s() < 3700, within_s=30, what="an hour ahead")
        clock.write_text("-90")
        eventually(lambda: -150 < ahead_s() < -30, within_s=30, what="a minute and a half back")
        process.stdin.close()


def test_the_same_seed_is_the_same_plan_and_every_kind_comes_up() -> None:
    assert plan(3, 600) == plan(3, 600) != plan(4, 600)
    assert {(one.kind, one.target) for one in plan(3, 600)} == {card[:2] for card in DECK}


def test_the_provider_keeps_what_it_did_when_it_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    state = KeptState(log)
    lamp = state.repository("quay/lamp")
    assert lamp is not None
    state.propose(lamp, {"head": "tenure/op-00001", "base": "main", "title": "one"})
    state.say(lamp, 1, "this is op-00001")
    with log.open("ab") as file:
        file.write(b'{"operation": "comm')  # killed in the middle of a line
    again = KeptState(log)
    there = again.repository("quay/lamp")
    assert there is not None
    assert (list(there.pulls), len(there.comments[1])) == ([1], 1)
    again.say(there, 2, "this is op-00002")
    assert counted(log, tmp_path) == {
        ("op-00001", "pull_request"): 1,
        ("op-00001", "comment"): 1,
        ("op-00002", "comment"): 1,
    }
    assert len(whole_lines(log)) == 3


async def test_a_link_passes_swallows_and_is_cut_as_it_is_told() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(100):
            writer.write(piece)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        link = Link(free_ports(1)[0], server.sockets[0].getsockname()[1])
        await link.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
        writer.write(b"there")
        assert await reader.readexactly(5) == b"there"
        link.become("deaf")
        writer.write(b"lost")
        link.become("open")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
        link.become("cut")
        reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
        await link.stop()


def test_an_effect_that_was_done_twice_or_lost_or_guessed_is_told() -> None:
    def effect(op: str, state: str) -> Any:
        return SimpleNamespace(params=f'{{"body": "this is {op}"}}'.encode(), kind="comment", state=state)

    said = (effect("op-00001", "confirmed"), effect("op-00002", "confirmed"), effect("op-00003", "absent"))
    done = Counter({("op-00001", "comment"): 2, ("op-00003", "comment"): 1, ("op-00004", "comment"): 1})
    assert effects_once(said, done) == [
        "op-00001 comment was done 2 times",
        "op-00002 comment is confirmed, and is not there",
        "op-00003 comment was done, and the record says absent",
        "op-00004 comment was done, and nobody asked for it",
    ]
    assert effects_once(said[:1], Counter({("op-00001", "comment"): 1})) == []


def test_a_verdict_without_an_agent_that_came_to_it_or_even_ran_is_told() -> None:
    def ended(number: int, verdict: str, summary: str = "") -> Any:
        return SimpleNamespace(number=number, verdict=verdict, summary=summary)

    tries = (ended(1, "completed"), ended(2, "completed"), ended(3, "failed", "as told"), ended(4, "asked"))
    final: Any = SimpleNamespace(
        attempts={"t_1": (*tries, ended(5, "failed", "as told"), ended(6, "canceled"))}
    )
    marks = [
        {"mark": "end", "task": "t_1", "attempt": 2, "word": "exit 0"},
        {"mark": "start", "task": "t_1", "attempt": 5},
    ]
    assert verdicts_true(final, marks) == [
        "t_1/1 is completed, and its agent last said nothing",
        "t_1/3 is failed by the word of its agent, which never ran",
        "t_1/4 is asked, and its agent last said nothing",
    ]

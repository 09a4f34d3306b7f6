"""A short run of the real thing, and that what it is judged by can fail."""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.checks import effects_once, starts_once, unknowns_listed, verdicts_true
from tests.chaos.fleet import free_ports
from tests.chaos.outside import counted
from tests.chaos.plan import DECK, plan
from tests.chaos.processes import seen
from tests.chaos.provider import KeptState, whole_lines
from tests.chaos.proxy import Link
from tests.eventually import eventually

ROOT = Path(__file__).parents[2]
SHORT_S = 55
LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are found by their environment in /proc"
)


@LINUX
def test_a_short_run_of_real_processes_under_faults_ends_without_a_violation() -> None:
    words = [sys.executable, "-m", "tests.chaos", "--minutes", "0.25", "--seed", "4", "--brief"]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=4 * SHORT_S, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "violations: 0" in ran.stdout


@LINUX
def test_nothing_is_left_of_a_run_whose_driver_was_killed() -> None:
    words = [sys.executable, "-m", "tests.chaos", "--minutes", "1", "--seed", "1"]
    driver = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    folder = Path(driver.stdout.readline().split()[1])
    run = str(folder)
    eventually(lambda: len(seen(run)) >= 2, within_s=60, what="the hub beside the provider")
    driver.kill()
    driver.wait(10)
    driver.stdout.close()
    eventually(lambda: not seen(run), within_s=30, what="the end of every process of the run")
    eventually(lambda: str(folder) not in Path("/proc/self/mountinfo").read_text(), within_s=30)
    subprocess.run(["rm", "-rf", str(folder)], check=True, timeout=60)


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
        link = Link("one", free_ports(1)[0], server.sockets[0].getsockname()[1])
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


def test_a_start_that_may_not_be_is_told() -> None:
    marks = [{"mark": "start", "delivery": one} for one in ("d_1", "d_1", "d_2", "d_3", "d_4")]
    bodies: list[Any] = [
        ("delivery_acknowledged", {"delivery_id": one}, None) for one in ("d_1", "d_3", "d_4")
    ]
    bodies.append(("handed_back", {"delivery_id": "d_3"}, None))
    assert starts_once(marks, bodies) == [
        "the agent began 2 times for d_1",
        "the agent began for d_2, whose receipt was never accepted",
        "the agent began for d_3, which then was handed_back",
    ]


def test_a_completed_attempt_whose_agent_never_came_to_its_end_is_told() -> None:
    tries = (SimpleNamespace(number=1, verdict="completed"), SimpleNamespace(number=2, verdict="completed"))
    final: Any = SimpleNamespace(attempts={"t_1": tries})
    marks = [{"mark": "end", "task": "t_1", "attempt": 2, "word": "exit 0"}]
    assert verdicts_true(final, marks) == ["t_1/1 is completed, and its agent last said nothing"]


def test_an_unknown_outcome_of_which_nobody_was_asked_is_told() -> None:
    events: list[Any] = [
        ("lease_revoked", {"number": number}, SimpleNamespace(stream="t_1")) for number in (1, 2, 3)
    ]
    items: Any = tuple(
        SimpleNamespace(kind="unknown", subject=f"t_1/{number}", item_id=f"unknown:t_1/{number}", open=True)
        for number in (1, 2)
    )
    assert unknowns_listed(events, items, {"unknown:t_1/1": "unknown"}) == [
        "t_1/2 is unknown, its question is open and was not on the list that the person read",
        "t_1/3 ended as unknown, and nobody was asked",
    ]

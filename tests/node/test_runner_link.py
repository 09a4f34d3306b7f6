"""The daemon's side of a runner: the folder that tells the truth, starting, and the connection that tells it sooner."""

import asyncio
import gc
import json
import os
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.errors import OutcomeUnknownError, StorageFullError, UnavailableError
from tenure.node.run import folder as runner_folder
from tenure.node.run import link as runner_link
from tenure.node.run import messages as runner_messages
from tenure.node.run.folder import Found, forbid_start, probe, read_launch, write_launch
from tenure.node.run.link import RunnerControl, Spawned, connect, spawn, sweep, tree_gone
from tenure.node.run.messages import (
    AskStatus,
    Cancel,
    Kill,
    Launch,
    Limits,
    Outcome,
    Push,
    Renew,
    Reply,
    Stale,
    Started,
    Status,
    StepOutcome,
    Subscribe,
)
from tenure.node.runner.process_tree import MARKER_VARIABLE
from tenure.node.runner.record import VERSION, encode, new_outcome
from tenure.runtime.process import ChildCommand, ChildResult, run_child
from tests.eventually import eventually, eventually_async
from tests.process.runner_lab import (
    BOUND_S,
    CLOCK,
    NS,
    PLATFORM,
    Run,
    Runs,
    is_alive,
    next_push,
    runs_in,
    status_where,
)

BOOT = PLATFORM.boot_id


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    with runs_in(tmp_path) as made:
        yield made


@pytest.fixture
def run(runs: Runs) -> Run:
    return runs.new()


# -- starting


async def test_a_spawned_runner_can_be_spoken_to_at_once_and_is_nobodys_child(run: Run) -> None:
    run.prepare(run.shell("exec sleep 60"))
    descriptors = sorted(Path("/proc/self/fd").iterdir())
    assert (await spawn(run.folder, run_child)).spawned is Spawned.STARTED
    assert probe(run.folder, BOOT).found is Found.RUNNING
    async with await connect(run.folder) as control:
        assert (await control.status()).error is None
    assert sorted(Path("/proc/self/fd").iterdir()) == descriptors
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


async def test_a_second_spawn_is_told_that_it_lost(run: Run) -> None:
    run.prepare(run.shell("echo x >> $DIR/executed; exec sleep 60"))
    results = await asyncio.gather(*(spawn(run.folder, run_child) for _ in range(3)))
    assert sorted(result.spawned for result in results) == [Spawned.LOST, Spawned.LOST, Spawned.STARTED]
    await run.wait_note_async("executed")
    assert run.note("executed") == "x"


async def test_a_launch_of_another_version_is_refused(run: Run) -> None:
    run.prepare(run.shell("touch $DIR/executed"), version=2)
    assert (await spawn(run.folder, run_child)).spawned is Spawned.REFUSED
    assert probe(run.folder, BOOT).found is Found.NEVER_STARTED


async def test_a_spawn_that_did_not_get_far_says_nothing_about_the_folder(run: Run) -> None:
    run.prepare(run.shell("true"))

    async def no_more_processes(command: ChildCommand) -> ChildResult:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    async def too_slow(command: ChildCommand) -> ChildResult:
        return ChildResult(
            exit_code=None, stdout=b"", stderr=b"", stdout_seen=0, stderr_seen=0, timed_out=True, took_s=30.0
        )

    for broken in (no_more_processes, too_slow):
        assert (await spawn(run.folder, broken)).spawned is Spawned.FAILED
    assert probe(run.folder, BOOT).found is Found.NEVER_STARTED


async def test_a_start_that_is_canceled_comes_to_its_end_first(run: Run) -> None:
    """A daemon that stops in that moment must leave a runner behind that can be taken up, or none; not half of one."""
    run.prepare(run.shell("exec sleep 60"))
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def slow(command: ChildCommand) -> ChildResult:
        begun.set()
        await let_go.wait()
        return await run_child(command)

    starting = asyncio.ensure_future(spawn(run.folder, slow))
    await begun.wait()
    starting.cancel()
    await asyncio.sleep(0)
    let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert probe(run.folder, BOOT).found is Found.RUNNING


async def test_a_folder_that_cannot_be_used_says_why(run: Run) -> None:
    run.prepare(run.shell("true"))
    (run.folder / "outcome.tmp").mkdir()
    result = await spawn(run.folder, run_child)
    assert result.spawned is Spawned.UNUSABLE
    assert "outcome.tmp" in result.message


# -- the folder


def test_the_launch_is_durable_and_for_this_user_only(run: Run) -> None:
    launch = run.prepare(run.shell("true"))
    assert read_launch(run.folder) == launch
    assert stat.S_IMODE(run.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((run.folder / "launch.json").stat().st_mode) == 0o600


def test_a_launch_that_the_disk_does_not_take_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise StorageFullError("no room")

    monkeypatch.setattr(runner_folder, "write_atomically", full)
    with pytest.raises(StorageFullError):
        run.prepare(run.shell("true"))


def test_everything_in_the_folder_is_for_this_user_only(run: Run) -> None:
    run.start(run.shell("echo x; echo y >&3; exec sleep 60"))
    eventually(run.output)
    for path in run.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path.name


def test_each_state_of_a_folder_is_told(run: Run) -> None:
    assert probe(run.folder, BOOT).found is Found.NEVER_STARTED
    run.prepare(run.shell("exec sleep 60"))
    assert probe(run.folder, BOOT).found is Found.NEVER_STARTED
    run.start_runner()
    running = probe(run.folder, BOOT)
    assert running.found is Found.RUNNING
    assert running.started is not None
    run.kill_runner()
    unknown = probe(run.folder, BOOT)
    assert (unknown.found, unknown.other_boot, unknown.outcome) == (Found.UNKNOWN, False, None)
    after_reboot = probe(run.folder, "another-boot")
    assert (after_reboot.found, after_reboot.other_boot) == (Found.UNKNOWN, True)
    assert after_reboot.reason == "the machine was restarted"


def test_an_ended_run_is_told_with_its_outcome(run: Run) -> None:
    run.start(run.shell("exit 7"))
    run.outcome()
    state = probe(run.folder, BOOT)
    assert state.found is Found.ENDED
    assert state.outcome is not None
    assert state.started is not None
    assert state.started.runner_id == state.outcome.runner_id


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b"{}"])
def test_an_outcome_that_cannot_be_read_is_unknown(run: Run, damage: bytes) -> None:
    run.start(run.shell("exit 7"))
    run.outcome()
    eventually(lambda: run.runner_pid() is None)
    (run.folder / "outcome.json").write_bytes(damage)
    state = probe(run.folder, BOOT)
    assert state.found is Found.UNKNOWN
    assert "cannot be understood" in (state.reason or "")


def test_a_claim_that_is_empty_is_still_a_claim(run: Run) -> None:
    """A file system that lost the content of a synced file must not turn `unknown` into `never started`."""
    run.prepare(run.shell("true"))
    (run.folder / "started_by").touch()
    assert probe(run.folder, BOOT).found is Found.UNKNOWN
    assert not forbid_start(run.folder, run.prepare(run.shell("true")), "i_x", CLOCK)


def test_probing_all_the_time_never_costs_a_start(runs: Runs) -> None:
    made = [runs.new() for _ in range(8)]
    for run in made:
        run.prepare(run.shell("true"))
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            for run in made:
                probe(run.folder, BOOT)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        assert [run.start_runner() for run in made] == [0] * len(made)
        for run in made:
            run.outcome()
    finally:
        stop.set()
        for looker in lookers:
            looker.join(BOUND_S)


def test_a_forbidden_start_is_proof_that_nothing_runs(run: Run) -> None:
    launch = run.prepare(run.shell("touch $DIR/executed"))
    assert forbid_start(run.folder, launch, "i_daemon", CLOCK)
    assert run.start_runner() == 3
    state = probe(run.folder, BOOT)
    assert state.found is Found.ENDED
    assert state.outcome is not None
    assert (state.outcome.never_started, state.outcome.tree_gone) == ("forbidden", True)
    assert forbid_start(run.folder, launch, "i_daemon", CLOCK)
    assert not (run.files / "executed").exists()


def test_a_start_cannot_be_forbidden_once_it_has_happened(run: Run) -> None:
    launch = run.start(run.shell("exec sleep 60"))
    assert not forbid_start(run.folder, launch, "i_daemon", CLOCK)
    run.kill_runner()
    assert not forbid_start(run.folder, launch, "i_daemon", CLOCK)
    assert probe(run.folder, BOOT).found is Found.UNKNOWN


def test_forbidding_and_starting_at_once_never_both_succeed(runs: Runs) -> None:
    for _ in range(6):
        run = runs.new()
        launch = run.prepare(run.shell("touch $DIR/executed"))
        codes: list[int] = []
        starter = threading.Thread(target=lambda run=run, codes=codes: codes.append(run.start_runner()))
        starter.start()
        forbidden = forbid_start(run.folder, launch, "i_daemon", CLOCK)
        starter.join(BOUND_S)
        assert (codes == [0]) == (not forbidden)
        outcome = run.outcome()
        assert (outcome.never_started == "forbidden") == forbidden
        assert (run.files / "executed").exists() == (not forbidden)


async def test_sweep_and_look_run_in_an_executor(run: Run) -> None:
    run.start(
        run.shell("setsid sh -c 'echo $$ > $DIR/tool; sleep 60; true' & echo $$ > $DIR/pid; exec sleep 60")
    )
    tool = int(await run.wait_note_async("tool"))
    run.kill_runner()
    assert not await tree_gone(run.folder, BOOT, CLOCK)
    result = await sweep(run.folder, BOOT, CLOCK)
    assert result.killed >= 1
    assert not is_alive(tool)


# -- the connection


async def test_a_subscriber_is_told_what_happens_and_never_asks(run: Run) -> None:
    run.start(
        run.shell('while [ ! -e $DIR/go ]; do sleep 0.02; done; echo \'{"type":"progress"}\' >&3'),
        run.shell("true", name="check", kind="check"),
        sample_s=60,
    )
    async with await connect(run.folder) as control:
        (run.files / "go").touch()
        async with asyncio.timeout(BOUND_S):
            told = [push.push async for push in control.pushes()]
        assert [what for what in told if what != "status"][-1] == "ended"
        assert {"step", "lines", "ended"} <= set(told)
    # The iterator ended by itself, since the runner did.
    assert probe(run.folder, BOOT).found is Found.ENDED


async def test_the_status_tells_progress(run: Run) -> None:
    run.start(
        run.shell("echo 12345; sleep 60 & while [ ! -e $DIR/go ]; do :; done; exec sleep 60"), sample_s=0.1
    )
    async with await connect(run.folder) as control:
        busy = await status_where(
            control, lambda now: now.cpu_ms >= 100 and now.processes >= 2 and now.output_bytes == 6
        )
        assert busy.quiet_s < 5
        assert (busy.state, busy.step) == ("running", "turn")
        assert busy.pid is not None
        assert is_alive(busy.pid)
        (run.files / "go").touch()
        await status_where(control, lambda now: now.quiet_s > 0.5)


async def test_a_path_that_is_longer_than_an_address_is_no_hindrance(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    with runs_in(deep) as runs:
        run = runs.new()
        run.start(run.shell("exec sleep 60"))
        async with await connect(run.folder) as control:
            assert (await control.status()).error is None


async def test_where_nobody_listens_nothing_is_connected(run: Run) -> None:
    with pytest.raises(UnavailableError):
        await connect(run.folder)
    run.start(run.shell("true"))
    await run.outcome_async()
    await eventually_async(lambda: run.runner_pid() is None)
    with pytest.raises(UnavailableError):
        await connect(run.folder)


async def end_by_force(run: Run, control: RunnerControl) -> None:
    """Kill the runner, and wait until its connection has ended."""
    pid = run.runner_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(BOUND_S):
        assert [push.push async for push in control.pushes() if push.push == "ended"] == []


async def test_the_death_of_the_runner_ends_the_connection(run: Run) -> None:
    run.start(run.shell("exec sleep 60"))
    async with await connect(run.folder) as control:
        await end_by_force(run, control)
        with pytest.raises(OutcomeUnknownError):
            await control.cancel(1)
    # Its connections close a moment before its lock is free.
    await eventually_async(lambda: probe(run.folder, BOOT).found is Found.UNKNOWN, BOUND_S)


async def test_a_request_after_the_end_leaves_no_error_that_nobody_takes_up(run: Run) -> None:
    left: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, said: left.append(said["message"]))
    run.start(run.shell("exec sleep 60"))
    async with await connect(run.folder) as control:
        await end_by_force(run, control)
        for _ in range(3):
            with pytest.raises(OutcomeUnknownError):
                await control.status()
    gc.collect()
    assert left == []


async def test_a_runner_that_does_not_answer_leaves_the_outcome_unknown(run: Run) -> None:
    run.start(run.shell("exec sleep 60"))
    async with await connect(run.folder, timeout_s=0.3) as control:
        pid = run.runner_pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(OutcomeUnknownError):
            await control.status()
        os.kill(pid, signal.SIGCONT)
        assert (await control.status()).error is None


async def test_requests_that_overlap_get_their_own_replies(run: Run) -> None:
    run.start(run.shell("exec sleep 60"))
    async with await connect(run.folder) as control:
        deadline = CLOCK.boot_ns() + 60 * NS
        renewals = [control.renew(7, counter, deadline + counter) for counter in range(1, 30)]
        replies = await asyncio.gather(*renewals)
    assert [reply.status.counter for reply in replies] == list(range(1, 30))
    assert len({reply.re for reply in replies}) == 29


async def test_a_slow_reader_of_pushes_gets_the_newest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_link, "PUSHES", 3)
    run.start(run.shell("while [ ! -e $DIR/go ]; do sleep 0.02; done"), sample_s=0.01)
    async with await connect(run.folder) as control:
        seen = (await control.status()).status.paused_s
        for _ in range(20):
            seen += (await control.status()).status.paused_s
        (run.files / "go").touch()
        await run.outcome_async()
        await eventually_async(lambda: run.runner_pid() is None)
        kept = [push.push async for push in control.pushes()]
    assert len(kept) <= 3
    assert kept[-1] == "ended"


async def raw(run: Run, *sent: bytes) -> list[dict[str, object]]:
    """What a connection that sends these bytes is answered; it ends its side after them."""
    reader, writer = await asyncio.open_unix_connection(str(run.folder / "control"))
    try:
        for data in sent:
            writer.write(data)
        await writer.drain()
        writer.write_eof()
        async with asyncio.timeout(BOUND_S):
            return [json.loads(line) async for line in reader]
    except ConnectionResetError:
        return []
    finally:
        writer.close()


@pytest.mark.parametrize(
    "line",
    [
        "", "x", "[]", "{}", "null", '{"op":"kill"}', '{"op":"cancel","id":1}', '{"op":"cancel","id":1,"grace_s":-1}',
        '{"op":"cancel","id":1,"grace_s":NaN}', '{"op":"cancel","id":1,"grace_s":"x"}', '{"op":"renew","id":1,"fence":7}',
        '{"op":"renew","id":1,"fence":7,"counter":1,"deadline_boottime_ns":1e30}',
        '{"op":"renew","id":1,"fence":7,"counter":true,"deadline_boottime_ns":1}',
        '{"op":"stale","id":1}', '{"op":["kill"],"id":1}', '{"op":"kill","id":"x"}', "[" * 5000,
    ],
)  # fmt: skip
async def test_a_request_that_makes_no_sense_changes_nothing(run: Run, line: str) -> None:
    run.start(run.shell("exec sleep 60"))
    [answer] = await raw(run, line.encode() + b"\n")
    assert answer["error"] == "bad_request"
    [after] = await raw(run, b'{"op":"status","id":2}\n')
    status = msgspec.convert(after["status"], Status)
    assert (status.state, status.counter) == ("running", 0)


async def test_an_unknown_request_is_answered_as_such(run: Run) -> None:
    run.start(run.shell("exec sleep 60"))
    [answer] = await raw(run, b'{"op":"dance","id":9}\n')
    assert (answer["re"], answer["error"]) == (9, "unknown_op")


async def test_a_request_in_pieces_is_put_together(run: Run) -> None:
    run.start(run.shell("exec sleep 60"))
    reader, writer = await asyncio.open_unix_connection(str(run.folder / "control"))
    for byte in b'{"op":"status","id":3}\n':
        writer.write(bytes([byte]))
        await writer.drain()
    assert json.loads(await reader.readline())["re"] == 3
    writer.close()


async def test_a_request_without_end_is_cut_off(run: Run) -> None:
    run.start(run.shell("exec sleep 60"))
    assert await raw(run, b"x" * 200_000) == []
    assert probe(run.folder, BOOT).found is Found.RUNNING


async def test_connections_are_bounded_and_become_free_again(run: Run) -> None:
    run.start(run.shell("exec sleep 60"))
    controls = [await connect(run.folder) for _ in range(8)]
    with pytest.raises(UnavailableError):
        await connect(run.folder, timeout_s=5)
    for control in controls:
        await control.close()

    async def connects() -> bool:
        try:
            await (await connect(run.folder)).close()
        except UnavailableError:
            return False
        return True

    async with asyncio.timeout(BOUND_S):
        while not await connects():
            pass


async def test_a_connection_may_be_closed_twice(run: Run) -> None:
    run.start(run.shell("exec sleep 60"))
    control = await connect(run.folder)
    await control.close()
    await control.close()
    with pytest.raises(OutcomeUnknownError):
        await control.status()


# -- the contract between the two sides, which share no code


def test_both_sides_agree_on_version_and_marker() -> None:
    assert runner_messages.VERSION == VERSION
    assert runner_messages.MARKER_VARIABLE == MARKER_VARIABLE


async def test_all_that_a_runner_writes_is_what_the_daemon_reads(run: Run) -> None:
    """Strictly: a field more, a field less or another type on either side fails here."""
    run.start(run.shell('echo \'{"type":"result"}\' >&3; while [ ! -e $DIR/go ]; do sleep 0.02; done'))
    reader, writer = await asyncio.open_unix_connection(str(run.folder / "control"))
    requests = [
        Subscribe(id=1),
        AskStatus(id=2),
        Renew(id=3, fence=7, counter=1, deadline_boottime_ns=CLOCK.boot_ns() + 60 * NS),
        Stale(id=4, fence=1),
        Cancel(id=5, grace_s=60),
        Kill(id=6),
    ]
    for request in requests:
        writer.write(msgspec.json.encode(request) + b"\n")
    messages = [
        msgspec.json.decode(line, type=Reply | Push, strict=True)
        for line in (await reader.read()).splitlines()
    ]
    writer.close()
    replies = [message for message in messages if isinstance(message, Reply)]
    assert [(reply.re, reply.error) for reply in replies] == [
        (1, None), (2, None), (3, None), (4, "wrong_fence"), (5, None), (6, None),
    ]  # fmt: skip
    assert "ended" in [message.push for message in messages if isinstance(message, Push)]
    for name, kind in (("started_by", Started), ("outcome.json", Outcome)):
        data = (run.folder / name).read_bytes()
        assert_complete(json.loads(data), kind)
        msgspec.json.decode(data, type=kind, strict=True)
    outcome = json.loads((run.folder / "outcome.json").read_bytes())
    assert_complete(outcome["steps"][0], StepOutcome)
    assert_complete(msgspec.to_builtins(replies[0].status), Status)


def assert_complete(written: dict[str, object], kind: type[msgspec.Struct]) -> None:
    assert set(written) == {field.encode_name for field in msgspec.structs.fields(kind)}


def test_an_outcome_of_which_nothing_is_known_has_only_known_fields(run: Run) -> None:
    launch = run.prepare(run.shell("true"), run.shell("true", kind="check"))
    outcome = new_outcome(json.loads(msgspec.json.encode(launch)))
    known = {field.name for field in msgspec.structs.fields(Outcome)}
    assert set(outcome) < known
    assert len(outcome["steps"]) == 2
    assert_complete(outcome["steps"][1], StepOutcome)


def test_a_launch_has_every_field_that_the_runner_reads(run: Run) -> None:
    data = json.loads(msgspec.json.encode(run.prepare(run.shell("true"))))
    assert set(data) == {field.name for field in msgspec.structs.fields(Launch)}
    assert set(data["limits"]) == {field.name for field in msgspec.structs.fields(Limits)}


@pytest.mark.parametrize(
    "text", ["", "plain", 'quote " and \\', "ünïcödé \u2028 \U0001f600", "\0\x1f\n\t", "lone \ud800"]
)
def test_the_runners_own_json_is_json(text: str) -> None:
    value = {"text": text, text: [None, True, False, 0, -1, 1.5, {"deep": []}]}
    assert json.loads(encode(value)) == json.loads(json.dumps(value).replace("\\ud800", "?"))


def test_a_launch_survives_what_a_task_may_put_into_it(run: Run) -> None:
    odd = "ünï\u2028\U0001f600\n\"'\\ $(x)"
    run.start(
        run.step(
            ("/bin/sh", "-c", 'printf %s "$1" > "$DIR/argument"; printf %s "$ODD" > "$DIR/odd"', odd, odd),
            env={"ODD": odd},
        )
    )
    run.outcome()
    assert (run.files / "argument").read_text() == odd
    assert (run.files / "odd").read_text() == odd


async def test_a_push_of_each_kind_can_be_waited_for(run: Run) -> None:
    run.start(run.shell("echo x >&3; exec sleep 60"))
    async with await connect(run.folder) as control:
        await control.renew(7, 1, CLOCK.boot_ns())
        await next_push(control, "paused")
        await control.renew(7, 2, CLOCK.boot_ns() + 60 * NS)
        await next_push(control, "resumed")
        await next_push(control, "status")
        await control.kill()
        await next_push(control, "ended")


def test_a_launch_is_written_again_only_as_a_whole(run: Run) -> None:
    first = run.prepare(run.shell("true"))
    write_launch(run.folder, first)
    assert sorted(path.name for path in run.folder.iterdir()) == ["launch.json"]

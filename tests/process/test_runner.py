"""A run from start to end: steps, exit, outcome, and the one start that a folder allows."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from tenure.node.run.folder import Found, read_launch
from tenure.node.run.link import runner_command
from tenure.node.runner import main as runner
from tests.eventually import eventually
from tests.process.runner_lab import BOUND_S, ENV, PLATFORM, Run, Runs, gone


def test_the_outcome_says_how_the_program_ended(held_run: Run) -> None:
    held_run.start(held_run.shell("echo out; echo err >&2; exit 3"))
    outcome = held_run.outcome()
    [step] = outcome.steps
    assert (step.ran, step.exit_code, step.signal, step.start_error) == (True, 3, None, None)
    assert (step.stdout_bytes, step.stderr_bytes) == (4, 4)
    assert (held_run.output(), held_run.output(stream="stderr")) == (b"out\n", b"err\n")
    assert (outcome.never_started, outcome.unknown, outcome.ended_by) == (None, None, None)
    assert (outcome.tree_gone, outcome.leftovers, outcome.survivors) == (True, 0, 0)
    assert outcome.held_by == held_run.held_by
    assert re.fullmatch(r"i_[0-9a-hjkmnp-tv-z]{26}", outcome.runner_id)
    assert outcome.boot_id == PLATFORM.boot_id
    assert step.started_boottime_ns is not None
    assert step.ended_boottime_ns is not None
    assert step.started_boottime_ns < step.ended_boottime_ns <= outcome.ended_boottime_ns


def test_a_death_by_signal_is_told_as_a_signal(run: Run) -> None:
    run.start(run.shell("kill -SEGV $$"))
    [step] = run.outcome().steps
    assert (step.exit_code, step.signal) == (None, signal.SIGSEGV)


def test_checks_run_after_a_harness_that_exited_with_zero(run: Run) -> None:
    run.start(
        run.shell("echo work > $DIR/work"),
        run.shell("cat $DIR/work", name="reads", kind="check"),
        run.shell("exit 9", name="fails", kind="check"),
        run.shell("true", name="never", kind="check"),
    )
    outcome = run.outcome()
    assert [(step.name, step.ran, step.exit_code) for step in outcome.steps] == [
        ("turn", True, 0),
        ("reads", True, 0),
        ("fails", True, 9),
        ("never", False, None),
    ]
    assert run.output(1) == b"work\n"


def test_a_check_does_not_run_after_a_harness_that_failed(run: Run) -> None:
    run.start(run.shell("exit 1"), run.shell("touch $DIR/checked", kind="check"))
    assert [step.ran for step in run.outcome().steps] == [True, False]
    assert not (run.files / "checked").exists()


def test_a_program_that_is_missing_is_told_by_the_errno(run: Run) -> None:
    run.start(run.step(("no-such-program-anywhere",)))
    outcome = run.outcome()
    assert outcome.never_started == "exec failed"
    assert outcome.steps[0].start_error == "ENOENT"
    assert outcome.steps[0].exit_code is None
    assert "no-such-program-anywhere" in (outcome.steps[0].start_error_text or "")


def test_a_program_that_may_not_be_executed_is_told_by_the_errno(run: Run) -> None:
    (run.files / "program").write_text("text")
    run.start(run.step((str(run.files / "program"),)))
    assert run.outcome().steps[0].start_error == "EACCES"


def test_a_missing_working_directory_is_told_by_the_errno(run: Run) -> None:
    run.start(run.shell("true", cwd="/no/such/folder"))
    assert run.outcome().steps[0].start_error == "ENOENT"


def test_a_check_that_is_missing_does_not_unstart_the_harness(run: Run) -> None:
    run.start(run.shell("true"), run.step(("no-such-program-anywhere",), kind="check"))
    outcome = run.outcome()
    assert outcome.never_started is None
    assert [step.start_error for step in outcome.steps] == [None, "ENOENT"]


def test_the_program_gets_its_environment_folder_and_input_and_nothing_else(run: Run) -> None:
    (run.files / "prompt").write_text("the prompt")
    launch = run.start(
        run.shell(
            "env > $DIR/env; cat > $DIR/stdin; pwd > $DIR/pwd; ls /proc/self/fd > $DIR/fds; umask > $DIR/umask",
            stdin_path=str(run.files / "prompt"),
            env={"GIVEN": "a value"},
        )
    )
    run.outcome()
    seen = dict(line.split("=", 1) for line in run.note("env").splitlines())
    assert {
        "GIVEN",
        "DIR",
        "PATH",
        "TENURE_ATTEMPT_MARKER",
        "TENURE_PROTOCOL_FD",
        "TENURE_PROTOCOL_FILE",
    } <= set(seen)
    assert set(seen) - set(launch.steps[0].env) <= {
        "TENURE_ATTEMPT_MARKER", "TENURE_PROTOCOL_FD", "TENURE_PROTOCOL_FILE", "PWD", "OLDPWD", "_", "SHLVL",
    }  # fmt: skip
    assert seen["TENURE_ATTEMPT_MARKER"] == launch.marker
    assert run.note("stdin") == "the prompt"
    assert run.note("pwd") == str(run.files)
    # The last one is that of the folder that `ls` reads.
    assert run.note("fds").split() == ["0", "1", "2", "3", "4"]
    mask = os.umask(0o022)
    os.umask(mask)
    assert int(run.note("umask"), 8) == mask


def test_the_program_ignores_and_blocks_no_signal_because_of_the_runner(run: Run) -> None:
    run.start(run.shell("grep -E '^Sig(Ign|Blk)' /proc/self/status"))
    run.outcome()
    # Signals 32 and 33 are glibc's own; posix_spawn ignores them in what it starts, so under make they are inherited.
    ours = ~(0b11 << 31)
    masks = [int(line.split()[1], 16) & ours for line in run.output().decode().splitlines()]
    assert masks == [0, 0]


def test_the_runner_is_nobodys_child_and_has_a_session_of_its_own(run: Run) -> None:
    run.start(run.shell("echo $PPID > $DIR/runner; exec sleep 60"))
    pid = int(run.wait_note("runner"))
    assert pid == run.runner_pid()
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/cwd").resolve() == run.folder
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert int(fields[1]) != os.getpid()


def test_of_two_runners_on_one_folder_exactly_one_executes(runs: Runs) -> None:
    for _ in range(5):
        run = runs.new()
        run.prepare(run.shell("echo $$ >> $DIR/executed; sleep 0.2"))
        with ThreadPoolExecutor(4) as pool:
            codes = sorted(pool.map(lambda _, run=run: run.start_runner(), range(4)))
        assert codes == [0] + [runner.EXIT_LOST] * 3
        run.outcome()
        assert len(run.note("executed").split()) == 1


def test_a_folder_that_has_run_never_runs_again(run: Run) -> None:
    run.start(run.shell("echo once >> $DIR/executed"))
    first = run.outcome()
    eventually(lambda: run.runner_pid() is None)
    before = sorted(path.name for path in run.folder.iterdir())
    assert run.start_runner() == runner.EXIT_LOST
    assert run.note("executed") == "once"
    assert run.outcome() == first
    assert sorted(path.name for path in run.folder.iterdir()) == before


def test_a_folder_whose_start_was_claimed_is_not_touched(run: Run) -> None:
    run.prepare(run.shell("touch $DIR/executed"))
    (run.folder / "started_by").write_text("{}")
    assert run.start_runner() == runner.EXIT_LOST
    assert not (run.files / "executed").exists()
    assert not (run.folder / "outcome.tmp").exists()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version":2}', "null"])
def test_a_launch_that_is_not_understood_starts_nothing(run: Run, damage: str) -> None:
    run.prepare(run.shell("touch $DIR/executed"))
    (run.folder / "launch.json").write_text(damage)
    assert run.start_runner() == runner.EXIT_BAD_LAUNCH
    assert run.state().found is Found.NEVER_STARTED


def test_a_marker_that_would_leave_the_cgroup_folder_is_refused(run: Run) -> None:
    run.prepare(run.shell("true"), marker="../elsewhere")
    assert run.start_runner() == runner.EXIT_BAD_LAUNCH


def test_nothing_starts_when_the_deadline_is_past(run: Run) -> None:
    run.start(run.shell("touch $DIR/executed"), lease_s=-1)
    outcome = run.outcome()
    assert outcome.never_started == "deadline"
    assert not outcome.steps[0].ran
    assert not (run.files / "executed").exists()


def test_nothing_starts_on_another_boots_deadline(run: Run) -> None:
    run.start(run.shell("touch $DIR/executed"), boot_id="another")
    assert run.outcome().never_started == "other boot"
    assert not (run.files / "executed").exists()


def test_a_waiting_runner_takes_its_folder_from_standard_input(run: Run) -> None:
    run.prepare(run.shell("echo done > $DIR/executed"))
    waiting = subprocess.run(
        runner_command("--wait"), input=os.fsencode(run.folder) + b"\n", timeout=BOUND_S, env=ENV
    )
    assert waiting.returncode == 0
    run.outcome()
    assert run.note("executed") == "done"


def test_a_waiting_runner_that_gets_no_folder_just_ends(run: Run) -> None:
    assert subprocess.run(runner_command("--wait"), input=b"", timeout=BOUND_S, env=ENV).returncode == 0


def test_a_runner_with_closed_standard_streams_still_holds_its_lock(run: Run) -> None:
    run.prepare(run.shell("exec sleep 60"))
    closed = "exec 0<&- 1>&- 2>&-; exec " + " ".join(runner_command(str(run.folder)))
    assert subprocess.run(["/bin/sh", "-c", closed], timeout=BOUND_S, env=ENV).returncode == 0
    assert run.state().found is Found.RUNNING


def test_the_runner_imports_the_standard_library_and_its_own_parts_only(run: Run) -> None:
    run.prepare(run.shell("true"))
    python, *flags, program, folder = runner_command(str(run.folder))
    seen = subprocess.run(
        [python, "-v", *flags, program, folder], capture_output=True, text=True, timeout=BOUND_S, env=ENV
    )
    imported = set(re.findall(r"^import '([\w.]+)'", seen.stderr, re.MULTILINE))
    ours = {name for name in imported if name.startswith("tenure")}
    assert "tenure.node.runner.loop" in ours
    assert ours <= {"tenure", "tenure.node", "tenure.node.runner"} | {
        f"tenure.node.runner.{name}"
        for name in ("process_tree", "child", "control", "ladder", "loop", "record", "request", "spool")
    }
    dear = {
        "json",
        "socket",
        "selectors",
        "signal",
        "ctypes",
        "subprocess",
        "typing",
        "enum",
        "re",
        "collections",
        "site",
    }
    assert not dear & imported
    run.outcome()


def test_the_program_dies_with_its_runner(run: Run) -> None:
    run.start(run.shell("echo $$ > $DIR/pid; exec sleep 60"))
    pid = int(run.wait_note("pid"))
    run.kill_runner()
    eventually(lambda: gone(pid), BOUND_S, "the kernel has killed the program")
    state = run.state()
    assert (state.found, state.reason) == (Found.UNKNOWN, "the runner is gone and recorded no outcome")


def test_the_launch_on_disk_is_what_was_given(run: Run) -> None:
    launch = run.prepare(run.shell("true"))
    assert read_launch(run.folder) == launch
    assert msgspec.json.decode((run.folder / "launch.json").read_bytes())["version"] == 1


def test_signals_that_whoever_started_it_blocked_or_ignored_reach_the_runner(run: Run) -> None:
    run.prepare(run.shell("trap 'exit 45' INT; echo $$ > $DIR/pid; while :; do sleep 0.02; done"))
    code = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
os.execv(sys.argv[1], sys.argv[1:])
"""
    command = [sys.executable, "-c", code, *runner_command(str(run.folder))]
    assert subprocess.run(command, timeout=BOUND_S, env=ENV).returncode == 0
    run.wait_note("pid")
    runner_pid = run.runner_pid()
    assert runner_pid is not None
    os.kill(runner_pid, signal.SIGTERM)
    outcome = run.outcome()
    assert (outcome.runner_signal, outcome.unknown, outcome.steps[0].exit_code) == (signal.SIGTERM, None, 45)


BROKEN = """
import os, sys
from tenure.node.runner import main

real_link, real_rename = os.link, os.rename

def link(old, new):
    real_link(old, new)
    raise OSError(5, "Input/output error")

def rename(old, new):
    raise OSError(5, "Input/output error")

os.link = link
if sys.argv[2] == "worse":
    os.rename, main.UNSTARTED_BOUND_S = rename, 0.1
os._exit(main.main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("how", "code"), [("bad", 5), ("worse", 6)])
def test_a_runner_that_fails_after_it_took_the_folder_says_that_nothing_was_started(
    run: Run, how: str, code: int
) -> None:
    run.prepare(run.shell("touch $DIR/ran"))
    done = subprocess.run([sys.executable, "-c", BROKEN, str(run.folder), how], timeout=60, check=False)
    assert done.returncode == code
    assert not (run.files / "ran").exists()
    state = run.state()
    if how == "bad":
        assert state.outcome is not None
        assert (state.outcome.never_started or "").startswith("could not begin")
        assert state.outcome.tree_gone
    else:
        # The folder alone cannot say it; the exit code does.
        assert state.found is Found.UNKNOWN

"""The command harness: any program, started as its recipient's settings say."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import AttemptSpec, Verdict
from tenure.core.failure import FailureClass, StepEnded
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.turn import Word
from tenure.errors import ConfigurationError
from tenure.harness.command import MAX_PROMPT_ARGUMENT_BYTES, CommandHarness
from tenure.harness.message import Result
from tenure.harness.port import Harness, Input, Launch, LaunchRequest
from tenure.harness.protocol import protocol_lines
from tenure.harness.registry import harness_for, recipient_spec
from tenure.runtime.data_folder import write_atomically
from tenure.runtime.settings import RecipientSettings

OBJECTIVE = "Fix the parser.\nKeep {braces} and $dollars as they are."
REQUEST = LaunchRequest(
    task_id=TaskId("t_01"),
    attempt_no=3,
    delivery_id=DeliveryId("d_01"),
    fence=7,
    spec=AttemptSpec(objective=OBJECTIVE, policy="default/1"),
    run_dir="/node/runs/d_01",
    worktree="/node/worktrees/t_01-3",
    environment={"PATH": "/usr/bin:/bin", "GITHUB_TOKEN": "hush", "ANTHROPIC_API_KEY": "model"},
    capability={"TENURE_EFFECT_TOKEN": "cap"},
)


def recipient(**settings: Any) -> RecipientSettings:
    return RecipientSettings(name="agent", **settings)


def launch(request: LaunchRequest = REQUEST, **settings: Any) -> Launch:
    return CommandHarness(recipient(**settings)).launch(request)


def with_spec(**changes: Any) -> LaunchRequest:
    return replace(REQUEST, spec=replace(REQUEST.spec, **changes))


def test_a_programs_arguments_have_their_placeholders_filled() -> None:
    argv = (
        "agent",
        "--file={prompt_file}",
        "{worktree}",
        "{task}/{attempt}",
        "{run_dir}",
        "{print}",
        "{}",
        "[{model}]",
    )
    assert launch(argv=argv, model="m-1").argv == (
        "agent",
        "--file=/node/runs/d_01/prompt.md",
        "/node/worktrees/t_01-3",
        "t_01/3",
        "/node/runs/d_01",
        "{print}",
        "{}",
        "[m-1]",
    )


def test_a_prompt_in_an_argument_is_not_searched_for_placeholders_again() -> None:
    assert launch(with_spec(objective="{task}"), argv=("agent", "{prompt}")).argv == ("agent", "{task}\n")


def test_a_script_is_run_by_the_shell_and_nothing_is_replaced_in_it() -> None:
    assert launch(script="echo {task} $TENURE_TASK").argv == (
        "/bin/sh",
        "-c",
        "echo {task} $TENURE_TASK",
        "sh",
    )


def test_the_prompt_is_always_a_file_and_stands_where_the_recipient_wants_it_as_well() -> None:
    text = OBJECTIVE + "\n"
    for prompt, stdin, last in (
        ("stdin", "/node/runs/d_01/prompt.md", "agent"),
        ("file", None, "agent"),
        ("argument", None, text),
    ):
        made = launch(argv=("agent",), prompt=prompt)
        (file,) = made.files
        assert (file.path, file.content, file.mode) == ("/node/runs/d_01/prompt.md", text.encode(), 0o600)
        assert made.env["TENURE_PROMPT_FILE"] == file.path
        assert (made.stdin_path, made.argv[-1]) == (stdin, last)
    assert launch(script='echo "$1"', prompt="argument").argv == ("/bin/sh", "-c", 'echo "$1"', "sh", text)


def test_context_is_listed_in_the_prompt_with_its_files() -> None:
    request = replace(
        REQUEST, inputs=(Input(uri="https://example.org/spec", path="/node/runs/d_01/inputs/0"),)
    )
    assert launch(request, argv=("agent",)).files[0].content.decode() == (
        OBJECTIVE + "\n\nContext, each as a file:\n- https://example.org/spec: /node/runs/d_01/inputs/0\n"
    )


def test_the_environment_is_stripped_then_the_recipients_own_then_the_attempts() -> None:
    env = launch(argv=("agent",), model="m-1", env={"HOME": "{run_dir}/home", "PATH": "/opt"}).env
    assert env["HOME"] == "/node/runs/d_01/home"
    assert env["PATH"] == "/opt"
    assert env["ANTHROPIC_API_KEY"] == "model"
    assert "GITHUB_TOKEN" not in env
    assert {name: value for name, value in env.items() if name.startswith("TENURE_")} == {
        "TENURE_TASK": "t_01",
        "TENURE_ATTEMPT": "3",
        "TENURE_DELIVERY": "d_01",
        "TENURE_FENCE": "7",
        "TENURE_WORKTREE": "/node/worktrees/t_01-3",
        "TENURE_PROMPT_FILE": "/node/runs/d_01/prompt.md",
        "TENURE_RUN_DIR": "/node/runs/d_01",
        "TENURE_MODEL": "m-1",
        "TENURE_EFFECT_TOKEN": "cap",
    }


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        (".", "/node/worktrees/t_01-3"),
        ("packages/api", "/node/worktrees/t_01-3/packages/api"),
        ("a/../b", "/node/worktrees/t_01-3/b"),
        ("{run_dir}", "/node/runs/d_01"),
        ("{run_dir}/home", "/node/runs/d_01/home"),
    ],
)
def test_the_program_starts_in_the_worktree_or_the_run_folder(cwd: str, expected: str) -> None:
    assert launch(argv=("agent",), cwd=cwd).cwd == expected


@pytest.mark.parametrize("cwd", ["..", "a/../../b", "/etc", "{run_dir}/../d_02"])
def test_a_working_folder_outside_both_is_refused(cwd: str) -> None:
    with pytest.raises(ConfigurationError, match="leads out of the worktree"):
        launch(argv=("agent",), cwd=cwd)


def test_a_task_without_a_repository_runs_in_its_run_folder() -> None:
    made = launch(replace(REQUEST, worktree=None), argv=("agent", "{worktree}"), cwd="packages/api")
    assert (made.cwd, made.argv[1]) == ("/node/runs/d_01", "/node/runs/d_01")
    assert "TENURE_WORKTREE" not in made.env


def test_a_tasks_own_command_is_taken_as_it_is_where_the_recipient_allows_it() -> None:
    request = with_spec(command=("make", "{task}"))
    assert launch(request, allow_command=True, argv=("agent",), prompt="argument").argv == ("make", "{task}")
    with pytest.raises(ConfigurationError, match="allow_command = true"):
        launch(request, argv=("agent",))


def test_no_command_at_all_is_refused_before_the_start() -> None:
    with pytest.raises(ConfigurationError, match="the task brings none"):
        launch(allow_command=True)


def test_words_that_the_system_cannot_execute_are_refused_before_the_start() -> None:
    with pytest.raises(ConfigurationError, match="give the prompt on standard input"):
        launch(with_spec(objective="x" * 200_000), argv=("agent",), prompt="argument")
    with pytest.raises(ConfigurationError, match="NUL"):
        launch(with_spec(objective="a\x00b"), argv=("agent",), prompt="argument")
    assert launch(with_spec(objective="x" * 200_000), argv=("agent",)).argv == ("agent",)


def test_the_longest_argument_that_is_let_through_can_be_executed() -> None:
    request = with_spec(objective="x" * (MAX_PROMPT_ARGUMENT_BYTES - 1))
    made = launch(request, argv=("true",), prompt="argument")
    assert len(made.argv[-1]) == MAX_PROMPT_ARGUMENT_BYTES
    assert subprocess.run(made.argv, timeout=60).returncode == 0
    with pytest.raises(ConfigurationError, match=f"longer than {MAX_PROMPT_ARGUMENT_BYTES} bytes"):
        launch(with_spec(objective="x" * MAX_PROMPT_ARGUMENT_BYTES), argv=("true",), prompt="argument")


def test_the_tasks_model_goes_before_the_recipients() -> None:
    made = launch(with_spec(model="m-2"), argv=("agent", "{model}"), model="m-1")
    assert (made.argv[1], made.env["TENURE_MODEL"]) == ("m-2", "m-2")
    assert launch(argv=("agent", "[{model}]")).argv[1] == "[]"


def test_exit_0_without_a_result_follows_the_recipients_setting() -> None:
    ended = StepEnded(exit_code=0)
    assert CommandHarness(recipient()).judge(ended, ()).verdict is Verdict.COMPLETED
    strict = CommandHarness(recipient(exit_zero_is_completed=False))
    assert strict.judge(ended, ()).verdict is Verdict.UNKNOWN
    assert strict.judge(ended, [Result(verdict=Word.COMPLETED)]).verdict is Verdict.COMPLETED


def test_a_shells_report_of_a_signal_is_believed_only_where_the_shell_is_sure_to_have_run() -> None:
    ended = StepEnded(exit_code=137)
    assert CommandHarness(recipient(script="x")).judge(ended, ()).failure_class is FailureClass.EXECUTOR_LOST
    for other in (recipient(argv=("x",)), recipient(script="x", allow_command=True)):
        assert CommandHarness(other).judge(ended, ()).failure_class is FailureClass.CONTRADICTION


def test_the_registry_makes_adapters_by_name_and_names_the_nearest() -> None:
    harness: Harness = harness_for(recipient(argv=("x",)))
    assert isinstance(harness, CommandHarness)
    with pytest.raises(ConfigurationError, match="did you mean 'command'"):
        harness_for(recipient(harness="comand"))


def test_a_recipient_is_declared_without_the_values_of_its_environment() -> None:
    one = recipient(argv=("x",), env={"KEY": "hush"}, pools=("p",), capacity=2, model="m")
    declared = recipient_spec(one, "of this node")
    assert (declared.name, declared.harness, declared.model) == ("agent", "command", "m")
    assert (declared.pools, declared.capacity, declared.isolation) == (("p",), 2, "open")
    assert declared.config_digest == recipient_spec(one, "of this node").config_digest
    assert (
        declared.config_digest
        != recipient_spec(replace(one, env={"KEY": "other"}), "of this node").config_digest
    )
    assert declared.config_digest != recipient_spec(one, "of another").config_digest, "it could be guessed"
    assert declared.config_digest != recipient_spec(replace(one, argv=("y",)), "of this node").config_digest
    assert declared.config_digest != recipient_spec(replace(one, env={}), "of this node").config_digest


def test_a_real_script_is_launched_and_its_own_words_are_judged(tmp_path: Path) -> None:
    run_dir, worktree = tmp_path / "run", tmp_path / "tree"
    run_dir.mkdir()
    worktree.mkdir()
    script = """
    set -e
    test "$(pwd)" = "$TENURE_WORKTREE"
    test "$(cat)" = "$(cat "$TENURE_PROMPT_FILE")"
    test -z "$GITHUB_TOKEN"
    say() { printf '%s\\n' "$1" >> "$TENURE_PROTOCOL_FILE"; }
    say '{"type": "progress", "message": "half way", "fraction": 0.5}'
    say '{"type": "usage", "input_tokens": 1200, "output_tokens": 80, "cost_usd_micros": 5400}'
    say '{"type": "session", "session_id": "s-1"}'
    echo done > result.txt
    say '{"type": "result", "verdict": "completed", "summary": "wrote result.txt",
          "artifacts": [{"name": "result", "path": "result.txt"}]}'
    """.replace('",\n          "', '", "')
    harness = harness_for(recipient(script=script))
    request = replace(
        REQUEST,
        run_dir=str(run_dir),
        worktree=str(worktree),
        environment={"PATH": os.environ["PATH"], "GITHUB_TOKEN": "hush"},
    )
    made = harness.launch(request)
    for file in made.files:
        write_atomically(Path(file.path), file.content, file.mode)
    protocol = run_dir / "protocol"
    assert made.stdin_path is not None
    with Path(made.stdin_path).open("rb") as stdin:
        ended = subprocess.run(
            made.argv,
            env=made.env | {"TENURE_PROTOCOL_FILE": str(protocol)},
            cwd=made.cwd,
            stdin=stdin,
            timeout=60,
        )
    with protocol.open("rb") as said:
        judged = harness.judge(StepEnded(exit_code=ended.returncode), protocol_lines(said))
    assert (judged.verdict, judged.summary) == (Verdict.COMPLETED, "wrote result.txt")
    assert (judged.usage.input_tokens, judged.usage.cost_usd_micros, judged.session_id) == (1200, 5400, "s-1")
    assert judged.evidence.artifacts[0].path == "result.txt"
    assert (worktree / "result.txt").read_text() == "done\n"


# -- what an Attempt is told of the one before it


def prompt(launched: Launch) -> str:
    (file,) = launched.files
    return file.content.decode()


def test_what_the_checks_said_follows_the_objective_and_precedes_the_context() -> None:
    request = replace(
        with_spec(objective="Fix it.\n\n", feedback="\nThe check `tests` did not pass.\nE  1 != 2\n"),
        inputs=(Input(uri="file:/a", path="/in/a"),),
    )
    launched = launch(request, argv=("agent", "{prompt}"))
    assert prompt(launched) == (
        "Fix it.\n\nThe check `tests` did not pass.\nE  1 != 2\n\nContext, each as a file:\n- file:/a: /in/a\n"
    )
    assert launched.argv[1] == prompt(launched)


def test_without_anything_to_say_the_prompt_is_the_objective() -> None:
    assert prompt(launch(with_spec(feedback=None), argv=("a",))) == OBJECTIVE + "\n"


RESUME = ("agent", "--resume", "{session_id}", "-p", "{prompt}")


def test_a_session_is_resumed_by_the_recipients_own_command_for_it() -> None:
    launched = launch(with_spec(session_id="s-1", objective="go on"), argv=("agent",), resume=RESUME)
    assert launched.argv == ("agent", "--resume", "s-1", "-p", "go on\n")
    assert (launched.env["TENURE_SESSION_ID"], launched.env["TENURE_RESUME"]) == ("s-1", "1")


def test_a_program_that_resumes_by_itself_is_told_the_session_in_its_environment() -> None:
    launched = launch(with_spec(session_id="s-1"), script="agent", resumes=True)
    assert launched.argv[:3] == ("/bin/sh", "-c", "agent")
    assert (launched.env["TENURE_SESSION_ID"], launched.env["TENURE_RESUME"]) == ("s-1", "1")


@pytest.mark.parametrize(
    ("spec", "settings"),
    [({}, {"resume": RESUME}), ({"session_id": "s-1"}, {}), ({}, {"resumes": True})],
)
def test_without_a_session_or_a_way_to_resume_it_the_start_is_an_ordinary_one(
    spec: dict[str, Any], settings: dict[str, Any]
) -> None:
    launched = launch(with_spec(**spec), argv=("agent", "[{session_id}]"), **settings)
    assert launched.argv == ("agent", "[]")
    assert not {"TENURE_SESSION_ID", "TENURE_RESUME"} & launched.env.keys()


def test_a_session_that_would_be_an_option_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="would be an option"):
        launch(with_spec(session_id="--yolo"), argv=("agent",), resume=RESUME)


def test_a_recipient_declares_that_it_resumes_and_whose_quota_it_draws_on() -> None:
    for settings, resumes in (({}, False), ({"resume": RESUME}, True), ({"resumes": True}, True)):
        assert recipient_spec(recipient(argv=("a",), **settings), "").resumes is resumes
    assert recipient_spec(recipient(argv=("a",), provider="anthropic"), "").provider == "anthropic"
    assert recipient_spec(recipient(argv=("a",)), "").provider is None


def test_only_a_recipient_that_listens_is_told_of_a_cancel_by_a_message() -> None:
    assert launch(argv=("a",)).cancel_line is None
    assert launch(argv=("a",), cancel="message").cancel_line == '{"type": "cancel"}'

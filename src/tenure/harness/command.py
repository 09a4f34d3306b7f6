"""The command harness: any program, or a few lines of shell.

The prompt (the objective, what the checks said of the Attempt before, and the context) is always written to a
file in the run folder; the recipient says whether it stands on standard input or as the last argument as well.
What the program says in the harness protocol is weighed against its exit code by `core.turn.judge_turn`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Final, final

from tenure.core.failure import StepEnded
from tenure.core.judgement import Judgement
from tenure.core.turn import TurnRules, judge_turn
from tenure.errors import ConfigurationError
from tenure.harness.environment import closed_environment, open_environment
from tenure.harness.message import ProtocolLine
from tenure.harness.port import Launch, LaunchFile, LaunchRequest
from tenure.harness.summary import summarize, turn_said
from tenure.runtime.settings_rules import PLACEHOLDER
from tenure.runtime.settings_schema import RecipientSettings

PROMPT_FILE: Final = "prompt.md"
SHELL: Final = "/bin/sh"
CANCEL_LINE: Final = '{"type": "cancel"}'
MAX_PROMPT_ARGUMENT_BYTES: Final = 131_071
"""Linux takes no single argument of 128 KiB or more (MAX_ARG_STRLEN, with its end mark)."""


@final
class CommandHarness:
    """Drives any program, as one recipient's settings say."""

    def __init__(self, recipient: RecipientSettings) -> None:
        self._recipient = recipient

    def launch(self, request: LaunchRequest) -> Launch:
        """What to execute for this Attempt.

        Raises:
            ConfigurationError: the Attempt brings a command that this recipient does not take, or there is
            none at all; a path or the prompt does not fit.
        """
        recipient = self._recipient
        prompt = prompt_text(request)
        prompt_file = posixpath.join(request.run_dir, PROMPT_FILE)
        values = placeholder_values(request, recipient, prompt, prompt_file)
        argv = command_line(request, recipient, values)
        passed_on = open_environment if recipient.isolation == "open" else closed_environment
        env = passed_on(request.environment, recipient.strip_env, recipient.keep_env)
        env |= {name: filled(value, values) for name, value in recipient.env.items()}
        env |= attempt_variables(request, recipient, prompt_file)
        env |= request.capability
        return Launch(
            argv=argv,
            env=env,
            cwd=working_folder(request, recipient, values),
            stdin_path=prompt_file if recipient.prompt == "stdin" else None,
            files=(LaunchFile(path=prompt_file, content=prompt.encode("utf-8", "replace")),),
            cancel_line=CANCEL_LINE if recipient.cancel == "message" else None,
        )

    def judge(self, ended: StepEnded, lines: Iterable[ProtocolLine]) -> Judgement:
        """The verdict that the program's end and its own words propose."""
        recipient = self._recipient
        # Where a task may bring its own command it cannot be told here whether the shell ran; then it is not
        # assumed.
        shell = recipient.script is not None and not recipient.allow_command
        rules = TurnRules(exit_zero_is_completed=recipient.exit_zero_is_completed, shell=shell)
        return judge_turn(ended, turn_said(summarize(lines)), rules)


def prompt_text(request: LaunchRequest) -> str:
    """The prompt: the objective, then what is to be said of the Attempt before, then where each piece of context lies."""
    parts = [request.spec.objective.rstrip("\n")]
    if request.spec.feedback:
        parts.append(request.spec.feedback.strip("\n"))
    if request.inputs:
        context = "\n".join(f"- {item.uri}: {item.path}" for item in request.inputs)
        parts.append(f"Context, each as a file:\n{context}")
    return "\n\n".join(parts) + "\n"


def placeholder_values(
    request: LaunchRequest, recipient: RecipientSettings, prompt: str, prompt_file: str
) -> dict[str, str]:
    """What stands for each placeholder. Without a worktree `{worktree}` is the run folder."""
    return {
        "prompt": prompt,
        "prompt_file": prompt_file,
        "worktree": request.worktree or request.run_dir,
        "run_dir": request.run_dir,
        "task": request.task_id,
        "attempt": str(request.attempt_no),
        "model": request.spec.model or recipient.model or "",
        "session_id": session_of(request, recipient) or "",
    }


def session_of(request: LaunchRequest, recipient: RecipientSettings) -> str | None:
    """The session that the program is to go on with; None for a new one.

    Raises:
        ConfigurationError: it cannot stand on a command line.
    """
    session_id = request.spec.session_id
    if session_id is None or not recipient.can_resume:
        return None
    if session_id.startswith("-"):
        raise ConfigurationError(
            f"the session {session_id!r} cannot be resumed: as a word of a command line it would be an option",
            recipient=recipient.name,
        )
    return session_id


def filled(text: str, values: dict[str, str]) -> str:
    """A text with its placeholders replaced, each once; other braces stay as they are."""
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def command_line(
    request: LaunchRequest, recipient: RecipientSettings, values: dict[str, str]
) -> tuple[str, ...]:
    """The words to execute: the Attempt's own command as it is, else what resumes its session, else the recipient's.

    Raises:
        ConfigurationError: there is no command, or it cannot be executed as it stands.
    """
    last = (values["prompt"],) if recipient.prompt == "argument" else ()
    if request.spec.command:
        if not recipient.allow_command:
            raise ConfigurationError(
                f"recipient {recipient.name} takes no command of a task; set allow_command = true for it, or"
                " submit without one",
                recipient=recipient.name,
            )
        argv = request.spec.command
    elif recipient.resume and values["session_id"]:
        argv = (*(filled(word, values) for word in recipient.resume), *last)
    elif recipient.script is not None:
        argv = (SHELL, "-c", recipient.script, "sh", *last)
    elif recipient.argv:
        argv = (*(filled(word, values) for word in recipient.argv), *last)
    else:
        raise ConfigurationError(
            f"recipient {recipient.name} has no command of its own (argv or script), and the task brings"
            " none",
            recipient=recipient.name,
        )
    refuse_unfit(argv, recipient)
    return argv


def refuse_unfit(argv: tuple[str, ...], recipient: RecipientSettings) -> None:
    """Refuses words that the system cannot execute, before the start, with a reason that names them.

    Raises:
        ConfigurationError: a word holds NUL or is too long.
    """
    for index, word in enumerate(argv):
        if "\x00" in word:
            raise ConfigurationError(
                f"argument {index} of {argv[0]!r} holds a NUL character", recipient=recipient.name
            )
        if len(word.encode("utf-8", "surrogateescape")) > MAX_PROMPT_ARGUMENT_BYTES:
            raise ConfigurationError(
                f"argument {index} of {argv[0]!r} is longer than {MAX_PROMPT_ARGUMENT_BYTES} bytes; give the"
                " prompt on standard input or"
                ' as a file (prompt = "stdin" or "file")',
                recipient=recipient.name,
            )


def attempt_variables(
    request: LaunchRequest, recipient: RecipientSettings, prompt_file: str
) -> dict[str, str]:
    """What a program can know of its Attempt. The runner adds where it may speak (`TENURE_PROTOCOL_…`)."""
    variables = {
        "TENURE_TASK": request.task_id,
        "TENURE_ATTEMPT": str(request.attempt_no),
        "TENURE_DELIVERY": request.delivery_id,
        "TENURE_FENCE": str(request.fence),
        "TENURE_PROMPT_FILE": prompt_file,
        "TENURE_RUN_DIR": request.run_dir,
    }
    if request.worktree is not None:
        variables["TENURE_WORKTREE"] = request.worktree
    if model := request.spec.model or recipient.model:
        variables["TENURE_MODEL"] = model
    if session_id := session_of(request, recipient):
        variables |= {"TENURE_SESSION_ID": session_id, "TENURE_RESUME": "1"}
    return variables


def working_folder(request: LaunchRequest, recipient: RecipientSettings, values: dict[str, str]) -> str:
    """Where the program starts: within the worktree or the run folder.

    Raises:
        ConfigurationError: the path leads out of both.
    """
    if request.worktree is None:
        return request.run_dir
    path = posixpath.normpath(posixpath.join(request.worktree, filled(recipient.cwd, values)))
    roots = (posixpath.normpath(request.worktree), posixpath.normpath(request.run_dir))
    if not any(path == root or path.startswith(root + "/") for root in roots):
        raise ConfigurationError(
            f"cwd {recipient.cwd!r} of recipient {recipient.name} leads out of the worktree; give a path"
            f" inside it, or {{run_dir}}",
            recipient=recipient.name,
        )
    return path

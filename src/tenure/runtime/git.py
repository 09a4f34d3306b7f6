"""One call of the user's own git, with bounds and without surprises.

- The caller's `GIT_DIR`, `GIT_INDEX_FILE` and the like never reach git (Tenure may itself run inside a hook);
  only the variables that say how to reach a server, where the configuration is and who commits are kept.
- The user's configuration is kept, too (credentials, `insteadOf`, proxies, line ends, filters), less what
  would change the meaning of an answer, start a helper behind our back, or wait for a person.
- Every call has a purpose and a time limit, which its error names. Its output is bounded.
- Nothing that comes from outside may be read as an option: callers put it behind `--`, or check it first.

Git's messages are read in the C locale, and only to tell a full disk or an unreachable repository from the
rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn, NotRequired, TypedDict, Unpack, final

from msgspec import Struct

from tenure.errors import ConfigurationError, GitFailedError, GitTimeoutError, StorageFullError
from tenure.runtime.process import ChildCommand, ChildResult, RunChild, run_child

MINIMUM_GIT = (2, 36)
"""The first with both `worktree list -z` and `core.fsync`; Debian 12 has 2.39."""
TIMEOUT_S = 60.0
OUTPUT_BYTES = 8_388_608
"""What a listing may cost in memory; a patch has a bound of its own."""
ERROR_BYTES = 4_000

KEPT_VARIABLES = frozenset(
    {
        "GIT_ASKPASS",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_PROXY_COMMAND",
        "GIT_PROXY_SSL_CAINFO",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_SSL_CERT",
        "GIT_SSL_KEY",
        "GIT_SSL_NO_VERIFY",
        "GIT_HTTP_USER_AGENT",
        "GIT_HTTP_PROXY_AUTHMETHOD",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_COUNT",
        "GIT_EXEC_PATH",
        "GIT_ALLOW_PROTOCOL",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    }
)
KEPT_PREFIXES = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")

PLAIN = {
    "LC_ALL": "C",
    "LANGUAGE": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_LITERAL_PATHSPECS": "1",
}
"""Locks nothing that it need not, asks nobody, and answers in English."""

OVERRIDES = (
    "advice.addEmbeddedRepo=false",
    "color.ui=false",
    "core.quotePath=true",
    "fetch.pruneTags=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.version=2",
    "safe.bareRepository=all",
    "submodule.recurse=false",
)
"""Version 2 of the protocol serves a commit that no branch reaches; older ones refuse it."""

CACHE_OVERRIDES = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.packedRefsTimeout=5000",
    "core.safecrlf=false",
    "core.untrackedCache=false",
    "core.filesRefLockTimeout=5000",
    "core.fsync=committed",
    "core.fsyncMethod=batch",
    "core.splitIndex=false",
)
"""For repositories of the node's own: an agent may have changed their configuration and hooks, which must not run us."""

_FULL_DISK = re.compile(rb"No space left on device|Disk quota exceeded")
_SSH_PASSWORD = re.compile(r"(?<=ssh://)([^/\s:@]*):[^/\s]*@")
_USER_INFO = re.compile(r"(?<!ssh)(://)[^/\s]*@")


class CallOptions(TypedDict):
    """What a call may change: extra variables, standard input, bounds, and lock descriptors that git shall keep."""

    env: NotRequired[Mapping[str, str]]
    stdin: NotRequired[bytes]
    timeout_s: NotRequired[float]
    output_bytes: NotRequired[int]
    keep: NotRequired[tuple[int, ...]]


class GitResult(Struct, frozen=True):
    """How a call of git ended. `size` is the length of the whole output, of which `output` is the kept beginning."""

    exit_code: int
    output: bytes
    size: int
    error: str

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def truncated(self) -> bool:
        return self.size > len(self.output)

    @property
    def line(self) -> str:
        """The output as one line of text."""
        return self.output.decode("utf-8", "surrogateescape").strip()


@final
class Git:
    """Calls git in a fixed environment. Holds no state; calls may run side by side.

    `overrides` are settings (`name=value`) that outrank every configuration file.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        overrides: tuple[str, ...] = (),
        *,
        run: RunChild = run_child,
        program: str = "git",
    ) -> None:
        self.environment = git_environment(environment)
        self._run = run
        self._program = program
        self._options = tuple(word for setting in (*OVERRIDES, *overrides) for word in ("-c", setting))

    async def ask(self, purpose: str, at: Path, *words: str, **options: Unpack[CallOptions]) -> GitResult:
        """Runs `git WORDS` in the folder `at`; a refusal is an answer (`exit_code`), not an exception.

        `purpose` completes "git was to …" in messages.

        Raises:
            GitTimeoutError: it did not finish in time.
            StorageFullError: the disk is full.
            ConfigurationError: git is not installed, or the folder is missing.
        """
        timeout_s = options.get("timeout_s", TIMEOUT_S)
        command = ChildCommand(
            argv=(self._program, "--no-pager", *self._options, *words),
            env={**self.environment, **options.get("env", {})},
            cwd=at,
            stdin=options.get("stdin", b""),
            timeout_s=timeout_s,
            stdout_bytes=options.get("output_bytes", OUTPUT_BYTES),
            keep_descriptors=options.get("keep", ()),
        )
        result = await self._started(command, at)
        error = error_text(result.stderr)
        if result.timed_out:
            raise GitTimeoutError(
                f"git was to {purpose} and was ended after {timeout_s:g} s: {error or 'it said nothing'}",
                purpose=purpose,
                timeout_s=timeout_s,
            )
        if result.exit_code != 0 and _FULL_DISK.search(result.stderr):
            raise StorageFullError(f"git was to {purpose}, but the disk is full: {error}", purpose=purpose)
        exit_code = -1 if result.exit_code is None else result.exit_code
        return GitResult(exit_code, result.stdout, result.stdout_seen, error)

    async def must(self, purpose: str, at: Path, *words: str, **options: Unpack[CallOptions]) -> GitResult:
        """As `ask`, where a refusal is an error.

        Raises:
            GitFailedError: git refused.
            GitTimeoutError: it did not finish in time.
            StorageFullError: the disk is full.
            ConfigurationError: git is not installed, or the folder is missing.
        """
        result = await self.ask(purpose, at, *words, **options)
        if not result.ok:
            refuse(purpose, result)
        return result

    async def version(self) -> tuple[int, ...]:
        """The version of the installed git, to be compared with `MINIMUM_GIT`; empty when it does not say.

        Raises:
            GitTimeoutError: it did not finish in time.
            ConfigurationError: git is not installed.
        """
        said = await self.ask("tell its version", Path("/"), "version")
        found = re.search(r"\d+(\.\d+)+", said.line)
        return tuple(int(part) for part in found[0].split(".")) if found else ()

    async def _started(self, command: ChildCommand, at: Path) -> ChildResult:
        try:
            return await self._run(command)
        except FileNotFoundError as error:
            if str(error.filename) == str(at):
                raise ConfigurationError(f"there is no folder {at}", path=str(at)) from error
            raise ConfigurationError(
                f"{self._program} was not found on PATH; install git {'.'.join(map(str, MINIMUM_GIT))} or newer",
                program=self._program,
            ) from error
        except (PermissionError, NotADirectoryError) as error:
            raise ConfigurationError(f"git cannot be run in {at}: {error.strerror}", path=str(at)) from error


def git_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what would point git at another repository, index or output."""
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") or name in KEPT_VARIABLES or name.startswith(KEPT_PREFIXES)
    }
    return {**kept, **PLAIN}


def with_setting(environment: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    """Variables that add one setting. Unlike `-c` they keep the value (a URL with a password) out of the process list."""
    try:
        count = int(environment.get("GIT_CONFIG_COUNT", "0"))
    except ValueError:
        count = 0
    return {
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": name,
        f"GIT_CONFIG_VALUE_{count}": value,
    }


def refuse(purpose: str, result: GitResult) -> NoReturn:
    """Turns git's refusal into an error.

    Raises:
        GitFailedError: always.
    """
    said = result.error or "it said nothing"
    raise GitFailedError(
        f"git was to {purpose} and ended with {result.exit_code}: {said}",
        purpose=purpose,
        exit_code=result.exit_code,
        error=result.error,
    )


def error_text(stderr: bytes) -> str:
    """The end of git's messages as text, without any password."""
    return without_password(stderr[-ERROR_BYTES:].decode("utf-8", "replace").strip())


def without_password(text: str) -> str:
    """The text with passwords cut out of its URLs; of user names only ssh's, which is no secret, is left."""
    return _USER_INFO.sub(r"\1", _SSH_PASSWORD.sub(r"\1@", text))


def split_z(output: bytes, *, truncated: bool = False) -> list[bytes]:
    """The items of a list that git wrote with `-z`; of a truncated one the last, perhaps cut, item is left out."""
    items = output.split(b"\0")
    return [item for item in (items[:-1] if truncated else items) if item]


def path_text(path: bytes) -> str:
    """A path for people and JSON: what is not printable UTF-8 (line ends, escape codes, stray bytes) is written as an escape."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)

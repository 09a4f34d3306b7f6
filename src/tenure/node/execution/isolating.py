"""How an Attempt is kept apart, as its recipient's settings say: its places, its user, its command lines.

| | `open` | `user` | `sandbox` |
| --- | --- | --- | --- |
| runs as | the node's user | a user of its own | the node's user, in namespaces of its own |
| its part of the run folder | the run folder | `agent/` in it | `agent/` in it |
| repository | the node's cache | its own, objects linked | its own, objects seen read-only |

All of it may be done again; nothing is executed here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TypeVar, final

from msgspec import Struct

from tenure.errors import ConfigurationError
from tenure.node.execution.sandbox import Sandbox, expanded, own_program
from tenure.node.run.messages import RunAs
from tenure.node.worktree.own_repository import Owner, give_tree
from tenure.node.worktree.workspace import Workspace
from tenure.node.worktree.worktree import Worktree
from tenure.runtime.isolation import agent_user, bubblewrap, open_way, refuse_weaker
from tenure.runtime.settings_schema import RecipientSettings

AGENT_PART = "agent"
ACCOUNTS = "accounts"
DATA_FOLDER = 2
"""So many folders above the store: DATA/node/NAME."""
NO_HOME = "/home/agent"

T = TypeVar("T")


class Keeping(Struct, frozen=True, kw_only=True):
    """What changes in a launch. `env` holds defaults: the recipient's own settings outrank them."""

    env: dict[str, str] = {}
    run_as: RunAs | None = None
    sandbox: Sandbox | None = None
    agent_part: str = "."

    def argv(self, argv: tuple[str, ...], cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
        """The words to execute.

        Raises:
            ConfigurationError: the program cannot be seen from inside.
        """
        return self.sandbox.command(argv, cwd, env.get("PATH", "")) if self.sandbox else argv


def agent_folder(run_dir: Path, recipient: RecipientSettings) -> Path:
    """The part of the run folder that is the agent's. The rest holds what the runner goes by, and its control socket."""
    return run_dir if recipient.isolation == "open" else run_dir / AGENT_PART


class Places(Struct, frozen=True, kw_only=True):
    """What one Attempt has. `ca_file`: what it needs to check the hub's certificate."""

    run_dir: Path
    worktree: Worktree | None
    ca_file: str | None = None


@final
class Isolating:
    """`environment` is the node's own, `store` its folder."""

    def __init__(
        self, store: Path, workspace: Workspace, environment: Mapping[str, str], executor: Executor
    ) -> None:
        self._data_folder = store.parents[DATA_FOLDER - 1]
        self._workspace = workspace
        self._environment = environment
        self._executor = executor

    async def check(self, recipient: RecipientSettings) -> None:
        """Refuses before anything is made.

        Raises:
            ConfigurationError: this machine cannot keep it apart as asked.
        """
        await self._in_executor(partial(refuse_weaker, (recipient,), self._data_folder))

    async def keep(self, recipient: RecipientSettings, places: Places) -> Keeping:
        """Gives the agent its places, whose files are all there by now.

        Raises:
            ConfigurationError: the user is missing, or cannot get to its places; or settings show the data folder.
            TenureError: its repository cannot be made.
            OSError: a file cannot be made, or given away.
        """
        match recipient.isolation:
            case "open":
                return Keeping()
            case "user":
                return await self._as_user(recipient, places)
            case "sandbox":
                return await self._in_sandbox(recipient, places)

    async def _as_user(self, recipient: RecipientSettings, places: Places) -> Keeping:
        user = agent_user(recipient.user or "")
        owner = Owner(user.uid, user.gid)
        agent_part = agent_folder(places.run_dir, recipient)
        ways = [agent_part.parent]
        if places.worktree:
            own = await self._workspace.separate(places.worktree, owner)
            ways += [places.worktree.path.parent, own.parent]
        await self._in_executor(partial(open_way, self._data_folder, *ways))
        await self._in_executor(partial(give_tree, agent_part, owner))
        return Keeping(
            env={"HOME": user.home, "USER": user.name, "LOGNAME": user.name, "SHELL": "/bin/sh"},
            run_as=RunAs(uid=user.uid, gid=user.gid, groups=user.groups),
            agent_part=AGENT_PART,
        )

    async def _in_sandbox(self, recipient: RecipientSettings, places: Places) -> Keeping:
        home = Path(self._environment.get("HOME") or NO_HOME)
        home = home if home.is_absolute() and home != Path("/") else Path(NO_HOME)
        given = recipient.sandbox
        read, write = expanded(given.read, home), expanded(given.write, home)
        self._refuse_data_folder(recipient, (*read, *write))
        read += (*own_program(), *((Path(places.ca_file),) if places.ca_file else ()))
        write += (agent_folder(places.run_dir, recipient),)
        if places.worktree:
            own = await self._workspace.separate(places.worktree, None)
            read += (places.worktree.cache / "objects",)
            write += (places.worktree.path, own)
        sandbox = Sandbox(
            program=bubblewrap() or "bwrap",
            home=home,
            read=read,
            write=write,
            accounts=places.run_dir / ACCOUNTS,
            network=given.network,
        )
        await self._in_executor(partial(write_accounts, sandbox))
        return Keeping(
            env={"HOME": str(home), "USER": "agent", "LOGNAME": "agent", "SHELL": "/bin/sh"},
            sandbox=sandbox,
            agent_part=AGENT_PART,
        )

    def _refuse_data_folder(self, recipient: RecipientSettings, shown: tuple[Path, ...]) -> None:
        """Refuses settings that would show what the sandbox is there to hide.

        Raises:
            ConfigurationError: a place holds the data folder, or is in it.
        """
        data = self._data_folder.resolve()
        for place in shown:
            real = place.resolve()
            if data.is_relative_to(real) or real.is_relative_to(data):
                raise ConfigurationError(
                    f"sandbox settings of recipient {recipient.name} show {place}, and with it Tenure's data folder"
                    f" {data}; name smaller folders",
                    recipient=recipient.name,
                )

    async def _in_executor(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


def write_accounts(sandbox: Sandbox) -> None:
    sandbox.accounts.mkdir(mode=0o700, exist_ok=True)
    for name, content in sandbox.account_files().items():
        (sandbox.accounts / name).write_text(content, "utf-8")

"""The stage of the race: a hub, two nodes with a recipient each in one pool, a bare git remote, and a forge.

Everything is a process of its own in a temporary folder, with short leases, and is taken away as in `stage`. The forge's
credential is stored where a hub keeps it; neither nodes nor agents are given it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from tenure.cli.asking.task_request import shell_checks
from tenure.cli.demo.forge import Forge, running_forge
from tenure.cli.demo.stage import BEGINNING, READY_WITHIN_S, Stage, invocation_for, left_running, take_away
from tenure.cli.demo.story import NotSoError, Story
from tenure.cli.local.run import LocalRun, local_runs
from tenure.cli.process.data_files import HUB_PART, local_hub_url, local_token, node_part
from tenure.cli.process.process_mark import ProcessMark, send_signal
from tenure.client.hub import HubClient
from tenure.errors import ConfigurationError
from tenure.runtime.git import Git

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.cli.text.output import Output
    from tenure.wire.effects import EffectBody

NODES = ("east", "west")
RECIPIENT = "builder"
POOL = "builders"
REPOSITORY = "harbor/beacon"
BRANCH = "tenure/beacon"
PULL_REQUESTS = f"github:{REPOSITORY}"
PUSHES = f"origin:{REPOSITORY}"
TOLD_FILE = "told"
"""In an Attempt's run folder: what its agent did and was told, a line each."""

HUB_SETTINGS = """\
# Leases as short as they can be, so that nobody has to wait for them.
[hub]
port = 0
offer_ttl_s = 5
lease_ttl_s = 5
suspect_grace_s = 3
cancel_grace_s = 10

[node]
renew_every_s = 1
margin_s = 1
stop_grace_s = 2

[providers.github]
kind = "github"
url = {forge}
settling_s = 1

[providers.origin]
kind = "git"
url = {remotes}
"""

NODE_SETTINGS = """\
[node]
name = {name}
renew_every_s = 1
margin_s = 1
stop_grace_s = 2

[[recipients]]
name = "builder"
pools = ["builders"]
script = '''
{agent}
'''

[recipients.env]
PYTHON = {python}
GIT_AUTHOR_NAME = {name}
GIT_AUTHOR_EMAIL = {email}
GIT_COMMITTER_NAME = {name}
GIT_COMMITTER_EMAIL = {email}
"""

AGENT = """\
# What it can do outside is what `tenure effect` does for it: it holds a capability, and no credential.
set -u
branch=tenure/beacon
tenure() { "$PYTHON" -P -m tenure.cli.main "$@"; }
told() { echo "$*" | tee -a "$TENURE_RUN_DIR/told"; }
push() { tenure effect push >> "$TENURE_RUN_DIR/said" 2>&1 || { told "the push was refused"; exit 1; }; }
word() { sed -n "s/.*\\"$1\\": *\\"\\{0,1\\}\\([a-z_]*\\).*/\\1/p" "$TENURE_RUN_DIR/answer" | head -n 1; }

if git fetch --quiet tenure "refs/heads/$branch"; then
    git switch --quiet --create "$branch" FETCH_HEAD
    told "took over"
else
    git switch --quiet --create "$branch"
    echo "A light, first lit by attempt $TENURE_ATTEMPT." > beacon.md
    git add beacon.md && git commit --quiet --message "Light the beacon" || exit 1
    push
    told "pushed"
fi

# The same request under the same key, until it is known what became of it.
tries=0
while :; do
    tries=$((tries + 1))
    tenure effect pr --target github:harbor/beacon --base main --wait 1 --json > "$TENURE_RUN_DIR/answer" 2>&1
    code=$?
    [ "$code" = 0 ] && { told "has its pull request (replayed: $(word replayed))"; break; }
    told "try $tries: $(word code)"
    [ "$(word code)" = stale_fence ] && { told "stops"; exit 1; }
    [ "$tries" -lt 90 ] || exit 1
    sleep 0.4
done

echo "Kept alight by attempt $TENURE_ATTEMPT." >> beacon.md
git commit --quiet --all --message "Keep the beacon alight" || exit 1
push
told "pushed"
"""


@final
class Stopped:
    """Processes that stand still (SIGSTOP). Whatever happens, they go on at the `end`."""

    def __init__(self) -> None:
        self.marks: list[ProcessMark] = []

    def end(self) -> None:
        """Let everything go on."""
        for mark in reversed(self.marks):
            send_signal(mark, signal.SIGCONT)

    def stop(self, mark: ProcessMark) -> None:
        self.marks.append(mark)
        send_signal(mark, signal.SIGSTOP)

    def go_on(self, mark: ProcessMark) -> None:
        self.marks.remove(mark)
        send_signal(mark, signal.SIGCONT)


@final
class RaceStage:
    """Where the race plays. `stopped`: what stands still. `picture`: where the picture goes."""

    def __init__(self, stage: Stage, forge: Forge, remote: Path, credential: str, stopped: Stopped) -> None:
        self.stage = stage
        self.hub = stage.hub
        self.forge = forge
        self.remote = remote
        self.credential = credential
        self.stopped = stopped
        self.task_id = ""
        self.picture: Path | None = None

    async def submit(self, objective: str) -> str:
        """Submits the one Task of the story to the pool; its id."""
        from tenure.core.scope import EffectKind, Scope
        from tenure.wire.api import TaskRequest

        scope = Scope(
            kinds=(EffectKind.PUSH, EffectKind.PULL_REQUEST),
            targets=(PUSHES, PULL_REQUESTS),
            branches=("tenure/*",),
        )
        request = TaskRequest(
            objective=objective,
            to=POOL,
            repository=str(self.remote),
            base_sha=self.stage.base_sha,
            checks=shell_checks(["grep -q light beacon.md && git diff --quiet HEAD"], 60),
            scope=scope,
        )
        task = await self.hub.submit(request, "demo:race")
        self.stage.tasks.append(task.task_id)
        self.task_id = task.task_id
        return task.task_id

    def node(self, name: str) -> ProcessMark | None:
        return self.stage.holder(node_part(name))

    def runs(self) -> list[LocalRun]:
        """Every run of the Task, on whichever node, the oldest first."""
        runs = [run for run in local_runs(self.stage.home) if run.task_id == self.task_id]
        return sorted(runs, key=lambda run: run.number)

    def told(self, number: int) -> list[str]:
        """What the agent of an Attempt did and was told so far."""
        for run in self.runs():
            if run.number == number and (run.folder / TOLD_FILE).exists():
                return (run.folder / TOLD_FILE).read_text().splitlines()
        return []

    async def effect(self, kind: str, stands: str) -> EffectBody | None:
        """The first Effect of a kind that stands so."""
        effects = await self.hub.effects(self.task_id)
        return next((one for one in effects if (one.kind, one.state) == (kind, stands)), None)

    async def git(self, purpose: str, *words: str) -> list[str]:
        """What git says of the bare remote, a line each."""
        said = await Git(self.stage.cli.env).must(purpose, self.remote, *words)
        return said.output.decode().splitlines()


@asynccontextmanager
async def race_staged(out: Output, story: Story, *, keep: bool) -> AsyncGenerator[RaceStage]:
    """The stage, up; afterwards everything that it started is gone, however the story ended.

    Raises:
        TenureError: git fails, or hub and nodes did not get ready.
        NotSoError: something was left running.
    """
    refuse_without_forges()
    place = Path(tempfile.mkdtemp(prefix="tenure-race-"))
    cli = invocation_for(out, place)
    try:
        async with filled(cli, story, place) as race:
            yield race
    finally:
        left = left_running(place)
        if not keep:
            story.say(f"remove {place}")
            shutil.rmtree(place, ignore_errors=True)
    if left:
        raise NotSoError(f"{len(left)} processes were left running: {', '.join(left)}")
    story.say(f"kept in {place}" if keep else "nothing is left: no process, no file")


def refuse_without_forges() -> None:
    """The race needs the client of a forge.

    Raises:
        ConfigurationError: it is not installed.
    """
    from importlib.util import find_spec

    from tenure.providers.catalog import EXTRA

    if find_spec("githubkit") is None or find_spec("cryptography") is None:
        raise ConfigurationError(
            f"this story needs the extra `{EXTRA}`: pip install 'tenure[{EXTRA}]' (in a clone `make setup` brings it)",
            extra=EXTRA,
        )


@asynccontextmanager
async def filled(cli: Invocation, story: Story, place: Path) -> AsyncGenerator[RaceStage]:
    """Remote, forge, hub and nodes, up until the context ends."""
    remote = place / "remotes" / f"{REPOSITORY}.git"
    remote.mkdir(parents=True)
    await fill_remote(cli, remote)
    story.say(f"a bare git remote in {remote}")
    async with running_forge(cli, place / "remotes") as forge:
        story.say(f"a forge that speaks GitHub's API at {forge.url}")
        write_settings(place, forge)
        folder = cli.open_folder()
        stopped = Stopped()
        try:
            credential = await stored_credential(cli)
            await started(cli, "hub", place / "tenure.toml")
            url, token = local_hub_url(folder.root), local_token(folder.root)
            story.say(f"hub ready at {url}")
            await asyncio.gather(*(started(cli, "node", place / f"{name}.toml", "--local") for name in NODES))
            story.say(
                f"nodes {' and '.join(NODES)} ready, each with a recipient {RECIPIENT} in the pool {POOL}"
            )
            async with HubClient(url or "", token) as hub:
                stage = Stage(cli, hub, folder, remote)
                race = RaceStage(stage, forge, remote, credential, stopped)
                stage.base_sha = (await race.git("read the base", "rev-parse", "main"))[0]
                yield race
        finally:
            stopped.end()
            await take_away(folder, story)


async def fill_remote(cli: Invocation, remote: Path) -> None:
    """A bare repository with one commit, which keeps a log of every push."""
    git = Git(cli.env)
    await git.must("make the remote", remote, "init", "--quiet", "--bare", "--initial-branch=main")
    await git.must("fill the remote", remote, "fast-import", "--quiet", stdin=BEGINNING)
    await git.must("set up the remote", remote, "config", "core.logAllRefUpdates", "true")


def write_settings(place: Path, forge: Forge) -> None:
    """A settings file for the hub (`tenure.toml`) and one for each node."""
    remotes = json.dumps(str(place / "remotes"))
    (place / "tenure.toml").write_text(HUB_SETTINGS.format(forge=json.dumps(forge.url), remotes=remotes))
    for name in NODES:
        (place / f"{name}.toml").write_text(node_settings(name))


def node_settings(name: str) -> str:
    """The settings of one node."""
    email = json.dumps(f"{name}@example.org")
    return NODE_SETTINGS.format(
        name=json.dumps(name), python=json.dumps(sys.executable), email=email, agent=AGENT
    )


async def stored_credential(cli: Invocation) -> str:
    """A credential for the forge, stored as `tenure provider add` stores it; only the hub can read it."""
    from tenure.runtime.clock import RealClock
    from tenure.runtime.credential_store import CredentialStore, Entry
    from tenure.runtime.ids import RealIds

    credential = RealIds(RealClock()).token()
    store = CredentialStore(cli.open_folder().part(HUB_PART), cli.env)
    await store.put("github", lambda _: Entry(kind="github", credential=credential))
    return credential


async def started(cli: Invocation, command: str, config: Path, *more: str) -> None:
    """Starts hub or node in a session of its own, and waits until it is ready.

    Raises:
        NotSoError: it is not.
    """
    from tenure.cli.command.up import program, said_within, tail
    from tenure.cli.process.readiness import Ready

    reader, writer = os.pipe()
    log = config.with_suffix(".log")
    words: tuple[Any, ...] = (*program(), command, "--home", str(cli.home), "--config", str(config), *more)
    try:
        with log.open("ab") as output:
            await asyncio.create_subprocess_exec(  # noqa: TID251 - the command line starts hub and node
                *words,
                *("--ready-fd", str(writer)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=cli.home,
                env=dict(cli.env),
                pass_fds=(writer,),
                start_new_session=True,
            )
    finally:
        os.close(writer)
    said = await asyncio.get_running_loop().run_in_executor(None, said_within, reader, READY_WITHIN_S)
    if not isinstance(said, Ready):
        raise NotSoError(f"{command} is ready: {said.message if said else tail(log)}")

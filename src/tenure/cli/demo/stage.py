"""A copy of a repository, a hub and a node in a temporary folder: brought up, and taken away without a trace.

It is what `tenure up --detach` starts, with short leases. Every process that is signaled here is one that holds a part of
this very folder, or a run of it; none is looked for by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, final

from tenure.cli.asking.task_request import shell_checks
from tenure.cli.demo.story import NotSoError, Story
from tenure.cli.invocation import Given, Invocation
from tenure.cli.local.run import LocalRun, local_runs, processes_of, running_here, runs_of
from tenure.cli.process.data_files import HUB_PART, UP_PART, local_hub_url, local_token, node_names, node_part
from tenure.cli.process.process_mark import ProcessMark, boot_id, ended_within, holder_of, send_signal
from tenure.cli.process.readiness import Ready
from tenure.cli.text.counting import counted
from tenure.client.hub import HubClient
from tenure.node.run.link import connect
from tenure.node.run.sweep import sweep_now
from tenure.runtime.clock import RealClock
from tenure.runtime.git import Git

if TYPE_CHECKING:
    from tenure.cli.text.output import Output
    from tenure.runtime.data_folder import DataFolder
    from tenure.wire.api import AttemptBody, TaskBody

NODE = "demo"
RECIPIENT = "builder"
REPOSITORY_MARK = "@REPOSITORY@"
"""Where this stands in settings comes the folder of the repository."""
READY_WITHIN_S = 90.0
CLONE_WITHIN_S = 300.0

SETTINGS = '''\
# Leases as short as they can be, so that nobody has to wait for them.
[hub]
port = 0
offer_ttl_s = 5
lease_ttl_s = 6
suspect_grace_s = 30
cancel_grace_s = 10

[node]
name = "demo"
renew_every_s = 1
margin_s = 1
stop_grace_s = 2

[[recipients]]
name = "builder"
script = """
set -eu
# The prompt is one sentence: "Write NAME", or "Write NAME in N seconds". Only the first attempt takes its time.
read -r _ name rest
seconds=$(printf %s "$rest" | tr -dc 0-9)
[ "$TENURE_ATTEMPT" = 1 ] || seconds=1
i=0
while [ "$i" -lt "${seconds:-0}" ]; do
    i=$((i + 1))
    echo "$name: second $i of $seconds"
    sleep 1
done
mkdir -p tenure-demo
echo "$name, written by attempt $TENURE_ATTEMPT" > "tenure-demo/$name.md"
git add tenure-demo
git commit --quiet --message "Add $name"
"""
'''


@final
class Stage:
    """Where the story plays. `settings` are those of `SETTINGS`, in `tenure.toml` beside the data folder."""

    def __init__(self, cli: Invocation, hub: HubClient, folder: DataFolder, clone: Path) -> None:
        self.cli = cli
        self.hub = hub
        self.folder = folder
        self.clone = clone
        self.base_sha = ""
        self.tasks: list[str] = []

    @property
    def home(self) -> Path:
        return self.folder.root

    async def submit(self, objective: str, name: str, after: tuple[str, ...] = ()) -> str:
        """Submits a Task that writes a file and commits it, with a check that it did; its id."""
        from tenure.wire.api import TaskRequest

        check = f"grep -q '^{name},' tenure-demo/{name}.md && git diff --quiet HEAD"
        request = TaskRequest(
            objective=objective,
            to=RECIPIENT,
            repository=str(self.clone),
            base_sha=self.base_sha,
            checks=shell_checks([check], 60),
            after=after,
        )
        task = await self.hub.submit(request, f"demo:{name}")
        self.tasks.append(task.task_id)
        return task.task_id

    async def newest(self, task_id: str) -> tuple[TaskBody, AttemptBody]:
        task = await self.hub.task(task_id)
        return task, (await self.hub.attempts(task_id))[-1]

    async def kinds(self, task_id: str) -> list[str]:
        """The kinds of a Task's events, in order."""
        return [event.kind for event in (await self.hub.events(task_id, limit=500)).events]

    def holder(self, part: str) -> ProcessMark | None:
        return holder_of(self.folder, part)

    @property
    def node(self) -> ProcessMark | None:
        return self.holder(node_part(NODE))

    @property
    def hub_process(self) -> ProcessMark | None:
        return self.holder(HUB_PART)

    async def run_of(self, task_id: str, number: int = 1) -> LocalRun | None:
        """The run of an Attempt, once it is under way."""
        return next((run for run in runs_of(self.home, task_id, number) if run.is_running), None)

    async def processes(self, run: LocalRun) -> tuple[ProcessMark, ProcessMark] | None:
        """Runner and program of a run, once it has started."""
        return await processes_of(run)


@asynccontextmanager
async def staged(
    out: Output, story: Story, repository: Path | None, *, keep: bool, settings: str = SETTINGS
) -> AsyncGenerator[Stage]:
    """The stage, up; afterwards everything that it started is gone, however the story ended. `repository` None: a small new
    one.

    Raises:
        TenureError: there is no repository, or hub and node did not get ready.
        NotSoError: something was left running.
    """
    place = Path(tempfile.mkdtemp(prefix="tenure-demo-"))
    cli = invocation_for(out, place)
    (place / "tenure.toml").write_text(settings.replace(REPOSITORY_MARK, str(place / "repository")))
    folder = cli.open_folder()
    try:
        if repository is None:
            clone = await begun(cli, place / "repository")
            story.say(f"a new repository in {clone}")
        else:
            clone = await cloned(cli, repository, place / "repository")
            story.say(f"a copy of {repository} in {clone}")
        await brought_up(cli, story)
        url, token = local_hub_url(folder.root), local_token(folder.root)
        async with HubClient(url or "", token) as hub:
            stage = Stage(cli, hub, folder, clone)
            stage.base_sha = (await Git(cli.env).must("read the base", clone, "rev-parse", "HEAD")).line
            yield stage
    finally:
        await take_away(folder, story)
        left = left_running(place)
        if not keep:
            story.say(f"remove {place}")
            shutil.rmtree(place, ignore_errors=True)
    if left:
        raise NotSoError(f"{len(left)} processes were left running: {', '.join(left)}")
    story.say(f"kept in {place}" if keep else "nothing is left: no process, no file")


def invocation_for(out: Output, place: Path) -> Invocation:
    """An invocation on the stage's own folder, deaf to what the user has set for their own."""
    from tenure.cli.invocation import environment

    env = {name: value for name, value in environment().items() if not name.startswith("TENURE_")}
    cli = Invocation(Given(home=place / "home", config=place / "tenure.toml"), env)
    cli.out = out
    return cli


async def cloned(cli: Invocation, repository: Path, target: Path) -> Path:
    """A clone of the repository's last commit.

    Raises:
        TenureError: there is no repository, or it has no commit.
    """
    from tenure.client.repository import UserRepository

    git = Git(cli.env)
    user = UserRepository(repository, git)
    state = await user.inspect()
    await user.resolve("HEAD")
    words = ("clone", "--quiet", "--no-hardlinks", "--", str(state.top_level), str(target))
    await git.must("copy the repository", target.parent, *words, timeout_s=CLONE_WITHIN_S)
    return target


BEGINNING = b"""\
commit refs/heads/main
committer Harbor <harbor@example.org> 1767225600 +0000
data <<END
Begin
END
M 100644 inline README.md
data <<END
# Beacon
END

"""


async def begun(cli: Invocation, target: Path) -> Path:
    """A repository with one commit."""
    git = Git(cli.env)
    await git.must(
        "make a repository", target.parent, "init", "--quiet", "--initial-branch=main", str(target)
    )
    await git.must("fill it", target, "fast-import", "--quiet", stdin=BEGINNING)
    await git.must("fill it", target, "reset", "--quiet", "--hard", "main")
    return target


async def brought_up(cli: Invocation, story: Story) -> None:
    """Starts supervisor, hub and node, and waits until both are ready.

    Raises:
        NotSoError: they are not.
    """
    from tenure.cli.command.up import said_within, start_detached, tail

    part = cli.open_folder().part(UP_PART)
    _, reader = start_detached(cli, part / "up.log")
    said = await asyncio.get_running_loop().run_in_executor(None, said_within, reader, READY_WITHIN_S)
    if not isinstance(said, Ready):
        raise NotSoError(f"hub and node are not ready: {said.message if said else tail(part / 'up.log')}")
    story.say(f"hub ready at {said.facts['hub']['url']}, node ready with the recipient {RECIPIENT}@{NODE}")


async def take_away(folder: DataFolder, story: Story) -> None:
    """Ends everything that holds a part of the folder, and every run in it."""
    loop = asyncio.get_running_loop()
    nodes = [node_part(name) for name in node_names(folder.root)]
    for part in (UP_PART, *nodes, HUB_PART):
        mark = holder_of(folder, part)
        if mark is None:
            continue
        story.say(f"stop {mark.program} (process {mark.pid})")
        send_signal(mark, signal.SIGCONT)
        send_signal(mark, signal.SIGTERM)
        if not await loop.run_in_executor(None, ended_within, mark, 20.0):
            send_signal(mark, signal.SIGKILL)
            await loop.run_in_executor(None, ended_within, mark, 10.0)
    for run in running_here(folder.root):
        story.say(f"stop the run of {run.attempt}")
        with contextlib.suppress(Exception):
            async with await connect(run.folder) as control:
                await control.kill()
    runs = list(local_runs(folder.root))
    story.say(f"see that nothing of {counted(len(runs), 'run')} is left")
    for run in runs:
        await loop.run_in_executor(None, sweep_now, run.folder, boot_id(), RealClock())


def left_running(place: Path) -> list[str]:
    """Processes that have the stage's folder in their environment, words or working folder. Empty without `/proc`."""
    needle = os.fsencode(place)
    if not Path("/proc/self/stat").exists():
        return []
    others = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [
        f"process {entry.name}" for entry in others if entry.name != str(os.getpid()) and is_at(entry, needle)
    ]


def is_at(entry: Path, needle: bytes) -> bool:
    """Does a process of `/proc` name the folder? What may not be read is not ours."""
    with contextlib.suppress(OSError):
        if needle in (entry / "environ").read_bytes() or needle in (entry / "cmdline").read_bytes():
            return True
        return needle in os.fsencode((entry / "cwd").readlink())
    return False

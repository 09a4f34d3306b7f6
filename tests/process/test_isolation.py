"""What an agent can reach under each isolation, tried by one that hunts for credentials."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.core.scope import EffectKind, Scope
from tests.eventually import eventually_async
from tests.hub.lab import ANN
from tests.process.isolation_lab import HUNTER, missing, output, site
from tests.process.runner_lab import is_alive, is_stopped
from tests.process.test_node_daemon import BOUND_S, ROOT, kill_runner

ISOLATIONS = ("open", "user", "sandbox")
CLOSED = ("user", "sandbox")
PYTHON = "/usr/bin/python3"
needs_python = pytest.mark.skipif(
    not Path(PYTHON).exists(), reason=f"the hunter needs {PYTHON}, which every user can run"
)


@pytest.fixture(autouse=True)
def possible(request: pytest.FixtureRequest) -> None:
    isolation = request.node.callspec.params.get("isolation") if hasattr(request.node, "callspec") else None
    reason = missing(isolation or "open")
    if reason:
        pytest.skip(f"{isolation}: {reason}")


@pytest.fixture
def repository() -> Iterator[tuple[str, str]]:
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"tenure-isolation-{os.getpid()}"
    folder.mkdir()
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        (
            "-c",
            "user.name=U",
            "-c",
            "user.email=u@example.invalid",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "First",
        ),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=60)
    told = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, timeout=60
    )
    yield str(folder), told.stdout.decode().strip()
    shutil.rmtree(folder, ignore_errors=True)


async def hunted(isolation: str) -> set[str]:
    """The names of all that the hunter could use."""
    async with site(isolation) as made:
        assert made.victim is not None
        sockets = ",".join(map(str, made.sockets))
        where = (str(made.user_home), str(made.home), sockets, str(made.victim.pid))
        attempt = await made.run((PYTHON, "-c", HUNTER.read_text(), *where))
        told = output(attempt)
        assert "LOOKED" in told, f"{attempt}\n{told}\n{made.log.read_text()}"
        return set(told.partition("FOUND ")[2].splitlines()[0].split())


def listed_in_security() -> set[str]:
    """What SECURITY.md says an agent still finds under `open`."""
    text = (ROOT / "SECURITY.md").read_text()
    section = text.partition("<!-- found under open -->")[2].partition("<!-- end -->")[0]
    return set(re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE))


@needs_python
@pytest.mark.parametrize("isolation", CLOSED)
async def test_an_agent_that_hunts_for_credentials_finds_none(isolation: str) -> None:
    assert await hunted(isolation) == set()


@needs_python
async def test_under_open_it_finds_what_the_security_page_lists() -> None:
    found = await hunted("open")
    sys.stdout.write(f"under open an agent still finds: {' '.join(sorted(found))}\n")
    # A kernel without keyrings (some containers) has nothing to find there.
    assert found | {"kernel-keyring"} == listed_in_security()


@pytest.mark.parametrize("isolation", ISOLATIONS)
async def test_git_works_and_its_commits_are_reported(isolation: str, repository: tuple[str, str]) -> None:
    where, base = repository
    script = (
        "set -e; echo two > two.txt; git add .; git commit --quiet -m Second; git switch --quiet -c side;"
        " echo three > three.txt; git add .; git commit --quiet -m Third; echo dirty > dirty.txt; git status --short; id -u"
    )
    async with site(isolation) as made:
        attempt = await made.run(script, repository=where, base_sha=base)
        evidence = msgspec.json.decode(bytes(attempt.evidence))
        assert attempt.verdict == "completed", f"{evidence}\n{made.log.read_text()}"
        tree = evidence["worktree"]
        assert (tree["stored"], tree["problem"], tree["dirty"]) == (True, None, True)
        assert [one["subject"] for one in tree["commits"]["first"]] == ["Third", "Second"]
        assert tree["head_sha"] == attempt.head_sha != base
        said = output(attempt).split()
        assert (said[-1] != "0") == (isolation != "open" or os.geteuid() != 0)


@pytest.mark.parametrize("isolation", CLOSED)
async def test_neither_the_shared_cache_nor_another_run_can_be_reached(
    isolation: str, repository: tuple[str, str]
) -> None:
    where, base = repository
    # The places are known to it; in a sandbox some of them are there, empty and gone with it.
    script = (
        "data={data}/node/laptop; repos=$data/repos; cache=$repos/{cache};"
        " for file in $data/mirror.db $cache/config $cache/HEAD $data/runs/*/launch.json $TENURE_RUN_DIR/../launch.json"
        " $TENURE_RUN_DIR/../stdout.0.0; do cat $file > /dev/null 2>&1 && echo READ $file; done;"
        " for folder in $data $repos $cache $cache/hooks $cache/refs/heads $cache/objects $data/runs $TENURE_RUN_DIR/..;"
        " do (mkdir -p $folder; echo x > $folder/planted) 2> /dev/null; done;"
        " for object in $(find $cache/objects -type f); do (chmod u+w $object; echo x >> $object) 2> /dev/null; done;"
        " for object in $(find $(git rev-parse --git-common-dir)/objects -type f -links +1);"
        " do (chmod u+w $object; echo x >> $object) 2> /dev/null; done; echo END"
    )
    async with site(isolation) as made:
        await made.run("true", repository=where, base_sha=base)
        (cache,) = (made.home / "node" / "laptop" / "repos").glob("*.git")
        before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
        filled = script.replace("{data}", str(made.home)).replace("{cache}", cache.name)
        attempt = await made.run(filled, repository=where, base_sha=base)
        told = output(attempt).partition("[stderr]")[0].strip()
        assert told == "END", output(attempt)
        assert [path for path in made.home.rglob("planted") if "agent" not in path.parts] == []
        now = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
        assert {path for path, data in before.items() if now.get(path) != data} <= {cache / "packed-refs"}


@pytest.mark.parametrize("isolation", ISOLATIONS)
async def test_a_program_uses_its_capability_and_it_is_told_nowhere(isolation: str) -> None:
    """A real program asks the hub for its own task, by variable and by file; what it prints of it is taken out."""
    script = (
        'test "$(cat "$TENURE_CAPABILITY_FILE")" = "$TENURE_CAPABILITY" && stat -c %a "$TENURE_CAPABILITY_FILE";'
        ' echo "$TENURE_CAPABILITY_FILE" > $DIR/file; echo "$TENURE_CAPABILITY" > $DIR/capability;'
        ' echo "{"type":"progress","message":"$TENURE_CAPABILITY"}" >&3; echo "I have $TENURE_CAPABILITY";'
        f" {PYTHON} -c 'import os, urllib.request as u;"
        ' r = u.Request(os.environ["TENURE_HUB"] + "/v1/agent/context",'
        ' headers={"Authorization": "Bearer " + open(os.environ["TENURE_CAPABILITY_FILE"]).read().strip()});'
        " print(u.build_opener(u.ProxyHandler({})).open(r, timeout=20).read().decode())'"
    )
    async with site(isolation) as made:
        task_id = await made.submit(script)
        attempt = await made.verdict(task_id)
        told = output(attempt)
        assert attempt.verdict == "completed", f"{told}\n{made.log.read_text()}"
        capability = (made.shared / "capability").read_text().strip()
        assert capability.startswith("tnr_c_")
        assert "600" in told
        assert f'"{task_id}"' in told
        assert "I have [capability]" in told
        assert capability not in repr(attempt)
        assert capability.encode() not in bytes(attempt.evidence)
        assert capability not in made.log.read_text()
        assert not Path((made.shared / "file").read_text().strip()).exists()


async def test_the_remote_tenure_is_there_where_the_scope_lists_pushes(repository: tuple[str, str]) -> None:
    where, base = repository
    script = "git ls-remote --get-url tenure; git config --get-all credential.helper; echo END"
    async with site("open") as made:
        scope = Scope(kinds=(EffectKind.PUSH,), targets=("origin:shop",), branches=("x",))
        with_push = await made.run(script, repository=where, base_sha=base, scope=scope)
        without = await made.run(script, repository=where, base_sha=base)
        assert f"{made.url}/git/" in output(with_push)
        assert "/git/" not in output(without)


@pytest.mark.parametrize("isolation", CLOSED)
async def test_a_tree_with_daemons_is_paused_at_the_deadline_and_goes_on(isolation: str) -> None:
    script = (
        "cd $DIR; setsid sh -c 'exec sleep 987123' & while [ ! -e $DIR/go ]; do sleep 0.05; done; echo over"
    )
    async with site(isolation) as made:
        task_id = await made.submit(script)
        (daemon,) = await eventually_async(lambda: pids_of("987123"), BOUND_S)
        assert made.daemon is not None
        made.daemon.send_signal(signal.SIGSTOP)
        await eventually_async(lambda: is_stopped(daemon), BOUND_S, "the tree is paused")
        made.daemon.send_signal(signal.SIGCONT)
        await eventually_async(lambda: not is_stopped(daemon), BOUND_S, "the tree goes on")
        (made.shared / "go").touch()
        attempt = await made.verdict(task_id)
        assert (attempt.verdict, output(attempt)) == ("completed", "over\n")
        await eventually_async(lambda: not is_alive(daemon), BOUND_S)


@pytest.mark.parametrize("isolation", CLOSED)
async def test_a_cancel_asks_the_program_first_and_kills_every_daemon(isolation: str) -> None:
    script = (
        "trap 'echo caught > $DIR/trap; exit 0' INT; setsid sh -c 'trap \"\" TERM INT; while :; do sleep 987124; done' &"
        " echo ready > $DIR/ready; while :; do sleep 0.05; done"
    )
    async with site(isolation) as made:
        task_id = await made.submit(script)
        daemons = await eventually_async(lambda: pids_of("987124"), BOUND_S)
        await eventually_async((made.shared / "ready").exists, BOUND_S)
        await made.hub.api.cancel(ANN, task_id, "enough")
        attempt = await made.verdict(task_id)
        assert attempt.verdict == "canceled"
        assert (made.shared / "trap").read_text().strip() == "caught"
        await eventually_async(lambda: not any(map(is_alive, daemons)), BOUND_S)
        (delivery,) = attempt.deliveries
        assert not delivery.slot


@pytest.mark.parametrize("isolation", CLOSED)
async def test_a_program_that_is_kept_apart_hears_of_a_cancel_by_its_own_way(isolation: str) -> None:
    script = "trap '' INT TERM; echo ready > $DIR/ready; head -n 1 <&4 > $DIR/heard"
    async with site(isolation, {"cancel": "message"}) as made:
        task_id = await made.submit(script)
        await eventually_async((made.shared / "ready").exists, BOUND_S)
        await made.hub.api.cancel(ANN, task_id, "enough")
        attempt = await made.verdict(task_id)
        assert attempt.verdict == "canceled"
        assert (made.shared / "heard").read_text() == '{"type": "cancel"}\n'


@pytest.mark.parametrize("isolation", ["sandbox"])
async def test_the_kernel_kills_all_of_a_sandbox_when_its_runner_dies(isolation: str) -> None:
    script = "setsid sh -c 'while :; do sleep 987125; done' & sleep 987125"
    async with site(isolation) as made:
        await made.submit(script)
        pids = await eventually_async(lambda: pids_of("987125"), BOUND_S)
        assert made.daemon is not None
        made.daemon.send_signal(signal.SIGSTOP)  # so that nobody sweeps up
        (run,) = (made.home / "node" / "laptop" / "runs").iterdir()
        kill_runner(run)
        await eventually_async(lambda: not any(map(is_alive, pids)), BOUND_S)
        assert pids_of("987125") == []


@pytest.mark.parametrize("isolation", CLOSED)
async def test_a_death_by_signal_is_told_as_one(isolation: str) -> None:
    async with site(isolation) as made:
        attempt = await made.run("kill -SEGV $$")
        assert attempt.verdict == "failed"
        assert "SIGSEGV" in attempt.summary or "signal 11" in attempt.summary


@pytest.mark.parametrize("isolation", ["sandbox"])
async def test_without_network_not_even_the_hub_is_reached(isolation: str) -> None:
    script = f'{PYTHON} -c \'import os, urllib.request as u; u.urlopen(os.environ["TENURE_HUB"] + "/healthz", timeout=5)\''
    async with site(isolation, network=False) as made:
        attempt = await made.run(script)
        assert attempt.verdict == "failed"
        assert "refused" in output(attempt) or "unreachable" in output(attempt)


@pytest.mark.parametrize("isolation", ["sandbox"])
async def test_a_program_that_the_sandbox_does_not_show_is_named_before_the_start(isolation: str) -> None:
    async with site(isolation) as made:
        hidden = made.user_home / "agent"
        hidden.write_text("#!/bin/sh\n")
        hidden.chmod(0o755)
        attempt = await made.run((str(hidden),))
        assert (attempt.verdict, attempt.failure_class) == ("failed", "configuration")
        assert "sandbox.read" in attempt.summary


def pids_of(word: str) -> list[int]:
    """Processes with this word as an argument of their own."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words and is_alive(int(process.name)):
            found.append(int(process.name))
    return found

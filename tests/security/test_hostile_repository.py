"""A repository that was made to take over whoever touches it, and an agent that turns its own worktree into one.

Every trap writes the same file if anything of it is ever run. The node makes worktrees, collects evidence and cleans up;
nothing may have been sprung, and nothing outside the node's store may have changed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.core.ids import AttemptId
from tenure.errors import TenureError
from tenure.node.worktree.evidence import PATCH_BYTES
from tenure.node.worktree.repository_cache import repository_source
from tests.node.workspace_lab import FIRST, SECOND, WHO, Lab, commit_all, git, opened_lab

HOOKS = (
    "post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-merge", "pre-commit",
    "post-commit", "pre-receive", "update", "post-update", "fsmonitor-watchman", "proc-receive", "post-rewrite",
)  # fmt: skip


class Trapped:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.sprung = lab.folder / "sprung"
        self.outside = lab.folder / "outside"
        self.outside.mkdir()
        (self.outside / "kept.txt").write_text("kept\n")
        self.script = lab.folder / "trap.sh"
        self.script.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.sprung}\ncat\n')
        self.script.chmod(0o755)

    def configuration(self) -> tuple[tuple[str, str], ...]:
        trap = str(self.script)
        return (
            ("core.fsmonitor", trap),
            ("core.sshCommand", trap),
            ("core.gitProxy", trap),
            ("core.editor", trap),
            ("core.pager", trap),
            ("core.askPass", trap),
            ("core.alternateRefsCommand", trap),
            ("diff.external", trap),
            ("diff.trap.command", trap),
            ("diff.trap.textconv", trap),
            ("filter.trap.clean", trap),
            ("filter.trap.smudge", trap),
            ("filter.trap.process", trap),
            ("filter.lfs.process", trap),
            ("filter.lfs.smudge", trap),
            ("merge.trap.driver", trap),
            ("gpg.program", trap),
            ("log.showSignature", "true"),
            ("credential.helper", f"!{trap}"),
            ("uploadpack.packObjectsHook", trap),
            ("uploadarchive.allowUnreachable", "true"),
            ("alias.status", f"!{trap}"),
            ("sequence.editor", trap),
            ("submodule.sub.update", f"!{trap}"),
            ("submodule.recurse", "true"),
            ("protocol.ext.allow", "always"),
            ("url.ext::sh -c %S.insteadOf", "https://"),
        )

    def arm(self, folder: Path, at: Path) -> None:
        """Hooks and configuration of the repository whose git folder this is."""
        (folder / "hooks").mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / "hooks" / name).write_bytes(self.script.read_bytes())
            (folder / "hooks" / name).chmod(0o755)
        for name, value in self.configuration():
            git(at, "config", name, value)
        included = self.lab.folder / "included"
        included.write_text(f"[core]\n\tfsmonitor = {self.script}\n\thooksPath = {folder / 'hooks'}\n")
        git(at, "config", "include.path", str(included))
        git(at, "config", "includeIf.gitdir:/**.path", str(included))

    def content(self) -> dict[str, str]:
        return {
            ".gitattributes": "* filter=trap diff=trap merge=trap\n*.bin filter=lfs diff=lfs -text\n*.txt ident export-subst\n",
            ".gitmodules": (
                '[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c "touch%20'
                f'{self.sprung}"\n\tupdate = !{self.script}\n'
                '[submodule "-u./trap.sh"]\n\tpath = other\n\turl = -u./trap.sh\n'
            ),
            ".lfsconfig": f"[lfs]\n\turl = ext::{self.script}\n\tstandalonetransferagent = trap\n",
            "data.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 5\n",
            "a.txt": "$Id$\n",
        }


@pytest.fixture
def trapped(tmp_path: Path) -> Iterator[Trapped]:
    with opened_lab(tmp_path) as lab:
        yield Trapped(lab)


async def lived_through(lab: Lab, base: str, attempt: AttemptId = FIRST) -> None:
    worktree = await lab.prepare(attempt, base)
    (worktree.path / "a.txt").write_text("changed by an agent\n")
    await lab.evidence(worktree)
    await lab.clean_up(attempt)


async def test_nothing_of_a_hostile_repository_runs_on_its_way_through_the_node(trapped: Trapped) -> None:
    lab = trapped.lab
    for name, text in trapped.content().items():
        (lab.source / name).write_text(text)
    (lab.source / "out").symlink_to(trapped.outside)
    (lab.source / "passwd").symlink_to("/etc/passwd")
    base = commit_all(lab.source, "hostile")
    trapped.arm(lab.source / ".git", lab.source)
    trapped.sprung.unlink(missing_ok=True)
    await lived_through(lab, base)
    await lived_through(lab, base, SECOND)
    assert not trapped.sprung.exists(), trapped.sprung.read_text()
    assert sorted(one.name for one in trapped.outside.iterdir()) == ["kept.txt"]


async def test_a_worktree_that_an_agent_has_trapped_springs_on_nobody(trapped: Trapped) -> None:
    """It has hours to arrange its own worktree; what looks at it afterwards is the node."""
    lab = trapped.lab
    worktree = await lab.prepare()
    for name, text in trapped.content().items():
        (worktree.path / name).write_text(text)
    git_folder = Path(git(worktree.path, "rev-parse", "--absolute-git-dir"))
    common = Path(git(worktree.path, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    (worktree.path / "out").symlink_to(trapped.outside)
    (worktree.path / "a.txt").unlink()
    (worktree.path / "a.txt").symlink_to("/etc/shadow")
    for folder in {git_folder, common}:
        trapped.arm(folder, worktree.path)
    (git_folder / "config.worktree").write_text(f"[core]\n\tfsmonitor = {trapped.script}\n")
    git(worktree.path, "config", "extensions.worktreeConfig", "true")
    trapped.sprung.unlink(missing_ok=True)
    evidence = await lab.evidence(worktree)
    await lab.clean_up(FIRST)
    other = await lab.prepare(SECOND)
    await lab.evidence(other)
    assert not trapped.sprung.exists(), trapped.sprung.read_text()
    assert sorted(one.name for one in trapped.outside.iterdir()) == ["kept.txt"]
    assert "root:" not in evidence.patch.text


def tree_of(repository: Path, *lines: str) -> str:
    made = subprocess.run(
        ["git", "mktree", "--missing"], cwd=repository, input="\n".join(lines) + "\n", text=True,
        capture_output=True, check=True, timeout=30,
    )  # fmt: skip
    return made.stdout.strip()


def commit_of(repository: Path, tree: str) -> str:
    made = subprocess.run(
        ["git", "commit-tree", tree, "-m", "hostile"], cwd=repository, text=True, capture_output=True,
        check=True, timeout=30, env={**os.environ, **WHO},
    )  # fmt: skip
    git(repository, "update-ref", "refs/heads/hostile", made.stdout.strip())
    return made.stdout.strip()


def hostile_trees(source: Path, script: Path) -> dict[str, str]:
    """Trees that no ordinary git makes: names that leave the worktree, or that are its own folder."""
    blob = git(source, "hash-object", "-w", str(script))
    link = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=source, input=".git", text=True, capture_output=True,
        check=True, timeout=30,
    ).stdout.strip()  # fmt: skip
    hooks = tree_of(source, f"100755 blob {blob}\tpost-checkout", f"100755 blob {blob}\tpost-index-change")
    inside = tree_of(source, f"040000 tree {hooks}\thooks")
    return {
        "dot git": tree_of(source, f"040000 tree {inside}\t.git"),
        "another case": tree_of(source, f"040000 tree {inside}\t.GIT"),
        "parent": tree_of(source, f"100644 blob {blob}\t.."),
        "two cases of one name": tree_of(
            source, f"120000 blob {link}\tA", f"040000 tree {inside}\ta", f"100644 blob {blob}\tREADME"
        ),
        "a link and a file below it": tree_of(source, f"120000 blob {link}\tx", f"040000 tree {inside}\tx"),
    }


async def test_trees_that_lead_out_of_the_worktree_are_refused_or_stay_inside(trapped: Trapped) -> None:
    lab = trapped.lab
    for number, (what, tree) in enumerate(hostile_trees(lab.source, trapped.script).items()):
        base = commit_of(lab.source, tree)
        attempt = AttemptId(f"t_0000000000000000000000001b/{number + 1}")
        try:
            worktree = await lab.prepare(attempt, base)
            await lab.evidence(worktree)
        except TenureError:
            pass  # git would not check it out
        assert not trapped.sprung.exists(), (what, trapped.sprung.read_text())
        for hook in (*lab.store.rglob("hooks/post-checkout"), *lab.store.rglob("hooks/post-index-change")):
            assert "worktrees" in hook.relative_to(lab.store).parts[0], (what, hook)
    assert sorted(one.name for one in trapped.outside.iterdir()) == ["kept.txt"]
    assert sorted(one.name for one in lab.folder.iterdir()) == ["outside", "source", "store", "trap.sh"]


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c touch% sprung",
        "ext::/bin/sh",
        "fd::17/foo",
        "file::/etc",
        "transport-helper::x",
        "--upload-pack=touch sprung",
        "-oProxyCommand=touch sprung",
        "ssh://-oProxyCommand=touch%20sprung/x",
        "user@-oProxyCommand=x:repository",
        "https://host/a\nfetch",
        "https://host/\0",
        "javascript://x",
        "../relative",
        "~/repository",
        "",
    ],
)
def test_an_address_that_would_run_something_is_no_address(address: str) -> None:
    with pytest.raises(TenureError):
        repository_source(address)


async def test_borrowed_objects_of_a_repository_do_not_follow_into_the_node(trapped: Trapped) -> None:
    """What a source borrows from elsewhere (`alternates`) is copied; the node's own clone borrows from nobody."""
    lab = trapped.lab
    lender = lab.folder / "lender"
    git(lab.folder, "clone", "--quiet", "--bare", str(lab.source), str(lender))
    (lab.source / ".git/objects/info").mkdir(exist_ok=True)
    (lab.source / ".git/objects/info/alternates").write_text(f"{lender / 'objects'}\n")
    worktree = await lab.prepare()
    borrowed = list(lab.store.rglob("objects/info/alternates"))
    assert not [one for one in borrowed if str(lender) in one.read_text()]
    (lender / "HEAD").unlink()
    assert git(worktree.path, "cat-file", "-t", lab.base) == "commit"


ODD_NAMES = (
    "--upload-pack=touch sprung", "-x", "$(touch sprung)", "`touch sprung`", "a;touch sprung", "x" * 180, "\u202egnp", "HEAD",
    "refs/heads/main", "FETCH_HEAD", "@{-1}", "é/日本", "con", "a.lock.b", "%2e%2e", "main\u200b", "\x1b]0;x",
)  # fmt: skip
"""Names of branches that somebody may read as an option, a command, another name, or a sign to the terminal."""


def is_name(source: Path, name: str) -> bool:
    """Does git itself take it for the name of a branch?"""
    checked = subprocess.run(
        ["git", "check-ref-format", f"refs/heads/{name}"], cwd=source, timeout=30, check=False
    )
    return checked.returncode == 0


@pytest.mark.parametrize("kept", [True, False])
async def test_branches_with_odd_names_lead_nobody_astray(trapped: Trapped, kept: bool) -> None:
    """`kept`: those that git can keep; the others cannot be fetched from, which is said and is all that happens."""
    lab = trapped.lab
    names = [one for one in ODD_NAMES if is_name(lab.source, one) is kept]
    assert len(names) > 2
    written = [f"{lab.base} refs/heads/{one}" for one in names]
    written += [f"{lab.base} refs/heads/many/{number}" for number in range(200)]
    (lab.source / ".git/packed-refs").write_text(
        "# pack-refs with: peeled fully-peeled sorted \n" + "\n".join(sorted(written)) + "\n"
    )
    if kept:
        await lived_through(lab, lab.base)
        worktree = await lab.prepare(SECOND)
        assert git(worktree.path, "rev-parse", "HEAD") == lab.base
    else:
        with pytest.raises(TenureError, match="fetch from") as refused:
            await lab.prepare()
        assert "\x1b" not in str(refused.value)
    assert not trapped.sprung.exists()
    assert not list(lab.folder.rglob("sprung"))


async def test_a_worktree_with_what_is_no_file_or_has_no_end_holds_nobody_up(trapped: Trapped) -> None:
    """Pipes that nobody writes to, sockets, files with holes, rings of links, names with signs in them, depth."""
    lab = trapped.lab
    worktree = await lab.prepare()
    os.mkfifo(worktree.path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(worktree.path):
        listener.bind("socket")
    with (worktree.path / "holes").open("wb") as holes:
        holes.truncate(32 << 20)
    (worktree.path / "ring").symlink_to("ring")
    (worktree.path / "self").symlink_to(".")
    (worktree.path / "devices").symlink_to("/dev/zero")
    (worktree.path / "a\nb\x1b]0;x\x07").write_text("x\n")
    deep = worktree.path
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "end.txt").write_text("x\n")
    async with asyncio.timeout(60):
        evidence = await lab.evidence(worktree)
    assert len(evidence.patch.text) <= PATCH_BYTES
    assert "\x1b" not in evidence.patch.text
    async with asyncio.timeout(60):
        await lab.clean_up(FIRST)


async def test_the_traps_do_spring_on_whoever_uses_git_without_care(trapped: Trapped) -> None:
    """Otherwise the tests above would prove nothing."""
    source = trapped.lab.source
    for name, text in trapped.content().items():
        (source / name).write_text(text)
    trapped.arm(source / ".git", source)
    trapped.sprung.unlink(missing_ok=True)
    git(source, "add", "--all", check=False)
    git(source, "diff", "HEAD", check=False)
    git(source, "commit", "--message=x", check=False)
    sprung = trapped.sprung.read_text()
    assert "trap.sh" in sprung
    assert "hooks/" in sprung

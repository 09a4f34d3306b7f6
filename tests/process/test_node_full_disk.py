"""A disk that is really full, below a real daemon with real runners: a small file system of its own in memory."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.process.test_node_daemon import BOUND_S, RealLab, Site
from tests.servers.face import served

SIZE = "24m"
PIECE = 1 << 16


def fill(folder: Path) -> Path:
    """Takes all the room there is, to the last byte."""
    path = folder / "filler"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for piece in (PIECE, 4096, 1):
            with contextlib.suppress(OSError):
                while os.write(descriptor, bytes(piece)):
                    pass
    finally:
        os.close(descriptor)
    return path


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(home)]
    if subprocess.run(mounting, capture_output=True, check=False, timeout=60).returncode != 0:
        pytest.skip("a file system of one's own needs root; tests/node/test_node_full_disk.py needs none")
    try:
        async with served(RealLab()) as (hub, listening):
            made = Site(tmp_path, hub, listening.url)  # type: ignore[arg-type] - a fake stands for it
            try:
                await made.start()
                yield made
            finally:
                (home / "filler").unlink(missing_ok=True)
                made.clean()
    finally:
        subprocess.run(["umount", "--lazy", str(home)], check=False, timeout=60)


async def until_logged(site: Site, words: str) -> None:
    deadline = asyncio.get_running_loop().time() + BOUND_S
    while words not in site.log.read_text():
        assert asyncio.get_running_loop().time() < deadline, site.log.read_text()
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=0.05)


async def test_on_a_full_disk_what_runs_ends_and_is_reported_and_new_work_waits_for_room(site: Site) -> None:
    script = "echo here > $DIR/here; while [ ! -e $DIR/go ]; do sleep 0.05; done; echo over > $DIR/over"
    first = await site.submit(script)
    await site.note("here")
    filler = fill(site.home)
    second = await site.submit("echo second >> $DIR/second")
    await until_logged(site, "there is no room to write")
    (site.files / "go").touch()
    assert (await site.verdict(first)).verdict == "completed"
    assert await site.note("over") == "over"
    assert (await site.hub.attempt(second)).verdict is None
    assert not (site.files / "second").exists()
    # A daemon that is killed now has nothing in memory that is not on disk, with its runner or at the hub.
    await site.kill()
    filler.unlink()
    await site.start()
    assert (await site.verdict(second)).verdict == "completed"
    assert (site.files / "second").read_text() == "second\n"
    assert (await site.hub.attempt(first)).verdict == "completed"

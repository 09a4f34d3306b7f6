"""Context references: fetched, checked against their digests, and never trusted further than that."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tenure.core.task import Reference
from tenure.errors import ConfigurationError, TooLargeError, UnavailableError
from tenure.node.execution import context
from tenure.node.execution.context import ContextFetcher, file_name
from tests.node.virtual import InPlace

WORDS = b"read me"
DIGEST = hashlib.sha256(WORDS).hexdigest()


def fetcher(answer: Callable[[httpx.Request], httpx.Response] | None = None) -> ContextFetcher:
    if answer is None:
        return ContextFetcher(InPlace())
    return ContextFetcher(InPlace(), lambda: httpx.AsyncClient(transport=httpx.MockTransport(answer)))


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "notes" / "a note.txt"
    path.parent.mkdir()
    path.write_bytes(WORDS)
    return path


@pytest.mark.parametrize("address", ["{0}", "file://{0}", "file://localhost{0}"])
async def test_a_file_is_copied_and_checked(tmp_path: Path, note: Path, address: str) -> None:
    uri = address.format(str(note).replace(" ", "%20") if address.startswith("file") else note)
    (found,) = await fetcher().fetch((Reference(uri, DIGEST),), tmp_path)
    assert found.uri == uri
    assert found.path == str(tmp_path / "inputs" / "001-a-note.txt")
    copy = Path(found.path)
    assert copy.read_bytes() == WORDS
    assert copy.stat().st_mode & 0o777 == 0o600


async def test_it_may_be_fetched_again(tmp_path: Path, note: Path) -> None:
    for _ in range(2):
        await fetcher().fetch((Reference(str(note), DIGEST), Reference(str(note), DIGEST)), tmp_path)
    assert sorted(path.name for path in (tmp_path / "inputs").iterdir()) == [
        "001-a-note.txt",
        "002-a-note.txt",
    ]


async def test_an_address_is_fetched_and_checked(tmp_path: Path) -> None:
    found = await fetcher(lambda _: httpx.Response(200, content=WORDS)).fetch(
        (Reference("https://host/docs/spec.md?v=2", DIGEST),), tmp_path
    )
    assert Path(found[0].path).name == "001-spec.md"


async def test_what_has_changed_is_refused_with_both_digests(tmp_path: Path, note: Path) -> None:
    with pytest.raises(ConfigurationError, match=DIGEST):
        await fetcher().fetch((Reference(str(note), "0" * 64),), tmp_path)


@pytest.mark.parametrize("uri", ["notes/a.txt", "ftp://host/a", "file://elsewhere/a", "https://host/a"])
async def test_an_address_of_another_kind_is_refused(tmp_path: Path, uri: str) -> None:
    with pytest.raises(ConfigurationError):
        await fetcher().fetch((Reference(uri, DIGEST),), tmp_path)


async def test_what_is_no_plain_file_is_refused_and_waits_for_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "missing", ".", "nul\0"):
        with pytest.raises(ConfigurationError):
            await fetcher().fetch((Reference(str(tmp_path / name), DIGEST),), tmp_path)


async def test_more_than_the_bound_is_refused_from_either_source(
    tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "INPUT_BYTES", 3)
    with pytest.raises(TooLargeError):
        await fetcher().fetch((Reference(str(note), DIGEST),), tmp_path)
    with pytest.raises(TooLargeError):
        await fetcher(lambda _: httpx.Response(200, content=WORDS)).fetch(
            (Reference("https://host/a", DIGEST),), tmp_path
        )


@pytest.mark.parametrize(
    ("status", "error"),
    [(503, UnavailableError), (429, UnavailableError), (404, ConfigurationError), (302, ConfigurationError)],
)
async def test_a_servers_no_is_told_apart_from_its_not_now(
    tmp_path: Path, status: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await fetcher(lambda _: httpx.Response(status)).fetch(
            (Reference("https://host/a", DIGEST),), tmp_path
        )


async def test_a_server_that_is_not_there_is_not_there_now(tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(UnavailableError):
        await fetcher(answer).fetch((Reference("https://host/a", DIGEST),), tmp_path)


def test_a_name_for_the_copy_is_plain_whatever_the_address_is() -> None:
    assert file_name("https://host/../..%2f..%2fetc/passwd") == "passwd"
    assert file_name("https://host/") == "input"
    assert file_name("/a/.hidden") == "hidden"
    assert len(file_name("/" + "x" * 500)) == 80

"""Context references: fetched into the run folder, and checked against their digests before anything is started.

A reference is a file of this machine (an absolute path, or `file:`) or an address (`http:`, `https:`). What it holds
must have the SHA-256 that was frozen with the Attempt: a reference that has changed is another Task's business.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, TypeVar, final
from urllib.parse import SplitResult, unquote, urlsplit

import httpx

from tenure.core.task import Reference
from tenure.errors import ConfigurationError, TooLargeError, UnavailableError
from tenure.harness.port import Input
from tenure.runtime.plain_answer import PLAIN, is_packed

INPUT_BYTES = 64 << 20
"""One reference; larger material belongs into a repository."""
INPUTS = "inputs"
FETCH_S = 300.0
"""One reference over a slow line."""
CHUNK_BYTES = 1 << 20
REDIRECTS = 10
NAME_CHARACTERS = 80

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_BUSY = range(500, 600)
_TOO_MANY = 429

T = TypeVar("T")


@final
class ContextFetcher:
    """`make_client` makes the network; without one, only files are fetched."""

    def __init__(
        self, executor: Executor, make_client: Callable[[], httpx.AsyncClient] | None = None
    ) -> None:
        self._executor = executor
        self._make_client = make_client

    async def fetch(self, references: Iterable[Reference], run_dir: Path) -> tuple[Input, ...]:
        """The references as local files under `run_dir/inputs`, in order. May be repeated.

        Raises:
            ConfigurationError: one is missing, is no plain file, cannot be addressed so, or has another digest.
            TooLargeError: one has more than `INPUT_BYTES`.
            UnavailableError: a server did not answer, or has no time now.
            OSError: it cannot be written.
        """
        inputs: list[Input] = []
        await self._in_executor(partial(make_folders, run_dir))
        for number, reference in enumerate(references, 1):
            path = run_dir / INPUTS / f"{number:03d}-{file_name(reference.uri)}"
            found = await self._copied(reference.uri, path)
            if found != reference.digest:
                raise ConfigurationError(
                    f"context {reference.uri} has the digest {found}, not {reference.digest}; it has changed since the"
                    " task was submitted. Submit again with the new digest, or restore the old content.",
                    uri=reference.uri,
                    digest=found,
                )
            inputs.append(Input(uri=reference.uri, path=str(path)))
        return tuple(inputs)

    async def _copied(self, uri: str, target: Path) -> str:
        parts = parts_of(uri)
        if parts.scheme in {"http", "https"}:
            if self._make_client is None:
                raise ConfigurationError(
                    f"context {uri}: this node fetches nothing over the network", uri=uri
                )
            return await self._downloaded(uri, target, self._make_client)
        is_local = parts.scheme == "file" and parts.netloc in {"", "localhost"}
        source = unquote(parts.path) if is_local else uri
        if not source.startswith("/"):
            raise ConfigurationError(
                f"context {uri!r} is neither an absolute path, nor a file:, http: or https: address", uri=uri
            )
        return await self._in_executor(partial(copy_file, uri, Path(source), target))

    async def _downloaded(self, uri: str, target: Path, make_client: Callable[[], httpx.AsyncClient]) -> str:
        try:
            async with (
                asyncio.timeout(FETCH_S),
                make_client() as client,
                answered(client, uri) as response,
            ):
                refuse_status(uri, response.status_code)
                refuse_packed(uri, response)
                with await self._in_executor(partial(open_new, target)) as file:
                    copy = Copy(uri, file)
                    async for chunk in response.aiter_bytes():
                        await self._in_executor(partial(copy.add, chunk))
                    return copy.digest
        except httpx.InvalidURL as error:
            raise ConfigurationError(f"context {uri!r} is no address: {error}", uri=uri) from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise UnavailableError(f"context {uri} could not be fetched: {error!r}", uri=uri) from error

    def _in_executor(self, work: Callable[[], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._executor, work)


@final
class Copy:
    """What is written and digested on the way, within the bound."""

    def __init__(self, uri: str, file: IO[bytes]) -> None:
        self._uri = uri
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        """One piece more.

        Raises:
            TooLargeError: it is more than is fetched.
            OSError: it cannot be written.
        """
        self._size += len(chunk)
        if self._size > INPUT_BYTES:
            raise TooLargeError(
                f"context {self._uri} has more than {INPUT_BYTES} bytes; put it into a repository",
                uri=self._uri,
                limit_bytes=INPUT_BYTES,
            )
        self._hash.update(chunk)
        self._file.write(chunk)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def make_folders(run_dir: Path) -> None:
    """The run folder and the one for its inputs, for this user only."""
    for folder in (run_dir, run_dir / INPUTS):
        folder.mkdir(mode=0o700, exist_ok=True)


def copy_file(uri: str, source: Path, target: Path) -> str:
    """Copies a plain file of this machine; its digest.

    Raises:
        ConfigurationError: it is missing, is no plain file, or may not be read.
        TooLargeError: it is more than is fetched.
        OSError: the copy cannot be written.
    """
    try:
        # A pipe in the file's place must not hold us up.
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # the latter for a name with NUL in it
        raise ConfigurationError(f"context {uri} cannot be read ({error})", uri=uri) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ConfigurationError(f"context {uri} is not a plain file", uri=uri)
        with open_new(target) as copied:
            copy = Copy(uri, copied)
            while chunk := os.read(descriptor, CHUNK_BYTES):
                copy.add(chunk)
        return copy.digest
    finally:
        os.close(descriptor)


def open_new(path: Path) -> IO[bytes]:
    """A file for this user only; what stood there before is replaced."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


@asynccontextmanager
async def answered(client: httpx.AsyncClient, uri: str) -> AsyncGenerator[httpx.Response]:
    """The answer at the end of all redirects. They are followed here, since the library would read the whole body of each,
    however long it is.

    Raises:
        ConfigurationError: there are more of them than `REDIRECTS`, or one leads out of the web.
        httpx.HTTPError: there is none.
    """
    request = client.build_request("GET", uri, headers=PLAIN)
    refuse_elsewhere(uri, request.url)
    for _ in range(REDIRECTS + 1):
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if response.next_request is None:
                yield response
                return
        finally:
            await response.aclose()
        request = response.next_request
        refuse_elsewhere(uri, request.url)
    raise ConfigurationError(f"context {uri}: more than {REDIRECTS} redirects", uri=uri)


def refuse_elsewhere(uri: str, url: httpx.URL) -> None:
    """Refuses what leads out of the web. The library reads an address by rules of its own, so its first one is asked, too.

    Raises:
        ConfigurationError: it does.
    """
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigurationError(
            f"context {uri!r} leads to {str(url)[:200]!r}, which is not on the web", uri=uri
        )


def refuse_status(uri: str, status_code: int) -> None:
    """Refuses every answer but a success.

    Raises:
        UnavailableError: the server may answer later.
        ConfigurationError: it will not.
    """
    if status_code in _BUSY or status_code == _TOO_MANY:
        raise UnavailableError(f"context {uri}: the server answered {status_code}", uri=uri)
    if not 200 <= status_code < 300:
        raise ConfigurationError(f"context {uri}: the server answered {status_code}", uri=uri)


def refuse_packed(uri: str, response: httpx.Response) -> None:
    """Refuses an answer that would have to be unpacked: nobody knows how much it would be.

    Raises:
        ConfigurationError: it is compressed, though it was asked for as it is.
    """
    if is_packed(response):
        raise ConfigurationError(
            f"context {uri}: the server answers compressed, also when it is asked not to; reference an address that"
            " serves it as it is",
            uri=uri,
        )


def parts_of(uri: str) -> SplitResult:
    """The parts of an address.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        parts = urlsplit(uri)
        _ = parts.port  # read only when it is asked for
    except ValueError as error:  # half a pair of brackets, a host that none can be called, no port
        raise ConfigurationError(f"context {uri!r} is no address: {error}", uri=uri) from error
    return parts


def file_name(uri: str) -> str:
    """A plain name for the copy, by the last part of the address.

    Raises:
        ConfigurationError: it is no address.
    """
    last = unquote(parts_of(uri).path).rstrip("/").rsplit("/", 1)[-1]
    return _UNFIT.sub("-", last)[-NAME_CHARACTERS:].lstrip(".") or "input"

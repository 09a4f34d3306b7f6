"""The forge's process: `python -m tenure.testing.forge [--plan FILE] [--journal FILE] [--git FOLDER] [--lenient]`.

Prints one JSON line, `{"port": …}`, and serves until it is ended. On one port: GitHub at `/`, Gitea at `/api/v1`,
GitLab at `/api/v4`, a webhook's receiver at `/hook` (asked at `/delivery/ID`), and the control at `/_control`:

- `POST /_control/faults`: a list of faults (`plan.py`), behind those still to come
- `DELETE /_control/faults`: none of those still to come
- `GET /_control/faults`: those that were injected
- `GET /_control/journal`: what was really done, one entry for each piece of work
- `GET /_control/requests`: each request's method, path and headers, as it came
- `POST /_control/pull`: `{"repository", "number", …}` changes a pull request (`state`, `body`, `head_sha`)

Any credential is taken but one that ends with `wrong`. What a fault does to a connection needs the bare connection, so this is asyncio and
not a web framework."""

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from tenure.testing.forge.dialect import Account, Asked, Gitea, GitHub, GitLab, Hook, Reply, Work, duplicate
from tenure.testing.forge.plan import ForgeFault, Plan
from tenure.testing.forge.state import Journal, State

DESCRIPTION = """\
A forge for tests: it speaks the REST APIs of GitHub, Gitea and GitLab and breaks as told. It prints one JSON line,
{"port": PORT}, and serves until it is ended. As a provider of Tenure it is:

  kind    url                             serves
  github  http://127.0.0.1:PORT           GitHub's API
  gitea   http://127.0.0.1:PORT           Gitea's, below /api/v1
  gitlab  http://127.0.0.1:PORT           GitLab's, below /api/v4

Token: any text is taken, and none too; only one that ends with `wrong` is refused (401)."""
GARBAGE = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"number": 4'
PAGE = b"<!DOCTYPE html><html><body><h1>Unicorn!</h1></body></html>"
FLOOD_BYTES = 10_000_000
BODY_BYTES = 2**20
JSON = "application/json; charset=utf-8"
BEFORE = frozenset(
    {
        "lose_request",
        "error_before",
        "limit",
        "secondary_limit",
        "busy",
        "refuse",
        "duplicate",
        "redirect",
        "page",
        "hang",
    }
)
"""Faults under which nothing is done."""


class Request:
    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        parts = urlsplit(target)
        self.method, self.path = method, parts.path
        self.query = dict(parse_qsl(parts.query))
        self.headers, self.body = headers, body
        self.text = f"{target}\n{headers.get('tenure-delivery', '')}\n{body.decode('utf-8', 'replace')}"


class Forge:
    def __init__(self, state: State, plan: Plan) -> None:
        self.state, self.plan = state, plan
        self.requests: list[dict[str, Any]] = []
        self.routes: list[Any] = []

    def serve_at(self, port: int) -> None:
        url = f"http://127.0.0.1:{port}"
        self.routes = [
            Gitea(self.state, f"{url}/api/v1"),
            GitLab(self.state, url),
            GitHub(self.state, url),
            Hook(self.state),
            Account(url),
        ]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while request := await read(reader):
                if not await self.answer(request, reader, writer):
                    break
        writer.close()

    async def answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the connection goes on."""
        if request.path.startswith("/_control/"):
            return await send(writer, *self.control(request))
        self.requests.append({"method": request.method, "path": request.path, "headers": request.headers})
        operation, work = self.routed(request)
        fault = self.plan.take(operation, request.text)
        if fault is None:
            return await send(writer, *work())
        if fault.fault == "held":
            await self.plan.cleared.wait()
            return await send(writer, *work())
        return await Broken(fault, work, reader, writer, request).play(self.state)

    def routed(self, request: Request) -> tuple[str, Work]:
        credentials = request.headers.get("authorization", "") + request.headers.get("private-token", "")
        try:
            body = msgspec.json.decode(request.body) if request.body else None
        except msgspec.DecodeError:
            body = None
        asked = Asked(request.method, request.path, request.query, body)
        asked.delivery = request.headers.get("tenure-delivery", "")
        routes = (one.route(asked) for one in self.routes)
        operation, work = next(
            (one for one in routes if one), ("nothing", lambda: (404, {"message": "Not Found"}))
        )
        if credentials.endswith("wrong"):
            return operation, lambda: (401, {"message": "Bad credentials"})
        return operation, work

    def control(self, request: Request) -> Reply:
        what = request.method, request.path.removeprefix("/_control/")
        if what == ("POST", "faults"):
            for fault in msgspec.json.decode(request.body, type=list[ForgeFault]):
                self.plan.add(fault)
            return 200, {"coming": len(self.plan.faults)}
        if what == ("DELETE", "faults"):
            self.plan.clear()
            return 200, {}
        if what == ("POST", "pull"):
            given = msgspec.json.decode(request.body)
            repository = self.state.repository(given.pop("repository"))
            assert repository is not None
            repository.pulls[given.pop("number")].update(given)
            return 200, {}
        return 200, {
            ("GET", "faults"): self.plan.injected,
            ("GET", "journal"): self.state.journal.lines,
            ("GET", "requests"): self.requests,
        }[what]


class Broken:
    """One request that goes wrong."""

    def __init__(
        self,
        fault: ForgeFault,
        work: Work,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        request: Request,
    ) -> None:
        self.fault, self.work = fault, work
        self.reader, self.writer, self.request = reader, writer, request

    async def play(self, state: State) -> bool:
        """Whether the connection goes on."""
        fault = self.fault
        if fault.fault in BEFORE:
            return await getattr(self, fault.fault)()
        if fault.fault == "late_work":
            await passed(fault.ms)
        state.lag_s = fault.ms / 1000 if fault.fault == "lag" else 0.0
        reply = self.work()
        state.lag_s = 0.0
        if fault.fault in {"lag", "late_work"}:
            return await send(self.writer, *reply)
        return await getattr(self, fault.fault)(reply)

    async def lose_request(self) -> bool:
        return False

    async def error_before(self) -> bool:
        return await send(self.writer, self.fault.status, {"message": "Server Error"})

    async def limit(self) -> bool:
        said = {"message": "API rate limit exceeded for user ID 41870023."}
        more = {"Retry-After": "7", "X-RateLimit-Remaining": "0", "X-RateLimit-Limit": "5000"}
        return await send(self.writer, 429, said, more)

    async def secondary_limit(self) -> bool:
        words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        return await send(self.writer, 403, {"message": words})

    async def busy(self) -> bool:
        return await send(self.writer, 503, {"message": "Unavailable"}, {"Retry-After": "3"})

    async def refuse(self) -> bool:
        return await send(self.writer, 422, {"message": "Validation Failed", "errors": []})

    async def duplicate(self) -> bool:
        given: dict[str, Any] = msgspec.json.decode(self.request.body) if self.request.body else {}
        return await send(self.writer, *duplicate("owner/name", given))

    async def redirect(self) -> bool:
        where = {"Location": "http://127.0.0.1:1/elsewhere"}
        return await send(self.writer, 307, {"message": "Moved"}, where)

    async def page(self) -> bool:
        return await raw(self.writer, 200, PAGE, "text/html")

    async def hang(self) -> bool:
        await self.reader.read()
        return False

    async def lose_answer(self, reply: Reply) -> bool:
        return False

    async def cut_answer(self, reply: Reply) -> bool:
        body = msgspec.json.encode(reply[1])
        self.writer.write(head(reply[0], JSON, len(body), {}) + body[: len(body) // 2])
        await self.writer.drain()
        return False

    async def late(self, reply: Reply) -> bool:
        await passed(self.fault.ms)
        return await send(self.writer, *reply)

    async def twice(self, reply: Reply) -> bool:
        body = msgspec.json.encode(reply[1])
        self.writer.write(head(reply[0], JSON, len(body), {}) + body + GARBAGE)
        await self.writer.drain()
        return False

    async def error_after(self, reply: Reply) -> bool:
        return await send(self.writer, self.fault.status, {"message": "Server Error"})

    async def page_after(self, reply: Reply) -> bool:
        return await raw(self.writer, 200, PAGE, "text/html")

    async def unreadable(self, reply: Reply) -> bool:
        return await raw(self.writer, reply[0], b'{"id": ', JSON)

    async def hang_after(self, reply: Reply) -> bool:
        return await self.hang()

    async def flood(self, reply: Reply) -> bool:
        return await raw(
            self.writer, reply[0], b'{"id":1,"number":1,"body":"' + b"x" * FLOOD_BYTES + b'"}', JSON
        )


async def passed(ms: int) -> None:
    """Time itself is what this fault is made of."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_later(ms / 1000, done.set)
    await done.wait()


async def read(reader: asyncio.StreamReader) -> Request | None:
    line = await reader.readline()
    if not line.strip():
        return None
    method, target, _ = line.decode().split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    body = await reader.readexactly(min(length, BODY_BYTES))
    return Request(method, target, headers, body)


async def send(
    writer: asyncio.StreamWriter, status: int, body: Any, more: dict[str, str] | None = None
) -> bool:
    encoded = b"" if body is None else msgspec.json.encode(body)
    return await raw(writer, status, encoded, JSON, more)


async def raw(
    writer: asyncio.StreamWriter, status: int, body: bytes, kind: str, more: dict[str, str] | None = None
) -> bool:
    writer.write(head(status, kind, len(body), more or {}) + body)
    await writer.drain()
    return True


def head(status: int, kind: str, length: int, more: dict[str, str]) -> bytes:
    headers = {
        "Content-Type": kind,
        "Content-Length": str(length),
        "X-GitHub-Request-Id": "C0FE:1A2B",
        **more,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode()


async def serve(arguments: argparse.Namespace) -> None:
    plan = arguments.plan or Plan()
    forge = Forge(State(Journal(arguments.journal), lenient=arguments.lenient, git=arguments.git), plan)
    server = await asyncio.start_server(forge.connected, "127.0.0.1", arguments.port)
    port = server.sockets[0].getsockname()[1]
    forge.serve_at(port)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    sys.stdout.write(msgspec.json.encode({"port": port}).decode() + "\n")
    sys.stdout.flush()
    await ended.wait()
    server.close()
    forge.state.journal.close()


def main() -> None:
    parser = options()
    arguments = parser.parse_args()
    try:
        asyncio.run(serve(arguments))
    except OSError as error:  # the port is taken, or the journal cannot be written
        parser.error(str(error))


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tenure.testing.forge",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DESCRIPTION,
    )
    parser.add_argument(
        "--port",
        type=port_in,
        default=0,
        help="the port to listen on, on this machine only; 0 (usual): a free one, which the first line says",
    )
    parser.add_argument(
        "--plan",
        type=plan_in,
        metavar="FILE",
        help='a JSON file with the faults to come, as [{"operation": "pull_request", "fault": "lose_answer"}]; without one '
        "nothing goes wrong",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="a file to which one JSON line is appended for each piece of work that was really done",
    )
    parser.add_argument(
        "--git",
        type=folder_in,
        metavar="FOLDER",
        help="a folder with bare repositories, FOLDER/OWNER/NAME.git: a pull request needs branches that are there. "
        "Without it every branch of every repository is there",
    )
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="take a second open pull request of the same head and base, which is refused else, so that doubles count",
    )
    return parser


def port_in(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) < 2**16):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no port from 0 to {2**16 - 1}")
    return int(text)


def plan_in(text: str) -> Plan:
    try:
        return Plan.of(Path(text).read_bytes())
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no list of faults: {error}") from error


def folder_in(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return Path(text)


if __name__ == "__main__":
    main()

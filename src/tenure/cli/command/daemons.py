"""`tenure hub`, `tenure node` and `tenure enroll`: the processes themselves, in the foreground."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.process.node_wiring import NodeStart
    from tenure.node.daemon import Ready
    from tenure.runtime.data_folder import DataFolder
    from tenure.runtime.settings import HubSettings
    from tenure.servers.rest.serve import Bind, Listening

NOISY = ("alembic", "httpcore", "httpx", "uvicorn")
"""Libraries whose news of every request and start would bury ours."""

OWN_FILES = 100
"""Open files that the hub needs beside its connections, with room to spare."""

log = logging.getLogger(__name__)

app = family()

ReadyOption = Annotated[int | None, typer.Option("--ready-fd", hidden=True)]


@command(app, "hub", asks_no_hub=True)
def hub(cli: Invocation, ready_fd: ReadyOption = None) -> int:
    """Run the hub in the foreground.

    For a service manager, or a hub that serves other machines. It ends on SIGTERM or Ctrl-C; it may be killed at any
    time, and comes back with everything it has confirmed.
    """
    from tenure.cli.process.readiness import said_or_raised

    settings = cli.settings.hub
    start_logging(cli, ready_fd)
    return said_or_raised(ready_fd, lambda: asyncio.run(serve_hub(cli, settings, ready_fd)))


async def serve_hub(cli: Invocation, settings: HubSettings, ready_fd: int | None) -> int:
    """Serves the hub of this data folder until it is asked to stop."""
    from tenure.cli.process.data_files import HUB_PART, forget_local_hub, write_local_hub
    from tenure.cli.process.hub_wiring import running_hub
    from tenure.cli.process.notify_wiring import notifying
    from tenure.cli.process.process_mark import write_mark
    from tenure.cli.process.provider_wiring import provider_look
    from tenure.cli.process.push_wiring import push_gate
    from tenure.cli.process.readiness import say_ready
    from tenure.servers.rest.app import create_app
    from tenure.servers.rest.peer import Facing
    from tenure.servers.rest.rates import Rates
    from tenure.servers.rest.serve import serve

    os.umask(0o077)
    folder = cli.open_folder()
    telling = notifying(cli.settings.notifications, folder.part(HUB_PART), cli.env)
    with folder.lock(HUB_PART, "tenure hub"), telling as companion:
        write_mark(folder.part(HUB_PART), "tenure hub")
        stop = stop_on_signals()
        look = provider_look(cli.settings.providers, folder.part(HUB_PART), cli.env)
        async with running_hub(folder, settings, look, companion) as hub:
            bind = bind_of(settings, folder)

            def on_ready(listening: Listening) -> None:
                url = local_url(listening)
                write_local_hub(folder, url)
                say_ready(ready_fd, {"url": url, "incarnation": hub.identity.incarnation})
                if ready_fd is None:
                    tell_hub_ready(cli, url, listening.url)

            gate = push_gate(hub, look, folder.part(HUB_PART), cli.env)
            facing = Facing(
                proxies=frozenset(settings.trusted_proxies),
                nodes_show_certificates=settings.tls_client_ca is not None,
                rates=Rates(hub.clock, settings.requests_per_s),
            )
            app = create_app(hub, max_body_bytes=settings.max_body_bytes, git=gate, face=facing)
            warn_if_heard_by_all(settings)
            await serve(app, bind, stop, on_ready=on_ready, on_stopping=hub.let_go)
        forget_local_hub(folder)
    return 0


def bind_of(settings: HubSettings, folder: DataFolder) -> Bind:
    """Where it listens, within which bounds, and with which certificate; what it shows is left in the data folder."""
    from tenure.cli.process.data_files import local_hub_url
    from tenure.servers.rest.connection import Bounds
    from tenure.servers.rest.serve import Bind

    return Bind(
        host=settings.bind,
        port=settings.port or last_port(local_hub_url(folder.root)),
        tls_cert=settings.tls_cert,
        tls_key=settings.tls_key,
        client_ca=settings.tls_client_ca,
        allow_insecure=settings.allow_insecure_bind,
        bounds=Bounds(connections=bounded_connections()),
        on_certificate=partial(keep_certificate, folder),
    )


def keep_certificate(folder: DataFolder, pem: str) -> None:
    """Leaves the certificate for commands on this machine. A full disk must not end a hub: it is tried again in seconds."""
    from tenure.cli.process.data_files import keep_local_certificate
    from tenure.errors import TenureError

    try:
        keep_local_certificate(folder, pem)
    except (OSError, TenureError) as error:
        log.warning("commands on this machine do not know the hub's certificate yet: %s", error)


def warn_if_heard_by_all(settings: HubSettings) -> None:
    """Say in the log what `allow_insecure_bind` means."""
    from tenure.runtime.settings import is_loopback

    if not is_loopback(settings.bind) and settings.tls_cert is None:
        log.warning(
            "the hub listens on %s without TLS: whoever is on the network can read tokens and act with them",
            settings.bind,
        )


def bounded_connections() -> int:
    """How many connections the hub may hold: each is an open file, and the hub needs some for itself."""
    from tenure.runtime.platform import allow_open_files
    from tenure.servers.rest.connection import CONNECTIONS

    return max(1, min(CONNECTIONS, allow_open_files(CONNECTIONS + OWN_FILES) - OWN_FILES))


def tell_hub_ready(cli: Invocation, url: str, listens_on: str) -> None:
    """`url`: how this machine reaches it; `listens_on`: what it is bound to."""
    cli.out.data({"hub": {"url": url, "listens_on": listens_on, "home": str(cli.home)}})
    if not cli.out.json:
        here = "" if url == listens_on else f", every address of this machine; from here it is {url}"
        cli.out.say(f"the hub of {cli.home} listens on {listens_on}{here}")


def local_url(listening: Listening) -> str:
    """How this machine reaches what listens: an address that stands for all of its own is none to connect to."""
    for every, own in (("//0.0.0.0:", "//127.0.0.1:"), ("//[::]:", "//[::1]:")):
        if every in listening.url:
            return listening.url.replace(every, own)
    return listening.url


def last_port(url: str | None) -> int:
    """The port of a hub that was killed, so that its nodes find it again; 0 (any) where the last one was stopped."""
    from urllib.parse import urlsplit

    return (urlsplit(url).port or 0) if url else 0


class NodeOptions(NamedTuple):
    """What `node` takes."""

    local: Annotated[
        bool,
        typer.Option("--local", help="Work for the hub of this data folder, and introduce itself to it."),
    ] = False
    ready_fd: ReadyOption = None


@command(app, "node")
def node(cli: Invocation, options: NodeOptions) -> int:
    """Run this machine's node in the foreground.

    For the hub that it was enrolled at, or the one of this data folder. It ends on SIGTERM or Ctrl-C; what runs goes on
    by itself until its lease is over, and the next start takes it up again.
    """
    from tenure.cli.process.readiness import said_or_raised

    settings = cli.settings
    start_logging(cli, options.ready_fd)
    return said_or_raised(options.ready_fd, lambda: asyncio.run(serve_node(cli, options, settings.node.name)))


async def serve_node(cli: Invocation, options: NodeOptions, name: str) -> int:
    """Works as this machine's node until it is asked to stop.

    Raises:
        UnauthenticatedError: the hub does not know this node, and there is no way to introduce it.
    """
    from tenure.cli.process.joining import hub_of_node, is_enrolled, is_own_hub
    from tenure.cli.process.node_wiring import NodeStart, run_node
    from tenure.errors import UnauthenticatedError

    cli.open_folder()
    url = hub_of_node(cli, local=options.local)
    start = NodeStart(cli, url, stop_on_signals(), partial(tell_node_ready, cli, options, name))
    if await is_enrolled(cli, name):
        try:
            await run_node(start, None)
        except UnauthenticatedError:
            # The hub of this data folder may have a new record; then its own node introduces itself again.
            if not is_own_hub(cli, url):
                raise
        else:
            return 0
    await run_introduced(start, name)
    return 0


async def run_introduced(start: NodeStart, name: str) -> None:
    """Introduces this node to the hub of its own data folder, and works."""
    from tenure.cli.process.joining import introduction
    from tenure.cli.process.node_wiring import run_node

    async with introduction(start.cli, start.url, name) as introduced:

        def on_ready(ready: Ready) -> None:
            introduced.over.set()
            start.on_ready(ready)

        await run_node(start._replace(on_ready=on_ready), introduced.token)


def tell_node_ready(cli: Invocation, options: NodeOptions, name: str, ready: Ready) -> None:
    """Says that the node takes work: to whoever started it, or to the terminal."""
    from tenure.cli.process.data_files import node_part
    from tenure.cli.process.default_recipient import recipients_of
    from tenure.cli.process.process_mark import write_mark
    from tenure.cli.process.readiness import say_ready
    from tenure.cli.text.counting import counted

    write_mark(cli.open_folder().part(node_part(name)), "tenure node")
    facts = {
        "name": name,
        "node_id": ready.enrolled.node_id,
        "taken_up": ready.adopted,
        "recipients": [
            {"name": one.name, "capacity": one.capacity, "takes_command": one.allow_command}
            for one in recipients_of(cli.settings)
        ],
    }
    say_ready(options.ready_fd, facts)
    if options.ready_fd is None:
        cli.out.data({"node": facts})
        if not cli.out.json:
            taken_up = f", and has taken up {counted(ready.adopted, 'run')}" if ready.adopted else ""
            cli.out.say(f"node {name} takes work{taken_up}")


class EnrollOptions(NamedTuple):
    """What `enroll` takes."""

    join_token: Annotated[
        str | None,
        typer.Option(
            "--join-token",
            metavar="TOKEN",
            help="The join token; better on standard input, which nobody else can see.",
        ),
    ] = None


@command(app, "enroll")
def enroll(
    cli: Invocation,
    url: Annotated[str, typer.Argument(metavar="URL", help="The hub, such as https://hub.example:8484.")],
    options: EnrollOptions,
) -> None:
    """Introduce this machine to a hub elsewhere.

    Asks for a join token (`tenure token issue NAME --role join` on the hub's machine), or reads it from standard input.
    Makes the node's own credential, keeps it in the data folder and gives it to the hub. Then start `tenure node`.
    A hub that does not answer is asked for half a minute; a certificate that is not trusted ends it at once.
    """
    from tenure.cli.process.joining import enroll_once, remember_hub

    token = options.join_token or asked_token()
    start_logging(cli, None)
    node_id = asyncio.run(enroll_once(cli, url, token))
    name = cli.settings.node.name
    remember_hub(cli, name, url)
    cli.out.data({"node": name, "node_id": node_id, "hub": url})
    if not cli.out.json:
        cli.out.say(f"{name} is enrolled at {url}; `{cli.pasteable('node')}` lets it work")


def asked_token() -> str:
    """The join token from standard input, or asked for without showing it.

    Raises:
        InvalidError: nothing was given.
    """
    import sys

    from tenure.errors import InvalidError

    on_terminal = sys.stdin.isatty()
    token: str = (
        typer.prompt("join token", hide_input=True, err=True) if on_terminal else sys.stdin.readline()
    )
    if not token.strip():
        raise InvalidError(
            "a join token is needed: `tenure token issue NAME --role join` on the hub's machine makes one"
        )
    return token.strip()


def stop_on_signals() -> asyncio.Event:
    """An event that is set when this process is asked to end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    return stop


def start_logging(cli: Invocation, ready_fd: int | None) -> None:
    """Logs to standard error: for a person at a terminal, as JSON lines into a file."""
    from tenure.runtime.logging import configure_logging

    for noisy in NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)
    on_terminal = ready_fd is None and cli.out.stderr.isatty()
    configure_logging(
        style="console" if on_terminal else "json",
        level="debug" if cli.given.debug else "info",
        stream=cli.out.stderr,
    )

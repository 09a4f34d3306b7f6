"""Serving an application on a socket, with a bounded end.

uvicorn runs in the event loop that is already there, beside the hub's own loops; it brings no worker processes
and takes no signals of its own (they belong to the command that started it). The end is bounded: the hub ends
its long polls and streams, what else is under way may finish within the grace, and then it is cut off."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Generator
from typing import Any

import uvicorn
from msgspec import Struct

from tenure.errors import ConfigurationError, InsecureBindError, UnavailableError
from tenure.runtime.own_certificate import show_certificate
from tenure.runtime.settings import is_loopback
from tenure.servers.rest.certificates import LOOK_S, Certificates
from tenure.servers.rest.connection import Bounds, bounded
from tenure.servers.rest.framing import refuse_ambiguous

GRACE_S = 5.0
BACKLOG = 2048
PORTS = range(65_536)


class Bind(Struct, frozen=True, kw_only=True):
    """Where to listen, and within which bounds. `port` 0 takes a free one. `tls_cert` and `tls_key` are PEM files.
    `client_ca`: whoever shows a certificate must have it from one of these CAs; whether one is needed is for the routes to
    say (`peer`). `on_certificate` is told the certificate (PEM) that is shown, before the first connection and every few
    seconds from then on, so that who could not keep it once can do so later; it must not raise."""

    host: str = "127.0.0.1"
    port: int = 0
    tls_cert: str | None = None
    tls_key: str | None = None
    client_ca: str | None = None
    allow_insecure: bool = False
    bounds: Bounds = Bounds()
    on_certificate: Callable[[str], None] = lambda _: None


class Listening(Struct, frozen=True):
    """Where the server can be reached now."""

    host: str
    port: int
    url: str


async def serve(
    app: Any,
    bind: Bind,
    stop: asyncio.Event,
    *,
    on_ready: Callable[[Listening], None] = lambda _: None,
    on_stopping: Callable[[], None] = lambda: None,
    grace_s: float = GRACE_S,
) -> None:
    """Serve until `stop` is set. `on_ready` is called once connections are accepted, `on_stopping` when the end
    begins: whoever holds requests open lets go of them then.

    Raises:
        InsecureBindError: others could reach the address, without TLS and without the explicit flag.
        ConfigurationError: the address does not exist here, or certificate and key cannot be used.
        UnavailableError: another program listens there.
    """
    refuse_insecure(bind)
    with contextlib.closing(open_socket(bind)) as listener:
        host, port = listener.getsockname()[:2]
        server = _Server(_config(app, bind, grace_s))
        scheme = "https" if bind.tls_cert else "http"
        listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        server.announce = lambda: listening.set_result(None)
        running = asyncio.ensure_future(server.serve(sockets=[listener]))
        stopping = asyncio.ensure_future(stop.wait())
        shown = _certificates(server.config, bind)
        _tell_certificate(shown, bind)
        try:
            await _first_of(running, stopping, listening)
            if listening.done():
                # Here and not in the library's startup: what is raised there leaves the application where it stands.
                on_ready(Listening(host, port, f"{scheme}://{_authority(host, port)}"))
            while not await _first_of(running, stopping, within_s=LOOK_S if shown else None):
                if shown:
                    shown.renew()
                    _tell_certificate(shown, bind)
        finally:
            stopping.cancel()
            on_stopping()
            server.should_exit = True
            await running


def refuse_insecure(bind: Bind) -> None:
    """Refuse to be heard by others in the clear.

    Raises:
        InsecureBindError: it would be so.
    """
    if is_loopback(bind.host) or bind.tls_cert is not None or bind.allow_insecure:
        return
    raise InsecureBindError(
        f"{bind.host} can be reached from other machines, and tokens would cross the network in the clear. "
        "Give a certificate (tls_cert, tls_key), or allow it explicitly (allow_insecure_bind).",
        bind=bind.host,
    )


def open_socket(bind: Bind) -> Any:
    """The listening socket, so that a port that is taken is an error with a name.

    Raises:
        ConfigurationError: the address does not exist here.
        UnavailableError: another program listens there.
    """
    host = bind.host.strip("[]")
    if bind.port not in PORTS:
        raise ConfigurationError(f"{bind.port} is no port; {PORTS[0]} to {PORTS[-1]}.", port=bind.port)
    try:
        found = socket.getaddrinfo(host, bind.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = found[0]
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
        # Connections inherit it. The event loop would set it only on sockets that were made with TCP by name, and
        # without it the second piece of an answer waits 40 ms for the other side to acknowledge the first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except socket.gaierror as error:
        raise ConfigurationError(f"{bind.host}:{bind.port} is no address to listen on: {error}") from error
    except OSError as error:
        raise UnavailableError(
            f"cannot listen on {bind.host}:{bind.port}: {error.strerror}. Is another hub running? "
            "Stop it, or choose another port.",
            bind=bind.host,
            port=bind.port,
        ) from error


def _config(app: Any, bind: Bind, grace_s: float) -> uvicorn.Config:
    if bind.tls_cert is not None:
        # The library would let OpenSSL ask the terminal for a key's passphrase.
        show_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), bind.tls_cert, bind.tls_key)
    try:
        config = uvicorn.Config(
            refuse_ambiguous(app),
            ssl_certfile=bind.tls_cert,
            ssl_keyfile=bind.tls_key,
            ssl_ca_certs=bind.client_ca,
            ssl_cert_reqs=ssl.CERT_OPTIONAL if bind.client_ca else ssl.CERT_NONE,
            # It believes whoever asks from this machine, unasked; whom to believe `peer.address_of` says.
            proxy_headers=False,
            http=bounded(bind.bounds),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=bind.bounds.idle_s,
            timeout_graceful_shutdown=max(1, round(grace_s)),
        )
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"{', '.join(filter(None, (bind.tls_cert, bind.tls_key, bind.client_ca)))} cannot be used for TLS: {error}",
            tls_cert=bind.tls_cert,
        ) from error
    return config


def _certificates(config: uvicorn.Config, bind: Bind) -> Certificates | None:
    if config.ssl is None or bind.tls_cert is None:
        return None
    return Certificates(config.ssl, bind.tls_cert, bind.tls_key, bind.client_ca)


def _tell_certificate(files: Certificates | None, bind: Bind) -> None:
    if files is not None and files.shown is not None:
        bind.on_certificate(files.shown)


async def _first_of(*waiting: asyncio.Future[Any], within_s: float | None = None) -> bool:
    """Has one of them ended within this time?"""
    done, _ = await asyncio.wait(waiting, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    return bool(done)


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Server(uvicorn.Server):
    """Without signal handlers, and with a word when it listens."""

    announce: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: list[Any] | None = None) -> None:
        try:
            await super().startup(sockets=sockets)
        except SystemExit as error:
            # The library ends the process here; ours is also a hub, and says why it ends.
            raise UnavailableError("the application did not start; the log says why") from error
        if self.started:
            self.announce()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

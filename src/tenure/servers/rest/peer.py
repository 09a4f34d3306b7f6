"""Where a request comes from: its address, what its program calls itself, and what its certificate says.

What a request says of itself is believed only of proxies that the settings name.

The server lets in whoever shows no certificate, since people come with tokens alone; one that is shown was checked against
the hub's `tls_client_ca` in the handshake, and a wrong one has ended it there. Here is decided who must have shown one:
nodes, where the hub has such a CA. A certificate that names hosts must name the node; one that names none is that of a
group, and says only that its holder is one of them."""

from __future__ import annotations

import ipaddress
from typing import Any, cast

from litestar.connection import ASGIConnection
from litestar.datastructures import State
from msgspec import Struct

from tenure.core.origin import ADDRESS_LENGTH, CLIENT_LENGTH, Origin
from tenure.errors import ForbiddenError
from tenure.hub.access import Principal
from tenure.servers.rest.rates import Rates

Connection = ASGIConnection[Any, Principal, Any, State]
_PEER = "tenure.peer"


class Peer(Struct, frozen=True):
    """A certificate that was checked. `names`: the hosts that it names."""

    names: tuple[str, ...]


class Facing(Struct, frozen=True, kw_only=True):
    """What the face of a hub knows of its surroundings. `proxies`: the addresses of those who are believed when they say for
    whom they ask. `nodes_show_certificates`: the hub has a CA for nodes. `rates`: how often one may ask; None for as often as
    they like."""

    proxies: frozenset[str] = frozenset()
    nodes_show_certificates: bool = False
    rates: Rates | None = None


ALONE = Facing()


def with_peer(app: Any, certificate: dict[str, Any] | None) -> Any:
    """The application, told whose connection its requests come over."""
    if not certificate:
        return app
    shown = Peer(tuple(name for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS"))

    async def told(scope: Any, receive: Any, send: Any) -> None:
        scope[_PEER] = shown
        await app(scope, receive, send)

    return told


def check_node(connection: Connection, name: str) -> None:
    """Did the node of this name show what it must?

    Raises:
        ForbiddenError: it showed no certificate, or another machine's.
    """
    if not facing_of(connection).nodes_show_certificates:
        return
    scope: dict[str, Any] = cast("Any", connection.scope)
    shown: Peer | None = scope.get(_PEER)
    if shown is None:
        raise ForbiddenError(
            "this hub takes nodes only with a certificate of its CA for nodes: set `node.tls_cert` and `node.tls_key`.",
            node=name[:80],
        )
    if shown.names and name not in shown.names:
        raise ForbiddenError(
            f"the certificate is that of {', '.join(shown.names[:5])}, not of node {name[:80]}.",
            node=name[:80],
        )


def origin_of(connection: Connection, who: Principal) -> Origin:
    """From where a request came: its token, its address, and what its program calls itself."""
    client = connection.headers.get("user-agent", "")
    return Origin(
        credential=who.credential_id or "",
        address=address_of(connection)[:ADDRESS_LENGTH],
        client="".join(one for one in client if one.isprintable())[:CLIENT_LENGTH],
    )


def facing_of(connection: Connection) -> Facing:
    return cast("Facing", connection.app.state["facing"])


def address_of(connection: Connection) -> str:
    """The address of whoever sent this, behind the proxies that the settings trust: the last one that is none of them."""
    direct = connection.scope["client"]
    address = direct[0] if direct is not None else ""
    trusted = facing_of(connection).proxies
    named = ",".join(connection.headers.getall("x-forwarded-for", [])).split(",")
    while address in trusted and named and is_address(named[-1].strip()):
        address = named.pop().strip()
    return address


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True

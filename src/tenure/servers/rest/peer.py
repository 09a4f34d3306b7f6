"""Who is at the other end of a connection, as far as its certificate says.

The server lets in whoever shows no certificate, since people come with tokens alone; one that is shown was checked against
the hub's `tls_client_ca` in the handshake, and a wrong one has ended it there. Here is decided who must have shown one:
nodes, where the hub has such a CA. A certificate that names hosts must name the node; one that names none is that of a
group, and says only that its holder is one of them."""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct

from tenure.errors import ForbiddenError
from tenure.servers.rest.rates import Rates

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


def check_node(scope: Any, facing: Facing, name: str) -> None:
    """Did the node of this name show what it must?

    Raises:
        ForbiddenError: it showed no certificate, or another machine's.
    """
    if not facing.nodes_show_certificates:
        return
    shown = cast("Peer | None", scope.get(_PEER))
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

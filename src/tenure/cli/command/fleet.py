"""`tenure nodes` and `tenure recipients`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from pathlib import Path

    from tenure.client.hub import HubClient
    from tenure.wire.api import NodeBody, RecipientBody

app = family()
NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="The node's name.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether it is meant.")]
BecauseOption = Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is kept.")]


async def list_nodes(cli: Invocation) -> None:
    """List nodes: which are there, and what each offers."""
    from tenure.cli.asking.lookup import connected
    from tenure.cli.text.moment import shown_age
    from tenure.runtime.clock import RealClock

    async with connected(cli) as hub:
        nodes = await every_node(hub)
    cli.out.data({"nodes": nodes})
    if cli.out.json:
        return
    if not nodes:
        cli.out.note("no node is enrolled; `tenure up` or `tenure enroll` brings one")
        return
    now_ms = RealClock().wall_ms()
    rows = (
        (
            one.name,
            state_of(one),
            shown_age(one.last_seen_at, now_ms) if one.last_seen_at else "not since the hub started",
            one.version,
            ", ".join(address.partition("@")[0] for address in one.recipients),
        )
        for one in nodes
    )
    cli.out.table(("node", "state", "heard", "version", "recipients"), rows)


nodes_app = commands_below(
    app, "nodes", "List nodes, release or forget one, rotate this machine's credential.", default=list_nodes
)
command(nodes_app, "list")(list_nodes)


def state_of(node: NodeBody) -> str:
    """What keeps a node from work, in a word."""
    if node.revoked:
        return "forgotten"
    if node.quarantined:
        return "quarantined"
    if node.paused is not None:
        word = "drains" if node.paused.drain else "paused"
        return f"{word}, by {node.paused.by}: {node.paused.because}"
    return "enrolled" if node.compatible else f"contract {node.contract} is not spoken"


@command(nodes_app, "forget")
async def forget(cli: Invocation, node: NodeArgument, because: BecauseOption, yes: YesOption = False) -> int:
    """State that a machine is gone for good.

    The hub refuses whatever this node says from now on, and a node that still runs ends. What runs there becomes unknown once
    its lease is over, frees its place then, and waits for your answer; what had ended before frees its place at once. Nothing
    brings the node back: a machine that is not gone must be enrolled anew. For one that is only to rest: `tenure pause`.
    """
    from tenure.cli.asking.lookup import connected
    from tenure.cli.command.resolving import is_meant
    from tenure.cli.text.counting import counted

    async with connected(cli) as hub:
        taken = sum(one.slots_used for one in await every_recipient(hub) if one.node == node)
        runs = f"{counted(taken, 'run')} there" if taken else "nothing that runs there"
        if (
            taken
            and not yes
            and not is_meant(cli, f"{node} ends for good, with {runs}. Is the machine gone?")
        ):
            cli.out.note("nothing was done")
            return 1
        done = await hub.forget_node(node, because)
    cli.out.data({"node": node, "forgotten": True, "runs": taken, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{node} is forgotten, with {runs}; the hub refuses whatever it says from now on")
    if taken:
        cli.out.note(
            "what it has not reported becomes unknown, if it is not yet: `tenure attention` will ask you"
        )
    return 0


@command(nodes_app, "release")
async def release(cli: Invocation, node: NodeArgument, because: BecauseOption) -> None:
    """Give a node work again that was put into quarantine."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        done = await hub.release_node(node, because)
    cli.out.data({"node": node, "released": True, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{node} is released")


@command(nodes_app, "rotate-credential", asks_no_hub=True)
def rotate_credential(cli: Invocation) -> None:
    """Give the node of this machine a new credential, at its next start.

    No lease is lost: what runs goes on while its node starts again. The hub refuses the old credential as soon as it has
    heard the new one.
    """
    from tenure.node.delivery.rotation import FILE
    from tenure.runtime.clock import RealClock
    from tenure.runtime.data_folder import write_atomically
    from tenure.runtime.ids import RealIds

    name = cli.settings.node.name
    write_atomically(own_store(cli, name) / FILE, RealIds(RealClock()).token().encode() + b"\n", 0o600)
    cli.out.data({"node": name, "at_next_start": True})
    if not cli.out.json:
        cli.out.say(
            f"{name} takes a new credential at its next start; stop `{cli.pasteable('node')}` and start it again"
        )


@command(app, "recipients")
async def recipients(cli: Invocation) -> None:
    """List recipients: what may be given work, and whether it can take it now."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        found = await every_recipient(hub)
        paused = () if cli.out.json else await hub.pauses()
    cli.out.data({"recipients": found})
    if cli.out.json:
        return
    if not found:
        cli.out.note(
            "nothing takes work yet; `tenure up` brings a recipient, or name some in the settings of a node"
        )
        return
    rows = (
        (
            one.address,
            f"{one.slots_used}/{one.capacity}",
            one.harness,
            one.model or "",
            one.isolation,
            one.provider or "",
            " ".join(one.pools),
            one.why if one.circuit_until_at is None else f"{one.why} (until {one.circuit_until_at})",
        )
        for one in found
    )
    head = ("recipient", "busy", "harness", "model", "isolation", "provider", "pools", "now")
    cli.out.table(head, rows)
    for one in paused:
        # A recipient's own pause, and its node's, stand in its line.
        if one.paused is not None and one.subject.startswith(("hub", "project:")):
            cli.out.note(f"{one.subject} is paused by {one.paused.by}: {one.paused.because}")


def own_store(cli: Invocation, name: str) -> Path:
    """The store of this machine's node.

    Raises:
        NotFoundError: it never had one.
    """
    from tenure.cli.process.data_files import node_part
    from tenure.errors import NotFoundError

    part = cli.home / node_part(name)
    if not part.is_dir():
        raise NotFoundError(f"no node {name} was ever enrolled from {cli.home}", name=name)
    return part


async def every_node(hub: HubClient) -> list[NodeBody]:
    """All nodes, page by page."""
    found: list[NodeBody] = []
    while page := await hub.nodes(after=found[-1].node_id if found else None):
        found += page
    return found


async def every_recipient(hub: HubClient) -> list[RecipientBody]:
    """All recipients, page by page."""
    found: list[RecipientBody] = []
    while page := await hub.recipients(after=found[-1].address if found else None):
        found += page
    return found

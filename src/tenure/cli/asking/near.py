"""Names that somebody may have meant, and whether anything answers to a name at all."""

from __future__ import annotations

import contextlib
import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenure.cli.invocation import Invocation
    from tenure.client.hub import HubClient
    from tenure.wire.api import TaskRequest

NEAR = 3
DEFAULT_PROJECT = "default"


async def addresses_like(hub: HubClient, name: str) -> list[str]:
    """Recipients with this bare name, else those with the nearest ones."""
    known = [one.address for one in await hub.recipients()]
    exact = [one for one in known if one.partition("@")[0] == name]
    near = difflib.get_close_matches(name, [one.partition("@")[0] for one in known], NEAR)
    return exact[:NEAR] or [one for one in known if one.partition("@")[0] in near][:NEAR]


async def nodes_like(hub: HubClient, name: str) -> list[str]:
    """Nodes with this name, else those with the nearest ones."""
    known = [one.name for one in await hub.nodes()]
    return [name] if name in known else difflib.get_close_matches(name, known, NEAR)


def suggested(near: Sequence[str]) -> str:
    """The end of a sentence."""
    return f"; did you mean {' or '.join(near)}?" if near else ""


async def tell_unserved(cli: Invocation, hub: HubClient, route: str) -> None:
    """Notes that no recipient is of this route: it is no mistake where one is still to come."""
    found = await hub.recipients()
    if any(route in {one.address, one.address.partition("@")[0], *one.pools} for one in found):
        return
    near = await addresses_like(hub, route.partition("@")[0])
    cli.out.note(f"no recipient serves {route!r} (see `tenure recipients`){suggested(near)}")


async def tell_far_folder(cli: Invocation, hub: HubClient, asked: Sequence[TaskRequest]) -> None:
    """Notes the nodes that may take these Tasks and would not find their repository, a folder of this machine: those that do
    not work from this data folder, so may be on other machines. Where the hub does not say who there is, nothing is noted."""
    from tenure.cli.asking.address import is_local
    from tenure.cli.process.data_files import node_names
    from tenure.errors import TenureError

    routes: dict[str, set[str]] = {}
    for one in asked:
        if one.repository is not None and one.repository.startswith("/"):
            routes.setdefault(one.repository, set()).add(one.to)
    if not routes or not is_local(cli):
        return
    own, found = set(node_names(cli.home)), ()
    with contextlib.suppress(TenureError):
        found = await hub.recipients()
    for repository, named in routes.items():
        serves = (one for one in found if named & {one.address, one.address.partition("@")[0], *one.pools})
        far = sorted({one.node for one in serves} - own)
        if far:
            which = f"node {far[0]}" if len(far) == 1 else f"nodes {', '.join(far[:NEAR])}"
            cli.out.note(
                f"{which}{', …' if len(far) > NEAR else ''} will not find the folder {repository} if on another machine; then give"
                " --repo URL --base COMMIT"
            )


async def tell_unused(cli: Invocation, hub: HubClient, project: str, what: str) -> None:
    """Notes that nobody has used a project yet: it is there from its first Task on, and its name may be a mistake."""
    accounts = {one.account.removeprefix("project:") for one in await hub.accounts()}
    if project in {*accounts, DEFAULT_PROJECT}:
        return
    near = difflib.get_close_matches(project, sorted(accounts - {"hub"}), NEAR)
    cli.out.note(f"no project {project!r} is known yet; {what} holds for tasks to come{suggested(near)}")


async def quotas_like(hub: HubClient, name: str) -> list[str]:
    """Circuits of this name at some node, or with the nearest names."""
    known = [one.quota for one in await hub.circuits()]
    exact = [one for one in known if name in {one, one.partition("@")[0]}]
    return exact[:NEAR] or difflib.get_close_matches(name, known, NEAR)

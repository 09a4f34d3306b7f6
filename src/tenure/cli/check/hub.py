"""What `doctor` asks of the hub: is it there, does it take our token, is this machine's node connected?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tenure import __version__
from tenure.cli.asking.address import address_of, is_local
from tenure.cli.check.finding import Finding, fail, ok, warn
from tenure.cli.check.operating import check_operating
from tenure.cli.check.own_node import agents_findings, check_without_token
from tenure.cli.process.data_files import HUB_PART, UP_PART, node_part
from tenure.cli.process.trusting import trusted_by
from tenure.cli.text.counting import counted
from tenure.errors import TenureError, UnauthenticatedError

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.cli.process.process_mark import ProcessMark
    from tenure.client.hub import HubClient
    from tenure.runtime.settings import Settings

WAIT_S = 5.0


def holder(home: Path, part: str) -> ProcessMark | None:
    """The process that holds a part of a data folder, without making the folder."""
    from tenure.cli.process.process_mark import holder_of
    from tenure.runtime.data_folder import DataFolder

    return holder_of(DataFolder(home), part) if (home / part).is_dir() else None


async def check_hub(cli: Invocation, settings: Settings) -> list[Finding]:
    """Hub, token and node, as far as one can be told without the one before."""
    from tenure.client.hub import HubClient

    try:
        address = address_of(cli)
    except UnauthenticatedError as error:
        daemon = holder(cli.home, node_part(settings.node.name))
        return await check_without_token(cli, settings.node, error, daemon)
    except TenureError as error:
        return [warn("hub", error.message, "run `tenure up`, or say where the hub is")]
    try:
        verify = trusted_by(cli, address.url)
    except TenureError as error:
        return [fail("hub", error.message, "mend `[node] ca_file`, TENURE_CA_FILE or what the file holds")]
    async with HubClient(address.url, address.token, timeout_s=WAIT_S, verify=verify) as hub:
        try:
            health = await hub.ready()
        except TenureError as error:
            return [fail("hub", error.message, way_to_hub(cli, error))]
        found = [ok("hub", f"{address.url} answers, version {health.version}")]
        if health.version != __version__:
            found.append(
                warn("version", f"the hub has {health.version}, this is {__version__}", "upgrade the older")
            )
        alone = is_local(cli) and holder(cli.home, HUB_PART) is not None and holder(cli.home, UP_PART) is None
        node = await check_node(hub, settings.node.name, hub_alone=alone)
        return [*found, *node, *await agents_findings(cli, address.url), *await check_operating(hub)]


def no_node(name: str, others: int, *, hub_alone: bool) -> Finding:
    """What it means that this machine has no node, where there are so many others."""
    says = f"no node {name} is enrolled"
    if not hub_alone:
        return warn("node", says, "run `tenure up`, or `tenure enroll`")
    if not others:
        return warn("node", says, "run `tenure node` here, or `tenure enroll` on other machines")
    return ok("node", f"none of this machine, which has the hub only; {counted(others, 'node')} elsewhere")


def way_to_hub(cli: Invocation, error: TenureError) -> str:
    """What helps where the hub did not answer, as it was started and as it is reached."""
    if error.facts.get("handshake") == "refused":
        return "see what the message says; docs/guides/tls.md has every case"
    if not is_local(cli):
        return "is it up there, and is this its address (--hub, TENURE_HUB)?"
    if holder(cli.home, UP_PART) is not None:
        return f"`tenure up` runs here; look into the hub's log, {cli.home / HUB_PART / 'hub.log'}"
    found = holder(cli.home, HUB_PART)
    if found is not None:
        return f"`tenure hub` runs here (process {found.pid}); look at what it says: its terminal, or its service's log"
    return "start it: `tenure hub` (or its service) if it ran by itself, else `tenure up`"


async def check_node(hub: HubClient, name: str, *, hub_alone: bool) -> list[Finding]:
    """Is the token taken, and is this machine's node there? `hub_alone`: `tenure hub` runs here, which needs none."""
    try:
        nodes = await hub.nodes()
        recipients = await hub.recipients()
        waiting = await hub.every_question()
    except TenureError as error:
        return [fail("token", error.message, "set TENURE_TOKEN to a token that the hub knows")]
    found = [ok("token", "the hub takes our token")]
    mine = next((node for node in nodes if node.name == name and not node.revoked), None)
    if mine is None:
        found.append(no_node(name, sum(not node.revoked for node in nodes), hub_alone=hub_alone))
    elif mine.quarantined:
        found.append(fail("node", f"node {name} is quarantined", "see `tenure attention`"))
    else:
        taking = [one for one in recipients if one.node == name and one.available]
        says = f"node {name}: {len(taking)} of {len(mine.recipients)} recipients can take work now"
        found.append(ok("node", says) if taking else warn("node", says, "see `tenure recipients`"))
    if waiting:
        says = f"{counted(len(waiting), 'question')} {'waits' if len(waiting) == 1 else 'wait'} for you"
        found.append(warn("attention", says, "see `tenure attention`"))
    return found

"""What `doctor` asks of the hub: is it there, does it take our token, is this machine's node connected?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tenure import __version__
from tenure.cli.asking.address import address_of
from tenure.cli.check.finding import Finding, fail, ok, warn
from tenure.cli.check.operating import check_operating
from tenure.cli.process.trusting import trusted_by
from tenure.cli.text.counting import counted
from tenure.errors import TenureError

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
    except TenureError as error:
        return [warn("hub", error.message, "run `tenure up`, unless the hub is to be elsewhere")]
    verify = trusted_by(cli, address.url)
    async with HubClient(address.url, address.token, timeout_s=WAIT_S, verify=verify) as hub:
        try:
            health = await hub.ready()
        except TenureError as error:
            return [fail("hub", error.message, "run `tenure up`, or look into its log (hub/hub.log)")]
        found = [ok("hub", f"{address.url} answers, version {health.version}")]
        if health.version != __version__:
            found.append(
                warn("version", f"the hub has {health.version}, this is {__version__}", "upgrade the older")
            )
        return [*found, *await check_node(hub, settings.node.name), *await check_operating(hub)]


async def check_node(hub: HubClient, name: str) -> list[Finding]:
    """Is the token taken, and is this machine's node there?"""
    try:
        nodes = await hub.nodes()
        recipients = await hub.recipients()
        waiting = await hub.every_question()
    except TenureError as error:
        return [fail("token", error.message, "set TENURE_TOKEN to a token that the hub knows")]
    found = [ok("token", "the hub takes our token")]
    mine = next((node for node in nodes if node.name == name and not node.revoked), None)
    if mine is None:
        found.append(warn("node", f"no node {name} is enrolled", "run `tenure up`, or `tenure enroll`"))
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

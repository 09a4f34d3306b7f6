"""What `doctor` can tell of this machine's node without asking its hub as a person: where it is enrolled, whether it runs, and
until when its certificate is good. A machine that only works has no person's token, and needs none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tenure.cli.check.finding import Finding, fail, ok, warn
from tenure.cli.process.data_files import local_certificate, node_part
from tenure.cli.process.joining import hub_of_node, is_enrolled
from tenure.cli.process.trusting import ca_file_of, trusted_by
from tenure.errors import ConfigurationError, TenureError

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.cli.process.process_mark import ProcessMark
    from tenure.runtime.settings import NodeSettings

WAIT_S = 5.0
SOON_DAYS = 14
GIVE_TOKEN = "set TENURE_TOKEN, or give --token"  # noqa: S105 - an advice


async def check_without_token(
    cli: Invocation, node: NodeSettings, lack: TenureError, daemon: ProcessMark | None
) -> list[Finding]:
    """Everything where this machine has no token for its hub. `lack` says so; `daemon`: the node's process."""
    try:
        if not await is_enrolled(cli, node.name):
            return [warn("token", lack.message, GIVE_TOKEN)]
        url = hub_of_node(cli, local=False)
        found = [await heard(cli, url)]
    except TenureError as error:
        return [fail("node", error.message, "see what the message says")]
    where = f"node {node.name} is enrolled at {url}"
    if daemon is None:
        found.append(warn("node", f"{where}; its daemon does not run", "start `tenure node`, or its service"))
    else:
        found.append(ok("node", f"{where}; its daemon runs (process {daemon.pid})"))
    says = "none here, and the node needs none: a person's token (TENURE_TOKEN) is for people's commands only"
    return [*found, ok("token", says)]


async def heard(cli: Invocation, url: str) -> Finding:
    """Does the hub answer this machine's node?

    Raises:
        ConfigurationError: a file of certificates cannot be used.
    """
    from tenure.client.hub import HubClient

    async with HubClient(url, None, timeout_s=WAIT_S, verify=trusted_by(cli, url, shows=True)) as hub:
        try:
            health = await hub.ready()
        except TenureError as error:
            return fail(
                "hub", error.message, "is it up there? docs/guides/tls.md has every case of certificates"
            )
    return ok("hub", f"{url} answers, version {health.version}")


def certificate_findings(node: NodeSettings, now_ms: int) -> list[Finding]:
    """Until when this machine's own certificate is good; nothing where it has none."""
    from tenure.runtime.own_certificate import ends_at

    if node.tls_cert is None:
        return []
    ends, renew = ends_at(node.tls_cert), "renew it: docs/guides/tls.md"
    if ends is None:
        return [fail("certificate", f"{node.tls_cert} holds no certificate that can be read", renew)]
    left = ends - datetime.fromtimestamp(now_ms / 1000, UTC)
    says = f"the node's certificate ends on {ends:%Y-%m-%d}"
    if left.total_seconds() <= 0:
        return [fail("certificate", f"{says}, which is over", renew)]
    return [ok("certificate", says) if left.days >= SOON_DAYS else warn("certificate", says, renew)]


async def agents_findings(cli: Invocation, url: str) -> list[Finding]:
    """Can agents of a node on the hub's own machine trust the hub? They do not read its data folder, so they know its
    certificate only by a CA; nothing is said where they can, or where there are none."""
    from tenure.client.hub import HubClient
    from tenure.client.trust import tls_context

    has_node = (cli.home / node_part(cli.settings.node.name)).is_dir()
    if not has_node or local_certificate(cli.home, url) is None:
        return []
    do = "set `[node] ca_file` to the CA of the hub's certificate, and restart the node: docs/guides/tls.md"
    try:
        async with HubClient(url, None, timeout_s=WAIT_S, verify=tls_context(ca_file_of(cli))) as hub:
            await hub.ready()
    except ConfigurationError as error:
        return [warn("agents", f"agents on this machine cannot check the hub: {error.message}", do)]
    except TenureError as error:
        if error.facts.get("handshake") == "refused":
            return [warn("agents", f"agents on this machine do not trust the hub: {error.message}", do)]
    return []

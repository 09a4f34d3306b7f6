"""A node as a process of its own, for tests that kill, stop and start it: `node_program HOME HUB_URL JOIN_TOKEN [RECIPIENTS]`.

It says `ready` on its standard output when it takes work, and ends in an orderly way on SIGTERM.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tenure.cli.process.node_wiring import node_tools
from tenure.node.daemon import NodeDaemon, NodeIdentity, Ready
from tenure.node.link import HttpLegs
from tenure.runtime.data_folder import open_data_folder
from tenure.runtime.logging import configure_logging
from tenure.runtime.settings_schema import NodeSettings, RecipientSettings, Settings
from tenure.runtime.worker import new_executor

AGENT = RecipientSettings(name="agent", allow_command=True, capacity=3)
NODE = NodeSettings(name="laptop", renew_every_s=0.8, margin_s=0.5, stop_grace_s=1.0, claim_wait_s=5.0)


async def main(home: Path, url: str, join_token: str, recipients: tuple[RecipientSettings, ...]) -> None:
    configure_logging(style="console", level="info")
    settings = replace(Settings(), node=NODE, recipients=recipients)
    legs = HttpLegs(url)
    with new_executor(4, "node") as executor, new_executor(1, "mirror") as mirror_executor:
        tools = node_tools(os.environ, executor, mirror_executor, url)
        identity = NodeIdentity(version="1", join_token=join_token)
        daemon = NodeDaemon(settings, open_data_folder(home, "1"), legs, tools, identity)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, daemon.stop)
        await daemon.run(say_ready)
    await legs.close()


def say_ready(_: Ready) -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    given = (
        msgspec.json.decode(sys.argv[4], type=tuple[RecipientSettings, ...])
        if len(sys.argv) > 4
        else (AGENT,)
    )
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], given))

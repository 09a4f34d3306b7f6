"""A hub in a process of its own, which a test kills: it serves one agent and says how to reach it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.hub.lab import Lab
from tests.hub.push_lab import PushScene, serving
from tests.hub.test_on_sqlite import Disk


async def main(at: Path) -> None:
    scene = PushScene(at, Lab(ledger=Disk(at).ledger), at / "remotes" / "shop")
    async with serving(scene):
        agent = await scene.agent()
        said = {"url": scene.url, "task_id": agent.grant.task_id, "capability": agent.grant.capability}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        await asyncio.wait_for(asyncio.Event().wait(), 120)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

"""A network namespace for each node's machine, on a wire on which packets can be lost.

A proxy can end a connection or swallow what passes; on a wire that loses packets the connection lives on, and what was sent
arrives late, perhaps after its sender gave up. The namespaces carry the name of the run's folder, so that they are found again
whatever became of the run."""

from __future__ import annotations

import ipaddress
import random
import subprocess
from pathlib import Path

NAMES = Path("/run/netns")
ADDRESSES = ipaddress.ip_network("198.18.0.0/15")
"""Set aside for tests (RFC 2544), so that no real network is hidden."""
LOSES_ALL = ("tbf", "rate", "8bit", "burst", "10", "limit", "10")
"""No packet is as small as this bucket, and one that is larger is dropped."""
INSIDE = "wire"
BOUND_S = 60


class Wire:
    """The two ends of a machine's network. `address`: under which the machine reaches what listens outside."""

    def __init__(self, run: Path, machine: str) -> None:
        self.namespace = f"{run.name}-{machine}"
        chosen = random.SystemRandom()
        # The kernel takes 15 characters.
        self._outside = f"tc{chosen.randrange(1 << 40):010x}"
        block = int(ADDRESSES.network_address) + 4 * chosen.randrange(ADDRESSES.num_addresses // 4)
        self.address, self._own = (str(ipaddress.ip_address(block + end)) for end in (1, 2))

    def lay(self) -> None:
        inside = ("-n", self.namespace)
        command("ip", "netns", "add", self.namespace)
        ends = ("name", self._outside, "type", "veth", "peer", "name", INSIDE, "netns", self.namespace)
        command("ip", "link", "add", *ends)
        command("ip", "address", "add", f"{self.address}/30", "dev", self._outside)
        command("ip", "link", "set", self._outside, "up")
        command("ip", *inside, "address", "add", f"{self._own}/30", "dev", INSIDE)
        for name in (INSIDE, "lo"):
            command("ip", *inside, "link", "set", name, "up")

    def lose(self) -> None:
        """From now on no packet arrives, in either direction."""
        for inside, device in self._ends:
            command("tc", *inside, "qdisc", "replace", "dev", device, "root", *LOSES_ALL)

    def heal(self) -> None:
        """May be done again."""
        for inside, device in self._ends:
            words = ("tc", *inside, "qdisc", "delete", "dev", device, "root")
            subprocess.run(words, check=False, timeout=BOUND_S, capture_output=True)

    @property
    def _ends(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        return ((), self._outside), (("-n", self.namespace), INSIDE)

    def words(self, words: list[str]) -> list[str]:
        """The command, run on this machine's network."""
        return ["nsenter", f"--net={NAMES / self.namespace}", *words]


def networks_of(run: Path) -> list[str]:
    """The names of a run's namespaces."""
    return sorted(one.name for one in NAMES.glob(f"{run.name}-*"))


def remove_networks(run: Path) -> None:
    """With a namespace go its wire and all that is set on it. None of its processes may be alive."""
    for name in networks_of(run):
        subprocess.run(["ip", "netns", "delete", name], check=False, timeout=BOUND_S, capture_output=True)


def can_lose(run: Path) -> bool:
    """Whether all of it can be done here, found by doing it."""
    wire = Wire(run, "trial")
    try:
        wire.lay()
        wire.lose()
        wire.heal()
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        remove_networks(run)
    return True


def command(*words: str) -> None:
    subprocess.run(words, check=True, timeout=BOUND_S, capture_output=True)

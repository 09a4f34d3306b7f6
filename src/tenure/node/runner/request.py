"""What the daemon may ask of a runner: each request is understood first, and done only then. Standard library only."""

LARGEST = 2**63 - 1
"""What a clock in nanoseconds can show. A larger number would be no float, and no number that the daemon reads."""

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    from typing import Any, Protocol

    from tenure.node.runner.control import Act

    Json = dict[str, Any]

    class Deeds(Protocol):
        """What a runner does when it is asked; each returns why not, or None."""

        def renew(self, fence: int, deadline_ns: int, counter: int) -> str | None: ...

        def cancel(self, grace_s: float = 0) -> None: ...

        def lose(self, fence: int) -> str | None: ...


def understand(runner: "Deeds", request: "Json") -> "Act":
    """What a request asks for, not done yet.

    Raises:
        ValueError: it makes no sense. (KeyError, TypeError and OverflowError mean the same.)
    """
    op = request["op"]
    if op == "renew":
        fence, deadline_ns, counter = request["fence"], request["deadline_boottime_ns"], request["counter"]
        if not type(fence) is type(deadline_ns) is type(counter) is int:
            raise ValueError("numbers are wanted")
        if not 0 <= min(fence, deadline_ns, counter) <= max(fence, deadline_ns, counter) <= LARGEST:
            raise ValueError("these numbers are none of ours")
        return lambda: runner.renew(fence, deadline_ns, counter)
    if op == "cancel":
        grace_s = float(request["grace_s"])
        if not grace_s >= 0:
            raise ValueError("no duration")
        return lambda: runner.cancel(grace_s)
    if op == "stale":
        fence = int(request["fence"])
        return lambda: runner.lose(fence)
    return {"kill": runner.cancel, "status": lambda: None}.get(op, lambda: "unknown_op")

"""Why no recipient takes a Task that is ready: the most hopeful of those that serve its route explains the wait."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.account import HUB_ACCOUNT, Account, Paused, project_account
from tenure.core.attempt import Attempt
from tenure.core.circuit import Circuit
from tenure.core.ids import NodeId
from tenure.core.recipient import Node, Recipient, fits, recipient_routes
from tenure.core.task import Task
from tenure.core.why_reason import Reason


class Surroundings(Struct, frozen=True, kw_only=True):
    """Who serves the Task's route, and what holds for them now."""

    recipients: tuple[Recipient, ...] = ()
    nodes: dict[NodeId, Node] = {}
    online: frozenset[NodeId] = frozenset()
    circuits: dict[str, Circuit] = {}
    accounts: dict[str, Account] = {}
    now_ms: int = 0


def no_grant(task: Task, attempt: Attempt, around: Surroundings) -> Reason:
    """Everything is ready but a recipient, or somebody has paused it."""
    for name, what in ((HUB_ACCOUNT, "the hub"), (project_account(task.project), f"project {task.project}")):
        account = around.accounts.get(name)
        if account is not None and account.paused is not None:
            return paused_reason(what, account.paused, name)
    route = attempt.spec.goes_to(task.spec.route)
    declared = [one for one in around.recipients if one.declared and route in recipient_routes(one)]
    if not declared:
        return Reason(
            "no_recipient",
            f"no recipient serves {route!r}; start a node that has one, or submit to another (see `tenure recipients`)",
            blocker=route,
        )
    fitting = [one for one in declared if fits(one, attempt.harness, attempt.model)]
    if not fitting:
        return Reason(
            "no_recipient",
            f"no recipient of {route!r} has the frozen harness {attempt.harness or 'any'} and model {attempt.model or 'any'}",
            "frozen",
            blocker=route,
        )
    left = [one for one in fitting if one.address not in attempt.spec.avoid]
    if not left:
        return Reason(
            "no_other_recipient",
            f"it must not go to {', '.join(attempt.spec.avoid)} again, and nobody else serves {route!r}",
            "reasoned_retry",
            blocker=route,
        )
    reasons = (
        recipient_reason(
            one,
            around.nodes.get(one.node_id),
            is_online=one.node_id in around.online,
            circuit=open_circuit(one, around),
        )
        for one in left
    )
    return min(reasons, key=lambda pair: pair[0])[1]


def open_circuit(recipient: Recipient, around: Surroundings) -> Circuit | None:
    """The circuit that keeps work from this recipient now, if one does."""
    found = (around.circuits.get(quota) for quota in recipient.quotas)
    return next((one for one in found if one is not None and not one.is_closed), None)


def paused_reason(what: str, paused: Paused, blocker: str) -> Reason:
    return Reason(
        "paused",
        f"{what} is {'being drained' if paused.drain else 'paused'} by {paused.by}: {paused.because}; "
        f"`tenure resume {what.split(maxsplit=1)[0] + ':' if what.startswith('node ') else ''}{blocker}` lets it go on",
        "never_silent",
        blocker=blocker,
    )


def recipient_reason(
    recipient: Recipient, node: Node | None, *, is_online: bool, circuit: Circuit | None = None
) -> tuple[int, Reason]:
    """How close this recipient is to taking work (less is closer, 0 takes it), and what it lacks."""
    where = recipient.address
    if not recipient.declared:
        return 9, Reason("no_recipient", f"its node does not offer {where} any more", blocker=where)
    if node is not None and not node.compatible:
        return 8, Reason(
            "contract_version",
            f"{where} is on node {node.name}, which speaks contract version {node.contract}; upgrade it or the hub",
            blocker=node.name,
        )
    if node is None or not node.may_work:
        return 7, Reason(
            "node_quarantined",
            f"the node of {where} is quarantined or revoked; see `tenure nodes`",
            blocker=where,
        )
    if recipient.is_blocked:
        return 6, Reason(
            "recipient_blocked",
            f"{where} takes no new work: nobody knows how {recipient.blocks[0]} on it ended, or its processes may still "
            f"run; `tenure attention {recipient.blocks[0]}` shows what is asked about it and what may be answered",
            "no_guess",
            blocker=recipient.blocks[0],
        )
    return _may_work(recipient, node, is_online=is_online, circuit=circuit)


def _may_work(
    recipient: Recipient, node: Node, *, is_online: bool, circuit: Circuit | None
) -> tuple[int, Reason]:
    where = recipient.address
    if recipient.paused is not None:
        return 5, paused_reason(f"recipient {where}", recipient.paused, where)
    if node.paused is not None:
        return 5, paused_reason(f"node {node.name}", node.paused, node.name)
    if not is_online:
        return 4, Reason("node_offline", f"{where} is not connected; start its node", blocker=where)
    if circuit is not None:
        return 3, Reason(
            "circuit_open",
            f"{circuit.quota} has no room ({circuit.because}); it is left alone until then, and then one attempt is let "
            "through to see",
            "capacity",
            circuit.until_ms,
            circuit.quota,
        )
    if not recipient.free:
        return 2, Reason(
            "recipient_busy",
            f"{where} works at its capacity of {recipient.capacity}; what is sent to it waits in its queue",
            blocker=where,
        )
    return 0, Reason(
        "ready",
        f"it is ready and {where} has room; it will be granted at the node's next claim",
        blocker=where,
    )

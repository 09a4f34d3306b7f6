"""From a request's short name to the command of the core, as it would be sent in this world.

What a node proves (fence, token) it was given with the grant, and that stands in the record for ever; so the command is made
from the world itself. Ids are given in the order of creation."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core.attempt import Answer, Outcome, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget
from tenure.core.canonical import digest, text_digest
from tenure.core.delivery import Delivery, Progress
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import PullRequest
from tenure.core.failure import CheckEnded, Evidence, FailureClass, StepEnded
from tenure.core.ids import Address, ClaimId, DeliveryId, EffectId, IncarnationId, NodeId, TaskId, attempt_id
from tenure.core.recipient import RecipientSpec
from tenure.core.task import Task
from tenure.core.usage import Usage
from tenure.core.world import World
from tenure.sim.explore.bounds import CALL, SETTLING, Bound
from tenure.sim.explore.canonical_form import EARLIER, GENERATION, LIVE, NOW, TICK_MS
from tenure.sim.explore.moves import Request

NEXT = IncarnationId("i_next")
STARTS = {
    "new": (NEXT, GENERATION + 1),
    "same": (LIVE, GENERATION),
    "earlier": (EARLIER, GENERATION - 1),
    "copied": (NEXT, GENERATION),
    "late": (IncarnationId("i_late"), GENERATION - 1),
}
"""Who may start: incarnation and number. `copied` counts in a copy of the store; `late` was never heard, and another was since."""
NODES = ("alfa", "beta")
TASKS = (TaskId("t_1"), TaskId("t_2"))
EFFECT = EffectId("e_1")
TARGET = "forge:acme/app"
PERSON = "ann"
ROUTE = "claude"
PULL_REQUEST = PullRequest(head="tenure/one", base="main", title="A change")
STALE_VERSION = 99


def node_id(node: int) -> NodeId:
    return NodeId(f"n_{node + 1}")


def delivery_id(place: int) -> DeliveryId:
    return DeliveryId(f"d_{place + 1}")


def evidence(
    claimed: FailureClass | None = None, check: str | None = None, retry_after_s: float | None = None
) -> str:
    """What a node reports beside its word."""
    checks = (CheckEnded(name="tests", ended=StepEnded(exit_code=1, output_tail=check)),) if check else ()
    return msgspec.json.encode(
        {"harness": Evidence(claimed_class=claimed, checks=checks, retry_after_s=retry_after_s)}
    ).decode()


def _failed(failure: FailureClass, told: str) -> Outcome:
    return Outcome(Verdict.FAILED, failure_class=failure, evidence=told, tree_gone=True)


OUTCOMES: dict[str, Outcome] = {
    "completed": Outcome(Verdict.COMPLETED, tree_gone=True),
    "failed": _failed(FailureClass.EXECUTOR_LOST, evidence(FailureClass.EXECUTOR_LOST)),
    "capacity": _failed(FailureClass.CAPACITY, evidence(FailureClass.CAPACITY, retry_after_s=1.0)),
    "validation": _failed(FailureClass.VALIDATION, evidence(FailureClass.VALIDATION, "1 test failed")),
    "refused": _failed(FailureClass.AUTHORIZATION, evidence(FailureClass.AUTHORIZATION)),
    "asked": Outcome(Verdict.ASKED, summary="which one?", tree_gone=True),
    "canceled": Outcome(Verdict.CANCELED, tree_gone=True),
    "unknown": Outcome(Verdict.UNKNOWN, tree_gone=True),
    "unknown_left": Outcome(Verdict.UNKNOWN),
}
"""How an Attempt may end, by the word that the tables and traces use."""
STAGES = ("", "mirrored", "acknowledged", "started", "ended", "closed")
"""Of a snapshot, by number; each has 10 added where the tree is gone."""


def command_of(world: World, request: Request, bound: Bound) -> cm.Command:
    """The command that a request stands for."""
    return _MAKERS[str(request[0])](world, request, bound)


def proof(world: World, place: int) -> cm.Proof:
    """What the holder of a grant proves."""
    row = world.entities[Delivery][delivery_id(place)]
    return cm.Proof(row.delivery_id, row.fence, row.token_digest, LIVE)


def _claim(world: World, request: Request, _bound: Bound) -> cm.Command:
    node, units = int(request[1]), int(request[2])
    first = len(world.entities[Delivery])
    offers = tuple(
        cm.Offer(delivery_id(one), text_digest(f"token {one}")) for one in range(first, first + units)
    )
    where = Address(f"{ROUTE}@{NODES[node]}")
    return cm.Claim(node_id(node), LIVE, ClaimId(f"c_{first + 1}"), {where: units}, offers)


def _receipt(world: World, request: Request, _bound: Bound) -> cm.Command:
    return cm.Acknowledge(proof(world, int(request[1])), "receipt", snapshot=int(request[2]))


def _refusal(world: World, request: Request, _bound: Bound) -> cm.Command:
    return cm.Acknowledge(proof(world, int(request[1])), "", "no room")


def _renew(world: World, request: Request, _bound: Bound) -> cm.Command:
    return cm.Renew(proof(world, int(request[1])), int(request[2]), Progress(), Usage())


def _report(world: World, request: Request, _bound: Bound) -> cm.Command:
    ending = str(request[2])
    if ending == "handback":
        return cm.HandBack(proof(world, int(request[1])), "never started")
    outcome = OUTCOMES[ending]
    return cm.Report(proof(world, int(request[1])), digest(outcome), outcome)


def _snapshot(world: World, request: Request, _bound: Bound) -> cm.Command:
    node, sequence, *told = (int(one) for one in request[1:])
    holdings = tuple(
        cm.Holding(
            delivery_id(place),
            world.entities[Delivery][delivery_id(place)].fence,
            STAGES[stage % 10],
            stage >= 10,
        )
        for place, stage in enumerate(told)
        if stage
    )
    return cm.Snapshot(node_id(node), LIVE, sequence, holdings)


def recipient(bound: Bound) -> RecipientSpec:
    """What each node offers."""
    isolation = "user" if bound.shape == "auto_unknown" else "open"
    return RecipientSpec(name=ROUTE, harness="command", capacity=bound.capacity, isolation=isolation)


def _start(_world: World, request: Request, bound: Bound) -> cm.Command:
    return start_of(node_id(int(request[1])), STARTS[str(request[3])], str(request[2]), bound)


def start_of(node: NodeId, who: tuple[IncarnationId, int], boot_id: str, bound: Bound) -> cm.StartNode:
    """What a daemon says when it starts. `who`: its incarnation and number."""
    incarnation, generation = who
    offered = (recipient(bound),)
    return cm.StartNode(node, incarnation, boot_id, 1, "linux", "1", offered, generation=generation)


def _due(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return cm.Due(delivery_id(int(request[1])))


def _cancel(_world: World, request: Request, bound: Bound) -> cm.Command:
    return cm.Cancel(TASKS[int(request[1])], PERSON, "not needed", tree=bound.cancel_tree)


def _stop(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return dc.StopAttempt(TASKS[int(request[1])], int(request[2]), PERSON, "wrong way")


def _answer(world: World, request: Request, _bound: Bound) -> cm.Command:
    """The last word: `read`, `stale` (an older version of the question was read), or `gone`: and the tree is gone."""
    task, number, answer, word = (
        TASKS[int(request[1])],
        int(request[2]),
        Answer(str(request[3])),
        str(request[4]),
    )
    late = request[5] if len(request) > 5 else None
    version = (
        STALE_VERSION
        if word == "stale"
        else version_of(world, AttentionKind.UNKNOWN, attempt_id(task, number))
    )
    return cm.Reconcile(
        task, number, answer, version, PERSON, "I looked", None if late is None else str(late), word == "gone"
    )


def version_of(world: World, kind: AttentionKind, subject: str) -> int:
    item = world.find(Attention, item_id(kind, subject))
    return item.version if item is not None else 0


def _retry(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return cm.Retry(TASKS[int(request[1])], PERSON, "try it once more")


def _raise(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return dc.RaiseBudget(TASKS[int(request[1])], Budget(attempts=1), None, PERSON, "one more")


def _give_up(world: World, request: Request, _bound: Bound) -> cm.Command:
    item = world.entities[Attention][str(request[2])]
    return dc.GiveUp(TASKS[int(request[1])], item.item_id, item.version, PERSON, "enough")


def _close(world: World, request: Request, _bound: Bound) -> cm.Command:
    item = world.entities[Attention][str(request[1])]
    return cm.CloseAttention(item.item_id, item.version, PERSON, "read")


def _approve(world: World, request: Request, _bound: Bound) -> cm.Command:
    task, effect, yes = TASKS[int(request[1])], str(request[2]) or None, bool(request[3])
    newest = world.entities[Task][task].attempts
    subject = f"{task}/{effect}" if effect else attempt_id(task, newest)
    version = version_of(world, AttentionKind.APPROVAL, subject)
    return ec.Approve(task, None if effect is None else EffectId(effect), yes, version, PERSON, "my word")


def _forget(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return cm.ForgetNode(node_id(int(request[1])), PERSON, "it is gone")


def _release_node(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return cm.ReleaseNode(node_id(int(request[1])), PERSON, "one of them is off")


def _waive(world: World, request: Request, _bound: Bound) -> cm.Command:
    task = TASKS[int(request[1])]
    return dc.WaiveDependencies(
        task, version_of(world, AttentionKind.DEPENDENCY_FAILED, task), PERSON, "without it"
    )


def _tell(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return cm.ReleaseDependent(TASKS[int(request[1])], TASKS[int(request[2])])


def _reconsider(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return dc.Reconsider(TASKS[int(request[1])])


def _begin(world: World, request: Request, _bound: Bound) -> cm.Command:
    row = world.entities[Delivery][delivery_id(int(request[1]))]
    return ec.BeginEffect(
        effect_id=EFFECT,
        delivery_id=row.delivery_id,
        fence=row.fence,
        target=TARGET,
        params=PULL_REQUEST,
        finds=True,
        settling_ms=SETTLING * TICK_MS,
    )


def _issue(_world: World, request: Request, _bound: Bound) -> cm.Command:
    return ec.IssueEffect(EFFECT, f"call{request[1]}", CALL * TICK_MS)


def _settle(_world: World, request: Request, _bound: Bound) -> cm.Command:
    call, end = f"call{request[1]}", CallEnd(str(request[2]))
    result, code = ('{"number":7}', None) if end is CallEnd.CONFIRMED else (None, "unavailable")
    return ec.SettleEffect(EFFECT, call, end, result, code if end is CallEnd.ABSENT else None)


def _doubt(_world: World, _request: Request, _bound: Bound) -> cm.Command:
    return ec.DoubtEffect(EFFECT)


def _look(_world: World, request: Request, _bound: Bound) -> cm.Command:
    """`found`, `not_found`, `away` or `contradiction`; asked so many ticks ago."""
    said, age_ms = str(request[1]), int(request[2]) * TICK_MS
    asked = replace(NOW, wall_ms=NOW.wall_ms - age_ms, awake_ms=NOW.awake_ms - age_ms)
    return ec.LookUpEffect(
        EFFECT,
        asked,
        result='{"number":7}' if said == "found" else None,
        contradiction="two of them are there" if said == "contradiction" else None,
        unreachable="it does not answer" if said == "away" else None,
    )


def _resolve(world: World, request: Request, _bound: Bound) -> cm.Command:
    kinds = (AttentionKind.EFFECT_QUARANTINED, AttentionKind.EFFECT_IN_DOUBT)
    items = (world.find(Attention, item_id(kind, f"{TASKS[0]}/{EFFECT}")) for kind in kinds)
    version = next((one.version for one in items if one is not None and one.open), 0)
    return ec.ResolveEffect(EFFECT, bool(request[1]), version, PERSON, "I looked there")


def _start_hub(_world: World, _request: Request, _bound: Bound) -> cm.Command:
    return cm.StartHub(IncarnationId("i_hub_next"), "1")


_MAKERS = {
    "claim": _claim,
    "receipt": _receipt,
    "refusal": _refusal,
    "renew": _renew,
    "report": _report,
    "snapshot": _snapshot,
    "start": _start,
    "due": _due,
    "cancel": _cancel,
    "stop": _stop,
    "answer": _answer,
    "retry": _retry,
    "raise": _raise,
    "give_up": _give_up,
    "close": _close,
    "approve": _approve,
    "forget": _forget,
    "release_node": _release_node,
    "waive": _waive,
    "tell": _tell,
    "reconsider": _reconsider,
    "begin": _begin,
    "issue": _issue,
    "settle": _settle,
    "doubt": _doubt,
    "look": _look,
    "resolve": _resolve,
    "start_hub": _start_hub,
}

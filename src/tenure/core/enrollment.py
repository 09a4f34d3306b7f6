"""Nodes, credentials and the hub's own start.

A node credential has one live incarnation: the start of a new one supersedes the old. A node's store counts its
starts: a request with a lower number than was heard is late, and takes over nothing. Two machines that run on one
credential (a copied disk) show by a number that comes twice, or is kept back, and by their boot ids: A, B, A can
only be two machines. The node is quarantined then until a person has looked."""

from __future__ import annotations

import re

from tenure.core import events as ev
from tenure.core import limits
from tenure.core.access import HUB_ID, MOST_PROJECTS, PERSON_ROLES, Credential
from tenure.core.asking import ask, settle
from tenure.core.attention import AttentionKind
from tenure.core.commands import (
    Done,
    Enroll,
    Enrolled,
    ForgetNode,
    IssueCredential,
    NoteClockStep,
    Refusal,
    ReleaseNode,
    RevokeCredential,
    RotateCredential,
    Started,
    StartHub,
    StartNode,
)
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.draft import Draft
from tenure.core.granting import void
from tenure.core.recipient import CONTRACTS, ISOLATED, OPEN, Node, RecipientSpec
from tenure.core.remains import free_unit
from tenure.core.task import Task

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LABEL = re.compile(rf"[!-{{}}~]{{1,{limits.NAME_LENGTH}}}")
"""Printable and without `|`, which separates the parts of a queue's key."""
ISOLATIONS = ISOLATED | {OPEN}
"""What a node may claim; it refuses its own start where it cannot keep what it would claim."""


def decide_enroll(draft: Draft, command: Enroll) -> Enrolled | Refusal:
    if not _is_name(command.name):
        return Refusal(
            "invalid",
            f"{command.name[:80]!r} is no node name (letters, digits, dots, dashes).",
            {"field": "name"},
        )
    for node in draft.world.nodes_named(command.name):
        if node.credential_digest == command.credential_digest and not node.revoked:
            return Enrolled(node.node_id)
        if not node.revoked:
            return Refusal(
                "name_taken",
                f"a node named {command.name} is enrolled already. Choose another name, or forget that node first.",
                {"name": command.name, "node_id": node.node_id},
            )
    draft.emit(
        ev.NodeEnrolled(
            node_id=command.node_id,
            name=command.name,
            credential_digest=command.credential_digest,
            by=command.by,
        )
    )
    return Enrolled(command.node_id)


def decide_start_node(draft: Draft, command: StartNode) -> Started | Refusal:
    node = draft.find(Node, command.node_id)
    if node is None or node.revoked:
        return Refusal(
            "unauthenticated", "this node is not enrolled (any more). Enroll it with a join token."
        )
    if command.incarnation in node.superseded:
        return Refusal(
            "superseded", "a newer start of this node has taken over; stop.", {"live": node.incarnation}
        )
    refusal = start_refusal(command)
    if refusal is not None:
        return refusal
    if command.incarnation != node.incarnation and 0 < command.generation < node.generation:
        return Refusal(
            "superseded",
            f"start {node.generation} of this node was heard before this one, its start {command.generation}; stop.",
            {"live": node.incarnation, "generation": node.generation},
        )
    renewed = command.credential_digest
    if renewed is not None and renewed != node.credential_digest:
        draft.emit(ev.NodeCredentialRenewed(node_id=node.node_id, credential_digest=renewed))
    if node.incarnation == command.incarnation:
        return Started(node.node_id, None, node.compatible, node.quarantined)
    copied = _why_copied(node, command)
    compatible = command.contract in CONTRACTS
    draft.emit(
        ev.NodeStarted(
            node_id=node.node_id,
            incarnation=command.incarnation,
            boot_id=command.boot_id,
            contract=command.contract,
            compatible=compatible,
            platform=command.platform[: limits.NAME_LENGTH],
            version=command.version[: limits.NAME_LENGTH],
            recipients=command.recipients,
            generation=command.generation,
        )
    )
    if copied is not None and not node.quarantined:
        _quarantine(draft, node, copied)
    _watch_contract(draft, node, command, compatible)
    started = draft.get(Node, node.node_id)
    return Started(node.node_id, node.incarnation or None, compatible, started.quarantined)


def _why_copied(node: Node, command: StartNode) -> str | None:
    """How a new start shows that two machines use one credential; None where it does not."""
    if command.boot_id in node.boots[:-1] and command.boot_id != node.boots[-1]:
        return "two machines take turns with one credential (was a disk copied?)"
    if 0 < node.generation >= command.generation:
        return (
            "one of its starts tells no higher number than another (was its data folder copied, an older copy put back, or an "
            "older Tenure started?)"
        )
    return None


def _quarantine(draft: Draft, node: Node, why: str) -> None:
    draft.emit(ev.NodeQuarantined(node_id=node.node_id, because=why))
    ask(
        draft,
        AttentionKind.NODE_QUARANTINED,
        node.node_id,
        f"node {node.name} gets no work: {why}. Stop one of them, then release the node.",
        {"node": node.name, "boots": list(node.boots)},
    )


def _watch_contract(draft: Draft, node: Node, command: StartNode, compatible: bool) -> None:
    if compatible:
        settle(draft, AttentionKind.NODE_INCOMPATIBLE, node.node_id, "it speaks the contract now")
        return
    ask(
        draft,
        AttentionKind.NODE_INCOMPATIBLE,
        node.node_id,
        f"node {node.name} speaks contract version {command.contract}, this hub {sorted(CONTRACTS)}; it gets no work "
        "until one of them is upgraded.",
        {"node": node.name, "contract": command.contract},
    )


def _is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and len(name) <= limits.NAME_LENGTH


def start_refusal(command: StartNode) -> Refusal | None:
    """What is wrong with what a node says of itself, or None."""
    for name, text in (("incarnation", command.incarnation), ("boot_id", command.boot_id)):
        if not _LABEL.fullmatch(text):
            return Refusal(
                "invalid", f"{name}: {text[:80]!r} is no id of 1 to {limits.NAME_LENGTH} plain characters."
            )
    return _recipients_refusal(command.recipients)


def _recipients_refusal(recipients: tuple[RecipientSpec, ...]) -> Refusal | None:
    if len(recipients) > limits.RECIPIENTS:
        return Refusal("invalid", f"{len(recipients)} recipients; at most {limits.RECIPIENTS} on one node.")
    names = [one.name for one in recipients]
    if len(set(names)) != len(names):
        return Refusal("invalid", "two recipients of this node have the same name.", {"names": sorted(names)})
    for one in recipients:
        if not all(map(_is_name, (one.name, *one.pools))) or len(one.pools) > limits.POOLS:
            return Refusal(
                "invalid",
                f"recipient {one.name[:80]!r}: bad name, bad pool, or more than {limits.POOLS} pools.",
            )
        if not 1 <= one.capacity <= limits.CAPACITY:
            return Refusal(
                "invalid", f"recipient {one.name}: capacity is {one.capacity}; 1 to {limits.CAPACITY}."
            )
        labels = (one.harness, one.model, one.provider)
        if not all(_LABEL.fullmatch(part) for part in labels if part is not None):
            return Refusal(
                "invalid", f"recipient {one.name}: harness, model and provider are plain names without `|`."
            )
        if one.isolation not in ISOLATIONS or len(one.config_digest) > limits.KEY_LENGTH:
            return Refusal(
                "invalid", f"recipient {one.name}: unknown isolation, or too long a config_digest."
            )
    return None


def decide_forget(draft: Draft, command: ForgetNode) -> Done | Refusal:
    """A person states that the machine is gone. Repeated, it frees what has come loose since."""
    node = draft.find(Node, command.node_id)
    if node is None:
        return Refusal("not_found", f"there is no node {command.node_id}.", {"node_id": command.node_id})
    before = len(draft.events)
    if not node.revoked:
        draft.emit(ev.NodeRevoked(node_id=node.node_id, by=command.by, because=command.because))
    settle(draft, AttentionKind.NODE_QUARANTINED, node.node_id, f"forgotten by {command.by}")
    for known in draft.world.deliveries_of_node(node.node_id):
        delivery = draft.get(Delivery, known.delivery_id)
        holds = draft.get(Task, delivery.task_id).lease == delivery.delivery_id
        if delivery.state is DeliveryState.CLAIMED:
            void(draft, delivery, "node_forgotten")
        elif delivery.slot and not holds:
            free_unit(draft, delivery, "the machine was declared gone", command.by)
    return Done(replayed=len(draft.events) == before)


def decide_release_node(draft: Draft, command: ReleaseNode) -> Done | Refusal:
    node = draft.find(Node, command.node_id)
    if node is None:
        return Refusal("not_found", f"there is no node {command.node_id}.", {"node_id": command.node_id})
    if not node.quarantined:
        return Done(replayed=True)
    draft.emit(ev.NodeReleased(node_id=node.node_id, by=command.by, because=command.because))
    settle(
        draft, AttentionKind.NODE_QUARANTINED, node.node_id, f"released by {command.by}: {command.because}"
    )
    return Done()


def decide_issue(draft: Draft, command: IssueCredential) -> Done | Refusal:
    known = draft.find(Credential, command.credential_id)
    if known is not None:
        return Done(replayed=True)
    if not _is_name(command.name):
        return Refusal(
            "invalid",
            f"{command.name[:80]!r} is no token name (letters, digits, dots, dashes).",
            {"field": "name"},
        )
    refusal = _projects_refusal(command)
    if refusal is not None:
        return refusal
    draft.emit(
        ev.CredentialIssued(
            credential_id=command.credential_id,
            name=command.name,
            role=command.role,
            token_digest=command.token_digest,
            by=command.by,
            projects=tuple(sorted(set(command.projects))),
            because=command.because,
        )
    )
    return Done()


def _projects_refusal(command: IssueCredential) -> Refusal | None:
    if not command.projects:
        return None
    if command.role not in PERSON_ROLES:
        return Refusal(
            "invalid",
            f"a {command.role} token is for machines, which serve every project; it cannot be bound to one.",
            {"field": "projects"},
        )
    wrong = next((one for one in command.projects if not _is_name(one)), None)
    if wrong is not None or len(command.projects) > MOST_PROJECTS:
        problem = f"{len(command.projects)} are too many" if wrong is None else f"{wrong[:80]!r} is no name"
        return Refusal(
            "invalid",
            f"projects: {problem} (letters, digits, dots, dashes; at most {MOST_PROJECTS}).",
            {"field": "projects"},
        )
    return None


def decide_revoke(draft: Draft, command: RevokeCredential) -> Done | Refusal:
    known = draft.find(Credential, command.credential_id)
    if known is None:
        return no_token(command.credential_id)
    if known.revoked_at_ms is not None:
        return Done(replayed=True)
    draft.emit(
        ev.CredentialRevoked(credential_id=command.credential_id, by=command.by, because=command.because)
    )
    return Done()


def decide_rotate(draft: Draft, command: RotateCredential) -> Done | Refusal:
    known = draft.find(Credential, command.replaces)
    if known is None:
        return no_token(command.replaces)
    if draft.find(Credential, command.credential_id) is not None:
        return Done(replayed=True)
    if known.revoked_at_ms is not None:
        return Refusal(
            "conflict",
            f"the token {known.credential_id} was revoked by {known.revoked_by}; issue a new one.",
            {"credential_id": known.credential_id},
        )
    draft.emit(
        ev.CredentialIssued(
            credential_id=command.credential_id,
            name=known.name,
            role=known.role,
            token_digest=command.token_digest,
            by=command.by,
            projects=known.projects,
            because=command.because,
            replaces=known.credential_id,
        )
    )
    draft.emit(
        ev.CredentialRevoked(credential_id=known.credential_id, by=command.by, because=command.because)
    )
    return Done()


def no_token(credential_id: str) -> Refusal:
    return Refusal("not_found", f"there is no token {credential_id}.", {"credential_id": credential_id})


def decide_start_hub(draft: Draft, command: StartHub) -> Done:
    draft.emit(ev.HubStarted(incarnation=command.incarnation, version=command.version))
    return Done()


def decide_clock_step(draft: Draft, command: NoteClockStep) -> Done:
    if abs(command.step_ms) < limits.CLOCK_STEP_MS:
        return Done(replayed=True)
    ask(
        draft,
        AttentionKind.CLOCK_STEPPED,
        HUB_ID,
        f"the hub's wall clock stepped by {command.step_ms / 1000:+.0f} s. No lease was lost by it; check the time service.",
        {"step_ms": command.step_ms, "at_ms": draft.now.wall_ms},
    )
    return Done()

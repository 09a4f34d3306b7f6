"""What the events of nodes, credentials and the hub do."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core.access import HUB_ID, Credential, Hub
from tenure.core.delivery import Now
from tenure.core.ids import IncarnationId, address
from tenure.core.recipient import BOOTS_KEPT, SUPERSEDED_KEPT, Node, Recipient
from tenure.core.world import Space, get


def node_enrolled(space: Space, event: ev.NodeEnrolled, now: Now) -> None:
    space.put(
        Node(
            node_id=event.node_id,
            name=event.name,
            credential_digest=event.credential_digest,
            incarnation=IncarnationId(""),
            superseded=(),
            boots=(),
            contract=0,
            compatible=False,
            quarantined=False,
            revoked=False,
            snapshot_sequence=0,
            platform="",
            version="",
            recipients=(),
            enrolled_at_ms=now.wall_ms,
            started_at_ms=now.wall_ms,
        )
    )


def node_started(space: Space, event: ev.NodeStarted, now: Now) -> None:
    node = get(space, Node, event.node_id)
    boots = node.boots if node.boots[-1:] == (event.boot_id,) else (*node.boots, event.boot_id)[-BOOTS_KEPT:]
    superseded = (*node.superseded, node.incarnation)[-SUPERSEDED_KEPT:] if node.incarnation else ()
    declared = tuple(address(one.name, node.name) for one in event.recipients)
    for gone in node.recipients:
        if gone not in declared:
            space.put(replace(get(space, Recipient, gone), declared=False))
    space.put(
        replace(
            node,
            incarnation=event.incarnation,
            superseded=superseded,
            boots=boots,
            contract=event.contract,
            compatible=event.compatible,
            snapshot_sequence=0,
            platform=event.platform,
            version=event.version,
            recipients=tuple(dict.fromkeys((*node.recipients, *declared))),
            started_at_ms=now.wall_ms,
            generation=max(node.generation, event.generation),
        )
    )
    for spec in event.recipients:
        where = address(spec.name, node.name)
        known = space.find(Recipient, where)
        space.put(
            Recipient(
                address=where,
                node_id=event.node_id,
                name=spec.name,
                harness=spec.harness,
                model=spec.model,
                pools=spec.pools,
                capacity=spec.capacity,
                isolation=spec.isolation,
                config_digest=spec.config_digest,
                # The address keeps its blocks, slots and pause, whichever enrolment stands behind it now.
                slots_used=known.slots_used if known else 0,
                blocks=known.blocks if known else (),
                declared=True,
                declared_at_ms=now.wall_ms,
                provider=spec.provider,
                resumes=spec.resumes,
                paused=known.paused if known else None,
            )
        )


def node_quarantined(space: Space, event: ev.NodeQuarantined, _now: Now) -> None:
    space.put(replace(get(space, Node, event.node_id), quarantined=True))


def node_credential_renewed(space: Space, event: ev.NodeCredentialRenewed, _now: Now) -> None:
    node = get(space, Node, event.node_id)
    space.put(replace(node, credential_digest=event.credential_digest))


def node_released(space: Space, event: ev.NodeReleased, _now: Now) -> None:
    node = get(space, Node, event.node_id)
    space.put(replace(node, quarantined=False, boots=node.boots[-1:], generation=0))


def node_revoked(space: Space, event: ev.NodeRevoked, _now: Now) -> None:
    node = get(space, Node, event.node_id)
    space.put(replace(node, revoked=True))
    for where in node.recipients:
        recipient = get(space, Recipient, where)
        if recipient.node_id == node.node_id:
            space.put(replace(recipient, declared=False))


def snapshot_heard(space: Space, event: ev.SnapshotHeard, _now: Now) -> None:
    space.put(replace(get(space, Node, event.node_id), snapshot_sequence=event.sequence))


def hub_started(space: Space, event: ev.HubStarted, now: Now) -> None:
    before = space.find(Hub, HUB_ID)
    space.put(
        Hub(
            hub_id=HUB_ID,
            incarnation=event.incarnation,
            starts=before.starts + 1 if before else 1,
            version=event.version,
            started_at_ms=now.wall_ms,
        )
    )


def credential_issued(space: Space, event: ev.CredentialIssued, now: Now) -> None:
    space.put(
        Credential(
            credential_id=event.credential_id,
            name=event.name,
            role=event.role,
            token_digest=event.token_digest,
            issued_at_ms=now.wall_ms,
            issued_by=event.by,
            revoked_at_ms=None,
            revoked_by=None,
            projects=event.projects,
        )
    )


def credential_revoked(space: Space, event: ev.CredentialRevoked, now: Now) -> None:
    credential = get(space, Credential, event.credential_id)
    space.put(replace(credential, revoked_at_ms=now.wall_ms, revoked_by=event.by))

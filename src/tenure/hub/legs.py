"""The six legs: what nodes say, turned into commands, and the replies turned back.

A whole request is one batch and shares one commit. It is refused as a whole only when its sender may not speak;
else every item has an answer of its own. All rules are in `core`: here a request is bounded and its sender checked.

The hard case is a request that was under way while a newer start of its node took over. Its sender was the live one
when the request came and no longer is in the commit; `core` then answers `superseded` for each item, which makes it
the answer to all. The same word for another node's Delivery is only `stale_fence`: the sender never held it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import final

from msgspec.structs import replace

from tenure import errors as er
from tenure.core import commands as cm
from tenure.core import limits
from tenure.core.access import Role
from tenure.core.canonical import digest, text_digest
from tenure.core.enrollment import start_refusal
from tenure.core.ids import NodeId
from tenure.core.recipient import CONTRACTS, Node
from tenure.hub.access import Principal, superseded
from tenure.hub.claiming import Claims, Gone
from tenure.hub.leg_bounds import (
    check_claim,
    check_credential,
    check_fence,
    check_outcome,
    check_receipts,
    check_renewal,
    check_snapshot,
    refuse_above,
)
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub, accepted
from tenure.wire import legs as ws

Fenced = cm.Acknowledge | cm.Renew | cm.Report | cm.HandBack

SUPERSEDED = "superseded"
STALE = "stale_fence"


@final
class Legs:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._claims = Claims(hub)

    # -- enroll

    async def enroll(self, who: Principal, asked: ws.EnrollRequest) -> ws.EnrollReply:
        """A start of a node's daemon: the first with a join token, later ones with the node's own credential. If these name
        another secret in their body, that one is the node's credential from then on.

        Raises:
            NameTakenError: another node has the name.
            ContractVersionError: node and hub do not understand each other. The start is recorded nevertheless, so
                that `why` can say it.
            SupersededError: a newer start of this node has taken over.
            ForbiddenError: the token is neither a join token nor a node's.
            InvalidError: name, recipients or credential are not what they must be.
        """
        check_credential(asked)
        start = cm.StartNode(
            node_id=NodeId(""),
            incarnation=asked.incarnation,
            boot_id=asked.boot_id,
            contract=asked.contract,
            platform=asked.platform,
            version=asked.version,
            recipients=asked.recipients,
            credential_digest=text_digest(asked.credential) if who.node_id is not None else None,
            generation=asked.generation,
        )
        refusal = start_refusal(start)
        if refusal is not None:  # before the name is taken: a refused start must not use it up
            accepted(refusal)
        node_id = await self._node_of(who, asked)
        is_new = who.node_id is None  # then its name was taken in a commit before this one
        with recorded() if is_new else nullcontext():
            started = await self._hub.execute(replace(start, node_id=node_id))
        self._hub.presence.heard(node_id)
        check_contract(str(asked.contract))
        return ws.EnrollReply(
            node_id=node_id,
            superseded=started.superseded,
            quarantined=started.quarantined,
            lease_ttl_s=self._hub.terms.lease_ttl_ms / 1000,
            cancel_grace_s=self._hub.terms.cancel_grace_ms / 1000,
            hub_incarnation=self._hub.identity.incarnation,
        )

    async def _node_of(self, who: Principal, asked: ws.EnrollRequest) -> NodeId:
        if who.node_id is not None:
            if who.name != asked.name:
                raise er.ConflictError(
                    f"this credential is that of node {who.name}, not of {asked.name}. A new name is enrolled with a "
                    "join token.",
                    name=who.name,
                )
            await self._check_new(asked.credential, who.node_id)
            return who.node_id
        if who.role is not Role.JOIN:
            raise er.ForbiddenError(f"a join token is needed to enroll; this one has the role {who.role}.")
        await self._check_new(asked.credential)
        credential = text_digest(asked.credential)
        command = cm.Enroll(NodeId(self._hub.ids.new_id("n")), asked.name, credential, who.name)
        return (await self._hub.execute(command)).node_id

    async def _check_new(self, secret: str, node_id: NodeId | None = None) -> None:
        """Is it nobody else's? A credential stands for one holder.

        Raises:
            InvalidError: it is a token's, or another node's.
        """
        digest_of = text_digest(secret)
        other = await self._hub.ledger.node_by_credential(digest_of) if node_id is not None else None
        taken = other is not None and other.node_id != node_id
        if taken or await self._hub.ledger.credential_by_digest(digest_of) is not None:
            raise er.InvalidError(
                "the credential is a token of somebody else; a node makes a secret of its own."
            )

    # -- claim

    async def claim(self, who: Principal, asked: ws.ClaimRequest, gone: Gone | None = None) -> ws.ClaimReply:
        """Grants for as much as there is; without any, wait up to `wait_s` for some. `gone` completes when the node
        has gone away.

        Raises:
            SupersededError: a newer start of this node has taken over.
            ForbiddenError: the node is quarantined.
            InvalidError: a bound is exceeded.
        """
        check_claim(asked)
        node_id = self._hub.speaker(who, asked.incarnation)
        if who.quarantined:
            raise er.ForbiddenError(
                f"node {who.name} is quarantined and gets no work; an operator releases it once it is known why two "
                "machines used its credential.",
                node=who.name,
            )
        return await self._claims.claim(node_id, asked, gone)

    # -- fenced writes

    async def acknowledge(self, who: Principal, asked: ws.AckRequest) -> ws.ItemsReply:
        """Receipts, or refusals to take a Delivery.

        Raises:
            SupersededError: a newer start of this node has taken over.
            InvalidError: a bound is exceeded.
        """
        check_receipts(asked)
        commands = [
            cm.Acknowledge(
                _proof(item, asked), item.receipt_digest[:64], _short(item.refused), asked.snapshot
            )
            for item in asked.items
        ]
        return await self._write(who, asked.incarnation, commands)

    async def renew(self, who: Principal, asked: ws.RenewRequest) -> ws.ItemsReply:
        """Renewals of every lease the node holds, with progress and usage.

        Raises:
            SupersededError: a newer start of this node has taken over.
            InvalidError: a bound is exceeded.
        """
        refuse_above(limits.BATCH, len(asked.items), "items")
        for item in asked.items:
            check_renewal(item)
        commands = [
            cm.Renew(_proof(item, asked), item.counter, item.progress, item.usage, item.started_at_ms)
            for item in asked.items
        ]
        return await self._write(who, asked.incarnation, commands)

    async def report(self, who: Principal, asked: ws.ReportRequest) -> ws.ItemsReply:
        """Outcomes, and Deliveries handed back unstarted.

        Raises:
            SupersededError: a newer start of this node has taken over.
            InvalidError: a bound is exceeded, or an item has not exactly one of outcome and handback.
        """
        refuse_above(limits.BATCH, len(asked.items), "items")
        commands: list[cm.Report | cm.HandBack] = []
        for item in asked.items:
            if item.outcome is not None and item.handback is None:
                check_outcome(item.delivery_id, item.outcome)
                commands.append(cm.Report(_proof(item, asked), digest(item.outcome), item.outcome))
            elif item.handback is not None and item.outcome is None:
                commands.append(cm.HandBack(_proof(item, asked), _short(item.handback) or ""))
            else:
                raise er.InvalidError(
                    f"{item.delivery_id[:80]}: give either `outcome` or `handback`.",
                    delivery=item.delivery_id[:80],
                )
        return await self._write(who, asked.incarnation, commands)

    async def reconcile(self, who: Principal, asked: ws.ReconcileRequest) -> ws.ReconcileReply:
        """Everything the node's store holds; what to do with each Delivery of it.

        Raises:
            SupersededError: a newer start of this node has taken over.
            InvalidError: a bound is exceeded.
        """
        check_snapshot(asked)
        node_id = self._hub.speaker(who, asked.incarnation)
        holdings = tuple(
            cm.Holding(one.delivery_id, one.fence, one.stage, one.tree_gone) for one in asked.holdings
        )
        command = cm.Snapshot(node_id, asked.incarnation, asked.sequence, holdings)
        answer: cm.SnapshotAnswer = await self._hub.execute(command)
        advice = tuple(ws.Advice(delivery_id=one, advice=what) for one, what in answer.advice.items())
        return ws.ReconcileReply(ignored=answer.ignored, advice=advice)

    async def _write(self, who: Principal, incarnation: str, commands: Sequence[Fenced]) -> ws.ItemsReply:
        node_id = self._hub.speaker(who, incarnation)
        if not commands:
            return ws.ItemsReply(items=())
        replies = await self._hub.ledger.execute_many(commands)
        if all(isinstance(reply, cm.Refusal) for reply in replies):
            accepted(replies[0])
        answers = [_answer(command, reply) for command, reply in zip(commands, replies, strict=True)]
        if any(answer.answer == SUPERSEDED for answer in answers):
            with recorded():
                await self._refuse_superseded(node_id, incarnation)
        return ws.ItemsReply(items=tuple(map(_item, answers)))

    async def _refuse_superseded(self, node_id: NodeId, incarnation: str) -> None:
        """Was the sender superseded while its request was under way? If not, the items named another node's
        Deliveries, which it never held."""
        node = await self._hub.ledger.find(Node, node_id)
        if node is not None and (node.incarnation != incarnation or node.revoked):
            error = superseded(node.incarnation)
            raise error


def _answer(command: Fenced, reply: cm.Reply) -> cm.LegAnswer:
    """The answer to one item. One that ran into a bug has that for an answer: it must not cost the others their
    leases.

    Raises:
        InvariantError: the ledger answered something else than was asked.
    """
    if isinstance(reply, cm.Refusal):
        return cm.LegAnswer(command.proof.delivery_id, reply.code)
    if not isinstance(reply, cm.LegAnswer):
        raise er.InvariantError(f"an item of a leg was answered with {type(reply).__name__}")
    return reply


def _proof(item: ws.Claimant, asked: ws.AckRequest | ws.RenewRequest | ws.ReportRequest) -> cm.Proof:
    check_fence(item.fence)
    return cm.Proof(item.delivery_id, item.fence, text_digest(item.token), asked.incarnation)


def _short(text: str | None) -> str | None:
    return None if text is None else text[: limits.REASON_LENGTH]


def _item(reply: cm.LegAnswer) -> ws.ItemReply:
    return ws.ItemReply(
        delivery_id=reply.delivery_id,
        answer=STALE if reply.answer == SUPERSEDED else reply.answer,
        ttl_s=None if reply.term_ms is None else reply.term_ms / 1000,
        cancel=reply.cancel,
        cancel_grace_s=None if reply.cancel_grace_ms is None else reply.cancel_grace_ms / 1000,
    )


def check_contract(said: str | None) -> None:
    """Do node and hub speak a common version of the contract?

    Raises:
        ContractVersionError: they do not.
    """
    spoken = sorted(CONTRACTS)
    if said is None or not said.isascii() or not said.isdigit() or int(said) not in CONTRACTS:
        raise er.ContractVersionError(
            f"the node speaks version {said!r} of the contract, this hub {spoken}. Upgrade the older of the two.",
            node=said,
            hub=spoken,
        )

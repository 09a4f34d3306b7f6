"""Failure policies as people see them: storing, looking, choosing where each holds.

What a policy may say is judged in `core.policy`; here names become documents, and what will not do what it looks like is told:
`unknown = "auto"` has an effect only where an Attempt was isolated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

from msgspec.structs import replace

from tenure.core.desk_commands import ChoosePolicy, StorePolicy
from tenure.core.policy import (
    BUILT_IN,
    BUILT_IN_KEYS,
    FORMER_KEYS,
    Policy,
    PolicyChoice,
    PolicyDocument,
    UnknownRule,
)
from tenure.core.policy_choice import NAME_PREFIX, ROUTE_PREFIX
from tenure.core.recipient import OPEN, Recipient, recipient_routes
from tenure.errors import ConflictError, NotFoundError
from tenure.hub.access import Principal
from tenure.hub.asked import policy_subject, reason_given
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub
from tenure.wire.codec import instant
from tenure.wire.policies import ChoiceBody, ChoiceRequest, PolicyBody, PolicyRequest, policy_body, policy_of

NAMED = 5
"""Recipients named one by one in a warning."""


@final
class PolicyDesk:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._ledger = hub.ledger

    async def store(self, who: Principal, asked: PolicyRequest) -> PolicyBody:
        """Keep a policy under its name and version. The same one again changes nothing.

        Raises:
            InvalidError: it can never work; the facts list every problem.
            NotFoundError: the policy that it extends is not there.
            ConflictError: the version is not newer, or stands for another policy.
        """
        policy = await self.whole(asked)
        done = await self._hub.execute(StorePolicy(policy, who.name))
        with recorded():
            body = await self.show(policy.key)
            warnings = auto_warnings(policy, "this hub", await self._declared())
        return replace(body, warnings=warnings, replayed=done.replayed)

    async def choose(self, who: Principal, asked: ChoiceRequest) -> ChoiceBody:
        """Say which policy holds for Attempts that are made from now on; with no policy the choice is taken back.

        Raises:
            InvalidError: the subject is none, or the reason is missing.
            NotFoundError: there is no such policy.
            ConflictError: it would answer unknown outcomes by itself where no Attempt is ever isolated.
        """
        because, subject = reason_given(asked.because), policy_subject(asked.subject)
        warnings: tuple[str, ...] = ()
        if asked.policy is not None:
            policy = await self.named(asked.policy)
            served = await self._recipients_of(subject)
            refuse_auto_without_effect(policy, subject, served)
            warnings = auto_warnings(policy, subject, served)
        done = await self._hub.execute(ChoosePolicy(subject, asked.policy, who.name, because))
        with recorded():
            known = await self._ledger.find(PolicyChoice, subject)
            body = None if known is None else await self._choice_body(known)
        if body is None:  # there was none to take back
            body = ChoiceBody(
                subject=subject,
                policy=None,
                means=None,
                by=who.name,
                because=because,
                at=instant(self._hub.clock.wall_ms()),
            )
        return replace(body, warnings=warnings, replayed=done.replayed)

    # -- looking

    async def list(self) -> tuple[PolicyBody, ...]:
        """The newest version of each policy, the built-in ones first, then by name."""
        choices = await self._ledger.all_of(PolicyChoice)
        newest = [one.policy for one in choices if one.subject.startswith(NAME_PREFIX) and one.policy]
        found = [policy_body(one) for one in BUILT_IN.values()]
        found += [await self._body(key) for key in newest]
        chosen = _chosen(choices)
        return tuple(replace(one, chosen_for=chosen_for(one, chosen)) for one in found)

    async def show(self, asked: str) -> PolicyBody:
        """One policy, by NAME (its newest version) or NAME/VERSION.

        Raises:
            NotFoundError: there is none.
        """
        policy = await self.named(asked)
        chosen = _chosen(await self._ledger.all_of(PolicyChoice))
        body = await self._body(policy.key)
        newest = await self._ledger.find(PolicyChoice, f"{NAME_PREFIX}{policy.name}")
        is_newest = newest is None or newest.policy == policy.key
        body = replace(body, newest=is_newest)
        return replace(body, chosen_for=chosen_for(body, chosen))

    async def choices(self) -> tuple[ChoiceBody, ...]:
        """Where a policy holds by choice, by subject."""
        found = _chosen(await self._ledger.all_of(PolicyChoice))
        return tuple([await self._choice_body(one) for one in found])

    async def named(self, asked: str) -> Policy:
        """A policy by NAME or NAME/VERSION, or by what specs once called it.

        Raises:
            NotFoundError: there is none.
        """
        found = await self.find(asked)
        if found is None:
            raise NotFoundError(
                f"there is no policy {asked[:80]!r}; `tenure policy list` shows them.", policy=asked[:80]
            )
        return found

    async def find(self, asked: str) -> Policy | None:
        known = BUILT_IN.get(asked) or BUILT_IN_KEYS.get(asked) or FORMER_KEYS.get(asked)
        if known is not None:
            return known
        key: str | None = asked
        if "/" not in asked:
            newest = await self._ledger.find(PolicyChoice, f"{NAME_PREFIX}{asked}")
            key = newest.policy if newest is not None else None
        document = await self._ledger.find(PolicyDocument, key) if key is not None else None
        return document.policy if document is not None else None

    async def whole(self, asked: PolicyRequest) -> Policy:
        """The policy that a document describes, with what it leaves out taken from the one that it extends.

        Raises:
            InvalidError: a response has no action.
            NotFoundError: the policy that it extends is not there.
        """
        return policy_of(asked, None if asked.extends is None else await self.named(asked.extends))

    # -- within

    async def _body(self, key: str) -> PolicyBody:
        if key in BUILT_IN_KEYS:
            return policy_body(BUILT_IN_KEYS[key])
        document = await self._ledger.find(PolicyDocument, key)
        if document is None:
            raise NotFoundError(f"there is no policy {key[:80]!r}.", policy=key[:80])
        return policy_body(document.policy, document)

    async def _choice_body(self, choice: PolicyChoice) -> ChoiceBody:
        means = await self.find(choice.policy) if choice.policy is not None else None
        return ChoiceBody(
            subject=choice.subject,
            policy=choice.policy,
            means=means.key if means is not None else None,
            by=choice.chosen_by,
            because=choice.because,
            at=instant(choice.chosen_at_ms),
        )

    async def _declared(self) -> list[Recipient]:
        return [one for one in await self._ledger.recipients() if one.declared]

    async def _recipients_of(self, subject: str) -> list[Recipient]:
        """Who serves what a choice is about."""
        declared = await self._declared()
        route = subject.removeprefix(ROUTE_PREFIX)
        if route == subject:
            return declared
        return [one for one in declared if route in recipient_routes(one)]


def auto_warnings(policy: Policy, where: str, recipients: Sequence[Recipient]) -> tuple[str, ...]:
    """Where `unknown = "auto"` has no effect."""
    if policy.unknown is not UnknownRule.AUTO:
        return ()
    if not recipients:
        return (
            f'unknown = "auto" works only where Attempts are isolated (user or sandbox), and nobody serves {where} now',
        )
    exposed = [one.address for one in recipients if one.isolation == OPEN]
    if not exposed:
        return ()
    return (
        f'unknown = "auto" has no effect on {_named(exposed)}: their isolation is open, so a person is asked there',
    )


def refuse_auto_without_effect(policy: Policy, subject: str, recipients: Sequence[Recipient]) -> None:
    """Refuse a policy that answers unknown outcomes by itself for a route of which no recipient is isolated.

    Raises:
        ConflictError: it is so.
    """
    is_route = subject.startswith(ROUTE_PREFIX)
    if not is_route or policy.unknown is not UnknownRule.AUTO or not recipients:
        return
    if all(one.isolation == OPEN for one in recipients):
        addresses = [one.address for one in recipients]
        raise ConflictError(
            f'{policy.key} says unknown = "auto", which is refused for isolation open, and that is what all of '
            f"{subject.removeprefix(ROUTE_PREFIX)} has ({_named(addresses)}): there an agent may have acted outside of the "
            'record. Isolate them (user or sandbox), or choose a policy with unknown = "operator".',
            policy=policy.key,
            recipients=addresses,
        )


def chosen_for(body: PolicyBody, chosen: Iterable[PolicyChoice]) -> tuple[str, ...]:
    """The subjects for which a choice comes to this policy."""
    names = (body.policy, body.name) if body.newest else (body.policy,)
    return tuple(one.subject for one in chosen if one.policy in names)


def _chosen(choices: Iterable[PolicyChoice]) -> list[PolicyChoice]:
    return [one for one in choices if one.policy is not None and not one.subject.startswith(NAME_PREFIX)]


def _named(addresses: Sequence[str]) -> str:
    more = f" and {len(addresses) - NAMED} more" if len(addresses) > NAMED else ""
    return ", ".join(addresses[:NAMED]) + more

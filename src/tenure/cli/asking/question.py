"""The question that was meant: by its id, by what it is about, or by the beginning of a Task's id."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from tenure.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenure.client.hub import HubClient
    from tenure.wire.attention import AttentionBody

NAMED = 10
NEAR = 3


async def questions_about(hub: HubClient, name: str) -> list[AttentionBody]:
    """The question of this id, open or closed, or all open ones about this subject; none where it is there and nothing is
    asked about it.

    Raises:
        NotFoundError: there is no such question, and nothing that it could be about.
    """
    if is_item_id(name):
        return [await hub.question(name)]
    items = await hub.every_question()
    found = list(about(items, name))
    if not found and not await is_known(hub, name):
        near = near_ones(name, items)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `tenure attention` lists what is asked"
        raise NotFoundError(f"there is no {name[:80]!r}{hint}", name=name[:80], near=near)
    return found


async def question_named(hub: HubClient, name: str) -> AttentionBody:
    """The one question that is meant.

    Raises:
        NotFoundError: there is none.
        ConflictError: several are.
    """
    found = await questions_about(hub, name)
    if not found:
        raise NotFoundError(f"nothing is asked about {name[:80]}", name=name[:80])
    if len(found) > 1:
        named = ", ".join(one.item_id for one in found[:NAMED])
        raise ConflictError(
            f"several questions are about {name!r}: {named}; name one", found=[one.item_id for one in found]
        )
    return found[0]


async def is_known(hub: HubClient, name: str) -> bool:
    """Is there a Task, an Attempt, a node or an account of this name?"""
    from tenure.cli.asking.lookup import attempt_of
    from tenure.errors import InvalidError

    if name == "hub" or name.startswith("project:"):
        return True
    task, _, rest = name.partition("/")
    try:
        if rest.startswith("e_"):
            return any(
                one.effect_id == rest for one in await hub.effects((await attempt_of(hub, task)).task_id)
            )
        await attempt_of(hub, name)
    except (NotFoundError, InvalidError):
        return any(name in {one.node_id, one.name} for one in await hub.nodes())
    return True


def near_ones(name: str, items: Iterable[AttentionBody]) -> list[str]:
    """The nearest that something is asked about."""
    known = sorted({word for one in items for word in (one.subject, one.item_id)})
    return difflib.get_close_matches(name, known, NEAR)


def is_item_id(name: str) -> bool:
    """An item's id begins with its kind; an account (`project:NAME`) does not."""
    from tenure.core.attention import AttentionKind

    return name.partition(":")[0] in list(AttentionKind)


def about(items: Iterable[AttentionBody], name: str) -> Iterable[AttentionBody]:
    """Those about this subject: a Task (or the beginning of its id), an Attempt, an Effect, a node, an account."""
    whole = name if name.startswith("t_") else f"t_{name}"
    for item in items:
        task, _, rest = item.subject.partition("/")
        if name in {item.subject, rest} - {""} or (len(whole) > len("t_") and task.startswith(whole.lower())):
            yield item

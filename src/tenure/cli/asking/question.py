"""The question that was meant: by its id, by what it is about, or by the beginning of a Task's id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenure.client.hub import HubClient
    from tenure.wire.attention import AttentionBody

NAMED = 10


async def questions_about(hub: HubClient, name: str) -> list[AttentionBody]:
    """The question of this id, open or closed, or all open ones about this subject.

    Raises:
        NotFoundError: there is none.
    """
    if is_item_id(name):
        return [await hub.question(name)]
    items = await hub.every_question()
    found = list(about(items, name))
    if not found:
        known = ", ".join(one.item_id for one in items[:NAMED]) or "none"
        raise NotFoundError(f"no open question is about {name[:80]!r}; open are: {known}", name=name)
    return found


async def question_named(hub: HubClient, name: str) -> AttentionBody:
    """The one question that is meant.

    Raises:
        NotFoundError: there is none.
        ConflictError: several are.
    """
    found = await questions_about(hub, name)
    if len(found) > 1:
        named = ", ".join(one.item_id for one in found[:NAMED])
        raise ConflictError(
            f"several questions are about {name!r}: {named}; name one", found=[one.item_id for one in found]
        )
    return found[0]


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

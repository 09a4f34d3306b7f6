"""Who may say more than the other knows: a hub in its answers, a client never."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tenure.wire import api


def within(kind: Any, seen: set[str]) -> Iterator[msgspec.inspect.StructType]:
    """Every Struct that a type is made of, itself included."""
    if isinstance(kind, msgspec.inspect.StructType):
        if kind.cls.__name__ in seen:
            return
        seen.add(kind.cls.__name__)
        yield kind
        for field in kind.fields:
            yield from within(field.type, seen)
    for part in ("types", "item_types"):
        for one in getattr(kind, part, ()):
            yield from within(one, seen)
    for part in ("item_type", "value_type"):
        if hasattr(kind, part):
            yield from within(getattr(kind, part), seen)


def structs_of(*kinds: type[Any]) -> list[msgspec.inspect.StructType]:
    seen: set[str] = set()
    return [found for kind in kinds for found in within(msgspec.inspect.type_info(kind), seen)]


@pytest.mark.parametrize("kind", api.Answered.__subclasses__(), ids=lambda kind: kind.__name__)
def test_an_answer_may_have_fields_that_an_older_client_does_not_know(kind: type[Any]) -> None:
    assert [one.cls.__name__ for one in structs_of(kind) if one.forbid_unknown_fields] == []


@pytest.mark.parametrize("kind", api.Asked.__subclasses__(), ids=lambda kind: kind.__name__)
def test_a_request_with_a_field_that_nobody_reads_is_refused(kind: type[Any]) -> None:
    assert [one.cls.__name__ for one in structs_of(kind) if not one.forbid_unknown_fields] == []

"""Names of Tasks and Attempts as people write them: `t_…`, the beginning of one, or `t_…/2` for an Attempt."""

from __future__ import annotations

import re
from typing import NamedTuple

from tenure.errors import InvalidError

ID_LENGTH = 26
SHOWN = 14
"""Characters of an id that are shown where room is short: the time part, and some of the random one."""

_NAME = re.compile(r"(?:t_)?([0-9a-z]{1,26})(?:/([0-9]{1,6}))?", re.IGNORECASE)


class TaskName(NamedTuple):
    """What was written: `prefix` begins with `t_`, `typed` is the same as it was typed; `number` names one Attempt, None
    the newest."""

    prefix: str
    number: int | None
    typed: str

    @property
    def is_whole(self) -> bool:
        return len(self.prefix) == ID_LENGTH + 2


def parse_task_name(text: str) -> TaskName:
    """Reads a name.

    Raises:
        InvalidError: it cannot be one.
    """
    found = _NAME.fullmatch(text.strip())
    if found is None or found[2] == "0":
        raise InvalidError(
            f"{text[:80]!r} is no task: expected t_… (its beginning will do), or t_…/2 for its second attempt;"
            " `tenure list` shows them",
            name=text[:80],
        )
    typed = text.strip().partition("/")[0]
    return TaskName(f"t_{found[1].lower()}", int(found[2]) if found[2] else None, typed)


def attempt_name(task_id: str, number: int) -> str:
    return f"{task_id}/{number}"

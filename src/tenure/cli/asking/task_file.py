"""A file that describes a Task, in TOML or JSON: the fields of the API's request, and what is easier to write.

`base` (a revision) may stand instead of `base_sha`, a shell line instead of a check's table, a duration (`30m`) instead
of `timeout_s`, `deadline` (a time, or `+2h`) instead of `deadline_at`, and in `[budget]` `wall` (a duration) and `cost` (US
dollars) instead of `wall_s` and `cost_usd_micros`. A file with `[[tasks]]`, each with a `key`, is submitted as one batch;
its tasks may wait for one another with `after = ["key:KEY"]`. Flags stand over what the file says; a batch takes no flags.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from tenure.cli.asking.task_budget import budget_in
from tenure.cli.asking.task_options import TaskOptions
from tenure.cli.asking.task_request import (
    default_route,
    parse_labels,
    shell_checks,
    source_of,
    whole_seconds,
)
from tenure.cli.asking.task_scope import scope_in
from tenure.core.limits import CHECKS
from tenure.errors import ConfigurationError, InvalidError

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.core.task import Check
    from tenure.wire.api import BatchItem, TaskRequest

MAX_BYTES = 16 << 20
EASIER = ("base", "timeout", "key", "deadline")
TEXTS = ("to", "base", "timeout", "key", "deadline", "repository")
"""Fields that are read here before the rest is."""

Table = dict[str, Any]


def read_task_file(path: Path) -> list[Table]:
    """The tasks of a file; one without `[[tasks]]` is one task.

    Raises:
        ConfigurationError: the file cannot be read.
        InvalidError: it is no TOML or JSON, or not a task.
    """
    from tenure.runtime.bounded_read import read_at_most

    try:
        with path.open("rb") as file:
            data = read_at_most(file, MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    if len(data) > MAX_BYTES:
        raise InvalidError(f"{path} is longer than {MAX_BYTES} bytes", path=str(path))
    table = parse_table(path, data)
    tasks = table.get("tasks")
    if tasks is None:
        return [table]
    if (
        len(table) > 1
        or not isinstance(tasks, list)
        or not all(isinstance(one, dict) for one in cast("list[Any]", tasks))
    ):
        raise InvalidError(
            f"{path}: a file with several tasks has [[tasks]] and nothing else", path=str(path)
        )
    return cast("list[Table]", tasks)


def parse_table(path: Path, data: bytes) -> Table:
    """The file as a table.

    Raises:
        InvalidError: it is none.
    """
    from tenure.runtime.toml_text import parse_toml
    from tenure.wire.codec import decode

    if path.suffix == ".json":
        return decode(dict[str, Any], data, MAX_BYTES)
    try:
        return parse_toml(data.decode("utf-8"))
    except ValueError as error:
        raise InvalidError(f"{path} is not valid TOML: {error}", path=str(path)) from error


async def request_in(cli: Invocation, table: Table, options: TaskOptions) -> TaskRequest:
    """The request that a table of the file describes, with flags standing over it.

    Raises:
        InvalidError: a field is unknown or wrong.
        ConfigurationError: the repository or the base is not there.
    """
    from tenure.wire.api import TaskRequest

    refuse_unknown_fields(table)
    options = flags_over(table, options)
    said = {name: value for name, value in table.items() if name not in EASIER}
    if "base_sha" in said:
        source = None
    else:
        source = None if options.no_repo else await source_of(cli, options)
        said |= {"repository": source.repository, "base_sha": source.base_sha} if source else {}
    said["to"] = options.to or default_route(cli, has_command=bool(said.get("command")))
    said["checks"] = file_checks(said.get("checks", []), options, cli.settings.defaults.check_timeout_s)
    if not isinstance(said.get("labels", {}), dict):
        raise InvalidError("labels in the file must be a table: [labels]", field="labels")
    said["labels"] = {**said.get("labels", {}), **parse_labels(options.label or ())}
    if options.timeout:
        from tenure.cli.text.moment import parse_duration_s

        said["timeout_s"] = whole_seconds(parse_duration_s(options.timeout))
    if options.model:
        said["model"] = options.model
    if (scope := scope_in(said.get("scope"), options)) is not None:
        said["scope"] = scope
    if options.approval:
        said["approval"] = True
    said |= scheduling_in(options)
    if (budget := budget_in(said.get("budget"), options)) is not None:
        said["budget"] = budget
    try:
        return msgspec.convert(said, TaskRequest)
    except msgspec.ValidationError as error:
        raise InvalidError(
            f"the task in the file is not what is expected: {error}", problem=str(error)
        ) from error


def scheduling_in(options: TaskOptions) -> Table:
    """What flags (and `deadline`) say of when it runs and under which name.

    Raises:
        InvalidError: the deadline is no time.
    """
    from tenure.cli.text.moment import parse_not_before
    from tenure.runtime.clock import RealClock

    deadline = parse_not_before(options.deadline, RealClock().wall_ms()) if options.deadline else None
    said = {
        "deadline_at": deadline,
        "project": options.project,
        "priority": options.priority,
        "concurrency_key": options.concurrency_key,
        "policy": options.policy,
    }
    return {name: value for name, value in said.items() if value is not None}


def refuse_unknown_fields(table: Table) -> None:
    """Refuses a field that no task has, with the nearest that one has.

    Raises:
        InvalidError: there is one.
    """
    from tenure.wire.api import TaskRequest

    known = [*TaskRequest.__struct_fields__, *EASIER]
    for name in table:
        if name not in known:
            near = difflib.get_close_matches(name[:80], known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"
            raise InvalidError(f"{name[:80]!r} is no field of a task; {hint}", field=name[:80])


def flags_over(table: Table, options: TaskOptions) -> TaskOptions:
    """The flags, completed by the file.

    Raises:
        InvalidError: one of these fields is no text.
    """
    text = {name: table.get(name) for name in TEXTS}
    for name, value in text.items():
        if value is not None and not isinstance(value, str):
            raise InvalidError(f"{name} in the file must be a text", field=name)
    return options._replace(
        to=options.to or text["to"],
        repo=options.repo or text["repository"],
        base=options.base or text["base"],
        timeout=options.timeout or text["timeout"],
        key=options.key or text["key"],
        deadline=options.deadline or text["deadline"],
    )


def file_checks(checks: Any, options: TaskOptions, timeout_s: int) -> list[Check]:
    """The checks of the file and of the flags: shell lines, or tables with `name` and `argv`.

    Raises:
        InvalidError: one is neither, or there are too many.
    """
    from tenure.core.task import Check

    if not isinstance(checks, list):
        raise InvalidError("checks in the file must be a list", field="checks")
    given = cast("list[Any]", checks)
    if len(given) > CHECKS:
        raise InvalidError(f"{len(given)} checks in the file; at most {CHECKS} in one task", field="checks")
    lines = [*(one for one in given if isinstance(one, str)), *(options.check or ())]
    made = list(shell_checks(lines, timeout_s))
    try:
        return [*(msgspec.convert(one, Check) for one in given if not isinstance(one, str)), *made]
    except msgspec.ValidationError as error:
        raise InvalidError(f"checks in the file: {error}", field="checks") from error


async def batch_in(cli: Invocation, tables: list[Table]) -> list[BatchItem]:
    """The items of a file with several tasks.

    Raises:
        InvalidError: one has no key, or is wrong.
        ConfigurationError: a repository or a base is not there.
    """
    from tenure.wire.api import BatchItem

    items: list[BatchItem] = []
    for position, table in enumerate(tables, 1):
        key = table.get("key")
        if not isinstance(key, str):
            raise InvalidError(
                f"task {position} in the file has no `key`; in a batch each needs one", field="key"
            )
        items.append(BatchItem(key=key, task=await request_in(cli, table, TaskOptions())))
    return items

"""How an entity becomes a row: one table for each kind, one column for each field.

Everything is derived once from the Structs of the core, so that a field added there has its column, its
encoding and its check here. Text, integers and enums are kept as they are, booleans as 0 and 1, and what is
nested as canonical JSON text.

`FIXED` names the fields that never change once a row exists. They are left out of updates, which spares the
engine their indexes and their bytes, and triggers refuse to change them. A decision that would change one is
refused as a whole (`check_fixed`): its events would say what the row does not.

The functions that turn entities into rows are compiled from source, as those of dataclasses are: they run some
hundred thousand times a second, and a loop over converters takes twice as long."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from enum import Enum, StrEnum, auto
from functools import partial
from types import UnionType
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from tenure.core.access import Credential, Hub
from tenure.core.account import Account
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.canonical import canonical
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.gate import Gate
from tenure.core.late import Late
from tenure.core.policy import PolicyChoice, PolicyDocument
from tenure.core.recipient import Node, Recipient
from tenure.core.review import Review
from tenure.core.schedule import Schedule
from tenure.core.task import Task
from tenure.core.webhook import Inbound
from tenure.core.world import ENTITY_KINDS, Entity
from tenure.errors import InvariantError, StorageFailedError

Row = tuple[Any, ...]

NAMES: dict[type[Entity], str] = {
    Task: "tasks",
    Attempt: "attempts",
    Delivery: "deliveries",
    Recipient: "recipients",
    Node: "nodes",
    Attention: "attention",
    Late: "late",
    Credential: "credentials",
    Hub: "hub",
    Effect: "effects",
    Inbound: "webhooks",
    Schedule: "schedules",
    Account: "accounts",
    Circuit: "circuits",
    Gate: "gates",
    Review: "reviews",
    PolicyDocument: "policies",
    PolicyChoice: "policy_choices",
}
KEYS: dict[type[Entity], str] = {
    Task: "task_id",
    Attempt: "attempt_id",
    Delivery: "delivery_id",
    Recipient: "address",
    Node: "node_id",
    Attention: "item_id",
    Late: "late_id",
    Credential: "credential_id",
    Hub: "hub_id",
    Effect: "effect_id",
    Inbound: "inbound_id",
    Schedule: "schedule_id",
    Account: "account_id",
    Circuit: "quota",
    Gate: "gate_id",
    Review: "task_id",
    PolicyDocument: "policy_id",
    PolicyChoice: "subject",
}
FIXED: dict[type[Entity], frozenset[str]] = {
    Task: frozenset(
        {"spec", "spec_digest", "lineage", "submitted_by", "idempotency_key", "submitted_at_ms", "project"}
    ),
    Attempt: frozenset({"task_id", "number", "spec", "spec_digest", "created_at_ms"}),
    Delivery: frozenset(
        {
            "attempt_id", "task_id", "number", "recipient", "node_id", "claim_id", "granted_to", "fence",
            "token_digest", "claimed_at_ms", "isolation", "timeout_s", "config_digest",
        }
    ),
    Recipient: frozenset({"name"}),
    Node: frozenset({"name", "enrolled_at_ms"}),
    Attention: frozenset({"kind", "subject"}),
    Late: frozenset(name for name in Late.__struct_fields__ if name != "late_id"),
    Credential: frozenset({"name", "role", "token_digest", "issued_at_ms", "issued_by", "projects"}),
    Hub: frozenset(),
    Effect: frozenset(
        {
            "task_id", "kind", "target", "idempotency_key", "subject", "params", "params_digest", "identity", "twin",
            "again", "again_of",
        }
    ),
    Inbound: frozenset({"provider", "event", "digest", "effects", "received_at_ms"}),
    Schedule: frozenset({"added_at_ms"}),
    Account: frozenset(),
    Circuit: frozenset(),
    Gate: frozenset(),
    Review: frozenset(),
    PolicyDocument: frozenset(name for name in PolicyDocument.__struct_fields__ if name != "policy_id"),
    PolicyChoice: frozenset(),
}  # fmt: skip
"""Besides the key, which is fixed in every table."""
ENTITY_WEIGHT = 1_000
"""What an entity costs in memory, in bytes, beside its long texts; a guess is enough to bound a cache."""


class Shape(Enum):
    """How a column holds its field."""

    TEXT = auto()
    INTEGER = auto()
    BOOLEAN = auto()
    ENUM = auto()
    JSON = auto()


class Column(Struct, frozen=True):
    """`kind` is the field's own type, without None."""

    name: str
    shape: Shape
    kind: Any
    nullable: bool
    fixed: bool


class Table:
    """A kind of entity with its table, its columns, and the functions between them.

    `new(entity)` is the whole row. `changed(entity)` is what an update sets, then the key. `entity(row)` is
    the way back. `keeps(before, after)`: do the two agree in what never changes? `weight(row)` and
    `changed_weight(changed)` estimate what the entity costs in memory."""

    def __init__(self, kind: type[Entity]) -> None:
        self.kind = kind
        self.name = NAMES[kind]
        self.key = KEYS[kind]
        self.columns = _columns(kind)
        self.changing = tuple(
            column.name for column in self.columns if not column.fixed and column.name != self.key
        )
        compiled = _compile(self)
        self.new: Callable[[Any], Row] = compiled["new"]
        self.changed: Callable[[Any], Row] = compiled["changed"]
        self.entity: Callable[[Row], Any] = compiled["entity"]
        self.keeps: Callable[[Any, Any], bool] = compiled["keeps"]
        self.weight: Callable[[Row], int] = compiled["weight"]
        self.changed_weight: Callable[[Row], int] = compiled["changed_weight"]


def _columns(kind: type[Entity]) -> tuple[Column, ...]:
    return tuple(
        _column(field.name, field.type, field.name in FIXED[kind] or field.name == KEYS[kind])
        for field in msgspec.structs.fields(kind)
    )


def _column(name: str, annotation: Any, fixed: bool) -> Column:
    options = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    plain = [_without_new_type(one) for one in options if one is not type(None)]
    kind = plain[0]
    return Column(name, _shape(kind), kind, nullable=len(plain) < len(options), fixed=fixed)


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, UnionType)


def _without_new_type(annotation: Any) -> Any:
    return getattr(annotation, "__supertype__", annotation)


def _shape(kind: Any) -> Shape:
    if not isinstance(kind, type) or typing.get_origin(kind) is not None:
        return Shape.JSON
    for known, shape in (
        (bool, Shape.BOOLEAN),
        (StrEnum, Shape.ENUM),
        (int, Shape.INTEGER),
        (str, Shape.TEXT),
    ):
        if issubclass(kind, known):
            return shape
    return Shape.JSON


def _compile(table: Table) -> dict[str, Any]:
    names: dict[str, Any] = {"kind": table.kind, "text": _text, "damaged": partial(_refuse_damaged, table)}
    names["unreadable"] = (KeyError, TypeError, ValueError, msgspec.DecodeError)
    by_name = {column.name: column for column in table.columns}
    changed = [by_name[name] for name in (*table.changing, table.key)]
    values = ", ".join(f"v_{column.name}" for column in table.columns)
    decoded = ", ".join(_decoded(column, names) for column in table.columns)
    source = (
        f"def new(e): return ({', '.join(map(_encoded, table.columns))},)\n"
        f"def changed(e): return ({', '.join(map(_encoded, changed))},)\n"
        f"def entity(r):\n    {values}, = r\n    try: return kind({decoded})\n"
        "    except unreadable as error: damaged(r, error)\n"
        f"def keeps(o, n): return {_kept(table.columns)}\n"
        f"def weight(r): return {_weighed(table.columns)}\n"
        f"def changed_weight(r): return {_weighed(changed)}\n"
    )
    exec(source, names)  # noqa: S102 - made of our own field names only; the docstring says why
    return names


def _refuse_damaged(table: Table, row: Row, error: Exception) -> NoReturn:
    """A row that nobody can have written.

    Raises:
        StorageFailedError: always.
    """
    key = row[[column.name for column in table.columns].index(table.key)]
    raise StorageFailedError(
        f"the record is damaged: the row {key} of {table.name} cannot be read ({error}). Run `tenure audit verify`, then"
        " put a backup in its place.",
        table=table.name,
        key=str(key),
    ) from error


def _kept(columns: Sequence[Column]) -> str:
    """Most are the very same object, which is quicker to see than that they are equal."""
    names = [column.name for column in columns if column.fixed]
    return " and ".join(f"(o.{name} is n.{name} or o.{name} == n.{name})" for name in names)


def _weighed(columns: Sequence[Column]) -> str:
    """Only what is nested can be long."""
    nested = (place for place, column in enumerate(columns) if column.shape is Shape.JSON)
    return " + ".join((str(ENTITY_WEIGHT), *(f"len(r[{place}] or '')" for place in nested)))


def _encoded(column: Column) -> str:
    field = f"e.{column.name}"
    if column.shape is Shape.BOOLEAN:
        return f"(1 if {field} else 0)"
    if column.shape in (Shape.TEXT, Shape.INTEGER):
        return field
    # The driver adapts anything but exact str and int slowly, so an enum goes as its value.
    value = f"{field}._value_" if column.shape is Shape.ENUM else f"text({field})"
    return f"(None if {field} is None else {value})" if column.nullable else value


def _decoded(column: Column, names: dict[str, Any]) -> str:
    value, decoder = f"v_{column.name}", f"d_{column.name}"
    if column.shape is Shape.BOOLEAN:
        return f"{value} == 1"
    if column.shape in (Shape.TEXT, Shape.INTEGER):
        return value
    if column.shape is Shape.ENUM:
        names[decoder] = {str(member): member for member in column.kind}
        found = f"{decoder}[{value}]"
    else:
        names[decoder] = msgspec.json.Decoder(column.kind).decode
        found = f"{decoder}({value})"
    return f"(None if {value} is None else {found})" if column.nullable else found


def _text(value: Any) -> str:
    return canonical(value).decode()


TABLES: dict[type[Entity], Table] = {kind: Table(kind) for kind in ENTITY_KINDS}
"""In the order in which they are written and compared."""


def enum_values(column: Column) -> tuple[str, ...]:
    """The texts that an enum's column may hold."""
    return tuple(str(member) for member in column.kind)


def check_fixed(kind: type[Entity], before: Any, after: Any) -> None:
    """See that a change leaves alone what never changes.

    Raises:
        InvariantError: it does not; or something was made under a key that exists.
    """
    table = TABLES[kind]
    if not table.keeps(before, after):
        changed = [
            column.name
            for column in table.columns
            if column.fixed and getattr(before, column.name) != getattr(after, column.name)
        ]
        raise InvariantError(
            f"{kind.__name__} {before.key}: {', '.join(changed)} never changes once it is there"
        )


# -- facets: an index of Tasks by what they were submitted with
# --------------------------------------------------------------

FACETS = "facets"
FACET_COLUMNS = ("facet", "value", "task_id")


def facets(task: Task) -> list[Row]:
    """The rows (facet, value, Task) by which a Task is found: who submitted it, its route, its labels, what it
    waits for, what it continues. All are known at submission and never change."""
    spec, task_id = task.spec, task.task_id
    rows = [("by", task.submitted_by, task_id), ("route", spec.route, task_id)]
    if spec.labels:
        rows += [("label", label(name, value), task_id) for name, value in spec.labels.items()]
    if spec.dependencies:
        rows += [("after", other, task_id) for other in dict.fromkeys(spec.dependencies)]
    if spec.project:
        rows.append(("project", spec.project, task_id))
    if task.lineage:
        rows += [("continues", other, task_id) for other in task.lineage]
    return rows


def label(name: str, value: str) -> str:
    """A label as its facet has it. No name has an equals sign."""
    return f"{name}={value}"

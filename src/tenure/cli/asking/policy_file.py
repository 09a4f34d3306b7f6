"""A failure policy as a TOML file.

Every problem is found and told at once, each with the table that it stands in and, where it can be found, its line. The file
is the same document that the API takes; `text_of` writes one that can be changed and stored.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from tenure.core.failure import FailureClass, Sign, StepKind
from tenure.core.policy import BUILT_IN, BUILT_IN_KEYS, Action, Policy, UnknownRule, policy_problems
from tenure.errors import ConfigurationError, InvalidError
from tenure.runtime.bounded_read import read_at_most
from tenure.runtime.toml_text import parse_toml
from tenure.wire.policies import PolicyBody, PolicyRequest, ResponseRequest, RuleRequest, policy_of

MAX_BYTES = 1 << 20
RULE_FIELDS = (
    "name",
    "rank",
    "class",
    "step",
    "signs",
    "exit_codes",
    "http_statuses",
    "start_errors",
    "claims",
)
WORDS: dict[str, type[StrEnum]] = {
    "class": FailureClass,
    "step": StepKind,
    "signs": Sign,
    "claims": FailureClass,
    "action": Action,
    "unknown": UnknownRule,
}
"""Fields whose values are words of a list."""

Table = dict[str, Any]

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]\[#]+?)\s*\]\]?\s*(?:#.*)?$")
_PATH = re.compile(r" - at `\$?\.?(.*?)`$")


class PolicyFile(NamedTuple):
    """What a file says, as far as it can be read, and what is wrong with it."""

    request: PolicyRequest
    problems: tuple[str, ...]


def read_policy(path: Path) -> PolicyFile:
    """The policy of a file.

    Raises:
        ConfigurationError: the file cannot be read.
        InvalidError: it is no TOML.
    """
    try:
        with path.open("rb") as file:
            data = read_at_most(file, MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    if len(data) > MAX_BYTES:
        raise InvalidError(f"{path} is longer than {MAX_BYTES} bytes", path=str(path))
    try:
        text = data.decode("utf-8")
        table = parse_toml(text)
    except ValueError as error:
        raise InvalidError(f"{path} is not valid TOML: {error}", path=str(path)) from error
    return parse_policy(table, text)


def parse_policy(table: Table, text: str = "") -> PolicyFile:
    """The policy of a table. What is wrong is left out of the request, or stood in for, so that the rest can be judged."""
    lines = Lines(text)
    problems = _field_problems("", table, PolicyRequest.__struct_fields__, lines)
    rules, rule_problems = _rules(table.get("rules", []), lines)
    responses, response_problems = _responses(table.get("responses", {}), lines)
    said = {name: table[name] for name in ("name", "version", "extends", "unknown") if name in table}
    for name in ("name", "version"):
        if name not in said:
            problems.append(f"{name} is missing")
    head, wrong = _converted(said, _Head, "", lines)
    problems += wrong
    head = head or _Head()
    request = PolicyRequest(
        name=head.name,
        version=head.version,
        extends=head.extends,
        unknown=head.unknown,
        rules=tuple(rules),
        responses=responses,
    )
    return PolicyFile(request, tuple(dict.fromkeys([*problems, *rule_problems, *response_problems])))


def built_in_base(extends: str) -> Policy | None:
    """The policy that a file extends, if it is built in; any other is known to a hub only."""
    return BUILT_IN.get(extends) or BUILT_IN_KEYS.get(extends)


def problems_of(
    file: PolicyFile, base: Policy | None, missing: str | None = None
) -> tuple[Policy | None, list[str]]:
    """The whole policy, and everything that is wrong with it. `missing`: why there is nothing that it extends; everything
    else is judged as if it extended `default`, so that what it may well take from there is not called missing."""
    found = [*file.problems, *([missing] if missing is not None else [])]
    try:
        policy = policy_of(file.request, BUILT_IN["default"] if missing is not None else base)
    except InvalidError as error:
        found += cast("list[str]", error.facts.get("problems", [error.message]))
        return None, list(dict.fromkeys(found))
    return policy, list(dict.fromkeys([*found, *policy_problems(policy)]))


class _Head(msgspec.Struct, frozen=True):
    """The fields beside rules and responses; stand-ins where they are missing, which is a problem of its own."""

    name: str = "missing"
    version: int = 1
    extends: str | None = None
    unknown: UnknownRule | None = None


class Lines:
    """Where in a TOML text a table or a field stands: 1 is the first line; None where it cannot be told."""

    def __init__(self, text: str) -> None:
        self._found: dict[tuple[str, str], int] = {}
        table, counts = "", dict[str, int]()
        for number, line in enumerate(text.splitlines(), 1):
            header = _HEADER.match(line)
            if header is not None:
                table = header[2].replace('"', "").replace(" ", "")
                if header[1] == "[[":
                    counts[table] = counts.get(table, -1) + 1
                    table = f"{table}[{counts[table]}]"
                self._found.setdefault((table, ""), number)
                continue
            name, equals, _ = line.partition("=")
            if equals:
                self._found.setdefault((table, name.strip().strip('"')), number)

    def told(self, table: str, name: str = "") -> str:
        """` (line 7)`, or nothing."""
        number = self._found.get((table, name)) or self._found.get((table, ""))
        return f" (line {number})" if number is not None else ""


def _rules(found: Any, lines: Lines) -> tuple[list[RuleRequest], list[str]]:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in cast("list[Any]", found)):
        return [], ["rules must be tables: write each as [[rules]]"]
    rules: list[RuleRequest] = []
    problems: list[str] = []
    for number, table in enumerate(cast("list[Table]", found)):
        where = f"rules[{number}]"
        wrong = _field_problems(where, table, RULE_FIELDS, lines)
        made, more = _converted(table, RuleRequest, where, lines, only=RULE_FIELDS)
        problems += [*wrong, *more]
        # Only that there is a rule matters for what else is judged, and one that is wrong is told of already.
        stand_in = RuleRequest(name=f"{number}", rank=9, failure_class=FailureClass.CAPACITY, exit_codes=(1,))
        rules.append(made or stand_in)
    return rules, problems


def _responses(found: Any, lines: Lines) -> tuple[dict[str, ResponseRequest], list[str]]:
    if not isinstance(found, dict) or not all(
        isinstance(one, dict) for one in cast("dict[str, Any]", found).values()
    ):
        return {}, ["responses must be tables: write each as [responses.CLASS]"]
    responses: dict[str, ResponseRequest] = {}
    problems: list[str] = []
    known = ResponseRequest.__struct_fields__
    for name, table in cast("dict[str, Table]", found).items():
        where = f"responses.{name}"
        problems += _field_problems(where, table, known, lines)
        made, more = _converted(table, ResponseRequest, where, lines, only=known)
        problems += more
        responses[name] = made or ResponseRequest(action=Action.ESCALATE)
    return responses, problems


def _field_problems(where: str, table: Table, known: Iterable[str], lines: Lines) -> list[str]:
    """Fields that nobody reads, each with the nearest that somebody does."""
    names = list(known)
    place = f"{where}." if where else ""
    return [
        f"{place}{name} is no field{lines.told(where, name)}; {_nearest(name, names)}"
        for name in table
        if name not in names
    ]


def _converted(
    table: Table, kind: Any, where: str, lines: Lines, only: Sequence[str] | None = None
) -> tuple[Any, list[str]]:
    """The Struct of a table, and what is wrong with the table."""
    said = {name: value for name, value in table.items() if only is None or name in only}
    problems = [
        f"{_place(where, name)}{lines.told(where, name)}: {problem}"
        for name, value in said.items()
        if name in WORDS and (problem := _word_problem(value, WORDS[name])) is not None
    ]
    if problems:
        return None, problems
    try:
        return msgspec.convert(said, kind), []
    except msgspec.ValidationError as error:
        found = _PATH.search(str(error))
        name = found[1].partition("[")[0] if found else ""
        message = _PATH.sub("", str(error))
        return None, [f"{_place(where, name)}{lines.told(where, name)}: {message}"]


def _place(where: str, name: str) -> str:
    return ".".join(one for one in (where, name) if one) or "the file"


def _word_problem(value: Any, words: type[StrEnum]) -> str | None:
    """What is wrong with a word, or a list of words."""
    for one in cast("list[Any]", value) if isinstance(value, list) else [value]:
        if isinstance(one, str) and one not in list(words):
            return f"{one[:80]!r} is not known; {_nearest(one, list(words))}"
    return None


def _nearest(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"


# -- writing
# ---------------------------------------------------------------------------------------------------------------


def text_of(body: PolicyBody) -> str:
    """A policy as a file to start from: stored as it is, it is the next version."""
    name, version = (f"my-{body.name}", 1) if body.built_in else (body.name, body.version + 1)
    parts = [
        f"# Written from {body.policy}. Change it, then: tenure policy check FILE, tenure policy store FILE.",
        f'# With `extends = "{body.name}"` only what differs need stand here.',
        f"name = {_value(name)}",
        f"version = {version}",
        f"unknown = {_value(body.unknown)}",
    ]
    for rule in body.rules:
        parts += ["", "[[rules]]", *_fields(_builtins(rule), RULE_FIELDS)]
    for key, response in body.responses.items():
        parts += ["", f"[responses.{_key(key)}]"]
        said = _builtins(response)
        if response.action != Action.BACK_OFF:
            said = {one: said[one] for one in ("action", "otherwise")}
        parts += _fields(said, ResponseRequest.__struct_fields__)
    return "\n".join(parts) + "\n"


def _builtins(body: Any) -> Table:
    return cast("Table", msgspec.to_builtins(body))


def _fields(said: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [f"{name} = {_value(said[name])}" for name in names if said.get(name) not in (None, (), [])]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    """JSON's texts and numbers are TOML's."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, cast('list[Any]', value)))}]"
    return msgspec.json.encode(value).decode()

"""Reading the settings: one TOML file, checked key by key, every mistake told at once.

The file is the one named by `--config`, else by `TENURE_CONFIG`, else `tenure.toml` in the working folder,
else `tenure.toml` in the data folder; without any, the defaults hold. A file that was named must exist.
Nothing is guessed: an unknown key is refused with the nearest known one, and a wrong value is told with what
is allowed there.
"""

from __future__ import annotations

import difflib
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.core import limits
from tenure.errors import ConfigurationError, InsecureBindError
from tenure.runtime.bounded_read import read_at_most
from tenure.runtime.settings_notifications import ChannelTable, NotificationSettings
from tenure.runtime.settings_reference import expected_text
from tenure.runtime.settings_rules import Problem, is_loopback, relation_problems
from tenure.runtime.settings_schema import (
    DefaultSettings,
    HubSettings,
    NodeSettings,
    ProviderTable,
    RecipientSettings,
    Settings,
)
from tenure.runtime.settings_value import Name
from tenure.runtime.toml_text import parse_toml

__all__ = [
    "DefaultSettings",
    "HubSettings",
    "NodeSettings",
    "NotificationSettings",
    "ProviderTable",
    "RecipientSettings",
    "Settings",
    "SettingsPaths",
    "find_settings_file",
    "is_loopback",
    "load_settings",
    "node_name",
    "parse_settings",
]

FILE_NAME = "tenure.toml"
MAX_FILE_BYTES = 1_048_576
SECTIONS: dict[str, type[Struct]] = {"hub": HubSettings, "node": NodeSettings, "defaults": DefaultSettings}
SHOWN_CHARACTERS = 80
SECRETIVE = frozenset({"env", "url", "find_url", "proxy"})
"""Keys whose values no message repeats: a variable, or an address with a password in it."""

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]")
_KEY = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_KEY_PART = re.compile(r"""([A-Za-z0-9_-]+)|"([^"]*)"|'([^']*)'""")

Table = TypeVar("Table", bound=Struct)
Lines = dict[str, int]
"""The line of each key's path, where it could be told."""


class SettingsPaths(Struct, frozen=True):
    """Where a settings file may be: `config` is what `--config` named."""

    config: Path | None
    working_folder: Path
    data_folder: Path


def load_settings(paths: SettingsPaths, env: Mapping[str, str]) -> Settings:
    """The settings of this machine, with every default filled in, relative paths resolved and the node named.

    Raises:
        ConfigurationError: the file is missing, cannot be read, or says something wrong; every problem is in
        its message and in `facts["problems"]`. InsecureBindError: the hub would listen beyond this machine
        without TLS and without the explicit flag.
    """
    path = find_settings_file(paths, env)
    text = "" if path is None else read_settings_file(path)
    settings = parse_settings(text, str(path or FILE_NAME))
    hub, node = settings.hub, settings.node
    if path is not None:
        hub = replace(
            hub,
            tls_cert=beside(path, hub.tls_cert),
            tls_key=beside(path, hub.tls_key),
            tls_client_ca=beside(path, hub.tls_client_ca),
        )
        node = replace(
            node,
            ca_file=beside(path, node.ca_file),
            tls_cert=beside(path, node.tls_cert),
            tls_key=beside(path, node.tls_key),
        )
    if not node.name:
        node = replace(node, name=node_name(socket.gethostname()))
    providers = settings.providers
    if path is not None:
        providers = {name: replace(one, ca_file=beside(path, one.ca_file)) for name, one in providers.items()}
    return replace(settings, hub=hub, node=node, providers=providers)


def find_settings_file(paths: SettingsPaths, env: Mapping[str, str]) -> Path | None:
    """The settings file that holds; None when there is none and the defaults do.

    Raises:
        ConfigurationError: a file was named and is not there.
    """
    named = (("--config", paths.config), ("TENURE_CONFIG", env.get("TENURE_CONFIG") or None))
    for source, name in named:
        if name is not None:
            path = paths.working_folder / Path(name).expanduser()
            if not path.is_file():
                raise ConfigurationError(f"{source} names {path}, which is not a file", path=str(path))
            return path
    usual = (paths.working_folder / FILE_NAME, paths.data_folder / FILE_NAME)
    return next((path for path in usual if path.is_file()), None)


def read_settings_file(path: Path) -> str:
    """The text of a settings file.

    Raises:
        ConfigurationError: it cannot be read, is not UTF-8 or is too long.
    """
    try:
        with path.open("rb") as file:
            data = read_at_most(file, MAX_FILE_BYTES)
        if len(data) > MAX_FILE_BYTES:
            raise ConfigurationError(f"{path} is longer than {MAX_FILE_BYTES} bytes", path=str(path))
        return data.decode("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 (byte {error.start})", path=str(path)) from error


def parse_settings(text: str, source: str) -> Settings:
    """The settings that a TOML text says. `source` names it in errors.

    Raises:
        ConfigurationError: the text says something wrong.
        InsecureBindError: only that is wrong.
    """
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise ConfigurationError(f"{source} is not valid TOML: {error}", path=source) from error
    lines = key_lines(text)
    problems: list[Problem] = []
    settings = read_document(document, problems)
    if not problems:
        problems += relation_problems(settings)
    if problems:
        problems.sort(key=lambda problem: line_of(problem.key, lines) or 0)
        told = [told_problem(problem, source, lines) for problem in problems]
        raise ConfigurationError("\n".join(told), path=source, problems=told)
    refuse_insecure_bind(settings.hub, source, lines)
    return settings


def refuse_insecure_bind(hub: HubSettings, source: str, lines: Lines) -> None:
    """Refuses an address that others can reach, without TLS and without the explicit flag.

    Raises:
        InsecureBindError: it is so.
    """
    if is_loopback(hub.bind) or hub.tls_cert is not None or hub.allow_insecure_bind:
        return
    says = (
        f"{hub.bind} can be reached from other machines; set tls_cert and tls_key, or"
        " allow_insecure_bind = true"
    )
    raise InsecureBindError(
        told_problem(Problem("hub.bind", says), source, lines), path=source, bind=hub.bind
    )


def read_document(document: dict[str, Any], problems: list[Problem]) -> Settings:
    """The settings of a parsed file. What is wrong is added to `problems` and its default taken instead."""
    read: dict[str, Any] = {}
    known = [*SECTIONS, "notifications", "providers", "recipients"]
    for name, value in document.items():
        if name in SECTIONS:
            read[name] = read_table(SECTIONS[name], value, name, problems)
        elif name == "recipients":
            read[name] = read_recipients(value, problems)
        elif name == "providers":
            read[name] = read_named(ProviderTable, value, "providers", "provider", problems)
        elif name == "notifications":
            read[name] = read_notifications(value, problems)
        else:
            problems.append(Problem(name, unknown_text("section", name, known)))
    return Settings(**{name: value for name, value in read.items() if value is not None})


def read_recipients(value: Any, problems: list[Problem]) -> tuple[RecipientSettings, ...]:
    """The recipients of a parsed file."""
    if not isinstance(value, list):
        problems.append(
            Problem("recipients", "expected one [[recipients]] table (two brackets) for each recipient")
        )
        return ()
    tables = cast("list[Any]", value)
    read = [
        read_table(RecipientSettings, table, f"recipients[{index}]", problems)
        for index, table in enumerate(tables)
    ]
    return tuple(recipient for recipient in read if recipient is not None)


def read_notifications(value: Any, problems: list[Problem]) -> NotificationSettings | None:
    """The notifications of a parsed file, with their channels."""
    if not isinstance(value, dict) or "channels" not in value:
        return read_table(NotificationSettings, value, "notifications", problems)
    table = dict(cast("dict[str, Any]", value))
    channels = read_named(ChannelTable, table.pop("channels"), "notifications.channels", "channel", problems)
    read = read_table(NotificationSettings, table, "notifications", problems)
    return None if read is None else replace(read, channels=channels)


def read_named(
    kind: type[Table], value: Any, path: str, what: str, problems: list[Problem]
) -> dict[str, Table]:
    """Tables of one kind, by their names."""
    if not isinstance(value, dict):
        problems.append(Problem(path, f"expected one [{path}.NAME] table for each {what}"))
        return {}
    read: dict[str, Table] = {}
    for name, table in cast("dict[str, Any]", value).items():
        place = f"{path}.{name}"
        try:
            msgspec.convert(name, type=Name)
        except msgspec.ValidationError:
            problems.append(Problem(place, f"is no name for a {what}: expected {expected_text(Name)}"))
            continue
        found = read_table(kind, table, place, problems)
        if found is not None:
            read[name] = found
    return read


def read_table(kind: type[Table], value: Any, path: str, problems: list[Problem]) -> Table | None:
    """One table as its struct; each key is read on its own, so that every mistake is told.

    None when it is no table or lacks a key that must be there.
    """
    if not isinstance(value, dict):
        problems.append(Problem(path, f"expected a table, not {value_text(value)}"))
        return None
    table = cast("dict[str, Any]", value)
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    problems += [
        Problem(f"{path}.{key}", unknown_text("key", key, list(fields))) for key in table if key not in fields
    ]
    read: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in table:
            if field.required:
                problems.append(
                    Problem(f"{path}.{name}", f"is missing: expected {expected_text(field.type)}")
                )
            continue
        try:
            read[name] = msgspec.convert(table[name], type=field.type)
        except msgspec.ValidationError as error:
            problems.append(Problem(f"{path}.{name}", wrong_text(name, table[name], field.type, str(error))))
    if any(field.required and field.name not in read for field in fields.values()):
        return None
    return kind(**read)


def wrong_text(name: str, value: Any, kind: Any, error: str) -> str:
    """What is wrong with a value: the value, what is allowed, and for a container where in it."""
    inner = error.partition(" - at `$")[2].rstrip("`") if name != "env" else ""
    where = f" (at {inner.lstrip('.')})" if inner else ""
    # These may hold secrets, and errors end up in logs.
    shown = "this value" if name in SECRETIVE else value_text(value)
    return f"{shown} is refused{where}: expected {expected_text(kind)}"


def unknown_text(what: str, name: str, known: list[str]) -> str:
    """That a name is unknown, with the nearest known one, or all of them."""
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(known))}"
    return f"is not a known {what}; {hint}"


def value_text(value: Any) -> str:
    """A value as the file's reader would recognise it, cut short."""
    if isinstance(value, dict):
        return "a table"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def told_problem(problem: Problem, source: str, lines: Lines) -> str:
    """A problem with its place: the file, the line where it is known, the key."""
    line = line_of(problem.key, lines)
    place = source if line is None else f"{source}:{line}"
    return f"{place}: {problem.key} {problem.says}"


def line_of(key: str, lines: Lines) -> int | None:
    """The line of a key, else that of the table it would stand in."""
    while key not in lines and "." in key:
        key = key.rpartition(".")[0]
    return lines.get(key)


def key_lines(text: str) -> Lines:
    """The lines on which tables and keys stand, by their path.

    Best effort, for messages: inline tables are not read.
    """
    found: Lines = {}
    table, recipients, quote = "", -1, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if quote:
            quote = "" if quote in line else quote
            continue
        if header := _HEADER.match(line):
            table = ".".join(key_parts(header[2]))
            if header[1] == "[[" and table == "recipients":
                recipients += 1
                table = f"recipients[{recipients}]"
            elif table.startswith("recipients."):
                table = f"recipients[{recipients}]{table.removeprefix('recipients')}"
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            path = ".".join([*([table] if table else []), *key_parts(key[1])])
            found.setdefault(path, number)
        quote = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
    return found


def key_parts(key: str) -> Iterator[str]:
    """The parts of a dotted key, without quotes."""
    for match in _KEY_PART.finditer(key):
        yield match[1] or match[2] or match[3] or ""


def beside(settings_file: Path, name: str | None) -> str | None:
    """A path from the settings file as an absolute one."""
    return None if name is None else str((settings_file.parent / Path(name).expanduser()).absolute())


def node_name(host_name: str) -> str:
    """A host name as a node's name: its first label in lower case, other characters replaced by `-`."""
    label = host_name.lower().partition(".")[0]
    cleaned = re.sub(r"[^a-z0-9_-]+", "-", label).strip("-_")
    return cleaned[: limits.NAME_LENGTH] or "node"

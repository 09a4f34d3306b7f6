"""The reference page of all settings, made from the structs that read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tenure.runtime.settings_notifications import ChannelTable, NotificationSettings
from tenure.runtime.settings_schema import (
    DefaultSettings,
    HubSettings,
    NodeSettings,
    ProviderTable,
    RecipientSettings,
    SandboxSettings,
)
from tenure.runtime.settings_value import EXPECTED

SECTIONS: tuple[tuple[str, type[Struct]], ...] = (
    ("[hub]", HubSettings),
    ("[node]", NodeSettings),
    ("[[recipients]]", RecipientSettings),
    ("[recipients.sandbox]", SandboxSettings),
    ("[defaults]", DefaultSettings),
    ("[providers.NAME]", ProviderTable),
    ("[notifications]", NotificationSettings),
    ("[notifications.channels.NAME]", ChannelTable),
)
INTRODUCTION = """\
# Settings

<!-- Made by `tenure.runtime.settings_reference` from the structs in `settings_schema`; a test compares. -->

One TOML file holds every setting of a machine. Tenure reads the first of these that is there:

1. the file that `--config` names;
2. the file that the variable `TENURE_CONFIG` names;
3. `tenure.toml` in the working folder;
4. `tenure.toml` in the data folder (`TENURE_HOME`, by default `~/.local/share/tenure`).

A file that is named (1 and 2) must exist. Without any file the defaults below hold. An unknown key is
refused, and so is a value out of bounds; every mistake in the file is told at once, with its line. Durations
are in seconds.

```toml
[node]
name = "laptop"

[[recipients]]
name = "reviewer"
argv = ["review", "--prompt", "{prompt_file}"]
pools = ["review"]

[defaults]
to = "reviewer"
checks = ["make test"]
```

Some settings must fit together, on one machine or across several:

- `hub.lease_ttl_s` is more than `2 * node.renew_every_s + node.margin_s`, so that one lost renewal does not
  pause the work;
- `hub.suspect_grace_s` is more than `node.renew_every_s`, so that a node that comes back renews before its
  Attempt is given up;
- `hub.cancel_grace_s` is more than `node.renew_every_s + node.stop_grace_s`: a cancel reaches the node with
  its next renewal, and stopping takes up to the grace;
- `hub.stall_after_s` is more than `2 * node.renew_every_s`, since progress arrives with renewals.

Where hub and nodes have files of their own, give the hub's file the `[node]` timing that its nodes use.
"""
Schema = dict[str, Any]


def settings_reference() -> str:
    """The whole page, as Markdown."""
    return INTRODUCTION + "".join(section_text(header, kind) for header, kind in SECTIONS)


def section_text(header: str, kind: type[Struct]) -> str:
    """One section: what it is, and a table of its keys."""
    rows = "\n".join(key_rows(kind))
    return (
        f"\n## `{header}`\n\n{kind.__doc__ or ''}\n\n"
        f"| key | value | default | meaning |\n| --- | --- | --- | --- |\n{rows}\n"
    )


def key_rows(kind: type[Struct]) -> Iterator[str]:
    """One row for each key, in the order of the struct."""
    for field in msgspec.structs.fields(kind):
        meaning = str(msgspec.json.schema(field.type).get("description", ""))
        cells = (f"`{field.name}`", expected_text(field.type), default_text(field), meaning)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def default_text(field: msgspec.structs.FieldInfo) -> str:
    """A key's default as TOML."""
    if field.required:
        return "must be given"
    if field.default_factory is not msgspec.NODEFAULT:
        return "`{}`" if field.default_factory is dict else "`[]`"
    if field.default is None or field.default == "":
        return "none"
    if isinstance(field.default, Struct):
        return "`{}`"
    return f"`{msgspec.json.encode(field.default).decode()}`"


def expected_text(kind: Any) -> str:
    """What a value of this type may be, in words: `an integer from 0 to 65535`."""
    return schema_text(msgspec.json.schema(kind))


def schema_text(schema: Schema) -> str:
    """A JSON schema, as msgspec makes it of a setting's type, in words."""
    if EXPECTED in schema:
        return str(schema[EXPECTED])
    if "$ref" in schema or "allOf" in schema:
        return "a table of its own, described below"
    if "anyOf" in schema:
        return " or ".join(schema_text(one) for one in schema["anyOf"] if one != {"type": "null"})
    if "enum" in schema:
        return " or ".join(f'"{value}"' for value in schema["enum"])
    match schema.get("type"):
        case "boolean":
            return "true or false"
        case "integer":
            return f"an integer from {schema['minimum']} to {schema['maximum']}"
        case "number":
            return f"a number from {schema['minimum']} to {schema['maximum']}"
        case "array":
            bound = f" of at most {schema['maxItems']}" if "maxItems" in schema else ""
            return f"a list{bound}, each {schema_text(schema['items'])}"
        case "object":
            return f"a table, each value {schema_text(schema['additionalProperties'])}"
        case _:
            return "text"


if __name__ == "__main__":
    Path("docs/reference/settings.md").write_text(settings_reference(), encoding="utf-8")

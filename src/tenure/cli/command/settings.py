"""`tenure settings`: what holds on this machine, and where each value comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from tenure.cli.invocation import Invocation, command, family

app = family()

DEFAULT = "default"
HOST_NAME = "host name"
ADDRESSES = ("url", "find_url", "proxy")


class Row(NamedTuple):
    """One setting that holds."""

    key: str
    value: Any
    source: str


@command(app, "settings")
def settings(cli: Invocation) -> None:
    """Show the settings that hold, and where each comes from.

    docs/reference/settings.md says what each means.
    """
    rows = list(setting_rows(cli))
    file = str(cli.settings_file) if cli.settings_file else None
    cli.out.data(
        {
            "home": str(cli.home),
            "file": file,
            "settings": {row.key: {"value": row.value, "source": row.source} for row in rows},
        }
    )
    if cli.out.json:
        return
    cli.out.say(f"data folder    {cli.home}")
    cli.out.say(f"settings file  {file or 'none: the defaults hold'}")
    cli.out.say()
    cli.out.table(("key", "value", "from"), ((row.key, shown(row.value), row.source) for row in rows))


def setting_rows(cli: Invocation) -> Iterator[Row]:
    """Every setting with its value and its source. Values of `env` and addresses of providers may be secrets, so only
    names and hosts are shown."""
    import msgspec

    holding = cast("dict[str, Any]", msgspec.to_builtins(cli.settings))
    said = said_in_file(cli)
    file = str(cli.settings_file)
    for section in ("hub", "node", "defaults"):
        for key, value in holding[section].items():
            named = key in said.get(section, {})
            source = file if named else HOST_NAME if (section, key) == ("node", "name") else DEFAULT
            yield Row(f"{section}.{key}", value, source)
    for index, recipient in enumerate(holding["recipients"]):
        given = said["recipients"][index]
        for key, value in recipient.items():
            open_value = dict.fromkeys(value, "…") if key == "env" else value
            yield Row(f"recipients[{index}].{key}", open_value, file if key in given else DEFAULT)
    for name, table in holding["providers"].items():
        given = said["providers"][name]
        for key, value in table.items():
            source = file if key in given else DEFAULT
            yield Row(f"providers.{name}.{key}", host_only(value) if key in ADDRESSES else value, source)
    yield from notification_rows(holding["notifications"], said.get("notifications", {}), file)
    if not holding["recipients"]:
        from tenure.cli.process.default_recipient import default_recipients

        for recipient in default_recipients():
            yield Row("recipients", f"{recipient.name} (any program a task brings)", DEFAULT)


def notification_rows(holding: dict[str, Any], said: dict[str, Any], file: str) -> Iterator[Row]:
    """The settings of notifications, and of each channel that has a table."""
    for key, value in holding.items():
        if key != "channels":
            yield Row(f"notifications.{key}", value, file if key in said else DEFAULT)
    for name, table in holding["channels"].items():
        for key, value in table.items():
            source = file if key in said["channels"][name] else DEFAULT
            yield Row(f"notifications.channels.{name}.{key}", value, source)


def host_only(address: str | None) -> str | None:
    """An address without what may be secret in it."""
    if address is None or "://" not in address:
        return address
    from tenure.providers.settings import host_of

    return f"{address.partition('://')[0]}://{host_of(address)}/…"


def said_in_file(cli: Invocation) -> dict[str, Any]:
    """What the settings file says; it has been read and checked before."""
    if cli.settings_file is None:
        return {}
    from tenure.runtime.toml_text import parse_toml

    return parse_toml(cli.settings_file.read_text("utf-8"))


def shown(value: Any) -> str:
    """A value as TOML would have it, near enough."""
    import msgspec

    return "" if value is None else msgspec.json.encode(value).decode()

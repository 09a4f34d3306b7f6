"""`tenure notify`: where people are told that something needs them. The addresses stay on the hub's machine, encrypted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from tenure.cli.process.notify_wiring import ConfiguredChannel
    from tenure.hub.notify.channel import ChannelReport
    from tenure.runtime.credential_store import CredentialStore, Entry

app = family()
notify_app = commands_below(app, "notify", "Say where people are told that something needs them.")

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The channel's name, as in [notifications.channels.NAME].")
]


class AddOptions(NamedTuple):
    """What `notify add` takes."""

    url_file: Annotated[
        Path | None,
        typer.Option("--url-file", metavar="FILE", help="A file with the address; else standard input."),
    ] = None
    url_env: Annotated[
        str | None,
        typer.Option("--url-env", metavar="VARIABLE", help="A variable of the environment with the address."),
    ] = None


@command(notify_app, "add", asks_no_hub=True)
async def add(cli: Invocation, name: NameArgument, options: AddOptions) -> None:
    """Add a channel, or replace its address.

    The address is apprise's: one word that says which service and holds its secrets, such as mailto://, slack:// or
    ntfy://. It is read from standard input (asked for without showing it), never from the command line. A running hub
    uses it within half a minute.
    """
    from tenure.cli.asking.channel_entry import given_address, refuse_one_more
    from tenure.cli.asking.provider_entry import refuse_name
    from tenure.cli.process.notify_wiring import forget_report
    from tenure.providers.apprise_notifier import AppriseNotifier
    from tenure.runtime.credential_store import Entry

    refuse_name(name, "channel")
    refuse_one_more(name, channels_of(cli))
    url = given_address(options.url_file, options.url_env, cli.env)
    service = AppriseNotifier(url).service

    def change(_: Entry | None) -> Entry:
        return Entry(kind=service, url=url)

    store = store_of(cli, make=True)
    await store.put(name, change)
    forget_report(store.part, name)
    cli.out.data({"name": name, "service": service})
    if not cli.out.json:
        cli.out.say(f"{name} ({service}) is stored; try it: tenure notify test {name}")


@command(notify_app, "list", asks_no_hub=True)
def list_channels(cli: Invocation) -> None:
    """List channels, without their addresses, and how it goes with them."""
    from tenure.cli.process.notify_wiring import read_reports

    reports = read_reports(store_of(cli).part)
    rows = [shown(one, reports.get(one.name)) for one in channels_of(cli).values()]
    given = cli.settings.notifications
    cli.out.data(
        {
            "channels": rows,
            "quiet": given.quiet,
            "zone": given.zone,
            "urgent_anyway": given.urgent_anyway,
            "per_hour": given.per_hour,
        }
    )
    if cli.out.json:
        return
    cli.out.table(
        ("name", "service", "from", "told", "last sent", "waiting", "problem"),
        (
            (
                row["name"],
                row["service"],
                "settings" if row["in_settings"] else "added",
                told(row),
                row["last_sent_at"] or "",
                str(row["waiting"]),
                row["problem"] or "",
            )
            for row in rows
        ),
    )
    if not rows:
        cli.out.note("no channel yet: `tenure notify add NAME` adds one")
    if given.quiet is not None:
        but = " but for what is urgent" if given.urgent_anyway else ""
        cli.out.say(f"quiet from {given.quiet.replace('-', ' to ')} in {given.zone}{but}")


@command(notify_app, "remove", asks_no_hub=True)
async def remove(cli: Invocation, name: NameArgument) -> None:
    """Forget a channel's address.

    A running hub stops telling people there within half a minute. A channel that the settings name stays, without an
    address.
    """
    from tenure.cli.process.notify_wiring import forget_report

    store = store_of(cli)
    await store.remove(name)
    forget_report(store.part, name)
    cli.out.data({"name": name, "removed": True})
    if not cli.out.json:
        cli.out.say(f"{name}: its address is gone; revoke it at the service, too")


@command(notify_app, "test", asks_no_hub=True)
def try_out(
    cli: Invocation,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this channel.")] = None,
) -> int:
    """Send a test message on each channel, and say what happened.

    The message is real, whatever the hour. Ends with 1 when one did not get through.
    """
    from tenure.cli.asking.channel_entry import channels_named

    rows = [tried(one) for one in channels_named(name, channels_of(cli))]
    cli.out.data({"channels": rows})
    if not cli.out.json:
        for row in rows:
            cli.out.say(f"{row['name']}: {'sent' if row['sent'] else row['problem']}")
    return 0 if all(row["sent"] for row in rows) else 1


def tried(one: ConfiguredChannel) -> dict[str, Any]:
    """Sends a test message on a channel."""
    from tenure.cli.process.notify_wiring import notifier_of
    from tenure.errors import TenureError
    from tenure.hub.notify.message import trial_message

    row: dict[str, Any] = {"name": one.name, "service": one.service, "sent": True, "problem": None}
    message = trial_message(one.name)
    try:
        notifier_of(one).send(message.title, message.body)
    except TenureError as error:
        row |= {"sent": False, "problem": error.message, "code": error.code}
    return row


def store_of(cli: Invocation, *, make: bool = False) -> CredentialStore:
    """The store of this data folder's hub; the folder is made if it is to be written."""
    from tenure.cli.process.data_files import HUB_PART
    from tenure.cli.process.notify_wiring import channel_store

    part = cli.open_folder().part(HUB_PART) if make else cli.home / HUB_PART
    return channel_store(part, cli.env)


def channels_of(cli: Invocation) -> dict[str, ConfiguredChannel]:
    from tenure.cli.process.notify_wiring import configured_channels

    return configured_channels(cli.settings.notifications.channels, store_of(cli))


def shown(one: ConfiguredChannel, report: ChannelReport | None) -> dict[str, Any]:
    from tenure.wire.codec import instant_or_none

    sent_ms = report.last_sent_at_ms if report else None
    failing_ms = report.failing_since_ms if report else None
    problem = one.problem
    if problem is None and report is not None and report.problem is not None:
        problem = f"failing since {instant_or_none(failing_ms)}: {report.problem}"
    return {
        "name": one.name,
        "service": one.service,
        "in_settings": one.in_settings,
        "least_severity": one.table.least_severity,
        "kinds": one.table.kinds,
        "last_sent_at": instant_or_none(sent_ms),
        "failing_since_at": instant_or_none(failing_ms),
        "waiting": report.waiting if report else 0,
        "problem": problem,
    }


def told(row: dict[str, Any]) -> str:
    """What a channel is told, for people."""
    what = "everything" if row["least_severity"] == "info" else f"{row['least_severity']} and graver"
    return f"{what}: {', '.join(row['kinds'])}" if row["kinds"] else what

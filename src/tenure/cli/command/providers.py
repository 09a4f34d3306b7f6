"""`tenure provider`: where effects land, and the credentials for it. They stay on the hub's machine, encrypted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from tenure.cli.process.provider_wiring import Configured
    from tenure.runtime.credential_store import CredentialStore, Entry

app = family()
provider_app = commands_below(app, "provider", "Configure where effects land, and the credentials for it.")

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Its name; targets begin with it: NAME:owner/repo.")
]


class AddOptions(NamedTuple):
    """What `provider add` takes."""

    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="github, gitlab, gitea, webhook or git.")
    ] = None
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="Its address, where the kind has none by default."),
    ] = None
    url_file: Annotated[
        Path | None,
        typer.Option(
            "--url-file",
            metavar="FILE",
            help="The address from a file, where the address itself is a secret.",
        ),
    ] = None
    find_url: Annotated[
        str | None,
        typer.Option(
            "--find-url",
            metavar="URL",
            help="Of a webhook: where to ask for a delivery, with {delivery} in it.",
        ),
    ] = None
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="USER", help="Of git: the user name beside the credential."),
    ] = None
    credential_file: Annotated[
        Path | None,
        typer.Option(
            "--credential-file", metavar="FILE", help="The credential; else it is read from standard input."
        ),
    ] = None
    webhook_secret_file: Annotated[
        Path | None,
        typer.Option(
            "--webhook-secret-file",
            metavar="FILE",
            help="The secret that signs what a webhook is sent, or checks what a forge sends.",
        ),
    ] = None


@command(provider_app, "add", asks_no_hub=True)
async def add(cli: Invocation, name: NameArgument, options: AddOptions) -> None:
    """Add a provider, or replace its credential.

    The credential comes from standard input or a file, never from the command line. What is left out stays as it is
    stored. A running hub uses the new credential from its next call on.
    """
    from tenure.cli.asking.provider_entry import Given, changed, read_secret, read_url
    from tenure.cli.process.provider_wiring import secrets_held, settings_of

    table = cli.settings.providers.get(name)
    given = Given(
        kind=options.kind,
        url=read_url(options.url, options.url_file),
        find_url=options.find_url,
        user=options.user,
        credential=read_secret("credential", options.credential_file, stdin=True),
        webhook_secret=read_secret("webhook secret", options.webhook_secret_file),
    )

    def change(before: Entry | None) -> Entry:
        return changed(name, table, before, given)

    entry = await store_of(cli, make=True).put(name, change)
    cli.out.data({"name": name, "kind": entry.kind, **held(entry)})
    if not cli.out.json:
        cli.out.say(f"{name} ({entry.kind}) has {secrets_held(settings_of(entry))}")


@command(provider_app, "list", asks_no_hub=True)
def list_providers(cli: Invocation) -> None:
    """List providers, without their secrets."""
    rows = providers_of(cli)
    cli.out.data({"providers": [shown(one) for one in rows]})
    if cli.out.json:
        return
    cli.out.table(
        ("name", "kind", "host", "from", "credential", "webhook secret", "problem"),
        (
            (
                one.name,
                one.kind,
                where(one.settings.url) if one.settings and one.settings.url else "",
                "settings" if one.in_settings else "added",
                yes(one.settings and one.settings.credential),
                yes(one.settings and one.settings.secret),
                one.problem or "",
            )
            for one in rows
        ),
    )


@command(provider_app, "remove", asks_no_hub=True)
async def remove(cli: Invocation, name: NameArgument) -> None:
    """Forget a provider's credential and secrets.

    A running hub does not use them from its next call on. A provider that the settings name stays, without a credential.
    """
    await store_of(cli).remove(name)
    cli.out.data({"name": name, "removed": True})
    if not cli.out.json:
        cli.out.say(f"{name}: what was stored is gone; revoke the credential at the provider, too")


@command(provider_app, "check", asks_no_hub=True)
async def check(
    cli: Invocation,
    name: NameArgument,
    repository: Annotated[
        str | None,
        typer.Option("--repository", metavar="WHAT", help="Of git: the repository to ask, as in NAME:WHAT."),
    ] = None,
) -> None:
    """Ask a provider harmlessly.

    Sends one request that reads: does it answer, and does it take the credential? Nothing is changed there.
    """
    from tenure.cli.asking.provider_entry import usable
    from tenure.cli.process.provider_wiring import provider_parts
    from tenure.providers.probe import probe

    one, settings = usable(name, providers_of(cli))
    said = await probe(settings, provider_parts(cli.home / hub_part(), cli.env), repository)
    cli.out.data({"name": name, "kind": one.kind, "answers": True, "says": said})
    if not cli.out.json:
        cli.out.say(f"{name}: {said}")


@command(provider_app, "rotate-key", asks_no_hub=True)
async def rotate_key(cli: Invocation) -> None:
    """Encrypt every stored credential under a new key.

    The running hub goes on with it at once. Where the key is in TENURE_PROVIDER_KEY: put the new one before the old one
    there, with a space between, run this with that, and take the old one away. What is stored is the same as before; a
    credential that may have leaked is replaced at its provider and added again.
    """
    from tenure.cli.text.counting import counted

    store = store_of(cli, make=True)
    count = await store.rotate_key()
    cli.out.data({"entries": count, "key": store.key_source})
    if cli.out.json:
        return
    if count:
        entries = counted(count, "entry is", "entries are")
        cli.out.say(f"{entries} under a new key now ({store.key_source})")
    else:
        cli.out.say(f"no credential is stored, so there was nothing to encrypt anew ({store.key_source})")


def hub_part() -> str:
    from tenure.cli.process.data_files import HUB_PART

    return HUB_PART


def store_of(cli: Invocation, *, make: bool = False) -> CredentialStore:
    """The store of this data folder's hub, with the key that holds; the folder is made if it is to be written."""
    from tenure.runtime.credential_store import CredentialStore

    part = cli.open_folder().part(hub_part()) if make else cli.home / hub_part()
    return CredentialStore(part, cli.env)


def providers_of(cli: Invocation) -> list[Configured]:
    from tenure.cli.process.provider_wiring import configured

    return list(configured(cli.settings.providers, store_of(cli)).values())


def shown(one: Configured) -> dict[str, object]:
    from tenure.providers.settings import host_of

    settings = one.settings
    return {
        "name": one.name,
        "kind": one.kind,
        "host": host_of(settings.url) if settings and settings.url else None,
        "in_settings": one.in_settings,
        "credential": settings is not None and settings.credential is not None,
        "webhook_secret": settings is not None and settings.secret is not None,
        "problem": one.problem,
    }


def where(url: str) -> str:
    """The host of an address; of a folder on this machine that it is one."""
    from tenure.providers.settings import host_of

    return "this machine" if url.startswith("/") else host_of(url)


def held(entry: Entry) -> dict[str, bool]:
    return {"credential": entry.credential is not None, "webhook_secret": entry.webhook_secret is not None}


def yes(value: object) -> str:
    return "yes" if value else "no"

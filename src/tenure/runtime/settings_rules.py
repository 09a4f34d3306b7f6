"""What must hold between settings, and within one beyond its type: each with the reason why."""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Iterator

from msgspec import Struct

from tenure.core import limits
from tenure.core.attention import AttentionKind
from tenure.errors import InvalidError
from tenure.runtime.settings_notifications import CHANNELS, NotificationSettings
from tenure.runtime.settings_schema import RecipientSettings, SandboxSettings, Settings

RESERVED_VARIABLES = re.compile(r"TENURE_.*|GIT_CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)")
"""Set by Tenure for every run; a recipient's own value would break the fence or bring credentials back."""
PLACEHOLDERS = ("attempt", "model", "prompt", "prompt_file", "run_dir", "session_id", "task", "worktree")
"""Names that are replaced where they stand in braces in `argv`, `resume`, in values of `env` and in `cwd`."""
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
SIMILAR = 0.75
"""How alike (0 to 1) two names must be for one to be taken for a slip of the pen."""


class Problem(Struct, frozen=True):
    """One thing that is wrong: the key's path (`hub.port`, `recipients[0].argv`) and a sentence."""

    key: str
    says: str


def relation_problems(settings: Settings) -> Iterator[Problem]:
    """What is wrong between settings that are each within their own bounds."""
    hub, node = settings.hub, settings.node
    needed = 2 * node.renew_every_s + node.margin_s
    if not needed < hub.lease_ttl_s:
        yield Problem(
            "hub.lease_ttl_s",
            f"{hub.lease_ttl_s:g} must be more than 2 * node.renew_every_s + node.margin_s = {needed:g}, so"
            " that one lost renewal does not pause the work",
        )
    if not node.renew_every_s < hub.suspect_grace_s:
        yield Problem(
            "hub.suspect_grace_s",
            f"{hub.suspect_grace_s:g} must be more than node.renew_every_s = {node.renew_every_s:g}, so that"
            " a node that comes back renews before its Attempt is given up",
        )
    needed = node.renew_every_s + node.stop_grace_s
    if not needed < hub.cancel_grace_s:
        yield Problem(
            "hub.cancel_grace_s",
            f"{hub.cancel_grace_s:g} must be more than node.renew_every_s + node.stop_grace_s = {needed:g}: a"
            " cancel reaches the node with its next renewal, and stopping takes up to the grace",
        )
    if not 2 * node.renew_every_s < hub.stall_after_s:
        yield Problem(
            "hub.stall_after_s",
            f"{hub.stall_after_s:g} must be more than 2 * node.renew_every_s = {2 * node.renew_every_s:g},"
            " since progress arrives with renewals",
        )
    for table, one in (("hub", hub), ("node", node)):
        if (one.tls_cert is None) != (one.tls_key is None):
            missing = "tls_cert" if one.tls_cert is None else "tls_key"
            yield Problem(f"{table}.{missing}", "is missing: a certificate and its key belong together")
    if hub.tls_client_ca is not None and hub.tls_cert is None:
        yield Problem(
            "hub.tls_client_ca", "needs `tls_cert` and `tls_key`: without TLS nobody shows a certificate"
        )
    yield from proxy_problems(hub.trusted_proxies)
    yield from recipient_problems(settings)
    yield from provider_problems(settings)
    yield from notification_problems(settings.notifications)


def proxy_problems(proxies: tuple[str, ...]) -> Iterator[Problem]:
    """Which of these are no addresses as a connection has them."""
    for index, one in enumerate(proxies):
        try:
            plain = str(ipaddress.ip_address(one))
        except ValueError:
            plain = ""
        if plain != one:
            yield Problem(f"hub.trusted_proxies[{index}]", f"{one!r} is no IP address in its plain form")


def recipient_problems(settings: Settings) -> Iterator[Problem]:
    """What is wrong with recipients beyond the bounds of their keys."""
    seen: set[str] = set()
    if len(settings.recipients) > limits.RECIPIENTS:
        yield Problem("recipients", f"{len(settings.recipients)} are too many: at most {limits.RECIPIENTS}")
    for index, recipient in enumerate(settings.recipients):
        at = f"recipients[{index}]"
        if recipient.name in seen:
            yield Problem(
                f"{at}.name", f"{recipient.name!r} is the name of an earlier recipient; names are unique"
            )
        seen.add(recipient.name)
        yield from command_problems(at, recipient)
        yield from isolation_problems(at, recipient)
        yield from resume_problems(at, recipient)
        yield from placeholder_problems(f"{at}.argv", recipient.argv)
        yield from placeholder_problems(f"{at}.cwd", (recipient.cwd,))
        if recipient.cwd.startswith(("/", "~")) or ".." in recipient.cwd.split("/"):
            yield Problem(
                f"{at}.cwd",
                f"{recipient.cwd!r} leads out of the worktree; give a path inside it, or {{run_dir}}",
            )
        for name, value in recipient.env.items():
            yield from placeholder_problems(f"{at}.env.{name}", (value,))
            if RESERVED_VARIABLES.fullmatch(name):
                yield Problem(f"{at}.env.{name}", "is set by Tenure itself; take another name")
        for name in recipient.keep_env:
            if RESERVED_VARIABLES.fullmatch(name):
                yield Problem(f"{at}.keep_env", f"{name} is set by Tenure itself and cannot be passed on")


def isolation_problems(at: str, recipient: RecipientSettings) -> Iterator[Problem]:
    """What is wrong with how a recipient is to be kept apart."""
    if recipient.isolation == "user" and recipient.user is None:
        yield Problem(f"{at}.user", 'is missing: isolation = "user" must say which user the program runs as')
    if recipient.isolation != "user" and recipient.user is not None:
        yield Problem(f"{at}.user", 'is read with isolation = "user" only; add that, or leave it out')
    if recipient.user == "root":
        yield Problem(f"{at}.user", "root can read everything; name a user that is made for agents")
    if recipient.isolation != "sandbox" and recipient.sandbox != SandboxSettings():
        yield Problem(f"{at}.sandbox", 'is read with isolation = "sandbox" only; add that, or leave it out')


ONLY_OF = {"find_url": "webhook", "api_version": "github", "user": "git"}
"""Keys of a provider that one kind alone reads."""
NEEDS_URL = frozenset({"gitea", "webhook", "git"})


def provider_problems(settings: Settings) -> Iterator[Problem]:
    """What is wrong with providers beyond the bounds of their keys."""
    for name, table in settings.providers.items():
        at = f"providers.{name}"
        if table.kind in NEEDS_URL and table.url is None:
            yield Problem(f"{at}.url", f"is missing: a {table.kind} provider has no address by default")
        for key, kind in ONLY_OF.items():
            if getattr(table, key) is not None and table.kind != kind:
                yield Problem(f"{at}.{key}", f"is read of a {kind} provider only; this one is {table.kind}")


def notification_problems(given: NotificationSettings) -> Iterator[Problem]:
    """What is wrong with notifications beyond the bounds of their keys."""
    at = "notifications"
    if given.zone is not None and (wrong := zone_problem(given.zone)) is not None:
        yield Problem(f"{at}.zone", wrong)
    if given.quiet is not None:
        begin, _, end = given.quiet.partition("-")
        if begin == end:
            yield Problem(
                f"{at}.quiet",
                f"{given.quiet!r} begins when it ends; give two times, or leave it out for none",
            )
        if given.zone is None:
            yield Problem(
                f"{at}.zone", "is missing: quiet is meant by a clock somewhere, such as Europe/Berlin"
            )
    if len(given.channels) > CHANNELS:
        yield Problem(f"{at}.channels", f"{len(given.channels)} are too many: at most {CHANNELS}")
    kinds = list(map(str, AttentionKind))
    for name, channel in given.channels.items():
        for kind in channel.kinds:
            if kind not in kinds:
                near = difflib.get_close_matches(kind, kinds, 1, 0.5)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(kinds))}"
                yield Problem(f"{at}.channels.{name}.kinds", f"{kind!r} is no kind of question; {hint}")


def zone_problem(name: str) -> str | None:
    """Why this names no time zone; None when it does."""
    from tenure.runtime.recurrence import zone_named

    try:
        zone_named(name)
    except InvalidError as error:
        return f"is refused: {error.message}"
    return None


def command_problems(at: str, recipient: RecipientSettings) -> Iterator[Problem]:
    """What is wrong with a recipient's `argv` and `script`."""
    if recipient.argv and recipient.script is not None:
        yield Problem(f"{at}.script", "stands beside argv; give one of the two")
    bare = not recipient.argv and not recipient.script
    if recipient.harness == "command" and bare and not recipient.allow_command:
        yield Problem(
            f"{at}.argv",
            "is missing: give argv or script, or allow_command = true for tasks with their own command",
        )
    if recipient.argv and not recipient.argv[0]:
        yield Problem(f"{at}.argv", "begins with an empty word; the first is the program")
    if sum(len(word.encode()) + 1 for word in recipient.argv) > limits.ARGUMENT_BYTES:
        yield Problem(f"{at}.argv", f"is too long: at most {limits.ARGUMENT_BYTES} bytes in all")


def resume_problems(at: str, recipient: RecipientSettings) -> Iterator[Problem]:
    """What is wrong with how a recipient goes on with a session."""
    yield from placeholder_problems(f"{at}.resume", recipient.resume)
    if not recipient.resume:
        return
    if not any("{session_id}" in word for word in recipient.resume):
        yield Problem(
            f"{at}.resume", "names no {session_id}; without it the program cannot know what to go on with"
        )
    if not recipient.resume[0]:
        yield Problem(f"{at}.resume", "begins with an empty word; the first is the program")
    if sum(len(word.encode()) + 1 for word in recipient.resume) > limits.ARGUMENT_BYTES:
        yield Problem(f"{at}.resume", f"is too long: at most {limits.ARGUMENT_BYTES} bytes in all")


def placeholder_problems(at: str, texts: tuple[str, ...]) -> Iterator[Problem]:
    """Words in braces that look like a misspelt placeholder.

    Other braces are the program's own (`awk '{print}'`).
    """
    for text in texts:
        for word in map(str, PLACEHOLDER.findall(text)):
            if word not in PLACEHOLDERS and (
                near := difflib.get_close_matches(word, PLACEHOLDERS, 1, SIMILAR)
            ):
                yield Problem(at, f"{{{word}}} is no placeholder; did you mean {{{near[0]}}}?")


def is_loopback(bind: str) -> bool:
    """Does this address reach only the machine itself?

    A host name other than `localhost` counts as one that others can reach.
    """
    if bind == "localhost":
        return True
    try:
        return ipaddress.ip_address(bind.strip("[]")).is_loopback
    except ValueError:
        return False

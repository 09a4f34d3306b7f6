"""How git on a node is told where to push, without ever holding a credential of the real remote.

Both sides need the same words: the hub serves these addresses, the node puts these settings into the environment of
the agent (`GIT_CONFIG_COUNT`, `GIT_CONFIG_KEY_0` …), so that nothing is written into a repository."""

from __future__ import annotations

from urllib.parse import quote

REMOTE = "tenure"
USER = "tenure"
"""The name that git sends beside the capability; any will do."""
PREFIX = "/git/"
OWN = "task"
"""Instead of a target: the one that the capability's own Task may push to."""

_HELPER = (
    '!f() { test "$1" = get || exit 0; echo username=' + USER + '; printf "password=%s\\n" "$(cat "$TENURE_CAPABILITY_FILE")"; }; f'
)  # fmt: skip


def push_address(hub_url: str, target: str = OWN) -> str:
    """Where a target (`PROVIDER:WHAT`) is pushed to and fetched from; without one, the Task's own."""
    return f"{hub_url.rstrip('/')}{PREFIX}{quote(target, safe='/:@+~')}.git"


def push_settings(hub_url: str, target: str = OWN) -> tuple[tuple[str, str], ...]:
    """Git settings under which `git push tenure HEAD:refs/heads/…` reaches the hub, as names and values in their order.

    They have to stand after any that empties `credential.helper`. The capability is read from the file that
    `TENURE_CAPABILITY_FILE` names, when git asks for it, and for this hub only; no header and no address carries it."""
    hub = hub_url.rstrip("/")
    return (
        (f"remote.{REMOTE}.url", push_address(hub, target)),
        (f"remote.{REMOTE}.fetch", f"+refs/heads/*:refs/remotes/{REMOTE}/*"),
        (f"credential.{hub}.helper", _HELPER),
        (f"http.{hub}.followRedirects", "false"),
        (f"http.{hub}.proxy", ""),
        (f"http.{hub}.postBuffer", "1048576"),
    )

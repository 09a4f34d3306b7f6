"""Write docs/reference/access.md from the routes themselves: which token opens what. `python -m tools.access` writes the page; a
test compares, and another asks the live application for each cell."""

import sys
from pathlib import Path
from typing import Any

from tenure.core.access import Role, covers
from tenure.servers.rest import effect_routes, gate, webhook_routes
from tenure.servers.rest.app import ROUTES
from tenure.servers.rest.gate import is_whole, role_of
from tools.options import no_words

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "access.md"
SPECIAL = {
    effect_routes.carries_capability: "agent",
    gate.speaks: "node",
    gate.enrolls: "join or node",
    gate.anybody: "anybody",
    webhook_routes.may_be_signed: "a forge's signature",
}
"""Guards of routes that ask for no role of a person, and who passes them."""
HOLDERS = ("nobody", "viewer", "submitter", "operator", "join", "node", "agent")
INTRODUCTION = """\
# Which token opens what

<!-- Made by `tools.access` from the routes; a test compares, and another asks a live hub for each cell. -->

A token can do what stands in its column and nothing else. `nobody` is a request without a token, `agent` one with an Attempt's
capability, which names one Delivery and dies with its lease. What a node says counts for its own Deliveries only, what an agent
says for its own Attempt only, whatever they name.

A token that is bound to projects (`tenure token issue NAME --project P`) sees and does the same within them; everything else is
to it as if it did not exist. **hub** marks what is about the hub as a whole: such a token is refused there. The schedules and
tokens that it makes are named `P.NAME`, so that nobody speaks by another project's name.

Git's endpoint (`/git/…`) is opened by an agent's capability alone, within its scope ([pushes](../guides/push.md)). A webhook is
opened by its forge's signature alone and by no token ([webhooks](../guides/webhooks.md)).

"""


def main() -> int:
    PAGE.write_text(page())
    return 0


def page() -> str:
    head = ("endpoint", *HOLDERS, "")
    rows = [_cells(head), _cells("---" if one < 1 else ":-:" for one in range(len(head)))]
    for route in sorted(ROUTES, key=lambda one: (_path(one), _method(one))):
        marks = ["✓" if may(holder, route) else "" for holder in HOLDERS]
        note = "hub" if is_whole(route) else "signature" if holder_of(route) == "a forge's signature" else ""
        rows.append(_cells((f"`{_method(route)} {_path(route)}`", *marks, note)))
    return INTRODUCTION + "\n".join(rows) + "\n"


def holder_of(route: Any) -> str:
    """Who may ask for it: the role, or whom a special guard lets in.

    Raises:
        ValueError: it does not say.
    """
    role = role_of(route)
    if role is not None:
        return str(role)
    found = [SPECIAL[one] for one in route.guards or () if one in SPECIAL]
    if len(found) != 1:
        raise ValueError(f"{route.handler_name} does not say who may ask for it")
    return found[0]


def may(holder: str, route: Any) -> bool:
    """Does this kind of token open it?"""
    wanted = holder_of(route)
    if wanted == "anybody":
        return True
    if wanted == "join or node":
        return holder in ("join", "node")
    if wanted in ("agent", "node"):
        return holder == wanted
    return holder in list(Role) and wanted in list(Role) and covers(Role(holder), Role(wanted))


def _path(route: Any) -> str:
    path: str = min(route.paths, key=len)
    for kind in (":str", ":int"):
        path = path.replace(kind + "}", "}")
    return path


def _method(route: Any) -> str:
    method: str = min(route.http_methods - {"OPTIONS", "HEAD"})
    return method


def _cells(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    no_words("tools.access", __doc__)
    sys.exit(main())

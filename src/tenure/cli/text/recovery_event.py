"""Events of recovery, budgets, stops, reviews, and of the hub's desk, as sentences for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tenure.wire.codec import instant

Body = dict[str, Any]
Sentence = Callable[[Body], str]

DETAILS = frozenset({"budget_reserved", "budget_settled", "key_taken", "key_released", "attention_notified"})
"""What the bookkeeping consists of."""


def _because(body: Body) -> str:
    return f": {body['because']}" if body.get("because") else ""


def _by(body: Body) -> str:
    return f" by {body['by']}" if body.get("by") else ""


def _until(body: Body) -> str:
    at_ms = body["until_ms"]
    return f" until {instant(at_ms)}" if isinstance(at_ms, int) else ""


def _decided(body: Body) -> str:
    judged = body.get("failure_class") or body["verdict"]
    counts = "; it does not count" if body.get("refunded") else ""
    better = "; it was better than all before" if body.get("improved") else ""
    return (
        f"attempt {body['number']} judged {judged} by the policy {body['policy']}, whatever its node said "
        f"(rule `{body['rule']}`): {body['because']}{counts}{better}"
    )


def _raised(body: Body) -> str:
    until = body.get("deadline_ms")
    deadline = f", its deadline is {instant(until)}" if isinstance(until, int) else ""
    return f"it may use more{_by(body)}{deadline}{_because(body)}"


def _amounts(amounts: Any) -> str:
    from tenure.cli.text.recovery import DIMENSIONS, amount_text

    told = cast("Body", amounts) if isinstance(amounts, dict) else {}
    wall = {"wall_s": told["wall_ms"] / 1000} if told.get("wall_ms") else {}
    parts = {**wall, **{name: value for name, value in told.items() if name in DIMENSIONS and value}}
    return (
        ", ".join(f"{DIMENSIONS[name]} {amount_text(name, value)}" for name, value in parts.items())
        or "nothing"
    )


def _accounts(body: Body) -> str:
    return ", ".join(map(str, body["accounts"])) or "no account"


def _held(body: Body) -> str:
    hold: Body = body["hold"]
    return f"held back: {hold['because']}"


def _stopping(body: Body) -> str:
    of = f" ({_dimensions(body)})" if body.get("dimensions") else ""
    who = _by(body) or f" for its {body['cause']}{of}"
    return f"attempt {body['number']}: stop {body['step']}{who}{_because(body)}"


def _exhausted(body: Body) -> str:
    return f"no attempt follows attempt {body['number']} by itself; used up: {_dimensions(body)}"


def _dimensions(body: Body) -> str:
    from tenure.cli.text.recovery import DIMENSIONS

    return ", ".join(DIMENSIONS.get(str(one), str(one)) for one in body["dimensions"])


def _paused(body: Body) -> str:
    drains = " and drained" if body.get("drain") else ""
    return f"{body['subject']} paused{drains}{_by(body)}{_because(body)}"


def _policy_stored(body: Body) -> str:
    policy: Body = body["policy"]
    return f"policy {policy['name']}/{policy['version']} stored{_by(body)}"


def _policy_chosen(body: Body) -> str:
    if not body.get("policy"):
        return f"{body['subject']} has no policy of its own any more{_by(body)}{_because(body)}"
    return f"the policy {body['policy']} holds for {body['subject']}{_by(body)}{_because(body)}"


def _snoozed(body: Body) -> str:
    if not body.get("until_ms"):
        return f"{body['item_id']} is put off no longer{_by(body)}"
    return f"{body['item_id']} put off{_until(body)}{_by(body)}"


def _assigned(body: Body) -> str:
    if not body.get("to"):
        return f"{body['item_id']} assigned to nobody{_by(body)}"
    return f"{body['item_id']} assigned to {body['to']}{_by(body)}"


SENTENCES: dict[str, Sentence] = {
    "recovery_decided": _decided,
    "repeat_allowed": lambda e: (
        f"the same again after attempt {e['number']}, on the word of {e['by']}{_because(e)}"
    ),
    "budget_raised": _raised,
    "budget_reserved": lambda e: f"set aside in {_accounts(e)}: {_amounts(e['amounts'])}",
    "budget_settled": lambda e: f"settled in {_accounts(e)}: {_amounts(e.get('used'))} was used",
    "budget_exhausted": _exhausted,
    "task_held": _held,
    "task_released": lambda e: f"held back no longer{_because(e)}",
    "stop_advanced": _stopping,
    "key_taken": lambda e: f"no other task with the key {e['key']} runs from now on",
    "key_released": lambda e: f"another task with the key {e['key']} may run",
    "challenged": lambda e: f"{e['by']} challenges the {e['about']} of attempt {e['number']}{_because(e)}",
    "challenge_answered": lambda e: f"challenge of attempt {e['number']} {e['ruling']}{_by(e)}{_because(e)}",
    "dependency_moot": lambda e: f"{e['dependency']} completed, so this is not needed",
    "dependency_waived": lambda e: f"goes on without {e['dependency']}{_by(e)}{_because(e)}",
    "deadline_passed": lambda _: "its deadline has passed",
    "account_set": lambda e: (
        f"account {e['account_id']} set{_by(e)}{' and begun anew' if e.get('reset') else ''}{_because(e)}"
    ),
    "paused": _paused,
    "resumed": lambda e: f"{e['subject']} resumed{_by(e)}{_because(e)}",
    "policy_stored": _policy_stored,
    "policy_chosen": _policy_chosen,
    "circuit_opened": lambda e: f"{e['quota']} is left alone{_until(e)}{_because(e)}",
    "circuit_extended": lambda e: f"{e['quota']} is left alone{_until(e)}",
    "circuit_closed": lambda e: f"{e['quota']} has room again{_by(e)}{_because(e)}",
    "attention_snoozed": _snoozed,
    "attention_assigned": _assigned,
    "attention_notified": lambda e: f"people were told of {e['item_id']}",
}

"""Bounds of what a node may say. A request beyond one is refused as a whole, before anything is recorded: no node
may fill a commit, a row or the disk for the others, and no number may be larger than every store can keep."""

from __future__ import annotations

import msgspec

from tenure.core import limits
from tenure.core.attempt import Outcome, Usage
from tenure.core.canonical import canonical
from tenure.core.delivery import Progress
from tenure.errors import InvalidError, TooDeepError, TooLargeError
from tenure.wire import legs as ws
from tenure.wire.codec import nesting_depth

CREDENTIAL_LENGTH = range(32, 257)
ID_LENGTH = 80
WAIT_S = 30.0
STAGES = frozenset({"mirrored", "acknowledged", "started", "ended", "closed"})


def check_credential(asked: ws.EnrollRequest) -> None:
    """Is the secret one that nobody guesses, and is everything of a length that rows are made for?

    Raises:
        InvalidError: it is not so.
    """
    if len(asked.credential) not in CREDENTIAL_LENGTH or not asked.credential.isprintable():
        raise InvalidError(
            f"the credential has {len(asked.credential)} characters; {CREDENTIAL_LENGTH[0]} to "
            f"{CREDENTIAL_LENGTH[-1]} printable ones are needed. Make it of random bytes.",
            field="credential",
        )
    _check_id("incarnation", asked.incarnation)
    _check_id("boot_id", asked.boot_id)
    _check_number("contract", asked.contract)
    _check_number("generation", asked.generation)


def check_claim(asked: ws.ClaimRequest) -> None:
    """Is the claim within its bounds?

    Raises:
        InvalidError: a bound is exceeded.
    """
    _check_id("claim_id", asked.claim_id)
    refuse_above(limits.RECIPIENTS, len(asked.free), "recipients")
    if not 0 <= asked.wait_s <= WAIT_S:
        raise InvalidError(f"wait_s is {asked.wait_s:g}; 0 to {WAIT_S:g} seconds.", field="wait_s")
    for where, units in asked.free.items():
        if not 0 <= units <= limits.CAPACITY:
            raise InvalidError(f"{where[:80]} has {units} units free; 0 to {limits.CAPACITY}.", field="free")


def check_receipts(asked: ws.AckRequest) -> None:
    """Are the receipts within their bounds?

    Raises:
        InvalidError: a bound is exceeded.
    """
    refuse_above(limits.BATCH, len(asked.items), "items")
    _check_number("snapshot", asked.snapshot)


def check_renewal(item: ws.RenewItem) -> None:
    """Is a renewal within its bounds?

    Raises:
        InvalidError: a number is out of range.
        TooLargeError: the progress is too long.
    """
    _check_number("counter", item.counter)
    _check_number("started_at_ms", item.started_at_ms or 0, limits.LAST_INSTANT_MS)
    _check_numbers(item.progress)
    _check_numbers(item.usage)
    size = len(canonical(item.progress))
    if size > limits.PROGRESS_BYTES:
        raise TooLargeError(
            f"the progress of {item.delivery_id[:80]} has {size} bytes; at most {limits.PROGRESS_BYTES}.",
            field="progress",
        )


def check_fence(fence: int) -> None:
    """Is it a number that a fence can be?

    Raises:
        InvalidError: it is out of range.
    """
    _check_number("fence", fence)


def check_outcome(delivery_id: str, outcome: Outcome) -> None:
    """Is an outcome within its bounds, and its evidence JSON?

    Raises:
        InvalidError: the evidence is no JSON, or a number is out of range.
        TooDeepError: the evidence is nested too deeply.
        TooLargeError: a text is too long.
    """
    where = delivery_id[:80]
    evidence = outcome.evidence.encode("utf-8", "surrogatepass")
    if len(evidence) > limits.EVIDENCE_BYTES:
        raise TooLargeError(
            f"the evidence of {where} has {len(evidence)} bytes; at most {limits.EVIDENCE_BYTES}. Keep the rest on "
            "the node and say that it is cut.",
            field="evidence",
        )
    if nesting_depth(evidence) > limits.JSON_DEPTH:
        raise TooDeepError(f"the evidence of {where} is nested too deeply.", field="evidence")
    try:
        msgspec.json.decode(evidence, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidError(f"the evidence of {where} is no JSON: {error}", field="evidence") from error
    for name in ("summary", "failure_rule", "session_id", "head_sha"):
        if len(getattr(outcome, name) or "") > limits.REASON_LENGTH:
            raise TooLargeError(
                f"{name} of {where} is longer than {limits.REASON_LENGTH} characters.", field=name
            )
    _check_numbers(outcome.usage)


def check_snapshot(asked: ws.ReconcileRequest) -> None:
    """Is a snapshot within its bounds, and every stage one of ours?

    Raises:
        InvalidError: a bound is exceeded, or a stage is none.
    """
    refuse_above(limits.SNAPSHOT, len(asked.holdings), "holdings")
    _check_number("sequence", asked.sequence)
    for held in asked.holdings:
        _check_id("delivery_id", held.delivery_id)
        if held.stage not in STAGES:
            raise InvalidError(
                f"{held.delivery_id}: {held.stage[:40]!r} is no stage; known: {', '.join(sorted(STAGES))}.",
                field="stage",
            )


def refuse_above(limit: int, count: int, what: str) -> None:
    """Refuse more than `limit` of something.

    Raises:
        TooLargeError: there are more.
    """
    if count > limit:
        raise TooLargeError(f"{count} {what} in one request; at most {limit}. Send several.", limit=limit)


def _check_id(field: str, value: str) -> None:
    if not 1 <= len(value) <= ID_LENGTH:
        raise InvalidError(f"{field} has {len(value)} characters; 1 to {ID_LENGTH}.", field=field)


def _check_numbers(values: Progress | Usage) -> None:
    for name, value in msgspec.structs.asdict(values).items():
        if isinstance(value, int | float):
            _check_number(name, value)


def _check_number(field: str, value: float, largest: int = limits.INTEGER) -> None:
    if not 0 <= value <= largest:
        raise InvalidError(f"{field} is out of range; 0 to {largest}.", field=field)

"""Tasks and Attempts as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tenure.cli.exit_code import NEEDS_YOU, TIMED_OUT
from tenure.cli.text.effect import effect_section, scope_text
from tenure.cli.text.evidence import changes_text, evidence_of, not_stored_because
from tenure.cli.text.moment import shown_age, shown_duration
from tenure.cli.text.money import shown_usd
from tenure.cli.text.output import one_line
from tenure.cli.text.recovery import budget_text, review_text, share_text, stop_text, used_text, why_made
from tenure.core.task import DEFAULT_PROJECT
from tenure.wire.codec import parse_instant

if TYPE_CHECKING:
    from tenure.cli.command.following import Ending
    from tenure.cli.invocation import Invocation
    from tenure.wire.api import AttemptBody, CheckBody, DeliveryBody, TaskBody
    from tenure.wire.effects import EffectBody

OBJECTIVE_LINES = 12
DEFAULT_POLICY = "default"


def tell_ending(cli: Invocation, ending: Ending, *, beside_output: bool) -> None:
    """How a Task ended, and what can be done with it now. `beside_output`: standard output belongs to the program."""
    cli.out.data({"task": ending.task, "attempt": ending.attempt, "exit_code": ending.exit_code})
    say = cli.out.note if beside_output or cli.out.json else cli.out.say
    for line in ending_lines(ending, cli.pasteable("").rstrip()):
        say(line)


def ending_lines(ending: Ending, tenure: str = "tenure") -> Iterator[str]:
    """`tenure`: how the command is given so that it reaches the same hub again."""
    task, attempt = ending.task, ending.attempt
    if ending.exit_code == TIMED_OUT and task.ended_at is None:
        yield f"{task.task_id} goes on: {task.why.sentence}"
        return
    took = f" in {shown_duration(attempt_seconds(attempt))}" if attempt and attempt.ended_at else ""
    ended, newest = task.state, attempt.verdict if attempt else None
    verdict = f" ({newest})" if newest and newest != ended else ""
    needs_you = ending.exit_code == NEEDS_YOU
    yield f"{task.task_id} {'needs you' if needs_you else spoken(task)}{verdict}{took}"
    if attempt and attempt.summary:
        yield f"  {one_line(attempt.summary, 200)}"
    if attempt and (changes := changes_text(attempt)):
        yield f"  {'changed nothing' if changes == 'nothing' else changes}"
    if attempt and (problem := not_stored_because(attempt)):
        yield f"  not stored: {one_line(problem, 300)}"
    if needs_you:
        yield f"  {task.why.sentence}"
        yield f"  {answer_to(task, tenure)}"
    elif ending.exit_code:
        yield f"  {tenure} log {task.task_id}    {tenure} show {task.task_id}"
        yield f"  {tenure} retry {task.task_id} --because …    lets it be tried again"
    elif attempt and attempt.head_sha and attempt.head_sha != attempt.base_sha:
        yield f"  {tenure} diff {task.task_id}    {tenure} fetch {task.task_id}"


def answer_to(task: TaskBody, tenure: str = "tenure") -> str:
    """What to type for a Task that needs a person."""
    name = task.task_id
    match task.why.code:
        case "approval":
            return f"{tenure} approve {name} --because …    {tenure} reject {name} --because …"
        case "dependency_failed":
            return f"{tenure} retry {task.why.blocker} --because …    {tenure} cancel {name}"
        case "exhausted":
            return (
                f"{tenure} attention {name} says what was tried    {tenure} budget raise {name} … --because …"
            )
        case "authorization" | "configuration" | "contradiction" | "failed" | "stopped" | "asked":
            return f"{tenure} retry {name} --because …    {tenure} cancel {name}"
        case _:
            return f"{tenure} show {name} says what is known and what you may answer"


UNDER_WAY = frozenset(
    {"offered", "starting", "running", "stalled", "suspect", "canceling", "stopping", "effect_in_doubt"}
)
"""Reasons of a Task that somebody works on."""


def spoken(task: TaskBody) -> str:
    """A Task's state in the words that people meet first. One that nobody works on waits, also between two attempts."""
    told = {"input_required": "needs you", "submitted": "waits"}.get(task.state, task.state)
    return "waits" if told == "working" and task.why.code not in UNDER_WAY else told


def attempt_seconds(attempt: AttemptBody) -> float:
    """How long an Attempt took, from its start (or its making) to its end."""
    if attempt.ended_at is None:
        return 0.0
    began = attempt.started_at or attempt.created_at
    return max(0, parse_instant(attempt.ended_at) - parse_instant(began)) / 1000


def task_lines(
    task: TaskBody,
    attempts: tuple[AttemptBody, ...],
    now_ms: int,
    *,
    details: bool,
    effects: tuple[EffectBody, ...] = (),
) -> Iterator[str]:
    """Everything about a Task, for `show`."""
    yield f"{task.task_id}  {spoken(task)}"
    objective = task.objective.strip().splitlines()
    yield from (f"  {line}" for line in objective[:OBJECTIVE_LINES])
    if len(objective) > OBJECTIVE_LINES:
        yield f"  … {len(objective) - OBJECTIVE_LINES} lines more (--json shows them)"
    yield from _pairs("  ", task_pairs(task, now_ms, details=details))
    for attempt in attempts:
        yield ""
        yield from attempt_lines(task, attempt, now_ms, details=details)
    yield from effect_section(effects)


def task_pairs(task: TaskBody, now_ms: int, *, details: bool) -> Iterator[tuple[str, Any]]:
    import shlex

    yield "why", task.why.sentence
    yield "until", task.why.until_at
    yield "to", task.to
    if task.repository:
        yield "repository", f"{task.repository} at {(task.base_sha or '')[: None if details else 12]}"
    yield "command", shlex.join(task.command) if task.command else None
    yield from (("check", check_text(check)) for check in task.checks)
    yield "may", scope_text(task.scope)
    yield "after", ", ".join(task.after)
    yield "after fail", ", ".join(task.after_failure)
    yield "after end", ", ".join(task.after_end)
    yield "not before", task.not_before_at
    yield "deadline", task.deadline_at
    yield "time limit", shown_duration(task.timeout_s) if task.timeout_s else None
    yield "project", task.project if details or task.project != DEFAULT_PROJECT else None
    yield "priority", f"{task.priority:+d}" if task.priority else None
    yield "one of", f"the tasks with the key {task.concurrency_key}" if task.concurrency_key else None
    yield (
        "policy",
        task.policy if details or (task.policy or "").partition("/")[0] != DEFAULT_POLICY else None,
    )
    yield "used", used_text(task) if details or task.attempts > 1 else None
    yield "left", budget_text(task, every=details) if details or not task.ended_at else None
    yield "held", f"{task.hold.because} ({task.hold.subject})" if task.hold else None
    yield "stop", stop_text(task.stop)
    yield "challenge", review_text(task.review)
    yield "continues", task.continues
    yield "labels", ", ".join(f"{name}={value}" for name, value in task.labels.items())
    yield "submitted", f"{shown_age(task.submitted_at, now_ms)} by {task.submitted_by}"
    yield "ended", shown_age(task.ended_at, now_ms) if task.ended_at else None
    if task.cancel_step:
        yield "cancel", f"{task.cancel_step}{': ' + task.cancel_because if task.cancel_because else ''}"
    if details:
        yield "fence", task.fence
        yield "spec", task.spec_digest
        yield "reason", f"{task.why.code}{' (' + task.why.rule + ')' if task.why.rule else ''}"


def check_text(check: CheckBody) -> str:
    """A check as it could be typed, behind its name where it has one of its own."""
    import shlex

    from tenure.cli.asking.task_request import SHELL

    if len(check.argv) == 3 and check.argv[:2] == (SHELL, "-c"):
        return one_line(check.argv[2], 200)
    return f"{check.name}: {one_line(shlex.join(check.argv), 200)}"


def attempt_lines(task: TaskBody, attempt: AttemptBody, now_ms: int, *, details: bool) -> Iterator[str]:
    where = f" on {attempt.recipient}" if attempt.recipient else ""
    stands = attempt.verdict or (attempt.state if details else now_of(attempt))
    yield f"Attempt {attempt.number}  {stands}{where}"
    yield from _pairs("  ", attempt_pairs(attempt, now_ms, details=details))
    for answer, what in attempt.offered_answers.items():
        yield f"  you may answer --{answer}: {what}"
    if attempt.offered_answers:
        yield f"  tenure reconcile {task.task_id}/{attempt.number} --ANSWER --because REASON"
    for delivery in attempt.deliveries:
        yield from late_lines(delivery)
        if details:
            yield from delivery_lines(delivery)


def now_of(attempt: AttemptBody) -> str:
    """What becomes of an Attempt now, in the words that people meet first."""
    handed_over = "running" if attempt.started_at else "starting"
    plain = {"pending": "waits", "leased": "offered", "delivered": handed_over}
    return plain.get(attempt.state, attempt.state)


def attempt_pairs(attempt: AttemptBody, now_ms: int, *, details: bool) -> Iterator[tuple[str, Any]]:
    failure = f" [{attempt.failure_class}]" if attempt.failure_class else ""
    yield "said", one_line(attempt.summary, 300) + failure if attempt.summary else failure.strip()
    yield from why_made(attempt)
    yield "started", shown_age(attempt.started_at, now_ms) if attempt.started_at else None
    yield "took", shown_duration(attempt_seconds(attempt)) if attempt.ended_at else None
    yield "changed", changes_text(attempt)
    yield "not stored", one_line(not_stored_because(attempt), 300)
    yield "used", usage_text(attempt.usage)
    yield "may use", share_text(attempt)
    yield "isolation", isolation_of(attempt)
    if attempt.answer:
        yield "answer", f"{attempt.answer} by {attempt.answer_by}: {attempt.answer_because}"
    if details:
        yield "harness", f"{attempt.harness or 'any'}{', model ' + attempt.model if attempt.model else ''}"
        yield "policy", attempt.policy
        yield "head", attempt.head_sha
        yield "class by", attempt.failure_rule
        yield "spec", attempt.spec_digest


def isolation_of(attempt: AttemptBody) -> str | None:
    """How the Attempt was kept apart: as its own evidence says, else as it was granted."""
    granted = attempt.deliveries[-1].isolation or "open" if attempt.deliveries else None
    said = evidence_of(attempt).get("isolation")
    return said if isinstance(said, str) and said else granted


def usage_text(usage: dict[str, Any]) -> str:
    """What was used, where anything was reported."""
    parts: list[str] = []
    if usage.get("input_tokens") or usage.get("output_tokens"):
        parts.append(f"{usage.get('input_tokens', 0)} tokens in, {usage.get('output_tokens', 0)} out")
    if usage.get("cost_usd_micros"):
        parts.append(shown_usd(usage["cost_usd_micros"]))
    if usage.get("tool_calls"):
        parts.append(f"{usage['tool_calls']} tool calls")
    if usage.get("cpu_s"):
        parts.append(f"{shown_duration(usage['cpu_s'])} of processor time")
    return ", ".join(parts)


def late_lines(delivery: DeliveryBody) -> Iterator[str]:
    """What came late about a Delivery: what a person may accept."""
    for late in delivery.late:
        says = f", says {late.verdict}: {one_line(late.summary, 100)}" if late.verdict else ""
        yield f"  late {late.kind} {late.late_id}{says}"


def delivery_lines(delivery: DeliveryBody) -> Iterator[str]:
    yield f"  Delivery {delivery.delivery_id}  {delivery.state} under fence {delivery.fence}"
    moments = {
        "offered": delivery.claimed_at,
        "confirmed": delivery.acknowledged_at,
        "renewed": delivery.renewed_at,
        "suspect": delivery.suspect_at,
        "revoked": delivery.revoked_at,
        "ended": delivery.ended_at,
    }
    yield from _pairs("    ", [*moments.items(), ("because", delivery.end_reason)])
    if delivery.slot:
        yield "    its place at the recipient is still taken"


def _pairs(margin: str, pairs: Any) -> Iterator[str]:
    """What there is to say, one line each; what is empty is left out."""
    for name, value in pairs:
        if value:
            yield f"{margin}{name:<11} {value}"

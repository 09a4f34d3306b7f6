"""A failure policy as people read it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tenure.core.failure import UNCLASSIFIED, FailureClass
from tenure.core.policy import LAST, TIMED_OUT, Action
from tenure.wire.policies import ExplanationBody, PolicyBody, ResponseBody

HEAD = ("class", "evidence", "response", "where that cannot be done")

ASKABLE = (
    (r"^it met HTTP status (\d+)", "HTTP status", "http_statuses"),
    (r"^exit code (\d+)", "exit code", "exit_codes"),
    (r"^it could not be started: ([A-Za-z0-9_-]+)$", "the start error", "start_errors"),
)
"""Facts of an explanation that a rule can ask for: how they read, what they are, and the rule's field."""
MEANING: dict[str, str] = {
    Action.STOP: "stop, and ask a person to change what is allowed",
    Action.HOLD: "hold until the recipient's configuration is another one, and ask",
    Action.BACK_OFF: "the same again, later",
    Action.RESUME: "go on with the harness's session",
    Action.AGAIN: "the same again at once",
    Action.REVISE: "again, with what the checks said",
    Action.REBASE: "again, from the base that was found",
    Action.ELSEWHERE: "again, on another recipient",
    Action.ESCALATE: "ask a person",
    Action.END: "the task ends failed",
}


def policy_rows(body: PolicyBody) -> Iterator[tuple[str, str, str, str]]:
    """A row for each of the seven classes, and one for the time limit: the evidence, the response, and what comes after."""
    for name in (*map(str, FailureClass), TIMED_OUT):
        chain = chain_from(body, name)
        evidence = evidence_of(body, name)
        first = body.responses.get(name)
        told = response_text(first) if first is not None else MEANING[Action.ESCALATE]
        yield name, evidence, told, "; then ".join(chain)


def evidence_of(body: PolicyBody, name: str) -> str:
    """What the rules of a class ask for, in the order in which they are asked."""
    if name == TIMED_OUT:
        return "the attempt ran into its own time limit"
    rules = sorted((one for one in body.rules if one.failure_class == name), key=lambda one: one.rank)
    asked = [one.asks for one in rules]
    if name == FailureClass.CONTRADICTION:
        asked.append("rules of one rank that disagree; evidence that no rule knows")
    return "; ".join(dict.fromkeys(asked))


def chain_from(body: PolicyBody, name: str) -> list[str]:
    """The responses after the first, in order."""
    found: list[str] = []
    seen = {name}
    response = body.responses.get(name)
    while response is not None and response.otherwise is not None and response.otherwise not in seen:
        seen.add(response.otherwise)
        response = body.responses.get(response.otherwise)
        if response is not None:
            found.append(response_text(response))
    is_last = response is None or response.action in {*LAST, Action.AGAIN}
    return found if is_last else [*found, MEANING[Action.ESCALATE]]


def response_text(response: ResponseBody) -> str:
    """What is done, in words."""
    told = MEANING.get(response.action, response.action)
    if response.action != Action.BACK_OFF:
        return told
    from tenure.cli.text.moment import shown_duration

    longest = shown_duration(float(response.most_s))
    return f"{told}: a random part of {response.first_s} s, doubled each time up to {longest}, {response.most} times at most"


def unknown_lines(body: ExplanationBody) -> Iterator[str]:
    """Where no rule of the policy knows the evidence: what it is, and a rule that would know it."""
    if body.judgement is None or body.judgement.rule != UNCLASSIFIED:
        return
    known = unknown_evidence(body.facts)
    if known is None:
        yield "  no rule knows what its evidence says, and it says nothing that a rule could ask for by itself"
        return
    what, field = known
    yield f"  no rule knows {what}; a rule for it would be:"
    yield "    [[rules]]"
    yield '    name = "mine"'
    yield "    rank = 3"
    yield f'    class = "{FailureClass.VALIDATION}"  # or: {", ".join(sorted(set(FailureClass) - {FailureClass.VALIDATION}))}'
    yield f"    {field}"
    yield f'  in a policy file with `extends = "{body.judgement.policy}"`; `tenure policy check` checks it'


def unknown_evidence(facts: tuple[str, ...]) -> tuple[str, str] | None:
    """What a rule could name of the evidence, in words and as a field of a rule."""
    for pattern, noun, field in ASKABLE:
        found = next((one for fact in facts if (one := re.search(pattern, fact)) is not None), None)
        if found is not None:
            value = found[1] if found[1].isdigit() else f'"{found[1]}"'
            return f"{noun} {found[1]}", f"{field} = [{value}]"
    return None

"""Failure policies as they are written and shown: the same document in a TOML file and in the API."""

from __future__ import annotations

from msgspec import field

from tenure.core.explaining import asked_by
from tenure.core.failure import FailureClass, Rule, Sign, StepKind
from tenure.core.limits import NAME_LENGTH, POLICY_RESPONSES, POLICY_RULES
from tenure.core.policy import Action, Policy, PolicyDocument, Response, UnknownRule, policy_digest
from tenure.errors import InvalidError
from tenure.wire.body import Answered, Asked
from tenure.wire.codec import instant

VALUES = 256
"""Exit codes, statuses or start errors of one rule; there are no more exit codes than that."""


class RuleRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """A rule: evidence that has everything that it names is of this class. Of all rules that fit, those of the lowest
    `rank` (0 to 9) decide; if they disagree, it is a contradiction. `step`: only of the `harness`, or only of a `check`."""

    name: str
    rank: int
    failure_class: FailureClass = field(name="class")
    step: StepKind | None = None
    signs: tuple[Sign, ...] = ()
    exit_codes: tuple[int, ...] = ()
    http_statuses: tuple[int, ...] = ()
    start_errors: tuple[str, ...] = ()
    claims: tuple[FailureClass, ...] = ()


class ResponseRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """What is done. Without `action` it is the extended policy's response of this name, with what is given here changed.
    `otherwise`: the response to take where this one cannot be carried out. A back-off waits a random part of `first_s`,
    twice that, and so on up to `most_s`, at most `most` times in a row."""

    action: Action | None = None
    otherwise: str | None = None
    first_s: int | None = None
    most_s: int | None = None
    most: int | None = None


class PolicyRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """A policy to store. `extends`: a policy, by NAME or NAME/VERSION, from which comes what is left out here: a rule or a
    response of the same name stands in the place of its one. `unknown`: who answers an unknown outcome, `operator` or
    `auto`."""

    name: str
    version: int
    extends: str | None = None
    unknown: UnknownRule | None = None
    rules: tuple[RuleRequest, ...] = ()
    responses: dict[str, ResponseRequest] = field(default_factory=dict[str, ResponseRequest])


class RuleBody(Answered, frozen=True, kw_only=True):
    """`asks`: what it asks for, in words."""

    name: str
    rank: int
    failure_class: str = field(name="class")
    step: str | None
    signs: tuple[str, ...]
    exit_codes: tuple[int, ...]
    http_statuses: tuple[int, ...]
    start_errors: tuple[str, ...]
    claims: tuple[str, ...]
    asks: str


class ResponseBody(Answered, frozen=True, kw_only=True):
    action: str
    otherwise: str | None
    first_s: int
    most_s: int
    most: int


class PolicyBody(Answered, frozen=True, kw_only=True):
    """A policy. `policy` is its key, NAME/VERSION. `chosen_for`: where it holds by choice. `warnings`: what will not do what
    it looks like. `replayed`: it was stored before."""

    policy: str
    name: str
    version: int
    unknown: str
    rules: tuple[RuleBody, ...]
    responses: dict[str, ResponseBody]
    digest: str
    built_in: bool
    newest: bool = True
    stored_by: str | None = None
    stored_at: str | None = None
    chosen_for: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    replayed: bool = False


class ChoiceRequest(Asked, frozen=True, kw_only=True):
    """`policy`: NAME, for whatever is its newest version, or NAME/VERSION; null takes the choice back. `subject`: `hub`,
    `project:NAME` or `route:ROUTE`."""

    subject: str
    policy: str | None
    because: str


class ChoiceBody(Answered, frozen=True, kw_only=True):
    """`means`: the policy that it comes to now."""

    subject: str
    policy: str | None
    means: str | None
    by: str
    because: str
    at: str
    warnings: tuple[str, ...] = ()
    replayed: bool = False


class MatchBody(Answered, frozen=True, kw_only=True):
    """A rule that fits the evidence. `decides`: it is of the lowest rank that any is of."""

    name: str
    rank: int
    failure_class: str = field(name="class")
    asks: str
    decides: bool


class JudgementBody(Answered, frozen=True, kw_only=True):
    """What a policy says of an Attempt's end. `failure_class` null: a time limit. `word`: its node's own word stands.
    `passed_over`: responses that could not be carried out, and why. `changes`: what a next Attempt would change."""

    policy: str
    failure_class: str | None
    rule: str
    word: bool
    matched: tuple[MatchBody, ...]
    response: str
    action: str
    because: str
    passed_over: tuple[str, ...]
    changes: tuple[str, ...]
    refunded: bool
    not_before_at: str | None


class DecisionBody(Answered, frozen=True, kw_only=True):
    """What was decided, as it is recorded. `came_to`: what it led to."""

    policy: str
    failure_class: str | None
    rule: str
    response: str
    action: str
    because: str
    passed_over: tuple[str, ...]
    refunded: bool
    improved: bool
    signature: str
    evidence_digest: str
    at: str
    came_to: str


class ExplanationBody(Answered, frozen=True, kw_only=True):
    """Why an Attempt's end was met as it was. `told`: it in one sentence. `chosen`: why this policy. `facts`: what the
    evidence says. `recorded`: the decision, null if there is none (yet). `judgement`: what the policy says of the recorded
    evidence; with another policy than the Attempt's own, what that one would say. Null where there was no failure."""

    attempt: str
    state: str
    verdict: str | None
    told: str
    policy: str
    chosen: str
    facts: tuple[str, ...] = ()
    recorded: DecisionBody | None = None
    judgement: JudgementBody | None = None


def policy_of(asked: PolicyRequest, base: Policy | None) -> Policy:
    """The whole policy, with what is left out taken from `base`.

    Raises:
        InvalidError: a response has no action and there is none to take it from, or a name is too long; the facts list all
            such `problems`.
    """
    refuse_above(POLICY_RULES, len(asked.rules), "rules")
    refuse_above(POLICY_RESPONSES, len(asked.responses), "responses")
    rules = {} if base is None else {one.name: one for one in base.rules}
    own = [_rule(one) for one in asked.rules]
    # Two of one name in the document itself stay two, so that they are found.
    named = {one.name for one in own}
    kept = [rule for name, rule in rules.items() if name not in named]
    responses = dict(base.responses) if base is not None else {}
    problems = _length_problems(asked)
    for name, response in asked.responses.items():
        made = _response(response, responses.get(name))
        if made is None:
            hint = "" if base is not None else ", and there is no `extends` to take it from"
            problems.append(f"responses.{name}: action is missing{hint}; known: {', '.join(Action)}")
        else:
            responses[name] = made
    if problems:
        raise InvalidError("; ".join(problems), problems=problems)
    return Policy(
        name=asked.name,
        version=asked.version,
        rules=(*kept, *own),
        responses=responses,
        unknown=asked.unknown or (base.unknown if base is not None else UnknownRule.OPERATOR),
    )


def refuse_above(most: int, count: int, what: str) -> None:
    """Refuse a document with more of something than a policy may have, before any of it is looked into.

    Raises:
        InvalidError: it has more.
    """
    if count > most:
        problem = f"{what} has {count} entries; at most {most}"
        raise InvalidError(problem, problems=[problem])


def _length_problems(asked: PolicyRequest) -> list[str]:
    found = [
        f"{what} {name[:80]!r} must have 1 to {NAME_LENGTH} characters"
        for what, names in (
            ("a rule's name", [one.name for one in asked.rules]),
            ("a response's name", list(asked.responses)),
            ("a start error", [error for one in asked.rules for error in one.start_errors]),
        )
        for name in names
        if not 1 <= len(name) <= NAME_LENGTH
    ]
    for one in asked.rules:
        most = max(map(len, (one.exit_codes, one.http_statuses, one.start_errors)))
        if most > VALUES:
            found.append(f"rules.{one.name[:80]}: one of its lists has {most} entries; at most {VALUES}")
    return found


def _rule(asked: RuleRequest) -> Rule:
    return Rule(
        name=asked.name,
        rank=asked.rank,
        failure_class=asked.failure_class,
        step=asked.step,
        signs=asked.signs,
        exit_codes=asked.exit_codes,
        http_statuses=asked.http_statuses,
        start_errors=asked.start_errors,
        claims=asked.claims,
    )


def _response(asked: ResponseRequest, base: Response | None) -> Response | None:
    if asked.action is None and base is None:
        return None
    # A response with an action of its own is whole: what it leaves out is the usual, not what another action had.
    whole = base if base is not None and asked.action is None else Response(asked.action or Action.ESCALATE)
    return Response(
        action=whole.action,
        otherwise=asked.otherwise if asked.otherwise is not None else whole.otherwise,
        first_s=whole.first_s if asked.first_s is None else asked.first_s,
        most_s=whole.most_s if asked.most_s is None else asked.most_s,
        most=whole.most if asked.most is None else asked.most,
    )


def policy_body(policy: Policy, document: PolicyDocument | None = None) -> PolicyBody:
    """A policy as it is shown; `document` if it is stored."""
    return PolicyBody(
        policy=policy.key,
        name=policy.name,
        version=policy.version,
        unknown=str(policy.unknown),
        rules=tuple(map(rule_body, policy.rules)),
        responses={name: _response_body(one) for name, one in policy.responses.items()},
        digest=policy_digest(policy),
        built_in=document is None,
        stored_by=document.stored_by if document is not None else None,
        stored_at=instant(document.stored_at_ms) if document is not None else None,
    )


def rule_body(rule: Rule) -> RuleBody:
    return RuleBody(
        name=rule.name,
        rank=rule.rank,
        failure_class=str(rule.failure_class),
        step=None if rule.step is None else str(rule.step),
        signs=tuple(map(str, rule.signs)),
        exit_codes=rule.exit_codes,
        http_statuses=rule.http_statuses,
        start_errors=rule.start_errors,
        claims=tuple(map(str, rule.claims)),
        asks=asked_by(rule),
    )


def _response_body(response: Response) -> ResponseBody:
    return ResponseBody(
        action=str(response.action),
        otherwise=response.otherwise,
        first_s=response.first_s,
        most_s=response.most_s,
        most=response.most,
    )

"""The failure policy: from evidence to a class, and from the class to what is done about it (DESIGN 5).

A policy is data with a name and a version. Its rules give a failure its class (`core.failure`); its responses say what
follows from each class. A response that cannot be carried out (nothing to resume, no new base) hands over to the one that
its `otherwise` names; where none is left, a person is asked. `policy_problems` finds what can never work, before a policy
is used.

`again` and `back_off` repeat the same spec, which `reasoned_retry` allows only after a cause that passes by itself."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from msgspec import Struct

from tenure.core.canonical import digest
from tenure.core.failure import DEFAULT_POLICY as DEFAULT_RULES
from tenure.core.failure import FailureClass, FailurePolicy, Rule
from tenure.core.limits import NAME_LENGTH, POLICY_RESPONSES, POLICY_RULES


class Action(StrEnum):
    """What can be done about a failure. `stop`: a person must change what is allowed. `hold`: wait until the recipient's
    configuration is another one. `back_off`: the same again, later. `resume`: go on with the harness's session. `again`:
    the same at once. `revise`: tell the harness what its checks said. `rebase`: from the base that was found. `elsewhere`:
    on another recipient. `escalate`: ask a person. `end`: the Task fails."""

    STOP = "stop"
    HOLD = "hold"
    BACK_OFF = "back_off"
    RESUME = "resume"
    AGAIN = "again"
    REVISE = "revise"
    REBASE = "rebase"
    ELSEWHERE = "elsewhere"
    ESCALATE = "escalate"
    END = "end"


TRANSIENT = frozenset({FailureClass.CAPACITY, FailureClass.EXECUTOR_LOST})
"""Causes that pass by themselves, so that the same spec may be tried again."""
REPEATING = frozenset({Action.AGAIN, Action.BACK_OFF})
LAST = frozenset({Action.STOP, Action.HOLD, Action.ESCALATE, Action.END})
"""What can always be done, so that nothing comes after it."""
TIMED_OUT = "timed_out"
"""The response to an Attempt that ran into its time limit: no failure, so of no class."""


NAME_PREFIX = "name:"
"""Under which subject the newest version of a policy stands."""
AUTHOR = "policy:"
"""How the author of a hypothesis begins where it is a policy and no person."""


class Response(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`otherwise`: the response (by name) where this one cannot be carried out; none: a person is asked. A back-off waits
    a random part of `first_s`, twice that, four times, at most `most_s`, at most `most` times in a row."""

    action: Action
    otherwise: str | None = None
    first_s: int = 5
    most_s: int = 3_600
    most: int = 50


class UnknownRule(StrEnum):
    """Who answers an unknown outcome."""

    OPERATOR = "operator"
    AUTO = "auto"


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`unknown`: `auto` lets the machine itself answer `rerun`, on another recipient, where the Attempt was isolated."""

    name: str
    version: int
    rules: tuple[Rule, ...]
    responses: dict[str, Response]
    unknown: UnknownRule = UnknownRule.OPERATOR

    @property
    def key(self) -> str:
        return f"{self.name}/{self.version}"

    @property
    def table(self) -> FailurePolicy:
        """The rules alone, as `classify` takes them."""
        return FailurePolicy(name=self.name, version=self.version, rules=self.rules)


class PolicyDocument(Struct, frozen=True):
    """A policy as it is kept. It never changes; another version is another document."""

    policy_id: str
    name: str
    version: int
    policy: Policy
    digest: str
    stored_by: str
    stored_at_ms: int

    @property
    def key(self) -> str:
        return self.policy_id


class PolicyChoice(Struct, frozen=True):
    """Which policy holds for whom. `subject` is `hub`, `project:NAME`, or `route:ROUTE` (a recipient, a bare name or a
    pool); under `name:NAME` stands the newest version of a policy. `policy`: NAME for whatever is its newest version then,
    or NAME/VERSION; None: no choice any more."""

    subject: str
    policy: str | None
    chosen_by: str
    because: str
    chosen_at_ms: int

    @property
    def key(self) -> str:
        return self.subject


_A = Action

DEFAULT_RESPONSES: dict[str, Response] = {
    "authorization": Response(_A.STOP),
    "configuration": Response(_A.HOLD),
    "capacity": Response(_A.BACK_OFF),
    "executor_lost": Response(_A.RESUME, otherwise="again"),
    "validation": Response(_A.REVISE, otherwise="escalate"),
    "conflict": Response(_A.REBASE, otherwise="escalate"),
    "contradiction": Response(_A.ESCALATE),
    TIMED_OUT: Response(_A.RESUME, otherwise="escalate"),
    "again": Response(_A.AGAIN),
    "escalate": Response(_A.ESCALATE),
}
DEFAULT = Policy(name="default", version=1, rules=DEFAULT_RULES.rules, responses=DEFAULT_RESPONSES)
ONCE = Policy(
    name="once",
    version=1,
    rules=DEFAULT_RULES.rules,
    responses={name: Response(_A.END) for name in (*FailureClass, TIMED_OUT)},
)
"""One Attempt, and its end is the Task's: for programs that decide themselves what to do about a failure."""
BUILT_IN = {policy.name: policy for policy in (DEFAULT, ONCE)}
BUILT_IN_KEYS = {policy.key: policy for policy in BUILT_IN.values()}
FORMER_KEYS = {"default-1": DEFAULT}
"""What specs named the default policy before policies were data."""


def policy_digest(policy: Policy) -> str:
    return digest(policy)


def response_to(policy: Policy, failure_class: FailureClass | None) -> tuple[str, Response]:
    """The name and the content of the first response to a failure; without a class, to a time limit."""
    name = TIMED_OUT if failure_class is None else str(failure_class)
    return name, policy.responses.get(name, Response(Action.ESCALATE))


def chain_of(policy: Policy, failure_class: FailureClass | None) -> list[tuple[str, Response]]:
    """Every response to a failure, in the order in which they are tried. It ends even where the policy loops."""
    name, response = response_to(policy, failure_class)
    chain = {name: response}
    while (following := response.otherwise) in policy.responses and following not in chain:
        response = policy.responses[following]
        chain[following] = response
    return list(chain.items())


def back_off_of(policy: Policy) -> Response:
    """How long a quota without room is left alone: as the policy backs off from it, else by its first response to it."""
    chain = [response for _, response in chain_of(policy, FailureClass.CAPACITY)]
    return next((one for one in chain if one.action is Action.BACK_OFF), chain[0])


def policy_problems(policy: Policy) -> list[str]:
    """Everything that is wrong with a policy, as sentences; empty when it can be used."""
    found = _counts(policy)
    if found:
        return found  # what is too long is not looked into
    if len(policy.name) > NAME_LENGTH or not policy.name.replace("-", "").isalnum():
        found.append(f"name is {policy.name[:80]!r}; give 1 to {NAME_LENGTH} letters, digits and dashes")
    if policy.name in BUILT_IN and policy != BUILT_IN[policy.name]:
        found.append(f"the name {policy.name!r} is that of a built-in policy; choose another")
    if not 1 <= policy.version <= 1_000_000:
        found.append(f"version is {policy.version}; count from 1")
    found += _rule_problems(policy)
    missing = [str(one) for one in FailureClass if str(one) not in policy.responses]
    if missing:
        found.append(f"responses leaves out {', '.join(missing)}; every class needs one")
    for name, response in policy.responses.items():
        found += _response_problems(policy, name, response)
    for one in (*FailureClass, None):
        found += _chain_problems(policy, one)
    return list(dict.fromkeys(found))


def _counts(policy: Policy) -> list[str]:
    found: list[str] = []
    for what, count, most in (
        ("rules", len(policy.rules), POLICY_RULES),
        ("responses", len(policy.responses), POLICY_RESPONSES),
    ):
        if count > most:
            found.append(f"{what} has {count} entries; at most {most}")
    return found


def _is_plain(name: str) -> bool:
    """Is it a name that can stand in a line?"""
    return 0 < len(name) <= NAME_LENGTH and all(one.isalnum() or one in "-_." for one in name)


def _rule_problems(policy: Policy) -> list[str]:
    names = [rule.name for rule in policy.rules]
    found = [f"rules: two are named {name!r}" for name, times in Counter(names).items() if times > 1]
    if not names:
        found.append("rules is empty; without any rule every failure is a contradiction")
    for rule in policy.rules:
        if not _is_plain(rule.name):
            found.append(f"rules: {rule.name[:80]!r} is no name; give letters, digits, dashes, dots")
        if not all(0 <= one <= 255 for one in rule.exit_codes):
            found.append(f"rules.{rule.name[:80]}: exit_codes are 0 to 255")
        if not all(100 <= one <= 599 for one in rule.http_statuses):
            found.append(f"rules.{rule.name[:80]}: http_statuses are 100 to 599")
        if not 0 <= rule.rank <= 9:
            found.append(f"rules.{rule.name}: rank is {rule.rank}; 0 to 9")
        asks = (rule.signs, rule.exit_codes, rule.http_statuses, rule.start_errors, rule.claims)
        if not any(asks):
            found.append(f"rules.{rule.name}: asks for nothing, so it would match everything")
    return found


def _response_problems(policy: Policy, name: str, response: Response) -> list[str]:
    where = f"responses.{name[:80]}"
    found: list[str] = []
    if not _is_plain(name):
        found.append(f"responses: {name[:80]!r} is no name; give letters, digits, dashes, dots")
    if response.otherwise is not None and response.otherwise not in policy.responses:
        known = ", ".join(sorted(policy.responses))
        found.append(f"{where}: otherwise names {response.otherwise[:80]!r}, which is none of {known}")
    if response.action in LAST and response.otherwise is not None:
        found.append(f"{where}: {response.action} can always be done, so its otherwise is never reached")
    if not 1 <= response.first_s <= response.most_s <= 30 * 86_400:
        found.append(
            f"{where}: first_s is {response.first_s} and most_s {response.most_s}; 1 to 2592000 s, the first no longer"
        )
    if not 1 <= response.most <= 1_000:
        found.append(f"{where}: most is {response.most}; 1 to 1000 times")
    return found


def _chain_problems(policy: Policy, failure_class: FailureClass | None) -> list[str]:
    chain = chain_of(policy, failure_class)
    found: list[str] = []
    name, last = chain[0][0], chain[-1][1].otherwise
    if last in policy.responses:
        path = " → ".join((*(one for one, _ in chain), last))
        found.append(f"responses.{name} loops: {path}")
    if failure_class not in TRANSIENT:
        found += [
            f"responses.{one}: {response.action} repeats the same spec, which is allowed after capacity and executor_lost "
            f"only, and {name} comes here"
            for one, response in chain
            if response.action in REPEATING
        ]
    return found

"""Failure classes, and the rules that map evidence to them.

Why an Attempt failed decides what may come next (DESIGN 5), so the class is never an opinion: it follows from
`Evidence` by a rule of a versioned `FailurePolicy`, and `Classification` names the rule that fired. The
policy is data; `DEFAULT_POLICY` holds the defaults.

Rules have ranks. The lowest rank at which any rule matches decides; higher ones are not asked:

- 0: the evidence is marked as contradicting itself;
- 1: a step was ended at its own time limit (the signal that ended it was ours, so it says nothing);
- 2: how the process died or why it could not start. The system itself tells these, so they outrank what a
  program says;
- 3: what the program stated: exit code after sysexits.h, HTTP status, the class it named;
- 4: an acceptance check ended with any other exit code than 0.

The hard case is rank 3, where a program can say two things at once (exit code 75, class `authorization`). Two
classes at the deciding rank mean that the evidence disagrees with itself: `contradiction`, never a choice
between them. Evidence that no rule knows is `contradiction` too.

Source: DESIGN 5; exit codes: sysexits.h, and POSIX shell 2.8.2 for 126, 127 and 128 + n.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

EX_DATAERR = 65
EX_TEMPFAIL = 75
EX_NOPERM = 77
EX_CONFIG = 78
CANNOT_EXECUTE = 126
COMMAND_NOT_FOUND = 127
SHELL_SIGNAL_BASE = 128
"""A shell reports that its command died of signal n by exiting with 128 + n."""
SHELL_SIGNALS = frozenset({4, 5, 6, 7, 8, 9, 10, 11, 15, 24, 25, 31})
"""Signals that are believed when a shell reports them: crashes, kills, exceeded limits (Linux and macOS).

SIGHUP and SIGPIPE are left out: git exits with 129 on a wrong flag, and a pipeline with 141 because `head`
was content.
"""

START_FAULTS = ("ENOENT", "EACCES", "EPERM", "ENOEXEC", "ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG", "E2BIG")
"""The program, its interpreter or its arguments are wrong."""
START_SHORTAGES = ("EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "ETXTBSY")
"""The machine had no room for one more process, or the program file was just being written."""

SYSEXITS: dict[int, str] = {
    64: "EX_USAGE",
    65: "EX_DATAERR",
    66: "EX_NOINPUT",
    67: "EX_NOUSER",
    68: "EX_NOHOST",
    69: "EX_UNAVAILABLE",
    70: "EX_SOFTWARE",
    71: "EX_OSERR",
    72: "EX_OSFILE",
    73: "EX_CANTCREAT",
    74: "EX_IOERR",
    75: "EX_TEMPFAIL",
    76: "EX_PROTOCOL",
    77: "EX_NOPERM",
    78: "EX_CONFIG",
}
"""Names of sysexits.h, for people. Only the four that DESIGN 5 lists have a rule."""


class FailureClass(StrEnum):
    AUTHORIZATION = "authorization"
    CONFIGURATION = "configuration"
    CAPACITY = "capacity"
    EXECUTOR_LOST = "executor_lost"
    VALIDATION = "validation"
    CONFLICT = "conflict"
    CONTRADICTION = "contradiction"


class StepKind(StrEnum):
    """What ran: the harness's own turn, or an acceptance check after it."""

    HARNESS = "harness"
    CHECK = "check"


class Sign(StrEnum):
    """What a rule may ask of evidence beyond exact values."""

    CONTRADICTED = "contradicted"
    TIMED_OUT = "timed_out"
    OOM = "oom"
    SIGNALED = "signaled"
    SHELL_SIGNALED = "shell_signaled"
    EXIT_NOT_ZERO = "exit_not_zero"


class StepEnded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one process tree ended, as its runner saw it. None and False mean "not seen", never "not so".

    `canceled` and `timed_out` are the runner's own marks: it ended the tree for that reason. `never_started`
    is proof that the program was not executed, with the errno's name (`ENOENT`) in `start_error` where there
    was one. `unknown_reason` says why the runner cannot tell how it ended; it outranks everything else here.
    `output_tail` is the end of stdout and stderr as text.
    """

    exit_code: int | None = None
    signal: int | None = None
    oom: bool = False
    timed_out: bool = False
    canceled: bool = False
    never_started: bool = False
    start_error: str | None = None
    unknown_reason: str | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    output_tail: str = ""


class CheckEnded(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How one acceptance check ended.

    `attempt_over`: it was ended because the Attempt's own time was over, not the check's.
    """

    name: str
    ended: StepEnded
    attempt_over: bool = False


class Artifact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something a harness says it made: a file (`path`, relative to the worktree) or an address (`uri`).

    Nobody has looked at it yet.
    """

    name: str
    path: str | None = None
    uri: str | None = None
    media_type: str | None = None
    sha256: str | None = None


class Evidence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is known about the end of a step, for rules and for people. None means not known.

    `exit_code`, `signal`, `oom`, `start_error`: as in `StepEnded`. `shell_signal`: a shell said that its
    command died of this signal. `http_status`: the last status the harness met. `claimed_class`: the class
    that the harness named itself. `contradiction`: a sentence on what in here disagrees. `text`: the
    harness's final words. `details`: a JSON object, as text, that the harness sent along. `notes`: what was
    odd about the harness's messages. `checks`: those that ran, in order. `retry_after_s`, `reset_at_ms`: when a quota or a
    server will be there again, as the harness was told. `score`: how good the program itself says its result is; more is
    better, and it means something only beside others of the same Task.
    """

    step: StepKind = StepKind.HARNESS
    exit_code: int | None = None
    sysexit: str | None = None
    signal: int | None = None
    shell_signal: int | None = None
    oom: bool = False
    timed_out: bool = False
    start_error: str | None = None
    unknown_reason: str | None = None
    http_status: int | None = None
    claimed_class: FailureClass | None = None
    contradiction: str | None = None
    session_id: str | None = None
    text: str = ""
    question: str | None = None
    options: tuple[str, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    details: str | None = None
    notes: tuple[str, ...] = ()
    bad_lines: int = 0
    ignored_lines: int = 0
    output_tail: str = ""
    checks: tuple[CheckEnded, ...] = ()
    retry_after_s: float | None = None
    reset_at_ms: int | None = None
    score: float | None = None


class Rule(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One row of the policy.

    It matches when everything it asks for holds; an empty tuple asks for nothing.
    """

    name: str
    rank: int
    failure_class: FailureClass
    step: StepKind | None = None
    signs: tuple[Sign, ...] = ()
    exit_codes: tuple[int, ...] = ()
    http_statuses: tuple[int, ...] = ()
    start_errors: tuple[str, ...] = ()
    claims: tuple[FailureClass, ...] = ()


class FailurePolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named, versioned table of rules. `key` (`default/1`) is what events and specs record."""

    name: str
    version: int
    rules: tuple[Rule, ...]

    @property
    def key(self) -> str:
        return f"{self.name}/{self.version}"


class Classification(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A class, and the rule of the policy that gave it."""

    failure_class: FailureClass
    rule: str
    policy: str


EVIDENCE_DISAGREES = "evidence-disagrees"
"""The rule name when rules of one rank gave different classes."""
UNCLASSIFIED = "unclassified"
"""The rule name when no rule matched."""

_C = FailureClass

DEFAULT_POLICY = FailurePolicy(
    name="default",
    version=1,
    rules=(
        Rule("contradicted", 0, _C.CONTRADICTION, signs=(Sign.CONTRADICTED,)),
        # A check that never ends is most often work that hangs; its output is what the next Attempt must see.
        Rule("check-timed-out", 1, _C.VALIDATION, step=StepKind.CHECK, signs=(Sign.TIMED_OUT,)),
        Rule("out-of-memory", 2, _C.EXECUTOR_LOST, signs=(Sign.OOM,)),
        Rule("died-of-signal", 2, _C.EXECUTOR_LOST, signs=(Sign.SIGNALED,)),
        Rule("shell-saw-signal", 2, _C.EXECUTOR_LOST, signs=(Sign.SHELL_SIGNALED,)),
        Rule("cannot-start", 2, _C.CONFIGURATION, start_errors=START_FAULTS),
        Rule("no-room-to-start", 2, _C.CAPACITY, start_errors=START_SHORTAGES),
        Rule("ex-noperm", 3, _C.AUTHORIZATION, exit_codes=(EX_NOPERM,)),
        Rule("ex-config", 3, _C.CONFIGURATION, exit_codes=(EX_CONFIG,)),
        Rule("ex-tempfail", 3, _C.CAPACITY, exit_codes=(EX_TEMPFAIL,)),
        Rule("ex-dataerr", 3, _C.VALIDATION, exit_codes=(EX_DATAERR,)),
        Rule("cannot-run", 3, _C.CONFIGURATION, exit_codes=(CANNOT_EXECUTE, COMMAND_NOT_FOUND)),
        Rule("http-refused", 3, _C.AUTHORIZATION, http_statuses=(401, 403)),
        Rule("http-busy", 3, _C.CAPACITY, http_statuses=(429, 503, 529)),
        *(Rule(f"claimed-{claim}", 3, claim, claims=(claim,)) for claim in FailureClass),
        Rule("check-failed", 4, _C.VALIDATION, step=StepKind.CHECK, signs=(Sign.EXIT_NOT_ZERO,)),
    ),
)


def classify(evidence: Evidence, policy: FailurePolicy = DEFAULT_POLICY) -> Classification:
    """The class of a failure, and the rule that says so. Total: every evidence has a class.

    It says nothing about whether there was a failure; ask it only of a step that failed.
    """
    signs = signs_of(evidence)
    matching = [rule for rule in policy.rules if rule_matches(rule, evidence, signs)]
    rank = min((rule.rank for rule in matching), default=0)
    deciding = [rule for rule in matching if rule.rank == rank]
    if not deciding:
        return Classification(failure_class=FailureClass.CONTRADICTION, rule=UNCLASSIFIED, policy=policy.key)
    if len({rule.failure_class for rule in deciding}) > 1:
        return Classification(
            failure_class=FailureClass.CONTRADICTION, rule=EVIDENCE_DISAGREES, policy=policy.key
        )
    return Classification(failure_class=deciding[0].failure_class, rule=deciding[0].name, policy=policy.key)


def rule_matches(rule: Rule, evidence: Evidence, signs: frozenset[Sign]) -> bool:
    """Does everything hold that the rule asks for? `signs` are those of this evidence."""
    return (
        (rule.step is None or rule.step is evidence.step)
        and signs.issuperset(rule.signs)
        and (not rule.exit_codes or evidence.exit_code in rule.exit_codes)
        and (not rule.http_statuses or evidence.http_status in rule.http_statuses)
        and (not rule.start_errors or evidence.start_error in rule.start_errors)
        and (not rule.claims or evidence.claimed_class in rule.claims)
    )


def signs_of(evidence: Evidence) -> frozenset[Sign]:
    """The signs that hold for this evidence."""
    held = {
        Sign.CONTRADICTED: evidence.contradiction is not None,
        Sign.TIMED_OUT: evidence.timed_out,
        Sign.OOM: evidence.oom,
        Sign.SIGNALED: evidence.signal is not None,
        Sign.SHELL_SIGNALED: evidence.shell_signal is not None,
        Sign.EXIT_NOT_ZERO: evidence.exit_code is not None and evidence.exit_code != 0,
    }
    return frozenset(sign for sign, holds in held.items() if holds)


def evidence_of(ended: StepEnded, step: StepKind = StepKind.HARNESS, *, shell: bool = False) -> Evidence:
    """The evidence that a step's end is by itself.

    With `shell` an exit code of 128 + n is read as a signal that the shell saw. Only a step that we started
    through a shell is read so: other programs use codes above 128 for purposes of their own (an HTTP status,
    for one).
    """
    code = ended.exit_code
    shell_signal = None
    if shell and code is not None and code - SHELL_SIGNAL_BASE in SHELL_SIGNALS:
        shell_signal = code - SHELL_SIGNAL_BASE
    disagree = ended.signal is not None and code is not None
    return Evidence(
        step=step,
        exit_code=code,
        sysexit=None if code is None else SYSEXITS.get(code),
        signal=ended.signal,
        shell_signal=shell_signal,
        oom=ended.oom,
        timed_out=ended.timed_out,
        start_error=ended.start_error,
        unknown_reason=ended.unknown_reason,
        contradiction="the runner names both an exit code and a signal" if disagree else None,
        output_tail=ended.output_tail,
    )

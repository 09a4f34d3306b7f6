"""The whole API with anything: every operation of its description, as everybody there is, over a hub that has something of
everything in it.

Cases come from schemathesis: such as the description allows, and such as it forbids. In half of them ids, versions and
words are replaced by real ones, else hardly a request would get past the first look-up. Each case is sent as everybody,
those who may least first, and each answer is judged by itself (`judge`)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import hmac
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import requests
import schemathesis
import structlog
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks

from tenure.errors import all_errors
from tenure.servers.rest.app import ROUTES
from tenure.servers.rest.description import description_json
from tenure.wire.api import Problem
from tests.hostile.asgi import Answer, Request
from tests.hostile.bodies import BODIES
from tests.hostile.roles import HAND_OVER, MAY, PUBLIC
from tests.hostile.stage import WEBHOOK_SECRET, Seeds, Stage, stage

WHO = (
    "nobody",
    "stranger",
    "revoked",
    "join",
    "viewer",
    "submitter",
    "agent",
    "node",
    "outsider",
    "operator",
)
"""Those who may least first: what they are refused changes nothing for the others. The outsider is an operator whose token
is bound to a project in which there is nothing."""


class Chances(NamedTuple):
    """Of the cases: those in which names are replaced by real ones, and how many of the names then; those whose body is the
    description's own example; of these, those in which something else stands in one place."""

    seeded: float
    named: float
    example: float
    spoiled: float


ANYHOW, RIGHT = Chances(0.7, 0.8, 0.5, 0.5), Chances(1.0, 1.0, 1.0, 0.0)


class Plan(NamedTuple):
    """So many cases of an operation. `mode`: those that the description allows, or forbids. `start`: the seed."""

    mode: Any
    examples: int
    start: int
    chances: Chances = ANYHOW


RIGHT_EXAMPLES = 40
"""Cases that are as right as can be, for an operation that by chance nobody got beyond a refusal."""
ONLY_REFUSED: dict[str, str] = {}
"""Operations that cannot be got beyond a refusal here, and why."""
ANYTHING: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 2**53, 2**63, 2**64, -(2**70), 1e308, "", " ", "\x00", "\ud800", "key:", "t_x/1", "x" * 70_000,
    "../../etc/passwd", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", [], {}, [[]], [None] * 600,
    {"\x00": {}}, "\u202e\u2028", "%00", "$(id)", "' OR 1=1 --",
)  # fmt: skip
"""What may stand in any place of a body that else is right."""
TRACES = (b"Traceback", b'File "/', b"site-packages", b"msgspec.", b"litestar", b"sqlite3.")
CHECKS = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
ERROR_BYTES = 40_000
"""A sentence and a few facts; what was sent is never sent back whole."""
CALM = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.large_base_example,
]
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)


class Finding(NamedTuple):
    """Something that must not be."""

    operation: str
    who: str
    problem: str
    request: Request
    answer: Answer

    def __str__(self) -> str:
        body = self.request.body
        assert isinstance(body, bytes)
        return (
            f"{self.operation} as {self.who}: {self.problem}\n  {self.request.method} {self.request.path!r}"
            f" ?{self.request.query!r} {self.request.headers}\n  {body[:400]!r}\n"
            f"  -> {self.answer.status} {self.answer.body[:400]!r}"
        )


class Run:
    """What was sent and found. `answers`: how often each status, by operation and role."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Counter[int]] = {}
        self.findings: list[Finding] = []

    def note(self, operation: str, who: str, status: int) -> None:
        self.answers.setdefault((operation, who), Counter())[status] += 1

    def best(self, operation: str) -> int:
        """The lowest status that anybody got; 999 where nothing was sent."""
        found = (min(statuses) for (name, _), statuses in self.answers.items() if name == operation)
        return min(found, default=999)

    def only_refused(self) -> list[str]:
        """Operations that nobody got beyond a refusal, though nothing says why."""
        names = sorted({name for name, _ in self.answers})
        return [name for name in names if self.best(name) >= 400 and name not in ONLY_REFUSED]

    def sent(self, operation: str, who: str) -> int:
        return self.answers.get((operation, who), Counter()).total()

    def classes(self, operation: str, who: str) -> Counter[int]:
        """How many answers by the first digit of their status."""
        found: Counter[int] = Counter()
        for status, count in self.answers.get((operation, who), Counter()).items():
            found[status // 100] += count
        return found


def description_of_all() -> Any:
    """The description as schemathesis reads it."""
    return schemathesis.openapi.from_dict(json.loads(description_json(ROUTES, "0")))


def operations(schema: Any) -> dict[str, Any]:
    """Every operation, by its id."""
    found = (result.ok() for result in schema.get_all_operations())
    return {one.definition.raw["operationId"]: one for one in found}


def attack(
    names: list[str],
    examples: int,
    *,
    folder: Callable[[], Path | None] = lambda: None,
    start: int = 0,
    modes: tuple[Any, ...] = MODES,
) -> Run:
    """Send `examples` cases of each kind to each of these operations, all over one stage."""
    run, known = Run(), operations(description_of_all())
    with Standing(folder()) as standing:
        for name in names:
            for mode in modes:
                with contextlib.suppress(Unsatisfiable):
                    _attack_one(run, standing, known[name], Plan(mode, examples, start))
            if run.best(name) >= 400:
                right = Plan(schemathesis.GenerationMode.POSITIVE, RIGHT_EXAMPLES, start, RIGHT)
                _attack_one(run, standing, known[name], right)
    return run


def _attack_one(run: Run, standing: Standing, operation: Any, plan: Plan) -> None:
    name = operation.definition.raw["operationId"]

    @seed(plan.start)
    @settings(
        max_examples=plan.examples, deadline=None, database=None, derandomize=False, phases=[Phase.generate],
        suppress_health_check=CALM,
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=plan.mode), dice=st.integers(0, 2**32))
    def send(case: Any, dice: int) -> None:
        if plan.chances is RIGHT and run.best(name) < 400:
            return
        seeds = standing.seeds_for(name)
        request = dressed(case, seeds, random.Random(dice + 1), plan.chances)
        if request is not None:
            standing.send(run, case, request)

    send()


class Standing:
    """A stage in an event loop of its own, for a driver that has none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._context: Any = None
        self.stage: Stage
        self.logged: list[Any] = []

    def __enter__(self) -> Standing:
        self._thread.start()
        self._context = stage(self._folder)
        self.stage = self.wait(self._context.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self.wait(self._context.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def send(self, run: Run, case: Any, request: Request) -> None:
        operation = case.operation.definition.raw["operationId"]
        for who in WHO:
            with structlog.testing.capture_logs() as logs:
                answer = self.wait(self.stage.ask(who, request))
            run.note(operation, who, answer.status)
            problems = [*judge(operation, who, answer, self.stage), *conformance(case, answer)]
            problems += [f"logged {one}" for one in logs if one["log_level"] in ("error", "critical")]
            run.findings += [Finding(operation, who, problem, request, answer) for problem in problems]
        self._restore()

    def _restore(self) -> None:
        """A token that was revoked would make the rest of the run one long 401."""
        tokens = self.stage.lab.hub.access
        for who in ("operator", "submitter", "viewer", "join", "outsider", "node"):
            try:
                self.wait(tokens.authenticate(f"Bearer {self.stage.bearers[who]}"))
            except Exception:  # noqa: BLE001 - whatever it is, a new stage helps
                self._anew()
                return

    def seeds_for(self, operation: str) -> Seeds:
        """What is there now; on a new stage if nothing is left that the operation could be about."""
        if self.wait(self.stage.lacks(operation)):
            self._anew()
        return self.wait(self.stage.seeds_now())

    def _anew(self) -> None:
        self.wait(self._context.__aexit__(None, None, None))
        self._context = stage(None if self._folder is None else _fresh(self._folder))
        self.stage = self.wait(self._context.__aenter__())


def _fresh(folder: Path) -> Path:
    made = folder / f"again{len(list(folder.iterdir()))}"
    made.mkdir()
    return made


# -- what is sent


def dressed(case: Any, there: Seeds, dice: random.Random, chances: Chances) -> Request | None:
    """The case as bytes, mostly with real names in it; None for one that no HTTP client can say."""
    operation = case.operation.definition.raw["operationId"]
    if dice.random() < chances.example:
        case.body = exemplary(case, dice, chances)
    if dice.random() < chances.seeded:
        seeds = there.drawn(operation, dice, at_random=0.5 if chances is RIGHT else 0.2)
        case.path_parameters = placed(case, seeds, dice, chances)
        case.query = seeded(case.query, seeds, dice, chances)
        case.body = seeded(case.body, seeds, dice, chances)
    patient(case.body)
    try:
        prepared = requests.Request(**_plain(case.as_transport_kwargs(base_url="http://hub"))).prepare()
    except (ValueError, requests.RequestException):
        return None
    url = str(prepared.url).encode("utf-8", "surrogatepass").removeprefix(b"http://hub")
    path, _, query = url.partition(b"?")
    body = prepared.body or b""
    content = body if isinstance(body, bytes) else str(body).encode("utf-8", "surrogatepass")
    headers = [(_bytes(name), _bytes(value)) for name, value in prepared.headers.items()]
    headers = [
        one for one in headers if one[0].lower() not in (b"content-length", b"host", b"accept-encoding")
    ]
    if not any(name.lower() == b"tenure-contract" for name, _ in headers) and dice.random() < 0.9:
        headers.append((b"tenure-contract", b"1"))
    if path.startswith(b"/v1/webhooks/"):
        headers += signed(content, dice)
    return Request(str(prepared.method), path, query, headers, content)


def exemplary(case: Any, dice: random.Random, chances: Chances) -> Any:
    """The example of the description (or ours), mostly with anything in one place of it; the case's own body where there is none."""
    raw = case.operation.definition.raw
    found = raw.get("requestBody", {}).get("content", {}).get("application/json", {})
    own = BODIES.get(raw["operationId"])
    examples = [*found.get("schema", {}).get("examples", ()), *([] if own is None else [own])]
    if not examples:
        return case.body
    body = copy.deepcopy(dice.choice(examples))
    if dice.random() < chances.spoiled:
        container, key = dice.choice(list(places(body)))
        container[key] = copy.deepcopy(dice.choice(ANYTHING))
    return body


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value, as its container and key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from places(inner)


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    known = ("method", "url", "headers", "files", "data", "params", "json", "cookies")
    return {name: value for name, value in arguments.items() if name in known}


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1", "replace")


def seeded(value: Any, seeds: Seeds, dice: random.Random, chances: Chances) -> Any:
    """The value with what is named like something on the stage replaced by it, mostly."""
    if isinstance(value, dict):
        return {name: _named(name, inner, seeds, dice, chances) for name, inner in value.items()}
    return [seeded(one, seeds, dice, chances) for one in value] if isinstance(value, list) else value


def placed(case: Any, seeds: Seeds, dice: random.Random, chances: Chances) -> Any:
    """The parts of the path, those of what the operation is about."""
    parts = seeded(case.path_parameters, seeds, dice, chances)
    own = seeds.parts(case.operation.definition.raw["operationId"])
    if not parts or not own or dice.random() >= chances.named:
        return parts
    chosen = dice.choice(own)
    return {name: chosen.get(name, value) for name, value in parts.items()}


def _named(name: Any, value: Any, seeds: Seeds, dice: random.Random, chances: Chances) -> Any:
    found = seeds.of(str(name))
    if found and not isinstance(value, dict | list) and dice.random() < chances.named:
        return dice.choice(found)
    return seeded(value, seeds, dice, chances)


def patient(body: Any) -> None:
    """Nobody waits here: long polls have tests of their own."""
    if isinstance(body, dict) and isinstance(body.get("wait_s"), int | float) and 0 < body["wait_s"] <= 60:
        body["wait_s"] = 0


def signed(content: bytes, dice: random.Random) -> list[tuple[bytes, bytes]]:
    """What a forge's message has beside its body."""
    mac = hmac.new(WEBHOOK_SECRET.encode(), content, hashlib.sha256).hexdigest()
    return [
        (b"x-hub-signature-256", f"sha256={mac}".encode()),
        (b"x-gitlab-token", WEBHOOK_SECRET.encode()),
        (b"x-github-event", dice.choice([b"push", b"pull_request", b"ping"])),
        (b"x-gitlab-event", b"Push Hook"),
        (b"x-github-delivery", b"d-%d" % dice.randrange(50)),
        (b"webhook-id", b"d-%d" % dice.randrange(50)),
    ]


# -- how an answer is judged


def judge(operation: str, who: str, answer: Answer, on: Stage) -> Iterator[str]:
    """What is wrong with an answer, whatever was asked."""
    if answer.status >= 500 or answer.status < 200:
        yield f"answered {answer.status}"
    if answer.status >= 400:
        yield from _error(answer)
    role = "operator" if who == "outsider" else who
    if operation not in PUBLIC and role not in MAY[operation] and answer.status < 400:
        yield "this role must not reach it"
    if operation in PUBLIC and answer.status in (401, 403) and operation != "receive_webhook":
        yield "it needs no token"
    if any(one in answer.body for one in TRACES):
        yield "it tells of its own insides"
    if operation not in HAND_OVER or answer.status >= 300:
        yield from (f"it tells a secret: {one[:12]}…" for one in on.secrets if one.encode() in answer.body)
    if who == "outsider" and any(one in answer.body for one in on.inside):
        yield "it tells of another project"
    names = {name.lower() for name, _ in answer.headers}
    if not {b"x-content-type-options", b"cache-control", b"content-security-policy"} <= names:
        yield f"a header that each answer has is missing: {sorted(names)}"


def _error(answer: Answer) -> Iterator[str]:
    if answer.content_type != "application/problem+json":
        yield f"an error as {answer.content_type!r}"
        return
    try:
        problem = msgspec.json.decode(answer.body, type=Problem)
    except msgspec.DecodeError as error:
        yield f"no problem: {error}"
        return
    if problem.code not in all_errors():
        yield f"the code {problem.code!r} is none of ours"
    if problem.status != answer.status or problem.type != f"urn:tenure:error:{problem.code}":
        yield "the problem disagrees with its answer"
    if len(answer.body) > ERROR_BYTES:
        yield f"an error of {len(answer.body)} bytes"
    if not problem.detail.strip():
        yield "an error without a word"


def conformance(case: Any, answer: Answer) -> Generator[str]:
    """Where an answer is not what the description says."""
    if answer.content_type.startswith("text/event-stream"):
        return
    sent = httpx.Request("GET", "http://hub/")
    response = httpx.Response(answer.status, headers=answer.headers, content=answer.body, request=sent)
    response.elapsed = timedelta(0)
    try:
        case.validate_response(response, checks=CHECKS)
    except FailureGroup as group:
        yield from (f"{type(one).__name__}: {one}" for one in group.exceptions)


def told(run: Run) -> str:
    """The run as a table: of each operation and role how many were done and how many refused; `!` for each fault."""
    lines = [f"{'2xx/4xx':26} {'sent':>6} {'best':>4}" + "".join(f"{who:>11}" for who in WHO) + "  statuses"]
    for operation in sorted({name for name, _ in run.answers}):
        classes = [run.classes(operation, who) for who in WHO]
        statuses = sum((run.answers.get((operation, who), Counter()) for who in WHO), Counter[int]())
        counts = " ".join(f"{status}:{count}" for status, count in sorted(statuses.items()))
        cells = "".join(f"{f'{one[2]}/{one[4]}' + '!' * one[5]:>11}" for one in classes)
        lines.append(f"{operation:26} {statuses.total():>6} {run.best(operation):>4}{cells}  {counts}")
    refused = [name for name in ONLY_REFUSED if (name, WHO[0]) in run.answers and run.best(name) >= 400]
    lines += [f"never beyond a refusal: {name}, since {ONLY_REFUSED[name]}" for name in refused]
    lines += [f"never beyond a refusal, and nothing says why: {name}" for name in run.only_refused()]
    kinds = Counter((one.operation, one.problem[:160]) for one in run.findings)
    lines += [f"{count} x {operation}: {problem}" for (operation, problem), count in kinds.most_common()]
    total = sum(one.total() for one in run.answers.values())
    lines.append(f"{total} requests, {len(run.findings) + len(run.only_refused())} findings")
    return "\n".join(lines)

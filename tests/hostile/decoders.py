"""Every decoder of bytes or text that somebody else may have written: one list, used by hypothesis, by the fuzzer, by the
replay of what once failed, and by the measurement of memory.

The promise of each: for any bytes it answers with a value, or raises an error of `tenure.errors` that has a stable code and
says something; within a time and within a stated multiple of its bound of memory. Where there is an encoder, what was
decoded, encoded and decoded again is the same."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec

from tenure import errors as er
from tenure.cli.asking import more_budget, policy_file, task_file, task_name, task_request
from tenure.cli.asking.task_options import TaskOptions
from tenure.cli.process import process_mark, readiness
from tenure.cli.text import evidence, moment, money
from tenure.client import event_stream
from tenure.core import limits
from tenure.core.policy import BUILT_IN
from tenure.harness import protocol
from tenure.harness.summary import summarize, turn_said
from tenure.hub.leg_bounds import (
    check_claim,
    check_credential,
    check_fence,
    check_outcome,
    check_renewal,
    check_snapshot,
)
from tenure.hub.push import change, hook, secret_rules, talk
from tenure.hub.queries import place_in
from tenure.node.run import folder as run_folder
from tenure.node.run import link, messages, output
from tenure.node.runner import record, request, spool
from tenure.node.worktree.own_repository import LINE_BYTES, OwnRepositories
from tenure.node.worktree.worktree import OWN, folder_name
from tenure.providers import exchange, inbound
from tenure.runtime import cgi, credential_store, data_folder, git, recurrence, settings
from tenure.servers.mcp import argument, framing
from tenure.servers.rest.git_routes import GitFace, capability_of
from tenure.sim.run import plan_file
from tenure.wire import api, codec
from tenure.wire import legs as ws
from tenure.wire.policies import PolicyRequest
from tests.hostile import streams

MIB = 1024 * 1024
LONGEST_MESSAGE = 20_000
PATHS_TIMES = 60.0
"""Of paths of a few bytes alone; git lists each with a hundred more, so of the listing it is five times."""
TOML_TIMES = 100.0
"""A table for each line, at worst."""


class Decoder(NamedTuple):
    """`bound`: how many bytes it reads at most, or None where whoever calls it bounds that; `stated`: where that stands.
    `most`: of memory, as a multiple of the bound. `refuses`: what it raises beside our own errors, where its caller takes
    that. `same`: the value decoded again from what it encodes to. `is_stream`: of its lines none stays for the next ones."""

    decode: Callable[[bytes], Any]
    bound: int
    stated: str
    most: float = 40.0
    refuses: tuple[type[Exception], ...] = ()
    same: Callable[[Any], Any] | None = None
    is_text: bool = False
    is_stream: bool = False


# -- the API and the legs


def body(kind: type[Any]) -> Callable[[bytes], Any]:
    """A body, read as `servers/rest/json_body` reads it."""

    def decode(data: bytes) -> Any:
        found = codec.decode(kind, data, settings.HubSettings().max_body_bytes)
        codec.refuse_repeated_names(data)
        return found

    return decode


def again(kind: type[Any]) -> Callable[[Any], Any]:
    return lambda value: codec.decode(kind, codec.encode(value), 64 * MIB)


def leg(kind: type[Any], check: Callable[[Any], Any]) -> Callable[[bytes], Any]:
    """A message of a leg, with the bounds that the hub puts on it."""

    def decode(data: bytes) -> Any:
        found = body(kind)(data)
        check(found)
        return found

    return decode


def check_renewals(asked: ws.RenewRequest) -> None:
    for item in asked.items:
        check_fence(item.fence)
        check_renewal(item)


def check_report(asked: ws.ReportRequest) -> None:
    for item in asked.items:
        if item.outcome is not None:
            check_outcome(item.delivery_id, item.outcome)


def nothing(_: Any) -> None:
    return None


# -- files of people


FOLDER = Path(tempfile.mkdtemp(prefix="tenure-hostile-"))


def at(name: str, data: bytes) -> Path:
    path = FOLDER / name
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def a_policy(data: bytes) -> Any:
    file = policy_file.read_policy(at("policy.toml", data))
    return policy_file.problems_of(file, BUILT_IN["default"])


def some_settings(data: bytes) -> Any:
    return settings.parse_settings(settings.read_settings_file(at("tenure.toml", data)), "tenure.toml")


def a_task(name: str) -> Callable[[bytes], Any]:
    def decode(data: bytes) -> Any:
        tables = task_file.read_task_file(at(name, data))
        cli: Any = SimpleNamespace(
            settings=settings.Settings(), env={}, out=SimpleNamespace(note=lambda _: None)
        )
        options = TaskOptions(no_repo=True, to="claude")
        if len(tables) > 1:
            return asyncio.run(task_file.batch_in(cli, [{**one, "base_sha": "a" * 40} for one in tables]))
        return [asyncio.run(task_file.request_in(cli, one, options)) for one in tables]

    return decode


# -- text of people


def text(parse: Callable[[str], Any]) -> Callable[[bytes], Any]:
    return lambda data: parse(data.decode("utf-8", "surrogatepass" if _is_pass(data) else "replace"))


def _is_pass(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def a_cron(said: str) -> Any:
    cron, _, zone = said.partition("\n")
    found = recurrence.Recurrence(cron, zone or "Europe/Berlin")
    return found.after(1_800_000_000_000), found.after(limits.LAST_INSTANT_MS - 1)


# -- what programs of others say


def protocol_stream(data: bytes) -> Any:
    """In pieces as the node reads them, and in others: the same."""
    said = [
        turn_said(
            summarize(protocol.protocol_lines(data[at : at + size] for at in range(0, len(data), size)))
        )
        for size in (output.READ_BYTES, max(1, min(len(data) // 3, output.READ_BYTES // 3)))
    ]
    assert said[0] == said[1]
    return said[0]


def kept_by_runner(data: bytes) -> Any:
    """The runner's own reader of the same lines."""
    lines = spool.Protocol({"protocol_line_bytes": 1 << 20, "protocol_bytes": 0})
    lines.feed(data)
    lines.end_line()
    return lines.last_word


class Deeds:
    """A runner that does nothing."""

    def renew(self, fence: int, deadline_ns: int, counter: int) -> str | None:
        assert all(type(one) is int and 0 <= one < 2**63 for one in (fence, deadline_ns, counter))
        return None

    def cancel(self, grace_s: float = 0) -> None:
        assert grace_s >= 0

    def lose(self, fence: int) -> str | None:
        return None


def a_request(data: bytes) -> Any:
    """A line on a runner's control socket, taken as `control.Control.answer` takes it."""
    asked = record.decode(data)
    int(asked["id"])
    return request.understand(Deeds(), asked)()


def a_webhook(forge: str, event: str) -> Callable[[bytes], Any]:
    headers = {
        f"x-{forge}-delivery": "d", f"x-{forge}-event": event, "webhook-id": "d", "content-type": "application/json",
    }  # fmt: skip
    return lambda data: inbound.read(forge, inbound.Message(headers, data))


def signatures(data: bytes) -> Any:
    """Headers of any kind, one a line; each forge."""
    lines = [line.partition(":") for line in data.decode("latin-1").split("\n")]
    headers = {name.lower(): value for name, _, value in lines}
    for forge in inbound.FORGES:
        for secret in ("secret", "whsec_" + "a2V5" * 8, "whsec_no"):
            with contextlib.suppress(er.UnauthenticatedError):
                inbound.check(forge, secret, inbound.Message(headers, b"{}"), 1_800_000_000_000)


def an_answer(data: bytes) -> Any:
    """A forge's answer: a line of status, headers, an empty line, a body."""
    head, _, content = data.partition(b"\n\n")
    first, *lines = head.decode("latin-1").split("\n")
    headers = {name.lower(): value for name, _, value in (line.partition(":") for line in lines)}
    status = int(first) if first.isascii() and first.isdigit() and len(first) == 3 else 500
    answer = exchange.Answer(max(200, status), headers, content, status % 2 == 0, "forge.example")
    words = exchange.spoken(answer)
    if 200 <= answer.code < 300:
        return answer.read(dict[str, Any])
    return exchange.refuse(answer, words[: exchange.WORDS])


def sent_events(data: bytes) -> Any:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 97):
            yield data[start : start + 97]

    async def read() -> Any:
        return [one async for one in event_stream.sent_events(chunks())]

    return asyncio.run(read())


TOOLS = (
    argument.Progress,
    argument.Question,
    argument.PullRequest,
    argument.Labels,
    argument.Webhook,
    argument.Merge,
)


def tool_arguments(data: bytes) -> Any:
    given = json.loads(data)
    for kind in TOOLS:
        with contextlib.suppress(msgspec.ValidationError):
            msgspec.convert(given, kind)


# -- git, as agents speak it


def git_address(data: bytes) -> Any:
    """A method and an address on the first line, then headers, one a line."""
    first, *lines = data.split(b"\n")
    method, _, address = first.decode("utf-8", "replace").partition(" ")
    path, _, query = address.partition("?")
    headers = [(name, value) for name, _, value in (line.partition(b":") for line in lines)]
    scope: Any = {
        "path": path, "query_string": query.encode(), "method": method, "headers": headers,
    }  # fmt: skip
    return GitFace(NOBODY, scope, NOBODY, NOBODY)._request()


NOBODY: Any = None


def pkt_lines(data: bytes) -> Any:
    """A section of packets, on the descriptor that the hook reads."""
    path = at("packets", data)
    kept, opened = os.dup(0), os.open(path, os.O_RDONLY)
    try:
        os.dup2(opened, 0)
        return hook.read_section()
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(opened)


def push_question(data: bytes) -> Any:
    """What a hook asks, with refs and options as an agent chose them."""
    asked = msgspec.json.decode(data, type=talk.Question)
    talk._again(asked.options)
    talk.quarantine(FOLDER, asked.objects)
    return [talk.pushed(*one) for one in asked.refs]


def tree_listing(data: bytes) -> Any:
    """Paths that an agent committed, as git lists them; and each as a link to the next."""
    paths = [one for one in data.split(b"\0") if one]
    sha = b"a" * 40
    listing = b"".join(b":000000 120000 " + sha + b" " + sha + b" A\0" + path + b"\0" for path in paths)
    entries = list(change.entries_of(listing))
    assert [one.path for one in entries] == paths
    for first, second in itertools.pairwise(paths):
        change.leaves(first, second)
    change._no_secret_paths(entries)
    return entries


def own_repository(data: bytes) -> Any:
    """An agent's git folder: HEAD says the first line, a branch the second, the packed refs and the reflog all of it."""
    worktree: Any = SimpleNamespace(attempt_id="t_1/1", branch="tenure/t_1")
    own = FOLDER / "store" / OWN / folder_name(worktree.attempt_id)
    head, _, rest = data.partition(b"\n")
    files = {
        "HEAD": head,
        "refs/heads/main": rest.partition(b"\n")[0],
        "packed-refs": data,
        "logs/HEAD": data,
    }
    for name, content in files.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_bytes(content)
    store: Any = SimpleNamespace(root=FOLDER / "store")
    return OwnRepositories(store, NOBODY, NOBODY, NOBODY)._said(worktree)


def shown_evidence(data: bytes) -> Any:
    """An Attempt's evidence, as commands show it. A hub takes it from any node."""
    attempt: Any = SimpleNamespace(evidence=data.decode("utf-8", "replace"))
    return (
        evidence.changes_text(attempt),
        evidence.not_stored_because(attempt),
        evidence.left_uncommitted(attempt),
        [evidence.patch_of(attempt).get(name) for name in ("text", "size_bytes", "truncated")],
        evidence.output_tails(attempt),
    )


# -- what this machine stored


def run_files(data: bytes) -> Any:
    """A run folder in which each file says this."""
    folder = FOLDER / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in (run_folder.LAUNCH, run_folder.STARTED, run_folder.OUTCOME, output.PROTOCOL):
        (folder / name).write_bytes(data)
    run_folder.read_launch(folder)
    return run_folder.probe(folder, "this-boot")


def outcome_again(value: Any) -> Any:
    return run_folder.probe(_with_outcome(value.outcome), "this-boot") if value.outcome else value


def _with_outcome(outcome: messages.Outcome) -> Path:
    (FOLDER / "run" / run_folder.OUTCOME).write_bytes(msgspec.json.encode(outcome))
    return FOLDER / "run"


def a_mark(data: bytes) -> Any:
    at(process_mark.MARK_FILE, data)
    return process_mark.read_mark(FOLDER)


def a_format(data: bytes) -> Any:
    at(data_folder.FORMAT_FILE, data)
    return data_folder.check_format(FOLDER)


def stored_credentials(data: bytes) -> Any:
    at(credential_store.STORE_FILE, data)
    return credential_store.CredentialStore(FOLDER, {}).read()


def a_plan(data: bytes) -> Any:
    return plan_file.read_plan(at("plan.json", data))


def plan_again(value: Any) -> Any:
    return a_plan(plan_file.plan_text(value).encode())


DECODERS: dict[str, Decoder] = {
    "task_request": Decoder(body(api.TaskRequest), 16 * MIB, "hub.max_body_bytes", same=again(api.TaskRequest)),
    "batch_request": Decoder(body(api.BatchRequest), 16 * MIB, "hub.max_body_bytes", same=again(api.BatchRequest)),
    "policy_request": Decoder(body(PolicyRequest), 16 * MIB, "hub.max_body_bytes", same=again(PolicyRequest)),
    "enroll": Decoder(
        leg(ws.EnrollRequest, check_credential), 16 * MIB, "hub.max_body_bytes", same=again(ws.EnrollRequest)
    ),
    "claim": Decoder(leg(ws.ClaimRequest, check_claim), 16 * MIB, "hub.max_body_bytes", same=again(ws.ClaimRequest)),
    "claim_reply": Decoder(body(ws.ClaimReply), 64 * MIB, "client/link.py ANSWER_BYTES", same=again(ws.ClaimReply)),
    "acknowledge": Decoder(leg(ws.AckRequest, nothing), 16 * MIB, "hub.max_body_bytes", same=again(ws.AckRequest)),
    "renew": Decoder(
        leg(ws.RenewRequest, check_renewals), 16 * MIB, "hub.max_body_bytes", same=again(ws.RenewRequest)
    ),
    "report": Decoder(
        leg(ws.ReportRequest, check_report), 16 * MIB, "hub.max_body_bytes", same=again(ws.ReportRequest)
    ),
    "reconcile": Decoder(
        leg(ws.ReconcileRequest, check_snapshot), 16 * MIB, "hub.max_body_bytes", same=again(ws.ReconcileRequest)
    ),
    "policy_file": Decoder(a_policy, policy_file.MAX_BYTES, "cli/asking/policy_file.py MAX_BYTES", most=TOML_TIMES),
    "settings_file": Decoder(some_settings, settings.MAX_FILE_BYTES, "runtime/settings.py MAX_FILE_BYTES", most=TOML_TIMES),
    "task_toml": Decoder(a_task("task.toml"), task_file.MAX_BYTES, "cli/asking/task_file.py MAX_BYTES", most=TOML_TIMES),
    "task_json": Decoder(a_task("task.json"), task_file.MAX_BYTES, "cli/asking/task_file.py MAX_BYTES", most=TOML_TIMES),
    "instant": Decoder(text(codec.parse_instant), 100, "a text of people", is_text=True),
    "duration": Decoder(
        text(lambda said: moment.parse_not_before(f"+{said}", 1_800_000_000_000)), 100, "a text of people", is_text=True
    ),
    "timeout": Decoder(
        text(lambda said: task_request.whole_seconds(moment.parse_duration_s(said))), 100, "a text of people", is_text=True
    ),
    "dollars": Decoder(text(money.parse_usd_micros), 100, "a text of people", is_text=True),
    "more": Decoder(text(lambda said: more_budget.whole("more", said)), 100, "a text of people", is_text=True),
    "task_name": Decoder(text(task_name.parse_task_name), 100, "a text of people", is_text=True),
    "label": Decoder(text(lambda said: task_request.parse_labels([said])), 100, "a text of people", is_text=True),
    "place": Decoder(text(place_in), 100, "a parameter of the API", is_text=True),
    "cron": Decoder(text(a_cron), limits.CRON_LENGTH, "core/limits.py CRON_LENGTH", is_text=True),
    "git_login": Decoder(text(capability_of), 4096, "an HTTP header", is_text=True),
    "harness_line": Decoder(protocol.parse_line, protocol.MAX_LINE_BYTES, "harness/protocol.py MAX_LINE_BYTES"),
    "harness_stream": Decoder(
        protocol_stream, protocol.MAX_LINE_BYTES, "harness/protocol.py MAX_LINE_BYTES, of each line", is_stream=True
    ),
    "runner_stream": Decoder(kept_by_runner, 1 << 20, "node/run/messages.py Limits.protocol_line_bytes"),
    "runner_request": Decoder(
        a_request, 65_536, "node/runner/control.py REQUEST_BYTES",
        refuses=(ValueError, KeyError, TypeError, OverflowError),
    ),
    "github_webhook": Decoder(a_webhook("github", "push"), limits.WEBHOOK_BYTES, "core/limits.py WEBHOOK_BYTES"),
    "gitlab_webhook": Decoder(a_webhook("gitlab", "Note Hook"), limits.WEBHOOK_BYTES, "core/limits.py WEBHOOK_BYTES"),
    "signatures": Decoder(signatures, 65_536, "an HTTP head (uvicorn, 64 KiB)"),
    "forge_answer": Decoder(an_answer, exchange.ANSWER_BYTES, "providers/exchange.py ANSWER_BYTES"),
    "sent_events": Decoder(sent_events, event_stream.EVENT_BYTES, "client/event_stream.py EVENT_BYTES"),
    "tool_arguments": Decoder(tool_arguments, MIB, "the agent's own process", refuses=(ValueError, RecursionError)),
    "mcp_stream": Decoder(streams.mcp_stream, framing.MESSAGE_BYTES, "servers/mcp/framing.py MESSAGE_BYTES, of each line", is_stream=True),
    "hub_error": Decoder(streams.hub_error, 64 * MIB, "client/link.py ANSWER_BYTES"),
    "runner_reply": Decoder(
        streams.runner_reply, link.LINE_BYTES, "node/run/link.py LINE_BYTES", refuses=(ValueError,)
    ),
    "child_said": Decoder(streams.child_said, readiness.MAX_LINE_BYTES, "cli/process/readiness.py MAX_LINE_BYTES"),
    "cgi_answer": Decoder(streams.cgi_answer, cgi.HEAD_BYTES, "runtime/cgi.py HEAD_BYTES"),
    "remote_words": Decoder(streams.remote_words, git.OUTPUT_BYTES, "runtime/git.py OUTPUT_BYTES"),
    "changed_names": Decoder(
        streams.changed_names, git.OUTPUT_BYTES, "runtime/git.py OUTPUT_BYTES", most=PATHS_TIMES
    ),
    "process_name": Decoder(streams.process_name, 15, "the kernel", is_text=True),
    "forwarded_address": Decoder(text(streams.forwarded_address), 65_536, "an HTTP head (uvicorn, 64 KiB)"),
    "context_address": Decoder(
        text(streams.context_address), limits.REPOSITORY_LENGTH, "core/limits.py REPOSITORY_LENGTH", is_text=True
    ),
    "sim_plan": Decoder(a_plan, plan_file.PLAN_BYTES, "sim/run/plan_file.py PLAN_BYTES", same=plan_again),
    "git_address": Decoder(git_address, 65_536, "an HTTP head (uvicorn, 64 KiB)"),
    "pkt_lines": Decoder(pkt_lines, hook.MOST_BYTES, "one packet, as git sends it", refuses=(ValueError,)),
    "push_question": Decoder(
        push_question, cgi.LINE_BYTES, "runtime/cgi.py LINE_BYTES",
        refuses=(msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError),
    ),
    "tree_listing": Decoder(
        tree_listing, change.LISTING_BYTES, "hub/push/change.py LISTING_BYTES", most=PATHS_TIMES
    ),
    "secret_content": Decoder(secret_rules.found, change.Bounds().blob_bytes, "hub/push/change.py Bounds.blob_bytes"),
    "own_repository": Decoder(own_repository, LINE_BYTES, "node/worktree/own_repository.py LINE_BYTES, REFLOG_BYTES"),
    "shown_evidence": Decoder(shown_evidence, limits.EVIDENCE_BYTES, "core/limits.py EVIDENCE_BYTES"),
    "run_folder": Decoder(run_files, MIB, "written by our own runner", same=outcome_again),
    "process_mark": Decoder(a_mark, process_mark.MAX_MARK_BYTES, "cli/process/process_mark.py MAX_MARK_BYTES"),
    "format_file": Decoder(a_format, MIB, "written by ourselves"),
    "credential_store": Decoder(
        stored_credentials, credential_store.MAX_STORE_BYTES, "runtime/credential_store.py MAX_STORE_BYTES"
    ),
}  # fmt: skip


def check(name: str, data: bytes) -> str:
    """Hold one decoder against one input; `value`, or the code of its error.

    What it raises beside its own errors is a finding, and so is an error without a word.
    """
    one = DECODERS[name]
    try:
        value = one.decode(data)
    except er.TenureError as error:
        return _told(name, error)
    except one.refuses as error:
        return type(error).__name__
    if one.same is not None:
        assert one.same(value) == value, f"{name}: {value!r} is another value after encoding"
    return "value"


def _told(name: str, error: er.TenureError) -> str:
    assert error.code in er.all_errors(), name
    assert error.message.strip(), name
    assert len(error.message) < LONGEST_MESSAGE, f"{name}: a message of {len(error.message)} characters"
    return error.code

"""The harness protocol: whatever a program writes, reading it is bounded and never raises."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.failure import Artifact, FailureClass
from tenure.core.turn import Word
from tenure.harness.message import (
    MAX_ARTIFACTS,
    MAX_MESSAGE,
    Ask,
    Bad,
    Ignored,
    Progress,
    ProtocolLine,
    Result,
    Session,
    UsageSaid,
)
from tenure.harness.protocol import (
    MAX_LINE_BYTES,
    ProtocolReader,
    nesting,
    parse_line,
    protocol_lines,
    recorded_lines,
)
from tenure.harness.summary import MAX_NOTES, ProtocolSummary, advance, summarize

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
keys = st.sampled_from(
    ["type", "message", "fraction", "tool", "input_tokens", "output_tokens", "cost_usd_micros", "tool_calls",
     "session_id", "question", "options", "verdict", "summary", "class", "evidence", "artifacts", "http_status", "retry_after_s", "reset_at", "score"]
)  # fmt: skip
kinds = st.sampled_from(["progress", "usage", "session", "ask", "result", "future"])
messages = st.builds(
    lambda kind, fields: fields | {"type": kind},
    kinds,
    st.dictionaries(keys, json_values | st.sampled_from(["completed", "failed", "capacity"]), max_size=6),
)
raw_lines = st.binary(max_size=80) | messages.map(lambda message: json.dumps(message).encode())


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def bad(raw: bytes) -> Bad:
    parsed = parse_line(raw)
    assert isinstance(parsed, Bad)
    return parsed


def test_progress_is_read_with_its_fraction_and_tool() -> None:
    parsed = parse_line(line(type="progress", message="compiling", fraction=0.5, tool="bash"))
    assert parsed == Progress(message="compiling", fraction=0.5, tool="bash")


def test_what_is_absent_in_a_message_is_no_fault_of_it() -> None:
    assert parse_line(line(type="progress")) == Progress()
    assert parse_line(line(type="progress", message=None, fraction=None, tool=None)) == Progress()
    assert parse_line(line(type="result", verdict="unknown")) == Result(verdict=Word.UNKNOWN)


@pytest.mark.parametrize("fraction", [0, 1, 0.25])
def test_both_ends_of_a_fraction_are_within_it(fraction: float) -> None:
    assert parse_line(line(type="progress", fraction=fraction)) == Progress(fraction=fraction)


@pytest.mark.parametrize("count", [0, 2**53 - 1])
def test_both_ends_of_a_count_are_within_it(count: int) -> None:
    assert parse_line(line(type="usage", tool_calls=count)) == UsageSaid(tool_calls=count)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "progress", "message": 7},
        {"type": "progress", "message": "x" * 501},
        {"type": "ask", "question": "?", "options": ["a", 1]},
        {"type": "ask", "question": "?", "options": "a"},
        {"type": "ask", "question": "?", "options": ["a"] * 21},
        {"type": "result", "verdict": "failed", "class": ["capacity"]},
        {"type": "result", "verdict": "failed", "evidence": []},
        {"type": "result", "verdict": "failed", "evidence": {"http_status": True}},
        {"type": "result", "verdict": "failed", "evidence": {"http_status": "429"}},
        {"type": "result", "verdict": "failed", "evidence": {"http_status": 600}},
        {"type": "result", "verdict": "failed", "evidence": {"http_status": 99}},
        {"type": "result", "verdict": "failed", "evidence": {"n": float("nan")}},
    ],
)
def test_a_field_that_cannot_be_used_leaves_exactly_one_note_and_the_message_holds(
    message: dict[str, Any],
) -> None:
    parsed = parse_line(json.dumps(message).encode())
    assert isinstance(parsed, Progress | Ask | Result)
    assert len(parsed.notes) == 1
    if isinstance(parsed, Result):
        assert (parsed.http_status, parsed.failure_class) == (None, None)


@pytest.mark.parametrize("status", [100, 599])
def test_both_ends_of_an_http_status_are_within_it(status: int) -> None:
    parsed = parse_line(line(type="result", verdict="failed", evidence={"http_status": status}))
    assert isinstance(parsed, Result)
    assert (parsed.http_status, parsed.notes) == (status, ())


def test_usage_is_read_as_totals_and_what_is_absent_stays_unknown() -> None:
    assert parse_line(line(type="usage", input_tokens=10, cost_usd_micros=2.0)) == UsageSaid(
        input_tokens=10, cost_usd_micros=2
    )


def test_session_and_question_are_read() -> None:
    assert parse_line(line(type="session", session_id="s-1")) == Session(session_id="s-1")
    assert parse_line(line(type="ask", question="Which?", options=["a", "b"])) == Ask(
        question="Which?", options=("a", "b")
    )


def test_a_result_is_read_with_class_evidence_and_artifacts() -> None:
    parsed = parse_line(
        line(
            type="result",
            verdict="failed",
            summary="no quota",
            **{"class": "capacity"},
            evidence={"http_status": 429, "retry_after_s": 60},
            artifacts=[
                {"name": "log", "path": "out/log.txt"},
                {"name": "page", "uri": "https://example.org/1"},
            ],
        )
    )
    assert parsed == Result(
        verdict=Word.FAILED,
        summary="no quota",
        failure_class=FailureClass.CAPACITY,
        http_status=429,
        retry_after_s=60.0,
        details='{"http_status": 429, "retry_after_s": 60}',
        artifacts=(
            Artifact(name="log", path="out/log.txt"),
            Artifact(name="page", uri="https://example.org/1"),
        ),
    )


def test_an_unknown_type_is_ignored_and_not_an_error() -> None:
    assert parse_line(line(type="thinking", text="…")) == Ignored(kind="thinking")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"hello", "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"message": "x"}', "without a type"),
        (b'{"type": 3}', "without a type"),
        (b'{"type": "progress"', "not JSON"),
        (b'{"type": "prog\x00ress"}', "not JSON"),
        (b'{"type": "session"}', "session without session_id"),
        (b'{"type": "progress", "message": 1' + b"1" * 5000 + b"}", None),
    ],
)
def test_a_line_that_cannot_be_used_says_why(raw: bytes, reason: str | None) -> None:
    parsed = parse_line(raw)
    if reason is not None:
        assert parsed == Bad(reason=reason)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type": "result", "verdict": "complet',
        b'{"type":"result"}',
        b'{"type":"result","verdict":"canceled"}',
        b'{"type":"result","verdict":["completed"]}',
        b'{"type":"ask"}',
        b'{"summary": "' + b"x" * MAX_LINE_BYTES + b'", "type": "result", "verdict": "failed"}',
        b'{"type": "result", "verdict": "failed", "evidence": ' + b"[" * 70 + b"]" * 70 + b"}",
    ],
)
def test_a_damaged_line_that_was_perhaps_the_result_is_marked_as_such(raw: bytes) -> None:
    assert bad(raw).maybe_result
    assert [one for one in protocol_lines([raw]) if isinstance(one, Bad) and one.maybe_result]


def test_broken_utf8_costs_a_character_and_not_the_result() -> None:
    parsed = parse_line(b'{"type": "result", "verdict": "completed", "summary": "caf\xe9"}')
    assert parsed == Result(verdict=Word.COMPLETED, summary="caf\ufffd")


def test_nul_control_characters_and_lone_surrogates_are_replaced_in_every_text() -> None:
    parsed = parse_line(
        rb'{"type": "result", "verdict": "failed", "summary": "a\u0000\u001b[31mb\udc80\tc\n",'
        rb' "evidence": {"k\u0000": ["\ud800"]}}'
    )
    assert isinstance(parsed, Result)
    assert parsed.summary == "a\ufffd\ufffd[31mb?\tc\n"
    assert parsed.details == '{"k\ufffd": ["?"]}'


def test_nesting_is_judged_before_decoding_and_brackets_in_strings_do_not_count() -> None:
    assert isinstance(parse_line(b'{"type": "x", "a": ' + b"[" * 63 + b"]" * 63 + b"}"), Ignored)
    assert bad(b'{"type": "x", "a": ' + b"[" * 64 + b"]" * 64 + b"}").reason == "nested deeper than 64 levels"
    assert isinstance(parse_line(json.dumps({"type": "x", "a": '["' * 500}).encode()), Ignored)
    assert nesting('"' + "[" * 100) == 0
    assert bad(b"[" * 500_000).reason == "nested deeper than 64 levels"


def test_judging_the_nesting_takes_linear_time_on_hostile_text() -> None:
    # Half a million escaped quotes in a string that never ends: quadratic scanning would take hours.
    assert nesting('"' + '\\"' * 500_000) == 0
    assert nesting('"\\' * 300_000) >= 0


@pytest.mark.parametrize("fraction", [-0.1, 1.5, "half", True, [1]])
def test_a_fraction_out_of_bounds_is_left_out_with_a_note(fraction: Any) -> None:
    parsed = parse_line(line(type="progress", message="m", fraction=fraction))
    assert parsed == Progress(message="m", notes=("progress: fraction is not a number from 0 to 1",))


@pytest.mark.parametrize(
    "number",
    ["-1", "1.5", "NaN", "Infinity", "1e999", "9" * 30, "9" * 4000, "true", '"7"', "9007199254740992"],
)
def test_a_count_that_is_no_count_is_left_out_and_the_others_stay(number: str) -> None:
    parsed = parse_line(b'{"type": "usage", "input_tokens": ' + number.encode() + b', "output_tokens": 5}')
    assert isinstance(parsed, UsageSaid)
    assert (parsed.input_tokens, parsed.output_tokens) == (None, 5)
    assert parsed.notes


def test_an_unknown_class_is_noted_and_not_guessed() -> None:
    parsed = parse_line(line(type="result", verdict="failed", **{"class": "weird"}))
    assert parsed == Result(verdict=Word.FAILED, notes=("result: class is not known",))
    parsed = parse_line(line(type="result", verdict="completed", **{"class": "capacity"}))
    assert parsed == Result(verdict=Word.COMPLETED, notes=("result: class beside the verdict completed",))


def test_artifacts_that_leave_the_worktree_are_left_out_with_a_note() -> None:
    parsed = parse_line(
        line(
            type="result",
            verdict="completed",
            artifacts=[
                {"name": "a", "path": "/etc/passwd"},
                {"name": "b", "path": "x/../../y"},
                {"name": "c"},
                5,
                {"name": "d", "path": "ok"},
            ],
        )
    )
    assert isinstance(parsed, Result)
    assert [artifact.name for artifact in parsed.artifacts] == ["d"]
    assert len(parsed.notes) == 4


def test_long_texts_lists_and_evidence_are_bounded() -> None:
    parsed = parse_line(line(type="progress", message="x" * 10_000))
    assert isinstance(parsed, Progress)
    assert len(parsed.message) == MAX_MESSAGE
    parsed = parse_line(
        line(
            type="result",
            verdict="failed",
            evidence={"big": "x" * 70_000},
            artifacts=[{"name": "n", "path": "p"}] * 500,
        )
    )
    assert isinstance(parsed, Result)
    assert parsed.details is None
    assert len(parsed.artifacts) == MAX_ARTIFACTS
    assert len(parsed.notes) == 2


@given(st.binary(max_size=200) | messages.map(lambda message: json.dumps(message).encode()))
def test_parsing_a_line_never_raises_and_what_it_gives_is_bounded(raw: bytes) -> None:
    parsed = parse_line(raw)
    if isinstance(parsed, UsageSaid):
        for count in (parsed.input_tokens, parsed.output_tokens, parsed.cost_usd_micros, parsed.tool_calls):
            assert count is None or 0 <= count < 2**53
    if isinstance(parsed, Progress):
        assert parsed.fraction is None or 0 <= parsed.fraction <= 1
    if isinstance(parsed, Result) and parsed.details is not None:
        assert isinstance(json.loads(parsed.details), dict)
    assert "\x00" not in repr(parsed)


@given(messages)
def test_a_message_that_was_cut_off_never_raises(message: dict[str, Any]) -> None:
    raw = json.dumps(message).encode()
    for length in range(0, len(raw), 7):
        parse_line(raw[:length])


@given(
    st.lists(raw_lines.filter(lambda raw: b"\n" not in raw), max_size=8),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_a_stream_gives_the_same_messages_however_it_is_cut(lines: list[bytes], cuts: list[int]) -> None:
    data = b"\n".join(lines)
    chunks: list[bytes] = []
    position = 0
    while position < len(data):
        step = cuts[len(chunks) % len(cuts)]
        chunks.append(data[position : position + step])
        position += step
    expected = [parse_line(raw) for raw in lines if raw.strip(b"\x00 \t\r")]
    assert list(protocol_lines(chunks)) == expected
    assert list(protocol_lines([data])) == expected


def test_a_last_line_without_a_line_feed_counts() -> None:
    reader = ProtocolReader()
    assert reader.feed(b'{"type": "session", "session_id": "a"}\r\n\n  \n{"type": "ses') == [
        Session(session_id="a")
    ]
    assert reader.feed(b'sion", "session_id": "b"}') == []
    assert reader.close() == [Session(session_id="b")]
    assert reader.close() == []


def test_a_line_of_a_hundred_megabytes_is_dropped_in_bounded_memory_and_the_next_one_is_read() -> None:
    reader = ProtocolReader()
    chunk = b"x" * 65_536
    largest = 0
    for _ in range(1600):
        assert reader.feed(chunk) == []
        largest = max(largest, len(reader._buffer))
    assert largest <= MAX_LINE_BYTES + len(chunk)
    (dropped, session) = reader.feed(b'\n{"type": "session", "session_id": "a"}\n')
    assert dropped == Bad(reason=f"longer than {MAX_LINE_BYTES} bytes")
    assert session == Session(session_id="a")


@pytest.mark.parametrize(
    ("before", "after"), [(0, 1_100_000), (1_048_560, 10), (2_000_000, 10), (1_100_000, 1)]
)
@pytest.mark.parametrize("step", [1000, 65_536])
def test_an_over_long_result_is_seen_to_be_one_wherever_its_type_stands(
    before: int, after: int, step: int
) -> None:
    raw = b"{" + b" " * before + b'"type": "result", "summary": "' + b"x" * after + b'"}\n'
    found = list(protocol_lines(raw[at : at + step] for at in range(0, len(raw), step)))
    assert found == [Bad(reason=f"longer than {MAX_LINE_BYTES} bytes", maybe_result=True)]


def test_a_result_that_was_seen_but_not_stored_is_the_last_word() -> None:
    text = '{"type": "result", "verdict": "failed"}'
    stored = b'{"type": "session", "session_id": "a"}\n'
    *_, dropped, last = recorded_lines([stored], text, dropped=3)
    assert dropped == Bad(reason="3 lines were not stored")
    assert last == Result(verdict=Word.FAILED)


def test_a_question_that_was_seen_but_not_stored_outranks_an_earlier_result() -> None:
    stored = b'{"type": "result", "verdict": "completed"}\n'
    summary = summarize(recorded_lines([stored], '{"type": "ask", "question": "Sure?"}', dropped=1))
    assert summary.last == Ask(question="Sure?")


def test_a_result_that_was_stored_keeps_its_place() -> None:
    text = '{"type": "result", "verdict": "completed"}'
    stored = f'{text}\n{{"type": "ask", "question": "Sure?"}}\n'.encode()
    assert list(recorded_lines([stored], text, dropped=0)) == list(protocol_lines([stored]))


def test_lines_that_were_not_stored_may_have_been_the_result_where_none_was_seen() -> None:
    assert list(recorded_lines([], None, dropped=1)) == [
        Bad(reason="1 lines were not stored", maybe_result=True)
    ]
    assert list(recorded_lines([], None, dropped=0)) == []


def test_usage_keeps_the_largest_total_and_notes_one_that_went_down() -> None:
    summary = summarize(
        [
            UsageSaid(input_tokens=10, output_tokens=5),
            UsageSaid(input_tokens=30),
            UsageSaid(input_tokens=20, tool_calls=1),
        ]
    )
    assert summary.usage == UsageSaid(input_tokens=30, output_tokens=5, tool_calls=1)
    assert summary.notes == ("usage: input_tokens went down from 30 to 20; kept 30",)


def test_the_last_word_on_the_turn_decides_and_the_last_session_holds() -> None:
    done = Result(verdict=Word.COMPLETED)
    ask = Ask(question="Which?")
    damaged = Bad(reason="not JSON", maybe_result=True)
    assert summarize([ask, done]).last == done
    assert summarize([done, ask]).last == ask
    assert summarize([done, damaged]).last == damaged
    assert summarize([damaged, done, Bad(reason="not JSON")]).last == done
    assert summarize([Session(session_id="a"), Session(session_id="b")]).session_id == "b"


def test_different_results_are_all_remembered_and_the_same_one_counts_once() -> None:
    done, failed = Result(verdict=Word.COMPLETED), Result(verdict=Word.FAILED)
    assert summarize([done, failed, failed]).results == (Word.COMPLETED, Word.FAILED)
    assert summarize([done, Result(verdict=Word.COMPLETED, summary="again")]).results == (Word.COMPLETED,)


def test_bad_and_unknown_lines_are_counted_and_notes_are_bounded() -> None:
    lines: list[ProtocolLine] = [Bad(reason=f"reason {number}") for number in range(100)]
    summary = summarize([*lines, Ignored(kind="x"), Ignored(kind="x"), Progress()])
    assert summary.messages == 1
    assert (summary.bad_lines, summary.ignored_lines, len(summary.notes)) == (100, 2, MAX_NOTES)


@given(st.lists(raw_lines, max_size=30))
def test_usage_never_goes_down_while_messages_arrive(raws: list[bytes]) -> None:
    summary = ProtocolSummary()
    for raw in raws:
        after = advance(summary, parse_line(raw))
        for name in ("input_tokens", "output_tokens", "cost_usd_micros", "tool_calls"):
            before, now = getattr(summary.usage, name), getattr(after.usage, name)
            assert before is None or now >= before
        assert len(after.notes) <= MAX_NOTES
        summary = after

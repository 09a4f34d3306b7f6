"""People are told each version of a question once, when they may be, on every channel that wants it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from tenure.core.attention import AttentionKind, Severity
from tenure.errors import OutcomeUnknownError, UnavailableError
from tenure.hub.notify import loop as notify_loop
from tenure.hub.notify.channel import Plan
from tenure.hub.notify.outbox import FAILING
from tenure.hub.notify.quiet import QuietHours
from tests.eventually import eventually_async
from tests.hub.notify_lab import TASK, NotifyLab, settle

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietHours("22:00-07:00", BERLIN)
DOWN = UnavailableError("the chat is down")


def at_night(lab: NotifyLab) -> None:
    """Set the clock to 23:00 in Berlin."""
    night = datetime(2027, 1, 15, 23, tzinfo=BERLIN)
    lab.clock.wall = round(night.timestamp() * 1000)


async def test_a_question_is_told_with_what_may_be_answered_and_is_recorded() -> None:
    async with NotifyLab().running() as lab:
        name = lab.questions.ask(2)
        await settle()
        assert lab.told.messages == []
        await lab.pass_s(5)
        ((title, body),) = lab.told.messages
        assert title == "Tenure, urgent: unknown: what became of it?"
        assert f"urgent: unknown, {TASK}/2" in body
        assert "- rerun: makes the next Attempt" in body
        assert f"tenure show {TASK}\n" in body
        assert f"tenure resolve unknown:{TASK}/2" in body
        assert lab.questions.noted == [(name, 1)]


async def test_what_comes_in_a_burst_is_one_message_with_the_gravest_first() -> None:
    async with NotifyLab().running() as lab:
        lab.questions.ask(1, AttentionKind.LATE_EVIDENCE)
        lab.questions.ask(2, AttentionKind.ASKED)
        await lab.pass_s(4)
        lab.questions.ask(3, AttentionKind.UNKNOWN)
        await lab.pass_s(1)
        assert lab.told.titles == ["Tenure: 3 questions need you, 1 of them urgent"]
        order = [lab.told.last.index(f"{TASK}/{number}") for number in (3, 2, 1)]
        assert order == sorted(order)
        assert len(lab.questions.noted) == 3


async def test_what_was_answered_before_the_message_is_left_out() -> None:
    async with NotifyLab().running() as lab:
        first = lab.questions.ask(1)
        lab.questions.answer(first)
        second = lab.questions.ask(2)
        third = lab.questions.ask(3)
        await settle()
        # Answered, and not heard of yet.
        lab.questions.items[third] = replace(lab.questions.items[third], open=False)
        await lab.pass_s(5)
        assert len(lab.told.messages) == 1
        assert lab.questions.noted == [(second, 1)]
        await lab.pass_s(3600)
        assert len(lab.told.messages) == 1


async def test_each_version_is_told_once_however_often_it_is_heard_of() -> None:
    async with NotifyLab().running() as lab:
        name = lab.questions.ask()
        await lab.pass_s(5)
        for _ in range(5):
            lab.questions.snooze(name, None)
            lab.loop.start()
            await lab.pass_s(60)
        assert len(lab.told.messages) == 1
        lab.questions.ask(summary="its facts have changed")
        await lab.pass_s(5)
        assert len(lab.told.messages) == 2
        assert "its facts have changed" in lab.told.last
        assert lab.questions.noted == [(name, 1), (name, 2)]


async def test_a_start_finds_what_is_open_and_was_not_told_and_repeats_nothing() -> None:
    lab = NotifyLab()
    async with lab.running():
        lab.questions.ask(1)
        await lab.pass_s(5)
    lab.questions.ask(2)
    lab.questions.answer(lab.questions.ask(3))
    async with lab.running():
        await lab.pass_s(5)
        assert len(lab.told.messages) == 2
        assert lab.told.last.startswith(f"urgent: unknown, {TASK}/2\n")


async def test_a_crash_between_message_and_record_repeats_the_message() -> None:
    lab = NotifyLab()
    async with lab.running():
        name = lab.questions.ask()
        await lab.pass_s(5)
    lab.questions.items[name] = replace(lab.questions.items[name], notified_version=0)
    async with lab.running():
        await lab.pass_s(5)
    assert len(lab.told.messages) == 2


async def test_a_thousand_open_questions_are_found_page_by_page_and_told_in_one_short_message() -> None:
    lab = NotifyLab()
    for number in range(1_200):
        lab.questions.ask(number, summary="x" * 900)
    async with lab.running():
        await lab.pass_s(5)
        assert lab.told.titles == ["Tenure: 1200 questions need you, 1200 of them urgent"]
        assert len(lab.told.last) <= 1_800
        assert "more.\n\nAll of them: tenure attention" in lab.told.last
        assert len(lab.questions.noted) == 1_200


# -- when


async def test_quiet_hours_hold_everything_but_what_is_urgent_and_end_in_one_message() -> None:
    lab = NotifyLab(plan=Plan(quiet=NIGHT))
    at_night(lab)
    async with lab.running():
        answered = lab.questions.ask(1, AttentionKind.ASKED)
        lab.questions.ask(2, AttentionKind.ASKED)
        lab.questions.ask(3, AttentionKind.FAILED)
        lab.questions.ask(4, AttentionKind.UNKNOWN)
        await lab.pass_s(5)
        assert lab.told.titles == ["Tenure, urgent: unknown: what became of it?"]
        await lab.pass_s(6 * 3600)
        lab.questions.answer(answered)
        assert len(lab.told.messages) == 1
        await lab.pass_s(2 * 3600)
        assert lab.told.titles[1:] == ["Tenure: 2 questions need you"]
        assert f"{TASK}/1" not in lab.told.last


async def test_without_an_exception_what_is_urgent_waits_for_the_end_of_quiet_hours_too() -> None:
    lab = NotifyLab(plan=Plan(quiet=NIGHT, urgent_anyway=False))
    at_night(lab)
    async with lab.running():
        lab.questions.ask()
        await lab.pass_s(7 * 3600)
        assert lab.told.messages == []
        await lab.pass_s(3600 + 5)
        assert len(lab.told.messages) == 1


async def test_what_came_right_before_quiet_hours_is_not_told_in_them() -> None:
    lab = NotifyLab(plan=Plan(quiet=NIGHT))
    at_night(lab)
    lab.clock.wall -= 3_600_000 + 2_000
    async with lab.running():
        lab.questions.ask(1, AttentionKind.ASKED)
        await lab.pass_s(5)
        assert lab.told.messages == []
        await lab.pass_s(9 * 3600 + 5)
        assert len(lab.told.messages) == 1


async def test_what_is_snoozed_is_told_when_that_is_over_and_not_before() -> None:
    async with NotifyLab().running() as lab:
        name = lab.questions.ask()
        lab.questions.snooze(name, 600)
        await lab.pass_s(300)
        assert lab.told.messages == []
        await lab.pass_s(306)
        assert len(lab.told.messages) == 1


async def test_a_snooze_that_is_taken_back_or_overtaken_by_new_facts_holds_nothing_back() -> None:
    async with NotifyLab().running() as lab:
        first, second = lab.questions.ask(1), lab.questions.ask(2)
        lab.questions.snooze(first, 600)
        lab.questions.snooze(second, 600)
        await lab.pass_s(60)
        assert lab.told.messages == []
        lab.questions.snooze(first, None)
        lab.questions.ask(2, summary="there is news")
        await lab.pass_s(5)
        assert lab.told.titles == ["Tenure: 2 questions need you, 2 of them urgent"]


async def test_beyond_the_bound_of_an_hour_everything_is_held_and_told_as_one() -> None:
    async with NotifyLab(plan=Plan(per_hour=3)).running() as lab:
        for number in range(10):
            lab.questions.ask(number)
            await lab.pass_s(60)
        assert len(lab.told.messages) == 3
        assert "The last message for now: what comes next is held until 2027-01-15T09:01:" in lab.told.last
        assert "The last message" not in lab.told.messages[1][1]
        await lab.pass_s(3600)
        assert lab.told.titles[3:] == ["Tenure: 7 questions need you, 7 of them urgent"]
        assert len(lab.questions.noted) == 10


@pytest.mark.parametrize("step_s", [-86_400, 86_400])
async def test_a_clock_that_is_set_delays_nothing_and_repeats_nothing(step_s: int) -> None:
    async with NotifyLab().running() as lab:
        lab.questions.ask(1)
        await lab.pass_s(5)
        lab.questions.ask(2)
        await settle()
        lab.clock.wall += step_s * 1000
        await lab.look()
        await lab.pass_s(5)
        assert len(lab.told.messages) == 2


async def test_a_channel_that_was_behind_when_the_clock_was_set_back_is_told_as_soon_as_it_works() -> None:
    lab = NotifyLab()
    lab.also("other")
    lab.told.fails = DOWN
    async with lab.running():
        lab.questions.ask()
        for _ in range(FAILING):
            await lab.pass_s(60)
        assert len(lab.questions.noted) == 1
        lab.clock.wall -= 86_400_000
        await lab.look()
        lab.told.fails = None
        await lab.pass_s(60)
        assert len(lab.told.messages) == 1


# -- where


async def test_each_channel_is_told_what_it_wants() -> None:
    lab = NotifyLab()
    urgent = lab.also("pager", least_severity=Severity.URGENT)
    asked = lab.also("mail", kinds=frozenset({AttentionKind.ASKED}))
    async with lab.running():
        lab.questions.ask(1, AttentionKind.UNKNOWN)
        lab.questions.ask(2, AttentionKind.ASKED)
        await lab.pass_s(5)
        assert lab.told.titles == ["Tenure: 2 questions need you, 1 of them urgent"]
        assert urgent.titles == ["Tenure, urgent: unknown: what became of it?"]
        assert asked.titles == ["Tenure, warning: asked: what became of it?"]
        assert len(lab.questions.noted) == 2


async def test_what_no_channel_wants_is_neither_told_nor_recorded() -> None:
    lab = NotifyLab()
    lab.channels = {}
    told = lab.also("pager", least_severity=Severity.URGENT)
    async with lab.running():
        lab.questions.ask(1, AttentionKind.ASKED)
        await lab.pass_s(60)
        assert (told.messages, lab.questions.noted) == ([], [])


async def test_a_channel_that_comes_while_the_hub_runs_is_told_what_nobody_was() -> None:
    lab = NotifyLab()
    lab.channels = {}
    async with lab.running():
        lab.questions.ask(1)
        await lab.pass_s(60)
        late = lab.also("late")
        await lab.look()
        await lab.pass_s(5)
        assert len(late.messages) == 1
        lab.channels = {}
        lab.questions.ask(2)
        await lab.pass_s(60)
        assert len(late.messages) == 1


# -- what goes wrong


async def test_a_failing_channel_is_tried_again_later_and_later_and_keeps_nobody_waiting() -> None:
    lab = NotifyLab()
    other = lab.also("other")
    lab.told.fails = DOWN
    async with lab.running():
        name = lab.questions.ask()
        await lab.pass_s(5)
        assert (lab.told.tries, len(other.messages), lab.questions.noted) == (1, 1, [])
        for tries, pause_s in ((2, 6), (3, 6), (4, 8), (5, 16)):
            await lab.pass_s(pause_s)
            assert lab.told.tries == tries
        await lab.pass_s(28)
        assert lab.told.tries == FAILING == 5
        assert lab.questions.noted == [(name, 1)]
        report = lab.reports["ops"]
        assert (report.problem, report.waiting, report.last_sent_at_ms) == ("the chat is down", 1, None)
        lab.told.fails = None
        await lab.pass_s(900)
        assert len(lab.told.messages) == 1
        assert lab.reports["ops"].problem is None
        await lab.pass_s(7200)
        assert (len(lab.told.messages), len(other.messages)) == (1, 1)


async def test_what_no_channel_took_is_found_again_by_the_next_start() -> None:
    lab = NotifyLab()
    lab.told.fails = OutcomeUnknownError("no answer")
    async with lab.running():
        lab.questions.ask()
        for _ in range(20):
            await lab.pass_s(900)
        assert lab.told.tries == 20
        assert lab.questions.noted == []
    lab.told.fails = None
    async with lab.running():
        await lab.pass_s(5)
        assert len(lab.told.messages) == 1


async def test_a_channel_that_is_configured_anew_is_tried_at_once() -> None:
    lab = NotifyLab()
    lab.told.fails = DOWN
    async with lab.running():
        lab.questions.ask()
        for _ in range(12):
            await lab.pass_s(900)
        fresh = lab.also("ops")
        await lab.look()
        await lab.pass_s(5)
        assert len(fresh.messages) == 1


@pytest.mark.parametrize("odd", [ValueError("secret"), KeyError("secret"), TimeoutError("of its own")])
async def test_whatever_a_notifier_raises_the_loop_goes_on(odd: Exception) -> None:
    lab = NotifyLab()
    lab.told.fails = odd
    async with lab.running():
        lab.questions.ask()
        await lab.pass_s(5)
        lab.told.fails = None
        await lab.pass_s(10)
        assert len(lab.told.messages) == 1


async def test_a_note_that_cannot_be_kept_keeps_nobody_from_being_told() -> None:
    lab = NotifyLab()
    lab.note = _full_disk
    async with lab.running():
        for number in range(2):
            lab.questions.ask(number)
            await lab.pass_s(5)
        assert len(lab.told.messages) == 2


def _full_disk(_: Any) -> None:
    raise OSError(28, "No space left on device")


async def test_a_store_that_is_away_costs_time_and_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_pause(_: float) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr("tenure.hub.loops.endurance.pause", no_pause)
    async with NotifyLab().running() as lab:
        lab.questions.ask(1)
        lab.questions.is_away = True
        await lab.pass_s(5)
        assert lab.told.messages == []
        lab.questions.is_away = False
        await lab.pass_s(10)
        await lab.pass_s(10)
        assert len(lab.told.messages) == 1
        lab.questions.ask(2)
        await lab.look()
        await lab.pass_s(4.9)
        lab.questions.items, kept = dict(lab.questions.items), lab.questions.items
        lab.questions.execute_many = _lost(lab)
        await lab.pass_s(0.1)
        assert len(lab.told.messages) == 2
        del lab.questions.execute_many
        await lab.pass_s(60)
        assert (len(lab.told.messages), len(lab.questions.noted), len(kept)) == (2, 2, 2)


def _lost(lab: NotifyLab) -> Any:
    async def execute_many(_: Any) -> Any:
        raise UnavailableError("the store is away")

    return execute_many


async def test_a_message_that_hangs_holds_up_its_own_channel_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_loop, "SEND_S", 0.05)
    lab = NotifyLab()
    other = lab.also("other")
    lab.told.gate.clear()
    with ThreadPoolExecutor(4) as threads:
        lab.threads = lambda work: asyncio.get_running_loop().run_in_executor(threads, work)
        async with lab.running():
            name = lab.questions.ask(1)
            await lab.pass_s(5)
            await eventually_async(
                lambda: "did not come back" in str(lab.loop._outboxes["ops"].report.problem)
            )
            lab.questions.ask(2)
            await lab.pass_s(30)
            await eventually_async(lambda: len(other.messages) == 2)
            assert (lab.told.tries, lab.told.messages) == (1, [])
            lab.told.gate.set()
            await eventually_async(lambda: not lab.loop._outboxes["ops"].is_busy)
            assert lab.loop._outboxes["ops"].told[name] == 1
            await lab.pass_s(30)
            await eventually_async(lambda: len(lab.told.messages) == 2)
            assert f"{TASK}/1" not in lab.told.last
            await eventually_async(lambda: len(lab.questions.noted) == 2)

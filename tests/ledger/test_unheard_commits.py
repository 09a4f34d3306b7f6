"""A commit whose result was lost may have been made: whoever listens hears that something may be missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.delivery import Now
from tenure.core.ids import DeliveryId
from tenure.errors import OutcomeUnknownError, StorageFullError
from tenure.ledger.group_commit import GroupCommit, Outcome, Ran
from tenure.ledger.port import Committed
from tests.ledger.desk import HUB, HandClock, in_place

COMMITTED: Any = object()
"""What listeners are told of; nobody here looks into it."""


class TellingEngine:
    """Answers each command, and tells of each batch. `error` is raised instead, `outcome` given to each command."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.outcome: Outcome = cm.DueAnswer("done")
        self.cannot_tell = False

    def run(self, commands: Sequence[cm.Command], now: Now) -> Ran:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return Ran([self.outcome for _ in commands], self._committed)

    def _committed(self) -> list[Committed]:
        if self.cannot_tell:
            raise ValueError("it cannot be folded")
        return [COMMITTED]

    def probe(self) -> None:
        """It takes every commit."""


class Listening:
    """A ledger's group commit with one who listens; `heard` is what he was told, in order."""

    def __init__(self) -> None:
        self.engine = TellingEngine()
        self.group = GroupCommit(self.engine, in_place, HandClock(), HUB)
        self.heard: list[str] = []
        self.group.subscribe(lambda _: self.heard.append("commit"), lambda: self.heard.append("gap"))

    async def commits(self) -> Outcome | BaseException:
        (outcome,) = await asyncio.gather(
            self.group.execute(cm.Due(DeliveryId("d_1"))), return_exceptions=True
        )
        return outcome


@pytest.fixture
def listening() -> Listening:
    return Listening()


@pytest.mark.parametrize("error", [OutcomeUnknownError("no answer to COMMIT"), ZeroDivisionError("what?")])
async def test_a_commit_that_may_have_been_made_is_told_at_once_and_before_the_next_one(
    listening: Listening, error: Exception
) -> None:
    listening.engine.error = error
    assert isinstance(await listening.commits(), OutcomeUnknownError)
    assert listening.heard == ["gap"]
    # Only from here on the record shows for certain whether it was made.
    await listening.commits()
    assert listening.heard == ["gap", "gap", "commit"]
    await listening.commits()
    assert listening.heard == ["gap", "gap", "commit", "commit"]


async def test_a_commit_that_certainly_was_not_made_is_no_gap(listening: Listening) -> None:
    listening.engine.error = StorageFullError("no room")
    assert isinstance(await listening.commits(), StorageFullError)
    await listening.commits()
    assert listening.heard == ["commit"]


async def test_one_command_of_a_batch_whose_outcome_is_not_known_is_a_gap(listening: Listening) -> None:
    listening.engine.outcome = OutcomeUnknownError("it cannot be told")
    await listening.commits()
    listening.engine.outcome = cm.DueAnswer("done")
    await listening.commits()
    assert listening.heard == ["gap", "commit", "gap", "commit"]


async def test_a_commit_that_cannot_be_told_is_a_gap_and_its_caller_is_answered(
    listening: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    listening.engine.cannot_tell = True
    assert await listening.commits() == cm.DueAnswer("done")
    assert listening.heard == ["gap"]
    listening.engine.cannot_tell = False
    await listening.commits()
    assert listening.heard == ["gap", "gap", "commit"]
    assert "could not be told" in caplog.text


async def test_a_listener_that_fails_keeps_nobody_from_hearing_of_a_gap(
    listening: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        raise ValueError("no")

    seen: list[str] = []
    listening.group.subscribe(lambda _: None, fails)
    forget: Callable[[], None] = listening.group.subscribe(lambda _: None, lambda: seen.append("gap"))
    listening.engine.error = OutcomeUnknownError("no answer to COMMIT")
    await listening.commits()
    assert (listening.heard, seen) == (["gap"], ["gap"])
    forget()
    await listening.commits()
    assert seen == ["gap"]
    assert "unheard" in caplog.text

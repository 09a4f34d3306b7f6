"""What it means that nothing was started: a class for each error, and one end for each Delivery."""

import itertools

import pytest

from tenure.core.failure import FailureClass
from tenure.core.start_failure import (
    UnstartedEnd,
    failure_by_errno,
    failure_by_error,
    failure_by_runner,
    failure_by_spawn,
    unstarted_end,
)
from tenure.errors import InvalidError, UnavailableError, all_errors


def test_every_error_that_says_nothing_happened_is_a_lack_of_capacity_and_every_wrong_request_a_configuration() -> (
    None
):
    for code, kind in all_errors().items():
        found = failure_by_error(code, "m")
        if issubclass(kind, UnavailableError):
            assert found.failure_class is FailureClass.CAPACITY, code
        elif issubclass(kind, InvalidError):
            assert found.failure_class is FailureClass.CONFIGURATION, code
        assert (found.rule, found.message) == (f"before-start/{code}", "m")


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        ("workspace_busy", "", "capacity"),
        ("unsafe_path", "", "contradiction"),
        ("git_failed", "", "contradiction"),
        ("never heard of", "", "contradiction"),
        ("repository_not_found", "", "configuration"),
        ("repository_not_found", "unreachable", "capacity"),
        ("repository_not_found", "denied", "authorization"),
        ("repository_not_found", "not_allowed", "authorization"),
        ("repository_not_found", "another reason", "configuration"),
    ],
)
def test_a_code_and_its_reason_give_the_class(code: str, reason: str, expected: str) -> None:
    assert failure_by_error(code, "m", reason).failure_class == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ENOSPC", "capacity"), ("EMFILE", "capacity"), ("EIO", "contradiction"), ("KeyError", "contradiction")],
)
def test_a_machine_that_is_short_of_something_lacks_capacity(name: str, expected: str) -> None:
    found = failure_by_errno(name, "m")
    assert (found.failure_class, found.rule) == (expected, f"before-start/{name}")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("unusable", "capacity"),
        ("unrecorded", "capacity"),
        ("failed", "executor_lost"),
        ("refused", "contradiction"),
    ],
)
def test_a_runner_that_could_not_start_has_a_class(kind: str, expected: str) -> None:
    found = failure_by_spawn(kind, "")
    assert (found.failure_class, found.rule) == (expected, f"before-start/runner_{kind}")
    assert "it said nothing" in found.message


def test_a_runner_whose_deadline_was_over_is_nobodys_failure() -> None:
    assert [failure_by_runner(why) for why in ("deadline", "other boot", "forbidden")] == [None] * 3
    for why, expected in (
        ("could not detach: x", "capacity"),
        ("could not begin: x", "capacity"),
        ("runner failed: x", "executor_lost"),
    ):
        found = failure_by_runner(why)
        assert found is not None
        assert found.failure_class == expected


def test_a_stale_fence_outranks_a_cancel_and_a_cancel_a_failure() -> None:
    ends = {
        (stale, cancel, failed): unstarted_end(is_stale=stale, is_cancel_asked=cancel, has_failed=failed)
        for stale, cancel, failed in itertools.product((False, True), repeat=3)
    }
    assert ends == {
        (False, False, False): UnstartedEnd.HANDED_BACK,
        (False, False, True): UnstartedEnd.FAILED,
        (False, True, False): UnstartedEnd.CANCELED,
        (False, True, True): UnstartedEnd.CANCELED,
        (True, False, False): UnstartedEnd.HANDED_BACK,
        (True, False, True): UnstartedEnd.FAILED,
        (True, True, False): UnstartedEnd.HANDED_BACK,
        (True, True, True): UnstartedEnd.FAILED,
    }

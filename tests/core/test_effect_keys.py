"""Keys of Effects name an operation and never a try (`once`)."""

from __future__ import annotations

import pytest

from tenure.core.effect_key import default_key, key_problem, operation_digest, recorded_key
from tenure.core.effect_kind import Comment, Label, PullRequest, Push
from tenure.core.ids import TaskId
from tenure.core.limits import KEY_LENGTH
from tests.core.lab import OTHER_SHA, SHA, Lab, pull_request

TASK = TaskId("t_01jd8k3v9w2m4n6p8q0r2s4t6v")

UNSTABLE = [
    "pr-3f0c9a1e-7b52-4c1d-9e8f-0a1b2c3d4e5f",
    "pr-3F0C9A1E-7B52-4C1D-9E8F-0A1B2C3D4E5F",
    "pr-3f0c9a1e7b524c1d9e8f0a1b2c3d4e5f",
    "pr-01jd8k3v9w2m4n6p8q0r2s4t6v",
    "d_01jd8k3v9w2m4n6p8q0r2s4t6w",
    "01JD8K3V9W2M4N6P8Q0R2S4T6V",
    "pr-2026-11-29T17:05:00Z",
    "pr-2026-11-29 17:05",
    "pr-20261129T1705",
    "pr-202611291705",
    "pr-20261129-170500",
    "pr-1795971900",
    "pr-1795971900.25",
    "pr-1795971900123",
    "pr-1795971900123456",
    "pr-1795971900123456789",
]
STABLE = [
    "open the pull request",
    f"push:{SHA}",
    f"push:{'0123456789' * 4}",
    f"push:{'1795971900a' * 3}1234567",
    "digest:" + "12" * 32,
    "release-2026-11-29",
    "v1.2.3",
    "issue-4711",
    "pr#1234567",
    "retry-of-the-nightly-build",
    "Zürich",
]


@pytest.mark.parametrize("key", UNSTABLE)
def test_a_key_with_a_time_or_a_random_id_is_refused_with_what_was_found(lab: Lab, key: str) -> None:
    problem = key_problem(key, TaskId("t_1"), [])
    assert problem is not None
    assert "comes from neither the Task nor the parameters" in problem
    _, delivery = lab.performing()
    refusal = lab.begin(delivery, key=key)
    assert refusal.code == "unstable_key"
    assert refusal.facts == {"key": key}


@pytest.mark.parametrize("key", STABLE)
def test_a_key_that_names_the_operation_is_accepted(lab: Lab, key: str) -> None:
    _, delivery = lab.performing()
    assert lab.begin(delivery, key=key).state == "intended"


@pytest.mark.parametrize("key", UNSTABLE)
def test_what_is_in_the_parameters_is_none_of_the_callers_making(lab: Lab, key: str) -> None:
    _, delivery = lab.performing()
    said = pull_request(body=f"Made for {key}, as was agreed.")
    assert lab.begin(delivery, said, key=f"the one of {key}").state == "intended"


def test_what_belongs_to_the_task_is_stable() -> None:
    for key in (f"pr:{TASK}", f"pr:{TASK}/2", f"{TASK}:{TASK}/1:x"):
        assert key_problem(key, TASK, [f"{TASK}/2"]) is None
    assert key_problem("pr:t_01jd8k3v9w2m4n6p8q0r2s4t6w", TASK, []) is not None, "another Task's id"


def test_the_labels_of_the_task_are_stable(lab: Lab) -> None:
    _, delivery = lab.performing(labels={"build": "20261129-170500"})
    assert lab.begin(delivery, key="nightly:20261129-170500").state == "intended"
    assert (
        lab.begin(delivery, pull_request("tenure/two"), key="nightly:20261130-170500").code == "unstable_key"
    )


def test_one_stable_part_does_not_hide_an_unstable_one(lab: Lab) -> None:
    _, delivery = lab.performing()
    assert lab.begin(delivery, key=f"{delivery.attempt_id}:1795971900").code == "unstable_key"


@pytest.mark.parametrize("key", ["", "x" * (KEY_LENGTH + 1), "two\nlines", "nul\0", "\x1b[31m"])
def test_a_key_is_short_and_printable(key: str) -> None:
    assert key_problem(key, TASK, []) is not None
    assert key_problem("x" * KEY_LENGTH, TASK, []) is None


def test_the_default_key_is_kind_task_and_subject(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect = lab.effect(lab.begin(delivery, pull_request(head_sha=SHA)).effect_id)
    assert effect.idempotency_key == f"pull_request:{delivery.task_id}:{effect.target}/{SHA}"
    assert (
        default_key(TASK, "o:r", Push(ref="x", old=OTHER_SHA, new=SHA))
        == f"push:{TASK}:o:r/x@{OTHER_SHA[:12]}..{SHA}"
    )
    assert recorded_key(None, None, TASK, "o:r", pull_request()) == default_key(TASK, "o:r", pull_request())
    assert recorded_key("mine", None, TASK, "o:r", pull_request()) == "mine"


def test_two_long_subjects_have_two_default_keys() -> None:
    heads = [f"tenure/{'x' * 190}{one}" for one in "ab"]
    keys = {default_key(TASK, "o:r", PullRequest(head=one, base="main", title="x")) for one in heads}
    assert len(keys) == 2
    assert all(len(one) <= KEY_LENGTH for one in keys)
    many = [
        Label(number=1, labels=(*(f"label number {one:02} of the many" for one in range(10)), last))
        for last in "yz"
    ]
    assert many[0].subject != many[1].subject


def test_a_repeat_on_purpose_has_a_key_for_each_reason() -> None:
    keys = {recorded_key("k", reason, TASK, "o:r", pull_request()) for reason in ("one", "two", "one", None)}
    assert len(keys) == 3


def test_the_digest_of_an_operation_covers_kind_target_and_parameters() -> None:
    first = Comment(number=1, body="x")
    digests = {
        operation_digest("forge:a", first),
        operation_digest("forge:b", first),
        operation_digest("forge:a", Comment(number=1, body="y")),
        operation_digest("forge:a", Label(number=1, labels=("x",))),
    }
    assert len(digests) == 4

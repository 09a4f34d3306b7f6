"""Parameters of Effects: what is taken, what is refused, what each is about, and how its provider knows it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.canonical import canonical
from tenure.core.effect_kind import (
    NO_SHA,
    PARAMS,
    Comment,
    Commit,
    Http,
    Label,
    Merge,
    Params,
    PullRequest,
    Push,
    Status,
    branch_problem,
    parse,
)
from tenure.core.limits import EFFECT_PARAMS_BYTES, EFFECT_TEXT_BYTES, REASON_LENGTH
from tenure.core.scope import EffectKind
from tests.core.lab import OTHER_SHA, SHA, TREE

GOOD: dict[EffectKind, dict[str, Any]] = {
    EffectKind.COMMIT: {"sha": SHA, "tree": TREE, "parent": OTHER_SHA, "message": "A change"},
    EffectKind.PUSH: {"ref": "tenure/x", "old": NO_SHA, "new": SHA},
    EffectKind.PULL_REQUEST: {
        "head": "tenure/x",
        "base": "main",
        "title": "A change",
        "head_sha": SHA,
        "tree": TREE,
    },
    EffectKind.COMMENT: {"number": 7, "body": "Done."},
    EffectKind.LABEL: {"number": 7, "labels": ["b", "a"]},
    EffectKind.STATUS: {"sha": SHA, "context": "ci/tests", "state": "success"},
    EffectKind.MERGE: {"number": 7, "head_sha": SHA, "method": "squash"},
    EffectKind.HTTP: {"body": "{}", "path": "/hooks/x"},
}
P = EffectKind.PULL_REQUEST
AT_THE_BOUND: list[tuple[EffectKind, dict[str, Any]]] = [
    (P, {"title": "x" * REASON_LENGTH}),
    (P, {"head": "x" * 200}),
    (EffectKind.COMMENT, {"body": "x" * EFFECT_TEXT_BYTES}),
    (EffectKind.LABEL, {"labels": ["x" * 50]}),
    (EffectKind.LABEL, {"labels": [f"x{one}" for one in range(20)]}),
    (EffectKind.STATUS, {"context": "x" * 100}),
    (EffectKind.STATUS, {"url": "https://ci/1"}),
    (EffectKind.HTTP, {"path": ""}),
    (EffectKind.HTTP, {"path": "/" + "~" * 100}),
]
"""What is just taken; one more of it stands among what is refused."""
BAD: list[tuple[EffectKind, dict[str, Any]]] = [
    (EffectKind.COMMIT, {"sha": SHA[:39]}),
    (EffectKind.COMMIT, {"tree": SHA + "\n"}),
    (EffectKind.COMMIT, {"parent": SHA.upper()}),
    (EffectKind.PUSH, {"new": NO_SHA}),
    (EffectKind.PUSH, {"new": "0" * 64}),
    (EffectKind.PUSH, {"old": "HEAD"}),
    (EffectKind.PUSH, {"new": SHA + "\n"}),
    (EffectKind.PUSH, {"ref": "--force"}),
    (EffectKind.PUSH, {"ref": "refs/heads/x"}),
    (EffectKind.PUSH, {"force": True}),
    (P, {"title": "  "}),
    (P, {"title": "x" * (REASON_LENGTH + 1)}),
    (P, {"title": None}),
    (P, {"base": "tenure/x"}),
    (P, {"base": "a..b"}),
    (P, {"head_sha": "abc"}),
    (P, {"tree": SHA + "\n"}),
    (P, {"body": "ü" * (EFFECT_TEXT_BYTES // 2 + 1)}),
    (P, {"body": "\ud800"}),
    (P, {"draft": "yes"}),
    (P, {"reviewers": ["ann"]}),
    (EffectKind.COMMENT, {"body": " \n"}),
    (EffectKind.COMMENT, {"number": 0}),
    (EffectKind.COMMENT, {"number": -1}),
    (EffectKind.COMMENT, {"number": 2**31}),
    (EffectKind.COMMENT, {"number": True}),
    (EffectKind.COMMENT, {"number": "7"}),
    (EffectKind.COMMENT, {"body": "x" * (EFFECT_TEXT_BYTES + 1)}),
    (EffectKind.COMMENT, {"body": "x" * (EFFECT_PARAMS_BYTES + 1)}),
    (EffectKind.LABEL, {"labels": []}),
    (EffectKind.LABEL, {"labels": [""]}),
    (EffectKind.LABEL, {"labels": ["x" * 51]}),
    (EffectKind.LABEL, {"labels": [f"x{one}" for one in range(21)]}),
    (EffectKind.LABEL, {"labels": ["a\nb"]}),
    (EffectKind.COMMENT, {"body": "see <!-- tenure:effect e_1 -->"}),
    (EffectKind.STATUS, {"url": "javascript:alert(1)"}),
    (EffectKind.HTTP, {"path": "/%2e%2e/x"}),
    (EffectKind.HTTP, {"path": "/x/./..;/y"}),
    (EffectKind.HTTP, {"path": "/x?y=1"}),
    (EffectKind.LABEL, {"labels": "x"}),
    (EffectKind.STATUS, {"state": "green"}),
    (EffectKind.STATUS, {"context": ""}),
    (EffectKind.STATUS, {"context": "x" * 101}),
    (EffectKind.STATUS, {"sha": "main"}),
    (EffectKind.STATUS, {"description": "x" * (REASON_LENGTH + 1)}),
    (EffectKind.MERGE, {"method": "force"}),
    (EffectKind.MERGE, {"head_sha": "main"}),
    (EffectKind.MERGE, {"number": 0}),
    (EffectKind.HTTP, {"method": "DELETE"}),
    (EffectKind.HTTP, {"path": "x"}),
    (EffectKind.HTTP, {"path": "//elsewhere/x"}),
    (EffectKind.HTTP, {"path": "/\\elsewhere"}),
    (EffectKind.HTTP, {"path": "/a/../b"}),
    (EffectKind.HTTP, {"path": "/http://x"}),
    (EffectKind.HTTP, {"path": "/a b"}),
    (EffectKind.HTTP, {"path": "/a\r\nHost: x"}),
    (EffectKind.HTTP, {"path": "/ü"}),
    (EffectKind.HTTP, {"content_type": "text/plain\r\nX: y"}),
    (EffectKind.HTTP, {"content_type": "text/plain; charset=ü"}),
    (EffectKind.HTTP, {"body": "x" * (EFFECT_TEXT_BYTES + 1)}),
]


def made(kind: EffectKind, **changes: Any) -> Params:
    params = parse(kind, {**GOOD[kind], **changes})
    assert not isinstance(params, str), params
    return params


@pytest.mark.parametrize("kind", EffectKind)
def test_each_kind_takes_what_it_needs_and_says_what_it_is_about(kind: EffectKind) -> None:
    params = made(kind)
    assert isinstance(params, PARAMS[kind])
    assert 0 < len(params.subject) <= 200


@pytest.mark.parametrize(("kind", "changes"), BAD)
def test_what_is_not_as_its_kind_asks_is_refused_with_the_reason(
    kind: EffectKind, changes: dict[str, Any]
) -> None:
    problem = parse(kind, {**GOOD[kind], **changes})
    assert isinstance(problem, str)
    assert problem


@pytest.mark.parametrize(("kind", "changes"), AT_THE_BOUND)
def test_what_is_just_within_its_bound_is_taken(kind: EffectKind, changes: dict[str, Any]) -> None:
    assert isinstance(parse(kind, {**GOOD[kind], **changes}), Params)


def test_parameters_as_a_whole_have_a_bound_before_anything_else_is_looked_at() -> None:
    def problem(length: int) -> str:
        return str(parse(EffectKind.LABEL, {"number": 7, "labels": ["x" * length]}))

    room = EFFECT_PARAMS_BYTES - len(canonical(Label(number=7, labels=("",))))
    assert problem(room) == "one to twenty labels of 1 to 50 printable characters"
    assert (
        problem(room + 1)
        == f"{EFFECT_PARAMS_BYTES + 1} bytes of parameters are more than {EFFECT_PARAMS_BYTES}"
    )


def test_what_a_status_overwrites_is_every_other_state_of_its_context() -> None:
    status = Status(sha=SHA, context="ci", state="error")
    assert status.subject not in status.rivals
    assert set(status.rivals) == {f"{SHA[:12]}:ci:{state}" for state in ("failure", "pending", "success")}


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [("text/plain; a=~", True), ("text/\x7f", False), ("text/\x1f", False), ("text/ü", False)],
    ids=["printable", "delete", "control", "beyond ASCII"],
)
def test_a_content_type_is_printable_text(content_type: str, taken: bool) -> None:
    assert (Http(body="x", content_type=content_type).problem() is None) is taken


@pytest.mark.parametrize("kind", EffectKind)
def test_what_is_missing_is_named(kind: EffectKind) -> None:
    for name in PARAMS[kind].__struct_fields__:
        if (
            name in GOOD[kind]
            and kind is not EffectKind.HTTP
            and name not in ("message", "head_sha", "tree", "method")
        ):
            given = {key: value for key, value in GOOD[kind].items() if key != name}
            assert name in str(parse(kind, given))


def test_the_same_said_in_another_order_is_the_same() -> None:
    label = made(EffectKind.LABEL)
    other = made(EffectKind.LABEL, labels=["a", "b"])
    assert (label.subject, label.identity) == (other.subject, other.identity)


def test_how_a_provider_knows_it() -> None:
    assert made(P).identity == "pull_request:tenure/x->main"
    assert made(P).twin == f"pull_request:tree:{TREE}->main"
    assert made(P, tree=None).twin is None
    assert made(EffectKind.PUSH).identity == f"push:tenure/x:{SHA}"
    assert made(EffectKind.MERGE).identity == f"merge:7:{SHA}"
    assert made(EffectKind.COMMENT).identity is None, "only by the marker that the call carries"
    assert made(EffectKind.HTTP).identity is None
    assert PullRequest(head="tenure/x", base="main", title="x").subject == "tenure/x"
    assert Push(ref="x", old=NO_SHA, new=SHA).subject == f"x@{NO_SHA[:12]}..{SHA}"
    assert Commit(sha=SHA, tree=TREE, parent=SHA).subject == SHA
    assert Comment(number=7, body="x").subject != Comment(number=7, body="y").subject
    assert Http(body="x").subject != Http(body="y").subject
    assert Label(number=1, labels=("a",)).subject != Label(number=2, labels=("a",)).subject
    assert (
        Status(sha=SHA, context="a", state="error").identity
        != Status(sha=SHA, context="b", state="error").identity
    )
    assert Merge(number=1, head_sha=SHA).subject != Merge(number=1, head_sha=OTHER_SHA).subject


@pytest.mark.parametrize(
    "name",
    ["main", "tenure/t_01/2", "feature/x.y_z-1", "a+b", "_x", "v1.2", "dependabot/npm/a"],
)
def test_a_plain_branch_name_is_taken(name: str) -> None:
    assert branch_problem(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "", "x" * 201, "-x", "--force", "a/-b", "a..b", "a/../b", "../x", "/x", "x/", "a//b", ".x", "a/.b", "x.", "a./b",
        "x.lock", "a.lock/b", "a b", "a\tb", "a\nb", "x\n", "a\0b", "a\x1b", "a~1", "a^", "a:b", "a?b", "a*", "a[b", "a\\b",
        "@", "a@{1}", "refs/heads/x", "ü", "a\u202eb", "HEAD@{0}",
    ],
)  # fmt: skip
def test_a_branch_name_that_could_mean_something_else_is_refused(name: str) -> None:
    assert branch_problem(name) is not None


@given(st.text(max_size=30))
def test_a_branch_name_that_is_taken_is_plain_text_within_its_folder(name: str) -> None:
    if branch_problem(name) is None:
        assert name.isascii()
        assert name.isprintable()
        assert not name.startswith(("-", "/", "."))
        assert ".." not in name
        assert " " not in name


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(kind=st.sampled_from(EffectKind), data=st.data())
def test_whatever_is_given_it_is_parameters_or_a_reason(kind: EffectKind, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(PARAMS[kind].__struct_fields__))
    params = parse(kind, {**GOOD[kind], name: data.draw(anything)})
    assert isinstance(params, (str, PARAMS[kind]))
    if not isinstance(params, str):
        assert params.problem() is None
        assert params.subject

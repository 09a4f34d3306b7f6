"""A policy as a TOML file: everything that is wrong with it is told at once, with its place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tenure.cli.asking.policy_file import parse_policy, problems_of, read_policy, text_of
from tenure.cli.text.policy import policy_rows
from tenure.core.policy import BUILT_IN, DEFAULT, Action
from tenure.errors import ConfigurationError, InvalidError
from tenure.wire.policies import policy_body

HEAD = 'name = "mine"\nversion = 1\nextends = "default"\n'


def problems(text: str) -> list[str]:
    return problems_of(parse_policy(tomllib.loads(text), text), DEFAULT)[1]


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_policy_that_is_written_to_a_file_is_read_back_as_it_was(name: str) -> None:
    policy = BUILT_IN[name]
    text = text_of(policy_body(policy))
    made, wrong = problems_of(parse_policy(tomllib.loads(text), text), None)
    assert wrong == []
    assert made == replace(policy, name=f"my-{name}", version=1)


def test_a_file_that_extends_needs_only_what_differs() -> None:
    made, wrong = problems_of(
        parse_policy(tomllib.loads(HEAD + "[responses.capacity]\nfirst_s = 60\n")), DEFAULT
    )
    assert wrong == []
    assert made is not None
    assert (made.responses["capacity"].first_s, made.responses["capacity"].action) == (60, Action.BACK_OFF)
    assert made.rules == DEFAULT.rules


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('nmae = "x"\n' + HEAD, "nmae is no field (line 1); did you mean name?"),
        (HEAD + '[respones.capacity]\naction = "end"\n', "respones is no field"),
        (HEAD + "[responses.capacity]\n\nfrist_s = 1\n", "responses.capacity.frist_s is no field (line 6); did you mean first_s?"),
        (HEAD + '[[rules]]\nname = "a"\nrank = 1\nclas = "capacity"\n', "rules[0].clas is no field (line 7); did you mean class?"),
        (HEAD + '[[rules]]\nname = "a"\nrank = 1\nexit_codes = [1]\n', "rules[0] (line 4): Object missing required field `class`"),
        (HEAD + '[[rules]]\nname = "a"\nrank = 1\nclass = "capasity"\nexit_codes = [1]\n', "rules[0].class (line 7): 'capasity' is not known; did you mean capacity?"),
        (HEAD + '[[rules]]\nname = "a"\nrank = "1"\nclass = "capacity"\nexit_codes = [1]\n', "rules[0].rank (line 6): Expected `int`, got `str`"),
        (HEAD + '[[rules]]\nname = "a"\nrank = 1\nclass = "capacity"\nexit_codes = [1, "2"]\n', "rules[0].exit_codes (line 8): Expected `int`"),
        (HEAD + '[[rules]]\nname = "a"\nrank = 1\nclass = "capacity"\nsigns = ["oomm"]\n', "'oomm' is not known; did you mean oom?"),
        (HEAD + '[responses.capacity]\naction = "wait"\n', "responses.capacity.action (line 5): 'wait' is not known; known: stop"),
        (HEAD + '[responses.capacity]\naction = "back_off"\nfirst_s = true\n', "responses.capacity.first_s (line 6): Expected"),
        (HEAD + '[responses.validation]\naction = "again"\n', "repeats the same spec"),
        (HEAD + '[responses.validation]\naction = "revise"\notherwise = "moon"\n', "otherwise names 'moon'"),
        (HEAD + '[responses.a]\naction = "revise"\notherwise = "b"\n[responses.b]\naction = "revise"\notherwise = "a"\n[responses.validation]\naction = "rebase"\notherwise = "a"\n', "responses.validation loops"),
        (HEAD + '[responses.capacity]\nfirst_s = 0\n', "first_s is 0"),
        (HEAD + 'unknown = "machine"\n', "unknown (line 4): 'machine' is not known"),
        ('version = 1\nextends = "default"\n', "name is missing"),
        ('name = "mine"\nextends = "default"\n', "version is missing"),
        ('name = "mine"\nversion = "1"\nextends = "default"\n', "version (line 2): Expected `int`"),
        ('name = "default"\nversion = 2\nextends = "default"\n', "that of a built-in policy"),
        ('name = "a b"\nversion = 1\nextends = "default"\n', "letters, digits and dashes"),
        (HEAD + "rules = 3\n", "rules must be tables"),
        (HEAD + "responses = [1]\n", "responses must be tables"),
        (HEAD + "[responses]\ncapacity = 3\n", "responses must be tables"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place(text: str, told: str) -> None:
    assert any(told in one for one in problems(text)), problems(text)


def test_all_mistakes_are_told_at_once_and_none_that_follows_from_another() -> None:
    text = (
        'name = "mine"\nversion = 0\nmotto = "x"\n'
        '[[rules]]\nname = "a"\nrank = 1\nclass = "capasity"\n'
        '[responses.authorization]\naction = "stopp"\n'
        '[responses.capacity]\naction = "back_off"\nmost_s = -1\n'
    )
    found = problems_of(parse_policy(tomllib.loads(text), text), None)[1]
    told = "\n".join(found)
    for word in (
        "motto is no field",
        "capasity",
        "stopp",
        "version is 0",
        "most_s -1",
        "leaves out configuration",
    ):
        assert word in told
    assert "authorization," not in told, "it is wrong, not left out"
    assert "rules is empty" not in told


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_policy(tmp_path / "none.toml")
    file = tmp_path / "bad.toml"
    file.write_bytes(b"name = \xff")
    with pytest.raises(InvalidError, match="not valid TOML"):
        read_policy(file)
    file.write_text("name = ")
    with pytest.raises(InvalidError, match="not valid TOML"):
        read_policy(file)
    file.write_bytes(b"#" * (1 << 20) + b"##")
    with pytest.raises(InvalidError, match="longer than"):
        read_policy(file)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["name", "version", "extends", "unknown", "rules", "responses", "x"])


@given(st.dictionaries(FIELDS, JSON))
def test_whatever_a_table_holds_what_is_wrong_is_told_and_nothing_breaks(table: dict[str, object]) -> None:
    made, wrong = problems_of(parse_policy(dict(table)), DEFAULT)
    assert wrong or made is not None


def test_the_table_of_a_policy_has_a_row_for_each_class_and_ends_with_what_comes_last() -> None:
    rows = {row[0]: row for row in policy_rows(policy_body(DEFAULT))}
    assert len(rows) == 8
    assert rows["capacity"][2].startswith("the same again, later: a random part of 5 s")
    assert rows["executor_lost"][3] == "the same again at once"
    assert rows["validation"][3] == "ask a person"
    assert rows["authorization"][3] == ""
    assert "HTTP 429, 503 or 529" in rows["capacity"][1]

"""The order of a batch: every dependency first, cycles named, the others unharmed."""

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.batch import batch_order, key_named

KEYS = "abcdef"


def order(**after: str) -> tuple[list[str], dict[str, str]]:
    """Keys level by level (`ab c`), and what each refused one was told. `after` is a word of keys."""
    items = [(key, tuple(f"key:{one}" for one in named)) for key, named in after.items()]
    found = batch_order(items)
    levels = ["".join(items[one][0] for one in level) for level in found.levels]
    return levels, {items[one][0]: refusal.message for one, refusal in found.refused.items()}


def test_items_that_wait_for_nothing_share_one_level() -> None:
    assert order(a="", b="", c="") == (["abc"], {})


def test_a_dependency_comes_before_whatever_names_it_in_any_given_order() -> None:
    assert order(c="b", b="a", a="") == (["a", "b", "c"], {})
    assert order(d="bc", b="a", c="a", a="") == (["a", "bc", "d"], {})


def test_an_item_that_waits_for_itself_is_told_so() -> None:
    levels, refused = order(a="a", b="")
    assert levels == ["b"]
    assert refused == {"a": "'a' waits for itself; a Task cannot."}


def test_a_cycle_is_refused_and_named() -> None:
    levels, refused = order(a="b", b="c", c="a", d="")
    assert levels == ["d"]
    assert "a → b → c → a" in refused["a"]
    assert "b → c → a → b" in refused["b"]
    assert set(refused) == {"a", "b", "c"}


def test_what_leads_to_a_cycle_is_refused_with_the_cycle() -> None:
    levels, refused = order(x="y", y="a", a="b", b="a")
    assert levels == []
    assert "never start: a → b → a" in refused["x"]
    assert "'a' waits for itself through a → b → a" in refused["a"]
    _, refused = order(x="a", a="a")
    assert refused["x"] == "'x' waits for a cycle that can never start: a → a."


def test_names_that_are_no_key_of_the_batch_order_nothing() -> None:
    found = batch_order([("a", ("t_123", "key:elsewhere"))])
    assert found.levels == ((0,),)


def test_a_key_that_comes_twice_follows_its_first_item() -> None:
    found = batch_order([("a", ()), ("a", ()), ("b", ("key:a",))])
    assert found.levels == ((0,), (1, 2))


def test_a_name_is_a_key_only_with_its_prefix() -> None:
    assert key_named("key:build:1") == "build:1"
    assert key_named("t_0abc") is None


@given(st.dictionaries(st.sampled_from(KEYS), st.text(KEYS, max_size=4), min_size=1))
def test_every_item_is_placed_after_what_it_waits_for_or_leads_to_a_cycle(after: dict[str, str]) -> None:
    levels, refused = order(**after)
    level_of = {key: number for number, level in enumerate(levels) for key in level}
    assert set(level_of) | set(refused) == set(after)
    assert not set(level_of) & set(refused)
    for key, number in level_of.items():
        assert all(level_of[one] < number for one in after[key] if one in after)
    for key in refused:
        assert any(one in refused for one in after[key])

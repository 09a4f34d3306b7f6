"""The page about recovery shows the default policy as the code has it."""

from tenure.core.failure import FailureClass
from tools.policy_table import PAGE, PLACE, with_policies


def test_the_table_of_the_default_policy_is_the_one_the_code_makes() -> None:
    text = PAGE.read_text()
    assert with_policies(text) == text, "run `python -m tools.policy_table`"


def test_the_page_shows_the_default_policy_with_all_seven_classes() -> None:
    (place,) = PLACE.finditer(PAGE.read_text())
    assert place[2] == "default"
    assert all(f"| `{one}` |" in place[0] for one in FailureClass)

"""What is written where, and what never reaches a terminal."""

import io
import json

from tenure.cli.text.output import Output, aligned, clean, one_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_with_json_standard_output_carries_the_value_and_nothing_else() -> None:
    out = Output(json=True, stdout=io.StringIO(), stderr=io.StringIO())
    out.say("prose")
    out.data({"a": [1]})
    assert isinstance(out.stdout, io.StringIO)
    assert isinstance(out.stderr, io.StringIO)
    assert json.loads(out.stdout.getvalue()) == {"a": [1]}
    assert out.stderr.getvalue() == "prose\n"


def test_without_json_no_value_is_written() -> None:
    out = Output(json=False, stdout=io.StringIO(), stderr=io.StringIO())
    out.data({"a": 1})
    assert isinstance(out.stdout, io.StringIO)
    assert not out.stdout.getvalue()


def test_an_agents_text_cannot_steer_the_terminal() -> None:
    assert clean("a\x1b[2Jb\x07\u202ec\r\nd\te") == "a\ufffd[2Jb\ufffd\ufffdc\nd\te"


def test_a_pipe_gets_aligned_columns_that_are_never_cut() -> None:
    long = "t_" + "a" * 200
    out = Output(json=False, stdout=io.StringIO(), stderr=io.StringIO())
    out.table(("task", "state"), [(long, "working"), ("t_b", "failed\nbadly")])
    assert isinstance(out.stdout, io.StringIO)
    lines = out.stdout.getvalue().splitlines()
    assert lines[1].split() == [long, "working"]
    assert lines[2].split() == ["t_b", "failed", "badly"]


def test_a_terminal_gets_the_same_cells_in_a_drawn_table() -> None:
    out = Output(json=False, stdout=Terminal(), stderr=io.StringIO())
    out.table(("task", "state"), [("t_b", "[bold]failed\x1b[0m")])
    assert isinstance(out.stdout, Terminal)
    assert "[bold]failed\ufffd[0m" in out.stdout.getvalue()


def test_columns_stand_below_each_other() -> None:
    assert aligned([("A", "LONG"), ("bbb", "c")]) == ["A    LONG", "bbb  c"]


def test_a_long_text_becomes_one_short_line() -> None:
    assert one_line("a\n b\tc") == "a b c"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"

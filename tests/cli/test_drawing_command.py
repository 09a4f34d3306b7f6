"""`tenure draw` on a hub."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tenure.core.attempt import Verdict
from tests.cli.lab import HubInThread, PlayedNode


@pytest.fixture(scope="module")
def task(hub: HubInThread) -> str:
    """A Task that a node finished."""
    node = PlayedNode(hub, "drawn", "painter")
    called = hub.call("submit", "--no-repo", "--to", "painter@drawn", "Paint <the> fence", "--json")
    assert called.code == 0, called
    node.report(node.take(), Verdict.COMPLETED, summary="painted")
    node.close()
    return str(called.json["task_id"])


def test_draw_writes_an_svg_where_no_terminal_reads_it(hub: HubInThread, task: str) -> None:
    called = hub.call("draw", task)
    assert called.code == 0, called
    ElementTree.fromstring(called.out)
    assert "Paint &lt;the&gt; fence" in called.out
    assert ">drawn<" in called.out


def test_draw_writes_the_file_in_the_format_of_its_name(hub: HubInThread, task: str, tmp_path: Path) -> None:
    for name, begin in (("a.svg", "<svg "), ("a.mmd", "sequenceDiagram"), ("a.txt", "Paint ")):
        called = hub.call("draw", task[:-2], "--output", str(tmp_path / name))
        assert (called.code, called.out) == (0, ""), called
        assert (tmp_path / name).read_text().startswith(begin)


def test_draw_shows_everything_on_request_in_json_too(hub: HubInThread, task: str) -> None:
    called = hub.call("draw", task, "--format", "text", "--all", "--json")
    assert called.json["format"] == "text"
    assert "offered to painter@drawn under fence 1" in called.json["picture"]
    assert called.json["picture"].startswith("Paint <the> fence  [completed]")


def test_draw_says_what_is_wrong_with_a_task_or_a_file(hub: HubInThread, task: str, tmp_path: Path) -> None:
    assert hub.call("draw", "t_zzzzzz", "--json").error["code"] == "not_found"
    called = hub.call("draw", task, "--output", str(tmp_path / "none" / "a.svg"), "--json")
    assert called.error["code"] == "invalid"
    assert "cannot be written" in called.error["message"]
    assert hub.call("draw", task, "--format", "gif").code != 0


def test_draw_refuses_a_name_that_ends_in_no_format_unless_the_format_is_said(
    hub: HubInThread, task: str, tmp_path: Path
) -> None:
    target = tmp_path / "race.png"
    called = hub.call("draw", task, "-o", str(target), "--json")
    assert (called.code, called.error["code"]) == (64, "invalid"), called
    assert "ends in .png" in called.error["message"]
    assert ".mmd" in called.error["message"]
    assert "--format (svg, mermaid, text)" in called.error["message"]
    assert not target.exists()
    assert hub.call("draw", task, "-o", str(target), "--format", "mermaid").code == 0
    assert target.read_text().startswith("sequenceDiagram")

"""The reference page is what the commands say of themselves, and what holds for every command."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

from tenure.cli import exit_code
from tenure.cli.application import app
from tenure.cli.reference import EXIT_MEANINGS, command_reference
from tenure.errors import EXIT_OF

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "cli.md").read_text()


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words."""
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="tenure")
    pending = [(name, root.get_command(context, name)) for name in root.list_commands(context)]
    for path, found in pending:
        below = getattr(found, "commands", None)
        if below is None:
            yield path, found
        else:
            pending += [(f"{path} {name}", one) for name, one in below.items()]


COMMANDS = dict(commands())


def test_the_page_is_made_from_the_commands_as_they_are() -> None:
    assert command_reference() == PAGE, "run `python -m tenure.cli.reference`"


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_command_has_json_and_the_options_of_every_command(path: str) -> None:
    options = {option for one in COMMANDS[path].params for option in one.opts}
    assert {"--json", "--home", "--config", "--hub", "--token", "--debug"} <= options


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_command_and_every_option_stands_on_the_page_with_its_meaning(path: str) -> None:
    assert f"`tenure {path}`" in PAGE
    section = PAGE.split(f" `tenure {path}`\n")[1].split("\n#")[0]
    for one in COMMANDS[path].params:
        if one.hidden or one.name == "json":
            continue
        assert one.help, f"{path}: {one.name} has no meaning"
        name = one.opts[0] if one.param_type_name == "option" else (one.metavar or one.name.upper())
        assert name in section, f"{path}: {name}"


def test_every_exit_code_stands_on_the_page() -> None:
    assert set(EXIT_OF.values()) <= set(EXIT_MEANINGS)
    for code in (*EXIT_MEANINGS, *exit_code.MEANINGS):
        assert f"| {code} |" in PAGE


def test_the_pages_for_people_name_only_commands_that_exist() -> None:
    """A command in a fenced block or in backticks of our own pages."""
    import re

    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for words in re.findall(r"(?:^|`)tenure ([a-z]+)(?: ([a-z]+))?", page.read_text(), re.MULTILINE):
            known = {path.split()[0] for path in COMMANDS}
            assert words[0] in known, f"{page.relative_to(ROOT)}: tenure {words[0]}"

"""`tenure --help` is quick and complete, and says of each command what the command says of itself."""

import importlib
import json
import subprocess
import sys

import pytest
import typer.main

from tenure.cli import catalog
from tenure.cli.main import run

HEAVY = (
    "typer",
    "click",
    "rich",
    "httpx",
    "litestar",
    "sqlalchemy",
    "msgspec",
    "asyncio",
    "structlog",
    "uvicorn",
)
COMMANDS = [(name, module, line) for rows in catalog.CATALOG.values() for name, module, line in rows]


def imported_by(*arguments: str) -> set[str]:
    """The modules that a call of the command line has imported when it ends."""
    code = (
        "import sys, json\n"
        "from tenure.cli.main import run\n"
        f"code = run({list(arguments)!r})\n"
        "print(json.dumps([code, sorted(name.partition('.')[0] for name in sys.modules)]), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    exit_code, modules = json.loads(done.stderr.splitlines()[-1])
    assert exit_code == 0
    return set(modules)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("--version",)])
def test_the_overview_imports_no_library_at_all(arguments: tuple[str, ...]) -> None:
    assert imported_by(*arguments).isdisjoint(HEAVY)


def test_the_help_of_a_command_imports_nothing_that_only_its_work_needs() -> None:
    assert imported_by("run", "--help").isdisjoint({"rich", "httpx", "litestar", "sqlalchemy", "uvicorn"})


@pytest.mark.parametrize(("name", "module", "line"), COMMANDS)
def test_each_line_of_the_overview_is_what_the_command_says(name: str, module: str, line: str) -> None:
    group = typer.main.get_group(importlib.import_module(catalog.module_of(name) or module).app)
    found = group.commands[name]
    assert (found.help or "").split("\n\n")[0].replace("\n", " ") == line


def test_the_overview_is_the_same_with_and_without_the_application(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == 0
    quick = capsys.readouterr().out
    assert run(["--debug", "--help"]) == 0
    assert capsys.readouterr().out == quick


def test_completion_is_offered_for_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tenure.cli.main"],
        env={"_TENURE_COMPLETE": "complete_bash", "COMP_WORDS": "tenure re", "COMP_CWORD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert {"recipients", "reconcile", "retry"} <= set(done.stdout.split())

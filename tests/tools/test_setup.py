"""The set-up of a clone: one interpreter is the same one, whatever name it was found by."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import setup

ROOT = Path(setup.__file__).resolve().parent.parent
LIMIT_S = 60


def found(first: Path) -> str:
    """The interpreter that `tools/find-python` names in a shell with this folder first on PATH."""
    variables = {**os.environ, "PATH": f"{first}{os.pathsep}{os.environ['PATH']}"}
    variables.pop("PYTHON", None)
    said = subprocess.run(
        [ROOT / "tools" / "find-python"],
        env=variables,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return said.stdout.strip()


def identity_by(interpreter: str) -> str:
    show = "import runpy, sys; print(repr(runpy.run_path(sys.argv[1])['identity']()))"
    words = [interpreter, "-I", "-c", show, str(ROOT / "tools" / "setup.py")]
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout


def test_an_interpreter_is_the_same_under_each_of_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: set[str] = set()
    for name in ("python3", "python3.11"):
        (tmp_path / name).symlink_to(Path(sys.executable).resolve())
        monkeypatch.setattr(sys, "_base_executable", str(tmp_path / name))
        told.add(setup.identity())
    assert len(told) == 1


def test_an_environment_that_was_made_under_another_name_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "MADE_FOR", tmp_path / "made-for")
    assert setup.made_for() is None
    (tmp_path / "python3").symlink_to(Path(sys.executable).resolve())
    (tmp_path / "made-for").write_text(f"{sys.version}\0{tmp_path / 'python3'}\0{ROOT}")
    assert setup.made_for() == setup.identity()


def test_another_interpreter_of_the_same_version_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = setup.identity()
    monkeypatch.setattr(sys, "_base_executable", str(tmp_path / "python3"))
    assert setup.identity() != before


def test_a_shell_inside_the_environment_finds_the_interpreter_that_it_was_made_from(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "python3").symlink_to(Path(sys.executable).resolve())
    inside = tmp_path / "venv"
    made = [str(base / "python3"), "-m", "venv", "--without-pip", str(inside)]
    subprocess.run(made, timeout=LIMIT_S, check=True)
    assert identity_by(found(base)) == identity_by(found(inside / "bin"))

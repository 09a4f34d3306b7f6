"""What a machine says of the isolations that its recipients ask for."""

import os
from pathlib import Path

import msgspec
import pytest

from tenure.errors import ConfigurationError
from tenure.runtime import isolation
from tenure.runtime.isolation import isolation_problem, open_way, refuse_weaker, way_problem
from tenure.runtime.settings_schema import RecipientSettings


def asking(how: str, user: str | None = None) -> RecipientSettings:
    return msgspec.convert({"name": "a", "argv": ("x",), "isolation": how, "user": user}, RecipientSettings)


def test_open_can_be_kept_everywhere(tmp_path: Path) -> None:
    refuse_weaker([asking("open")], tmp_path)


def test_a_sandbox_without_bubblewrap_is_refused_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "bubblewrap", lambda: None)
    isolation.sandbox_problem.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match="apt-get install bubblewrap"):
            refuse_weaker([asking("open"), asking("sandbox")], tmp_path)
    finally:
        isolation.sandbox_problem.cache_clear()


def test_a_bubblewrap_that_may_not_make_namespaces_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(isolation, "bubblewrap", lambda: str(program))
    isolation.sandbox_problem.cache_clear()
    try:
        assert "No permissions" in (isolation_problem(asking("sandbox"), tmp_path) or "")
    finally:
        isolation.sandbox_problem.cache_clear()


def test_another_user_needs_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "runs as root" in (isolation_problem(asking("user", "nobody"), tmp_path) or "")


def test_a_user_that_is_not_there_is_told_with_how_to_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "useradd" in (isolation_problem(asking("user", "no-such-user-here"), tmp_path) or "")


def test_a_user_who_can_become_root_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(isolation, "group_names", lambda _: {"nogroup", "docker"})
    assert "docker" in (isolation_problem(asking("user", "nobody"), tmp_path) or "")


def test_a_data_folder_behind_a_closed_one_is_told(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    assert str(tmp_path) in (way_problem(closed / "data") or "")


def test_the_way_is_opened_for_passing_and_not_for_looking(tmp_path: Path) -> None:
    top, inner = tmp_path / "data", tmp_path / "data" / "node" / "runs"
    beside = top / "hub"
    for folder in (top, top / "node", inner, beside):
        folder.mkdir(mode=0o700)
    open_way(top, inner)
    modes = [folder.stat().st_mode & 0o777 for folder in (tmp_path / "data", top / "node", inner, beside)]
    assert modes == [0o711, 0o711, 0o711, 0o700]

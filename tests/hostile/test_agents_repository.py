"""A git folder in which an agent has put more than anybody reads: it is read no further than its bounds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tenure.errors import TooLargeError
from tenure.node.worktree import own_repository
from tenure.node.worktree.own_repository import BLOCK_BYTES, OwnRepositories
from tenure.node.worktree.worktree import OWN, folder_name

WORKTREE: Any = SimpleNamespace(attempt_id="t_1/1", branch="tenure/t_1")


def repositories(root: Path) -> tuple[OwnRepositories, Path]:
    store: Any = SimpleNamespace(root=root)
    own = root / OWN / folder_name(WORKTREE.attempt_id)
    own.mkdir(parents=True)
    nothing: Any = None
    return OwnRepositories(store, nothing, nothing, nothing), own


def test_of_a_folder_of_branches_only_so_many_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_repository, "REFS", 20)
    found, own = repositories(tmp_path)
    (own / "refs" / "heads").mkdir(parents=True)
    for number in range(100):
        (own / "refs" / "heads" / f"b{number}").write_text(f"{number:040x}\n")
    (own / "HEAD").write_text("a" * 40)
    assert len(found._said(WORKTREE).named) <= 21


def test_empty_objects_come_to_an_end_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_repository, "MAX_OBJECTS_BYTES", 5 * BLOCK_BYTES)
    found, own = repositories(tmp_path / "store")
    (own / "objects" / "aa").mkdir(parents=True)
    for number in range(10):
        (own / "objects" / "aa" / f"{number:038x}").write_bytes(b"x")
    (tmp_path / "copy").mkdir()
    with pytest.raises(TooLargeError):
        found._copy_files(WORKTREE, tmp_path / "copy")
    assert len(list((tmp_path / "copy" / "aa").iterdir())) == 5

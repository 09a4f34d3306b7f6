"""A file into which somebody wants a result: looked at before the work begins, and written when it is done."""

from __future__ import annotations

import os
from pathlib import Path

from tenure.errors import InvalidError


def check_result_file(path: Path) -> None:
    """Looks whether the file can be written, so that nobody hears of it after an hour's work. It is not made.

    Raises:
        InvalidError: it cannot.
    """
    try:
        problem = _problem_of(Path(os.path.realpath(path)))
    except OSError as error:
        problem = f"{error.strerror}; name another file"
    if problem is not None:
        raise InvalidError(f"{path} cannot be written: {problem}", path=str(path))


def _problem_of(place: Path) -> str | None:
    """`place`: where the file is, links followed, as they are when it is written."""
    folder = place.parent
    if place.is_symlink():
        return "its link leads to itself; name another file"
    if place.is_dir():
        return "it is a folder; name a file in it"
    if not folder.is_dir():
        return f"{folder} is no folder; make it, or name another file"
    if not os.access(place if place.exists() else folder, os.W_OK):
        return "this user may not; name another file"
    return None


def write_result_file(path: Path, text: str) -> None:
    """Writes the result.

    Raises:
        InvalidError: it cannot be written there.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidError(
            f"{path} cannot be written: {error.strerror}; name another file", path=str(path)
        ) from error

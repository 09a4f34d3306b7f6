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
    folder = path.absolute().parent
    if path.is_dir():
        problem = "it is a folder; name a file in it"
    elif not folder.is_dir():
        problem = f"{folder} is no folder; make it, or name another file"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        problem = "this user may not; name another file"
    else:
        return
    raise InvalidError(f"{path} cannot be written: {problem}", path=str(path))


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

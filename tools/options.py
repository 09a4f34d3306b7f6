"""What the tools' command lines have in common: numbers within bounds, names that must be known, and no word too many.

What is wrong is one line and exit code 2, as argparse does it."""

import argparse
import difflib
import importlib.util
from collections.abc import Callable, Iterable

MOST_SEED = 2**63 - 1
"""What a signed word holds: a seed is passed on to libraries, and stands in JSON."""
DIGITS = 30
"""Python refuses to read very long numbers by an error of its own."""


def whole(least: int, most: int) -> Callable[[str], int]:
    """For argparse: a whole number within these bounds."""

    def parse(text: str) -> int:
        digits = text.removeprefix("-")
        value = int(text) if digits.isascii() and digits.isdigit() and len(digits) <= DIGITS else None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text[:40]!r} is not a whole number from {least:,} to {most:,}"
            )
        return value

    return parse


def above_none(most: float, unit: str) -> Callable[[str], float]:
    """For argparse: a number of these that is more than none, and not more than `most`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= most:
            raise argparse.ArgumentTypeError(
                f"{text[:40]!r} is not a number of {unit} above 0 and up to {most:g}"
            )
        return value

    return parse


def refuse_unknown(
    parser: argparse.ArgumentParser, what: str, given: Iterable[str], known: Iterable[str]
) -> None:
    """Ends the program if one of these names is none."""
    names = sorted(known)
    unknown = next((one for one in given if one not in names), None)
    if unknown is None:
        return
    near = difflib.get_close_matches(unknown, names, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    parser.error(f"there is no {what} {unknown[:80]!r}; {hint}")


def needs(parser: argparse.ArgumentParser, *libraries: str) -> None:
    """Ends the program if one of these libraries is not installed."""
    missing = [one for one in libraries if importlib.util.find_spec(one) is None]
    if missing:
        parser.error(
            f"{', '.join(missing)} is not installed here; `make setup` brings it into .venv/bin/python"
        )


def no_words(program: str, about: str | None, arguments: list[str] | None = None) -> None:
    """For a tool that takes nothing: `--help` is answered, anything else refused. `arguments` None: this process's own."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)

"""The reference page of all commands, made from the Typer application itself.

`python -m tenure.cli.reference` writes docs/reference/cli.md; a test compares the two.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import typer.core
import typer.main

from tenure.cli import catalog, exit_code
from tenure.cli.application import app
from tenure.cli.invocation import Given, options_of
from tenure.errors import EXIT_OF, TenureError, all_errors

PAGE = Path("docs/reference/cli.md")
INTRODUCTION = """\
# Commands

<!-- Made by `tenure.cli.reference` from the commands themselves; a test compares. -->

`tenure COMMAND --help` says what a command takes. A task may be named by any unique beginning of its id, with or without
`t_`; `t_…/2` names its second attempt, and a task's name alone its newest one. Durations are `90`, `90s`, `15m`, `2h`,
`1d` or `1h30m`.

Results go to standard output, everything else to standard error. With `--json` standard output carries JSON only (one
value, or one a line where a command follows something), whose fields are those of the API's bodies; they are added to,
never renamed. An error is then one JSON object on standard error.

## Options of every command

They may stand before or after the command's name.
"""
COMPLETION = """
`tenure --install-completion` installs completion for the current shell, `tenure --show-completion` prints it.
"""
EXIT_CODES = """
## Exit codes

Of `run`, `submit --wait` and `watch`, which say how the task ended:

| code | the task |
| --- | --- |
{outcomes}

Of every command, after `sysexits.h`:

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | `doctor` found something that must be mended; `demo` or `sim` found something that is not so; `down` could not end something |
{errors}
| 130 | interrupted (Ctrl-C) |
| 141 | whoever read the output went away |
"""
EXIT_MEANINGS: dict[int, str] = {
    64: "the command line or the request is wrong, and stays so however often it is sent",
    65: "the record says otherwise: it has moved on, it has ended, or this is not offered",
    66: "there is no such task, attempt, node or file",
    69: "nothing happened: the hub or the store could not be reached, or declined; try again",
    70: "an error without a better code, or a bug",
    74: "the system refused to read or write",
    75: "it cannot be told whether it happened: look, or repeat it under the same key",
    76: "`audit verify` found that the record does not agree with itself",
    77: "who asks may not: the token is missing, unknown or revoked, or its role does not reach so far",
    78: "a setting, an option, a repository or a base is wrong, or the data folder is of a newer version",
}


def command_reference() -> str:
    """The whole page, as Markdown."""
    root = cast("Any", typer.main.get_command(app))
    context = typer.Context(root, info_name="tenure")
    parts = [INTRODUCTION, "", *table(common_rows()), COMPLETION]
    for group, rows in catalog.CATALOG.items():
        parts.append(f"\n## {group}\n")
        for name, _, _ in rows:
            parts += command_section(f"tenure {name}", root.get_command(context, name), 3)
    outcomes = "\n".join(f"| {code} | {meaning} |" for code, meaning in exit_code.MEANINGS.items())
    parts.append(EXIT_CODES.format(outcomes=outcomes, errors="\n".join(error_rows())))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip() + "\n"


def common_rows() -> Iterator[tuple[str, str]]:
    """The options that every command has."""
    wording = {row[0].split()[0]: row[1] for row in catalog.OPTIONS}
    for one in options_of(Given):
        option = one.annotation.__metadata__[0]
        flag = option.param_decls[0] if option.param_decls else option.default
        metavar = f" {option.metavar}" if option.metavar else ""
        yield f"`{flag}{metavar}`", wording[flag]
    yield "`--help`, `-h`", "Show what the command takes."


def command_section(path: str, found: Any, level: int) -> Iterator[str]:
    """One command, and the commands below it."""
    yield f"\n{'#' * level} `{path}`\n\n"
    yield inspect.cleandoc(found.help or "")
    if isinstance(found, typer.core.TyperGroup):
        for name, below in found.commands.items():
            yield from command_section(f"{path} {name}", below, level + 1)
        return
    rows = list(parameter_rows(found))
    usage = " ".join([path, *(["[OPTIONS]"] if rows else []), *usage_words(found)])
    yield f"\n```text\n{usage}\n```"
    if rows:
        yield "\n" + "\n".join(table(rows))


def usage_words(found: Any) -> Iterator[str]:
    for one in found.params:
        if one.param_type_name == "argument" and not one.hidden:
            word = (one.metavar or one.name.upper()) + ("..." if one.nargs == -1 else "")
            yield word if one.required else f"[{word}]"


def parameter_rows(found: Any) -> Iterator[tuple[str, str]]:
    """The arguments and options of one command, but for those of every command."""
    shared = {one.name for one in options_of(Given)}
    for one in found.params:
        if one.hidden or one.name in shared:
            continue
        if one.param_type_name == "argument":
            if one.help:
                yield f"`{one.metavar or one.name.upper()}`", one.help
            continue
        metavar = "" if one.is_flag else f" {one.metavar or 'TEXT'}"
        names = ", ".join(f"`{name}{metavar}`" for name in (*one.opts, *one.secondary_opts))
        shown = isinstance(one.default, int | str) and one.default not in {False, ""}
        yield names, f"{one.help or ''}{f' Default: `{one.default}`.' if shown else ''}"


def table(rows: Any) -> list[str]:
    return ["| | |", "| --- | --- |", *(f"| {name} | {cell(meaning)} |" for name, meaning in rows)]


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def error_rows() -> Iterator[str]:
    """Exit codes of errors, with what each stands for and the error codes that have it."""
    codes: dict[int, list[str]] = {code: [] for code in EXIT_MEANINGS}
    for code, kind in sorted(all_errors().items()):
        # Errors of single parts come and go with what happens to be imported.
        if kind.__module__ == TenureError.__module__:
            codes[exit_code_of(kind)].append(f"`{code}`")
    for status, names in sorted(codes.items()):
        yield f"| {status} | {EXIT_MEANINGS[status]}{' (' + ', '.join(names) + ')' if names else ''} |"


def exit_code_of(kind: type[TenureError]) -> int:
    return next(EXIT_OF[one] for one in kind.__mro__ if one in EXIT_OF)


if __name__ == "__main__":
    PAGE.write_text(command_reference(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")

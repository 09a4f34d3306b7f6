"""The Typer application: the options of every command, and the commands of the catalog, imported when they are called."""

from __future__ import annotations

import difflib
import importlib
from typing import Any, cast

import typer
import typer.core
import typer.main

from tenure import __version__
from tenure.cli import catalog
from tenure.cli.invocation import Called, Given, context_parameter, family, options_of, signed, taken
from tenure.cli.text.failure import INTERRUPTED, USAGE, tell_error, tell_usage

CLOSEST = 3


class NoSuchCommandError(typer.TyperException):
    """The first word names no command."""

    exit_code = USAGE


class CatalogGroup(typer.core.TyperGroup):
    """The root group. A command's module is imported only when that command is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return catalog.command_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            module = catalog.module_of(cmd_name)
            if module is None:
                return None
            self.commands.update(typer.main.get_group(importlib.import_module(module).app).commands)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As the base class, with the nearest names where there is no such command.

        Raises:
            NoSuchCommandError: there is none of that name.
        """
        word = args[0]
        if catalog.module_of(word) is None and not word.startswith("-"):
            near = difflib.get_close_matches(word, catalog.command_names(), CLOSEST)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise NoSuchCommandError(f"there is no command {word!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(catalog.overview())


app = family(cls=CatalogGroup, pretty_exceptions_enable=False)


def root(**values: Any) -> None:
    """Runs AI agents' work on machines that fail, and never guesses what happened.

    Raises:
        Exit: the version was asked for.
    """
    context: typer.Context = values["context"]
    context.obj = Called(taken(Given, values), context.obj or ())
    if values["version"]:
        typer.echo(f"tenure {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(catalog.overview(), nl=False)


def _version(version: bool = typer.Option(False, "--version", help="Show the version.")) -> bool:
    return version


def _root() -> Any:
    import inspect

    version = inspect.signature(_version, eval_str=True).parameters["version"]
    return signed(root, root, [context_parameter(), *options_of(Given), version])


app.callback(invoke_without_command=True)(_root())


def run_application(arguments: list[str]) -> int:
    """Runs one command line; the exit code is its outcome. Errors have been told when it returns."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    json, debug = "--json" in own, "--debug" in own
    group = cast("Any", typer.main.get_command(app))
    try:
        result = group.main(args=arguments, prog_name="tenure", standalone_mode=False, obj=tuple(arguments))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        return tell_usage(error.format_message(), context.command_path if context else "tenure", json=json)
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the top of the process: every error becomes a sentence and a code
        return tell_error(error, json=json, debug=debug)
    return result if isinstance(result, int) else 0

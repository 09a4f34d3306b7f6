"""What every command shares: the common options, the data folder, the settings, where output goes.

`command` registers a function as a command. The function gets an `Invocation` first and its own arguments after it. An
argument whose type is a NamedTuple stands for one option per field. The common options (`Given`) are added here, so that
each may stand before or after the command's name, and no command can lack `--json`.
The function may be `async`; what it returns is the exit code (None is 0).
"""

from __future__ import annotations

import asyncio
import inspect
import os
import shlex
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast, final, get_type_hints

import typer

from tenure.cli.text.output import Output

if TYPE_CHECKING:
    from tenure.runtime.data_folder import DataFolder
    from tenure.runtime.settings import Settings, SettingsPaths

HELP_NAMES = ["-h", "--help"]
Body = TypeVar("Body", bound=Callable[..., Any])


class Given(NamedTuple):
    """The common options as they were given in one place; None or False where they were not."""

    home: Annotated[
        Path | None, typer.Option("--home", metavar="FOLDER", help="The data folder.", hidden=True)
    ] = None
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The settings file.", hidden=True)
    ] = None
    hub_url: Annotated[str | None, typer.Option("--hub", metavar="URL", help="The hub.", hidden=True)] = None
    hub_token: Annotated[
        str | None, typer.Option("--token", metavar="TOKEN", help="The token for the hub.", hidden=True)
    ] = None
    json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the stack of an error, too.", hidden=True)] = (
        False
    )

    def over(self, before: Given) -> Given:
        """These, and what was given before where these say nothing."""
        return Given._make(mine or theirs for mine, theirs in zip(self, before, strict=True))


class Called(NamedTuple):
    """What the root command hands down: the options before the command's name, and all words of the command line."""

    given: Given = Given()
    arguments: tuple[str, ...] = ()


@final
class Invocation:
    """One call of a command. `arguments` are the words of the command line as they were written."""

    def __init__(self, given: Given, env: Mapping[str, str], arguments: tuple[str, ...] = ()) -> None:
        self.given = given
        self.env = env
        self.arguments = arguments
        self.out = Output(json=given.json)

    @cached_property
    def home(self) -> Path:
        """The data folder's path; it need not be there yet.

        Raises:
            ConfigurationError: no folder is named and no home folder is known.
        """
        from tenure.runtime.data_folder import default_data_folder

        if self.given.home is not None:
            return self.given.home.expanduser().absolute()
        return default_data_folder(self.env)

    def open_folder(self) -> DataFolder:
        """The data folder, made where it is missing.

        Raises:
            DataFolderTooNewError: a newer version wrote it.
            ConfigurationError: it cannot be used.
        """
        from tenure import __version__
        from tenure.runtime.data_folder import open_data_folder

        return open_data_folder(self.home, __version__)

    @cached_property
    def settings_file(self) -> Path | None:
        """The settings file that holds; None when the defaults do.

        Raises:
            ConfigurationError: a file was named and is not there.
        """
        from tenure.runtime.settings import find_settings_file

        return find_settings_file(self._settings_paths(), self.env)

    @cached_property
    def settings(self) -> Settings:
        """The settings of this machine.

        Raises:
            ConfigurationError: the file says something wrong.
        """
        from tenure.runtime.settings import load_settings

        return load_settings(self._settings_paths(), self.env)

    def _settings_paths(self) -> SettingsPaths:
        from tenure.runtime.settings import SettingsPaths

        return SettingsPaths(config=self.given.config, working_folder=Path.cwd(), data_folder=self.home)

    def pasteable(self, words: str) -> str:
        """A command to give next, as it must be given to reach what this one reached: `words` after `tenure`, with the folder,
        settings file and hub of this call where they were given (a variable of the environment still stands there)."""
        given = (("--home", self.given.home), ("--config", self.given.config), ("--hub", self.given.hub_url))
        options = [f"{name} {shlex.quote(str(value))}" for name, value in given if value is not None]
        return " ".join(["tenure", *options, words])

    def arguments_for_child(self) -> list[str]:
        """The options with which another `tenure` works on the same folder and settings, whatever its working folder is."""
        words = ["--home", str(self.home)]
        if self.settings_file is not None:
            words += ["--config", str(self.settings_file.absolute())]
        return words


def command(app: typer.Typer, name: str, **settings: Any) -> Callable[[Body], Body]:
    """Registers a function as the command `name` of `app`; `settings` are Typer's. `asks_no_hub`: it works on the files of this
    machine alone, and whoever names a hub to it is told so instead of being shown another hub's facts."""
    context = {"help_option_names": HELP_NAMES, **settings.pop("context_settings", {})}
    asks_no_hub: bool = settings.pop("asks_no_hub", False)

    def register(body: Body) -> Body:
        app.command(name, context_settings=context, **settings)(bound(body, asks_no_hub=asks_no_hub))
        return body

    return register


def family(**settings: Any) -> typer.Typer:
    """An application to register commands with: one module's, or the commands below a command."""
    context = {"help_option_names": HELP_NAMES}
    return typer.Typer(rich_markup_mode=None, context_settings=context, **settings)


def commands_below(
    app: typer.Typer, name: str, help_text: str, default: Callable[..., Any] | None = None
) -> typer.Typer:
    """An application for the commands below the command `name` of `app`. `default` is run where none of them is named."""
    below = family(name=name, help=help_text)
    run = None if default is None else bound(default)

    def hand_down(**values: Any) -> Any:
        context: typer.Context = values["context"]
        called = context.obj or Called()
        context.obj = called._replace(given=taken(Given, values).over(called.given))
        if context.invoked_subcommand is None and run is not None:
            return run(context=context, **Given()._asdict())
        return None

    hand_down.__doc__ = help_text
    handed = signed(hand_down, hand_down, [context_parameter(), *options_of(Given)])
    below.callback(invoke_without_command=default is not None)(handed)
    app.add_typer(below)
    return below


def bound(body: Callable[..., Any], *, asks_no_hub: bool = False) -> Callable[..., Any]:
    """The function that Typer calls: makes the `Invocation` out of the common options, and runs the body."""
    own = list(inspect.signature(body, eval_str=True).parameters.values())[1:]
    kinds = {one.name: one.annotation for one in own if is_options(one.annotation)}

    def call(**values: Any) -> Any:
        called = values.pop("context").obj or Called()
        given = taken(Given, values).over(called.given)
        invocation = Invocation(given, environment(), called.arguments)
        if asks_no_hub:
            refuse_hub(invocation)
        values |= {name: taken(kind, values) for name, kind in kinds.items()}
        result = body(invocation, **values)
        if inspect.iscoroutine(result):
            result = asyncio.run(cast("Coroutine[Any, Any, Any]", result))
        return result

    parameters = [context_parameter()]
    for one in own:
        parameters += options_of(kinds[one.name]) if one.name in kinds else [one]
    return signed(call, body, [*parameters, *options_of(Given)])


def refuse_hub(cli: Invocation) -> None:
    """Refuses a hub, or a token for one, given to a command that would pay no heed to it.

    Raises:
        InvalidError: one was given.
    """
    from tenure.errors import InvalidError

    named = "--hub" if cli.given.hub_url else "--token" if cli.given.hub_token else None
    if named is not None:
        raise InvalidError(
            f"{named}: this command asks no hub, it works on the files of this machine (data folder {cli.home}). Leave it out;"
            " what belongs to a hub elsewhere is done on its machine, and another folder is named with --home",
            field=named,
        )


def is_options(kind: Any) -> bool:
    """Does this type stand for options, one per field?"""
    return inspect.isclass(kind) and hasattr(cast("Any", kind), "_fields")


def options_of(kind: Any) -> list[inspect.Parameter]:
    """The fields of a NamedTuple as parameters that Typer understands."""
    hints, defaults = get_type_hints(kind, include_extras=True), kind._field_defaults
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(name, inspect.Parameter.empty),
            annotation=hints[name],
        )
        for name in kind._fields
    ]


Options = TypeVar("Options")


def taken(kind: type[Options], values: dict[str, Any]) -> Options:
    """The fields of a NamedTuple, taken out of what Typer passed."""
    return kind(**{name: values.pop(name) for name in cast("Any", kind)._fields})


def context_parameter() -> inspect.Parameter:
    return inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def signed(
    call: Callable[..., Any], body: Callable[..., Any], parameters: list[inspect.Parameter]
) -> Callable[..., Any]:
    """`call` with the name and meaning of `body`, and with these parameters."""
    made = cast("Any", call)
    made.__name__, made.__doc__, made.__module__ = body.__name__, body.__doc__, body.__module__
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    made.__signature__ = inspect.Signature(keyword)
    made.__annotations__ = {one.name: one.annotation for one in keyword}
    return call


def environment() -> Mapping[str, str]:
    """The variables of this process; a command takes them from its Invocation."""
    return os.environ  # noqa: TID251 - the environment enters here

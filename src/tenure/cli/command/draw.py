"""`tenure draw`: a Task's story as a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.drawing.story import Story

app = family()


class Format(StrEnum):
    """What the picture is written as."""

    SVG = "svg"
    MERMAID = "mermaid"
    TEXT = "text"


SUFFIXES = {".svg": Format.SVG, ".mmd": Format.MERMAID, ".mermaid": Format.MERMAID, ".txt": Format.TEXT}


class DrawOptions(NamedTuple):
    """What `draw` takes."""

    form: Annotated[
        Format | None,
        typer.Option(
            "--format", help="Else what the file's name says; else text on a terminal, SVG anywhere else."
        ),
    ] = None
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = (
        None
    )
    every: Annotated[
        bool,
        typer.Option("--all", "-a", help="Each heartbeat by itself, and what is left out as unimportant."),
    ] = False


@command(app, "draw")
async def draw(
    cli: Invocation,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task: its id, or the beginning of it.")],
    *,
    options: DrawOptions,
) -> None:
    """Draw a task's story as a picture.

    A lane each for the person, the hub, every node and every provider; leases with their fences, heartbeats, what expired, what came
    late, effects and what became of them, questions and answers. Made of nothing but the record.
    """
    from tenure.cli.local.result_file import write_result_file
    from tenure.cli.text.counting import counted

    form = options.form or form_of(options.output, to_terminal=cli.out.is_terminal)
    story = await told(cli, task, details=options.every)
    picture = drawn(story, form, each=options.every, width=terminal_width(cli))
    if options.output is not None:
        write_result_file(options.output, picture)
        cli.out.data({"task_id": story.task_id, "format": form, "path": str(options.output)})
        cli.out.note(f"{options.output}: {counted(story.events, 'event')} of {story.task_id}")
        return
    cli.out.data({"task_id": story.task_id, "format": form, "picture": picture})
    if not cli.out.json:
        cli.out.say(picture.removesuffix("\n"))


async def told(cli: Invocation, task: str, *, details: bool) -> Story:
    """The story that the hub's record tells of a Task."""
    import msgspec

    from tenure.cli.asking.lookup import connected, task_id_of
    from tenure.cli.command.event_log import paged
    from tenure.cli.drawing.draft import Told
    from tenure.cli.drawing.telling import story_of
    from tenure.wire.codec import parse_instant

    async with connected(cli) as hub:
        task_id = await task_id_of(hub, task)
        body = await hub.task(task_id)
        events: list[Told] = []
        async for event in paged(hub, task_id, 0):
            decoded: dict[str, Any] = msgspec.json.decode(event.body)
            events.append(Told(parse_instant(event.at), event.kind, decoded))
    return story_of(task_id, events, state=body.state, details=details)


def form_of(output: Path | None, *, to_terminal: bool) -> Format:
    """The format where none was named. A file whose name has no ending is an SVG.

    Raises:
        InvalidError: the name ends in what no format has.
    """
    from tenure.errors import InvalidError

    if output is not None:
        suffix = output.suffix.lower()
        if suffix and suffix not in SUFFIXES:
            raise InvalidError(
                f"{output} ends in {output.suffix}, which is none of {', '.join(SUFFIXES)}; name the file so, or say what it"
                f" is with --format ({', '.join(Format)})"
            )
        return SUFFIXES.get(suffix, Format.SVG)
    return Format.TEXT if to_terminal else Format.SVG


def drawn(story: Story, form: Format, *, each: bool = False, width: int | None = None) -> str:
    """The story in a format. `each`: heartbeats one by one, as long as there are not too many; `width`: the terminal's."""
    from tenure.cli.drawing.folding import folded

    short = folded(story, runs=not each)
    if form is Format.TEXT:
        from tenure.cli.drawing.text import text_of

        return text_of(short, width)
    if form is Format.MERMAID:
        from tenure.cli.drawing.mermaid import mermaid_of

        return mermaid_of(short)
    from tenure.cli.drawing.svg import svg_of

    return svg_of(short)


def terminal_width(cli: Invocation) -> int | None:
    """Columns of the terminal; None where there is none."""
    import shutil

    return shutil.get_terminal_size().columns if cli.out.is_terminal else None

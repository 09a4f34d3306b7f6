"""`tenure sim run`: seeds of a simulated world, with faults, judged and healed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from tenure.cli.invocation import Invocation
from tenure.cli.text.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenure.sim.run.many import Sum, Wish
    from tenure.sim.run.plan import Plan
    from tenure.sim.run.playing import Played

EXIT_FAILED = 1
NS = 1_000_000_000
MOST_SEEDS = 1_000_000
DEFAULT_SEEDS = "1..100"


class WhatOptions(NamedTuple):
    """Which seeds or which plan."""

    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Play this seed.")] = None
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="A..B", help=f"Play all seeds from A to B, else {DEFAULT_SEEDS}."),
    ] = None
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Play the plan in this file.")
    ] = None
    ledger: Annotated[
        Literal["mixed", "memory", "sqlite"],
        typer.Option(
            "--ledger", help="Where the hub's record is kept; `mixed`: every fourth seed on SQLite."
        ),
    ] = "mixed"
    faults: Annotated[
        int | None,
        typer.Option("--faults", min=0, max=1_000, help="How many faults a seed has, else as it says."),
    ] = None
    kinds: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="KIND", help="Only faults of this kind (repeatable)."),
    ] = None


class HowOptions(NamedTuple):
    """What is said, and what is done with a failure."""

    trace: Annotated[bool, typer.Option("--trace", help="Say everything that happens, of one seed.")] = False
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Say which transitions and moments the faults met.")
    ] = False
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Processes to play on.")] = 1
    every: Annotated[int, typer.Option("--every", min=1, help="Seeds between two lines.")] = 100
    shrink: Annotated[
        bool, typer.Option("--shrink/--no-shrink", help="Make the plan of the first failure small.")
    ] = True
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the small failing plan here.")
    ] = None


def run_seeds(cli: Invocation, what: WhatOptions, how: HowOptions) -> int:
    """Play seeds of a simulated world and judge them.

    The hub, the ledger and the nodes are the real ones; machines, network, disks, runners, agents, forge and people are
    simulated, in virtual time, from the seed alone. Faults strike for fifteen virtual minutes, then everything is healed and
    must come to its end. Ends with 1 if anything was broken, if a seed had too few steps or faults to count, or with
    `--coverage` over 1,000 seeds or more if an empty row of the tables is not explained; a failing plan
    is made small and can be played with `--plan`.
    """
    check_library()
    from tenure.runtime.clock import RealClock
    from tenure.sim.run.many import play_all

    wish = wished(what)
    check_choice(what, how)
    if what.plan is not None or what.seed is not None:
        return _one(cli, what, wish, how)
    clock = RealClock()
    began_ns = clock.awake_ns()

    def took_s() -> float:
        return (clock.awake_ns() - began_ns) / NS

    seeds = parse_seeds(what.seeds or DEFAULT_SEEDS)
    total = play_all(seeds, wish, how.jobs, _told(cli, took_s, how.every))
    _say_all(cli, total, took_s(), how)
    if total.failed and how.shrink:
        first = min(one.seed for one in total.failed)
        _shrunk(cli, _plan(None, first, wish), how.save)
    has_hole = how.coverage and total.is_whole and bool(total.bare_rows())
    return 0 if total.is_well and not has_hole else EXIT_FAILED


def check_library() -> None:
    """
    Raises:
        ConfigurationError: the library under the simulated disk is not installed.
    """
    from tenure.errors import ConfigurationError

    try:
        import_module("apsw")
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "this needs the library `apsw`, which the base install leaves out: install `tenure[sim]` (in a clone `make setup`"
            " brings it)"
        ) from error


def wished(what: WhatOptions) -> Wish:
    """How they are to be played.

    Raises:
        InvalidError: there is no fault of that kind.
    """
    from tenure.errors import InvalidError
    from tenure.sim.run.many import Wish
    from tenure.sim.run.plan import FAULTS

    unknown = [one for one in what.kinds or () if one not in FAULTS]
    if unknown:
        raise InvalidError(f"{unknown[0]!r} is no kind of fault; known: {', '.join(FAULTS)}.", field="fault")
    return Wish(ledger=what.ledger, faults=what.faults, kinds=tuple(what.kinds or ()))


def check_choice(what: WhatOptions, how: HowOptions) -> None:
    """
    Raises:
        InvalidError: options were given that do not go together, or a file cannot be written.
    """
    from tenure.cli.local.result_file import check_result_file
    from tenure.errors import InvalidError

    named = {"--seed": what.seed, "--seeds": what.seeds, "--plan": what.plan}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise InvalidError(f"{' and '.join(given)} were given; say one of them.")
    if what.plan is not None and (what.ledger != "mixed" or what.faults is not None or what.kinds):
        raise InvalidError(
            "a plan says itself where the record is kept and which faults strike; change its file instead."
        )
    if how.trace and what.seed is None and what.plan is None:
        raise InvalidError("--trace shows one seed or one plan; say which, with --seed or --plan.")
    if how.save is not None:
        check_result_file(how.save)


def parse_seeds(text: str) -> range:
    """`A..B`, both of them included.

    Raises:
        InvalidError: it is none.
    """
    from tenure.errors import InvalidError

    first, dots, last = text.partition("..")
    is_range = bool(dots) and all(one.isascii() and one.isdigit() and len(one) <= 18 for one in (first, last))
    if not is_range:
        raise InvalidError(
            f"{text[:80]!r} is no range of seeds; write it as A..B, such as 1..100.", field="seeds"
        )
    if int(last) < int(first):
        raise InvalidError(
            f"{text!r} ends before it begins; the smaller seed stands first: {last}..{first}.", field="seeds"
        )
    seeds = range(int(first), int(last) + 1)
    if len(seeds) > MOST_SEEDS:
        raise InvalidError(
            f"{text} are {len(seeds):,} seeds; at most {MOST_SEEDS:,} are played in one run.", field="seeds"
        )
    return seeds


def _plan(path: Path | None, seed: int, wish: Wish) -> Plan:
    from tenure.sim.run.many import wished_plan
    from tenure.sim.run.plan_file import read_plan

    return read_plan(path) if path is not None else wished_plan(seed, wish)


def _one(cli: Invocation, what: WhatOptions, wish: Wish, how: HowOptions) -> int:
    from tenure.sim.run import wording
    from tenure.sim.run.many import Sum
    from tenure.sim.run.playing import play

    plan = _plan(what.plan, what.seed or 0, wish)
    played = play(plan, cli.out.say if how.trace else None)
    cli.out.data({"seed": played.seed, "steps": played.steps, "faults": played.faults, "ledger": played.ledger,
                  "digest": played.digest, "found": played.found})  # fmt: skip
    cli.out.say(
        f"seed {played.seed}: {counted(played.steps, 'step')}, {counted(played.faults, 'fault')}, record in {played.ledger},"
        f" {counted(played.tasks, 'Task')}, {counted(played.starts, 'execution')}, {played.virtual_s:g} virtual seconds,"
        f" trace {played.digest[:16]}"
    )
    if how.coverage:
        total = Sum(wish)
        total.add(played)
        _say_coverage(cli, total)
    if not played.found:
        return 0
    again = (
        wording.again(played.seed, wish)
        if what.plan is None
        else f"tenure sim run --plan {what.plan} --trace"
    )
    for line in wording.failure(played, again):
        cli.out.say(line)
    if how.shrink and not how.trace:
        _shrunk(cli, plan, how.save)
    return EXIT_FAILED


def _shrunk(cli: Invocation, plan: Plan, save: Path | None) -> None:
    from tenure.cli.local.result_file import write_result_file
    from tenure.sim.run import wording
    from tenure.sim.run.plan_file import plan_text
    from tenure.sim.run.playing import play
    from tenure.sim.run.shrinking import shrunk

    rule = play(plan, to_first=True).rule
    small, plays = shrunk(plan, lambda one: play(one, to_first=True).rule == rule)
    cli.out.say(
        f"shrunk from {counted(len(plan.faults), 'fault')} and {counted(len(plan.deeds), 'deed')} to {len(small.faults)} and"
        f" {len(small.deeds)}, in {counted(plays, 'play')}; it still fails by {rule}:"
    )
    for line in wording.plan_lines(small):
        cli.out.say(line)
    if save is not None:
        write_result_file(save, plan_text(small))
        cli.out.say(f"again: tenure sim run --plan {save} --trace")


def _told(cli: Invocation, took_s: Callable[[], float], every: int) -> Callable[[Played, Sum], None]:
    from tenure.sim.run import wording

    def told(one: Played, total: Sum) -> None:
        if one.found:
            for line in wording.failure(one, wording.again(one.seed, total.wish)):
                cli.out.say(line)
        if total.seeds % every == 0:
            cli.out.say(wording.progress(total, took_s()))

    return told


def _say_all(cli: Invocation, total: Sum, took_s: float, how: HowOptions) -> None:
    from tenure.sim.run import wording

    cli.out.data({"seeds": total.seeds, "steps": total.steps, "least_steps": total.least_steps, "faults": total.faults,
                  "least_faults": total.least_faults, "on_sqlite": total.on_sqlite, "took_s": round(took_s, 1),
                  "failed": [one.seed for one in total.failed], "short": [one.seed for one in total.short],
                  "coverage": total.coverage, "transitions": total.transitions})  # fmt: skip
    if how.coverage:
        _say_coverage(cli, total)
    for line in wording.summary(total, took_s):
        cli.out.say(line)


def _say_coverage(cli: Invocation, total: Sum) -> None:
    from tenure.sim.run import wording

    for line in wording.coverage_tables(total):
        cli.out.say(line)

"""`tenure sim run`: seeds of a simulated world, with faults, judged and healed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from tenure.cli.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenure.sim.run.many import Sum, Wish
    from tenure.sim.run.plan import Plan
    from tenure.sim.run.playing import Played

EXIT_FAILED = 1
NS = 1_000_000_000


class WhatOptions(NamedTuple):
    """Which seeds or which plan."""

    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="Play this seed.")] = None
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="A..B", help="Play all seeds from A to B.")
    ] = None
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Play the plan in this file.")
    ] = None
    ledger: Annotated[
        Literal["mixed", "memory", "sqlite"],
        typer.Option("--ledger", help="Where the hub's record is kept; `mixed`: as the seed says."),
    ] = "mixed"
    faults: Annotated[
        int | None, typer.Option("--faults", min=0, help="How many faults a seed has, else as it says.")
    ] = None


class HowOptions(NamedTuple):
    """What is said, and what is done with a failure."""

    trace: Annotated[bool, typer.Option("--trace", help="Say everything that happens.")] = False
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes to play on.")] = 1
    every: Annotated[int, typer.Option("--every", min=1, help="Seeds between two lines.")] = 100
    shrink: Annotated[
        bool, typer.Option("--shrink/--no-shrink", help="Make the plan of the first failure small.")
    ] = True
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the small failing plan here.")
    ] = None


def run_seeds(cli: Invocation, what: WhatOptions, how: HowOptions) -> int:
    """Play seeds of a simulated world and judge them.

    The hub, the ledger and the nodes are the real ones; machines, network, runners, agents, provider and people are
    simulated, in virtual time, from the seed alone. Faults strike for fifteen virtual minutes, then everything is healed and
    must come to its end. Ends with 1 if anything was broken; a failing plan is made small and can be played with `--plan`.
    """
    from tenure.runtime.clock import RealClock
    from tenure.sim.run.many import Wish, play_all

    wish = Wish(ledger=what.ledger, faults=what.faults)
    if what.plan is not None or what.seed is not None:
        return _one(cli, _plan(what.plan, what.seed, wish), how)
    clock = RealClock()
    began_ns = clock.awake_ns()

    def took_s() -> float:
        return (clock.awake_ns() - began_ns) / NS

    total = play_all(parse_seeds(what.seeds or "1..100"), wish, how.jobs, _told(cli, took_s, how.every))
    _say_all(cli, total, took_s())
    if not total.failed:
        return 0
    first = min(one.seed for one in total.failed)
    if how.shrink:
        _shrunk(cli, _plan(None, first, wish), how.save)
    cli.out.say(f"again: tenure sim run --seed {first} --trace")
    return EXIT_FAILED


def parse_seeds(text: str) -> range:
    """`A..B`, both of them included.

    Raises:
        InvalidError: it is none.
    """
    from tenure.errors import InvalidError

    first, dots, last = text.partition("..")
    if not dots or not first.isdigit() or not last.isdigit() or int(last) < int(first):
        raise InvalidError(f"{text!r} is no range of seeds; write it as A..B, such as 1..100.", field="seeds")
    return range(int(first), int(last) + 1)


def _plan(path: Path | None, seed: int | None, wish: Wish) -> Plan:
    from tenure.sim.run.many import wished_plan
    from tenure.sim.run.playing import read_plan

    return read_plan(path) if path is not None else wished_plan(seed or 0, wish)


def _one(cli: Invocation, plan: Plan, how: HowOptions) -> int:
    from tenure.sim.run import telling
    from tenure.sim.run.playing import play

    played = play(plan, cli.out.say if how.trace else None)
    cli.out.data({"seed": played.seed, "steps": played.steps, "faults": played.faults, "digest": played.digest,
                  "found": played.found})  # fmt: skip
    if cli.out.json:
        return EXIT_FAILED if played.found else 0
    cli.out.say(
        f"seed {played.seed}: {played.steps} steps, {played.faults} faults, {played.tasks} Tasks, {played.starts} executions,"
        f" {played.virtual_s:g} virtual seconds, trace {played.digest[:16]}"
    )
    if not played.found:
        return 0
    for line in telling.failure(played):
        cli.out.say(line)
    if how.shrink and not how.trace:
        _shrunk(cli, plan, how.save)
    return EXIT_FAILED


def _shrunk(cli: Invocation, plan: Plan, save: Path | None) -> None:
    from tenure.sim.run import telling
    from tenure.sim.run.playing import plan_text, play
    from tenure.sim.run.shrinking import shrunk

    rule = play(plan).rule
    small, plays = shrunk(plan, lambda one: play(one).rule == rule)
    cli.out.say(
        f"shrunk to {len(small.faults)} faults and {len(small.deeds)} deeds, in {plays} plays, all of which fail by {rule}:"
    )
    for line in telling.plan_lines(small):
        cli.out.say(line)
    if save is not None:
        save.write_text(plan_text(small), "utf-8")
        cli.out.say(f"again: tenure sim run --plan {save} --trace")


def _told(cli: Invocation, took_s: Callable[[], float], every: int) -> Callable[[Played], None]:
    from tenure.sim.run import telling
    from tenure.sim.run.many import Sum

    total = Sum()

    def told(one: Played) -> None:
        total.add(one)
        if one.found:
            for line in telling.failure(one):
                cli.out.say(line)
        if total.seeds % every == 0:
            cli.out.say(telling.progress(total, took_s()))

    return told


def _say_all(cli: Invocation, total: Sum, took_s: float) -> None:
    from tenure.sim.run import telling

    cli.out.data({"seeds": total.seeds, "steps": total.steps, "faults": total.faults, "took_s": round(took_s, 1),
                  "failed": [one.seed for one in total.failed], "coverage": total.coverage,
                  "events": total.kinds})  # fmt: skip
    if cli.out.json:
        return
    for part in (telling.kinds_table(total), telling.coverage_table(total), telling.summary(total, took_s)):
        for line in part:
            cli.out.say(line)

"""`tenure sim`: the engine, attacked in worlds that are not there."""

from __future__ import annotations

from tenure.cli.command.sim_explore import explore_worlds
from tenure.cli.command.sim_faults import hunt_faults
from tenure.cli.command.sim_run import run_seeds
from tenure.cli.invocation import command, commands_below, family

app = family()
sim_app = commands_below(app, "sim", "Attack the engine in simulated worlds.")

command(sim_app, "run")(run_seeds)
command(sim_app, "explore")(explore_worlds)
command(sim_app, "faults")(hunt_faults)

"""Command lines of any kind: every command, with arguments and options that are right in type, or not."""

from __future__ import annotations

import random
from typing import Any

from tenure.cli import exit_code
from tenure.cli.text import failure
from tenure.errors import EXIT_OF
from tests.cli.lab import Called
from tests.cli.test_reference import COMMANDS

STARTING = frozenset(
    {"up", "hub", "node", "enroll", "demo main", "demo race", "demo recovery", "demo cancel"}
)
"""They start processes, or become one."""
STAYING = frozenset({"run", "watch", "mcp", "sim run", "sim explore", "sim faults"})
"""They go on until something happens, or for as long as they are told to."""
WHOLE_MACHINE = frozenset({"down", "gc", "doctor", "notify test"})
"""They are about more than the folder that they are given, or call somebody."""
ATTACKED = sorted(set(COMMANDS) - STARTING - STAYING - WHOLE_MACHINE)
WAITING = frozenset({"wait", "follow", "wait_s"})
COMMON = frozenset({"home", "config", "hub_url", "hub_token", "json", "debug", "help"})

BUG = failure.BUG
CODES = (
    {0, failure.USAGE, failure.INTERRUPTED, 66, 74, 77, *exit_code.MEANINGS, *EXIT_OF.values()} - {BUG}
)  # fmt: skip

TEXTS = (
    "", " ", "x", "-", "--", "-1", "\udcff", "a\udc80b", "\u202e", "\x1b[2J", "\n", "t_", "t_0/0", "t_" + "0" * 26, "hub",
    "project:shop", "node:laptop", "local", "local@laptop", "key:", "key:x", "a=b", "=", "..", "../../x", "/", "~", "~nobody/x",
    "x" * 5_000, "1" * 400, "+" + "9" * 400, "9" * 400 + "d", "+2h", "1h30m", "-5m", "0", "1e9", "nan", "inf", "$5", "5.0000001",
    "2031-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0 9 * * *", "* * 30 2 *", "Europe/Berlin",
    "http://127.0.0.1:1", "file:///etc/passwd", "https://user:password@forge.example", "github", "default", "default/99",
    "unknown:t_x/1", "operator", "rerun", "push", "forge:shop", "%s%n{0}", "$(id)", "\u0663", "tenure/*",
)  # fmt: skip
NUMBERS = ("0", "1", "-1", "2", "500", "99999999999999999999", "9" * 5_000, "1.5", "x", "", "\u0663")


def words_of(path: str, dice: random.Random, known: tuple[str, ...]) -> list[str]:
    """A command line for a command. `known`: names of what is there."""
    words: list[str] = []
    for one in COMMANDS[path].params:
        if one.name in COMMON | WAITING:
            continue
        if one.param_type_name == "argument":
            words += _argument(one, dice, known)
        elif one.required or dice.random() < 0.35:
            words += _option(one, dice, known)
    if dice.random() < 0.05:
        words.append(dice.choice(TEXTS))
    return [*path.split(), *words]


def _argument(one: Any, dice: random.Random, known: tuple[str, ...]) -> list[str]:
    if not one.required and dice.random() < 0.4:
        return []
    many = dice.randint(1, 3) if one.nargs == -1 else 1
    return [_value(one, dice, known) for _ in range(many)]


def _option(one: Any, dice: random.Random, known: tuple[str, ...]) -> list[str]:
    name = dice.choice([*one.opts, *one.secondary_opts])
    if one.is_flag:
        return [name]
    many = dice.randint(1, 2) if one.multiple else 1
    return [word for _ in range(many) for word in (name, _value(one, dice, known))]


def _value(one: Any, dice: random.Random, known: tuple[str, ...]) -> str:
    is_number = getattr(one.type_descriptor, "annotation", None) in (int, float)
    if is_number and dice.random() < 0.8:
        return dice.choice(NUMBERS)
    return dice.choice(known if known and dice.random() < 0.5 else TEXTS)


def problems(done: Called, *, json: bool) -> list[str]:
    """What is wrong with how a call ended."""
    found = []
    if done.code not in CODES:
        found.append(f"exit code {done.code}, which stands in no table")
    if "Traceback" in done.err or "Traceback" in done.out:
        found.append("a stack")
    if done.code != 0 and not done.err.strip() and not done.out.strip():
        found.append("it failed without a word")
    if json and "[bug]" in done.err:
        found.append("a bug")
    return found

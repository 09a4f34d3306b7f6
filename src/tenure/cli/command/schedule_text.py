"""The spec of Tasks that are still to come, as people read it: what a schedule submits each time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tenure.cli.text.moment import shown_duration
from tenure.cli.text.output import one_line
from tenure.cli.text.recovery import DIMENSIONS, amount_text

SHORT_COMMIT = 12


def spec_lines(spec: msgspec.Raw) -> Iterator[str]:
    """One line for each thing that was said of the Tasks; what was left to the usual is left out."""
    said: dict[str, Any] = msgspec.json.decode(spec)
    yield from (f"{name}: {text}" for name, text in spec_pairs(said) if text)


def spec_pairs(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "of project", str(said.get("project") or "")
    if said.get("repository"):
        yield "repository", f"{said['repository']} at {str(said.get('base_sha') or '')[:SHORT_COMMIT]}"
    yield "command", shlex.join(said.get("command") or ())
    yield from (("check", argv_text(one["argv"])) for one in said.get("checks") or ())
    yield "policy", str(said.get("policy") or "")
    yield "budget of each", budget_of(said.get("budget") or {})
    yield "time limit", shown_duration(said["timeout_s"]) if said.get("timeout_s") else ""
    yield "priority", f"{said['priority']:+d}" if said.get("priority") else ""
    yield "one at a time of the key", str(said.get("concurrency_key") or "")
    yield "harness", " ".join(str(said[one]) for one in ("harness", "model") if said.get(one))
    yield "needs your approval", "each" if said.get("approval") else ""
    labels: dict[str, str] = said.get("labels") or {}
    yield "labels", ", ".join(f"{name}={value}" for name, value in labels.items())


def argv_text(argv: list[str]) -> str:
    """A check as it could be typed."""
    from tenure.cli.asking.task_request import SHELL

    is_line = len(argv) == 3 and argv[:2] == [SHELL, "-c"]
    return one_line(argv[2] if is_line else shlex.join(argv), 200)


def budget_of(limits: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{DIMENSIONS[name]} {amount_text(name, limits[name])}"
        for name in DIMENSIONS
        if limits.get(name) is not None
    )

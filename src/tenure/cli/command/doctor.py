"""`tenure doctor`: looks at this machine, changes nothing, and says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from pathlib import Path

    from tenure.cli.check.finding import Finding
    from tenure.runtime.settings import Settings

app = family()

MARKS = {"ok": "ok", "warn": "WARN", "fail": "FAIL"}
KEEPS = {
    "open": "the agent can read what this user can read, credentials included",
    "user": "the agent runs as a user of its own",
    "sandbox": "the agent sees its worktree and the system's programs",
}
LEVELS = tuple(MARKS)
"""From harmless to grave."""


@command(app, "doctor")
async def doctor(cli: Invocation) -> int:
    """Check this machine and say what to do.

    Looks at the settings, git, disk, clock, the data folder and its secrets, ports, what this platform can hold of a
    process tree, and whether hub and node answer. Ends with 1 when something must be mended.
    """
    found = await findings(cli)
    worst = max((LEVELS.index(one.level) for one in found), default=0)
    cli.out.data({"level": LEVELS[worst], "findings": found})
    if not cli.out.json:
        tell(cli, found)
    return 1 if LEVELS[worst] == "fail" else 0


async def findings(cli: Invocation) -> list[Finding]:
    """Everything there is to say, in the order in which it would be mended."""
    from tenure.cli.check import hub as hub_check
    from tenure.cli.check import machine as machine_check
    from tenure.cli.check.finding import fail, ok
    from tenure.cli.check.notification import check_notifications
    from tenure.cli.check.own_node import certificate_findings
    from tenure.cli.check.provider import check_providers
    from tenure.cli.process.data_files import HUB_PART
    from tenure.errors import TenureError
    from tenure.runtime.clock import RealClock
    from tenure.runtime.settings import Settings

    found: list[Finding] = []
    try:
        settings = cli.settings
        file = cli.settings_file
        found.append(ok("settings", f"{file} is right" if file else "no settings file: the defaults hold"))
    except TenureError as error:
        found.append(fail("settings", error.message, "mend the file, or name another with --config"))
        settings = Settings()
    now_ms = RealClock().wall_ms()
    found.append(await machine_check.check_git(cli.env))
    found.append(machine_check.check_sqlite())
    found += machine_check.check_folder(cli.home)
    found.append(machine_check.check_disk(cli.home))
    found.append(machine_check.check_clock(cli.home, now_ms))
    found.append(machine_check.check_limits())
    found += platform_findings()
    found += isolation_findings(settings, cli.home)
    holder = hub_check.holder(cli.home, HUB_PART)
    found.append(machine_check.check_port(settings, hub_runs=holder is not None))
    found += check_providers(settings.providers, cli.home / HUB_PART, cli.env)
    found += check_notifications(settings.notifications.channels, cli.home / HUB_PART, cli.env)
    found += certificate_findings(settings.node, now_ms)
    found += await hub_check.check_hub(cli, settings)
    return found


def platform_findings() -> list[Finding]:
    """What this platform cannot hold, each with what follows from it."""
    from tenure.cli.check.finding import ok, warn
    from tenure.runtime.platform import inspect_platform

    platform = inspect_platform()
    if not platform.weaknesses:
        return [ok("platform", f"{platform.system} carries the full guarantee (cgroup v2, subreaper, pidfd)")]
    return [warn(f"platform: {one.code}", one.consequence, one.remedy) for one in platform.weaknesses]


def isolation_findings(settings: Settings, home: Path) -> list[Finding]:
    """How each recipient of this machine is kept apart, and whether it can be; without any, what there could be."""
    from tenure.cli.check.finding import fail, ok
    from tenure.cli.process.default_recipient import recipients_of
    from tenure.runtime.isolation import isolation_problem, sandbox_problem

    found: list[Finding] = []
    for one in recipients_of(settings):
        check, problem = f"isolation: {one.name}", isolation_problem(one, home)
        if problem is not None:
            found.append(
                fail(
                    check, f"{one.isolation} cannot be kept: {problem}", "mend that, or set another isolation"
                )
            )
        else:
            found.append(ok(check, f"{one.isolation}: {KEEPS[one.isolation]}"))
    missing = sandbox_problem()
    if missing is not None and not any(one.isolation == "sandbox" for one in recipients_of(settings)):
        found.append(ok("sandbox", f"not asked for, and not possible here: {missing}"))
    return found


def tell(cli: Invocation, found: list[Any]) -> None:
    width = max(len(one.check) for one in found)
    for one in found:
        cli.out.say(f"{MARKS[one.level]:4}  {one.check:{width}}  {one.says}")
        if one.do:
            cli.out.say(f"{'':4}  {'':{width}}  -> {one.do}")

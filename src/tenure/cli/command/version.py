"""`tenure version`."""

from __future__ import annotations

from tenure import __version__
from tenure.cli.invocation import Invocation, command, family

app = family()


@command(app, "version")
def version(cli: Invocation) -> None:
    """Show the version."""
    import platform

    parts = {
        "tenure": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    cli.out.data(parts)
    if not cli.out.json:
        for name, value in parts.items():
            cli.out.say(f"{name} {value}")

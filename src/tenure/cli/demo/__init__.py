"""`tenure demo`: real processes, killed and stopped in the middle, and a record that says what happened.

There are four stories, `main`, `race`, `recovery` and `cancel`; `play` tells them. `stage` brings a repository, a hub and a
node up in a temporary folder and takes them away again; `race_stage` a hub, two nodes, a git remote and a `forge`. The modules
named `…acts` hold the parts, each of which checks what it tells; `story` is how it is told.
"""

from tenure.cli.demo.play import app

__all__ = ["app"]

"""`tenure demo`: real processes, killed and stopped in the middle, and a record that says what happened.

`stage` brings a copy of a repository, a hub and a node up in a temporary folder and takes them away again; `acts` are the
parts of the story, each of which checks what it tells; `story` is how it is told.
"""

from tenure.cli.demo.play import app

__all__ = ["app"]

"""Runs AI agents' work on machines that fail, and never guesses what happened.

The package is layered, and imports only point down; docs/internals/README.md says what each layer may touch.
Importing `tenure` itself imports nothing else, so that the command line starts in the time of a bare Python.
"""

__version__ = "0.1.0"

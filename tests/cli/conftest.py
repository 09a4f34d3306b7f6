"""Fixtures of the command line's tests."""

from tests.cli.lab import hub

__all__ = ["hub"]

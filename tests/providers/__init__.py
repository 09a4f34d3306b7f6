"""Providers, against a forge that is a process of its own."""

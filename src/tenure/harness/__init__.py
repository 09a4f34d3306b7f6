"""Runs agents: the port that an adapter fills, the adapters, and the protocol that any program may speak.

An adapter starts nothing itself. `launch` says what is to be executed, and the runner executes it; `judge`
says what its end means.
"""

"""The runner: a process of its own that needs the standard library only. `main` is started by path."""

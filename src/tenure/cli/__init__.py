"""The command line, and the one place where the parts are wired together.

`main` answers `--help` and `--version` by itself; `application` builds the Typer application from the `catalog`, whose
commands are imported one by one when they are called; `invocation` holds what every command shares; `hub_wiring` and
`node_wiring` build hub and node out of their parts.
"""

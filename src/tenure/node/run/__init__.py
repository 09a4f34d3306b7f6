"""The daemon's side of a runner: its run folder, messages, output, start and sweep."""

"""Controls. The hub owns what should run and what was reported; every rule of it is in `core`, every fact in the
ledger. Here is what stands between: who may ask, who waits for what, what time makes due.

It has no threads, sockets, files or clocks of its own: they are handed in."""

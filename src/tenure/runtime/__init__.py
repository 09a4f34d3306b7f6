"""The real thing: clocks, ids, settings, logging, files, child processes. No other layer touches them."""

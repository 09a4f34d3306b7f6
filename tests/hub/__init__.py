"""The hub over the ledger in memory: real rules, a clock set by hand, no network."""

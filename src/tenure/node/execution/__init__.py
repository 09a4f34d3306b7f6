"""One execution from preparation to verdict: context, start, following, acceptance checks, the report."""

"""Suites and fakes for authors of stores, harnesses and providers."""

"""Attacks on what SECURITY.md promises, each really tried."""

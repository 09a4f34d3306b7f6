"""Hostile input: whatever can be sent, written or printed at Tenure by somebody else, and what must hold then."""

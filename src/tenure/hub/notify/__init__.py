"""Telling people that something needs them: what is due, on which channel, when, and in which words."""

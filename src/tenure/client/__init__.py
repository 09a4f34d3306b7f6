"""The public SDK: what a program needs to give work to a hub and to follow it."""

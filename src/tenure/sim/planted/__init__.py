"""Planted faults: each is one mistake in core or in the node's model that the explorer must find."""

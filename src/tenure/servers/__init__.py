"""Faces of the hub: they translate and hold no rule. None imports another."""

"""Says: the messages between hub and node, the bodies of the public API, and their one way to JSON and
back."""

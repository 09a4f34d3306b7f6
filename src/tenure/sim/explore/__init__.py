"""The model checker: every state that a small world of hub, nodes, runners and a provider can reach.

The hub is the real `core`. What it talks to are compact models (`machine`, `provider`), and so is the network: a message
that was sent may arrive at any later time, any number of times, or never."""

"""What this node owes its hub for each Delivery: the mirror of it, the six legs, the outbox and what a restart finds."""

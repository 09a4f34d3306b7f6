"""The fenced push: agents push to the hub, which checks what they push and passes it on as an Effect."""

"""What lies on this machine and is read there, without asking a hub."""

"""Hub, node and supervisor as processes: put together, started, marked, watched and stopped."""

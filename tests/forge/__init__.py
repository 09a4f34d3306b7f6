"""The forge of the tests (`tenure.testing.forge`) as a process beside them, and what holds it to its word."""

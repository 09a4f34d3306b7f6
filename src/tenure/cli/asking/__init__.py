"""From what a person typed to a request, and to the Task, Attempt and hub that were meant."""

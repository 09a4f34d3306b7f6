"""What a person reads: Tasks, events, evidence, times and errors as text."""

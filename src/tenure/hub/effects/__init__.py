"""Effects: who may ask for one, the calls to providers, and finding out what became of lost answers."""

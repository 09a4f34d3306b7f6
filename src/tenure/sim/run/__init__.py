"""The simulator: a plan of work and faults from a seed, played, judged, healed, and shrunk where it fails."""

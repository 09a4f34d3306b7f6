"""The simulated world: the model checker, the simulator and the checkers of histories."""

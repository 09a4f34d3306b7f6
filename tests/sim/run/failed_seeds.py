"""Seeds that once failed, each with what was wrong with the engine then. They must go well for ever.

A seed means another story as soon as the simulator draws otherwise; the fault itself has a test of its own then."""

FAILED = {
    61: "after a commit whose answer was lost the hub's loops never heard of a call that was under way",
    105: "after a commit whose answer was lost nobody was told of what had ended",
    20031: "an Effect was begun and called, and its agent was told that nothing had happened, since the answer could not be read",
    100038: "a node let a row go whose tree had just proved to be gone, and the hub never heard of it: the slot stayed taken",
}

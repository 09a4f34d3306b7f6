"""Checkers of a history: what was seen from outside, held against the rules, knowing nothing of the implementation.

They import nothing of Tenure but each other. What a state is called and what a rule says is written down here a second
time on purpose: two readings of the same design that disagree are a finding."""

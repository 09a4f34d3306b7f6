"""A coverage-guided fuzzer (atheris, Linux only) over the decoders of `tests.hostile.decoders`.

`corpus/DECODER` holds right inputs, which it begins with; `regression/DECODER` holds what once failed, as bytes (`.txt`) or in
hexadecimal (`.hex`). Both are replayed by `tests/hostile/test_decoders.py`, without atheris."""

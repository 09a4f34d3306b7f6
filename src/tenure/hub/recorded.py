"""What a request is told when its commit was made and the rest of its answer cannot be.

The answer to a write often shows what was written, which is a read after the commit. A record that fails just then must not
be passed on as it speaks: "unavailable" means that nothing happened, and whoever hears it does the same again as if it were
the first time. That is harmless where a key stands for the request, and wrong where it adds (`budget raise`)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from tenure.errors import OutcomeUnknownError, UnavailableError


@contextmanager
def recorded() -> Generator[None]:
    """Around everything that follows a commit in the same request.

    Raises:
        OutcomeUnknownError: the answer could not be made; what was asked for is recorded.
    """
    try:
        yield
    except UnavailableError as error:
        raise OutcomeUnknownError(
            f"what was asked for is recorded, but the answer could not be made ({error.message}). Look before you send it again.",
            **error.facts,
        ) from error

from collections.abc import Iterator
from typing import Any
def lines() -> Iterator[dict[str, Any]]:
    yield from ()

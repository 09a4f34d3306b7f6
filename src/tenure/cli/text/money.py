"""Amounts of money as people write and read them: US dollars, with a dot. Inside they are whole micro-dollars."""

from __future__ import annotations

import re
from decimal import Decimal

from tenure.errors import InvalidError

MICROS = 1_000_000

_USD = re.compile(r"\$?(\d{1,10}(?:\.\d{1,6})?)")


def parse_usd_micros(text: str) -> int:
    """Micro-dollars from `5`, `5.00`, `$0.25`.

    Raises:
        InvalidError: it is no amount, or a part of a micro-dollar.
    """
    found = _USD.fullmatch(text.strip())
    if found is None:
        raise InvalidError(
            f"{text[:40]!r} is no amount of US dollars; expected 5, 0.25 or $12.50", value=text[:40]
        )
    return int(Decimal(found[1]) * MICROS)


def shown_usd(micros: int) -> str:
    """An amount for people: cents, and more places only where there is less than a cent."""
    digits = 2 if micros >= 10_000 or not micros else 4
    return f"${Decimal(micros) / MICROS:.{digits}f}"

"""One spelling of a value: canonical JSON, and digests over it.

Canonical means: keys sorted, no white space, UTF-8, numbers as msgspec writes them. Two equal values have the
same bytes, so digests can be compared. Used for spec digests, message digests and the hash chain."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(order="sorted")


def canonical(value: Any) -> bytes:
    """The canonical JSON of a value."""
    return _encoder.encode(value)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, in lower-case hexadecimal."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in lower-case hexadecimal; how tokens are compared and kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

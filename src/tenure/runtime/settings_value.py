"""What the keys of settings are described with: the meaning, and what a value may be, in words."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tenure.core import limits

EXPECTED = "x-expected"
"""The key of a JSON schema under which a type says in words what it accepts."""


def says(description: str) -> Meta:
    """The meaning of a key, for the reference page."""
    return Meta(description=description)


def expects(expected: str, pattern: str) -> Meta:
    """A text that must match a pattern, and how to say so to people."""
    return Meta(pattern=pattern, extra_json_schema={EXPECTED: expected})


Name = Annotated[
    str,
    expects(
        f"a name of 1 to {limits.NAME_LENGTH} lower-case letters, digits, '.', '_' or '-', beginning with a"
        " letter or digit",
        rf"\A[a-z0-9][a-z0-9._-]{{0,{limits.NAME_LENGTH - 1}}}\Z",
    ),
]
Text = Annotated[str, expects("text that is not empty", r"\A[^\x00]+\Z")]
Url = Annotated[str, expects("an address that begins with http:// or https://", r"\Ahttps?://[^\s/]+\S*\Z")]
Account = Annotated[
    str, expects("a user name: letters, digits and . _ @ + -", r"\A[A-Za-z0-9._@+-]{1,100}\Z")
]

"""Failure signatures: is this the failure that came before?

Two failures are the same if they are of one class by one rule and their texts agree once everything is taken out that
differs from run to run: ids, digests, paths, numbers, times. What is left is digested. So a repeat is seen although it
happened in another folder at another minute; two different assertions of one test remain two."""

from __future__ import annotations

import re

from tenure.core.canonical import text_digest

SIGNATURE_LENGTH = 16
"""Hexadecimal digits: enough to tell the failures of one Task apart."""
TEXT = 2_000
"""Characters of a text that count: its end, where the failure stands."""

_RULES = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\x1b\[[0-9;]*[A-Za-z]", ""),
        (r"\b(?:t|d|e|n|i|s)_[0-9a-z]{20,30}\b(?:/[0-9]+)?", "ID"),
        (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "ID"),
        (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,]+(?:Z|[+-][0-9:]{4,6})?)?", "TIME"),
        (r"\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?\b", "TIME"),
        (r"\b0x[0-9a-fA-F]+\b", "NUMBER"),
        (r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b", "ID"),
        # From the start of a word only: a long word without any slash is looked at once, not from each of its letters.
        (r"(?<![\w.+@~/\\-])(?:[A-Za-z]:)?(?:[\w.+@~-]*[/\\])+(?:[\w.+@~-]+)", "PATH"),
        (r"[0-9]+(?:[.,][0-9]+)*", "NUMBER"),
        (r"\s+", " "),
    )
)


def normalised(text: str) -> str:
    """The text without what differs from run to run; its last `TEXT` characters."""
    text = text[-4 * TEXT :]
    for pattern, word in _RULES:
        text = pattern.sub(word, text)
    return text.strip()[-TEXT:]


def signature(failure_class: str, rule: str, text: str) -> str:
    """The signature of a failure."""
    return text_digest(f"{failure_class}\n{rule}\n{normalised(text)}")[:SIGNATURE_LENGTH]

"""Inputs that are nearly right: seeds with something else in one or a few places, and shapes that decoders dislike.

Driven by a `random.Random`, so that one number replays an input."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "fuzz" / "corpus"
REGRESSION = Path(__file__).parent / "fuzz" / "regression"

DEEP, LONG = 2_000, 20_000
NUMBERS = (
    b"9" * LONG,
    b"1e999",
    b"-1e999",
    b"NaN",
    b"inf",
    b"0x" + b"f" * 5_000,
    b"1" * 25,
    b"0." + b"1" * LONG,
)
PIECES = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\x1b[2J", b'"', b"\\", b"\\u0000", b"\\ud800",
    b"{", b"}", b"[", b"]", b",", b":", b"=", b"#", b"'''", b'"""', b"[[", b"]]", b".", b"-", b"+", b"1e999", b"-0",
    b"NaN", b"Infinity", b"null", b"true", b"inf", b"nan", b"9" * 5_000, b"0x" + b"f" * 50, b"1979-05-27T07:32:00Z",
    b"9999-12-31T23:59:59-23:59", b"0001-01-01", "\u0663".encode(), "\u00b2".encode(), "\u202e".encode(), b"%s%n",
    b"../..", b"$(x)", b" " * 200,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2**31, 2**53, 2**63, 2**64, -(2**63) - 1, 10**30, 0.5, -0.0, 1e308, "", " ", "\x00", "\ud800",
    "x" * 5_000, "\u202e", "../../x", "-x", [], {}, [[]], [None], {"": None}, ["a", 1], {"a": {"b": {}}}, "2031-01-01T00:00:00Z",
    "9" * 400, [{}], [1, 2, 3],
)  # fmt: skip


def seeds(name: str) -> list[bytes]:
    """The right inputs of a decoder."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def spoiled(name: str, dice: random.Random) -> bytes:
    """An input for this decoder."""
    found = seeds(name)
    return dice.choice((_in_place, _in_place, _cut, _cut, _cut, _shape))(dice.choice(found), dice)


def _in_place(seed: bytes, dice: random.Random) -> bytes:
    """Another value in one place of a JSON text, or of one of its texts, sometimes with a field more or one less."""
    try:
        value = json.loads(seed)
    except ValueError:
        return _cut(seed, dice)
    value = copy.deepcopy(value)
    for _ in range(dice.randint(1, 3)):
        found = list(places(value))
        if not found:
            break
        container, key = dice.choice(found)
        if dice.random() < 0.1 and isinstance(container, dict):
            del container[key]
        else:
            container[key] = copy.deepcopy(dice.choice(VALUES))
    return json.dumps(value).encode()


def _cut(seed: bytes, dice: random.Random) -> bytes:
    """Pieces put in, left out, doubled or turned around."""
    data = bytearray(seed)
    for _ in range(dice.randint(1, 4)):
        start = dice.randint(0, len(data))
        end = min(len(data), start + dice.choice((0, 0, 1, 3, 10, 100)))
        put = dice.choice(
            (dice.choice(PIECES), b"", bytes(data[start:end]) * 2, dice.randbytes(dice.randint(1, 4)))
        )
        data[start:end] = put
    return bytes(data)


def _shape(seed: bytes, dice: random.Random) -> bytes:
    """Deep, long, wide, or not text at all; or a right input that is torn."""
    middle = dice.randint(0, len(seed))
    shape = dice.choice((*disliked(seed), dice.randbytes(200)))
    return dice.choice((shape, seed[:middle] + shape, seed[:middle] + shape + seed[middle:], seed[:middle]))


def disliked(seed: bytes) -> list[bytes]:
    """Shapes that decoders dislike, some of them around a right input."""
    pairs = ((b"[", b"]"), (b'{"a":', b"}"), (b"{a=", b"}"), (b'{"type":', b"}"))
    deep = [opening * many + closing * many for opening, closing in pairs for many in (70, DEEP)]
    keys = [b".".join([b"a"] * many) for many in (70, DEEP)]
    return [
        *deep,
        *(opening * DEEP for opening, _ in pairs),
        *(seed[:-1] + b',"a":' + one + b"}" for one in deep),
        *(b"a = " + one + b"\n" + seed for one in deep),
        *(one + b" = 1\n" + seed for one in keys),
        *(b"[" + one + b"]\n" + seed for one in keys),
        *(b"a = {" + one + b" = 1}\n" + seed for one in keys),
        *(b'{"a":' + number + b"}" for number in NUMBERS),
        *(seed[:-1] + b',"a":' + number + b"}" for number in NUMBERS),
        *(b"a = " + number + b"\n" + seed for number in NUMBERS),
        b'"' + b'\\"' * LONG,
        b'{"' + b"x" * LONG + b'":1}',
        b'{"a":"' + b"\xff\xfe" * 10 + b'"}',
        b'{"\xff":1}',
        b'{"a":1,"a":2}',
        seed * 20,
        b"",
        b"\x00" * 100,
        b"\xef\xbb\xbf" + seed,
        seed.decode("utf-8", "replace").encode("utf-16"),
        seed + b"\n" * LONG,
        b" " * LONG + seed,
    ]


def failed_once(name: str) -> list[bytes]:
    """Inputs on which this decoder once failed: bytes in hexadecimal, or as they are."""
    folder = REGRESSION / name
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [bytes.fromhex(path.read_text()) if path.suffix == ".hex" else path.read_bytes() for path in found]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value, as its container and key."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from places(inner)

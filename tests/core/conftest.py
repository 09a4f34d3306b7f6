"""A fresh Lab for each test of the core."""

from __future__ import annotations

import pytest

from tests.core.lab import Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()

"""Threads and instruction sets, which these tests change, are as before after each test."""

import pytest


@pytest.fixture(autouse=True)
def _bring_back(default_parallelism: None) -> None:
    """Bring the numbers of threads and the instruction set back."""

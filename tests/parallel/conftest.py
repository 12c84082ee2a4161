"""Fixture that restores the number of threads and the vector width after each test."""

import pytest


@pytest.fixture(autouse=True)
def _restored_parallelism(default_parallelism: None) -> None:
    """Restore the number of threads and the vector width."""

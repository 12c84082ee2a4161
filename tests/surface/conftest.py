"""Fixtures of shapes."""

import pytest
from support.shapes import PRIMITIVES

from meniscus.surface import Shape


@pytest.fixture(params=PRIMITIVES)
def primitive(request: pytest.FixtureRequest) -> Shape:
    """One of each primitive shape."""
    return PRIMITIVES[request.param]()

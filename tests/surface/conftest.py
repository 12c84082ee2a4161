"""Fixtures of shapes and solids."""

import pytest
from support.shapes import PRIMITIVES
from support.solids import Oracle

from meniscus.surface import Shape


@pytest.fixture
def oracle_for_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meshes are answered by the oracle, whatever the package has."""
    monkeypatch.setattr("meniscus.surface._distance.mesh_distance", lambda v, t: Oracle([], v, t))
    monkeypatch.setattr("meniscus.surface.kinematic.mesh_distance", lambda v, t: Oracle([], v, t))


@pytest.fixture(params=PRIMITIVES)
def primitive(request: pytest.FixtureRequest) -> Shape:
    """One of each primitive shape."""
    return PRIMITIVES[request.param]()

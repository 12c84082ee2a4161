"""Fixtures of solids."""

import pytest
from support.solids import Oracle


@pytest.fixture
def oracle_for_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Meshes are answered by the oracle, whatever the package has."""
    monkeypatch.setattr("meniscus.surface._distance.mesh_distance", lambda v, t: Oracle([], v, t))
    monkeypatch.setattr("meniscus.surface.kinematic.mesh_distance", lambda v, t: Oracle([], v, t))

"""Contacts that nearly contradict each other: nodes are not thrown away, rounding costs no momentum, mistakes are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from meniscus.collision import CollisionMesh, resolve


def lattice_soup(seed: int, speed: float, given: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, CollisionMesh]:
    """Start, end, inverse masses and mesh of triangles on a lattice with gaps of 1e-9; `given`: part of the vertices without a choice."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(6, 3, 3)) * 2) / 2 + np.arange(6)[:, None, None] * np.array([0, 0, 1e-9])
    x = x.reshape(-1, 3)
    y = x + speed * rng.normal(size=x.shape)
    w = np.ones(len(x))
    if given:
        w[rng.random(len(x)) < given] = 0
    return x, y, w, CollisionMesh(None, np.arange(18, dtype=np.int32).reshape(-1, 3))


@pytest.mark.parametrize("seed", [18, 19])
def test_nodes_with_next_to_no_weight_in_contacts_with_given_paths_are_not_thrown_away(seed: int) -> None:
    # Impulses alone throw them 3e5 and 1e13 times as far as anything moves; with other seeds, as far as infinity.
    x, y, w, mesh = lattice_soup(seed, 3.0, 0.3)
    ends, info = resolve(mesh, x, y, w, thickness=1e-4)
    assert info.contacts > 0
    assert np.abs(ends - x).max() <= 101 * np.abs(y - x).max()


@pytest.mark.parametrize("seed", [227, 131, 187])
def test_zones_of_nearly_dependent_constraints_conserve_momentum(seed: int) -> None:
    # Their impulses are so large that rounding alone loses up to 1e-5 of the momentum.
    x, y, w, mesh = lattice_soup(seed, 1.0, 0.0)
    ends, info = resolve(mesh, x, y, w, impulse_passes=1)
    assert info.certified
    assert info.zones > info.rigid_zones
    assert np.allclose((ends - x).sum(axis=0), (y - x).sum(axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"thickness": -1.0}, "thickness must not be negative"),
        ({"thickness": np.inf}, "thickness must be finite"),
        ({"thickness": np.ones(3)}, "thickness must be a number or have shape"),
        ({"push": -0.1}, "push must not be negative"),
    ],
)
def test_mistakes_are_told(options: dict[str, Any], says: str) -> None:
    x, y, w, mesh = lattice_soup(0, 1.0, 0.0)
    with pytest.raises(ValueError, match=says):
        resolve(mesh, x, y, w, **options)

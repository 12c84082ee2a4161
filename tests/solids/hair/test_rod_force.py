"""Strands as a force: derivatives with the twist in balance, clamped and loose."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from meniscus.solids import RodForce

Floats = npt.NDArray[np.float64]


def strands(curl: float, **ends: bool) -> tuple[RodForce, Floats]:
    """Ten strands of unequal length and stiffness, and positions near by."""
    rng = np.random.default_rng(4)
    counts = 3 + np.arange(10)
    points = []
    for k, n in enumerate(counts):
        s = np.linspace(0, 1, n)
        points.append(np.stack([curl * np.cos(5 * s + k), curl * np.sin(5 * s), s], axis=1))
    rest = np.concatenate(points)
    rods = RodForce(np.append(0, np.cumsum(counts)), rest, EI=0.5 + rng.random(10), GJ=0.5 + rng.random(10), EA=40.0, **ends)
    return rods, rest + 0.02 * rng.standard_normal(rest.shape)


@pytest.mark.parametrize("ends", [{"roots": True}, {"roots": True, "tips": True}, {"roots": False}])
@pytest.mark.parametrize("curl", [0.0, 0.3])
def test_forces_and_differentials_are_derivatives(curl: float, ends: dict[str, bool]) -> None:
    rods, x = strands(curl, **ends)
    rng = np.random.default_rng(8)
    h = 1e-6
    for _ in range(3):
        dx, dy = rng.standard_normal((2, *x.shape))
        work = (rods.energy(x + h * dx) - rods.energy(x - h * dx)) / (2 * h)
        assert work == pytest.approx(-float((rods.forces(x) * dx).sum()), rel=1e-6)
        change = rods.differentials(x, dx)
        assert change == pytest.approx((rods.forces(x + h * dx) - rods.forces(x - h * dx)) / (2 * h), abs=2e-6 * np.abs(change).max())
        assert float((change * dy).sum()) == pytest.approx(float((rods.differentials(x, dy) * dx).sum()), rel=1e-9, abs=1e-7)
        assert float((rods.differentials(x, dx, "definite") * dx).sum()) <= 0


@pytest.mark.parametrize("curl", [0.0, 0.3])
def test_rest_has_no_energy_and_loose_strands_no_resultant(curl: float) -> None:
    rods, x = strands(curl, roots=False)
    rest = np.asarray(rods._made_of[1])
    assert rods.energy(rest) < 1e-20
    f = rods.forces(x)
    assert np.abs(f.sum(axis=0)).max() < 1e-10 * np.abs(f).max()
    assert np.abs(np.cross(x, f).sum(axis=0)).max() < 1e-8 * np.abs(f).max()

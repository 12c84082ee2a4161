"""Removal of particles by the value of a level set, against NumPy."""

import math
from typing import Any

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.surface import LevelSet, Sphere

core: Any = _surface


@pytest.fixture
def phi(dimension: int, dtype: type) -> LevelSet:
    levelset = LevelSet(ms.Grid((16,) * dimension, 1 / 16), "cells", dtype)
    levelset.array[...] = 1.0
    levelset.unite(Sphere((0.5,) * dimension, 0.3))
    return levelset


def markers(dimension: int, dtype: type) -> ms.Particles:
    rng = np.random.default_rng(11)
    x, radius = rng.random((500, dimension)).astype(dtype), rng.uniform(0.01, 0.05, 500).astype(dtype)
    return ms.Particles(x, sign=np.where(rng.random(500) < 0.5, -1, 1).astype(np.int8), radius=radius)


def ball_volume(radius: np.ndarray, dimension: int) -> float:
    r = radius.astype(np.float64)
    return float((math.pi * r**2 if dimension == 2 else 4 / 3 * math.pi * r**3).sum())


@pytest.mark.parametrize("reach", [0.05, math.inf])
def test_markers_that_the_surface_has_passed(phi: LevelSet, reach: float, dimension: int, dtype: type) -> None:
    p = markers(dimension, dtype)
    value = phi.sample(p.positions)
    gone = (p["sign"] * value < 0) & (np.abs(value) <= reach)
    left = p.ids[~gone].copy()
    assert core.remove_markers_on_wrong_side(phi.field._core, p._core, reach, None, 0.0, Workspace()) == gone.sum() > 0
    assert same_bits(p.ids, left)


def test_markers_of_the_outside_deep_in_the_inside(phi: LevelSet, dimension: int, dtype: type) -> None:
    p = markers(dimension, dtype)
    gone = (p["sign"] > 0) & (phi.sample(p.positions) < -0.1)
    left, volume = p.ids[~gone].copy(), ball_volume(p["radius"][gone], dimension)
    rules = core.EscapeRules(distance=1e6, inside=True, outside=True, depth=0.1, removed_radius=0.0, far_radii=None)
    velocity = ms.MacField(phi.grid, dtype)
    *inside, count, found = core.remove_escaped(phi.field._core, p._core, rules, velocity._core, None, None, 0.0, Workspace())
    assert inside == [0, 0.0]
    assert (count, found) == (gone.sum(), pytest.approx(volume, rel=1e-12))
    assert same_bits(p.ids, left)


@pytest.mark.parametrize("sign", [-1, 1])
def test_markers_in_a_region(phi: LevelSet, sign: int, dimension: int, dtype: type) -> None:
    p = markers(dimension, dtype)
    gone = (p["sign"] == sign) & (phi.sample(p.positions) <= p["radius"])
    left = p.ids[~gone].copy()
    assert core.remove_markers_in(phi.field._core, p._core, sign, Workspace()) == gone.sum() > 0
    assert same_bits(p.ids, left)


def test_spray_in_a_region_and_particles_outside(phi: LevelSet, dimension: int, dtype: type) -> None:
    m = markers(dimension, dtype)
    spray = ms.Particles(m.positions, velocity=np.zeros_like(m.positions), radius=m["radius"])
    inside = phi.sample(spray.positions) <= 0
    volume = ball_volume(spray["radius"][inside], dimension)
    count, found = core.remove_spray_in(phi.field._core, spray._core, Workspace())
    assert (count, found) == (inside.sum(), pytest.approx(volume, rel=1e-12))
    assert core.remove_outside(phi.field._core, m._core, Workspace()) == (~inside).sum()
    assert len(m) + len(spray) == len(inside)
    assert core.remove_outside(phi.field._core, spray._core, Workspace()) == (~inside).sum()
    assert len(spray) == 0

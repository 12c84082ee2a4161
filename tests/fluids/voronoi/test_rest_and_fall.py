"""Liquid on Voronoi cells at rest and in free fall: exact, whatever the samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidSampling, VoronoiLiquid, VoronoiLiquidOptions
from meniscus.fluids.voronoi.pool import pool_surface

BOX = np.array([[0.0, 0.0, 0.0], [1.0, 0.8, 0.9]])
H = 0.1


def pool(gravity: np.ndarray, depth: float, **options: object) -> VoronoiLiquid:
    """Liquid below a plane at right angles to the gravity through a point of the box."""
    up = -gravity / np.linalg.norm(gravity)
    axis = int(np.argmax(np.abs(up)))
    across = [d for d in range(3) if d != axis]
    # A liquid that hangs from above is built mirrored about the middle of the box.
    sign, middle = np.sign(up[axis]), BOX.mean(0)

    def level(x: np.ndarray) -> np.ndarray:
        y = middle[across] + sign * (x - middle[across])
        height = middle[axis] + (depth - (y - middle[across]) @ up[across]) / up[axis]
        return middle[axis] + sign * (height - middle[axis])

    mesh = pool_surface(BOX, level, H, up=axis)
    x, t = middle + sign * (np.array(mesh.vertices) - middle), np.array(mesh.triangles)
    if sign < 0:
        t = t[:, ::-1]
    surface = ms.surface.TrackedSurface((x, np.ascontiguousarray(t)), H)
    return VoronoiLiquid(BOX, H, surface, gravity, options=VoronoiLiquidOptions(sampling=LiquidSampling(**options)))


@pytest.mark.parametrize("gravity", [(0.0, -9.81, 0.0), (0.0, 0.0, 9.81), (-9.0, -2.0, 1.0), (1.0, 8.0, 2.0)])
@pytest.mark.parametrize("options", [{}, {"jitter": 0.2}, {"samples": "regular"}, {"lattice": 1.3}])
def test_a_pool_rests(gravity: tuple[float, ...], options: dict[str, object]) -> None:
    g = np.array(gravity)
    liquid = pool(g, 0.013, **options)
    top = BOX.mean(0) - 0.013 * g / np.linalg.norm(g)
    speed = math.sqrt(np.linalg.norm(g) * 0.5)
    for _ in range(3):
        liquid.step(0.01)
        assert np.abs(liquid.face_velocity).max() < 1e-9 * speed
    column = 1000.0 * (np.asarray(liquid.cells.sites) - top) @ g
    error = np.abs(liquid.pressure - column)[liquid.liquid].max()
    assert error < 1e-10 * 1000.0 * np.linalg.norm(g)


def test_a_ball_in_free_fall_moves_as_one() -> None:
    surface = ms.surface.TrackedSurface(ms.mesh.icosphere(2, 0.25, (0.5, 0.5, 0.45)), 0.12)
    liquid = VoronoiLiquid(BOX, 0.12, surface, (1.0, -9.0, 0.0))
    for k in range(1, 4):
        liquid.step(0.01)
        velocity = liquid.velocity(np.array(surface.vertices))
        np.testing.assert_allclose(velocity, np.tile([0.01 * k, -0.09 * k, 0.0], (len(velocity), 1)), atol=1e-10)
    assert liquid.volume_report().drift == pytest.approx(0.0, abs=1e-6)

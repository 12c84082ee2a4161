"""Continuous velocity of a liquid on Voronoi cells."""

from __future__ import annotations

import numpy as np
import pytest
from support.same_bits import everywhere

import meniscus as ms
from meniscus.fluids import LiquidSampling, VoronoiLiquid, VoronoiLiquidOptions

BOX = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
CENTER = np.array([0.5, 0.48, 0.52])


def drop(h: float = 0.1, radius: float = 0.3, **options: object) -> VoronoiLiquid:
    mesh = ms.surface.remesh(ms.surface.Sphere(tuple(CENTER), radius), h)
    sampling = LiquidSampling(**{name: options.pop(name) for name in ("samples", "lattice", "jitter") if name in options})
    named = VoronoiLiquidOptions(sampling=sampling, **options)
    return VoronoiLiquid(BOX, h, ms.surface.TrackedSurface(mesh, h), (0.0, 0.0, 0.0), options=named)


def points_in(radius: float, n: int = 500) -> np.ndarray:
    x = np.random.default_rng(2).normal(size=(n, 3))
    return CENTER + radius * x / np.linalg.norm(x, axis=1)[:, None] * np.random.default_rng(3).uniform(0, 1, (n, 1)) ** (1 / 3)


@pytest.mark.parametrize("options", [{}, {"fit": "averages"}, {"corrections": 0}, {"jitter": 0.2}])
def test_constants_are_reproduced(options: dict[str, object]) -> None:
    liquid = drop(**options)
    liquid.set_velocity((1.0, -2.0, 0.5), project=False)
    found = liquid.velocity(points_in(0.4))
    assert np.abs(found - [1.0, -2.0, 0.5]).max() < 1e-12


@pytest.mark.parametrize("options", [{}, {"corrections": 0}, {"jitter": 0.2}, {"samples": "regular", "lattice": 1.0}])
def test_linear_fields_are_reproduced(options: dict[str, object]) -> None:
    liquid = drop(**options)
    a = np.array([[0.3, -1.0, 0.4], [0.9, 0.2, -0.7], [0.1, 0.6, -0.4]])
    liquid.set_velocity(lambda x: np.array([1.0, 0.2, -0.4]) + (x - CENTER) @ a.T, project=False)
    x = points_in(0.3)
    np.testing.assert_allclose(liquid.velocity(x), np.array([1.0, 0.2, -0.4]) + (x - CENTER) @ a.T, atol=1e-9)


def test_smooth_fields_are_met_to_nearly_second_order() -> None:
    def swirl(x: np.ndarray) -> np.ndarray:
        y = 4 * (x - CENTER)
        return np.stack([np.sin(y[:, 1]) * np.cos(y[:, 2]), np.sin(y[:, 2]) * np.cos(y[:, 0]), np.sin(y[:, 0]) * np.cos(y[:, 1])], 1)

    x = points_in(0.24)
    errors = []
    for h in (0.12, 0.06):
        liquid = drop(h)
        liquid.set_velocity(swirl, project=False)
        errors.append(np.sqrt(((liquid.velocity(x) - swirl(x)) ** 2).sum(1).mean()))
    assert errors[1] < 0.02
    assert np.log2(errors[0] / errors[1]) > 1.7


def test_parts_do_not_feel_each_other() -> None:
    balls = [ms.surface.remesh(ms.surface.Sphere((0.5, y, 0.5), 0.15), 0.08) for y in (0.3, 0.64)]
    n = len(balls[0].vertices)
    x = np.concatenate([ball.vertices for ball in balls])
    t = np.concatenate([balls[0].triangles, balls[1].triangles + np.int32(n)])
    liquid = VoronoiLiquid(BOX, 0.08, ms.surface.TrackedSurface((x, t), 0.08), (0.0, 0.0, 0.0))
    liquid.set_velocity((0.0, -1.0, 0.0), samples=np.asarray(liquid.cells.sites)[:, 1] > 0.47, project=False)
    assert len(set(liquid.parts[liquid.liquid])) == 2
    for _ in range(2):
        liquid.step(0.004)
        velocity = liquid.velocity(np.array(liquid.surface.vertices))
        upper = np.asarray(liquid.surface.vertices)[:, 1] > 0.47
        assert np.abs(velocity[~upper]).max() < 1e-9
        assert np.abs(velocity[upper] - [0.0, -1.0, 0.0]).max() < 1e-9


def test_the_bits_do_not_depend_on_threads() -> None:
    def run() -> list[bytes]:
        liquid = drop()
        liquid.set_velocity(lambda x: np.stack([x[:, 1], -x[:, 0], x[:, 0] * x[:, 1]], 1))
        liquid.step(0.01)
        return [liquid.face_velocity.tobytes(), liquid.pressure.tobytes(), np.asarray(liquid.surface.vertices).tobytes()]

    everywhere(run)

"""Waves, drops and impacts of liquids on Voronoi cells against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import VoronoiLiquid, VoronoiLiquidOptions
from meniscus.fluids.voronoi.pool import pool_surface


def damped(times: np.ndarray, values: np.ndarray, omega: float) -> tuple[float, float]:
    """Frequency and rate of decay of the best damped oscillation, by least squares over both."""
    from scipy.optimize import least_squares

    def residual(p: np.ndarray) -> np.ndarray:
        basis = np.exp(-p[1] * times)[:, None] * np.stack([np.cos(p[0] * times), np.sin(p[0] * times)], 1)
        full = np.concatenate([basis, np.ones((len(times), 1))], axis=1)
        return full @ np.linalg.lstsq(full, values, rcond=None)[0] - values

    found = least_squares(residual, [omega, 0.0], x_scale=[omega, omega], xtol=1e-12).x
    return float(found[0]), float(found[1])


def standing_wave(n: int, periods: float) -> tuple[float, float]:
    """Relative error of omega^2, and the part of the amplitude kept over five periods."""
    h, depth, width, amplitude = 1.0 / n, 0.5, 4.0 / n, 0.01
    box = np.array([[0.0, 0.0, 0.0], [1.0, depth + 0.2, width]])
    k = 2 * np.pi
    surface = ms.surface.TrackedSurface(pool_surface(box, lambda x: depth + amplitude * np.cos(k * x[:, 0]), h), h)
    liquid = VoronoiLiquid(box, h, surface)
    omega = math.sqrt(9.81 * k * math.tanh(k * depth))
    period = 2 * np.pi / omega

    def height() -> float:
        x, t = np.array(surface.vertices), np.array(surface.triangles)
        middle = x[t].mean(axis=1)
        up = np.cross(x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]])[:, 1]
        top = ((middle[:, [0, 2]] > box[0, [0, 2]]) & (middle[:, [0, 2]] < box[1, [0, 2]])).all(axis=1) & (up > 0)
        return float(2 * (up * (middle[:, 1] - depth) * np.cos(k * middle[:, 0]))[top].sum() / up[top].sum())

    times, heights = [0.0], [height()]
    for _ in range(round(60 * periods)):
        liquid.step(period / 60)
        times.append(liquid.time)
        heights.append(height())
    found, decay = damped(np.array(times), np.array(heights), omega)
    return found**2 / omega**2 - 1, math.exp(-decay * 5 * period)


def test_a_coarse_standing_wave() -> None:
    error, kept = standing_wave(16, 0.4)
    assert abs(error) < 0.07
    assert kept > 0.1


@pytest.mark.slow
def test_a_standing_wave_has_its_frequency_and_keeps_its_amplitude() -> None:
    coarse, _ = standing_wave(16, 2.0)
    fine, kept = standing_wave(32, 2.0)
    assert abs(fine) < 0.0115
    assert abs(fine) < 0.4 * abs(coarse)
    assert kept > 0.85


def drop(cells: float, deformation: float = 0.0) -> tuple[VoronoiLiquid, float]:
    radius = 0.5
    ball = ms.surface.remesh(ms.surface.Sphere((0.0, 0.0, 0.0), radius), radius / cells)
    x = np.array(ball.vertices)
    r = np.linalg.norm(x, axis=1)
    x *= (radius / r * (1 + deformation * (1.5 * (x[:, 1] / r) ** 2 - 0.5)))[:, None]
    surface = ms.surface.TrackedSurface((x, np.array(ball.triangles)), radius / cells)
    return VoronoiLiquid([[-0.8] * 3, [0.8] * 3], radius / cells, surface, (0.0, 0.0, 0.0), 1.0, density=1.0), radius


def test_a_drop_at_rest_has_the_pressure_of_its_curvature() -> None:
    for cells, bound in ((4, 3e-3), (8, 1e-3)):
        liquid, radius = drop(cells)
        liquid.step(0.5 * liquid.max_dt())
        assert liquid.pressure[liquid.liquid].mean() * radius / 2 == pytest.approx(1.0, abs=bound)


@pytest.mark.slow
def test_a_drop_oscillates_in_its_second_mode() -> None:
    liquid, radius = drop(8, 0.02)
    omega = math.sqrt(8.0 / radius**3)
    period = 2 * np.pi / omega

    def mode() -> float:
        x, t = np.array(liquid.surface.vertices), np.array(liquid.surface.triangles)
        middle = x[t].mean(axis=1)
        r = np.linalg.norm(middle, axis=1)
        angle = np.einsum("ij,ij->i", np.cross(x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]]), middle) / (2 * r**3)
        return float((angle * r * (1.5 * (middle[:, 1] / r) ** 2 - 0.5)).sum())

    steps = math.ceil(period / liquid.max_dt())
    times, values = [0.0], [mode()]
    for _ in range(steps):
        liquid.step(period / steps)
        times.append(liquid.time)
        values.append(mode())
    found, decay = damped(np.array(times), np.array(values), omega)
    assert abs(found**2 / omega**2 - 1) < 0.025
    assert 0.85 < math.exp(-decay * 2 * period) < 1.1


def test_a_falling_drop_leaves_a_pool_at_rest_until_they_are_close() -> None:
    h, radius, speed = 0.08, 0.15, 1.0
    box = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    pool, ball = pool_surface(box, 0.3, h), ms.mesh.icosphere(2, radius, (0.5, 0.3 + radius + 0.4 * h, 0.5))
    x = np.concatenate([pool.vertices, ball.vertices])
    t = np.concatenate([pool.triangles, ball.triangles + np.int32(len(pool.vertices))])
    liquid = VoronoiLiquid(box, h, ms.surface.TrackedSurface((x, t), h))
    above = np.asarray(liquid.cells.sites)[:, 1] > 0.3 + 0.2 * h
    liquid.set_velocity((0.0, -speed, 0.0), samples=above, project=False)
    gap = 0.4 * h
    while gap > 0.15 * h:
        dt = 0.08 * h / speed
        liquid.step(dt)
        vertices = np.array(liquid.surface.vertices)
        # The drop is what is not at the level of the pool.
        in_pool = (np.abs(vertices[:, 1] - 0.3) < 1e-6) & (vertices > 0).all(1) & (vertices < 1).all(1)
        gap = vertices[np.linalg.norm(vertices - [0.5, vertices[:, 1].max() - radius, 0.5], axis=1) < radius * 1.01, 1].min() - 0.3
        assert in_pool.sum() > 100
        assert np.abs(liquid.velocity(vertices[in_pool])).max() < 1e-6 * speed


@pytest.mark.parametrize("correction", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_drop_that_falls_into_a_pool_becomes_part_of_it(correction: bool) -> None:
    """With two cells a radius the impact costs volume, which the correction gives back; energy falls."""
    h, radius = 0.08, 0.16
    box = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    pool, ball = pool_surface(box, 0.3, h), ms.mesh.icosphere(2, radius, (0.5, 0.3 + radius + 0.3 * h, 0.5))
    x = np.concatenate([pool.vertices, ball.vertices])
    t = np.concatenate([pool.triangles, ball.triangles + np.int32(len(pool.vertices))])
    options = VoronoiLiquidOptions(volume_correction=correction)
    liquid = VoronoiLiquid(box, h, ms.surface.TrackedSurface((x, t), h), options=options)
    above = np.asarray(liquid.cells.sites)[:, 1] > 0.3 + 0.1 * h
    liquid.set_velocity((0.0, -1.0, 0.0), samples=above, project=False)
    energy = sum(liquid.energy())
    for _ in range(14):
        liquid.step(0.02)
    report = liquid.volume_report()
    assert len(report.volumes) == 1
    assert report.targets.sum() == pytest.approx(report.start, rel=1e-12)
    assert abs(report.drift) < (1e-3 if correction else 0.03)
    assert sum(liquid.energy()) < energy
    assert liquid.surface.audit().intersections == 0

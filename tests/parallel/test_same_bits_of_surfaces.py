"""Bitwise reproducibility of level-set operators, whatever the number of threads and the vector width."""

from typing import Any

import numpy as np
import pytest
from support.build import components, random_velocity
from support.same_bits import SHAPES, THREADS, everywhere, problem

import meniscus as ms
from meniscus.surface import (
    EscapedMarkers,
    KinematicSolid,
    LevelSet,
    ParticleLevelSet,
    ParticleOptions,
    Sphere,
    extend_velocity,
    interpolate_levelsets,
    redistance,
)


@pytest.mark.fast_cases("2d-*", "3d-f32-*")
@pytest.mark.parametrize("interface", ["closest-point", "axis-crossings"])
def test_redistancing(interface: Any, dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        field, _ = problem(dimension, dtype, periodic)
        for _ in range(4):
            for d in range(dimension):
                field.array = ((np.roll(field.array, 1, d) + 2 * field.array + np.roll(field.array, -1, d)) / 4).astype(dtype)
        for band in (None, 0.45):

            def run(f: Any = field, band: float | None = band) -> np.ndarray:
                out = f.copy()
                redistance(out, band=band, interface=interface)
                return out.array.copy()

            everywhere(run)


@pytest.mark.fast_cases("2d-*", "3d-f32")
def test_extension_of_velocities(dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        field, velocity = problem(dimension, dtype, periodic)
        for _ in range(6):
            for d in range(dimension):
                field.array = ((np.roll(field.array, 1, d) + 2 * field.array + np.roll(field.array, -1, d)) / 4).astype(dtype)
        redistance(field)
        rng = np.random.default_rng(33)
        known = [rng.random(velocity.component(d).shape) < 0.2 for d in range(dimension)]

        def run(f: Any = field, v: ms.MacField = velocity, known: list[np.ndarray] = known) -> list[np.ndarray]:
            out = v.copy()
            result = extend_velocity(out, f, known, band=0.4)
            return components(out) + result.known

        everywhere(run)


@pytest.mark.fast_cases("2d-*", "3d-f32-nodes")
@pytest.mark.parametrize("location", ["nodes", "cells"])
def test_surfaces_of_level_sets(location: Any, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(41)
    periodic = (False, True, False)[:dimension]
    phi = [LevelSet(ms.Grid(SHAPES[dimension], 0.1, periodic=periodic), location, dtype) for _ in range(2)]
    for p in phi:
        # Noise above a slope: large parts and thousands of small ones.
        noise = rng.standard_normal(p.array.shape)
        p.array = (noise + np.linspace(-2, 2, p.array.shape[0]).reshape(-1, *(1,) * (dimension - 1))).astype(dtype)
    velocities = [random_velocity(phi[0].grid, dtype, rng) for _ in range(2)]

    def run() -> list[np.ndarray]:
        p = phi[0]
        found = p.components(both=True)
        return [
            *p.to_mesh(normals=True),
            *p.to_mesh(sides="open", periods="closed", positions="cubic"),
            np.array([p.volume(), p.area()]),
            p.volume_fractions().array.copy(),
            *(p.curvature(kind=kind).array.copy() for kind in ("level", "surface", "columns")),  # type: ignore[arg-type]
            found.labels,
            found.volumes,
            found.air_volumes,
            interpolate_levelsets(*phi, *velocities, 0.2, 0.3).array.copy(),
        ]

    everywhere(run)


@pytest.mark.fast_cases("2d-*")
def test_particle_level_set(dimension: int, dtype: type) -> None:
    """Seeding, carrying, correction, removal, flight against a solid, reincorporation and reseeding."""
    rng = np.random.default_rng(41)
    g = ms.Grid(SHAPES[dimension], 0.1, periodic=(True, False, True)[:dimension])
    _, velocity = problem(dimension, dtype, True)
    center, radius = np.array(SHAPES[dimension]) * 0.05, 0.03 * min(SHAPES[dimension])
    solid = KinematicSolid(Sphere(tuple(center + radius), 0.5 * radius)).sample(g, dtype=dtype)
    thrown = rng.uniform(0, 2 * center, (3000, dimension)).astype(dtype)
    # Order matters to sums and to sorting, not to which particles there are: radii from the level set make many escape.
    for radii, location in (("flow", "cells"), ("levelset", "nodes")):
        numbers_and_ways: Any = {"per_cell": {2: 32, 3: 8}[dimension], "radii_from": radii, "reseed_every": 2}
        options = ParticleOptions(escaped=EscapedMarkers(spray=True, escaped_outside="bubbles", removal_distance=0.3), **numbers_and_ways)

        def run(options: Any = options, location: Any = location) -> list[np.ndarray]:
            p = ParticleLevelSet(g, location, dtype, options=options)
            x = p.levelset.field.coordinates()
            p.levelset.array = (np.sqrt(sum((a - c) ** 2 for a, c in zip(x, center, strict=True))) - radius).astype(dtype)
            p.seed(solid=solid)
            p.spray.append(thrown, velocity=10 * thrown, radius=np.full(len(thrown), 0.02, dtype))
            v = velocity.copy()
            numbers = []
            for _ in range(2):
                r = p.advance(v, 0.05, solid=solid)
                f = p.advance_spray(0.05, (0.0,) * (dimension - 1) + (-9.8,), solid, drag=0.5, restitution=0.3, open_sides=["y+"])
                b = p.reincorporate(v)
                s = r.seeding or p.reseed()
                numbers += [r.advected, r.corrections[1].outside, r.corrections[1].inside, r.removal.spray.count, r.removal.spray.volume]
                numbers += [f.hits, f.left.count, f.left.volume, b.spray.count, b.spray.volume, *b.momentum, s.added, s.surplus]
            assert len(p.particles) > 20000
            assert len(p.spray) > 0
            sets = [a for q in (p.particles, p.spray, p.bubbles) for a in (q.positions, q.ids, *(q[c] for c in q.columns))]
            return [p.levelset.array.copy(), *components(v), *(a.copy() for a in sets), np.array(numbers, float)]

        everywhere(run, threads=THREADS if dimension == 2 else (2, 3, 8))

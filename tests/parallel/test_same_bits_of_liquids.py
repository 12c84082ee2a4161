"""Bitwise reproducibility of whole liquid steps, whatever the number of threads and the vector width."""

from typing import Any

import numpy as np
import pytest
from support.build import components
from support.same_bits import THREADS, everywhere

import meniscus as ms
from meniscus.fluids import Drain, LiquidOptions, LiquidSolver, LiquidSource, VortexParticles
from meniscus.surface import Box, KinematicSolid, Sphere


@pytest.mark.fast_cases("2d-*", "3d-f32-level-set")
@pytest.mark.parametrize("tracking", ["particle-level-set", "level-set"])
def test_liquid(tracking: Any, dimension: int, dtype: type) -> None:
    """Steps with everything that a solver can have."""
    n = {2: 90, 3: 28}[dimension]
    rest = (0.0,) * (dimension - 1)
    options = LiquidOptions(
        tracking=tracking,
        viscosity=1e-3,
        surface_tension=0.02,
        drift_correction=True,
        vortex_strength=1e-3,
        reseed_every=2,
        tolerance=1e-8 if dtype is np.float64 else 1e-5,
    )

    def run() -> list[np.ndarray]:
        rng = np.random.default_rng(50)
        w = rng.normal(size=(200, 3) if dimension == 3 else 200)
        liquid = LiquidSolver(
            ms.Grid((n,) * dimension, 1 / n),
            options,
            dtype=dtype,
            boundary={"x+": ms.Open(), "x-": ms.Wall(slip="no-slip")},
            solid=KinematicSolid(Sphere((0.6,) * dimension, 0.12), lambda t: (0.3 * t, *rest)),
            sources=[LiquidSource(region=Sphere((0.3,) * (dimension - 1) + (0.8,), 0.1), velocity=(*rest, -1.0))],
            drains=[Drain(region=Box((0.8,) * dimension, (0.95,) * dimension))],
            vortices=VortexParticles(rng.uniform(0, 0.4, (200, dimension)).astype(dtype), w.astype(dtype), 0.1),
        )
        liquid.fill(Box((-1.0,) * dimension, (0.5,) * dimension))
        liquid.velocity.u[...] = rng.uniform(-1, 1, liquid.velocity.u.shape)
        reports = [liquid.step(0.01) for _ in range(3)]
        numbers = np.array([[r.volume, r.kinetic_energy, r.max_speed, r.correction, r.drops] for r in reports])
        result = [*components(liquid.velocity), liquid.levelset.array.copy(), liquid.pressure.array.copy(), numbers]
        if liquid.particles is not None:
            p = liquid.particles
            result += [p.particles.positions.copy(), p.particles["radius"].copy(), p.particles.ids.copy(), p.spray.positions.copy()]
        return result

    everywhere(run, threads=THREADS if dimension == 2 else (2, 5))

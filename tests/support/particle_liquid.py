"""Particle liquids for tests: tanks, a solver with all that it can have, and its state."""

from typing import Any

import numpy as np

import meniscus as ms
from meniscus.fluids import (
    Drain,
    LiquidParticles,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
)
from meniscus.surface import Box, KinematicSolid, Pose, Sphere
from support.build import components

TRANSFERS = ("flip", "pic", "apic")
FAR = 100.0


def below(dimension: int, top: float, axis: int = -1) -> Box:
    """Everything below a height."""
    high = np.full(dimension, FAR)
    high[axis] = top
    return Box((-FAR,) * dimension, tuple(high))


def tank(dimension: int, n: int = 16, **options: Any) -> ParticleLiquidSolver:
    return ParticleLiquidSolver(
        ms.Grid((n,) * dimension, 1 / n), ParticleLiquidOptions(**{"particles": LiquidParticles(jitter=0.0), **options})
    )


def state(s: ParticleLiquidSolver) -> list[np.ndarray]:
    p = s.particles
    arrays = [
        *components(s.velocity),
        s.pressure.array.copy(),
        p.positions.copy(),
        p["velocity"].copy(),
        p["distance"].copy(),
        p.ids.copy(),
    ]
    if "affine" in p.columns:
        arrays.append(p["affine"].copy())
    return [*arrays, np.array(s.time)]


def everything(dimension: int = 2, dtype: Any = np.float64, transfer: str = "flip", n: int = 12, **more: Any) -> ParticleLiquidSolver:
    """All that a solver can have: a source and a drain, a solid that moves, an open side, viscosity, the correction."""
    side = (0.5,) * (dimension - 1)
    s = ParticleLiquidSolver(
        ms.Grid((n,) * dimension, 1 / n),
        ParticleLiquidOptions(
            **{"transfer": transfer, "viscosity": 1e-3, "particles": LiquidParticles(density_correction=True), "slip": "no-slip", **more}
        ),
        dtype=dtype,
        boundary={"x+": ms.Open()},
        solid=KinematicSolid(Sphere((0.0,) * dimension, 0.15), lambda t: Pose((0.3 + 0.5 * t, *side))),
        sources=[
            LiquidSource(
                region=Box((0.1,) * (dimension - 1) + (0.7,), (0.3,) * (dimension - 1) + (0.9,)), velocity=(1.0,) + (0.0,) * (dimension - 1)
            )
        ],
        drains=[Drain(region=Box((0.8,) + (-1.0,) * (dimension - 1), (0.9,) + (0.1,) * (dimension - 1)))],
    )
    s.fill(below(dimension, 0.4))
    return s

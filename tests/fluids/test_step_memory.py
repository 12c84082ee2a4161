"""Memory of the stages of the fluid solvers: none of them takes as much as one byte per cell from NumPy."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import scalar_types

import meniscus as ms
from meniscus.fluids import (
    Drain,
    Emitter,
    LiquidOptions,
    LiquidParticles,
    LiquidSolver,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    PressureOptions,
    SmokeOptions,
    SmokeSolver,
    TransportOptions,
    VortexParticles,
    VorticityOptions,
)
from meniscus.surface import Box, KinematicSolid, Pose, Sphere

N = {2: 224, 3: 36}
DT = 2e-3


def sphere(dimension: int) -> KinematicSolid:
    """A ball that moves along x."""
    return KinematicSolid(Sphere((0.6,) * dimension, 0.12), lambda t: (0.3 * t,) + (0.0,) * (dimension - 1))


def sideways(time: float, dimension: int) -> Pose:
    """Position of a region that moves along x."""
    return Pose((0.2 * time,) + (0.0,) * (dimension - 1))


def vortices(dimension: int, dtype: Any) -> VortexParticles:
    rng = np.random.default_rng(7)
    w = rng.normal(size=(50, 3) if dimension == 3 else 50)
    return VortexParticles(rng.uniform(0.1, 0.4, (50, dimension)).astype(dtype), w.astype(dtype), 0.1)


def smoke(dimension: int, dtype: Any, **more: Any) -> SmokeSolver:
    return SmokeSolver(
        ms.Grid((N[dimension],) * dimension, 1 / N[dimension]),
        SmokeOptions(
            slip="no-slip",
            viscosity=1e-4,
            vorticity=VorticityOptions(confinement=0.1, vortex_strength=1e-3),
            acceleration=(0.1,) * dimension,
            tolerance=1e-3,
            **more,
        ),
        dtype=dtype,
        boundary={"xyz"[dimension - 1] + "+": ms.Open()},
        solid=sphere(dimension),
        emitters=[
            Emitter(region=Sphere((0.3,) * dimension, 0.1), density=1.0, temperature=1.0, velocity=(0.1,) * dimension),
            Emitter(
                region=Box((0.2,) * dimension, (0.3,) * dimension),
                motion=lambda t: sideways(t, dimension),
                density_rate=1.0,
                divergence=0.1,
            ),
        ],
        vortices=vortices(dimension, dtype),
    )


def liquid(tracking: Any, dimension: int, dtype: Any, air: Any = "open") -> LiquidSolver:
    solver = LiquidSolver(
        ms.Grid((N[dimension],) * dimension, 1 / N[dimension]),
        LiquidOptions(
            tracking=tracking,
            slip="no-slip",
            viscosity=1e-4,
            surface_tension=0.02,
            drift_correction=True,
            surface_order="first",
            vortex_strength=1e-3,
            tolerance=1e-3,
            air=air,
        ),
        dtype=dtype,
        boundary={"x+": ms.Open()},
        solid=sphere(dimension),
        sources=[LiquidSource(region=Sphere((0.3,) * (dimension - 1) + (0.8,), 0.1), velocity=(0.0,) * (dimension - 1) + (-1.0,))],
        drains=[Drain(region=Box((0.85,) * dimension, (0.95,) * dimension), motion=lambda t: sideways(t, dimension))],
        vortices=vortices(dimension, dtype),
    )
    solver.fill(Box((-1.0,) * dimension, (0.5,) * dimension))
    solver.fill(Sphere((0.75,) * dimension, 0.1))
    return solver


def particles(transfer: Any, dimension: int, dtype: Any) -> ParticleLiquidSolver:
    solver = ParticleLiquidSolver(
        ms.Grid((N[dimension],) * dimension, 1 / N[dimension]),
        ParticleLiquidOptions(
            transfer=transfer,
            slip="no-slip",
            viscosity=1e-4,
            particles=LiquidParticles(density_correction=True),
            pressure=PressureOptions(tolerance=1e-3),
        ),
        dtype=dtype,
        boundary={"x+": ms.Open()},
        solid=sphere(dimension),
        sources=[LiquidSource(region=Sphere((0.3,) * (dimension - 1) + (0.8,), 0.1), velocity=(0.0,) * (dimension - 1) + (-1.0,))],
        drains=[Drain(region=Box((0.85,) * dimension, (0.95,) * dimension), motion=lambda t: sideways(t, dimension))],
    )
    solver.fill(Box((-1.0,) * dimension, (0.5,) * dimension))
    return solver


SOLVERS: dict[str, Callable[[int, Any], Any]] = {
    "smoke": smoke,
    "smoke along a map": lambda *a: smoke(*a, splitting="trapezoid", transport=TransportOptions(method="flow-map")),
    "level set": lambda dimension, dtype: liquid("level-set", dimension, dtype),
    "particle level set": lambda dimension, dtype: liquid("particle-level-set", dimension, dtype),
    "pockets of air": lambda dimension, dtype: liquid("level-set", dimension, dtype, "pockets"),
    "two fluids": lambda dimension, dtype: liquid("particle-level-set", dimension, dtype, "fluid"),
    "flip": lambda dimension, dtype: particles("flip", dimension, dtype),
    "apic": lambda dimension, dtype: particles("apic", dimension, dtype),
}


def taken_by(action: Callable[[], object]) -> int:
    """Bytes that Python and NumPy take at most, during an action, beyond what they held before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.fast_cases("2d*", "3d-smoke", "3d-level set")
@pytest.mark.parametrize("kind", SOLVERS)
def test_no_stage_takes_an_array(kind: str, dimension: int) -> None:
    """A mask of the cells, the smallest array over the grid, takes a byte per cell; everything that a stage takes is smaller."""
    solver = SOLVERS[kind](dimension, scalar_types(dimension)[0 if kind.startswith(("smoke", "apic")) else -1])
    for _ in range(2):
        solver.step(DT)
    cells = N[dimension] ** dimension
    stages = {"max_dt": solver.max_dt} | {name: lambda name=name: getattr(solver, name)(DT) for name in solver.stages}
    assert {name: n for name, n in ((name, taken_by(stage)) for name, stage in stages.items()) if n >= cells} == {}


@pytest.mark.fast_cases("2d*", "3d-smoke")
@pytest.mark.parametrize("kind", ["smoke", "smoke along a map", "level set"])
def test_repeated_steps_take_no_blocks(kind: str, dimension: int) -> None:
    """Fields, particles and scratch memory stay where they are, too."""
    solver = SOLVERS[kind](dimension, np.float64)
    for dt in (DT, DT, 1e-6, 1e-6):  # the first two are long enough for every stage to have something to do
        solver.step(dt)
    before = ms.core.block_allocations()
    for _ in range(2):
        solver.step(1e-6)
    assert ms.core.block_allocations() == before

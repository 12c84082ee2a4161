"""Torture of the solvers for fluids (RTP-01): solids that jump, pulses of 100 g, random fills, sources, sides, options and steps.

Everything is legal, most of it senseless. Each step ends with finite and bounded values, or says in one sentence why it cannot be taken
and changes nothing. Speeds are bounded by the fastest of what was put in, times what slits let through: fluid that cannot be compressed
passes a slit of a hundredth of a cell at a hundred times the speed of the wall that drives it, and at any length of the step.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.shells import star
from support.tet_vof.coupled import ball
from support.tet_vof.meshes import about, inner, lattice

import meniscus as ms
from meniscus.core import SolverWarning
from meniscus.coupling import KDSMWater, KinematicShell, ShellCoupling, Shells
from meniscus.fluids import (
    Drain,
    Emitter,
    LiquidOptions,
    LiquidSolver,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    SmokeOptions,
    SmokeSolver,
    TetVOF,
    VorticityOptions,
)
from meniscus.numerics.solve import ConvergenceError
from meniscus.surface import Box, HalfSpace, KinematicSolid, Pose, Sphere

RENEWED = 50
"""Steps after which all is made anew."""
LONGEST = 0.05
"""Of the steps where nothing moves, s."""
SLITS = {2: 2e4, 3: 2e5}
"""Bounds of speeds relative to what was put in, by dimension: a face may be open by a ten thousandth of its edge."""
REST = lattice(0.25, (5, 5, 5), 3, shear=0.1, stir=0.1)


class Path:
    """Places that follow each other every so often, with a glide between them or by jumps."""

    def __init__(self, rng: np.random.Generator, low: Any, high: Any, dimension: int) -> None:
        self.places = rng.uniform(low, high, (400, dimension))
        self.every = float(10 ** rng.uniform(-2, 0))
        self.jumps = bool(rng.integers(2))

    def at(self, time: float) -> np.ndarray:
        number = int(time / self.every)
        part = 0.0 if self.jumps else time / self.every - number
        return (1 - part) * self.places[number % 400] + part * self.places[(number + 1) % 400]

    def __call__(self, time: float) -> tuple[float, ...]:
        return tuple(self.at(time))


def any_shape(rng: np.random.Generator, dimension: int) -> Any:
    """A ball, a box or a half-space, in the domain or beside it; at times all of space."""
    center = rng.uniform(-0.2, 1.2, dimension)
    kind = rng.integers(5)
    if kind == 0:
        return Box(tuple(center), tuple(center + rng.uniform(0.01, 1.0, dimension)))
    if kind == 1:
        normal = rng.normal(size=dimension)
        return HalfSpace(tuple(center), tuple(normal / np.linalg.norm(normal)))
    if kind == 2 and rng.random() < 0.3:
        return Box((-1.0,) * dimension, (2.0,) * dimension)
    return Sphere(tuple(center), float(rng.uniform(0.01, 0.6)))


def any_solid(rng: np.random.Generator, dimension: int) -> KinematicSolid:
    return KinematicSolid(any_shape(rng, dimension), Path(rng, -0.1, 1.1, dimension))


def sides_at_random(rng: np.random.Generator, grid: ms.Grid) -> dict[str, Any]:
    made: dict[str, Callable[[], Any]] = {
        "wall": ms.Wall,
        "open": ms.Open,
        "free": ms.ZeroGradient,
        "given": lambda: ms.Prescribed(tuple(0.5 * rng.normal(size=grid.dimension))),
    }
    return {side: made[str(rng.choice(list(made), p=[0.5, 0.25, 0.1, 0.15]))]() for side in grid.sides}


def on_grid(kind: str, rng: np.random.Generator, dimension: int) -> Any:
    n = {2: 20, 3: 9}[dimension]
    shape = tuple(int(k) for k in rng.integers(n - 4, n + 5, dimension))
    grid = ms.Grid(shape, 1 / n, periodic=tuple(bool(p) for p in rng.random(dimension) < 0.2))
    dtype = np.float32 if dimension == 3 and rng.integers(2) else np.float64
    named: dict[str, Any] = {"dtype": dtype, "boundary": sides_at_random(rng, grid)}
    named["solid"] = any_solid(rng, dimension) if rng.random() < 0.6 else None
    viscous: dict[str, Any] = {"viscosity": float(rng.choice([0.0, 0.0, 1e-3, 1.0])), "slip": str(rng.choice(["free", "no-slip"]))}
    if kind == "smoke":
        emitter = Emitter(
            any_shape(rng, dimension),
            density=float(rng.uniform(0, 3)),
            temperature=float(rng.uniform(0, 100)),
            divergence=float(rng.normal()),
            velocity=tuple(rng.normal(size=dimension)),
        )
        swirl = VorticityOptions(confinement=float(rng.random()))
        weights = {"temperature_weight": float(rng.uniform(0, 5)), "density_weight": float(rng.uniform(0, 5))}
        return SmokeSolver(grid, SmokeOptions(vorticity=swirl, **weights, **viscous), emitters=[emitter], **named)
    rate = float(rng.normal()) if rng.integers(2) else None
    source = LiquidSource(any_shape(rng, dimension), velocity=tuple(rng.normal(size=dimension)), rate=rate)
    named["sources"] = [source] * int(rng.integers(2))
    named["drains"] = [Drain(Sphere(tuple(rng.random(dimension)), 0.15))] * int(rng.integers(2))
    solver: Any
    if kind == "liquid":
        chosen: dict[str, Any] = {
            "tracking": str(rng.choice(["particle-level-set", "level-set"])),
            "air": str(rng.choice(["open", "pockets", "fluid"], p=[0.5, 0.25, 0.25])),
            "surface_tension": float(rng.choice([0.0, 0.0, 0.07, 10.0])),
            "per_cell": {2: None, 3: 16}[dimension],
            **{name: bool(rng.integers(2)) for name in ("drift_correction", "expansion", "gather")},
        }
        solver = LiquidSolver(grid, LiquidOptions(**chosen, **viscous), **named)
    else:
        solver = ParticleLiquidSolver(grid, ParticleLiquidOptions(transfer=kind, **viscous), **named)  # type: ignore[arg-type]
    solver.fill(any_shape(rng, dimension))
    return solver


def on_tetrahedra(rng: np.random.Generator) -> TetVOF:
    """In a mesh that jumps and turns by half a circle from one step to the next."""
    path, free = Path(rng, -1.0, 1.0, 3), inner(REST)

    def moved(time: float) -> np.ndarray:
        stirred = REST.vertices + 0.04 * free[:, None] * np.sin(9 * time + 40 * REST.vertices)
        return np.asarray(stirred @ about([1, 2, 3], 3 * path.at(time)[0]).T + path.at(time))

    solid = KinematicSolid(Sphere((0.0, 0.0, 0.0), float(rng.uniform(0.1, 0.4))), Path(rng, -0.5, 0.5, 3)) if rng.integers(2) else None
    source = LiquidSource(Sphere(tuple(0.3 * rng.normal(size=3)), 0.2), velocity=tuple(rng.normal(size=3)))
    drain = Drain(Sphere(tuple(0.3 * rng.normal(size=3)), 0.15))
    chosen: dict[str, Any] = {"outside": [None, "wall"][rng.integers(2)], "samples": str(rng.choice(["random", "exact"]))}
    water = TetVOF(ms.mesh.MovingTetMesh(REST, moved), solid, sources=[source], drains=[drain] * int(rng.integers(2)), **chosen)
    water.fill(Box((-0.4, -0.4, -0.4), (0.4, 0.4, 0.4)), tuple(rng.normal(size=3)))
    return water


def on_kdsm(rng: np.random.Generator) -> KDSMWater:
    path = Path(rng, -0.4, 0.4, 3)

    def pose(time: float) -> Pose:
        turned = 3 * path.at(time)[0]
        return Pose(path(time), (math.cos(turned), 0.0, 0.0, math.sin(turned)))

    stream = LiquidSource(Sphere((1.0, 1.0, 1.38), 0.1), velocity=(0.0, 0.0, -1.5))
    return ball(10, pose=pose, level=float(rng.uniform(0.2, 1.9)), sources=[stream] * int(rng.integers(2)))


def with_shells(rng: np.random.Generator) -> ShellCoupling:
    n = int(rng.integers(14, 22))
    grid = ms.Grid((n, n), 1 / n)
    path = Path(rng, 0.1, 0.9, 2)
    solver = [SmokeSolver, LiquidSolver, ParticleLiquidSolver][rng.integers(3)](grid)
    sim = ShellCoupling(solver, Shells(grid, [KinematicShell(star(rng), lambda time: Pose(path(time), float(3 * path.at(time)[0])))]))
    if isinstance(solver, SmokeSolver):
        for d in range(2):
            solver.velocity.component(d)[...] = rng.normal(size=solver.velocity.component(d).shape)
    else:
        sim.fill(HalfSpace((0.0, float(rng.uniform(0.2, 0.9))), (0.0, 1.0)), (0.5 / n, 0.5 / n))
    return sim


def leaves(value: Any) -> list[bytes]:
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in leaves(item)]
    return [np.asarray(value).tobytes()]


def abuse(solver: Any, rng: np.random.Generator, dimension: int) -> float:
    """Do something to a solver on a grid, perhaps; return the speed that this puts in, m/s."""
    what = rng.random()
    if what < 0.03:
        solver.solid = any_solid(rng, dimension) if rng.integers(2) else None
    elif what < 0.06:
        for d in range(dimension):
            solver.velocity.component(d)[...] += 3 * rng.normal(size=solver.velocity.component(d).shape)
        return 15.0
    elif what < 0.16 and not isinstance(solver, SmokeSolver):
        if what < 0.11:
            solver.gravity = 980 * rng.normal(size=dimension) if rng.integers(2) else np.zeros(dimension)
        else:
            solver.fill(any_shape(rng, dimension))
    return 0.0


def torture(make: Callable[[np.random.Generator], Any], dimension: int, steps: int, seed: int, grids: bool) -> None:
    """Take steps of any length; of these at most one in a hundred is refused, and one in twenty is faster than thirty times the input."""
    rng = np.random.default_rng([seed, dimension])
    refused = fast = 0
    kept: Any = None
    put_in = 0.0
    for number in range(steps):
        if number % RENEWED == 0:
            solver, put_in, kept = make(rng), 10.0, None
        if grids:
            put_in += abuse(solver, rng, dimension)
        fluid = solver.solver if isinstance(solver, ShellCoupling) else solver.liquid if isinstance(solver, KDSMWater) else solver
        if rng.random() < 0.03:
            kept = solver.snapshot()
        elif kept is not None and rng.random() < 0.03:
            solver.restore(kept)
        dt = min(solver.max_dt(), LONGEST) * (10 ** rng.uniform(-3, 1) if rng.random() < 0.4 else 1.0)
        before = solver.snapshot() if rng.random() < 0.2 else None
        put_in += 10 * dt * float(np.linalg.norm(getattr(fluid, "gravity", 10.0)))
        try:
            solver.step(dt)
        except ConvergenceError:
            refused += 1
            assert before is None or leaves(solver.snapshot()) == leaves(before)
            continue
        parts = [fluid.velocity] if isinstance(fluid, TetVOF) else [fluid.velocity.component(d) for d in range(dimension)]
        if isinstance(solver, KDSMWater):
            parts.append(solver.vof.velocity)
        assert all(np.isfinite(part).all() for part in parts)
        # A mesh, a body and a solid that jump are as fast as that is far.
        fastest = max(float(np.abs(part).max()) for part in parts)
        allowed = put_in + (fluid.sampled_solid.max_speed(fluid.time) if grids else 4.0 / dt)
        assert fastest < SLITS[dimension] * allowed, f"step {number} of {dt} s: {fastest} m/s of {allowed}"
        fast += fastest > 30 * allowed
    assert refused <= max(1, 0.01 * steps)
    assert fast <= max(2, 0.05 * steps)


KINDS = ("smoke", "liquid", "flip", "pic", "apic")
LENGTH = [60, pytest.param(10_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("steps", LENGTH)
@pytest.mark.parametrize("kind", KINDS)
def test_fluids_on_grids_survive(kind: str, steps: int, dimension: int, request: pytest.FixtureRequest) -> None:
    if (kind, steps, dimension) == ("flip", 10_000, 3):
        # A half-space that closes on a periodic box presses all of the fluid through what is left at its seam, step by step less.
        slit = "faces are open from a hundred millionth of their area on, and let 1.5e8 m/s through"
        request.applymarker(pytest.mark.xfail(strict=True, reason=slit))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SolverWarning)
        torture(lambda rng: on_grid(kind, rng, dimension), dimension, steps, 5, grids=True)


@pytest.mark.parametrize("steps", LENGTH)
@pytest.mark.parametrize(("make", "dimension"), [(on_tetrahedra, 3), (on_kdsm, 3), (with_shells, 2)])
def test_fluids_on_meshes_and_beside_shells_survive(make: Callable[[np.random.Generator], Any], dimension: int, steps: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # also of solids that miss the mesh
        torture(make, dimension, steps, 6, grids=False)

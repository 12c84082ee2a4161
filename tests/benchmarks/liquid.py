"""Benchmark cases of the liquid solver: whole steps and their stages in a dam break, beside PhiFlow."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import Box

FULL_SIZES = (64, 96)
QUICK_SIZES = (12,)
PEER_SIZE = 32
DT = 0.004
WARM_UP = 6
STAGES = ("transport", "spray", "project", "extend")
DTYPES = {"float32": np.float32, "float64": np.float64}


def dam(n: int, dtype: str, tracking: str) -> LiquidSolver:
    """A column that fills a quarter of the tank, some steps after its release."""
    options = LiquidOptions(tracking=tracking, tolerance=1e-5 if dtype == "float32" else 1e-8)  # type: ignore[arg-type]
    solver = LiquidSolver(ms.Grid((n, n // 2, n), 1 / n), options, dtype=DTYPES[dtype])
    solver.fill(Box((-1.0, -1.0, -1.0), (0.5, 2.0, 0.5)))
    for _ in range(WARM_UP):
        solver.step(DT)
    return solver


def step_case(n: int, dtype: str, tracking: str) -> Case:
    """Whole steps, always the same one."""
    solver = dam(n, dtype, tracking)
    start = solver.snapshot()
    markers = 0 if solver.particles is None else len(solver.particles.particles)
    return Case(
        name=f"liquid/{n}/{dtype}/step/{tracking}",
        group="liquid",
        work=int(np.prod(solver.grid.shape)),
        unit="Mcell/s",
        run=partial(solver.step, DT),
        prepare=partial(solver.restore, start),
        state_bytes=solver.nbytes,
        parameters={"shape": solver.grid.shape, "liquid_cells": int((solver.levelset.array <= 0).sum()), "particles": markers},
    )


def stage_case(n: int, dtype: str, stage: str) -> Case:
    """One stage of a step, after those before it."""
    solver = dam(n, dtype, "particle-level-set")
    names = solver.stages[: solver.stages.index(stage)]
    before = solver.snapshot()

    def prepare() -> None:
        solver.restore(before)
        for name in names:
            getattr(solver, name)(DT)

    return Case(
        name=f"liquid/{n}/{dtype}/{stage}",
        group="liquid",
        work=int(np.prod(solver.grid.shape)),
        unit="Mcell/s",
        run=partial(getattr(solver, stage), DT),
        prepare=prepare,
        state_bytes=solver.nbytes,
        parameters={"shape": solver.grid.shape},
    )


def names(sizes: tuple[int, ...]) -> Iterator[tuple[str, Callable[[], Case]]]:
    """Names of all cases, and what makes them."""
    for n in sizes:
        for dtype in DTYPES:
            for tracking in ("particle-level-set", "level-set"):
                yield f"liquid/{n}/{dtype}/step/{tracking}", partial(step_case, n, dtype, tracking)
        for stage in STAGES:
            yield f"liquid/{n}/float32/{stage}", partial(stage_case, n, "float32", stage)


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    return [make() for name, make in names(QUICK_SIZES if quick else FULL_SIZES) if chosen(name)]


def phiflow_step(n: int) -> Callable[[], Any]:
    """Return a step of PhiFlow's liquid of particles (FLIP): the same dam, with eight particles per cell, on its NumPy backend."""
    flow = importlib.import_module("phi.flow")
    domain, shape = flow.Box(x=1, y=0.5, z=1), {"x": n, "y": n // 2, "z": n}
    count = 8 * (n // 2) ** 3
    positions = np.random.default_rng(3).random((count, 3)) * 0.5
    points = flow.math.tensor(positions, flow.instance("points"), flow.channel(vector="x,y,z"))
    particles = flow.PointCloud(points, flow.math.zeros_like(points))
    faces = flow.StaggeredGrid(0, 0, domain, **shape)
    cells = flow.CenteredGrid(0, flow.extrapolation.ZERO_GRADIENT, domain, **shape)
    gravity = flow.math.vec(x=0, y=0, z=-9.81)

    def step() -> Any:
        before = flow.field.finite_fill(flow.resample(particles, faces, scatter=True, outside_handling="clamp"))
        liquid = flow.resample(flow.field.mask(particles), cells, scatter=True, outside_handling="clamp")
        solve = flow.Solve("CG", rel_tol=1e-5)
        after, _ = flow.fluid.make_incompressible(before + gravity * DT, (), solve, active=liquid)
        moved = particles + flow.resample(after - before, to=particles)
        return flow.advect.points(moved, after, DT)

    return step


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """PhiFlow's liquid, which is one of particles."""
    name, n = "peers/phiflow/liquid/step", QUICK_SIZES[0] if quick else PEER_SIZE
    if not chosen(name):
        return []
    size = (QUICK_SIZES if quick else FULL_SIZES)[0]
    peer = Peer(
        name, f"PhiFlow {version('phiflow')}", f"liquid/{size}/float32/step/particle-level-set", "FLIP, eight particles per cell; NumPy"
    )
    try:
        run = phiflow_step(n)
    except ImportError as error:
        peer.unavailable = f"not importable: {error}"
        return [peer]
    peer.case = Case(name, "peers", n * n * (n // 2), "Mcell/s", run, threads=(1,), rounds=2, parameters={"shape": (n, n // 2, n)})
    return [peer]

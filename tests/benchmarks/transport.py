"""Benchmark cases of transport: all methods, and the operators around them (extrapolation, particles, ghosts)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import traffic
from harness import Case

import meniscus as ms

CFL = 1.5
TYPES = ("float32", "float64")
# method, block, trace, interpolation
SCALAR_METHODS = (
    ("upwind", "upwind", "euler", "linear"),
    ("semi-lagrangian", "semi-lagrangian", "euler", "linear"),
    ("semi-lagrangian", "semi-lagrangian", "midpoint", "linear"),
    ("semi-lagrangian", "semi-lagrangian", "rk3", "linear"),
    ("semi-lagrangian", "semi-lagrangian", "midpoint", "cubic"),
    ("bfecc", "semi-lagrangian", "midpoint", "linear"),
    ("bfecc", "upwind", "euler", "linear"),
    ("maccormack", "semi-lagrangian", "euler", "linear"),
    ("maccormack", "semi-lagrangian", "midpoint", "linear"),
    ("maccormack", "semi-lagrangian", "rk3", "linear"),
    ("maccormack", "upwind", "euler", "linear"),
)
VELOCITY_METHODS = (
    ("semi-lagrangian", "semi-lagrangian", "midpoint", "linear"),
    ("maccormack", "semi-lagrangian", "euler", "linear"),
    ("maccormack", "semi-lagrangian", "midpoint", "linear"),
)
HEADLINES = ("scalar/3d/float32/maccormack-midpoint", "velocity/3d/float32/maccormack-midpoint")


@dataclass(frozen=True)
class Sizes:
    """Cells per axis in two and three dimensions, and points."""

    shape: dict[int, tuple[int, ...]]
    points: int


FULL = Sizes({2: (1024, 1024), 3: (128, 128, 128)}, 1_000_000)
QUICK = Sizes({2: (48, 48), 3: (16, 16, 16)}, 3000)


@dataclass
class World:
    """Common data of the cases of one dimension and dtype: a swirling velocity in the unit box and a scalar, half noise, half smooth."""

    dtype: str
    grid: ms.Grid
    velocity: ms.MacField
    field: ms.CellField
    start: np.ndarray
    dt: float  # CFL number 1.5
    upwind_dt: float  # the largest that upwinding takes in one substep

    @property
    def key(self) -> str:
        return f"{self.grid.dimension}d/{self.dtype}"

    @property
    def cells(self) -> int:
        return int(np.prod(self.grid.shape))

    @property
    def value_bytes(self) -> int:
        return np.dtype(self.dtype).itemsize

    @property
    def velocity_bytes(self) -> int:
        return sum(self.velocity.component_with_ghosts(d).nbytes for d in range(self.grid.dimension))

    def reset(self) -> None:
        self.field.array[...] = self.start


def make_world(shape: tuple[int, ...], dtype: str) -> World:
    """Build grid, velocity and scalar."""
    grid = ms.Grid(shape, 1.0 / shape[0])
    flow = ms.fluids.deformation() if grid.dimension == 3 else ms.fluids.single_vortex()
    velocity = ms.MacField(grid, dtype)
    flow.sample(velocity)
    smooth = np.ones(shape)
    for x in grid.cell_centers():
        smooth = smooth * np.sin(np.pi * x)
    noise = np.random.default_rng(20080601).random(shape)
    start = (0.5 * noise + 0.5 * smooth).astype(dtype)
    field = ms.CellField(grid, dtype)
    field.array = start
    dt = CFL * grid.spacing / ms.grid.max_speed(velocity)
    substeps = ms.fluids.advect(field.copy(), velocity, dt, method="upwind").substeps
    return World(dtype, grid, velocity, field, start, dt, dt / substeps * (1.0 - 1e-6))


def _label(method: str, block: str, trace: str, interpolation: str) -> str:
    if block == "upwind":
        return method if method == "upwind" else f"{method}-upwind"
    return f"{method}-{'cubic-' if interpolation == 'cubic' else ''}{trace}"


def scalar_case(
    world: World, method: str, block: str, trace: str, interpolation: str, limiter: str = "reversion", simd: str | None = None
) -> Case:
    """`advect` of the scalar."""
    space = ms.core.Workspace()
    options: dict[str, Any] = {"method": method, "trace": trace, "interpolation": interpolation, "limiter": limiter}
    if method in ("bfecc", "maccormack"):
        options["block"] = block
    dt = world.upwind_dt if block == "upwind" else world.dt
    suffix = ("" if limiter == "reversion" else f"-{limiter}") + (f"@{simd}" if simd else "")
    return Case(
        name=f"scalar/{world.key}/{_label(method, block, trace, interpolation)}{suffix}",
        group="simd" if simd else f"{world.grid.dimension}d",
        work=world.cells,
        unit="Mcell/s",
        run=partial(ms.fluids.advect, world.field, world.velocity, dt, workspace=space, **options),
        prepare=world.reset,
        threads=(1,) if simd else (1, 2),
        simd=simd,
        traffic=traffic.scalar_transport(method, block, trace, interpolation, limiter, world.grid.dimension, world.value_bytes),
        workspace=space,
        state_bytes=world.field.with_ghosts.nbytes,
        other_bytes=world.velocity_bytes,
        parameters={"what": "scalar", "dtype": world.dtype, "shape": world.grid.shape, "dt": dt, **options},
    )


def velocity_case(world: World, method: str, block: str, trace: str, interpolation: str, simd: str | None = None) -> Case:
    """`advect` of the velocity along itself."""
    space = ms.core.Workspace()
    velocity = world.velocity.copy()
    components = [(velocity.component(d), world.velocity.component(d)) for d in range(world.grid.dimension)]

    def reset() -> None:
        for mine, start in components:
            mine[...] = start

    options = {"method": method, "trace": trace, "interpolation": interpolation, "limiter": "reversion"}
    return Case(
        name=f"velocity/{world.key}/{_label(method, block, trace, interpolation)}{f'@{simd}' if simd else ''}",
        group="simd" if simd else f"{world.grid.dimension}d",
        work=world.cells,
        unit="Mcell/s",
        run=partial(ms.fluids.advect, velocity, velocity, world.dt, workspace=space, **options),
        prepare=reset,
        threads=(1,) if simd else (1, 2),
        simd=simd,
        traffic=traffic.velocity_transport(method, block, trace, interpolation, "reversion", world.grid.dimension, world.value_bytes),
        workspace=space,
        state_bytes=world.velocity_bytes,
        parameters={"what": "velocity", "dtype": world.dtype, "shape": world.grid.shape, "dt": world.dt, **options},
    )


def simd_levels() -> list[str]:
    """All instruction sets that this machine and build have."""
    levels = ["baseline", "avx2", "avx512"]
    return levels[: levels.index(ms.core.simd_supported()) + 1]


def extrapolation_case(world: World) -> Case:
    """Five layers around a ball of known samples, as between two steps of a liquid."""
    layers = 5
    distance2 = sum((x - 0.5) ** 2 for x in world.grid.cell_centers())
    known = np.ascontiguousarray(np.broadcast_to(distance2 < 0.35**2, world.grid.shape))
    space = ms.core.Workspace()
    return Case(
        name=f"extrapolate/{world.key}",
        group="other",
        work=world.cells,
        unit="Mcell/s",
        run=partial(ms.grid.extrapolate, world.field, known, layers=layers, workspace=space),
        prepare=world.reset,
        workspace=space,
        state_bytes=world.field.with_ghosts.nbytes,
        parameters={"dtype": world.dtype, "shape": world.grid.shape, "layers": layers, "known": float(known.mean())},
    )


def trace_cases(world: World, count: int) -> Iterator[Case]:
    """Points carried by RK3, in random order and in the order of the cells."""
    scattered = ms.Particles(np.random.default_rng(7).random((count, world.grid.dimension)).astype(world.dtype))
    ordered = ms.Particles(scattered.positions.copy())
    ordered.sort_by_cell(world.grid)
    for order, particles in (("random", scattered), ("sorted", ordered)):
        points, start, space = particles.positions, particles.positions.copy(), ms.core.Workspace()
        yield Case(
            name=f"trace/{world.key}/{order}",
            group="other",
            work=count,
            unit="Mpoint/s",
            run=partial(ms.grid.trace, points, world.velocity, world.dt, method="rk3", workspace=space),
            prepare=partial(np.copyto, points, start),
            traffic=traffic.point_trace("rk3", world.grid.dimension, world.cells / count, world.value_bytes),
            workspace=space,
            state_bytes=points.nbytes,
            other_bytes=world.velocity_bytes,
            parameters={"dtype": world.dtype, "points": count, "shape": world.grid.shape, "order": order, "trace": "rk3"},
        )


def sort_case(world: World, count: int) -> Case:
    """Particles in random order sorted by cell."""
    dimension = world.grid.dimension
    start = np.random.default_rng(11).random((count, dimension)).astype(world.dtype)
    particles = ms.Particles(start)
    particles.sort_by_cell(world.grid)
    occupied = len(particles.cells) / count
    space = ms.core.Workspace()
    row = dimension * world.value_bytes
    return Case(
        name=f"sort/{world.key}",
        group="other",
        work=count,
        unit="Mparticle/s",
        run=partial(particles.sort_by_cell, world.grid, workspace=space),
        prepare=partial(np.copyto, particles.positions, start),
        traffic=traffic.particle_sort((row, 8), row, world.cells, occupied),
        workspace=space,
        state_bytes=start.nbytes + particles.ids.nbytes,
        parameters={"dtype": world.dtype, "particles": count, "shape": world.grid.shape, "occupied_per_particle": occupied},
    )


def ghost_case(world: World, *, periodic: bool) -> Case:
    """Refilling all ghosts of a cell field: mirrored at walls, or exchanged between periodic sides."""
    grid = ms.Grid(world.grid.shape, world.grid.spacing, periodic=periodic)
    field = ms.CellField(grid, world.dtype)
    field.array = world.start
    ghosts = field.with_ghosts.size - field.array.size
    return Case(
        name=f"ghosts/{world.key}/{'periodic' if periodic else 'walls'}",
        group="other",
        work=ghosts,
        unit="Mghost/s",
        run=field.fill_ghosts,
        traffic=traffic.ghost_fill(world.value_bytes),
        state_bytes=field.with_ghosts.nbytes,
        parameters={"dtype": world.dtype, "shape": grid.shape, "ghosts": ghosts, "periodic": periodic},
    )


def make_worlds(sizes: Sizes) -> dict[str, World]:
    """All combinations of dimension and dtype that there are, by key."""
    worlds = (make_world(sizes.shape[dimension], dtype) for dimension, dtype in ((2, "float64"), *((3, t) for t in TYPES)))
    return {w.key: w for w in worlds}


def cases(worlds: dict[str, World], sizes: Sizes) -> Iterator[Case]:
    """Every case but the peers."""
    for world in worlds.values():
        for options in SCALAR_METHODS:
            yield scalar_case(world, *options)
        for options in VELOCITY_METHODS:
            yield velocity_case(world, *options)
    main = worlds["3d/float32"]
    # What PhiFlow's scheme does: straight traces, clamping.
    yield scalar_case(main, "maccormack", "semi-lagrangian", "euler", "linear", limiter="clamp")
    for level in simd_levels():
        yield scalar_case(main, "maccormack", "semi-lagrangian", "midpoint", "linear", simd=level)
        yield velocity_case(main, "maccormack", "semi-lagrangian", "midpoint", "linear", simd=level)
    for key in ("3d/float32", "3d/float64"):
        world = worlds[key]
        yield extrapolation_case(world)
        yield from trace_cases(world, sizes.points)
        yield sort_case(world, sizes.points)
        yield ghost_case(world, periodic=False)
        yield ghost_case(world, periodic=True)

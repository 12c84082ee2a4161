"""Programs with points and liquid particles whose results must be bit-identical on any number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.build import scalar_types

import meniscus as ms
from meniscus.fluids import (
    Drain,
    LiquidParticles,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    VortexParticles,
    advance_vortices,
    grid_to_particles,
    particle_density,
    particle_levelset,
    particles_to_grid,
    seed_vortices,
)
from meniscus.numerics import order_free_sums
from meniscus.surface import Box, KinematicSolid, Pose, Sphere

Arrays = dict[str, np.ndarray]
Make = Callable[..., ms.Grid]
"""Makes a grid, perhaps with blocks of its own."""


def everywhere(particles: ms.Particles, grid: ms.Grid) -> Arrays:
    """Return all columns of the particles of all ranks, by id; every particle is there once, in the block in which it lies."""
    size = np.array(grid.shape)
    cells = np.floor((particles.positions.astype(float) - grid.origin) / grid.spacing).astype(int)
    cells = np.where(grid.periodic, cells % size, np.clip(cells, 0, size - 1))
    first = np.array(grid.first_cell)
    assert ((cells >= first) & (cells < first + grid.local_shape)).all()
    order = np.ravel_multi_index(tuple(cells.T), grid.shape)
    assert (np.lexsort((particles.ids, order)) == np.arange(len(particles))).all()
    mine = {"id": particles.ids.copy(), "position": particles.positions.copy(), **{n: particles[n].copy() for n in particles.columns}}
    parts = grid.comm.gather(mine)
    whole = {name: np.concatenate([part[name] for part in parts]) for name in mine}
    by_id = np.argsort(whole["id"])
    assert len(np.unique(whole["id"])) == len(by_id)
    return {name: values[by_id] for name, values in whole.items()}


def own_part(grid: ms.Grid, whole: np.ndarray) -> np.ndarray:
    """Return the share of a rank in points that lie anywhere: every so manieth."""
    return np.ascontiguousarray(whole[grid.comm.rank :: grid.comm.size])


def put_together(grid: ms.Grid, own: np.ndarray) -> np.ndarray:
    """Return the shares of all ranks as one array again."""
    parts = grid.comm.gather(own)
    whole = np.empty((sum(map(len, parts)), *own.shape[1:]), own.dtype)
    for rank, part in enumerate(parts):
        whole[rank :: grid.comm.size] = part
    return whole


def _wave(scale: float, *x: np.ndarray) -> np.ndarray:
    total = 0.3 * scale
    for k, c in enumerate(x):
        total = total + np.sin((k + 1.7) * scale * c + k)
    return total


def _inflow(x: np.ndarray, time: float) -> np.ndarray:
    """A prescribed velocity that is faster than what is inside."""
    return np.stack([3 * np.cos(x.sum(axis=1) + d) for d in range(x.shape[1])], axis=1)


def _point_cases(make: Make) -> list[tuple[str, ms.Grid, Any]]:
    return [
        ("walls", make((33, 21), 0.1), None),
        ("periodic", make((25, 34), 0.1, periodic=(True, True)), None),
        ("open", make((19, 18, 22), 0.1, periodic=(False, True, False)), {"x-": ms.Open(), "z+": ms.ZeroGradient()}),
        ("prescribed", make((24, 17), 0.1), {"x-": ms.Prescribed(_inflow), "y+": ms.Wall(velocity=(5.0, 0.0), slip="no-slip")}),
    ]


def points(make: Make = ms.Grid) -> Arrays:
    """Values at points anywhere, also beyond the domain, and traces that go through several blocks."""
    result: Arrays = {}
    for name, grid, boundary in _point_cases(make):
        for dtype in scalar_types(grid.dimension):
            extent = np.array(grid.shape) * grid.spacing
            whole = ((2.0 * np.random.default_rng(3).random((500, grid.dimension)) - 0.5) * extent).astype(dtype)
            mine = own_part(grid, whole)
            cell = ms.CellField.from_function(grid, lambda *x: _wave(3.0, *x), dtype=dtype)
            node = ms.NodeField.from_function(grid, lambda *x: _wave(5.0, *x), dtype=dtype)
            velocity = ms.MacField(grid, dtype, boundary)
            flow = ms.MacField.from_function(
                grid, lambda x, t: np.stack([_wave(2.0 + d, *x.T) for d in range(x.shape[1])], axis=1), dtype=dtype
            )
            for d in range(grid.dimension):
                velocity.component(d)[...] = flow.component(d)
            key = f"{name} {np.dtype(dtype).name}"
            result[f"{key} cells"] = put_together(grid, ms.grid.sample(cell, mine))
            result[f"{key} cubic"] = put_together(grid, ms.grid.sample(node, mine, interpolation="cubic"))
            result[f"{key} velocity"] = put_together(grid, ms.grid.sample(velocity, mine, time=0.3))
            for cfl in (0.5, 3.0, 10.0):
                dt = cfl * grid.spacing / ms.grid.max_speed(velocity)
                for method in ("euler", "rk3"):
                    moved = mine.copy()
                    ms.grid.trace(moved, velocity, dt, method=method, outside="keep", time=0.2)
                    result[f"{key} {method} {cfl}"] = put_together(grid, moved)
    return result


def _random_particles(grid: ms.Grid, n: int, dtype: type, affine: bool) -> ms.Particles:
    rng = np.random.default_rng(7)
    extent = np.array(grid.shape) * grid.spacing
    x = (np.array(grid.origin) + rng.random((n, grid.dimension)) * extent * ([0.5] + [1.0] * (grid.dimension - 1))).astype(dtype)
    columns = {
        "velocity": rng.normal(size=(n, grid.dimension)).astype(dtype),
        "mass": rng.uniform(0.5, 2, n).astype(dtype),
        "distance": (-0.3 * rng.random(n)).astype(dtype),
    }
    if affine:
        columns["affine"] = rng.normal(size=(n, grid.dimension**2)).astype(dtype)
    particles = ms.Particles(x, replicated=True, grid=grid, **columns)
    particles.sort_by_cell(grid)
    return particles


def transfers(make: Make = ms.Grid) -> Arrays:
    """Transfers between particles and grid, and all surfaces of particles."""
    result: Arrays = {}
    for name, grid, n in (
        ("2-D", make((33, 21), 0.1), 1500),
        ("2-D periodic", make((17, 26), 0.1, origin=(1.0, -2.0), periodic=(True, True)), 900),
        ("3-D", make((12, 8, 17), 0.1, periodic=(False, False, True)), 2500),
    ):
        for dtype, affine in ((scalar_types(grid.dimension)[0], True), (np.float64, False)):
            key = f"{name} {np.dtype(dtype).name} {affine}"
            particles = _random_particles(grid, n, dtype, affine)
            velocity, mass = ms.MacField(grid, dtype), ms.MacField(grid, dtype)
            known = particles_to_grid(particles, velocity, mass=mass)
            for d, (u, m) in enumerate(zip(velocity.gather() or (), mass.gather() or (), strict=True)):
                result[f"{key} velocity {d}"], result[f"{key} mass {d}"] = u, m
            result[f"{key} known"] = np.array(
                [grid.comm.total(int(k[tuple(slice(None, m) for m in grid.local_shape)].sum())) for k in known]
            )
            result[f"{key} density"] = particle_density(particles, grid).gather()
            grid_to_particles(velocity, particles, before=mass, flip_ratio=0.7)
            for column, values in everywhere(particles, grid).items():
                result[f"{key} particles {column}"] = values
            for method, options in (
                ("spheres", {"radius": 0.05}),
                ("spheres", {}),
                ("average", {"cover": True}),
                ("average", {"cover": True, "carried": True, "band": 0.5}),
                ("density", {"cover": True, "per_cell": 3.0}),
                ("anisotropic", {}),
                ("anisotropic", {"carried": True, "support": 0.31}),
            ):
                found = particle_levelset(particles, grid, method=method, **options)
                result[f"{key} {method} {sorted(options)}"] = found.field.gather()
    return result


def liquid(
    grid: ms.Grid,
    dtype: type = np.float64,
    *,
    transfer: Any = "flip",
    steps: int = 2,
    dt: float = 0.02,
    boundary: Any = None,
    solid: Any = "sphere",
    sources: bool = True,
    **options: Any,
) -> Arrays:
    """Return everything that a run of a particle liquid with all its parts makes."""
    dimension = grid.dimension
    extent = np.array(grid.shape) * grid.spacing
    rest = tuple(0.5 * extent[1:])
    ball = KinematicSolid(Sphere((0.0,) * dimension, 0.15), lambda t: Pose((0.4 + 0.3 * t, *rest))) if solid == "sphere" else solid
    solver = ParticleLiquidSolver(
        grid,
        ParticleLiquidOptions(transfer=transfer, **options),
        dtype=dtype,
        boundary=boundary,
        solid=ball,
        sources=[LiquidSource(region=Sphere((*(0.3 * extent[:-1]), 0.8 * extent[-1]), 0.1), velocity=(1.0,) * dimension)]
        if sources
        else [],
        drains=[Drain(region=Box(tuple(0.6 * extent), tuple(0.7 * extent)))] if sources else [],
    )
    result: Arrays = {"filled": np.array(solver.fill(Sphere(tuple(0.5 * extent), 0.4)))}
    reports = [solver.step(dt) for _ in range(steps)]
    result["reports"] = np.array(
        [[r.particles, r.volume, r.kinetic_energy, r.max_speed, r.left, r.in_solid, r.projection.iterations] for r in reports]
    )
    result["totals"] = np.array([solver.volume.totals[k] for k in sorted(solver.volume.totals)])
    for d, u in enumerate(solver.velocity.gather() or ()):
        result[f"velocity {d}"] = u
    for name, field in (("pressure", solver.pressure), ("level set", solver.levelset.field)):
        whole = field.gather()
        if whole is not None:
            result[name] = whole
    return {**result, **{f"particles {n}": v for n, v in everywhere(solver.particles, grid).items()}, "max dt": np.array(solver.max_dt())}


def _runs(cases: dict[str, tuple[ms.Grid, dict[str, Any]]]) -> Arrays:
    """Run liquids; the pressures are solved with order-free sums on one rank too."""
    with order_free_sums():
        return {f"{name} {key}": a for name, (grid, options) in cases.items() for key, a in liquid(grid, **options).items()}


def plane_liquid(make: Make = ms.Grid) -> Arrays:
    """A particle liquid in the plane, with everything that it can have."""
    options = {"boundary": {"x+": ms.Open()}, "particles": LiquidParticles(density_correction=True), "viscosity": 1e-3, "slip": "no-slip"}
    return _runs({"flip": (make((26, 20), 0.05), options)})


def liquids(make: Make = ms.Grid) -> Arrays:
    """Particle liquids of other kinds."""
    spatial = {"particles": LiquidParticles(density_correction=True, correction_rate=None)}
    return _runs(
        {
            "apic": (make((21, 24), 0.05, periodic=(True, False)), {"transfer": "apic", "solid": None}),
            "3-D": (make((14, 12, 16), 0.07, periodic=(False, True, False)), spatial),
        }
    )


def handed_in(make: Make = ms.Grid) -> Arrays:
    """Particles that all ranks add alike, and vortices that all draw alike: kept once, with the ids of one rank."""
    result: Arrays = {}
    for name, grid in (("2-D", make((20, 13), 0.1)), ("3-D", make((13, 8, 10), 0.1, periodic=(True, False, True)))):
        rng = np.random.default_rng(8)
        extent = np.array(grid.shape) * grid.spacing
        for known in (False, True):
            x = 1.4 * rng.random((3, 90, grid.dimension)) * extent - 0.2 * extent
            where = grid if known else None
            particles = ms.Particles(x[0], number=np.arange(90), replicated=True, grid=where)
            particles.append(x[1], number=np.arange(90, 180), replicated=True, grid=where)
            if known:
                particles.sort_by_cell(grid)
            else:
                particles.migrate(grid)
            particles.append(x[2], number=7, replicated=True, grid=where)
            particles.migrate(grid)
            for column, values in everywhere(particles, grid).items():
                result[f"{name} {known} {column}"] = values
        vortices = VortexParticles(x[0], (0.0, 1.0, 2.0) if grid.dimension == 3 else 1.0, 0.1, replicated=True, grid=grid)
        for step in range(2):
            region = Box(tuple(0 * extent), tuple(extent))
            seed_vortices(vortices, region, rate=300.0, dt=0.1, strength=1.0, radius=0.1, time=0.1 * step, step=step)
            vortices.migrate(grid)
        for column, values in everywhere(vortices, grid).items():
            result[f"{name} vortices {column}"] = values
    return result


def pushed(make: Make = ms.Grid) -> Arrays:
    """Particles deep in a solid are pushed out of it through several blocks; others leave through open sides."""
    result: Arrays = {}
    for name, grid, reach in (
        ("2-D", make((40, 33), 0.1), 1.5),
        ("2-D periodic", make((36, 21), 0.1, periodic=(True, True)), 1.0),
        ("3-D", make((17, 16, 20), 0.1, periodic=(False, True, False)), 0.7),
    ):
        extent = np.array(grid.shape) * grid.spacing
        for dtype in scalar_types(grid.dimension):
            x = ((1.2 * np.random.default_rng(9).random((400, grid.dimension)) - 0.1) * extent).astype(dtype)
            vorticity: Any = np.zeros((400, 3), dtype) if grid.dimension == 3 else np.zeros(400, dtype)
            for leaving in ("remove", "clamp"):
                particles = VortexParticles(x, vorticity, 0.1, replicated=True)
                particles.migrate(grid)
                advance_vortices(
                    particles,
                    ms.MacField(grid, dtype),
                    0.1,
                    solid=Sphere(tuple(0.4 * extent), reach),
                    in_solid="push-out",
                    leaving=leaving,  # type: ignore[arg-type]
                )
                key = f"{name} {np.dtype(dtype).name} {leaving}"
                particles.migrate(grid)
                for column, values in everywhere(particles, grid).items():
                    result[f"{key} {column}"] = values
    return result


UNDER_MPI: dict[str, Callable[..., Arrays]] = {"points": points, "plane liquid": plane_liquid, "replicated particles": handed_in}
PROGRAMS = UNDER_MPI | {"particle transfers": transfers, "particle liquids": liquids, "pushed particles": pushed}

"""Programs of liquids, and of what a step of them is made of, whose results must be bit-identical on any number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from parallel.smoke_programs import Arrays, Cut, default_cut, flow, put
from parallel.surface_programs import noise, whole
from support.build import scalar_types

import meniscus as ms
from meniscus._meniscus import fluids as _fluids
from meniscus.core import Workspace
from meniscus.fluids import Drain, LiquidOptions, LiquidSolver, LiquidSource, VortexParticles
from meniscus.fluids.exchange.expansion import Expansion
from meniscus.fluids.liquid.faces import LiquidFaces
from meniscus.fluids.liquid.pockets import AirPockets
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.grid import Particles
from meniscus.numerics import order_free_sums
from meniscus.surface import Box, KinematicSolid, LevelSet, SolidBoundary, Sphere

core: Any = _fluids
SHAPES = {2: (37, 26), 3: (17, 13, 21)}
SIDES = {"sides": (False, False, False), "periodic": (True, False, True)}
LIQUID_OPTIONS: dict[str, Any] = {
    "all": {"viscosity": 1e-3, "surface_tension": 0.02, "vortex_strength": 1e-3, "reseed_every": 2, "spray": True},
    "exchange": {"expansion": True, "gather": True, "restitution": 0.4, "drag": 0.5, "reseed_every": 2},
    "level-set": {"tracking": "level-set", "viscosity": 1e-3, "surface_tension": 0.02, "surface_order": "first"},
    "pockets": {"air": "pockets", "slip": "no-slip", "reseed_every": 3},
    "fluid": {"air": "fluid", "air_density": 200.0, "air_viscosity": 1e-3, "viscosity": 1e-3},
}


def grids(cut: Cut, dimensions: tuple[int, ...]) -> Iterator[tuple[str, ms.Grid]]:
    for dimension in dimensions:
        for sides, periodic in SIDES.items():
            yield f"{dimension}-D {sides}", cut(SHAPES[dimension], periodic[:dimension])


def drops_of(grid: ms.Grid, time: float) -> Callable[..., np.ndarray]:
    """Return the distance to drops and a pool that move, merge, break up and leave with the time."""
    rng = np.random.default_rng(4)
    centres, speeds = rng.uniform(0, 1, (40, grid.dimension)), rng.uniform(-1, 1, (40, grid.dimension))
    radii = rng.uniform(0.06, 0.3, 40)

    def distance(*x: np.ndarray) -> np.ndarray:
        phi: Any = x[1] - 0.35 - 0.2 * np.sin(5 * x[0] + time)
        for centre, speed, radius in zip(centres * grid.extent, speeds, radii, strict=True):
            square: Any = 0
            for d, c in enumerate(x):
                length = grid.extent[d]
                away = c - centre[d] - speed[d] * time
                if grid.periodic[d]:
                    away = away - length * np.round(away / length)
                square = square + away**2
            phi = np.minimum(phi, np.sqrt(square) - radius)
        return phi

    return distance


def ball(grid: ms.Grid, dtype: Any = np.float64) -> SolidBoundary:
    distance = ms.NodeField.from_function(grid, lambda *x: np.sqrt(sum((c - 0.9) ** 2 for c in x)) - 0.43)
    return SolidBoundary(distance, None, "free", dtype)


def spray(grid: ms.Grid, dtype: Any, count: int) -> Particles:
    """Return drops, each on the rank in whose block it lies, with ids by their order."""
    rng = np.random.default_rng(8)
    x = (rng.uniform(0, 1, (count, grid.dimension)) * grid.extent).astype(dtype)
    x[: count // 4] = x[0] + 0.03 * (x[: count // 4] - x[0])
    columns = {"velocity": rng.normal(size=x.shape).astype(dtype), "radius": rng.uniform(0.02, 0.05, count).astype(dtype)}
    mine = np.arange(count) % grid.comm.size == grid.comm.rank
    p = Particles(x[mine], **{name: c[mine] for name, c in columns.items()})
    state = p.snapshot()
    state["id"], state["next id"] = np.flatnonzero(mine), np.array(count)
    p.restore(state)
    p.migrate(grid)
    return p


def put_particles(result: Arrays, name: str, grid: ms.Grid, p: Particles) -> None:
    """Add all columns of the particles of all ranks, by id."""
    order = None
    for column in ("id", "position", *p.columns):
        own = p.ids if column == "id" else p.positions if column == "position" else p[column]
        values = np.concatenate(grid.comm.gather(np.array(own)))
        order = np.argsort(values, kind="stable") if order is None else order
        result[f"{name} {column}"] = values[order]


def masks(cut: Cut = default_cut, dimensions: tuple[int, ...] = (2, 3)) -> Arrays:
    """Faces of liquids, narrow gaps, pockets with a history, and energies and momenta around a solid."""
    result: Arrays = {}
    for name, grid in grids(cut, dimensions):
        for dtype in scalar_types(grid.dimension):
            key = f"{name} {np.dtype(dtype).name}"
            zeros = [0] * grid.dimension
            sides = [[int(a == d) for a in range(grid.dimension)] for d in range(grid.dimension)]
            solid = ball(grid, dtype)
            phi = LevelSet(grid, "cells", dtype)
            phi.array = 0.1 * noise(grid, zeros, 3, dtype)
            velocity = flow(grid, dtype)
            velocity.fill_ghosts()
            faces = LiquidFaces(velocity, balanced=False)
            liquid = [m.copy() for m in faces.liquid(phi)]
            closed = [m.copy() for m in solid.inside_faces]
            air = np.zeros(grid.local_shape, bool)
            core.near_air_cells(phi.field._core, 0.15, air)
            bounds = ms.CellField(grid, dtype)
            core.limit_air_speed(velocity._core, phi.field._core, air, liquid, 0.4, bounds._core)
            put(result, f"{key} air", velocity)
            core.mark_gaps_at_walls(velocity._core, phi.field._core, 0.2, closed, bounds._core)
            put(result, f"{key} gaps", bounds)
            mostly = [np.zeros_like(mask) for mask in liquid]
            core.mostly_liquid_faces(phi.field._core, mostly)
            for d, mask in enumerate(liquid):
                result[f"{key} liquid {d}"] = whole(grid, mask, sides[d])
                result[f"{key} mostly liquid {d}"] = whole(grid, mostly[d], sides[d])
                result[f"{key} near {d}"] = whole(grid, faces.near_surface(phi, 0.05)[d], sides[d])
            momentum = core.liquid_momentum(velocity._core, phi.field._core, solid.levelset._core)
            numbers = [*faces.motion(velocity, phi, solid), *faces.motion(velocity, phi, None), faces.max_speed(velocity, phi), *momentum]
            result[f"{key} numbers"] = np.array(numbers)
            pockets = AirPockets(velocity)
            for step in range(5):
                phi.field.set_from_function(lambda *x, step=step, grid=grid: 0.02 * step - drops_of(grid, 0.05 * step)(*x))
                pockets.find(phi, solid if step % 2 else None)
                result[f"{key} pockets {step}"] = whole(grid, pockets.cells, zeros)
                result[f"{key} pocket cells {step}"] = np.array(pockets.count)
                if step < 2:
                    pockets.cells[...] = noise(grid, zeros, 9 + step) > 0.5
    return result


def budgets(cut: Cut = default_cut, dimensions: tuple[int, ...] = (2, 3)) -> Arrays:
    """The volumes of parts that move, merge, break up, vanish and leave, and their correction."""
    result: Arrays = {}
    for name, grid in grids(cut, dimensions):
        for dtype, speed in (*((t, 1.0) for t in scalar_types(grid.dimension)), (np.float64, 12.0)):
            key = f"{name} {np.dtype(dtype).name} {speed}"
            velocity = flow(grid, dtype, {"x-": ms.Open(), "x+": ms.Prescribed((-0.2,) * grid.dimension), "y+": ms.Open()})
            for d in range(grid.dimension):
                velocity.component(d)[...] *= dtype(speed)
            velocity.fill_ghosts()
            solid = ball(grid, dtype)
            phi = LevelSet(grid, "cells", dtype)
            volume = LiquidVolume(grid, velocity)
            drops = spray(grid, dtype, 60)
            for step in range(6):
                phi.field.set_from_function(drops_of(grid, 0.15 * step))
                nodes = solid.levelset if step % 2 else None
                if step == 0:
                    volume.reset(phi, nodes)
                volume.account_outflow(phi, velocity, 0.1, nodes)
                volume.account_inflow(phi, velocity, 0.1, nodes)
                volume.update_after_motion(velocity, 0.1, phi, nodes)
                if step % 3 == 1:
                    volume.subtract_drops(drops, phi, 0, nodes)
                volume.add_joining_drops(drops, phi, 0.0, nodes)
                volume.add_volumes(np.array(drops.positions, np.float64), 1e-3 * np.array(drops["radius"], np.float64), nodes)
                volume.distribute_unassigned()
                if step % 2 == 0:
                    volume.measure(phi, nodes)
                    phi.array = phi.array - dtype(0.01)
                    volume.update_after_sources("emitted", phi, nodes)
                moved = volume.correct(phi, nodes)
                result[f"{key} levels {step}"] = phi.field.gather()
                result[f"{key} labels {step}"] = whole(grid, np.array(volume.labels), [0] * grid.dimension)
                for part, values in volume.budget.items():
                    result[f"{key} {part} {step}"] = np.array(values)
                result[f"{key} totals {step}"] = np.array([moved, volume.total, *volume.totals.values()])
            report = volume.report(phi, None, 0.0)
            parts = [[c.volume, c.expected, c.cells, *c.first_cell] for c in report.components]
            result[f"{key} report"] = np.array([report.liquid, report.error, *np.ravel(parts)])
    return {name: array for name, array in result.items() if array is not None}


def exchanges(cut: Cut = default_cut, dimensions: tuple[int, ...] = (2, 3)) -> Arrays:
    """Drops that are absorbed and that gather, room for them, given momenta, and gradients of the pressure."""
    result: Arrays = {}
    for name, grid in grids(cut, dimensions):
        for dtype in scalar_types(grid.dimension):
            key = f"{name} {np.dtype(dtype).name}"
            sides = [[int(a == d) for a in range(grid.dimension)] for d in range(grid.dimension)]
            solid = ball(grid, dtype)
            nodes = solid.levelset._core
            phi = LevelSet.from_function(grid, drops_of(grid, 0.3), "cells", dtype=dtype)
            velocity = flow(grid, dtype)
            velocity.fill_ghosts()
            drops = spray(grid, dtype, 500)
            workspace = Workspace()
            region, gathered = ms.CellField(grid, dtype), np.zeros(len(drops), bool)
            args = velocity._core, phi.field._core
            found = core.gather_drops(*args, nodes, drops._core, 0.5, region._core, gathered, workspace)
            put(result, f"{key} after gathering", velocity)
            put(result, f"{key} gathered region", region)
            result[f"{key} gathered"] = np.array([found[0], found[1], *found[2]])
            assert found[0] > 0
            drops.remove(gathered)
            absorbed = core.absorb_drops(*args, nodes, drops._core, 0.0, workspace)
            assert absorbed[0] > 0
            result[f"{key} absorbed"] = np.array([absorbed[0], absorbed[1], *absorbed[2], *absorbed[3]])
            put(result, f"{key} after absorption", velocity)
            put_particles(result, f"{key} left", grid, drops)
            room = Expansion(grid, dtype, 0.1)
            room.add(*absorbed[4:], phi, solid.levelset)
            target = room.divergence(0.01, phi, solid.levelset, 0.02)
            assert target is not None
            put(result, f"{key} room", target)
            order = np.argsort(np.concatenate(grid.comm.gather(room.cells)))
            for part, waits in (("cells", room.cells), ("volume", room.volume), ("rate", room.rate)):
                result[f"{key} waiting {part}"] = np.concatenate(grid.comm.gather(waits))[order]
            result[f"{key} all that waits"] = np.array(room.waiting)
            weights = [np.clip(noise(grid, s, 20 + d), 0, 1).astype(dtype) for d, s in enumerate(sides)]
            values = [noise(grid, s, 30 + d).astype(dtype) for d, s in enumerate(sides)]
            result[f"{key} gained"] = np.array(core.blend_velocity(*args, nodes, values, weights))
            volumes = [np.empty(v.shape) for v in values]
            for d, v in enumerate(volumes):
                core.face_volumes(phi.field._core, nodes, d, v)
                result[f"{key} face volumes {d}"] = whole(grid, v, sides[d])
            phi.array = phi.array - dtype(0.05)
            core.give_to_region(*args, nodes, region._core, volumes, 0.3, [1.0, 2.0, 3.0][: grid.dimension])
            put(result, f"{key} blended", velocity)
            pressure = ms.CellField.from_function(grid, lambda *x: sum(np.sin(3 * c) for c in x))
            points = (np.random.default_rng(5).uniform(-0.1, 1.1, (300, grid.dimension)) * grid.extent).astype(dtype)
            for solved in (None, noise(grid, [0] * grid.dimension, 40) > 0):
                gradients = np.empty_like(points)
                tension = phi.field if solved is None else None
                core.sample_pressure_gradient(
                    pressure._core, phi.field._core, solved, 2.0, tension and tension._core, solid.inside_faces, points, gradients
                )
                result[f"{key} gradients {solved is None}"] = gradients
    return result


def make_liquid(cut: Cut, dimension: int, dtype: Any, options: dict[str, Any], periodic: bool = False, n: int = 24) -> LiquidSolver:
    """Return a liquid with everything that a solver can have."""
    rest = (0.0,) * (dimension - 1)
    shape = {2: (n + 3, n), 3: (n, n - 1, n + 2)}[dimension]
    grid = cut(shape, (periodic, False, False)[:dimension])
    grid = ms.Grid(shape, 1 / n, periodic=grid.periodic, comm=grid.comm, blocks=grid.blocks)
    rng = np.random.default_rng(50)
    w = rng.normal(size=(200, 3) if dimension == 3 else 200).astype(dtype)
    vortices = None
    if options.get("vortex_strength"):
        vortices = VortexParticles(rng.uniform(0, 0.4, (200, dimension)).astype(dtype), w, 0.1, replicated=True, grid=grid)
    liquid = LiquidSolver(
        grid,
        LiquidOptions(tolerance=1e-8 if dtype is np.float64 else 1e-5, **options),
        dtype=dtype,
        boundary={"x-": ms.Wall(slip="no-slip"), "y+": ms.Open()} if periodic else {"x+": ms.Open(), "x-": ms.Wall(slip="no-slip")},
        solid=KinematicSolid(Sphere((0.6,) * dimension, 0.12), lambda t: (0.3 * t, *rest)),
        sources=[LiquidSource(region=Sphere((0.3,) * (dimension - 1) + (0.8,), 0.1), velocity=(*rest, -1.0))],
        drains=[Drain(region=Box((0.8,) * dimension, (0.95,) * dimension))],
        vortices=vortices,
    )
    liquid.fill(Box((-1.0,) * dimension, (0.5,) * dimension))
    for d in range(dimension):
        liquid.velocity.component(d)[...] = noise(grid, [int(a == d) for a in range(dimension)], 60 + d, dtype)
    return liquid


def put_liquid(result: Arrays, key: str, liquid: LiquidSolver) -> None:
    """Add the state and the report of a liquid."""
    put(result, f"{key} velocity", liquid.velocity)
    put(result, f"{key} pressure", liquid.pressure)
    put(result, f"{key} level set", liquid.levelset.field)
    grid = liquid.grid
    result[f"{key} labels"] = whole(grid, np.array(liquid.volume.labels), [0] * grid.dimension)
    if liquid.particles is not None:
        put_particles(result, f"{key} markers", grid, liquid.particles.particles)
        put_particles(result, f"{key} drops", grid, liquid.particles.spray)
    if liquid.vortices is not None:
        put_particles(result, f"{key} vortices", grid, liquid.vortices)
    r = liquid.report
    assert r is not None
    solves = [r.projection.iterations, r.projection.residual, *r.projection.history]
    solves += [n for i in r.viscosity for n in (i.iterations, i.residual, *i.history)]
    v = liquid.volume_report()
    volumes = [v.liquid, v.spray, v.error, v.emitted, v.drained, v.inflow, v.outflow, v.waiting, v.received, v.given]
    parts = [n for c in v.components for n in (c.volume, c.expected, c.cells, *c.first_cell)]
    result[f"{key} report"] = np.array([r.volume, r.kinetic_energy, r.max_speed, r.correction, r.drops, *solves])
    result[f"{key} volumes"] = np.array([*volumes, *parts, liquid.max_dt()])


def liquids(
    cut: Cut = default_cut,
    dimensions: tuple[int, ...] = (2, 3),
    which: tuple[str, ...] = tuple(LIQUID_OPTIONS),
    steps: int = 3,
) -> Arrays:
    """Steps of a solver with everything that it can have."""
    result: Arrays = {}
    for dimension in dimensions:
        for name in which:
            for dtype, periodic in ((np.float64, False), (scalar_types(dimension)[0], True)):
                key = f"{dimension}-D {name} {np.dtype(dtype).name} {periodic}"
                liquid = make_liquid(cut, dimension, dtype, LIQUID_OPTIONS[name], periodic)
                for step in range(steps):
                    liquid.step(0.01)
                    if step in (0, steps - 1):
                        put_liquid(result, f"{key} {step}", liquid)
    return result


def _order_free(program: Callable[..., Arrays]) -> Callable[[], Arrays]:
    def run() -> Arrays:
        with order_free_sums():
            return program()

    return run


PROGRAMS: dict[str, Callable[[], Arrays]] = {
    "masks of liquids": masks,
    "budgets of liquids": budgets,
    "exchanges with liquids": exchanges,
    "liquids": _order_free(lambda: liquids(which=("all", "exchange"), steps=2)),
}

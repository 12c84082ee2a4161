"""Programs of smoke, and of what a step of it is made of, whose results must be bit-identical on any number of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from support.build import scalar_types

import meniscus as ms
from meniscus.core import Workspace
from meniscus.fluids import Emitter, SmokeOptions, SmokeSolver, TransportOptions, VortexParticles, VorticityOptions, diffuse, diffuse_liquid
from meniscus.numerics import order_free_sums
from meniscus.surface import Box, KinematicSolid, LevelSet, Pose, SolidBoundary, SolidGroup, Sphere

Arrays = dict[str, Any]
Cut = Callable[[tuple[int, ...], tuple[bool, ...]], ms.Grid]
"""Makes a grid of a shape and periodicity, of spacing 0.1, on the ranks in use."""

SHAPES = {2: (37, 43), 3: (17, 23, 19)}
SIDES = {"sides": (False, False, False), "periodic": (True, False, True), "a periodic row": (False, False, True)}


def default_cut(shape: tuple[int, ...], periodic: tuple[bool, ...]) -> ms.Grid:
    """Return a grid that is cut as it is without `blocks`."""
    return ms.Grid(shape, 0.1, periodic=periodic)


def wave(scale: float, grid: ms.Grid, *x: np.ndarray) -> np.ndarray:
    """Return a smooth function that closes around the periodic axes of a grid."""
    total = 0.3 * scale
    for k, (c, length) in enumerate(zip(x, grid.extent, strict=True)):
        total = total + np.sin((k + 1) * (2 * np.pi / length) * c + k + scale) * np.cos(np.sin(2 * np.pi / length * c) * scale)
    return total


def flow(grid: ms.Grid, dtype: Any, boundary: Any = None) -> ms.MacField:
    """Return a smooth velocity."""

    def velocity(x: np.ndarray, time: float) -> np.ndarray:
        return np.stack([wave(1.0 + d, grid, *x.T) for d in range(grid.dimension)], axis=1)

    return ms.MacField.from_function(grid, velocity, dtype=dtype, boundary=boundary)


def put(result: Arrays, name: str, field: Any) -> None:
    """Add the samples of a field on the whole domain to a result."""
    whole = field.gather()
    if whole is None:
        return
    for k, part in enumerate(whole if isinstance(whole, tuple) else (whole,)):
        result[f"{name} {k}"] = part


def solve_numbers(*infos: Any) -> np.ndarray:
    """Return what reports of solves say, but the seconds."""
    return np.concatenate([[i.iterations, i.residual, *i.history] for i in infos])


def viscosity(cut: Cut = default_cut, dimensions: tuple[int, ...] = (2, 3), shape: tuple[int, ...] | None = None) -> Arrays:
    """Viscosity of a gas and of liquids, with both preconditioners, around solids and below surfaces."""
    result: Arrays = {}
    for dimension in dimensions:
        for sides, periodic in SIDES.items():
            grid = cut(shape or SHAPES[dimension], periodic[:dimension])
            dtype = scalar_types(dimension)[0 if sides == "periodic" else -1]
            lid = {"y+": ms.Wall((0.7,) * dimension, "no-slip"), "y-": ms.Open()}
            if sides == "sides":
                lid |= {"x-": ms.Wall(slip="no-slip"), "x+": ms.Prescribed((0.2,) * dimension)}
            ball = ms.NodeField.from_function(grid, lambda *x: np.sqrt(sum((c - 0.9) ** 2 for c in x)) - 0.43)
            water = ms.CellField.from_function(grid, lambda *x, grid=grid: 0.4 * wave(2.0, grid, *x) - 0.1, dtype=dtype)
            nu = ms.CellField.from_function(grid, lambda *x, grid=grid: 0.02 + 0.005 * wave(1.0, grid, *x), dtype=dtype)
            start = flow(grid, dtype, lid)
            name = f"{dimension}-D {sides}"
            for slip in ("no-slip", "free"):
                for liquid in (None, water):
                    v = start.copy()
                    infos = diffuse(v, 0.5, 0.07, solid=ball, liquid=liquid, slip=slip, tolerance=1e-9)
                    key = f"{name} gas {slip} {'liquid' if liquid else 'all'}"
                    put(result, key, v)
                    result[f"{key} numbers"] = solve_numbers(*infos)
            for case, options in {
                "diagonal": {"viscosity": 0.01, "liquid": water, "solid": ball},
                "multigrid": {"viscosity": 0.3, "liquid": water, "solid": ball, "slip": "free"},
                "varies": {"viscosity": nu, "liquid": water, "solid": ball},
                "air": {"viscosity": 0.2, "liquid": water, "air_viscosity": 0.4, "air_density": 0.01},
                "all": {"viscosity": 0.2},
            }.items():
                v = start.copy()
                info = diffuse_liquid(v, 0.5, tolerance=1e-5, **options)
                put(result, f"{name} {case}", v)
                result[f"{name} {case} numbers"] = solve_numbers(info)
    return result


def _ball_mesh(centre: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return an octahedron whose faces are cut once."""
    v = [np.array(x, float) for x in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))]
    faces = []
    for x in (0, 1):
        for y in (2, 3):
            for z in (4, 5):
                corners = (x, y, z) if (x + y + z) % 2 == 0 else (x, z, y)
                faces.append(corners)
    return centre + radius * np.array(v), np.array(faces, np.int32)


def solids(cut: Cut = default_cut, dimensions: tuple[int, ...] = (2, 3)) -> Arrays:
    """Samples of moving solids of all kinds, and fields that are extended into them."""
    result: Arrays = {}
    for dimension in dimensions:
        for sides, periodic in SIDES.items():
            grid = cut(SHAPES[dimension], periodic[:dimension])
            middle = tuple(0.5 * e for e in grid.extent)

            def turn(t: float, dimension: int = dimension) -> Pose:
                return Pose(
                    (0.4 + 0.3 * t,) * dimension, 0.7 * t if dimension == 2 else (math.cos(t), 0.6 * math.sin(t), 0.8 * math.sin(t), 0)
                )

            levelset = LevelSet.from_function(
                grid, lambda *x, m=middle: np.sqrt(sum((c - a) ** 2 for c, a in zip(x, m, strict=True))) - 0.5
            )
            kinds: dict[str, Any] = {
                "ball": KinematicSolid(Sphere((0.6,) * dimension, 0.55), turn),
                "box": KinematicSolid(Box((-0.4,) * dimension, (0.5,) * dimension), turn, velocity=(0.2,) * dimension),
                "level set": KinematicSolid(levelset, turn),
                "function": KinematicSolid(lambda x: np.linalg.norm(x - 0.5, axis=1) - 0.6, turn, dimension=dimension),
            }
            kinds["group"] = SolidGroup([kinds["ball"], KinematicSolid(Sphere(middle, 0.4), lambda t, n=dimension: (t,) * n)])
            if dimension == 3 and sides == "sides":
                vertices, triangles = _ball_mesh(0.9, 0.7)
                kinds["mesh"] = KinematicSolid((vertices, triangles), turn)
                kinds["deforming"] = KinematicSolid.deforming(lambda t, v=vertices: v * (1 + 0.2 * t), triangles)
                mesh = LevelSet.from_mesh(grid, vertices, triangles, band=0.3)
                put(result, f"{dimension}-D distance to a mesh", mesh.field)
            for name, solid in kinds.items():
                for dtype, slip in ((scalar_types(dimension)[0], "free"), (np.float64, "no-slip")):
                    key = f"{dimension}-D {sides} {name} {slip}"
                    sample = solid.sample(grid, 0.3, -0.05, dtype=dtype)
                    put(result, f"{key} levelset", sample.levelset)
                    put(result, f"{key} velocity", sample.velocity)
                    boundary = SolidBoundary(sample.levelset, sample.velocity, slip)  # type: ignore[arg-type]
                    result[f"{key} speed"] = np.array(boundary.max_speed())
                    for field in (flow(grid, dtype), ms.CellField.from_function(grid, lambda *x, g=grid: wave(2.0, g, *x), dtype=dtype)):
                        boundary.extend(field, Workspace())
                        put(result, f"{key} extended {type(field).__name__}", field)
    return result


def smoke_case(case: str, grid: ms.Grid, dtype: Any, cfl: float) -> SmokeSolver:
    """Return a solver with everything that it can have ('full'), or little."""
    dimension, rest = grid.dimension, (0.0,) * (grid.dimension - 1)
    middle, low = tuple(0.5 * e for e in grid.extent), tuple(0.3 * e for e in grid.extent)
    rng = np.random.default_rng(40)
    x = (rng.uniform(0, 1, (60, dimension)) * grid.extent).astype(dtype)
    w = rng.normal(size=(60, 3) if dimension == 3 else 60).astype(dtype)
    full = case == "full"
    options = SmokeOptions(
        density_weight=0.2,
        temperature_weight=3.0,
        ambient=0.1,
        acceleration=(0.1,) * dimension,
        vorticity=VorticityOptions(confinement=0.2 if full else 0.0, vortex_strength=0.02),
        viscosity=2e-3 if full else 0.0,
        slip="no-slip" if full else "free",
        transport=TransportOptions(velocity_samples="faces" if full else "nodes"),
        splitting="trapezoid" if full and cfl in (0.5, 2.0) else "projection",
        cfl=cfl,
        tolerance=1e-6,
    )
    boundary: dict[str, Any] = {"y+": ms.Open(), "x-": ms.Wall(slip="no-slip"), "x+": ms.Prescribed((0.3, *rest))}
    region = LevelSet.from_function(grid, lambda *x: np.sqrt(sum((c - a) ** 2 for c, a in zip(x, low, strict=True))) - 0.25)
    emitters = [
        Emitter(region=Sphere(low, 0.2), motion=lambda t: Pose((t, *rest)), density=1.0, temperature=1.0, divergence=0.5),
        Emitter(region=region, density_rate=0.5, velocity=(0.5,) * dimension),
        Emitter(region=lambda x: x[:, 0] - 0.2, temperature=0.5, start=0.01),
    ]
    solver = SmokeSolver(
        grid,
        options,
        dtype=dtype,
        boundary={side: b for side, b in boundary.items() if side in grid.sides} if full else None,
        solid=KinematicSolid(Sphere(middle, 0.35), lambda t: (0.3 * t, *rest)),
        emitters=emitters if full else emitters[:1],
        vortices=VortexParticles(x, w, 0.3, replicated=True, grid=grid) if full else None,
    )
    solver.velocity.assign(flow(grid, dtype, boundary={s: b for s, b in boundary.items() if s in grid.sides} if full else None))
    return solver


def _report_numbers(r: Any) -> np.ndarray:
    numbers = [r.dt, r.smoke, r.emitted, r.transport_change, r.uncovered, r.kinetic_energy, r.max_speed]
    for solve in (r.projection, *r.viscosity):
        numbers += [solve.iterations, solve.residual, *solve.history]
    for region in r.projection.regions:
        numbers += [region.cells, region.closed, *region.first_cell, region.flux, region.residual]
    if r.vortices is not None:
        numbers += [r.vortices.left, r.vortices.in_solid, r.vortices.pushed]
    return np.array(numbers, float)


def put_smoke(result: Arrays, name: str, solver: SmokeSolver) -> None:
    """Add the state of a solver to a result."""
    for part in ("velocity", "density", "temperature", "pressure"):
        put(result, f"{name} {part}", getattr(solver, part))
    result[f"{name} time"] = np.array(solver.time)
    if solver.vortices is None:
        return
    v = solver.vortices
    parts = solver.grid.comm.gather([v.ids.copy(), v.positions.copy(), v.vorticity.copy(), v.radius.copy()])
    whole = [np.concatenate(p) for p in zip(*parts, strict=True)]
    order = np.argsort(whole[0])
    for column, values in zip(("ids", "positions", "vorticity", "radius"), whole, strict=True):
        result[f"{name} vortices {column}"] = values[order]


def smoke(
    cut: Cut = default_cut,
    dimensions: tuple[int, ...] = (2, 3),
    cfls: tuple[float, ...] = (0.5, 3.0, 10.0),
    steps: int = 2,
    cases: tuple[str, ...] = ("full", "plain"),
) -> Arrays:
    """Steps of smoke with everything that a solver can have, and with little: state and reports."""
    result: Arrays = {}
    for dimension in dimensions:
        for k, (sides, periodic) in enumerate(SIDES.items()):
            for cfl in cfls:
                for case in cases:
                    dtype = scalar_types(dimension)[0 if (k + int(cfl)) % 2 else -1]
                    solver = smoke_case(case, cut(SHAPES[dimension], periodic[:dimension]), dtype, cfl)
                    name = f"{dimension}-D {sides} {case} {cfl}"
                    for step in range(steps):
                        report = solver.step(min(solver.max_dt(), 0.2))
                        result[f"{name} report {step}"] = _report_numbers(report)
                    put_smoke(result, name, solver)
    return result


def _order_free(program: Callable[..., Arrays]) -> Callable[[], Arrays]:
    def run() -> Arrays:
        with order_free_sums():
            return program()

    return run


UNDER_MPI: dict[str, Callable[[], Arrays]] = {"smoke": _order_free(lambda: smoke(dimensions=(2,), cfls=(3.0,), cases=("full",)))}

"""Programs of smoke, and of what a step of it is made of, whose results must be bit-identical on any number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import meniscus as ms
from meniscus.fluids import diffuse, diffuse_liquid
from meniscus.numerics import order_free_sums

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
            dtype = np.float32 if sides == "periodic" else np.float64
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


def _order_free(program: Callable[..., Arrays]) -> Callable[[], Arrays]:
    def run() -> Arrays:
        with order_free_sums():
            return program()

    return run


PROGRAMS: dict[str, Callable[[], Arrays]] = {"viscosity": _order_free(viscosity)}

"""The problems of the page on pressure, on the grids of any ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import meniscus as ms
from meniscus.fluids import project
from meniscus.grid import PoissonSolver

Cut = Callable[[tuple[int, ...], tuple[bool, ...]], ms.Grid]
"""Makes a grid of a shape and periodicity on the ranks in use."""


def part(grid: ms.Grid, whole: np.ndarray) -> np.ndarray:
    """Return the own part of an array over the domain, of samples in cells or on sides."""
    n = (*grid.local_shape,)
    extra = [w - s for w, s in zip(whole.shape, grid.shape, strict=True)]
    return np.ascontiguousarray(whole[tuple(slice(f, f + m + e) for f, m, e in zip(grid.first_cell, n, extra, strict=True))])


def _distance(*x: np.ndarray) -> np.ndarray:
    return np.sqrt(sum((c - 0.5) ** 2 for c in x))


def noise(grid: ms.Grid, boundary: Any = None) -> ms.MacField:
    """Return a random velocity, the same in the domain whatever its blocks."""
    rng = np.random.default_rng(11)
    velocity = ms.MacField(grid, boundary=boundary)
    for d in range(grid.dimension):
        whole = rng.uniform(-1, 1, tuple(n + (k == d) for k, n in enumerate(grid.shape)))
        if grid.periodic[d]:
            whole[(slice(None),) * d + (-1,)] = whole[(slice(None),) * d + (0,)]
        velocity.component(d)[...] = part(grid, whole)
    return velocity


def _nodes(phi: Callable[..., np.ndarray]) -> Callable[[ms.Grid], dict[str, Any]]:
    return lambda g: {"solid": ms.NodeField.from_function(g, phi)}


def _liquid(height: Callable[[np.ndarray], np.ndarray]) -> Callable[[ms.Grid], dict[str, Any]]:
    return lambda g: {"liquid": ms.CellField.from_function(g, lambda x, y, *z: y - height(x))}


def _density(values: Callable[..., np.ndarray]) -> Callable[[ms.Grid], dict[str, Any]]:
    return lambda g: {"density": ms.CellField.from_function(g, values)}


def _chambers(x: np.ndarray, y: np.ndarray, *z: np.ndarray) -> np.ndarray:
    """Walls of three cells between chambers that alternate, joined by holes around the middle of a wall."""
    wall = np.abs((4 * x) % 1 - 0.5) / 4 - 1.2 / 32
    hole = 1.5 / 32 - np.abs(y - np.where((4 * x).astype(int) % 2 == 0, 0.2, 0.8))
    return np.maximum(wall, hole)


PROBLEMS: dict[str, tuple[int, tuple[bool, ...], Callable[[ms.Grid], dict[str, Any]]]] = {
    "box": (32, (False, False, False), lambda g: {}),
    "periodic": (32, (True, True, True), lambda g: {}),
    "open side": (32, (False, False, False), lambda g: {"boundary": {"x+": ms.Open()}}),
    "open box": (32, (False, False, False), lambda g: {"boundary": ms.Open()}),
    "odd box": (33, (False, False, False), lambda g: {}),
    "odd period": (33, (False, True, False), lambda g: {}),
    "around a sphere": (32, (False, False, False), _nodes(lambda *x: _distance(*x) - 0.23)),
    "in a sphere": (32, (False, False, False), _nodes(lambda *x: 0.43 - _distance(*x))),
    "five regions": (32, (False,) * 3, _nodes(lambda x, *y: np.min([np.abs(x - k / 5) - 0.55 / 32 for k in range(1, 5)], axis=0))),
    "chambers": (32, (False, False, False), _nodes(_chambers)),
    "half-filled tank": (32, (False, False, False), _liquid(lambda x: 0.5 + 0 * x)),
    "waves": (32, (True, False, False), _liquid(lambda x: 0.5 + 0.13 * np.sin(2 * np.pi * x))),
    "two layers": (32, (False,) * 3, _density(lambda x, y, *z: np.where(y < 0.5, 1e3, 1.0))),
    "eight layers": (32, (False,) * 3, _density(lambda x, y, *z: np.where((8 * y).astype(int) % 2 == 0, 1e3, 1.0))),
    "heavy sphere": (32, (False,) * 3, _density(lambda *x: np.where(_distance(*x) < 0.25, 1e3, 1.0))),
}


def projected(name: str, dimension: int, **options: Any) -> dict[str, Any]:
    """Project noise; returns the velocity and pressure of the domain, the iterations, residual and regions."""
    n, periodic, make = PROBLEMS[name]
    grid = ms.Grid((n,) * dimension, 1 / n, periodic=periodic[:dimension])
    given = make(grid)
    velocity, pressure = noise(grid, given.pop("boundary", None)), ms.CellField(grid)
    info = project(velocity, 0.01, pressure=pressure, **given, **options)
    return {
        "velocity": ms.parallel.gather(velocity),
        "pressure": pressure.gather(),
        "iterations": info.iterations,
        "residual": info.residual,
        "history": np.array(info.history),
        "regions": [(r.cells, r.closed, r.first_cell, r.flux) for r in info.regions],
    }


def solved(shape: tuple[int, ...], periodic: tuple[bool, ...], blocks: Any = None, *, seed: int = 14, **options: Any) -> dict[str, Any]:
    """Solve for coefficients given as arrays, some of them zero and cells left out; the solution of the domain and A times it."""
    grid = ms.Grid(shape, 0.1, periodic=periodic, blocks=blocks)
    rng = np.random.default_rng(seed)
    faces = []
    for d in range(len(shape)):
        whole = 3.0 ** rng.integers(0, 3, tuple(n + (k == d) for k, n in enumerate(shape)))
        whole[rng.random(whole.shape) < 0.1] = 0
        ends = [(slice(None),) * d + (k,) for k in (0, -1)]
        if periodic[d]:
            whole[ends[1]] = whole[ends[0]]
        elif d != 1:
            whole[ends[0]] = whole[ends[1]] = 0
        faces.append(part(grid, whole))
    active = part(grid, rng.random(shape) < 0.93)
    rhs = part(grid, rng.uniform(-1, 1, shape))
    solver = PoissonSolver(grid)
    solver.set_coefficients(faces, active)
    x, info = solver.solve(rhs, **options)
    field, product = ms.CellField(grid), ms.CellField(grid)
    field.array, product.array = x, solver.multiply(x)
    return {
        "x": field.gather(),
        "product": product.gather(),
        "iterations": info.iterations,
        "residual": info.residual,
        "history": np.array(info.history),
        "regions": [(r.cells, r.closed, r.first_cell) for r in solver.regions],
    }


def solves() -> Iterator[tuple[str, np.ndarray | None]]:
    """Yield the solutions of some problems, for comparisons between different communicators of as many ranks."""
    for name in ("odd period", "chambers", "waves"):
        result = projected(name, 2)
        yield f"{name} pressure", result["pressure"]
        yield f"{name} history", result["history"]


def compared_with_hypre(comm: Any) -> list[dict[str, Any]]:
    """Solve every problem by multigrid and by hypre to small tolerances; returns iterations and differences."""
    found = []
    with ms.parallel.ranks(comm):
        for dimension in (2, 3):
            for name in PROBLEMS:
                own = projected(name, dimension, tolerance=1e-12)
                other = projected(name, dimension, tolerance=1e-12, method="hypre", max_iterations=500)
                if own["pressure"] is None:
                    continue
                scale = max(np.abs(v).max() for v in own["velocity"])
                entry = {
                    "name": f"{dimension}-D {name}",
                    "iterations": [own["iterations"], other["iterations"]],
                    "velocity": max(float(np.abs(u - v).max()) for u, v in zip(own["velocity"], other["velocity"], strict=True)) / scale,
                    "pressure": float(np.abs(own["pressure"] - other["pressure"]).max() / np.abs(own["pressure"]).max()),
                    "residual": other["residual"],
                }
                found.append(entry)
    return found


if __name__ == "__main__":
    import json
    import sys

    if sys.argv[1:] == ["alone"]:
        # Without any communicator: hypre itself initialises MPI.
        rank, entries = 0, compared_with_hypre(None)
    else:
        from mpi4py import MPI

        rank, entries = MPI.COMM_WORLD.rank, compared_with_hypre(MPI.COMM_WORLD)
    if rank == 0:
        print(json.dumps(entries))

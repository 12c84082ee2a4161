"""Programs whose results must be bit-identical on any number of ranks. Run by itself it prints their digests, one JSON object."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator

import numpy as np
from parallel import liquid_programs, particle_programs, pressure_programs, smoke_programs, surface_programs
from support.build import scalar_types

import meniscus as ms

Arrays = dict[str, np.ndarray]


def _wave(scale: float, *x: np.ndarray) -> np.ndarray:
    total = 0.3 * scale
    for k, c in enumerate(x):
        total = total + np.sin((k + 1.7) * scale * c + k)
    return total


def _grids() -> Iterator[tuple[str, ms.Grid]]:
    yield "2-D", ms.Grid((33, 21), 0.1)
    yield "2-D periodic", ms.Grid((25, 34), 0.1, periodic=(True, True))
    yield "3-D", ms.Grid((17, 12, 19), 0.1, periodic=(False, True, False))


def _velocity(grid: ms.Grid, speed: float) -> ms.MacField:
    def flow(x: np.ndarray, time: float) -> np.ndarray:
        return np.stack([speed * _wave(2.0 + d, *x.T) / (1 + grid.dimension) for d in range(grid.dimension)], axis=1)

    return ms.MacField.from_function(grid, flow)


def fields() -> Arrays:
    """Ghosts, sums and extrema of fields of both types and all positions."""
    result: Arrays = {}
    for name, grid in _grids():
        for dtype in scalar_types(grid.dimension):
            cell = ms.CellField.from_function(grid, lambda *x: _wave(3.0, *x), dtype=dtype)
            node = ms.NodeField.from_function(grid, lambda *x: _wave(5.0, *x), dtype=dtype)
            for kind, field in (("cells", cell), ("nodes", node)):
                key = f"{name} {kind} {np.dtype(dtype).name}"
                result[f"{key} sums"] = np.array([field.sum(), field.max(), field.min()])
                result[key] = ms.parallel.gather(field)
            # Ghosts tell in what they do to a filter that reads all of them.
            for fill in ("exchange", "fill"):
                if fill == "exchange":
                    ms.parallel.exchange([cell, node, _velocity(grid, 1.0)])
                else:
                    cell.fill_ghosts()
            padded = cell.with_ghosts
            out = ms.CellField(grid, dtype)
            inner = np.zeros(out.shape, dtype)
            for d in range(grid.dimension):
                for shift in (-3, 3):
                    window = tuple(
                        slice(3 + (shift if a == d else 0), 3 + n + (shift if a == d else 0)) for a, n in enumerate(grid.local_shape)
                    )
                    inner += padded[window]
            corner = tuple(slice(0, n) for n in grid.local_shape)
            out.array = inner + dtype(2) * padded[corner]
            result[f"{name} filtered {np.dtype(dtype).name}"] = out.gather()
    return result


def transport() -> Arrays:
    """Transport with every scheme, by less than a cell and by some cells."""
    result: Arrays = {}
    for name, grid in _grids():
        for cfl in (0.5, 2.0):
            velocity = _velocity(grid, 1.0)
            dt = cfl * grid.spacing / ms.grid.max_speed(velocity)
            for method in ("semi-lagrangian", "maccormack", "bfecc"):
                density = ms.CellField.from_function(grid, lambda *x: _wave(3.0, *x))
                ms.grid.advect(density, velocity, dt, method=method)
                result[f"{name} {method} {cfl}"] = density.gather()
            result[f"{name} max speed {cfl}"] = np.array([ms.grid.max_speed(velocity)])
    return result


def particles() -> Arrays:
    """Particles that move to other blocks, also far away: every one once, in the order of cell and id."""
    result: Arrays = {}
    for name, grid in _grids():
        size = np.array(grid.shape) * grid.spacing
        whole = np.random.default_rng(5).random((3000, grid.dimension)) * size
        targets = np.random.default_rng(6).random((3000, grid.dimension)) * size
        own = np.arange(3000) % grid.comm.size == grid.comm.rank
        p = ms.Particles(whole[own], target=targets[own], number=np.flatnonzero(own))
        state = p.snapshot()
        state["id"] = np.flatnonzero(own)
        state["next id"] = np.array(3000)
        p.restore(state)
        for step in range(3):
            p.migrate(grid)
            cells = np.floor(p.positions / grid.spacing).astype(int)
            first, shape = np.array(grid.first_cell), np.array(grid.local_shape)
            assert ((cells >= first) & (cells < first + shape)).all()
            everywhere = np.concatenate(grid.comm.gather(np.column_stack([p.cells.repeat(np.diff(p.cell_starts)), p.ids, p["number"]])))
            result[f"{name} order {step}"] = everywhere[np.lexsort((everywhere[:, 1], everywhere[:, 0]))]
            positions = np.concatenate(grid.comm.gather(np.column_stack([p.ids, p.positions])))
            result[f"{name} positions {step}"] = positions[np.argsort(positions[:, 0])]
            p.positions[...] = p["target"] if step == 0 else p.positions * 0.9
    return result


PROGRAMS: dict[str, Callable[[], Arrays]] = {"fields": fields, "transport": transport, "particles": particles}
# Of each subject one that sends what the others send too; all of them run on threads, in files of their own.
PROGRAMS |= particle_programs.UNDER_MPI | smoke_programs.UNDER_MPI
PROGRAMS["pressure"] = pressure_programs.pressure
PROGRAMS["particle level set"] = surface_programs.PROGRAMS["particle level set"]
PROGRAMS["exchanges with liquids"] = liquid_programs.PROGRAMS["exchanges with liquids"]


def digests() -> dict[str, str]:
    """Run all programs, with poisoned ghosts where there are several ranks; returns a digest of every array of rank 0."""
    comm = ms.Grid((64, 64), 1.0).comm
    if comm.size > 1:
        comm.poison_ghosts()
    found = {}
    for program, function in PROGRAMS.items():
        for name, array in function().items():
            if array is not None:
                found[f"{program}: {name}"] = hashlib.sha256(f"{array.dtype} {array.shape}".encode() + array.tobytes()).hexdigest()[:16]
    return found


if __name__ == "__main__":
    from mpi4py import MPI

    with ms.parallel.ranks(MPI.COMM_WORLD) as ranks:
        mine = digests()
        if ranks.rank == 0:
            print(json.dumps({"transport": ranks.transport, "size": ranks.size, "digests": mine}))
        if "--fail" in sys.argv:
            if ranks.rank == ranks.size - 1:
                raise RuntimeError("no luck today")
            ranks.gather("this waits for the rank that failed")

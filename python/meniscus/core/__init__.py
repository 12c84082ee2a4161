"""Threads, vector width, scratch memory, counter-based random numbers, declared state and solvers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus._checks import integer
from meniscus._meniscus import core as _core
from meniscus._meniscus.core import Workspace
from meniscus.core.solver import PlainReport, Solver, SolverWarning, Stage, stage
from meniscus.core.state import Restorable, State
from meniscus.core.stateful import BusyError, Stateful

__all__ = [
    "BusyError",
    "PlainReport",
    "Restorable",
    "Solver",
    "SolverWarning",
    "Stage",
    "State",
    "Stateful",
    "Workspace",
    "block_allocations",
    "block_bytes",
    "build_info",
    "num_threads",
    "set_num_threads",
    "set_simd_level",
    "simd_level",
    "simd_supported",
    "simd_width",
    "stage",
    "uniform",
]


def set_num_threads(n: int) -> None:
    """Set how many threads every parallel loop uses from now on; results do not depend on it. Raises ValueError below 1.

    A child of `os.fork`, as of `multiprocessing` with the method "fork", uses one whatever is set, if its parent has computed before: it
    has none of the threads of the parent. Children of the methods "spawn" and "forkserver" use as many as they set.
    """
    _core.set_num_threads(integer("n", n, at_least=1, below=2**16))


def num_threads() -> int:
    """Return how many threads parallel loops use."""
    return _core.num_threads()


def simd_level() -> str:
    """Return the instruction set of the hot loops in use: 'baseline', 'avx2' or 'avx512'. All give the same bits."""
    return _core.simd_level()


def simd_supported() -> str:
    """Return the widest instruction set that this machine and build support."""
    return _core.simd_supported()


def set_simd_level(name: str) -> None:
    """Choose the instruction set of the hot loops. Raises ValueError for one that the machine does not support."""
    _core.set_simd_level(name)


def simd_width() -> int:
    """Return the vector register width in use, in bits."""
    return _core.simd_width()


def block_allocations() -> int:
    """Return how many blocks of field, particle and scratch memory this process has allocated so far."""
    return _core.block_allocations()


def block_bytes() -> int:
    """Return how many bytes of such memory are alive."""
    return _core.block_bytes()


def build_info() -> dict[str, object]:
    """Return compiler, library versions and build options."""
    return dict(_core.build_info())


def uniform(seed: int, ids: npt.NDArray[np.int64], step: int, draw: int = 0) -> npt.NDArray[np.float64]:
    """Return two uniform random numbers in [0, 1) per id.

    A number depends on (seed, id, step, draw) alone, so it is the same in every order, on every thread and rank.

    Args:
        seed: of the whole experiment, 0 <= seed < 2^64.
        ids: (n,) int64, C-contiguous; for example `Particles.ids`.
        step: number of the time step, 0 <= step < 2^32.
        draw: tells several draws of one step apart, 0 <= draw < 2^32.

    Returns:
        (n, 2) float64.

    Raises:
        TypeError, ValueError: ids of another dtype, shape or memory order, numbers out of range.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011 (Philox 4x32-10).
    """
    if not isinstance(ids, np.ndarray):
        raise TypeError(f"ids must be a NumPy array, not {type(ids).__name__}")
    if ids.ndim != 1:
        raise ValueError(f"ids must have shape (n,), not {ids.shape}")
    s, i, d = integer("seed", seed, 0, 2**64), integer("step", step, 0, 2**32), integer("draw", draw, 0, 2**32)
    return _core.uniform(s, ids, i, d)

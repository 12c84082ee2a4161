"""The module for hypre, an optional library of linear solvers that works over MPI."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

FOLDER = Path(__file__).parents[1]
"""Folder of the modules."""


def built_modules() -> list[str]:
    """Return the binary interface of MPI for which this meniscus has a module for hypre, 'openmpi' or 'mpich', if it has one."""
    return sorted(path.stem.removeprefix("_hypre_") for path in FOLDER.glob("_hypre_*.so"))


def engine() -> int:
    """Return the address of the table of hypre's functions. Initialises MPI through mpi4py; one process needs no `mpirun`.

    Raises:
        ImportError: meniscus was built without hypre, or mpi4py or the MPI that hypre was built with is missing.
    """
    function = _library().meniscus_hypre_engine
    function.restype = ctypes.c_void_p
    return int(function())


@functools.cache
def _library() -> ctypes.CDLL:
    built = built_modules()
    if not built:
        raise ImportError(
            "this meniscus was built without hypre; install it (on Debian: apt-get install libhypre-dev) and build meniscus again, "
            "or take another method"
        )
    path = FOLDER / f"_hypre_{built[0]}.so"
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ImportError(f"hypre needs mpi4py and the MPI that it was built with: {error}") from error
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        vendor = MPI.get_vendor()[0]
        raise ImportError(f"the module {path.name} for hypre does not match the MPI of mpi4py, {vendor}: {error}") from error

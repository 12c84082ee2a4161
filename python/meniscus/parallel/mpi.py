"""Communicators of mpi4py."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from meniscus._meniscus import parallel as _parallel

_C = TypeVar("_C")

FOLDER = Path(__file__).parents[1]
"""Folder of the MPI modules."""
_MODULES = {"MPICH": "mpich", "Intel MPI": "mpich", "MVAPICH": "mpich", "MVAPICH2": "mpich", "Cray MPICH": "mpich", "Open MPI": "openmpi"}

_keyval: int | None = None


def built_modules() -> list[str]:
    """Return the binary interfaces of MPI that this meniscus has a module for: 'mpich', 'openmpi'."""
    return sorted(path.stem.removeprefix("_mpi_") for path in FOLDER.glob("_mpi_*.so"))


def communicator_of(comm: Any, make: Callable[[Any, object], _C], delay: Any = None) -> _C:
    """Return the communicator for one of mpi4py, which is duplicated once, and again for each one with a delay; collective.

    `make` makes it of its core and what has to live as long.

    Raises:
        TypeError: `comm` is no communicator of mpi4py.
        ValueError: it was freed, connects two groups, or MPI does not run or allows calls from one thread only.
        ImportError: no module fits to mpi4py's MPI.
    """
    global _keyval
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py is None or not isinstance(comm, mpi4py.Comm):
        raise TypeError(f"comm must be a communicator of mpi4py, None, or one that meniscus has made, not {comm!r}")
    if not mpi4py.Is_initialized() or mpi4py.Is_finalized():
        raise ValueError("comm cannot be used, because MPI is not running: it has not been initialised, or was shut down")
    if comm == mpi4py.COMM_NULL:
        raise ValueError("comm is no longer a communicator: it was freed, or is COMM_NULL")
    if comm.Is_inter():
        raise ValueError("comm must be a communicator of one group, not one between two")
    if _keyval is None:
        _keyval = mpi4py.Comm.Create_keyval()
    known: _C | None = comm.Get_attr(_keyval)
    if known is not None and delay is None:
        return known
    table, library = _table(mpi4py)
    handle = comm.handle if hasattr(comm, "handle") else mpi4py._handleof(comm)
    # The C core takes it as a signed number.
    core = _parallel.mpi_communicator(table, handle - 2**64 if handle >= 2**63 else handle, delay)
    made = make(core, library)
    if delay is None:
        comm.Set_attr(_keyval, made)
    if core.size > 1:
        _abort_on_error(mpi4py)
    return made


def _table(mpi4py: Any) -> tuple[int, Any]:
    """Return the address of the table of functions of the module that fits to mpi4py's MPI, and the library that holds it."""
    vendor = str(mpi4py.get_vendor()[0])
    wanted, built = _MODULES.get(vendor), built_modules()
    if wanted not in built:
        there = f"modules for {' and '.join(built)} only" if built else "no MPI module at all"
        raise ImportError(
            f"mpi4py uses {vendor}, but this meniscus has {there}; build it where the headers of {vendor} are installed, or run mpi4py "
            "with an MPI that it knows"
        )
    path = FOLDER / f"_mpi_{wanted}.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"the MPI module {path.name} does not match the MPI of mpi4py, {vendor}: {error}") from error
    function = library.meniscus_mpi_transport
    function.restype = ctypes.c_void_p
    return int(function()), library


def _abort_on_error(mpi4py: Any) -> None:
    """End all ranks when one of them ends by an error that nobody caught, because the others would wait for it for ever."""
    before = sys.excepthook
    if getattr(before, "ends_all_ranks", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        sys.stderr.flush()
        sys.stdout.flush()
        mpi4py.COMM_WORLD.Abort(1)

    hook.ends_all_ranks = True  # type: ignore[attr-defined]
    sys.excepthook = hook

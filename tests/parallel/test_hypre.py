"""Pressure solves by hypre: the solution of our multigrid, on one process and under `mpirun` of the MPI that hypre was built with."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from parallel.mpirun import PATIENT
from support.runs.processes import run_whole

import meniscus as ms
from meniscus.grid import PoissonSolver
from meniscus.numerics import hypre

TESTS = Path(__file__).parents[1]
PROGRAM = Path(__file__).with_name("pressure_programs.py")
LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}


def library() -> Path:
    """Return the MPI library that hypre's module is bound to; skip the test where something is missing."""
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed")
    built = hypre.built_modules()
    if not built:
        pytest.skip("the package was built without hypre")
    needed = subprocess.run(["ldd", str(hypre.FOLDER / f"_hypre_{built[0]}.so")], capture_output=True, text=True, check=True).stdout
    for line in needed.splitlines():
        name, _, place = line.strip().partition(" => ")
        if name == LIBRARIES[built[0]] and place.startswith("/"):
            return Path(place.split()[0])
    pytest.skip(f"the MPI of hypre, {LIBRARIES[built[0]]}, was not found")


def run(command: list[str], *arguments: str) -> list[dict]:
    environment = {**os.environ, "MPI4PY_LIBMPI": str(library()), "PYTHONPATH": str(TESTS), "TBB_NUM_THREADS": "1", **PATIENT}
    command = [*command, sys.executable, str(PROGRAM), *arguments]
    done = run_whole(command, 300, env=environment, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check(entries: list[dict]) -> None:
    assert len(entries) >= 15
    for entry in entries:
        assert entry["residual"] <= 1e-12, entry
        assert entry["velocity"] < 1e-10, entry
        assert entry["pressure"] < 1e-10, entry


def test_one_process() -> None:
    check(run([], "alone"))


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_ranks(count: int) -> None:
    where = library()
    mpirun = shutil.which("mpirun.openmpi" if where.name == LIBRARIES["openmpi"] else "mpirun.mpich")
    if mpirun is None:
        pytest.skip("the mpirun of hypre's MPI is not installed")
    options = ["--allow-run-as-root", "--oversubscribe"] if where.name == LIBRARIES["openmpi"] else []
    check(run([mpirun, *options, "-n", str(count)]))


def test_missing_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hypre, "FOLDER", tmp_path)
    hypre._library.cache_clear()
    solver = PoissonSolver(ms.Grid((8, 8), 1.0))
    with pytest.raises(ImportError, match="built without hypre"):
        solver.solve(np.zeros((8, 8)), method="hypre")

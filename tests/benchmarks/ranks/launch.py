"""Configurations of ranks and threads, and the processes that measure them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1]
MPI = {"mpich": ("libmpi.so.12", ()), "openmpi": ("libmpi.so.40", ("--allow-run-as-root", "--oversubscribe", "--bind-to", "none"))}
LONGEST = 3600.0


@dataclass(frozen=True)
class Ranks:
    """Ranks over a transport, with threads for each, what is added to their messages, and whether the cut divides the water."""

    count: int
    threads: int = 1
    transport: str = "threads"
    latency: float = 0.0
    bandwidth: float | None = None
    divided: bool = False

    @property
    def name(self) -> str:
        """As tables have it."""
        ranks = "1 rank" if self.count == 1 else f"{self.count} ranks ({self.transport})"
        return f"{ranks}, {self.threads} thread{'s' if self.threads > 1 else ''}{', water divided' if self.divided else ''}"

    @property
    def unavailable(self) -> str | None:
        """Why it cannot be measured here, None if it can."""
        if self.transport == "threads":
            return None
        if importlib.util.find_spec("mpi4py") is None:
            return "mpi4py is not installed"
        return None if (_prefix(self.transport) / "bin" / "mpirun").exists() else f"{self.transport} is not in {_prefix(self.transport)}"


@dataclass(frozen=True)
class Run:
    """A work on ranks."""

    work: str
    cells: tuple[int, int, int]
    ranks: Ranks
    steps: int
    warm_up: int

    @property
    def name(self) -> str:
        """Name that --only matches."""
        return f"{self.work}/{'x'.join(map(str, self.cells))}/{self.ranks.name}"

    def measure(self) -> list[dict[str, float]]:
        """Return the record of every rank. Raises RuntimeError where the program fails, with its last words."""
        r = self.ranks
        alone = r.transport == "threads" or r.count == 1
        spec = {
            "work": self.work,
            "cells": self.cells,
            "divided": r.divided,
            "steps": self.steps,
            "warm_up": self.warm_up,
            "threads": r.threads,
            "ranks": r.count if alone else 0,
            "latency": r.latency,
            "bandwidth": r.bandwidth,
        }
        command = [sys.executable, "-m", "ranks.program", json.dumps(spec)]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        if not alone:
            library, options = MPI[r.transport]
            command = [str(_prefix(r.transport) / "bin" / "mpirun"), *options, "-n", str(r.count), *command]
            environment["MPI4PY_LIBMPI"] = str(_prefix(r.transport) / "lib" / library)
        done = subprocess.run(command, env=environment, cwd=FOLDER, text=True, capture_output=True, timeout=LONGEST, check=False)
        if done.returncode != 0:
            # mpirun speaks after the program.
            words = [line for line in done.stderr.splitlines() if "Error" in line]
            raise RuntimeError(words[-1].strip() if words else f"the program ended with {done.returncode}")
        records: list[dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
        return records


def _prefix(library: str) -> Path:
    """Folder of an MPI that `make` has installed."""
    return Path(sys.prefix) / "mpi" / library

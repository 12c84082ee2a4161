"""All solvers of the Poisson benchmark behind one interface: ours, and peers that are skipped with a sentence where they are missing.

Every solver starts from zero and stops when the norm of the residual is 1e-8 of that of the right-hand side. `setup_seconds` is all that
has to be done once per matrix, without the conversion of our arrays into the form that a peer takes.
"""

from __future__ import annotations

import ctypes
import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from peers import compiled_peers
from peers.compiled_peers import Installation, Outcome, PeerError
from peers.libraries import version
from poisson_problems import Array, Problem

import meniscus as ms

TOLERANCE = 1e-8
MAX_ITERATIONS = 500


@dataclass
class System:
    """A problem and the forms in which peers take its matrix."""

    problem: Problem
    moved: Problem | None = None  # what is inside has moved by a cell

    @cached_property
    def stencil(self) -> list[Array]:
        """Diagonal and links with the lower neighbours, negative; a cell that is no unknown has an equation of its own, x = 0."""
        diagonal = self.problem.diagonal()
        if self.problem.active is not None:
            diagonal[~self.problem.active] = 1.0
        return [diagonal, *(-self.problem.links(axis) for axis in range(3))]

    @cached_property
    def active(self) -> Array:
        """Return a mask of the cells that are unknowns."""
        return np.ones(self.problem.shape, dtype=bool) if self.problem.active is None else self.problem.active

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        """The matrix of the unknowns alone in compressed rows: row pointers, columns, values."""
        number = np.full(self.problem.shape, -1, dtype=np.int32)
        number[self.active] = np.arange(self.problem.unknowns, dtype=np.int32)
        links = [self.problem.links(axis) for axis in range(3)]

        def neighbours(axis: int, below: bool) -> tuple[Array, Array]:
            """Values and columns of one of the six neighbours of all unknowns; value zero: there is none."""
            values = -(links[axis] if below else np.roll(links[axis], -1, axis))
            columns = np.roll(number, 1 if below else -1, axis)
            return values[self.active], columns[self.active]

        counts = np.ones(self.problem.unknowns, dtype=np.int32)
        order = [(0, True), (1, True), (2, True), None, (2, False), (1, False), (0, False)]
        for o in order:
            if o is not None:
                counts += neighbours(*o)[0] != 0
        pointers = np.zeros(self.problem.unknowns + 1, dtype=np.int32)
        np.cumsum(counts, out=pointers[1:])
        columns, values = np.empty(pointers[-1], dtype=np.int32), np.empty(pointers[-1])
        free = pointers[:-1].copy()
        for o in order:
            v, c = (self.problem.diagonal()[self.active], number[self.active]) if o is None else neighbours(*o)
            used = np.ones(len(v), dtype=bool) if o is None else v != 0
            columns[free[used]] = c[used]
            values[free[used]] = v[used]
            free[used] += 1
        return pointers, columns, values


class Prepared(Protocol):
    """A solver that has seen the matrix."""

    setup_seconds: float
    bytes: int
    settings: str

    def moved(self) -> float | None:
        """Seconds that the set-up takes when what is inside has moved by a cell; None where that is the same as a new one."""

    def solve(self) -> Outcome:
        """From zero, with the right-hand side of the problem."""

    def solution(self) -> Array:
        """The last one, zero in cells that are no unknowns."""

    def close(self) -> None:
        """Give the memory back."""


@dataclass
class Solver:
    """A row of the benchmark: what it is and how to prepare it for a system and a number of threads."""

    key: str
    library: str
    method: str
    build: str
    prepare: Callable[[System, int], Prepared] | None
    threads: tuple[int, ...] = (1, 2)
    unavailable: str = ""
    settings: dict[str, str] = field(default_factory=dict)  # by problem, filled while running


class Ours:
    """`ms.grid.PoissonSolver`. Of a solve counts, as with the peers, the iteration without checks and copies of the arrays."""

    def __init__(self, system: System, threads: int, method: str) -> None:
        problem = system.problem
        self.problem, self.method = problem, method
        self.x = np.zeros(problem.shape)
        self.after = system.moved
        grid = ms.Grid(problem.shape, 1.0, periodic=problem.periodic)
        start = time.perf_counter()
        self.solver: Any = ms.grid.PoissonSolver(grid)
        self.solver.set_coefficients(problem.faces, active=problem.active)
        self.setup_seconds = time.perf_counter() - start
        self.bytes = int(self.solver.nbytes)
        self.settings = "cycle in single precision"
        if method == "incomplete-cholesky":
            # It makes its own matrix and factors anew in every solve; its bytes are not counted.
            self.bytes, self.setup_seconds = 0, 0.0
            self.settings = "time of a solve includes assembly and factorisation"

    def moved(self) -> float | None:
        if self.after is None or self.method == "incomplete-cholesky":
            return None
        seconds = []
        for problem in (self.after, self.problem):
            start = time.perf_counter()
            self.solver.set_coefficients(problem.faces, active=problem.active)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    def solve(self) -> Outcome:
        options: dict[str, Any] = {"tolerance": TOLERANCE, "max_iterations": MAX_ITERATIONS, "method": self.method}
        _, info = self.solver.solve(self.problem.rhs, self.x, raise_on_failure=False, **options)
        return Outcome(info.iterations, 0 if info.converged else 1, info.residual, info.seconds, self.bytes)

    def solution(self) -> Array:
        return self.x

    def close(self) -> None:
        self.solver = None


class PfmgSettings(ctypes.Structure):
    """As in drivers/hypre_pfmg.c."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("relax_type", "rap_type", "sweeps", "skip_relax", "max_iterations", "periodic")),
        ("tolerance", ctypes.c_double),
    )


class Hypre:
    """PFMG with the settings that were the fastest of those that converge, see docs/performance.md."""

    def __init__(self, system: System, threads: int, installation: Installation) -> None:
        problem = system.problem
        self.problem, self.threads, self.handle = problem, threads, None
        self.library = hypre_driver(installation)
        if not self.library.pfmg_threads(threads):
            raise PeerError("this build has no threads")
        relax_type, name = (1, "weighted Jacobi") if problem.closed else (2, "red-black Gauss-Seidel")
        self.settings = f"{name}, 1 + 1 sweeps, relaxation skipped where isotropic"
        given = PfmgSettings(relax_type, 0, 1, 1, MAX_ITERATIONS, problem.periodic, TOLERANCE)
        outcome = Outcome()
        entries = (ctypes.c_void_p * 4)(*(a.ctypes.data for a in system.stencil))
        shape = (ctypes.c_int * 3)(*problem.shape)
        self.handle = self.library.pfmg_setup(shape, entries, ctypes.byref(given), ctypes.byref(outcome))
        if not self.handle:
            raise PeerError(f"setup ended with error {outcome.error}")
        self.setup_seconds, self.bytes = outcome.seconds, int(outcome.bytes)
        self.x = np.zeros(problem.shape)

    def moved(self) -> float | None:
        return None

    def solve(self) -> Outcome:
        outcome = Outcome()
        self.library.pfmg_threads(self.threads)
        self.library.pfmg_solve(self.handle, self.problem.rhs.ctypes.data, self.x.ctypes.data, ctypes.byref(outcome))
        return outcome

    def solution(self) -> Array:
        return self.x

    def close(self) -> None:
        self.library.pfmg_free(self.handle)


def hypre_driver(installation: Installation) -> ctypes.CDLL:
    """The loaded driver, with the types of its functions."""
    library = compiled_peers.driver("hypre_pfmg.c", installation)
    library.pfmg_setup.restype = ctypes.c_void_p
    library.pfmg_setup.argtypes = [ctypes.c_void_p] * 4
    library.pfmg_solve.argtypes = [ctypes.c_void_p] * 4
    library.pfmg_free.argtypes = [ctypes.c_void_p]
    library.pfmg_start()
    return library


class Amgcl:
    """Conjugate gradients over smoothed aggregation."""

    def __init__(self, system: System, threads: int, installation: Installation) -> None:
        problem = system.problem
        self.library = compiled_peers.driver("amgcl_cg.cpp", installation)
        self.library.amgcl_setup.restype = ctypes.c_void_p
        self.active, self.threads, self.size = system.active, threads, problem.unknowns
        self.b, self.x = problem.rhs[self.active], np.zeros(problem.unknowns)
        self.settings = "smoothed aggregation, SPAI-0, 1 + 1 sweeps" + (", down to 20 unknowns, smoothed" if problem.closed else "")
        outcome = Outcome()
        arrays = [ctypes.c_void_p(a.ctypes.data) for a in system.rows]
        numbers = (problem.closed, ctypes.c_double(TOLERANCE), MAX_ITERATIONS, threads)
        self.handle = ctypes.c_void_p(self.library.amgcl_setup(self.size, *arrays, *numbers, ctypes.byref(outcome)))
        if not self.handle:
            raise PeerError("setup failed")
        self.setup_seconds, self.bytes = outcome.seconds, int(outcome.bytes)

    def moved(self) -> float | None:
        return None

    def solve(self) -> Outcome:
        outcome = Outcome()
        b, x = (ctypes.c_void_p(a.ctypes.data) for a in (self.b, self.x))
        self.library.amgcl_solve(self.handle, self.size, b, x, self.threads, ctypes.byref(outcome))
        return outcome

    def solution(self) -> Array:
        return _scattered(self.x, self.active)

    def close(self) -> None:
        self.library.amgcl_free(self.handle)


class PyAmg:
    """Smoothed aggregation or classical multigrid of pyamg as a preconditioner of conjugate gradients."""

    def __init__(self, system: System, threads: int, method: str) -> None:
        pyamg, sparse = importlib.import_module("pyamg"), importlib.import_module("scipy.sparse")
        pointers, columns, values = system.rows
        size = system.problem.unknowns
        matrix = sparse.csr_matrix((values, columns, pointers), shape=(size, size))
        self.active, self.b, self.x = system.active, system.problem.rhs[system.active], np.zeros(size)
        self.settings = f"{method.replace('_', ' ')} as it comes"
        start = time.perf_counter()
        self.hierarchy: Any = getattr(pyamg, method)(matrix)
        self.setup_seconds = time.perf_counter() - start
        self.bytes = sum(_sparse_bytes(m) for level in self.hierarchy.levels for m in map(level.__dict__.get, ("A", "P", "R")))

    def moved(self) -> float | None:
        return None

    def solve(self) -> Outcome:
        residuals: list[float] = []
        start = time.perf_counter()
        self.x = self.hierarchy.solve(self.b, tol=TOLERANCE, maxiter=MAX_ITERATIONS, accel="cg", residuals=residuals)
        seconds = time.perf_counter() - start
        return Outcome(len(residuals) - 1, 0, residuals[-1] / residuals[0], seconds, self.bytes)

    def solution(self) -> Array:
        return _scattered(self.x, self.active)

    def close(self) -> None:
        self.hierarchy = None


def _sparse_bytes(matrix: Any) -> int:
    return 0 if matrix is None else sum(int(getattr(matrix, name).nbytes) for name in ("data", "indices", "indptr"))


def _scattered(values: Array, active: Array) -> Array:
    x = np.zeros(active.shape)
    x[active] = values
    return x


def ours() -> list[Solver]:
    """Multigrid and the plain reference."""
    build = str(ms.core.build_info()["flags"])
    name = f"meniscus {ms.__version__}"
    return [
        Solver("meniscus", name, "multigrid-CG", build, partial(Ours, method="multigrid")),
        Solver("ours-ic", name, "incomplete Cholesky-CG", build, partial(Ours, method="incomplete-cholesky"), threads=(1,)),
    ]


def peers() -> list[Solver]:
    """Other libraries, or why they are not here."""
    found = []
    installations = compiled_peers.hypre_installations()
    for i in installations:
        threads = (1, 2) if i.openmp else (1,)
        build = i.build + ("" if i.openmp else ", without threads")
        found.append(Solver(i.key, f"hypre {i.version}", "PFMG-CG", build, partial(Hypre, installation=i), threads))
    if not installations:
        reason = "not installed: neither a package of the system nor in build/peers"
        found.append(Solver("hypre", "hypre", "PFMG-CG", "", None, unavailable=reason))
    headers = compiled_peers.amgcl_installations()
    for i in headers:
        name = f"AMGCL {i.version}"
        found.append(Solver("amgcl", name, "aggregation-CG", i.build, partial(Amgcl, installation=i)))
    if not headers:
        found.append(Solver("amgcl", "AMGCL", "aggregation-CG", "", None, unavailable="not installed"))
    missing = [name for name in ("pyamg", "scipy") if version(name) == "not installed"]
    name, reason = f"pyamg {version('pyamg')}", f"not installed: {' and '.join(missing)}" if missing else ""
    prepare = None if missing else partial(PyAmg, method="smoothed_aggregation_solver")
    found.append(Solver("pyamg", name, "aggregation-CG", "wheel", prepare, (1,), unavailable=reason))
    return found

"""Poisson problems on uniform grids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._types import AnyPoissonSolver
from meniscus.grid.poisson.cached_solver import CachedSolver
from meniscus.numerics.solve import ConvergenceError, SolveInfo, SolveMethod, facts, solve_options

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PoissonRegion:
    """A connected region of unknowns.

    Attributes:
        cells: their number.
        closed: no Dirichlet condition anywhere, so that the solution is known up to a constant.
        first_cell: the index of the first one in storage order, in the whole domain.
    """

    cells: int
    closed: bool
    first_cell: tuple[int, ...]


class PoissonSolver(CachedSolver):
    """Solves sum over the faces of a cell of coefficient * (x - x of the neighbour) = rhs, by conjugate gradients over multigrid.

    Conjugate gradients run in double precision over a multigrid cycle in single precision, matrix-free on the face coefficients. Any
    shape, masks, cut cells, coefficients of any ratio, faces with coefficient zero between unknowns (thin walls), and any number of
    regions, each with its own null space, are accepted.

    On ranks all arrays are those of the own block, of the grid's `local_shape`, and all calls are collective.

    Args:
        grid: the cells; its periodicity is that of the problem.

    Source: Selle 2008, sections 3.2 and 8.1.2; Guendelman et al. 2005, section 4.3.
    """

    _core: AnyPoissonSolver
    _new_core = staticmethod(_grid.new_poisson_solver)

    @property
    def levels(self) -> int:
        """Multigrid levels."""
        return int(self._core.levels)

    @property
    def regions(self) -> tuple[PoissonRegion, ...]:
        """The connected regions, in the order of their first cells."""
        return tuple(PoissonRegion(cells, closed, tuple(first)) for cells, closed, first in self._core.regions)

    def set_coefficients(self, faces: Sequence[npt.ArrayLike], active: npt.ArrayLike | None = None) -> None:
        """Set the matrix and build its multigrid levels. Rows of cells in which nothing has changed since the last call are kept.

        Args:
            faces: per axis an array of float64 with one more entry along that axis than there are cells, none negative. On sides of the
                domain and towards cells that are not active, a coefficient means a value of zero beyond the face, and no coefficient
                means no flux. On a periodic axis the first and the last face are the same and must agree.
            active: bool per cell, true for unknowns; default all. Cells without any coefficient are no unknowns.

        Raises:
            TypeError, ValueError: wrong dtype or shape, values that are negative, NaN or infinite.
            RankError: such values on another rank.
        """
        shape = self._grid.local_shape
        if not isinstance(faces, Sequence) or len(faces) != len(shape):
            raise TypeError(f"faces must hold {len(shape)} arrays, one per axis")
        checked = []
        for d, values in enumerate(faces):
            name = f"faces[{d}]"
            array = np.asarray(values)
            expected = tuple(n + (k == d) for k, n in enumerate(shape))
            if array.dtype != np.float64:
                raise TypeError(f"{name} must be of dtype float64, not {array.dtype}")
            if array.shape != expected:
                raise ValueError(f"{name} must have shape {expected}, not {array.shape}")
            around = self._grid.periodic[d] and shape[d] == self._grid.shape[d]
            if around and not np.array_equal(array.take(0, axis=d), array.take(-1, axis=d)):
                raise ValueError(f"{name} must agree on the first and the last face of the periodic axis")
            checked.append(np.ascontiguousarray(array))
        if self._core.set_coefficients(checked, None if active is None else _checks.mask("active", active, shape)):
            return
        with self._grid.comm.agreement():
            for d, array in enumerate(checked):
                _checks.require_finite(f"faces[{d}]", array)
                if array.min() < 0:
                    raise ValueError(f"faces[{d}] must not be negative, but its smallest value is {array.min():g}")

    def solve(
        self,
        rhs: Doubles,
        x: Doubles | None = None,
        *,
        tolerance: float = 1e-8,
        max_iterations: int = 200,
        method: SolveMethod = "multigrid",
        warm_start: bool = False,
        raise_on_failure: bool = True,
    ) -> tuple[Doubles, SolveInfo]:
        """Solve for one right-hand side. Closed regions lose the mean of the right-hand side and get a solution of mean zero.

        Args:
            rhs: float64 per cell, C-contiguous; values in cells that are no unknowns are ignored.
            x: gets the result (and is the initial guess, with `warm_start`); default a new array. Zero in cells that are no unknowns.
            tolerance: of the residual norm, relative to that of `rhs`.
            max_iterations: limit.
            method: 'multigrid'; for comparison 'hypre', its PFMG under conjugate gradients, where that library is installed, or
                'incomplete-cholesky', on ranks of the couplings in each block.
            warm_start: start from `x`.
            raise_on_failure: raise if the tolerance is not met; else return the last iterate.

        Returns:
            The solution and the report of the solve.

        Raises:
            ConvergenceError: the tolerance was not met; `x` contains the last iterate.
            TypeError, ValueError: wrong dtype or shape, values that are NaN or infinite, or no coefficients yet; ranks that hypre was
                not built for.
            ImportError: hypre or its MPI is missing.
        """
        shape = self._grid.local_shape
        for name, array in (("rhs", rhs), ("x", x)):
            if array is not None and (not isinstance(array, np.ndarray) or array.shape != shape):
                raise ValueError(f"{name} must be an array of shape {shape}")
        if warm_start and x is None:
            raise ValueError("warm_start needs x")
        result = np.zeros(shape) if x is None else x
        _checks.require_finite("rhs", rhs)
        if warm_start:
            _checks.require_finite("x", result)
        raw = self._core.solve(rhs, result, solve_options(tolerance, max_iterations, method), warm_start)
        info = SolveInfo(**facts(raw, self._core.setup_seconds))
        if raise_on_failure and not info.converged:
            raise ConvergenceError(
                f"the solve ended after {info.iterations} iterations with a relative residual of {info.residual:.2g}: {info.reason}; "
                f"{info.remedy}",
                info,
            )
        return result, info

    def multiply(self, x: Doubles) -> Doubles:
        """Return the matrix times x, zero in cells that are no unknowns; arrays as in `solve`."""
        if not isinstance(x, np.ndarray) or x.shape != self._grid.local_shape:
            raise ValueError(f"x must be an array of shape {self._grid.local_shape}")
        out = np.zeros(self._grid.local_shape)
        self._core.multiply(x, out)
        return out

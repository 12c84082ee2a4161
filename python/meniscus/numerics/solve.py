"""Reports of iterative solves."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from meniscus import _checks
from meniscus._meniscus import numerics as _numerics
from meniscus._options import CoreOption
from meniscus.numerics import hypre

SolveMethod = Literal["multigrid", "hypre", "incomplete-cholesky"]

SOLVE_METHOD = CoreOption(SolveMethod, _numerics.SolveMethod)

_order_free: contextvars.ContextVar[bool] = contextvars.ContextVar("meniscus_order_free", default=False)


@dataclass(frozen=True)
class SolveInfo:
    """Report of an iterative solve.

    Attributes:
        iterations: of conjugate gradients.
        residual: norm of the final residual relative to that of the right-hand side, computed anew from the solution.
        converged: whether the residual is within the tolerance.
        reason: why the iteration ended.
        seconds: spent in the iteration.
        setup_seconds: spent on the matrix and the preconditioner; zero if they were reused.
        history: residual norms of the iteration itself, before the first and after each iteration; of solves by hypre, at the beginning and
            the end.
    """

    iterations: int
    residual: float
    converged: bool
    reason: str
    seconds: float
    setup_seconds: float
    history: tuple[float, ...] = field(repr=False)

    @property
    def remedy(self) -> str:
        """What to do where the solve did not converge."""
        if "limit of iterations" in self.reason:
            return "a larger max_iterations or tolerance may help"
        if "rounding" in self.reason:
            return "only a larger tolerance can be met, as coefficients differ too much for double precision"
        return "coefficients must be closer to each other"


class ConvergenceError(ArithmeticError):
    """A solve did not reach its tolerance. `info` is its SolveInfo."""

    def __init__(self, message: str, info: SolveInfo) -> None:
        super().__init__(message)
        self.info = info

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the information."""
        return type(self), (str(self), self.info)


def solve_options(tolerance: float, max_iterations: int, method: SolveMethod) -> _numerics.SolveOptions:
    """Check and translate the options that all solves share."""
    tolerance = _checks.positive("tolerance", tolerance)
    if tolerance >= 1:
        raise ValueError(f"tolerance must be below 1, because it is relative to the right-hand side, not {tolerance:g}")
    chosen = SOLVE_METHOD("method", method)
    most = _checks.integer("max_iterations", max_iterations, at_least=1, below=2**31)
    engine = hypre.engine() if chosen == _numerics.SolveMethod.hypre else 0
    return _numerics.SolveOptions(tolerance, most, chosen, _order_free.get(), engine)


@contextmanager
def order_free_sums() -> Iterator[None]:
    """Return a context in which solves on one rank have the bits of solves on any number of ranks.

    Their sums do not depend on the order of the terms then, which takes up to a tenth more time. Solves on several ranks always are so.
    """
    token = _order_free.set(True)
    try:
        yield
    finally:
        _order_free.reset(token)


def facts(info: _numerics.SolveInfo, setup_seconds: float) -> dict[str, Any]:
    """Return the arguments of a SolveInfo."""
    return {
        "iterations": info.iterations,
        "residual": info.residual,
        "converged": info.converged,
        "reason": info.reason,
        "seconds": info.seconds,
        "setup_seconds": setup_seconds,
        "history": tuple(info.history),
    }

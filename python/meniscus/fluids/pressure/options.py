"""Options of the pressure solve, of all solvers alike."""

from __future__ import annotations

from dataclasses import dataclass

from meniscus import _checks


@dataclass(frozen=True, kw_only=True)
class PressureOptions:
    """Accuracy of a pressure projection.

    Attributes:
        tolerance: relative to the divergence before it.
        max_iterations: of its solver.
    """

    tolerance: float = 1e-8
    max_iterations: int = 200

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.positive("tolerance", self.tolerance)
        _checks.integer("max_iterations", self.max_iterations, 1)

"""Fast multipole method: sums of 1 / r, its gradient, and the law of Biot and Savart over many points."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import numerics as _numerics
from meniscus._options import CoreOption

Floats = npt.NDArray[np.float64]
BiotSavartKernel = Literal["singular", "mollified", "second-order"]

BIOT_SAVART_KERNEL = CoreOption(BiotSavartKernel, _numerics.BiotSavartKernel)
_SMALLEST_ACCURACY = 1e-13


class FastMultipole:
    """Sums over n sources at m targets in a time proportional to n + m: potentials, gradients, and velocities of vortices.

    The tree belongs to the points: only strengths change from call to call. Points in the same place do not act on each other. Results do
    not depend on the number of threads.

    Args:
        sources: (n, 3), m.
        targets: (m, 3), m. None: the sources.
        accuracy: relative error of all potentials, or gradients, or velocities together, in the mean square; 1e-13 to 0.1.
        kernel: of vortices: "singular"; "mollified", times 1 - exp(-(r / core)^3); "second-order", twice that less the same with twice the
            core: velocities on a vortex sheet then have an error of second order in the core, and not of first.
        core: radius of vortices, m; their boxes are not much smaller.

    Raises:
        TypeError, ValueError: other shapes or names, values that are not finite, an accuracy out of range, a core without a kernel that has
            one.

    Source: Greengard and Rokhlin 1997; Cheng, Greengard and Rokhlin 1999; Brochu 2012, section 6.5, and 6.3 for the mollified kernel.
    """

    def __init__(
        self,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike | None = None,
        accuracy: float = 1e-6,
        *,
        kernel: BiotSavartKernel = "singular",
        core: float = 0.0,
    ) -> None:
        x = _rows("sources", sources)
        y = None if targets is None else _rows("targets", targets)
        self._accuracy = _checks.positive("accuracy", accuracy)
        if not _SMALLEST_ACCURACY <= self._accuracy <= 0.1:
            raise ValueError(f"accuracy must be between {_SMALLEST_ACCURACY:g} and 0.1, not {accuracy:g}")
        self._core = _numerics.FastMultipole(x, y, self._accuracy, *_vortex(kernel, core), 0, 0)
        self._counts = (len(x), len(x) if y is None else len(y))

    @property
    def accuracy(self) -> float:
        """The relative error asked for."""
        return self._accuracy

    @property
    def order(self) -> int:
        """The order of the expansions."""
        return int(self._core.order)

    @property
    def levels(self) -> int:
        """Levels of the tree."""
        return int(self._core.levels)

    @property
    def nbytes(self) -> int:
        """Bytes held: the tree, and the expansions of the last sum."""
        return int(self._core.bytes)

    def laplace(self, charges: npt.ArrayLike, dipoles: npt.ArrayLike | None = None) -> tuple[Floats, Floats]:
        """Return the sums of q / |x - y| + p . (x - y) / |x - y|^3 over the sources y, and their gradients with respect to x.

        There is no factor 1 / (4 pi).

        Args:
            charges: q, (n,), or (n, k) for k sums that share the work.
            dipoles: p, (n, 3); with charges (n,).

        Returns:
            Potentials (m,) or (m, k), and gradients (m, 3) or (m, k, 3).

        Raises:
            TypeError, ValueError: other shapes, values that are not finite.
        """
        n = self._counts[0]
        q = _checks.numbers("charges", charges)
        if q.ndim not in (1, 2) or len(q) != n or (q.ndim == 2 and (q.shape[1] == 0 or dipoles is not None)):
            raise ValueError(f"charges must have shape ({n},){'' if dipoles is not None else f' or ({n}, k)'}, not {q.shape}")
        _checks.require_finite("charges", q)
        p = None if dipoles is None else _rows("dipoles", dipoles, n)
        potential, gradient = self._core.laplace(np.ascontiguousarray(q), p)
        return potential, gradient

    def biot_savart(self, strengths: npt.ArrayLike) -> Floats:
        """Return the velocities (m, 3) of vortices w (n, 3): the sums of w x (x - y) / (4 pi |x - y|^3), with the kernel of the tree.

        Raises:
            TypeError, ValueError: another shape, values that are not finite.
        """
        velocity: Floats = self._core.biot_savart(_rows("strengths", strengths, self._counts[0]))
        return velocity

    def __repr__(self) -> str:
        """One line with the counts."""
        n, m = self._counts
        return f"<FastMultipole: {n} sources, {m} targets, accuracy {self._accuracy:g}, order {self.order}, {self.levels} levels>"


def direct_laplace(
    sources: npt.ArrayLike, charges: npt.ArrayLike, targets: npt.ArrayLike | None = None, dipoles: npt.ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Return what `FastMultipole.laplace` does for charges (n,), pair by pair: the reference, for some ten thousand points.

    Raises:
        TypeError, ValueError: other shapes, values that are not finite.
    """
    x = _rows("sources", sources)
    y = None if targets is None else _rows("targets", targets)
    q = _checks.numbers("charges", charges)
    if q.shape != (len(x),):
        raise ValueError(f"charges must have shape ({len(x)},), not {q.shape}")
    _checks.require_finite("charges", q)
    p = None if dipoles is None else _rows("dipoles", dipoles, len(x))
    potential, gradient = _numerics.direct_laplace(x, y, np.ascontiguousarray(q), p)
    return potential, gradient


def direct_biot_savart(
    sources: npt.ArrayLike,
    strengths: npt.ArrayLike,
    targets: npt.ArrayLike | None = None,
    *,
    kernel: BiotSavartKernel = "singular",
    core: float = 0.0,
) -> Floats:
    """Return what `FastMultipole.biot_savart` does, pair by pair: the reference, for some ten thousand points.

    Raises:
        TypeError, ValueError: other shapes or names, values that are not finite, a core without a kernel that has one.
    """
    x = _rows("sources", sources)
    y = None if targets is None else _rows("targets", targets)
    velocity: Floats = _numerics.direct_biot_savart(x, y, _rows("strengths", strengths, len(x)), *_vortex(kernel, core))
    return velocity


def _vortex(kernel: BiotSavartKernel, core: float) -> tuple[_numerics.BiotSavartKernel, float]:
    """Return the kernel and its core, checked."""
    chosen, length = BIOT_SAVART_KERNEL("kernel", kernel), _checks.number("core", core)
    if kernel == "singular" and length != 0.0:
        raise ValueError("core must be 0 for the singular kernel")
    if kernel != "singular" and length <= 0.0:
        raise ValueError(f"core must be above 0 for the kernel '{kernel}', not {length:g}")
    return chosen, length


def _rows(name: str, value: npt.ArrayLike, n: int | None = None) -> Floats:
    """Return (n, 3) finite numbers, C-contiguous."""
    array = np.ascontiguousarray(_checks.numbers(name, value))
    if array.ndim != 2 or array.shape[1] != 3 or (n is not None and len(array) != n):
        raise ValueError(f"{name} must have shape ({'n' if n is None else n}, 3), not {array.shape}")
    _checks.require_finite(name, array)
    return array

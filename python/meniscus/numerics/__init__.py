"""Numerical building blocks that belong to no single solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import numerics as _numerics
from meniscus._options import CoreOption
from meniscus.numerics.convergence import ConvergenceStudy, mean_local_order, observed_orders
from meniscus.numerics.multipole import BiotSavartKernel, FastMultipole, direct_biot_savart, direct_laplace
from meniscus.numerics.predicates import incircle, insphere, orient2d, orient3d
from meniscus.numerics.rotation import RotationMethod, SingularValues, polar_rotation, svd3
from meniscus.numerics.solve import order_free_sums

__all__ = [
    "BiotSavartKernel",
    "CompensationScheme",
    "ConvergenceStudy",
    "FastMultipole",
    "FractalNoise",
    "RotationMethod",
    "SingularValues",
    "amplification",
    "direct_biot_savart",
    "direct_laplace",
    "incircle",
    "insphere",
    "mean_local_order",
    "observed_orders",
    "order_free_sums",
    "orient2d",
    "orient3d",
    "polar_rotation",
    "svd3",
]

CompensationScheme = Literal["forward-euler", "bfecc", "maccormack"]

COMPENSATION_SCHEME = CoreOption(CompensationScheme, _numerics.CompensationScheme)


def amplification(scheme: CompensationScheme, z: npt.ArrayLike) -> Any:
    """Return the factor by which one step multiplies y in y' = lambda y, z = dt lambda, with forward Euler as the building block.

    It is computed by performing the step: forward with 1 + z, back with 1 - z, compensated as in the grid schemes.

    Args:
        scheme: 'forward-euler', 'bfecc' or 'maccormack'.
        z: complex number or array.

    Raises:
        ValueError: unknown scheme.

    Source: Selle 2008, section 2.5.
    """
    return _numerics.amplification(COMPENSATION_SCHEME("scheme", scheme), np.asarray(z, dtype=np.complex128))


@dataclass(frozen=True)
class FractalNoise:
    """Smooth random scalar field in space and time: octaves of gradient noise whose lattice gradients turn.

    Octave o has wavelength `wavelength / lacunarity**o`, amplitude `gain**o`, and turns at `rate * lacunarity**o`.

    Args:
        seed: 0 <= seed < 2^64.
        wavelength: of the first octave, m.
        rate: turns of the lattice gradients of the first octave per second.
        octaves: 1 to 32.

    Source: Perlin and Neyret, "Flow noise", 2001; used by Brochu 2012, section 5.4.2.
    """

    seed: int = 0
    wavelength: float = 1.0
    rate: float = 0.0
    octaves: int = 1
    gain: float = 0.5
    lacunarity: float = 2.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        _checks.integer("seed", self.seed, 0, 2**64)
        _checks.positive("wavelength", self.wavelength)
        _checks.number("rate", self.rate)
        _checks.integer("octaves", self.octaves, 1, 33)
        _checks.number("gain", self.gain)
        _checks.positive("lacunarity", self.lacunarity)

    def __call__(self, points: npt.NDArray[np.float64], time: float = 0.0) -> npt.NDArray[np.float64]:
        """Return the values (n,) at points (n, 2) or (n, 3), metres, at a time in seconds."""
        return self.with_gradient(points, time)[0]

    def with_gradient(self, points: npt.NDArray[np.float64], time: float = 0.0) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the values (n,) and their exact spatial gradients (n, dim), 1/m."""
        if not isinstance(points, np.ndarray) or points.ndim != 2 or points.shape[1] not in (2, 3):
            raise ValueError("points must be a NumPy array of shape (n, 2) or (n, 3)")
        dimension = points.shape[1]
        _checks.points("points", points, np.dtype(np.float64), dimension)
        _checks.require_finite("points", points)
        sample = _numerics.sample_noise2 if dimension == 2 else _numerics.sample_noise3
        values, gradients = sample(self._core(), points, _checks.number("time", time))
        return values, gradients

    def _core(self) -> _numerics.FractalNoiseOptions:
        return _numerics.FractalNoiseOptions(
            self.seed, float(self.wavelength), float(self.rate), self.octaves, float(self.gain), float(self.lacunarity)
        )

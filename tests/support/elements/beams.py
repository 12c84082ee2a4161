"""Theory of beams: Timoshenko's cantilever of square cross section, and the elastica under an end load."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc


def shear_coefficient(nu: float) -> float:
    """Cowper's, of rectangles: 10 (1 + nu) / (12 + 11 nu), which is 5/6 without lateral contraction."""
    return 10 * (1 + nu) / (12 + 11 * nu)


def tip_deflection(length: float, height: float, youngs_modulus: float, nu: float) -> float:
    """Of Timoshenko's cantilever under an end load of 1."""
    shear = youngs_modulus / (2 * (1 + nu))
    bending = length**3 / (3 * youngs_modulus * height**4 / 12)
    return bending + length / (shear_coefficient(nu) * shear * height**2)


def first_frequency(length: float, height: float, youngs_modulus: float, nu: float, density: float) -> float:
    """Of Timoshenko's cantilever, rad/s: the first zero of the determinant of the free end after a clamped one."""
    area, inertia = height**2, height**4 / 12
    shear = shear_coefficient(nu) * youngs_modulus / (2 * (1 + nu)) * area

    def determinant(w: float) -> float:
        # Deflection, slope of the cross section, shear force, moment.
        a = np.zeros((4, 4))
        a[0, 1], a[0, 2], a[1, 3] = 1, 1 / shear, 1 / (youngs_modulus * inertia)
        a[2, 0], a[3, 1], a[3, 2] = -density * area * w**2, -density * inertia * w**2, -1
        return float(np.linalg.det(expm(a * length)[2:, 2:]))

    euler = 1.8751040687119611**2 * np.sqrt(youngs_modulus * inertia / (density * area)) / length**2
    return float(brentq(determinant, 0.5 * euler, 1.001 * euler, xtol=1e-13 * euler))


class Elastica:
    """The shape of an inextensible cantilever of length 1 along x under a load F in the direction -z at its end, F L^2 / (E I) = `load`.

    With the slope t below the horizontal, t'' = -load cos t, whose solution are elliptic functions: with m = (1 + sin t_tip) / 2, sin f =
    sqrt((1 + sin t) / (2 m)), the arc length is (F(f, m) - F(f0, m)) / sqrt(load).
    """

    def __init__(self, load: float) -> None:
        self.root = np.sqrt(load)
        self.m = brentq(lambda m: ellipk(m) - ellipkinc(np.arcsin(np.sqrt(0.5 / m)), m) - self.root, 0.5 + 1e-15, 1 - 1e-12, xtol=1e-15)
        self.first = np.arcsin(np.sqrt(0.5 / self.m))
        self.start = ellipkinc(self.first, self.m)

    @property
    def tip(self) -> np.ndarray:
        """Its position (x, z)."""
        down = 1 - 2 / self.root * (ellipe(self.m) - ellipeinc(self.first, self.m))
        return np.array([np.sqrt(2 * (2 * self.m - 1)) / self.root, -down])

    def at(self, s: np.ndarray) -> np.ndarray:
        """Positions (n, 2) at arc lengths (n,)."""
        f = self._amplitudes(s)
        down = s - 2 / self.root * (ellipeinc(f, self.m) - ellipeinc(self.first, self.m))
        x = 2 * np.sqrt(self.m) / self.root * (np.cos(self.first) - np.cos(f))
        return np.stack([x, -down], axis=1)

    def slopes(self, s: np.ndarray) -> np.ndarray:
        """Angles (n,) below the horizontal there."""
        return np.arcsin(2 * self.m * np.sin(self._amplitudes(s)) ** 2 - 1)

    def _amplitudes(self, s: np.ndarray) -> np.ndarray:
        return np.array([brentq(lambda f, a=a: ellipkinc(f, self.m) - self.start - self.root * a, 0, np.pi / 2 + 1e-9) for a in s])

"""Small motions of a body that floats in a tank of the plane: linear potential theory by panels, a reference for `FluidWorld`.

The potential is harmonic; on the surface at rest phi_t = -g eta and eta_t = d phi / dn; on the wetted part of the body d phi / dn is the
velocity of its mode, and its pressure -rho (phi_t + g (height that the mode lifts)) moves it. Panels have one value each (Green's third
identity); all of it is one linear system y' = A y, which is diagonalised. Source: Newman, "Marine Hydrodynamics", 1977, chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def panels(corners: Sequence[tuple[float, float]], length: float) -> Floats:
    """Return panels (n, 2, 2) of about a length along a line, m."""
    rows = []
    for a, b in zip(np.array(corners[:-1]), np.array(corners[1:]), strict=True):
        n = max(int(np.ceil(np.linalg.norm(b - a) / length - 1e-9)), 1)
        t = np.linspace(0, 1, n + 1)[:, None]
        x = a + t * (b - a)
        rows.append(np.stack([x[:-1], x[1:]], axis=1))
    return np.concatenate(rows)


def influences(all_panels: Floats) -> tuple[Floats, Floats]:
    """Return what unit fluxes and unit doublets of panels give at their middles: integrals of log r / 2 pi and its derivative."""
    a, b = all_panels[:, 0], all_panels[:, 1]
    way = b - a
    length = np.linalg.norm(way, axis=1)
    along = way / length[:, None]
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1)  # outward of a domain that the panels go around to the left of
    offset = (0.5 * (a + b))[:, None] - a[None]
    s, d = np.einsum("ijk,jk->ij", offset, along), np.einsum("ijk,jk->ij", offset, normal)
    np.fill_diagonal(d, 0.0)
    end = length[None] - s
    angle = np.arctan2(end, np.abs(d)) + np.arctan2(s, np.abs(d))

    def part(x: Floats) -> Floats:
        r2 = x * x + d * d
        return 0.5 * x * np.log(np.where(r2 > 0, r2, 1.0))

    single = (part(s) + part(end) - length[None] + np.abs(d) * angle) / (2 * np.pi)
    double = -np.sign(d) * angle / (2 * np.pi)
    return single, double


@dataclass
class LinearFloat:
    """A body that floats in a tank, for small motions.

    Args:
        width, depth: of the tank, m; its floor is at y = 0, the surface at y = depth, the middle at x = 0.
        hull: corners of the wetted part of the body from the right end of its water line, down and around, to the left one, m.
        mass: kg/m. center: of mass, m. inertia: about it, kg m.
        modes: rows (sway, heave, roll) of the motions that the body may have.
        size: of the panels, m.
    """

    width: float
    depth: float
    hull: Sequence[tuple[float, float]]
    mass: float
    center: tuple[float, float]
    inertia: float
    modes: Sequence[tuple[float, float, float]]
    size: float
    density: float = 1000.0
    gravity: float = 9.81

    def __post_init__(self) -> None:
        half, h = 0.5 * self.width, self.depth
        right, left = self.hull[0], self.hull[-1]
        # Around the water to its left: floor, right wall, surface, hull, surface, left wall.
        parts = [
            panels([(-half, h), (-half, 0.0), (half, 0.0), (half, h)], self.size),
            panels([(half, h), (right[0], h)], self.size),
            panels(list(self.hull), self.size),
            panels([(left[0], h), (-half, h)], self.size),
        ]
        x = np.concatenate(parts)
        kind = np.repeat([0, 1, 2, 1], [len(p) for p in parts])
        surface, body = kind == 1, kind == 2
        single, double = influences(x)
        # phi / 2 = integral of (phi dG/dn - G q): with K = double, S = single, (1/2 - K) phi + S q = 0.
        k = 0.5 * np.eye(len(x)) - double
        unknown = np.where(surface[None], single, k)
        known = np.where(surface[None], -k, -single)
        solve = np.linalg.solve(unknown, known)
        middle, way = x.mean(axis=1), x[:, 1] - x[:, 0]
        normal = np.stack([way[:, 1], -way[:, 0]], axis=1)  # times the length
        arm = middle[body] - np.array(self.center)
        six = np.column_stack([normal[body], arm[:, 0] * normal[body][:, 1] - arm[:, 1] * normal[body][:, 0]])
        modes = np.array(self.modes, dtype=float)
        flux = six @ modes.T  # outward of the water is into the body: what passes with the body, times the length
        length = np.linalg.norm(way, axis=1)
        rate = flux / length[body][:, None]
        n, m = int(surface.sum()), len(modes)
        to_rate = solve[np.ix_(body, body)] @ rate
        self.added = self.density * flux.T @ to_rate
        inertia = modes @ np.diag([self.mass, self.mass, self.inertia]) @ modes.T
        stiffness = modes @ self._stiffness(right[0] - left[0]) @ modes.T
        inverse = np.linalg.inv(inertia + self.added)
        size = 2 * n + 2 * m
        a = np.zeros((size, size))
        eta, phi, place, speed = slice(0, n), slice(n, 2 * n), slice(2 * n, 2 * n + m), slice(2 * n + m, size)
        # Reciprocity, which panels have but for their error, keeps the energy.
        stiff = length[surface][:, None] * solve[np.ix_(surface, surface)]
        lift = 0.5 * (length[surface][:, None] * (solve[np.ix_(surface, body)] @ rate) - (flux.T @ solve[np.ix_(body, surface)]).T)
        mean = np.eye(n) - length[surface][None] / length[surface].sum()  # a constant potential drives nothing
        a[eta, phi] = mean.T @ (0.5 * (stiff + stiff.T)) @ mean / length[surface][:, None]
        a[eta, speed] = lift / length[surface][:, None]
        a[phi, eta] = -self.gravity * np.eye(n)
        a[place, speed] = np.eye(m)
        a[speed, eta] = -inverse @ (self.density * self.gravity * lift.T)
        a[speed, place] = -inverse @ stiffness
        self._place, self._matrix = place, a
        self._values, self._vectors = np.linalg.eig(a)

    def _stiffness(self, water_line: float) -> Floats:
        """Return the stiffness (3, 3) of the weight and of the water at rest; the hull is symmetric about x = 0."""
        x, y = np.array(self.hull).T
        cross = x * np.roll(y, -1) - y * np.roll(x, -1)
        area = 0.5 * abs(cross.sum())
        middle = abs(float((cross * (y + np.roll(y, -1))).sum())) / (6 * area)
        g, rho = self.gravity, self.density
        roll = rho * g * (water_line**3 / 12 + area * middle) - self.mass * g * self.center[1]
        return np.diag([0.0, rho * g * water_line, roll])

    def motion(self, start: Sequence[float], times: Floats) -> Floats:
        """Return places (t, modes) at times after a body is let go at a place, with the water at rest."""
        y = np.zeros(len(self._matrix))
        y[self._place] = start
        parts = np.linalg.solve(self._vectors, y.astype(complex))
        grown = parts[:, None] * np.exp(self._values[:, None] * times[None])
        return np.real(self._vectors[self._place] @ grown).T

    @property
    def growth(self) -> float:
        """The largest rate at which anything grows, 1/s: rounding."""
        return float(self._values.real.max())

    def slosh(self) -> Floats:
        """Return the angular frequencies, rad/s, ascending."""
        return np.sort(np.abs(self._values.imag))

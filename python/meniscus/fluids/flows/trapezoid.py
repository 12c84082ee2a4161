"""Trapezoidal rule along the paths of a gas: splitting of second order into transport, and pressure and viscosity."""

from __future__ import annotations

from typing import Literal

from meniscus._meniscus import grid as _grid
from meniscus.core.stateful import Stateful
from meniscus.fluids.vorticity.measures import kinetic_energy
from meniscus.grid.fields import MacField
from meniscus.surface import SolidBoundary

GasSplitting = Literal["projection", "trapezoid"]
"""What a step carries: the velocity, or the velocity with half of what pressure and viscosity do in the step."""

_LONGER = 2.0  # times the last step: longest one that goes on with what that has found


class Trapezoid(Stateful):
    """What pressure and viscosity do to a velocity in half of a step, which the next step carries with it.

    Along the path of a piece of gas, du/dt = a, where a is the acceleration by pressure and viscosity. A step that carries u and lets a act
    at the end of the path, as the classical splitting does, is of first order and takes energy from vortices, whose gas turns around on
    the way. The trapezoidal rule lets half of a act where the path begins and half where it ends. The pressure where it begins is
    extrapolated from the last two steps: a projection makes good whatever that lacks of the divergence, so that an error of it is forgotten
    at once. The path itself is that of the velocity extrapolated to the middle of the step.

    What changes the velocity between steps is noticed by its energy; then, as in the first step and in one more than twice as long as the
    last, everything is unknown.

    Args:
        velocity: of the gas; gives grid, dtype and boundary.
        viscous: whether viscosity acts on it.

    Attributes:
        pressed: what the pressure adds to the velocity in half of a step, m/s.
        sheared: what viscosity adds to it, likewise; None: there is none.
        impulse: what the last projection has added to it, m/s.
        before: velocity at the start of the last step, m/s.
        last_dt: length of the step that has found them, s; zero: they are unknown.
        earlier_dt: length of the step before that, s; zero: it is unknown.
        energy: kinetic energy per density at the end of the last step, m^(dim + 2)/s^2.

    Source: Staniforth and Côté 1991, "Semi-Lagrangian integration schemes for atmospheric models", section 3 (trapezoidal rule along
    paths, extrapolated velocities); Zehnder, Narain and Thomaszewski 2018 (what the splitting does to vortices).
    """

    def __init__(self, velocity: MacField, viscous: bool) -> None:
        self.pressed, self.impulse, self.before = (self.declare(n, velocity.copy()) for n in ("pressed", "impulse", "before"))
        self.sheared = self.declare("sheared", velocity.copy() if viscous else None, optional=False)
        self.last_dt = self.declare("last_dt", 0.0)
        self.earlier_dt = self.declare("earlier_dt", 0.0)
        self.energy = self.declare("energy", 0.0)
        self._scratch = velocity.copy()
        self._is_found = self._is_ahead = False
        self.forget()

    def forget(self) -> None:
        """Let everything be unknown."""
        self.last_dt = self.earlier_dt = 0.0
        self._scale(0.0)

    def begin(self, velocity: MacField, dt: float) -> None:
        """Begin a step of dt seconds: see whether what is known belongs to this velocity, and scale it to the step."""
        if self.last_dt and (dt > _LONGER * self.last_dt or kinetic_energy(velocity) != self.energy):
            self.forget()
        self._is_found = self._is_ahead = False
        if self.last_dt and dt != self.last_dt:
            self._scale(dt / self.last_dt)

    def look_ahead(self, velocity: MacField, dt: float) -> MacField:
        """Return the velocity in the middle of a step of dt seconds that starts with this one; it is scratch memory.

        It is extrapolated by the first call of a step; forces that act after it count as part of what changes the velocity.
        """
        if not self._is_ahead:
            ahead = 0.5 * dt / self.last_dt if self.last_dt else 0.0
            _grid.combine(self._scratch._core, 1.0 + ahead, velocity._core, -ahead, self.before._core)
            self.before.assign(velocity)
        self._is_ahead = True
        return self._scratch

    def predict(self, middle: MacField, before_viscosity: bool) -> None:
        """See the velocity in the middle of a step of which nothing is known, before viscosity acts on it, or between that and pressure."""
        part = self.sheared if before_viscosity else self.pressed
        if part is not None:
            part.assign(middle)

    def keep_prediction(self, middle: MacField, solid: SolidBoundary | None) -> None:
        """See it after its projection."""
        if self.sheared is not None:
            _grid.combine(self.sheared._core, 1.0, self.pressed._core, -1.0, self.sheared._core)
        _grid.combine(self.pressed._core, 1.0, middle._core, -1.0, self.pressed._core)
        if solid is not None:
            _grid.assign_faces(self.pressed._core, 0.0, solid.inside_faces, True)

    def depart(self, velocity: MacField) -> None:
        """Add to the velocity at the start of a step, in place, what is carried with it."""
        self._is_ahead = False
        self.press(velocity, 1.0)
        if self.sheared is not None:
            _grid.combine(velocity._core, 1.0, velocity._core, 1.0, self.sheared._core)

    def press(self, velocity: MacField, times: float) -> None:
        """Add what the pressure does in half of a step to a velocity, times a number."""
        _grid.combine(velocity._core, 1.0, velocity._core, times, self.pressed._core)

    def see(self, velocity: MacField) -> None:
        """See the velocity on which viscosity or pressure acts next."""
        self._scratch.assign(velocity)

    def keep_shear(self, velocity: MacField) -> None:
        """Store what viscosity has added to the velocity since `see`, in half of a step."""
        assert self.sheared is not None
        _grid.combine(self.sheared._core, 1.0, velocity._core, -1.0, self._scratch._core)

    def keep_pressure(self, velocity: MacField, solid: SolidBoundary | None, dt: float) -> None:
        """Find what the pressure does next from what a projection of a step of dt seconds has added since `see`, outside of solids."""
        new = self._scratch._core
        _grid.combine(new, 1.0, velocity._core, -1.0, new)
        if solid is not None:
            _grid.assign_faces(new, 0.0, solid.inside_faces, True)
        # From the middles of two steps to the end of the second.
        ahead = 0.5 * dt / (dt + self.earlier_dt) if self.earlier_dt else 0.0
        scaled = ahead * dt / self.earlier_dt if self.earlier_dt else 0.0
        _grid.combine(self.pressed._core, 0.5 + ahead, new, -scaled, self.impulse._core)
        self.impulse.assign(self._scratch)
        self.last_dt = self.earlier_dt = dt
        self._is_found = True

    def end(self, energy: float) -> None:
        """End a step with a velocity of this kinetic energy. If somebody else has found its pressure, all is unknown."""
        self.energy = energy
        if not self._is_found:
            self.forget()

    def _scale(self, factor: float) -> None:
        for part in (self.pressed, self.sheared):
            if part is not None:
                _grid.combine(part._core, factor, part._core, 0.0, part._core)

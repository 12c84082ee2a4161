"""Bodies of hair: many elastic strands, each solved directly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.state import Arguments
from meniscus.core.stateful import exclusively
from meniscus.solids.body import DeformableBody
from meniscus.solids.force import Floats, per_element
from meniscus.solids.hair.groom import Groom
from meniscus.solids.hair.rest_shapes import SagReport, rest_at, rest_stably
from meniscus.solids.hair.rod_force import RodForce

StrandModel = Literal["rod"]
StrandRule = Literal["implicit-euler", "midpoint"]

_HAIR = 1300.0  # kg/m^3, keratin: Robbins, "Chemical and physical behavior of human hair", 2012


@dataclass(frozen=True)
class StrandInfo:
    """Report of a step of strands.

    Attributes:
        dt: seconds.
        iterations: of Newton's method, most of any group of strands.
        unfinished: strands whose last change was above the tolerance.
    """

    dt: float
    iterations: int
    unfinished: int


class HairBody(DeformableBody):
    """Strands of hair as a body: points with mass, elastic rods between them, and roots that follow a skin.

    `advance` takes all strands by a direct solve each, which costs the same for any stiffness. `step` and worlds take them as `RodForce`,
    together with other forces and contact.

    Args:
        groom: strands; they start in its shape.
        EI: bending stiffness, N m^2; a number or one per strand. Human hair has about 8e-9.
        GJ: twisting stiffness, N m^2.
        EA: stretching stiffness, N; None: that of a round fibre, 4 EI / radius^2.
        density: kg/m^3 of the fibres, whose radius is that of the groom.
        model: "rod": discrete elastic rods.
        sag_free: natural curvature, twist and rest lengths are such that the groom is at rest under gravity; False: without gravity. A
            strand for which this would be no stable equilibrium is made stiffer. See `sag`.
        clamped: whether the roots have a direction (that of the groom's first segments) and no twist; else they are hinges.
        tips: whether frames hold the last points too, as `rods.set_frames` sets them; their positions are free until pinned.
        gravity: m/s^2; None: no gravity.

    Attributes:
        groom: the groom.
        rods: the force.
        targets: (n, 3), m: where `advance` takes the points that are pinned; state. `pin` sets them to where these are.
        sag: `SagReport`; None without gravity or `sag_free`.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Bergou et al. 2008 and 2010 (rods); own rest shapes: balance point by point from the tip.
    """

    def __init__(
        self,
        groom: Groom,
        *,
        EI: float | Floats,
        GJ: float | Floats,
        EA: float | Floats | None = None,
        density: float = _HAIR,
        model: StrandModel = "rod",
        sag_free: bool = True,
        clamped: bool = True,
        tips: bool = False,
        gravity: Sequence[float] | Floats | None = None,
    ) -> None:
        _checks.one_of_type("groom", groom, Groom)
        _checks.choice("model", model, StrandModel)
        if len(groom) == 0:
            raise ValueError("groom must have a strand at least")
        area = math.pi * groom.radius**2 * _checks.positive("density", density)
        mesh = groom.mesh
        super().__init__(mesh, density=np.repeat(area, np.diff(groom.offsets) - 1), gravity=gravity)
        bending = per_element("EI", EI, len(groom), strictly=True)
        stretching = 4 * bending / groom.radius**2 if EA is None else EA
        self.groom = groom
        self.rods = self.add(
            RodForce(
                groom.offsets,
                groom.points,
                EI=bending,
                GJ=GJ,
                EA=stretching,
                roots=_checks.flag("clamped", clamped),
                tips=_checks.flag("tips", tips),
            )
        )
        self.rods.set_frames(groom.directions, groom.directors)
        if clamped:
            self.rods.strands.untwist(self.positions)
        self._material = {"EI": bending, "GJ": GJ, "EA": stretching, "density": density, "model": model}
        self._material.update(clamped=clamped, tips=tips)
        self.targets = self.declare("targets", self.positions.copy())
        self.pin(groom.offsets[:-1])
        self.sag: SagReport | None = None
        if clamped and not tips:
            rest_at(self.rods, groom.points, self.masses, np.zeros(3), np.ones(len(groom), np.bool_))
            if _checks.flag("sag_free", sag_free) and self.gravity.any():
                self.sag = rest_stably(self.rods, groom.points, self.masses, self.gravity, _held(self) > 0)

    # --- roots ---------------------------------------------------------------------------------------------------------------

    def follow(self, vertices: npt.ArrayLike) -> None:
        """Let the next `advance` bring the roots to where the groom's skin takes them with its vertices at (k, 3), m.

        Roots of your own motion: their rows of `targets`, and `rods.set_frames`.
        """
        to = self.groom.roots_on(vertices)
        self.rods.set_frames(*self.groom.frames_on(vertices))
        self.targets[self.groom.offsets[:-1]] = to

    def pin(self, nodes: npt.ArrayLike) -> None:
        """Fix nodes where they are, as in `DeformableBody.pin`; `targets` says where `advance` takes them."""
        super().pin(nodes)
        where = self._nodes(nodes)
        self.targets[where] = self.positions[where]

    # --- time ----------------------------------------------------------------------------------------------------------------

    @exclusively
    def advance(
        self,
        dt: float,
        rule: StrandRule = "implicit-euler",
        *,
        drag: float = 0.0,
        max_newton: int | None = None,
        tolerance: float = 1e-7,
    ) -> StrandInfo:
        """Advance all strands by dt seconds, each by Newton's method with a direct solve; other forces do not act.

        Pinned points go where `targets` says, which `follow` sets for the roots.

        Args:
            dt: seconds, positive; infinite: downhill to an equilibrium, at rest, where time stays.
            rule: "implicit-euler", of first order, damps; "midpoint", of second order, keeps the energy of linear systems.
            drag: of air at rest, 1/s: the part of the momentum that it takes per time.
            max_newton: iterations at most; 1 is a linearised step; None: 20, or 2000 to an equilibrium.
            tolerance: largest last change of a position, relative to the length of its strand.

        Raises:
            TypeError, ValueError: wrong values; positions that are not finite at the end: nothing has changed then.
        """
        still = isinstance(dt, float) and dt == math.inf
        dt = dt if still else _checks.positive("dt", dt)
        middle = _checks.choice("rule", rule, StrandRule) == "midpoint"
        air = _checks.number("drag", drag)
        if air < 0:
            raise ValueError("drag must not be negative")
        most = (2000 if still else 20) if max_newton is None else _checks.integer("max_newton", max_newton, 1)
        small, held, strands = _checks.positive("tolerance", tolerance), _held(self), self.rods.strands
        with self.transaction(("positions", "velocities", "time", "force_memory", "targets")):
            if still:
                done = strands.equilibrium(tuple(self.gravity), self.positions, self.masses, held, most, small)
                self.velocities = 0.0
            else:
                arrays = (self.positions, self.velocities, self.masses, held, self.targets)
                done = strands.step(dt, tuple(self.gravity), air, middle, most, small, arrays)
                self.time += dt
            _checks.require_finite("positions", self.positions)
        return StrandInfo(dt, *done)

    # --- copies --------------------------------------------------------------------------------------------------------------

    def _arguments(self) -> Arguments:
        return (self.groom,), {**self._material, "sag_free": False}

    @property
    def _setup(self) -> dict[str, Any]:
        return {**super()._setup, "sag": self.sag}

    @_setup.setter
    def _setup(self, setup: Mapping[str, Any]) -> None:
        self.remove(self.rods)
        self.release()
        DeformableBody._setup.fset(self, setup)  # type: ignore[attr-defined]
        self.rods = next(force for force in self.forces if isinstance(force, RodForce))
        self.sag = setup["sag"]


def _held(body: HairBody) -> npt.NDArray[np.uint8]:
    """Mark the constrained points of a body."""
    held = np.zeros(len(body), np.uint8)
    held[body.constrained] = 1
    return held

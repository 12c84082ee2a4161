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
from meniscus.mesh import SegmentMesh
from meniscus.solids.body import DeformableBody
from meniscus.solids.force import Floats, per_element
from meniscus.solids.hair.groom import Groom
from meniscus.solids.hair.rest_shapes import SagReport, rest_stably
from meniscus.solids.hair.rod_force import RodForce
from meniscus.solids.hair.strip_force import AltitudeModel, StripForce, StripShape

StrandModel = Literal["altitude", "rod"]
StrandRule = Literal["implicit-euler", "midpoint", "newmark"]

_FRAME = ("points", "directions", "directors")
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
    """Strands of hair as a body: points with mass, springs or elastic rods between them, and roots that follow a skin.

    `advance_strands` takes all strands by a direct solve each, which costs the same for any stiffness. `step` and worlds take them as a
    force, together with other forces and contact.

    Altitude-spring hair has particles beside the points of the groom: `nodes` says which of the body's positions these are.

    Args:
        groom: strands; they start in its shape.
        EI: bending stiffness, N m^2; a number or one per strand. Human hair has about 8e-9.
        GJ: twisting stiffness, N m^2.
        EA: stretching stiffness, N; None: that of a round fibre, 4 EI / radius^2.
        density: kg/m^3 of the fibres, whose radius is that of the groom.
        model: "rod": discrete elastic rods; "altitude", or an `AltitudeModel`: springs, with particles beside the hair.
        sag_free: natural curvature, twist and rest lengths are such that the groom is at rest under gravity; False: without gravity. A
            strand for which this would be no stable equilibrium is made stiffer. See `sag`.
        clamped: whether the roots have a direction (that of the groom's first segments) and no twist; else they are hinges.
        tips: whether frames hold the last points too, as `rods.set_frames` sets them; their positions are free until pinned.
        gravity: m/s^2; None: no gravity.

    Attributes:
        groom: the groom.
        nodes: (n,) the body's node of each point of the groom.
        strands: the force of all strands: `RodForce` or `StripForce`.
        rods: the same, of rods alone.
        shape: particles of altitude-spring hair; None for rods.
        misfit: (m,) largest relative difference between the stiffness of a strand of springs and that of its rod (0 for rods).
        targets: (k, 3), m: where `advance_strands` takes the points that are pinned; state. `pin` sets them to where these are.
        sag: `SagReport`; None without gravity or `sag_free`.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Bergou et al. 2008 and 2010 (rods); Selle 2008, sections 7.3 and 7.4 (springs); own rest shapes: balance point by point from
    the tip.
    """

    def __init__(
        self,
        groom: Groom,
        *,
        EI: float | Floats,
        GJ: float | Floats,
        EA: float | Floats | None = None,
        density: float = _HAIR,
        model: StrandModel | AltitudeModel = "rod",
        sag_free: bool = True,
        clamped: bool = True,
        tips: bool = False,
        gravity: Sequence[float] | Floats | None = None,
    ) -> None:
        _checks.one_of_type("groom", groom, Groom)
        altitude = model if isinstance(model, AltitudeModel) else None
        if altitude is None and _checks.choice("model", model, StrandModel) == "altitude":
            altitude = AltitudeModel()
        if len(groom) == 0:
            raise ValueError("groom must have a strand at least")
        frames, ends = _checks.flag("clamped", clamped), _checks.flag("tips", tips)
        if altitude is not None and ends:
            raise ValueError('no frames hold the tips of model "altitude"; pin their last three particles')
        area = math.pi * groom.radius**2 * _checks.positive("density", density)
        bending = per_element("EI", EI, len(groom), strictly=True)
        stretching = 4 * bending / groom.radius**2 if EA is None else EA
        self.shape = None if altitude is None else StripShape(groom, frames, altitude.extra)
        if self.shape is None:
            super().__init__(groom.mesh, density=np.repeat(area, np.diff(groom.offsets) - 1), gravity=gravity)
        else:
            hair = SegmentMesh(self.shape.particles, self.shape.nodes[groom.mesh.segments])
            super().__init__(hair, masses=np.repeat(area, np.diff(self.shape.offsets)) * self.shape.lengths, gravity=gravity)
        self.groom = groom
        self.nodes = np.arange(len(self), dtype=np.int32) if self.shape is None else self.shape.nodes
        self.misfit = np.zeros(len(groom))
        self.strands: RodForce | StripForce
        self.rods: RodForce
        stiffness = {"EI": bending, "GJ": GJ, "EA": stretching}
        if altitude is None:
            rods = RodForce(groom.offsets, groom.points, EI=bending, GJ=GJ, EA=stretching, roots=frames, tips=ends)
            self.strands = self.rods = self.add(rods)
            rods.set_frames(groom.directions, groom.directors)
            if clamped:
                rods.strands.untwist(self.positions)
        else:
            assert self.shape is not None
            if altitude.moduli is None:
                each = [per_element(name, value, len(groom), strictly=True) for name, value in stiffness.items()]
                constants, self.misfit = self.shape.fit(each[0], each[1], each[2])
            else:
                constants = self.shape.of_moduli(altitude.moduli)
            force = StripForce(self.shape.offsets, self.shape.particles, constants, self.shape.edges, altitude.beyond)
            self.strands = self.add(force)
        self._material = {**stiffness, "density": density, "model": model if altitude is None else altitude}
        self._material.update(clamped=clamped, tips=tips)
        self.targets = self.declare("targets", self.positions.copy())
        self.pin(_root_nodes(self))
        self.sag: SagReport | None = None
        if clamped and not tips:
            start = self.positions.copy()
            self.strands.rest_at(start, self.masses, np.zeros(3), np.ones(len(groom), np.bool_))
            if _checks.flag("sag_free", sag_free) and self.gravity.any():
                self.sag = rest_stably(self.strands, start, self.masses, self.gravity, _held(self) > 0)

    # --- roots ---------------------------------------------------------------------------------------------------------------

    def follow(self, vertices: npt.ArrayLike | None = None, *, roots: tuple[Floats, Floats, Floats] | None = None) -> None:
        """Let the next `advance_strands` bring the roots to where the groom's skin takes them.

        Args:
            vertices: (k, 3) of the skin at the end of the step, m.
            roots: instead, a motion of your own: points (m, 3), m, and vectors (m, 3) along the strands and across.

        Raises:
            TypeError, ValueError: both or none of them, other shapes.
        """
        if (vertices is None) == (roots is None):
            raise ValueError("give either vertices or roots")
        if vertices is not None:
            roots = (self.groom.roots_on(vertices), *self.groom.frames_on(vertices))
        assert roots is not None
        x, t, d = (_checks.incoming(n, v, np.dtype(np.float64), (len(self.groom), 3)) for n, v in zip(_FRAME, roots, strict=True))
        if isinstance(self.strands, RodForce):
            self.strands.set_frames(t, d)
        elif self._material["clamped"]:
            _set_frames(self, x, t, d)
        self.targets[self.nodes[self.groom.offsets[:-1]]] = x

    def pin(self, nodes: npt.ArrayLike) -> None:
        """Fix nodes where they are, as in `DeformableBody.pin`; `targets` says where `advance_strands` takes them."""
        super().pin(nodes)
        where = self._nodes(nodes)
        self.targets[where] = self.positions[where]

    # --- time ----------------------------------------------------------------------------------------------------------------

    @exclusively
    def advance_strands(
        self,
        dt: float,
        rule: StrandRule = "implicit-euler",
        *,
        drag: float = 0.0,
        max_newton: int | None = None,
        tolerance: float = 1e-7,
        longest: float | None = None,
        anchors: tuple[Floats, Floats] | None = None,
    ) -> StrandInfo:
        """Advance all strands by dt seconds, each by Newton's method with a direct solve; other forces do not act.

        Pinned points go where `targets` says, which `follow` sets for the roots.

        Args:
            dt: seconds, positive; infinite: downhill to an equilibrium, at rest, where time stays.
            rule: "implicit-euler", of first order, damps; "midpoint", of second order, keeps the energy of linear systems; "newmark", for
                altitude-spring hair: two linear solves in the order of Selle 2008, section 7.4, with frozen directions.
            drag: of air at rest, 1/s: the part of the momentum that it takes per time.
            max_newton: iterations at most; 1 is a linearised step; None: 20, or 2000 to an equilibrium.
            tolerance: largest last change of a position, relative to the length of its strand.
            longest: with "newmark", greatest strain of a segment: new positions are limited from root to tip (Selle 2008, section 7.4.1),
                and momentum is not conserved; None: no limit.
            anchors: with "implicit-euler", constants (k,), N/m, of springs of length zero from each node to points (k, 3), m, where these
                are at the end of the step.

        Raises:
            TypeError, ValueError: wrong values; positions that are not finite at the end: nothing has changed then.
        """
        still = isinstance(dt, float) and dt == math.inf
        dt = dt if still else _checks.positive("dt", dt)
        middle = _checks.choice("rule", rule, StrandRule) == "midpoint"
        if rule == "newmark" and (still or not isinstance(self.strands, StripForce)):
            raise ValueError('rule "newmark" is for steps of model "altitude"')
        if longest is not None and (rule != "newmark" or _checks.number("longest", longest) < 0):
            raise ValueError('longest is a strain of at least 0 for rule "newmark"')
        air = _checks.number("drag", drag)
        if air < 0:
            raise ValueError("drag must not be negative")
        if anchors is not None and (still or rule != "implicit-euler"):
            raise ValueError('anchors are for steps of rule "implicit-euler"')
        most = (2000 if still else 20) if max_newton is None else _checks.integer("max_newton", max_newton, 1)
        small, held, strands = _checks.positive("tolerance", tolerance), _held(self), self.strands.strands
        with self.transaction(("positions", "velocities", "time", "force_memory", "targets")):
            if still:
                done = strands.equilibrium(tuple(self.gravity), self.positions, self.masses, held, most, small)
                self.velocities = 0.0
            else:
                masses = self.masses if anchors is None else _tie(self, anchors, dt, air)
                arrays = (self.positions, self.velocities, masses, held, self.targets)
                if rule == "newmark":
                    strands.newmark(dt, tuple(self.gravity), air, *_limits(self, longest), arrays)
                    done = (1, 0)
                else:
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
        self.remove(self.strands)
        self.release()
        DeformableBody._setup.fset(self, setup)  # type: ignore[attr-defined]
        self.strands = next(force for force in self.forces if isinstance(force, RodForce | StripForce))
        if isinstance(self.strands, RodForce):
            self.rods = self.strands
        self.sag = setup["sag"]


def _held(body: HairBody) -> npt.NDArray[np.uint8]:
    """Mark the constrained points of a body."""
    held = np.zeros(len(body), np.uint8)
    held[body.constrained] = 1
    return held


def _root_nodes(body: HairBody) -> npt.NDArray[np.int32]:
    """Nodes that are held from the start: the roots, and the particles behind them."""
    first = np.zeros(len(body), np.bool_)
    first[body.nodes[body.groom.offsets[:-1]]] = True
    if body.shape is not None:
        first |= body.shape.kinds == 2
    return np.flatnonzero(first).astype(np.int32)


def _set_frames(body: HairBody, x: Floats, t: Floats, d: Floats) -> None:
    """Let the next step bring the particles behind the roots to where they hold directions and twist."""
    first = body.groom.offsets[:-1]
    behind = body.nodes[first] - 2
    length = np.linalg.norm(body.groom.points[first + 1] - body.groom.points[first], axis=1)[:, None]
    body.targets[behind] = x - length * t
    body.targets[behind + 1] = x - 0.5 * length * t + (0.5 * math.sqrt(3)) * length * d


def _tie(body: HairBody, anchors: tuple[Floats, Floats], dt: float, drag: float) -> Floats:
    """Masses and velocities that make a step of implicit Euler that of nodes with springs to anchors: both are quadratic in the end."""
    k = _checks.incoming("anchors[0]", anchors[0], np.dtype(np.float64), (len(body),))
    to = _checks.incoming("anchors[1]", anchors[1], np.dtype(np.float64), (len(body), 3))
    if k.min() < 0:
        raise ValueError("constants of anchors must not be negative")
    slower = 1 / (1 + drag * dt)
    inertia = 1 / (slower * dt**2)
    masses: Floats = body.masses + k / inertia
    aim = body.positions + slower * dt * (body.velocities + dt * body.gravity)
    aim += (k / (masses * inertia))[:, None] * (to - aim)
    body.velocities[...] = (aim - body.positions) / (slower * dt) - dt * body.gravity
    return masses


def _limits(body: HairBody, longest: float | None) -> tuple[npt.NDArray[np.int32], Floats]:
    """Particles to which distances are limited, and these; empty without limits."""
    assert body.shape is not None
    if longest is None:
        return np.zeros(0, np.int32), np.zeros(0)
    parents = body.shape.parents
    each = (1 + longest) * np.linalg.norm(body.shape.particles - body.shape.particles[parents], axis=1)
    return parents, each

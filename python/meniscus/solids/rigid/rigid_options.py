"""Options of contact between rigid bodies, and the report of a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

FrictionLaw = Literal["cone", "printed"]
"""Laws of friction between rigid bodies."""
FRICTION_LAW = CoreOption(FrictionLaw, _solids.FrictionLaw)
JointKind = Literal["ball", "hinge", "slider", "fixed"]
"""Kinds of joints."""
JOINT_KIND = CoreOption(JointKind, _solids.JointKind)
RigidSolver = Literal["auto", "sweeps", "exact"]
"""How impulses are found."""
RIGID_SOLVER = CoreOption(RigidSolver, _solids.RigidSolver)
RigidFormKind = Literal["auto", "convex", "hull", "mesh"]
"""What contact sees of a body."""


@dataclass(frozen=True)
class RigidFriction:
    """Friction of a surface. Of a pair of surfaces, coefficients against sliding are geometric means, the others the larger ones.

    Attributes:
        static: coefficient: what holds is at most that times the normal force.
        dynamic: coefficient of what slides; None: the static one.
        rolling: m; the torque against rolling per normal force.
        spinning: m; the torque against spinning about the normal per normal force.
        direction: of anisotropic friction, in axes of the rest pose; the coefficients are those along its part in the surface.
        across: coefficients across it, relative to those along it.

    Source: Müller, Stam, James and Thürey 2008, section 6.5.
    """

    static: float = 0.4
    dynamic: float | None = None
    rolling: float = 0.0
    spinning: float = 0.0
    direction: Sequence[float] | None = None
    across: float = 1.0

    def __post_init__(self) -> None:
        """Check the values."""
        slides = self.static if self.dynamic is None else self.dynamic
        for name, value in (("static", self.static), ("dynamic", slides), ("rolling", self.rolling), ("spinning", self.spinning)):
            if _checks.number(name, value) < 0:
                raise ValueError(f"{name} must not be negative, but is {value:g}")
        if slides > self.static:
            raise ValueError(f"dynamic must be at most static, but they are {slides:g} and {self.static:g}")
        _checks.positive("across", self.across)
        if self.direction is not None and not np.linalg.norm(_checks.vector("direction", self.direction, 3)) > 0:
            raise ValueError("direction must not be zero")

    def row(self, restitution: float, thickness: float) -> Floats:
        """Return the values as the core takes them."""
        slides = self.static if self.dynamic is None else self.dynamic
        d = np.zeros(3) if self.direction is None else np.array(self.direction, np.float64)
        return np.array([[self.static, slides, self.across, self.rolling, self.spinning, restitution, thickness, *d]])


def friction_of(value: Any) -> RigidFriction:
    """Return the friction that a coefficient or a `RigidFriction` means."""
    if isinstance(value, RigidFriction):
        return value
    mu = _checks.number("friction", value)
    if mu < 0:
        raise ValueError(f"friction must not be negative, but is {mu:g}")
    return RigidFriction(mu)


@dataclass(frozen=True)
class RigidOptions:
    """Options of contact between rigid bodies.

    Attributes:
        iterations: sweeps over all contacts and joints in a substep.
        substeps: how often forces, impulses and positions are taken in a step. Contacts are found as often where bodies move.
        tolerance: m/s; sweeps end when none changes a velocity at a contact by more. 0: all are taken.
        solver: "auto": sweeps (Gauss-Seidel), and where these leave much, as in towers or under heavy bodies, impulses of the
            island directly, by Newton's method; "sweeps": these alone; "exact": normal impulses of all contacts together, by the linear
            complementarity problem, between sweeps of friction; for up to some hundred contacts.
        friction: "cone": what holds is at most the static coefficient times the normal force, what slips has the dynamic one against it;
            "printed": tangential velocity is stopped wherever the normal impulse exceeds `holding_impulse`, however much that takes.
        holding_impulse: kg m/s.
        restitution_speed: m/s; slower impacts do not bounce. None: twice what gravity gives in a substep.
        push: part of the overlap beyond `slop` that pseudo-velocities remove in a substep.
        slop: m; overlap that stays. None: of the bodies that move the mean of 1/500 of their reach, or of 1/100 of their least extent
            where that is less.
        warm_start: whether sweeps begin with the impulses of the step before.
        sleep_after: s; islands of bodies that have been slow (0.01 m/s, 0.05 rad/s) for as long do not move until something that moves
            touches them. None: never.
        mesh_reach: m; contacts of meshes are found within that beyond their thickness, or beyond their nearest places where bodies go
            far in a step. None: the largest thickness.

    Source: Müller, Stam, James and Thürey 2008, sections 6.4 to 6.6.
    """

    iterations: int = 20
    substeps: int = 1
    tolerance: float = 0.0
    solver: RigidSolver = "auto"
    friction: FrictionLaw = "cone"
    holding_impulse: float = 0.0
    restitution_speed: float | None = None
    push: float = 0.2
    slop: float | None = None
    warm_start: bool = True
    sleep_after: float | None = None
    mesh_reach: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.integer("iterations", self.iterations, 1, 2**31)
        _checks.integer("substeps", self.substeps, 1, 2**31)
        RIGID_SOLVER("solver", self.solver)
        FRICTION_LAW("friction", self.friction)
        _checks.flag("warm_start", self.warm_start)
        for name in ("tolerance", "holding_impulse", "restitution_speed", "push", "slop", "sleep_after", "mesh_reach"):
            value = getattr(self, name)
            if value is not None and not (0 <= _checks.number(name, value) < math.inf):
                raise ValueError(f"{name} must not be negative, but is {value!r}")
        if self.push > 1:
            raise ValueError(f"push must be at most 1, but is {self.push:g}")


@dataclass(frozen=True)
class RigidContacts:
    """Contacts after a step.

    Attributes:
        bodies: (n, 2), numbers in `RigidSystem.parts`; the normals point from the second to the first.
        points: (n, 3), m.
        normals: (n, 3), of length 1.
        gaps: (n,), m, negative where surfaces overlap.
        impulses: (n, 3), on the first body, kg m/s, of the last substep.
    """

    bodies: Ints
    points: Floats
    normals: Floats
    gaps: Floats
    impulses: Floats

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.gaps)

    @classmethod
    def of_rows(cls, groups: Ints, points: Floats) -> RigidContacts:
        """Return the contacts of groups of points, as the core holds them."""
        n, t = points[:, 3:6], points[:, 13:16]
        impulses = points[:, 7:8] * n + points[:, 8:9] * t + points[:, 9:10] * np.cross(n, t)
        return cls(np.repeat(groups[:, :2], groups[:, 2], axis=0), points[:, :3].copy(), n.copy(), points[:, 6].copy(), impulses)


@dataclass
class RigidInfo:
    """Report of a step of rigid bodies.

    Attributes:
        dt: s.
        pairs: pairs of bodies whose boxes meet.
        groups: pairs that touch, or may do so within the step.
        contacts: points of these.
        impacts: impulses of points that bounced.
        islands: bodies that hang together by contacts and joints.
        asleep: bodies that do not move because all of their island has been slow.
        iterations: sweeps of the last substep.
        colours: of contacts and joints.
        residual: m/s; the largest speed after the sweeps at which surfaces approach beyond what is allowed, or joined points part.
        deepest: m; the largest overlap at the start.
        exact: whether the exact solver, if asked for, found a solution.
        direct: islands whose impulses were found directly, because sweeps left too much.
        certified: whether by the exact test nothing intersects at the end. Only with `guarantee`.
        cut: bodies that went only a part of their way, because it would have led into others: with `guarantee`, and fast ones.
        blocked: bodies among them that did not move at all, or only with a mesh on a path.
        unresolved: pairs of parts that meet although forces move none of both, as between obstacles on paths and what they pinch.
    """

    dt: float = 0.0
    pairs: int = 0
    groups: int = 0
    contacts: int = 0
    impacts: int = 0
    islands: int = 0
    asleep: int = 0
    iterations: int = 0
    colours: int = 0
    residual: float = 0.0
    deepest: float = 0.0
    exact: bool = True
    direct: int = 0
    certified: bool = False
    cut: int = 0
    blocked: int = 0
    unresolved: tuple[tuple[int, int], ...] = ()

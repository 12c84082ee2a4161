"""Set-up of a world in real time: bodies, obstacles, joints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.stateful import Stateful, exclusively
from meniscus.solids.body import DeformableBody
from meniscus.solids.contact.obstacles import SolidObstacle, obstacle_of
from meniscus.solids.interaction.interaction import Interaction
from meniscus.solids.ownership import claim, require_free
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.positions_world.surfaces import WorldSurface, surface_of
from meniscus.solids.reduced.reduced_body import ReducedBody
from meniscus.solids.rigid.joints import RigidJoint
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_options import JointKind, RigidOptions, friction_of
from meniscus.solids.rigid.rigid_system import RigidSystem

Floats = npt.NDArray[np.float64]


class PositionsSetup(Stateful):
    """Base of a world in real time: what it consists of.

    Attributes:
        node_bodies: bodies of position based dynamics.
        reduced_bodies: reduced bodies.
        rigid: the system of its rigid bodies, with their contacts and joints.
    """

    settings: ClassVar[tuple[str, ...]] = ("_setup",)
    interaction: Interaction
    _left: int

    def _make_setup(self, gravity: Sequence[float] | Floats | None, rigid: RigidOptions | None) -> None:
        self.gravity = None if gravity is None else np.array(_checks.vector("gravity", gravity, 3))
        options = RigidOptions(iterations=4) if rigid is None else _checks.one_of_type("rigid", rigid, RigidOptions)
        # What rests may be pushed by cloth at any time.
        self.rigid: RigidSystem = self.declare("rigid", RigidSystem(replace(options, sleep_after=None), self.gravity))
        self.node_bodies: list[PositionBody] = self.declare("node_bodies", [])
        self.reduced_bodies: list[ReducedBody] = self.declare("reduced_bodies", [])
        self._surfaces: dict[int, WorldSurface] = {}
        self._solids: list[SolidObstacle] = []
        self._time = self.declare("_time", 0.0)
        self.removals = self.declare("removals", 0)
        self._removals = 0

    @property
    def bodies(self) -> tuple[Any, ...]:
        """All bodies: those of position based dynamics, rigid ones, reduced ones, each in the order in which they were added."""
        return (*self.node_bodies, *self.rigid.bodies, *self.reduced_bodies)

    @property
    def solids(self) -> tuple[SolidObstacle, ...]:
        """The obstacles, in the order in which they were added."""
        return tuple(self._solids)

    @exclusively
    def add(self, body: Any, *, thickness: float | None = None, friction: Any = 0.4, **rigid: Any) -> Any:
        """Add a body and return it. Its time becomes that of the world, and its gravity too, if the world has one.

        Args:
            body: a `PositionBody` (float64), a `RigidBody` or a `ReducedBody`. Between steps its state may be changed.
            thickness: m; surfaces of two bodies keep the mean of theirs. None: a quarter of the mean edge; of rigid bodies as in
                `RigidSystem.add`. It is cut where edges at rest are short.
            friction: coefficient (of two: the geometric mean); of rigid bodies also a `RigidFriction`.
            **rigid: `form` and `restitution` of a rigid body, as in `RigidSystem.add`.

        Raises:
            TypeError, ValueError: another body, such as a `DeformableBody`, or one that the world has; values out of range.
        """
        if isinstance(body, DeformableBody):
            raise TypeError("a PositionsWorld has no DeformableBody: make a PositionBody, or a World")
        _checks.one_of_type("body", body, (PositionBody, RigidBody, ReducedBody))
        require_free(body, self, "world")
        law = friction_of(friction)
        sliding = law.static if law.dynamic is None else law.dynamic
        h = None if thickness is None else _checks.number("thickness", thickness)
        if h is not None and h < 0:
            raise ValueError(f"thickness must not be negative, but is {h:g}")
        if isinstance(body, RigidBody):
            self.rigid.add(body, thickness=h, friction=friction, **rigid)
            h = self.rigid.parts[-1].thickness
        elif rigid:
            raise TypeError(f"{_checks.join(sorted(rigid))} are options of rigid bodies, not of {type(body).__name__}")
        elif isinstance(body, PositionBody):
            if body.dtype != np.float64:
                raise TypeError("bodies of a world are of float64: make the PositionBody with dtype=np.float64")
            self.node_bodies.append(body)
        else:
            self.reduced_bodies.append(body)
        self._surfaces[id(body)] = surface_of(body, h, sliding)
        if not isinstance(body, RigidBody):
            claim(body, self)
            if self.gravity is not None:
                body.gravity = self.gravity.copy()
            body.time = self.time
        self._set_up_changed()
        return body

    @exclusively
    def remove(self, body: Any) -> None:
        """Take a body of any type out, with its joints, handles, attachments and pose targets.

        It stays as it is, and belongs to nobody; the state of all others stays the same to the last bit. Which pairs of surfaces had
        passed each other is forgotten, as by `add`. Snapshots of before do not fit any more: to restore one raises ValueError.

        Raises:
            ValueError: the world has not this body; in the middle of a frame.
        """
        if not self.has(body):
            raise ValueError("the world has not this body")
        if self._left:
            raise ValueError(f"the frame that has begun has {self._left} substeps left")
        name, names = self.interaction.name_of(body), {known: id(own) for known, own in self.interaction.bodies.items()}
        if self.rigid.has(body):
            self.rigid.remove(body)
        else:
            self.node_bodies[:] = [own for own in self.node_bodies if own is not body]
            self.reduced_bodies[:] = [own for own in self.reduced_bodies if own is not body]
        del self._surfaces[id(body)]
        self.removals += 1
        self._removals = self.removals
        self._set_up_changed()
        self.interaction.body_left(name, names)

    def has(self, body: Any) -> bool:
        """Return whether a body is one of the world's."""
        return any(b is body for b in self.bodies)

    @exclusively
    def add_obstacle(self, obstacle: Any, *, thickness: float = 0.0, friction: Any = 0.4, restitution: float = 0.0) -> None:
        """Add a solid that all bodies stay out of, and that nothing moves but its own motion.

        Args:
            obstacle: a `surface.Solid`, a shape, a `LevelSet` or a closed mesh. Nodes stay above its planes, which are those where they
                meet it in a frame.
            thickness: distance that nodes keep, m; surfaces of rigid bodies keep the mean of theirs and this one.
            friction: coefficient, or a `RigidFriction`, of which nodes take the dynamic one.
            restitution: of rigid bodies on it, from 0 to 1.

        Raises:
            TypeError, ValueError: no solid, values out of range. For an open mesh, add a `PositionBody` of infinite masses.
        """
        law = friction_of(friction)
        sliding = law.static if law.dynamic is None else law.dynamic
        found = obstacle_of(obstacle, thickness=thickness, friction=sliding)
        if not isinstance(found, SolidObstacle):
            raise TypeError("an obstacle must be a solid; for an open mesh, add a PositionBody of infinite masses")
        self.rigid.add_obstacle(obstacle, thickness=thickness, friction=friction, restitution=restitution)
        self._solids.append(found)
        self._set_up_changed()

    def join(self, first: RigidBody, second: RigidBody | None, kind: JointKind, **options: Any) -> RigidJoint:
        """Join two rigid bodies; arguments and errors are those of `RigidSystem.join`."""
        return self.rigid.join(first, second, kind, **options)

    def _set_up_changed(self) -> None:
        """Discard what was made from the set-up."""

    @property
    def time(self) -> float:
        """Seconds; that of all bodies."""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        self._time = _checks.number("time", value)
        moved: list[Any] = [*self.node_bodies, *self.reduced_bodies]
        for body in moved:
            body.time = self._time
        self.rigid.start_at(self._time)

    def energy(self) -> dict[str, float]:
        """Return the kinetic, elastic and gravitational energy and their sum, J. What constraints store is not counted."""
        kinetic, elastic, gravity = [], [], []
        for node in self.node_bodies:
            m = np.where(np.isfinite(node.masses), node.masses, 0.0)
            kinetic.append(0.5 * float(m @ (node.velocities**2).sum(axis=1)))
            gravity.append(-float(m @ (node.positions @ node.gravity)))
        for reduced in self.reduced_bodies:
            own = reduced.energy()
            kinetic.append(own["kinetic"])
            elastic.append(own["elastic"])
            gravity.append(own["gravity"])
        for rigid in self.rigid.bodies:
            if rigid.is_dynamic:
                kinetic.append(rigid.kinetic_energy)
                gravity.append(-rigid.mass * float(rigid.gravity @ rigid.center))
        sums = [math.fsum(a) for a in (kinetic, elastic, gravity)]
        return {"kinetic": sums[0], "elastic": sums[1], "gravity": sums[2], "total": math.fsum(sums)}

    @property
    def momentum(self) -> Floats:
        """Momentum (3,) of all bodies that forces move, kg m/s."""
        parts = [*(b.momentum for b in self.node_bodies), *(b.momentum for b in self.reduced_bodies if not b.clamped), self.rigid.momentum]
        return np.array([math.fsum(float(p[k]) for p in parts) for k in range(3)])

    def copy(self: Any) -> Any:
        """Return an independent world in the same state, with copies of the bodies; obstacles are shared."""
        arguments, named = self._arguments()
        made = {id(b): b.copy() for b in (*self.node_bodies, *self.reduced_bodies)}
        rigid = self.rigid.setup_with_copies()
        for old, new in zip(self.rigid.parts, rigid["parts"], strict=True):
            made[id(old.body)] = new.body
        return self._duplicate(arguments, named, {"_setup": self._setup_of(made, rigid)})

    def _setup_of(self, made: Mapping[int, Any], rigid: Any) -> dict[str, Any]:
        return {
            "bodies": [made[id(b)] for b in self.node_bodies],
            "reduced": [made[id(b)] for b in self.reduced_bodies],
            "rigid": rigid,
            "surfaces": [self._surfaces[id(b)] for b in self.bodies],
            "solids": list(self._solids),
            "removals": self._removals,
        }

    @property
    def _setup(self) -> dict[str, Any]:
        return self._setup_of({id(b): b for b in (*self.node_bodies, *self.reduced_bodies)}, self.rigid.setup)

    @_setup.setter
    def _setup(self, setup: Mapping[str, Any]) -> None:
        self.node_bodies[:] = setup["bodies"]
        self.reduced_bodies[:] = setup["reduced"]
        for body in (*self.node_bodies, *self.reduced_bodies):
            claim(body, self)
        self.rigid.setup = setup["rigid"]
        self._surfaces = {id(b): s for b, s in zip(self.bodies, setup["surfaces"], strict=True)}
        self._solids[:] = setup["solids"]
        self.removals = self._removals = setup["removals"]
        self._set_up_changed()

"""Rigid bodies in a world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from meniscus import _checks
from meniscus.core.stateful import exclusively
from meniscus.solids.body import DeformableBody
from meniscus.solids.contact.reports import WorldInfo
from meniscus.solids.contact.rigid_surfaces import RigidSurfaces
from meniscus.solids.contact.self_stepping import SelfStepping
from meniscus.solids.contact.world_setup import WorldSetup
from meniscus.solids.rigid.joints import RigidJoint
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_options import JointKind, RigidOptions, friction_of
from meniscus.solids.rigid.rigid_setup import surface_row
from meniscus.solids.rigid.rigid_system import RigidSystem

_ON_A_PATH = "a mesh on a path that rigid bodies touch is a RigidBody with `motion`"


class RigidWorld(WorldSetup):
    """Base of a world: what it does with rigid bodies.

    Attributes:
        rigid: the system of its rigid bodies, with their contacts and joints.
    """

    rigid: RigidSystem
    _response: str
    _rewinds: bool
    _plain_obstacles: list[dict[str, Any]]

    def _make_rigid(self, options: RigidOptions | None) -> None:
        self.rigid = self.declare("rigid", RigidSystem(options, self.gravity))
        self._plain_obstacles = []

    @exclusively
    def add(self, body: Any, surface: Any = None, thickness: float | None = None, friction: Any = 0.4, **rigid: Any) -> Any:
        """Add a body and return it. Its time becomes that of the world, and its gravity too, if the world has one.

        Args:
            body: steps of the world change it. Between steps its state, forces and constraints may be changed. A
                `DeformableBody` or a `RigidBody`.
            surface: the surface that contact sees. None: that of the body's own mesh: its triangles, the boundary of its tetrahedra, its
                segments; none for a body without a mesh. Or a mesh of triangles or segments, which hangs in the body as it is now, or as
                a pair (mesh, `Embedding`) says. Contact with solids is that of the nodes. Not for rigid bodies.
            thickness: distance from other surfaces at which repulsion begins, m; None: a quarter of the mean edge. At each vertex at most
                0.9 of its shortest edge. Of rigid bodies as in `RigidSystem.add`.
            friction: coefficient, against other surfaces; of rigid bodies also a `RigidFriction`.
            **rigid: `form` and `restitution` of a rigid body, as in `RigidSystem.add`.

        Raises:
            TypeError, ValueError: no body, or one that the world has; no such surface; negative values; in the middle of a loop; bodies
                of both kinds with a barrier or with loops that rewind; a first rigid body where an obstacle is a mesh on a path.
        """
        if not isinstance(body, RigidBody):
            if rigid:
                raise TypeError(f"{_checks.join(sorted(rigid))} are options of rigid bodies, not of {type(body).__name__}")
            self._require_coupling(bool(self.rigid.bodies) and isinstance(body, DeformableBody))
            return super().add(body, surface, thickness, friction)
        self._require_coupling(bool(self.bodies))
        self._require_between_loops("bodies are added")
        if surface is not None:
            raise ValueError("contact of a rigid body sees its own shape or mesh: `surface` is for deformable bodies")
        first = not self.rigid.parts
        if first and any(given["motion"] is not None for given in self._plain_obstacles):
            raise ValueError(_ON_A_PATH)
        before = body.time, body.gravity
        added = self.rigid.add(body, thickness=thickness, friction=friction, **rigid)
        if first:
            try:
                for given in self._plain_obstacles:
                    self._add_rigid_obstacle(given)
            except BaseException:
                body.time, body.gravity = before
                self.rigid.setup = {**self.rigid.setup, "parts": [], "joints": []}
                raise
        self._joined = None
        return added

    def _require_coupling(self, mixed: bool) -> None:
        if mixed and (self._response != "impulses" or self._rewinds):
            raise ValueError('rigid and deformable bodies touch with response="impulses" and loop="fixed" only')

    def _self_stepping(self) -> list[SelfStepping]:
        return [RigidSurfaces(self.rigid)] if self.rigid.bodies else []

    def add_obstacle(self, obstacle: Any, *arguments: Any, restitution: float = 0.0, **named: Any) -> None:
        """Add an obstacle, whose motion is given.

        Args:
            obstacle: with `sides` "outside", a `surface.Solid`, or what a `KinematicSolid` is made from: a shape, a `LevelSet`, a closed
                mesh; nodes stay out of it. With "both", a mesh of triangles, also an open one, a `DeformingSolid`, or a mesh of segments
                (for which this is always so): surfaces stay on their side of it.
            *arguments: `thickness`, `friction`, `sides` and `motion`, as by name.
            restitution: of rigid bodies on it, from 0 to 1.
            **named: thickness: m: distance that nodes keep from a solid, default 0; of a mesh as in `add`. friction: coefficient: that of
                nodes on this solid, or a `RigidFriction`, of which nodes take the dynamic one; of a mesh as in `add`. sides: see above.
                motion: of a mesh with two sides: a function of time (s) that returns its vertices (n, 3), m, or a `Pose`; None: it is at
                rest. Rigid bodies take meshes on paths as a `RigidBody`.

        Raises:
            TypeError, ValueError: no such obstacle, negative values; in the middle of a loop.
        """
        options = dict(zip(("thickness", "friction", "sides", "motion"), arguments, strict=False)) | named
        plain = _plain(obstacle, options, restitution)
        surface_row(plain["friction"], restitution, plain["thickness"])
        if self.rigid.bodies:
            if plain["motion"] is not None:
                raise ValueError(_ON_A_PATH)
            self._add_rigid_obstacle(plain)
        law = friction_of(options.get("friction", 0.4))
        sliding = law.static if law.dynamic is None else law.dynamic
        super().add_obstacle(obstacle, **{**options, "friction": sliding})
        self._plain_obstacles.append(plain)

    def _add_rigid_obstacle(self, plain: dict[str, Any]) -> None:
        self.rigid.add_obstacle(**{name: value for name, value in plain.items() if name != "motion"})

    def join(self, first: RigidBody, second: RigidBody | None, kind: JointKind, **options: Any) -> RigidJoint:
        """Join two rigid bodies; arguments and errors are those of `RigidSystem.join`."""
        return self.rigid.join(first, second, kind, **options)

    def _step_rigid(self, dt: float, on_stage: Callable[[str, Any], None] | None, guarantee: bool) -> WorldInfo:
        with self.transaction(()):
            report = self.rigid.step(dt, guarantee=guarantee, on_stage=None if on_stage is None else lambda n, _: on_stage(n, self))
            self._time = self.rigid.time
            speed = max((float((b.velocity @ b.velocity) ** 0.5) for b in self.rigid.bodies), default=0.0)
        return WorldInfo(dt=report.dt, max_speed=speed, rigid=report)

    def start_at(self, time: float) -> None:
        """Set the time (s) of the world and its bodies: of a state that comes from elsewhere."""
        super().start_at(time)
        self.rigid.start_at(time)

    def _setup_with_copies(self) -> dict[str, Any]:
        return {**super()._setup_with_copies(), "rigid": self.rigid.setup_with_copies()}

    @property
    def _setup(self) -> dict[str, Any]:
        return {**super()._setup, "rigid": self.rigid.setup, "plain": list(self._plain_obstacles)}

    @_setup.setter
    def _setup(self, setup: Any) -> None:
        WorldSetup._setup.fset(self, setup)  # type: ignore[attr-defined]
        self.rigid.setup = setup["rigid"]
        self._plain_obstacles = list(setup["plain"])


def _plain(obstacle: Any, options: dict[str, Any], restitution: float) -> dict[str, Any]:
    friction: float | Sequence[float] = options.get("friction", 0.4)
    named = {"thickness": options.get("thickness"), "friction": friction, "restitution": restitution}
    return {"obstacle": obstacle, **named, "motion": options.get("motion")}

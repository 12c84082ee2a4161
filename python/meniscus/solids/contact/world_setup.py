"""Set-up of a world: bodies of all kinds with their surfaces, and obstacles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.core.stateful import Stateful, exclusively
from meniscus.solids.body import DeformableBody
from meniscus.solids.contact.body_surface import BodySurface, surface_of
from meniscus.solids.contact.contact_surface import ContactSurface, Floats
from meniscus.solids.contact.coupling.coupled_body import CoupledBody
from meniscus.solids.contact.coupling.position_surfaces import PositionSurface
from meniscus.solids.contact.coupling.reduced_surfaces import ReducedSurface
from meniscus.solids.contact.obstacles import MeshMotion, MeshObstacle, Sides, SolidObstacle, obstacle_of
from meniscus.solids.contact.rigid_surfaces import RigidSurfaces
from meniscus.solids.contact.self_stepping import SelfStepping
from meniscus.solids.ownership import claim, require_free
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.reduced.reduced_body import ReducedBody
from meniscus.solids.rigid.rigid_body import RigidBody
from meniscus.solids.rigid.rigid_options import RigidOptions, friction_of
from meniscus.solids.rigid.rigid_setup import surface_row
from meniscus.solids.rigid.rigid_system import RigidSystem

_KINDS: tuple[tuple[type, type], ...] = ((PositionBody, PositionSurface), (ReducedBody, ReducedSurface))
_ON_A_PATH = "a mesh on a path that rigid bodies touch is a RigidBody with `motion`"


class WorldSetup(Stateful):
    """What a world consists of.

    Args:
        gravity: (3,), m/s^2, of all bodies that are added; None: each has its own.
        rigid: options of contact between rigid bodies.
        couples: whether bodies of different kinds may touch.
        steps_in_loop: returns how many steps the present loop has had; bodies and obstacles come and go between loops.

    Attributes:
        bodies: deformable ones, in the order in which they were added; `surfaces` those that contact sees, None for one without.
        others: those of position based dynamics and reduced ones (`.body`), which take steps of their own, with their surfaces.
        rigid: the system of the rigid bodies, with their contacts and joints.
        solid_obstacles, mesh_obstacles: obstacles, in the order in which they were added.
        friction_of_solids: (k,), coefficients of the solids.
        removals: number of bodies that were taken out.
        stepping: whether a step goes on, within which masses and constraints of the bodies stay as they are.
    """

    settings = ("contents",)

    def __init__(self, gravity: Floats | None, rigid: RigidOptions | None, *, couples: bool, steps_in_loop: Callable[[], int]) -> None:
        self.gravity, self.couples, self._steps_in_loop = gravity, couples, steps_in_loop
        self.bodies: list[DeformableBody] = self.declare("bodies", [])
        self.rigid: RigidSystem = self.declare("rigid", RigidSystem(rigid, gravity))
        self.others: list[CoupledBody] = self.declare("others", [])
        self.friction_of_solids = self.declare("friction_of_solids", np.zeros(0), resizable=True)
        self._time = self.declare("_time", 0.0)
        self.removals = self.declare("removals", 0)
        self._removals = 0
        self.surfaces: list[BodySurface | None] = []
        self.solid_obstacles: list[SolidObstacle] = []
        self.mesh_obstacles: list[MeshObstacle] = []
        self._plain_obstacles: list[dict[str, Any]] = []
        self._joined: ContactSurface | None = None
        self._generations: list[int] = []
        self.stepping = False

    # --- bodies --------------------------------------------------------------------------------------------------------------

    def add(self, body: Any, surface: Any, thickness: float | None, friction: Any, **options: Any) -> Any:
        """Add a body and return it; see `World.add`."""
        kind = next((made for known, made in _KINDS if isinstance(body, known)), None)
        if kind is not None:
            self._add_other(kind, body, surface, thickness, friction, **options)
        elif isinstance(body, RigidBody):
            self._add_rigid(body, surface, thickness, friction, **options)
        elif isinstance(body, DeformableBody):
            self._add_deformable(body, surface, thickness, friction, **options)
        else:
            raise TypeError(f"body must be a DeformableBody, RigidBody, PositionBody or ReducedBody, not {type(body).__name__}")
        self._joined = None
        return body

    def _add_deformable(self, body: DeformableBody, surface: Any, thickness: float | None, friction: Any, **options: Any) -> None:
        self._require_coupling(bool(self.others), "bodies with steps of their own touch deformable ones")
        self._require_coupling(bool(self.rigid.bodies), "rigid and deformable bodies touch")
        require_free(body, self, "world")
        self.require_between_loops("bodies are added")
        if body.remesher is not None:
            thickness = body.remesher.thickness_for(surface, thickness, **options)
        elif options:
            raise TypeError(f"{_checks.join(sorted(options))} are options of other bodies, not of {type(body).__name__}")
        own = surface_of(body, surface, thickness, friction)
        if self.gravity is not None:
            body.gravity = self.gravity
        body.time = self.time
        claim(body, self)
        self.bodies.append(body)
        self.surfaces.append(own)

    def _add_other(self, kind: Any, body: Any, surface: Any, thickness: float | None, friction: Any, **options: Any) -> None:
        self._require_coupling(True, "bodies with steps of their own touch deformable ones")
        self.require_between_loops("bodies are added")
        require_free(body, self, "world")
        if surface is not None:
            raise ValueError(f"contact of a {type(body).__name__} sees its own mesh: `surface` is for deformable bodies")
        made = kind(body, thickness, friction, **options)
        if self.gravity is not None:
            body.gravity = self.gravity.copy()
        body.time = self.time
        claim(body, self)
        self.others.append(made)
        self._number_others()

    def _add_rigid(self, body: RigidBody, surface: Any, thickness: float | None, friction: Any, **options: Any) -> None:
        self._require_coupling(bool(self.others), "bodies with steps of their own touch deformable ones")
        self._require_coupling(bool(self.bodies), "rigid and deformable bodies touch")
        self.require_between_loops("bodies are added")
        if surface is not None:
            raise ValueError("contact of a rigid body sees its own shape or mesh: `surface` is for deformable bodies")
        first = not self.rigid.parts
        if first and any(given["motion"] is not None for given in self._plain_obstacles):
            raise ValueError(_ON_A_PATH)
        before = body.time, body.gravity
        self.rigid.add(body, thickness=thickness, friction=friction, **options)
        if first:
            try:
                for given in self._plain_obstacles:
                    self._add_rigid_obstacle(given)
            except BaseException:
                body.time, body.gravity = before
                self.rigid.setup = {**self.rigid.setup, "parts": [], "joints": []}
                raise

    def _require_coupling(self, mixed: bool, what: str) -> None:
        if mixed and not self.couples:
            raise ValueError(f'{what} with response="impulses" and loop="fixed" only')

    def _number_others(self) -> None:
        for number, other in enumerate(self.others):
            other.solids, other.number = self.solid_obstacles, number

    def has(self, body: Any) -> bool:
        """Return whether a body is one of the world's."""
        known = (*self.bodies, *(other.body for other in self.others))
        return any(own is body for own in known) or self.rigid.has(body)

    def remove(self, body: Any) -> None:
        """Take a body out, with its joints; see `World.remove`."""
        if self.rigid.has(body):
            self.rigid.remove(body)
            if not self.rigid.bodies:
                # The next first one brings the obstacles again.
                self.rigid.setup = {**self.rigid.setup, "parts": [], "joints": []}
                self.rigid._forget_contacts()
        elif any(own is body for own in self.bodies):
            k = next(k for k, own in enumerate(self.bodies) if own is body)
            del self.bodies[k], self.surfaces[k]
        else:
            self.others[:] = [other for other in self.others if other.body is not body]
            self._number_others()
        self._joined = None
        self.removals += 1
        self._removals = self.removals

    def place_of(self, body: Any) -> tuple[slice, slice]:
        """Return where the nodes and the vertices of a body are among all of `surface`; empty ranges for one without."""
        surface, part = self.surface, 0

        def vertices(first: int, count: int) -> slice:
            starts = surface.vertex_starts
            return slice(int(starts[first]), int(starts[first + count]))

        for own, start, other in zip(self.bodies, surface.starts, self.surfaces, strict=False):
            count = int(other is not None)
            if own is body:
                return slice(int(start), int(start) + len(own)), vertices(part, count)
            part += count
        for item, rows in surface.others:
            if isinstance(item, RigidSurfaces):
                for k, rigid in enumerate(item.bodies):
                    if rigid is body:
                        return slice(rows.start + 4 * k, rows.start + 4 * k + 4), vertices(part + k, 1)
            elif getattr(item, "body", None) is body:
                return rows, vertices(part, len(item.surfaces))
            part += len(item.surfaces)
        return slice(0, 0), slice(0, 0)

    def named_bodies(self) -> list[tuple[str, Any, Any]]:
        """Return name, body, and surface that contact sees (if it is not the body's own) of all bodies."""
        own = [(f"bodies[{k}]", body, surface) for k, (body, surface) in enumerate(zip(self.bodies, self.surfaces, strict=True))]
        others = [(f"others[{k}]", other.body, None) for k, other in enumerate(self.others)]
        return own + others + [(f"rigid[{k}]", body, None) for k, body in enumerate(self.rigid.bodies)]

    # --- obstacles -----------------------------------------------------------------------------------------------------------

    def add_obstacle(
        self,
        obstacle: Any,
        thickness: float | None,
        friction: Any,
        sides: Sides,
        motion: MeshMotion | None,
        restitution: float,
    ) -> None:
        """Add an obstacle, whose motion is given; see `World.add_obstacle`."""
        plain = {"obstacle": obstacle, "thickness": thickness, "friction": friction, "restitution": restitution, "motion": motion}
        surface_row(friction, restitution, thickness)
        if self.rigid.bodies:
            if motion is not None:
                raise ValueError(_ON_A_PATH)
            self._add_rigid_obstacle(plain)
        law = friction_of(friction)
        sliding = law.static if law.dynamic is None else law.dynamic
        self.require_between_loops("obstacles are added")
        made = obstacle_of(obstacle, thickness=thickness, friction=sliding, sides=sides, motion=motion)
        if isinstance(made, SolidObstacle):
            self.solid_obstacles.append(made)
            self._store_friction()
        else:
            made.vertices(self.time)
            self.mesh_obstacles.append(made)
            self._joined = None
        self._plain_obstacles.append(plain)

    def _add_rigid_obstacle(self, plain: dict[str, Any]) -> None:
        self.rigid.add_obstacle(**{name: value for name, value in plain.items() if name != "motion"})

    @exclusively
    def set_friction(self, solid: int, friction: float) -> None:
        """Give the coefficient of friction of a solid, by its number in `solid_obstacles`, another value from now on.

        The values are state: snapshots and checkpoints have them.

        Raises:
            TypeError, ValueError, IndexError: a negative value; no such solid; in the middle of a loop.
        """
        mu = _checks.number("friction", friction)
        if mu < 0:
            raise ValueError(f"friction must not be negative, but is {mu:g}")
        number = _checks.integer("solid", solid, 0)
        known = tuple(self.solid_obstacles)[number]
        if known.friction != mu:
            self.require_between_loops("friction changes")
            self.solid_obstacles[number] = replace(known, friction=mu)
            self._store_friction()

    def _store_friction(self) -> None:
        self.friction_of_solids = np.array([solid.friction for solid in self.solid_obstacles])

    def require_between_loops(self, what: str) -> None:
        """Raise ValueError in the middle of a loop."""
        if steps := self._steps_in_loop():
            raise ValueError(f"{what} between loops, but this one has had {steps} steps: call finish_loop")

    # --- what all of it is as one ----------------------------------------------------------------------------------------------

    @property
    def surface(self) -> ContactSurface:
        """All surfaces as one, with the nodes behind their vertices as they are held now, or were as the present step began."""
        known = self._joined
        # Whether it still fits is a question to all nodes.
        if known is not None and self.stepping:
            return known
        generations = [body.generation for body in self.bodies]
        if generations != self._generations:
            self._follow_meshes(generations)
            known = None
        pairs = list(zip(self.bodies, self.surfaces, strict=True))
        if known is None or not known.fits(pairs):
            rigid: list[SelfStepping] = [RigidSurfaces(self.rigid)] if self.rigid.bodies else []
            known = self._joined = ContactSurface(pairs, self.mesh_obstacles, [*rigid, *self.others])
        return known

    def _follow_meshes(self, generations: list[int]) -> None:
        """Give bodies whose mesh is another one than it was the surface of this."""
        for k, (body, own) in enumerate(zip(self.bodies, self.surfaces, strict=True)):
            if body.generation and own is not None:
                self.surfaces[k] = surface_of(body, None, own.thickness, own.friction)
        self._generations = generations

    @property
    def only_rigid(self) -> bool:
        """Whether all bodies are rigid."""
        return bool(self.rigid.bodies) and not self.bodies and not self.others

    @property
    def time(self) -> float:
        """Seconds; that of all bodies."""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        self._time = _checks.number("time", value)
        for body in self.bodies:
            body.time = self._time
        for other in self.others:
            other.start_at(self._time)
        self.rigid.start_at(self._time)

    def start_at(self, time: float) -> None:
        """Set the time (s) of the world and its bodies: of a state that comes from elsewhere."""
        self.time = time

    def count_time(self, dt: float) -> None:
        """Add dt seconds to the time of the world, when all bodies have done so."""
        self._time += dt

    def follow_rigid(self) -> None:
        """Take the time of the rigid bodies, which have taken a step alone."""
        self._time = self.rigid.time

    def energy(self) -> dict[str, float]:
        """Return the energies (J) of all bodies; see `World.energy`."""
        parts = [*(body.energy() for body in self.bodies), *(other.energy() for other in self.others)]
        kinetic, elastic, gravity = (math.fsum(part.get(name, 0.0) for part in parts) for name in ("kinetic", "elastic", "gravity"))
        for body in self.rigid.bodies:
            if body.is_dynamic:
                kinetic += body.kinetic_energy
                gravity -= body.mass * float(body.gravity @ body.center)
        return {"kinetic": kinetic, "elastic": elastic, "gravity": gravity, "total": kinetic + elastic + gravity}

    def require_finite(self) -> None:
        """Raise ValueError without bodies, or with the first node of a deformable one whose state is not finite."""
        if not self.bodies and not self.others:
            raise ValueError("a world needs a body: call add")
        for number, own in enumerate(self.bodies):
            for name, values in {"positions": own.positions, "velocities": own.velocities}.items():
                if not (finite := np.isfinite(values).all(axis=1)).all():
                    raise ValueError(f"{name} must be finite, but that of node {int(np.argmin(finite))} of body {number} is not")

    # --- copies --------------------------------------------------------------------------------------------------------------

    @property
    def contents(self) -> dict[str, Any]:
        """Bodies, surfaces, obstacles: what a copy or a pickle of the world is made of before its state is restored."""
        return self._contents(list(self.bodies), list(self.others), self.rigid.setup)

    @contents.setter
    def contents(self, given: Mapping[str, Any]) -> None:
        self.bodies[:], self.others[:] = given["bodies"], given["others"]
        for body in (*self.bodies, *(other.body for other in self.others)):
            claim(body, self)
        self.surfaces[:], self.solid_obstacles[:], self.mesh_obstacles[:] = given["surfaces"], given["solids"], given["meshes"]
        self.rigid.setup = given["rigid"]
        self._plain_obstacles = list(given["plain"])
        self.removals = self._removals = given["removals"]
        self._store_friction()
        self._number_others()
        self._joined = None

    def copied_contents(self) -> dict[str, Any]:
        """Return `contents` with copies of the bodies; obstacles are shared."""
        return self._contents([b.copy() for b in self.bodies], [o.copy() for o in self.others], self.rigid.setup_with_copies())

    def _contents(self, bodies: Sequence[Any], others: Sequence[Any], rigid: Any) -> dict[str, Any]:
        return {
            "bodies": bodies,
            "others": others,
            "rigid": rigid,
            "surfaces": list(self.surfaces),
            "solids": list(self.solid_obstacles),
            "meshes": list(self.mesh_obstacles),
            "plain": list(self._plain_obstacles),
            "removals": self._removals,
        }

    def _state_replaced(self) -> None:
        self.stepping = False
        if self.removals != self._removals:
            raise ValueError(f"the state is that of a world that {self.removals} bodies were taken out of, not {self._removals}")
        values = self.friction_of_solids
        if len(values) != len(self.solid_obstacles):
            raise ValueError(f"the state is that of a world with {len(values)} solids, not {len(self.solid_obstacles)}")
        for k, (solid, mu) in enumerate(zip(self.solid_obstacles, values.tolist(), strict=True)):
            if solid.friction != mu:
                self.solid_obstacles[k] = replace(solid, friction=mu)

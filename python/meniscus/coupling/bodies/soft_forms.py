"""Bodies with nodes that a fluid moves: form, rigid motion, and the step in which the pressure pushes them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.coupling.bodies.contact_rows import holding_nodes
from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.coupling.shell_pressure import SheetSolid
from meniscus.mesh import TetMesh
from meniscus.solids import DeformableBody, ReducedBody, World
from meniscus.solids.body import _force_core
from meniscus.surface.shapes.mesh_distance import MeshDistance

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class NodeStep(NamedTuple):
    """A step of a body as the pressure sees it.

    Attributes:
        core: what its inverse makes of impulses on the nodes.
        free: (n, 3) velocities of the nodes after it without the fluid, m/s.
    """

    core: _fluids.SolidResponse
    free: Floats


class NodeForm(PushedForm):
    """A body of tetrahedra in a fluid, wherever its nodes are.

    Args:
        body: with `positions` and `velocities` of nodes.
        tets: (m, 4) with a closed surface.
        name: of the body, in errors.

    Raises:
        ValueError: the surface is not closed, or nothing moves.
    """

    dimension = 3

    def __init__(self, body: DeformableBody | ReducedBody, tets: Ints, name: str) -> None:
        self.body = body
        mesh = TetMesh(np.array(body.positions), tets)
        self._triangles = mesh.boundary.triangles
        self._distance = MeshDistance(mesh.vertices, self._triangles)
        if not self._distance.report.watertight:
            raise ValueError(f"{name} needs a closed surface for a fluid to move it")
        if not self.mass > 0:
            raise ValueError(f"{name} must have nodes that forces move")
        self.places = _fluids.NodePlaces(mesh.vertices, np.ascontiguousarray(tets, np.int32), self._triangles)
        self._placed = np.full(mesh.vertices.shape, np.nan)
        self.follow()

    def follow(self) -> None:
        """See the nodes where they are."""
        x = self.body.positions
        if np.array_equal(x, self._placed):
            return
        self._placed = np.array(x)
        self._distance.update(self._placed)
        self.places.move(self._placed)
        a, b, c = (x[self._triangles[:, k]] - x.mean(axis=0) for k in range(3))
        normals = np.cross(b - a, c - a)
        self.volume, self.area = float(np.einsum("td,td->", a, normals)) / 6, 0.5 * float(np.linalg.norm(normals, axis=1).sum())

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """Masses of the nodes (n,), kg; 0 for those that nothing moves."""

    def go_on(self, load: Floats, rate: Floats, dt: float) -> None:
        """Let the rigid part of the motion go on changing by `rate` (6,) for dt seconds; the forces within the body act in the solve."""
        self.add_motion(dt * rate)

    @abstractmethod
    def step(self, dt: float, kept: tuple[Ints, Floats] | None = None) -> NodeStep:
        """Return the step of dt seconds of the body as it is; `kept` as of `SheetSolid.deformable`."""

    @abstractmethod
    def take(self, core: _fluids.SoftBody, change: Floats, dt: float) -> None:
        """Take the velocities of a solve over dt seconds (s), and a rigid motion (6,) on top."""

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the corners (3,) of a box around the nodes, m."""
        self.follow()
        return self._placed.min(axis=0), self._placed.max(axis=0)

    def signed_distance(self, points: Floats) -> Floats:
        """Return the distance (n,) of points (n, 3), m, negative in the body."""
        self.follow()
        return self._distance.signed_distance(np.ascontiguousarray(points))

    def speeds(self, coordinates: Sequence[Floats], axis: int) -> Floats:
        """Return the component along an axis of the velocity at the places of a box; outside of the body that of its surface nearby."""
        self.follow()
        grid = np.stack(np.meshgrid(*coordinates, indexing="ij"), axis=-1)
        speeds = self.places.velocities(np.ascontiguousarray(grid.reshape(-1, 3)), np.ascontiguousarray(self.body.velocities), axis)
        return np.asarray(speeds, np.float64).reshape(grid.shape[:-1])

    @property
    def state(self) -> Floats:
        """The positions of the nodes, (3 n,)."""
        return np.array(self.body.positions).ravel()

    @property
    def is_dynamic(self) -> bool:
        """Whether forces move the body: yes."""
        return True

    @property
    def mass(self) -> float:
        """Of the nodes that forces move, kg."""
        return float(self.weights.sum())

    @property
    def center(self) -> Floats:
        """The centre of mass (3,), m."""
        m = self.weights
        return np.asarray(m @ self.body.positions / m.sum(), np.float64)

    @property
    def inertia(self) -> Floats:
        """The inertia (3, 3) about the centre, kg m^2."""
        arms, m = self.body.positions - self.center, self.weights
        spread = np.einsum("n,ni,nj->ij", m, arms, arms)
        return np.asarray(np.trace(spread) * np.eye(3) - spread, np.float64)

    @property
    def motion(self) -> Floats:
        """The rigid motion (6,) with the momentum and the angular momentum of the nodes."""
        arms, m, v = self.body.positions - self.center, self.weights, self.body.velocities
        spin = np.linalg.solve(self.inertia, np.einsum("n,ni->i", m, np.cross(arms, v)))
        return np.concatenate([m @ v / m.sum(), spin])

    @property
    def energies(self) -> tuple[float, float]:
        """Kinetic and elastic energy, J."""
        known = self.body.energy()
        return known["kinetic"], known["elastic"]

    @property
    def mesh(self) -> tuple[Floats, Any]:
        """Vertices (n, 3), m, and triangles (m, 3) of the surface."""
        return np.array(self.body.positions), self._triangles


class SoftForm(NodeForm):
    """A deformable body of tetrahedra, whose step is that of implicit Euler, linearised.

    Args:
        body: made from a mesh of tetrahedra with a closed surface.
        name: of the body, in errors.

    Raises:
        ValueError: another body, or one in which nothing moves.
    """

    body: DeformableBody

    def __init__(self, body: DeformableBody, name: str) -> None:
        elements = body.elements
        if elements is None or elements.shape[1] != 4:
            raise ValueError(f"{name} must be made from tetrahedra for a fluid to move it; thin shells go with a ShellCoupling")
        super().__init__(body, elements, name)

    @property
    def is_free(self) -> bool:
        """Whether no node is held."""
        return len(self.body.constrained) == 0 and bool(np.isfinite(self.body.masses).all())

    @property
    def weights(self) -> Floats:
        """Masses of the nodes (n,), kg; 0 for those that nothing moves."""
        masses = self.body.masses
        return np.where(np.isfinite(masses), masses, 0.0)

    def add_motion(self, change: Floats) -> None:
        """Add a rigid motion (6,) to the velocities of the nodes that forces move."""
        moves = np.isfinite(self.body.masses)
        moves[self.body.constrained] = False
        arms = self.body.positions[moves] - self.center
        self.body.velocities[moves] += change[:3] + np.cross(change[3:], arms)

    def step(self, dt: float, kept: tuple[Ints, Floats] | None = None) -> NodeStep:
        """Return the step of dt seconds of the body as it is."""
        body = self.body
        for force in body.forces:
            # Some forces, such as wind, ask for the state at the start of the step.
            if hasattr(force, "prepare"):
                force.prepare(body.positions, body.velocities, body.time)
        solid = SheetSolid.deformable(body, dt, kept=kept)
        return NodeStep(solid._core, solid.free)

    def take(self, core: _fluids.SoftBody, change: Floats, dt: float) -> None:
        """Take the velocities of a solve, and a rigid motion (6,) on top."""
        self.body.velocities[...] = core.velocities
        if change.any():
            self.add_motion(change)


class ReducedForm(NodeForm):
    """A reduced body. Its own step bends and stretches it; what the fluid and gravity give it acts with the inverse mass of that step.

    Args:
        body: of a world.
        name: of the body, in errors.

    Raises:
        ValueError: the surface is not closed.
    """

    body: ReducedBody

    def __init__(self, body: ReducedBody, name: str) -> None:
        super().__init__(body, body.model.tets, name)

    @property
    def is_free(self) -> bool:
        """Whether its frame flies."""
        return not self.body.clamped

    @property
    def weights(self) -> Floats:
        """Masses of the nodes (n,), kg."""
        return np.asarray(self.body.model.masses, np.float64)

    def add_motion(self, change: Floats) -> None:
        """Add a rigid motion (6,) to that of the frame; one that is held keeps its own."""
        if not self.body.clamped:
            self.body.momentum[...] += self.mass * change[:3]
            self.body.angular_momentum[...] += self.inertia @ change[3:]

    def step(self, dt: float, kept: tuple[Ints, Floats] | None = None) -> NodeStep:
        """Return the answer of the body to impulses that act for dt seconds; contact does not hold it."""
        velocities = self.body.velocities
        root = self.body.impulse_root(dt)
        fallen = root @ (root.T @ (dt * self.weights[:, None] * self.gravity).ravel())
        return NodeStep(_fluids.RootResponse(root, root.shape[1]), velocities + fallen.reshape(-1, 3))

    def take(self, core: _fluids.SoftBody, change: Floats, dt: float) -> None:
        """Take the impulses of a solve over dt seconds and of gravity, and a rigid motion (6,) on top."""
        self.body.take_impulses(core.given + dt * self.weights[:, None] * self.gravity, dt)
        self.add_motion(change)


class SoftSteps:
    """The steps of deformable bodies in one solve for the pressure.

    Args:
        forms: of the bodies.
        dt: seconds.

    Attributes:
        cores: the bodies as the pressure sees them.
    """

    def __init__(self, forms: Sequence[NodeForm], dt: float) -> None:
        self.forms, self._dt = forms, dt
        for form in forms:
            form.follow()
        self._steps = [form.step(dt) for form in forms]
        self._start = [np.array(form.body.velocities) for form in forms]
        self.cores = self._made([step.free for step in self._steps])

    def accelerate(self) -> None:
        """Let the solve be one for accelerations, from rest."""
        free = [(step.free - v) / self._dt for step, v in zip(self._steps, self._start, strict=True)]
        self._start = [np.zeros_like(v) for v in self._start]
        self.cores = self._made(free)

    def hold(self, world: World, loads: Floats) -> int:
        """Let the nodes that contact holds keep their velocities along it; return the number of directions.

        Args:
            world: after its step.
            loads: (n, 6) of the fluid, N and N m.
        """
        lifted = [s.free + self._dt * load[:3] / form.mass for s, form, load in zip(self._steps, self.forms, loads, strict=True)]
        held = holding_nodes(world, lifted[: len(world.bodies)], self._dt)
        if not any(len(nodes) for nodes, _ in held):
            return 0
        for k, kept in enumerate(held):
            if len(kept[0]):
                self._steps[k] = self.forms[k].step(self._dt, kept)
        self.cores = self._made([step.free for step in self._steps])
        return sum(len(nodes) for nodes, _ in held)

    def _made(self, free: Sequence[Floats]) -> list[Any]:
        parts = zip(self._steps, self.forms, self._start, free, strict=True)
        return [_fluids.SoftBody(s.core, form.places, form.weights, v, np.ascontiguousarray(u)) for s, form, v, u in parts]

    def finish(self, less: Floats) -> Floats:
        """Give bodies the velocities of the solve, and rigid motions (n, 6) on top; return the work of the fluid on each, J."""
        for form, core, change in zip(self.forms, self.cores, less, strict=True):
            form.take(core, change, self._dt)
        return np.array([core.work for core in self.cores])


@contextmanager
def weightless(world: World) -> Iterator[None]:
    """Let a world take a step without the weight of its bodies and without the forces within those that deform."""
    rigid = world.rigid
    forces = rigid.forces.copy()
    kept = [(body, list(body.forces), body.gravity) for body in world.bodies]
    reduced = [(other.body, other.body.gravity) for other in world.others if isinstance(getattr(other, "body", None), ReducedBody)]
    cut, world.loop.cut = world.loop.cut, False
    try:
        for i, part in enumerate(rigid.parts):
            if part.body is not None and part.body.is_dynamic:
                rigid.forces[i] -= part.body.mass * part.body.gravity
        for body, own, _ in kept:
            for force in own:
                body._core.remove(_force_core(force))
            body._forces.clear()
            body.gravity = (0.0, 0.0, 0.0)
        for thing, _ in reduced:
            thing.gravity = np.zeros(3)
        yield
    finally:
        rigid.forces[...] = forces
        world.loop.cut = cut
        for body, own, gravity in kept:
            for force in own:
                body._core.add(_force_core(force))
            body._forces.extend(own)
            body.gravity = gravity
        for thing, gravity in reduced:
            thing.gravity = gravity

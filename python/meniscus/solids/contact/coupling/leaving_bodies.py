"""Bodies that leave a world, and what it remembers of the others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meniscus.core.stateful import exclusively
from meniscus.solids.contact.contact_surface import ContactSurface, Floats, Ints
from meniscus.solids.contact.coupling.coupled_world import CoupledWorld
from meniscus.solids.contact.rigid_surfaces import RigidSurfaces
from meniscus.solids.interaction.interaction import Interaction


class _Place(NamedTuple):
    """Nodes and vertices of a body in the surface of all, as ranges of numbers."""

    nodes: slice
    vertices: slice


class LeavingBodies(CoupledWorld):
    """Base of a world: bodies can be taken out of it.

    What the world remembers by numbers (positions at the start of a loop, deactivated pairs, contacts that last, handles by the names of
    their bodies) is numbered anew, so that the others go on as if the body had only been far away.
    """

    interaction: Interaction
    x_free: Floats
    v_free: Floats
    cut_vertices: Ints
    deactivated_vertex_face: Ints
    deactivated_edge_edge: Ints
    resting_keys: Ints
    resting_drag: Floats
    resting_way: Floats
    resting_speed: Floats

    def _make_rigid(self, options: Any) -> None:
        super()._make_rigid(options)
        self.removals = self.declare("removals", 0)
        self._removals = 0

    @exclusively
    def remove(self, body: Any) -> None:
        """Take a body of any type out, with its joints, handles, attachments and pose targets.

        It stays as it is, and belongs to nobody. The state of all others stays the same to the last bit. Snapshots of before do not fit
        any more: to restore one raises ValueError.

        Args:
            body: of the world.

        Raises:
            ValueError: the world has not this body; in the middle of a loop.
        """
        if not self.has(body):
            raise ValueError("the world has not this body")
        self._require_between_loops("bodies are removed")
        name, names = self.interaction.name_of(body), {known: id(own) for known, own in self.interaction.bodies.items()}
        known = self.surface
        place = self._place_of(body, known)
        mesh = known.mesh
        if self.rigid.has(body):
            self.rigid.remove(body)
            if not self.rigid.bodies:
                # The next first one brings the obstacles again.
                self.rigid.setup = {**self.rigid.setup, "parts": [], "joints": []}
                self.rigid._forget_contacts()
        elif any(own is body for own in self.bodies):
            k = next(k for k, own in enumerate(self.bodies) if own is body)
            del self.bodies[k], self._surfaces[k]
            self._forget_resting(place.nodes)
        else:
            self.others[:] = [other for other in self.others if other.body is not body]
            self._know_others()
        self._joined = None
        if len(self.x_free) == known.size:
            self.x_free, self.v_free = (np.delete(part, place.nodes, axis=0) for part in (self.x_free, self.v_free))
        self._renumber(place.vertices, mesh.edges, mesh.triangles)
        self.removals += 1
        self._removals = self.removals
        self.interaction.body_left(name, names)

    def _place_of(self, body: Any, surface: ContactSurface) -> _Place:
        """Return where the nodes and vertices of a body are among all; empty ranges for one without."""
        part = 0
        for own, start, other in zip(self.bodies, surface.starts, self._surfaces, strict=False):
            count = int(other is not None)
            if own is body:
                return _Place(slice(int(start), int(start) + len(own)), _vertices(surface, part, count))
            part += count
        for item, rows in surface.others:
            if isinstance(item, RigidSurfaces):
                for k, rigid in enumerate(item._bodies):
                    if rigid is body:
                        return _Place(slice(rows.start + 4 * k, rows.start + 4 * k + 4), _vertices(surface, part + k, 1))
            elif getattr(item, "body", None) is body:
                return _Place(rows, _vertices(surface, part, len(item.surfaces)))
            part += len(item.surfaces)
        return _Place(slice(0, 0), slice(0, 0))

    def _forget_resting(self, nodes: slice) -> None:
        """Forget contacts that last of nodes of a deformable body that has left, and number the others anew."""
        numbers = self.resting_keys[:, 0]
        kept = (numbers < nodes.start) | (numbers >= nodes.stop)
        keys = self.resting_keys[kept]
        keys[:, 0] -= (nodes.stop - nodes.start) * (keys[:, 0] >= nodes.stop).astype(np.int32)
        self.resting_keys = keys
        self.resting_drag, self.resting_way, self.resting_speed = (
            part[kept] for part in (self.resting_drag, self.resting_way, self.resting_speed)
        )

    def _renumber(self, gone: slice, edges: Ints, triangles: Ints) -> None:
        """Number vertices, edges and triangles anew in what is remembered; `edges` and `triangles` are those of before."""
        count = gone.stop - gone.start

        def number(old: Ints) -> Ints:
            new: Ints = old - count * (old >= gone.stop).astype(np.int32)
            new[(old >= gone.start) & (old < gone.stop)] = -1
            return new

        cut = number(self.cut_vertices)
        self.cut_vertices = cut[cut >= 0]
        if not len(self.deactivated_vertex_face) and not len(self.deactivated_edge_edge):
            return
        mesh = self.surface.mesh
        faces = {tuple(sorted(row)): k for k, row in enumerate(mesh.triangles.tolist())}
        lines = {tuple(sorted(row)): k for k, row in enumerate(mesh.edges.tolist())}

        def element(rows: Ints, known: dict[Any, int]) -> list[int]:
            return [known.get(tuple(sorted(row)), -1) for row in number(rows).tolist()]

        pairs = self.deactivated_vertex_face
        of_faces = np.stack([number(pairs[:, 0]), np.array(element(triangles[pairs[:, 1]], faces), np.int32)], axis=1)
        pairs = self.deactivated_edge_edge
        both = [np.array(element(edges[pairs[:, k]], lines), np.int32) for k in range(2)]
        of_edges = np.sort(np.stack(both, axis=1), axis=1)
        self.deactivated_vertex_face, self.deactivated_edge_edge = (p[(p >= 0).all(axis=1)].astype(np.int32) for p in (of_faces, of_edges))

    def _state_replaced(self) -> None:
        super()._state_replaced()
        if self.removals != self._removals:
            raise ValueError(f"the state is that of a world that {self.removals} bodies were taken out of, not {self._removals}")

    @property
    def _setup(self) -> dict[str, Any]:
        return {**CoupledWorld._setup.fget(self), "removals": self._removals}  # type: ignore[attr-defined]

    @_setup.setter
    def _setup(self, setup: Any) -> None:
        CoupledWorld._setup.fset(self, setup)  # type: ignore[attr-defined]
        self.removals = self._removals = setup["removals"]


def _vertices(surface: ContactSurface, part: int, count: int) -> slice:
    """Return the vertices of some parts of a surface, from one on."""
    starts = surface._vertex_starts
    return slice(int(starts[part]), int(starts[part + count]))

"""Thin shells on a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import CollisionMesh
from meniscus.core.state import restored_parts
from meniscus.coupling.shells.bodies import Floats, Ints, KinematicShell, PushedShellBody, ShellBody, shell_body
from meniscus.coupling.shells.crossing_segments import crossing_segments
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.coupling.shells.world_loads import loads_on
from meniscus.grid.face_arrays import shifts_to_images
from meniscus.grid.uniform import Grid


@runtime_checkable
class _Loaded(Protocol):
    """A body whose step the pressure can foresee."""

    def advance_with(self, dt: float, impulses: Floats) -> None: ...


THICKNESS = 1e-3
"""Thickness of walls in cells, and the most that is allowed."""
_THICKEST = 0.1
_FLAT = 1e-14
"""An element that is not wider than this, in parts of the largest coordinate, is a rounding error."""


class Shells:
    """Surfaces thinner than a cell, of one or several bodies, in the grid of a fluid.

    Shells are thickened by a little, so that no ray slips through an edge. What the fluid does then depends on rays alone: a sample that a
    ray from another one does not certainly reach is hidden from it. So nothing leaks, whatever the shape and the motion; a gap narrower
    than the thickness is none.

    Args:
        grid: 2-D or 3-D, of one block.
        bodies: `KinematicShell`, `DeformableBody`, `RigidBody`, meshes at rest, or bodies of your own (`ShellBody`). In 2-D, shells are
            segments.
        thickness: of the walls, m; default a thousandth of the spacing, at most a tenth.
        world: what advances bodies that it holds, all at once: an object with `advance(duration)`, `snapshot` and `restore`, such as a
            `World`. Without, each body is advanced by itself.

    Attributes:
        grid: of the fluid.
        bodies: as given.
        parts: what moves each of them: the body itself, or what takes its steps.
        thickness: m.

    Raises:
        TypeError, ValueError: wrong types or values; no body; bodies of another dimension than the grid; positions that are not finite;
            a body that intersects itself, or is there twice; elements that are degenerate or no numbers of nodes.

    Source: Guendelman, Selle, Losasso and Fedkiw, "Coupling water and smoke to thin deformable and rigid shells", 2005, sections 3 and 5;
    Selle 2008, section 4.3.
    """

    def __init__(self, grid: Grid, bodies: Sequence[Any], thickness: float | None = None, *, world: Any = None) -> None:
        self.grid = _checks.one_of_type("grid", grid, Grid)
        if grid.comm.size > 1:
            raise ValueError("shells need a grid of one block, not one that is cut among ranks")
        self.thickness = THICKNESS * grid.spacing if thickness is None else _checks.positive("thickness", thickness)
        if self.thickness > _THICKEST * grid.spacing * (1 + 1e-12):
            raise ValueError(f"thickness must be at most a tenth of the spacing, {_THICKEST * grid.spacing:g} m, not {self.thickness:g} m")
        if isinstance(bodies, (str, bytes)) or not isinstance(bodies, Sequence) or not bodies:
            raise TypeError("bodies must be a sequence of at least one body")
        self.bodies = tuple(bodies)
        for i, body in enumerate(self.bodies):
            if any(body is other for other in self.bodies[:i]):
                raise ValueError(f"each body must be there once, but body {i} is one of those before it")
        self.parts: list[ShellBody] = [shell_body(b) for b in bodies]
        for name in ("advance", "snapshot", "restore") if world is not None else ():
            if not callable(getattr(world, name, None)):
                raise TypeError(f"world must have {name}(), which {type(world).__name__} has not")
        self._world = world
        first, elements = 0, []
        self._rows: list[slice] = []
        self._meshes: list[CollisionMesh | None] = []
        for i, part in enumerate(self.parts):
            x = _positions(part, grid.dimension, i)
            _require_elements(x, part.elements, i)
            self._rows.append(slice(first, first + len(x)))
            elements.append(np.asarray(part.elements, np.int32) + np.int32(first))
            self._meshes.append(_mesh_of(part.elements))
            _require_apart(self._meshes[i], x, part.elements, i)
            first += len(x)
        self.elements: Ints = np.ascontiguousarray(np.concatenate(elements))
        self.elements.flags.writeable = False

    @property
    def positions(self) -> Floats:
        """Of all nodes now, (n, dim), m, body after body."""
        return np.ascontiguousarray(np.concatenate([_positions(p, self.grid.dimension, i) for i, p in enumerate(self.parts)]))

    def rows(self, body: int) -> slice:
        """Return the rows of the nodes of a body, by its place in `bodies`."""
        return self._rows[body]

    def shifts(self, positions: Floats) -> Floats:
        """Return by how much (n, dim), m, each body is moved along axes that close, so that the middle of its box is in the domain."""
        out = np.empty_like(positions)
        center = np.array(self.grid.origin) + 0.5 * np.array(self.grid.extent)
        for rows in self._rows:
            middle = 0.5 * (positions[rows].min(axis=0) + positions[rows].max(axis=0))
            out[rows] = shifts_to_images(self.grid, middle, center)
        return out

    def require_apart(self) -> None:
        """Raise ValueError for a `KinematicShell` whose motion has changed its shape so that it intersects itself."""
        for i, (part, mesh) in enumerate(zip(self.parts, self._meshes, strict=True)):
            if isinstance(part, KinematicShell) and part.changes_shape:
                _require_apart(mesh, part.positions, part.elements, i)

    def advance(self, dt: float, impulses: Floats | None = None) -> None:
        """Advance all bodies by dt seconds; with impulses (n, 3) of the fluid on all nodes, N s.

        Impulses go into one implicit step of a `RigidBody` or a `DeformableBody`; on bodies of a world they act as forces, and bodies of
        your own get them before they advance.
        """
        dt = _checks.positive("dt", dt)
        moving, of_world = {id(part) for part in self._moving()}, []
        for body, part, rows in zip(self.bodies, self.parts, self._rows, strict=True):
            if id(part) not in moving:
                of_world.append((body, rows))
            elif impulses is not None and isinstance(part, _Loaded):
                part.advance_with(dt, impulses[rows])
            else:
                if impulses is not None and isinstance(part, PushedShellBody):
                    part.push(np.ascontiguousarray(impulses[rows, : self.grid.dimension]))
                part.advance(dt)
        if self._world is None:
            return
        pushed = [] if impulses is None else [(body, impulses[rows]) for body, rows in of_world]
        with loads_on(self._world, pushed, dt) if pushed else nullcontext():
            self._world.advance(dt)

    def look_ahead(self, dt: float, impulses: Floats | None = None) -> Floats:
        """Return the positions (n, dim) after dt seconds, m, as by `advance`; the bodies stay as they are.

        Raises RuntimeError for a body that does not return to where it was to the bit.

        Source: Guendelman et al. 2005, section 4.3 (evolve, divide, rewind).
        """
        before, saved = self.positions, self.snapshot()
        try:
            self.advance(dt, impulses)
            ahead = self.positions
        finally:
            self._return_to(saved)
        if not np.array_equal(before, self.positions):
            raise RuntimeError("a body does not return to where it was when it is restored: its positions differ")
        return ahead

    def walls(self) -> ShellWalls:
        """Return the walls of the shells where they are now, at rest."""
        x = self.positions
        x = x + self.shifts(x)
        return ShellWalls(self.grid, x, self.elements, self.thickness)

    def snapshot(self) -> dict[str, Any]:
        """Return the state of all bodies."""
        world = None if self._world is None else self._world.snapshot()
        return {"world": world, "bodies": [part.snapshot() for part in self._moving()]}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot, bit by bit. Raises TypeError or ValueError for one of other bodies; then nothing is changed."""
        before = self.snapshot()
        try:
            self._return_to(snapshot)
        except BaseException:
            self._return_to(before)
            raise

    def _return_to(self, snapshot: Mapping[str, Any]) -> None:
        restored_parts("Shells", {"world": self._world, "bodies": self._moving()}, snapshot)

    def _moving(self) -> list[ShellBody]:
        """Return the bodies that advance by themselves."""
        if self._world is None:
            return self.parts
        held = {id(b) for b in getattr(self._world, "bodies", ())} | {
            id(b) for b in getattr(getattr(self._world, "rigid", None), "bodies", ())
        }
        return [part for body, part in zip(self.bodies, self.parts, strict=True) if id(body) not in held]

    def __repr__(self) -> str:
        """One line: bodies, nodes, elements."""
        return (
            f"<Shells: {len(self.bodies)} bodies, {self._rows[-1].stop} nodes, {len(self.elements)} elements, {self.thickness:g} m thick>"
        )


def _positions(part: ShellBody, dimension: int, number: int) -> Floats:
    x: npt.NDArray[Any] = np.asarray(part.positions)
    if x.ndim != 2 or x.shape[1] != dimension or part.elements.ndim != 2 or part.elements.shape[1] != dimension:
        raise ValueError(f"body {number} must have nodes and elements of {dimension} numbers, as the grid is {dimension}-D")
    _checks.require_finite(f"positions of body {number}", x)
    return x.astype(np.float64, copy=False)


def _require_elements(x: Floats, elements: Ints, number: int) -> None:
    kind = "triangle" if x.shape[1] == 3 else "segment"
    if not np.issubdtype(elements.dtype, np.integer):
        raise TypeError(f"elements of body {number} must be integers, not {elements.dtype}")
    if len(elements) == 0 or elements.min() < 0 or elements.max() >= len(x):
        raise ValueError(f"elements of body {number} must be numbers of its nodes, 0 to {len(x) - 1}")
    sides = x[elements[:, 1:]] - x[elements[:, :1]]
    longest = np.sqrt((sides**2).sum(axis=2).max(axis=1))
    size = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) / np.where(longest > 0, longest, 1.0) if x.shape[1] == 3 else longest
    flat = np.flatnonzero(~(size > _FLAT * np.abs(x).max()))
    if len(flat):
        raise ValueError(f"{kind} {flat[0]} of body {number} is degenerate")


def _mesh_of(elements: Ints) -> CollisionMesh | None:
    """Return what tells intersections of triangles; None for segments."""
    return CollisionMesh(_edges(elements), np.ascontiguousarray(elements, dtype=np.int32)) if elements.shape[1] == 3 else None


def _require_apart(mesh: CollisionMesh | None, x: Floats, elements: Ints, number: int) -> None:
    if mesh is not None:
        pairs = mesh.self_intersections(np.ascontiguousarray(x))
        kind = "edge {} and triangle {}"
    else:
        pairs, kind = crossing_segments(x, elements), "segments {} and {}"
    if len(pairs):
        raise ValueError(f"body {number} intersects itself: {kind.format(*map(int, pairs[0]))} meet")


def _edges(triangles: Ints) -> Ints:
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.ascontiguousarray(np.unique(np.sort(sides, axis=1), axis=0), dtype=np.int32)

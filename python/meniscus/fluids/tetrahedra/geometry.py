"""Geometry of a moving tetrahedral mesh with water: positions at both ends of a step, room, ranks, motion of a solid."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import surface as _surface
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.tetrahedra.thin_walls import two_sided
from meniscus.mesh.moving_tet_mesh import MovingTetMesh
from meniscus.surface.shapes.solid import Solid
from meniscus.surface.tetrahedra.solid_at_time import members_at
from meniscus.surface.tetrahedra.solid_on_tets import SolidOnTets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_OPEN, _CUT, _INSIDE, _DISABLED = 0, 1, 2, 3


class TetGeometry(MemoryOwner):
    """A moving mesh and a solid at the end of a step, with what is needed of its begin.

    Recomputes only what has changed: positions and room if the mesh or the solid has moved, ranks if other tetrahedra are cut, inside or
    disabled.

    Args:
        moving: the mesh.
        solid: see `surface.SolidOnTets`.
        open_boundary: whether water may leave the mesh.
        fraction: see `surface.SolidOnTets`.

    Attributes:
        porosity: (m,) volume per tetrahedron that is taken, m^3, or None.
        positions: of the vertices at the end of the step, m.
        capacity: (m,) volume that a tetrahedron may hold, m^3.
        ranks: (m,) int32, -1 inside of the solid, -2 disabled.
        highest: the highest rank.
    """

    borrowed = ("moving", "solid", "tets")

    def __init__(self, moving: MovingTetMesh, solid: Any, open_boundary: bool, fraction: Any) -> None:
        self.moving, self.solid, self.open_boundary = moving, solid, open_boundary
        members_at(solid, moving.start if math.isfinite(moving.start) else 0.0, None)  # refuses what is no solid
        self.tets = moving.tets()
        n, m = moving.vertex_count(), len(self.tets)
        self._stars = _surface.TetStars(self.tets, n)
        self.graph = _fluids.TetGraph(self._stars)
        self.on_tets = None if solid is None else SolidOnTets(self.tets, n, fraction=fraction, stars=self._stars)
        self.porosity: Floats | None = None
        self.positions = np.zeros((n, 3))
        self.before = np.zeros((n, 3))
        self._distance_before = np.zeros(0 if solid is None else n)
        self.capacity = np.zeros(m)
        self._kinds = np.zeros(m, np.uint8)
        self._new_kinds = np.zeros(m, np.uint8)
        self._found_kinds = np.zeros(m, np.uint8)
        self._excluded: npt.NDArray[np.bool_] | None = None
        self.ranks = np.zeros(m, np.int32)
        self.highest = 0
        self._closed = np.zeros(m, np.uint8)
        self._any_closed = False
        self._boundary_faces: tuple[Ints, Ints] | None = None
        self._thin: Ints | None = None
        self._ranked = False
        self._warned = False
        self._time: float | None = None
        self._band = 0.0
        self._locators: tuple[Any, Any] = (None, None)

    @property
    def time(self) -> float | None:
        """The time that all is at, s; None before the first."""
        return self._time

    def forget(self) -> None:
        """Compute all anew when it is asked for next."""
        self._time = None

    def distances(self) -> tuple[Floats | None, Floats | None]:
        """Return signed distances at the vertices at begin and end of the step, m; None where there is no solid."""
        if self.on_tets is None:
            return None, None
        return self._distance_before, self.on_tets.phi

    @property
    def locators(self) -> tuple[Any, Any]:
        """Point location at begin and end."""
        return self._locators

    def at(self, stages: Any, time: float, band: float) -> None:
        """Set all to a time, s, unless it is there already; distances and normals hold up to `band`, m, and two edges more."""
        if self._time == time and band <= self._band:
            return
        self._time = None
        self._place(time)
        self._measure(stages, time, None, band, reuse=False)
        self.before[...] = self.positions
        if self.on_tets is not None:
            self._distance_before[...] = self.on_tets.phi
        self._locators = (self._locators[1], self._locators[1])
        self._time = time

    def move(self, stages: Any, time: float, dt: float, band: float) -> None:
        """Move the end of the step from `time` to `time` + dt."""
        self.at(stages, time, band)
        self._time = None
        self.before, self.positions = self.positions, self.before
        if self.on_tets is not None:
            self._distance_before[...] = self.on_tets.phi
        self._place(time + dt)
        self._measure(stages, time + dt, -dt, band, reuse=True)
        self._time = time + dt

    def _place(self, time: float) -> None:
        self.moving.positions(time, out=self.positions)
        self._locators = (self._locators[1], self.moving._locator_at(self.moving._time("t + dt", time)))

    def _measure(self, stages: Any, time: float, dt: float | None, band: float, *, reuse: bool) -> None:
        kinds = self._found_kinds
        kinds[...] = _OPEN
        if self.on_tets is not None:
            still = not isinstance(self.solid, Solid) or not self.solid.moves
            if not (reuse and still and self._band >= band and self._same_positions()):
                self.on_tets.update(self.solid, self.positions, time, dt, band=band or None, edges=2.0, motion=False)
                self._thin = None
            kinds[self.on_tets.cut] = _CUT
            # What the surface only touches from inside has no room, and must not lead water through a wall.
            kinds[self.on_tets.inside | (self.on_tets.fraction >= 1)] = _INSIDE
            self._close_thin_walls(kinds)
            if not self._warned and not (kinds != _OPEN).any():
                self._warned = True
                warnings.warn(f"the solid does not reach into the mesh at {time:g} s; water does not meet it", stacklevel=2)
        self._band = band
        if self.moving._flags is not None:
            kinds[np.repeat(self.moving.disabled(time), 8**self.moving.levels)] = _DISABLED
            if (kinds == _DISABLED).all():
                raise ValueError(f"all tetrahedra are disabled at {time:g} s, so that nothing can hold water")
        self._rank(stages)

    def _rank(self, stages: Any) -> None:
        """Find ranks, where other tetrahedra hold water than before, and the room of each."""
        kinds = self._new_kinds
        kinds[...] = self._found_kinds
        if self._excluded is not None:
            kinds[self._excluded & (kinds != _INSIDE)] = _DISABLED
        if not self._ranked or not np.array_equal(kinds, self._kinds):
            self._kinds[...] = kinds
            self._ranked = True
            self.highest, self._any_closed = self.graph.ranks(self._kinds, self.open_boundary, self.ranks, self._closed)
        stages.capacity(self.positions, None if self.on_tets is None else self.on_tets.fraction, self.porosity, self._kinds, self.capacity)

    def _close_thin_walls(self, kinds: npt.NDArray[np.uint8]) -> None:
        """Let no water into tetrahedra with both sides of the solid; those next to them stand on it in their place."""
        if self._thin is None:
            solid: Any = self.on_tets
            parts = (solid.phi, kinds == _CUT, kinds == _INSIDE, solid.members)
            self._thin = two_sided(self.graph, self.positions, *parts)
        if not len(self._thin):
            return
        kinds[self._thin] = _INSIDE
        beside = self.graph.neighbours[self._thin]
        beside = beside[beside >= 0]
        kinds[beside[kinds[beside] == _OPEN]] = _CUT

    def _same_positions(self) -> bool:
        return np.array_equal(self.positions, self.before)

    @property
    def closed(self) -> npt.NDArray[np.uint8] | None:
        """Which tetrahedra (m,) have no way out of the mesh, 0 or 1; None where all have."""
        return self._closed if self._any_closed else None

    @property
    def may_be_disabled(self) -> bool:
        """Whether there are times at which tetrahedra hold nothing."""
        return self.moving._flags is not None or self._excluded is not None

    @property
    def cut(self) -> npt.NDArray[np.bool_]:
        """Tetrahedra (m,) that stand on the solid and can hold water."""
        result: npt.NDArray[np.bool_] = self._kinds == _CUT
        return result

    @property
    def excluded(self) -> npt.NDArray[np.bool_] | None:
        """Tetrahedra (m,) that hold no water, because it is another's; None: none."""
        return self._excluded

    def exclude(self, stages: Any, which: npt.NDArray[np.bool_] | None) -> None:
        """Let these tetrahedra hold no water, and all others that can."""
        self._excluded = which
        if self._time is not None:
            self._rank(stages)

    def boundary_faces(self) -> tuple[Ints, Ints]:
        """Return the faces (k, 3) without a neighbour, by vertices, and their tetrahedra (k,), ascending."""
        if self._boundary_faces is None:
            tets, opposite = np.nonzero(np.asarray(self.graph.neighbours) < 0)
            rest = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])[opposite]
            self._boundary_faces = np.take_along_axis(self.tets[tets], rest, axis=1), tets.astype(np.int32)
        return self._boundary_faces

    def solid_motion(self, layers: int = 0, where: npt.NDArray[np.bool_] | None = None) -> tuple[Floats, Floats]:
        """Return unit normals (m, 3) away from the solid and its velocities (m, 3), m/s, in the band and so many layers beyond.

        With `where`, (m,) bool, only of these tetrahedra, and found by way of them.
        """
        if self.on_tets is None:
            raise RuntimeError("there is no solid")
        self.on_tets.update_motion(layers, where)
        return self.on_tets.normal, self.on_tets.velocity

    def layers_of(self, volume: Floats) -> int:
        """Return the highest rank of the tetrahedra with water."""
        return int(self.ranks.max(initial=0, where=volume > 0))


def require_moving(moving: Any) -> MovingTetMesh:
    """Return a moving mesh with tetrahedra. Raises TypeError or ValueError for anything else."""
    _checks.one_of_type("moving_mesh", moving, MovingTetMesh)
    mesh: MovingTetMesh = moving
    if mesh.tet_count() == 0:
        raise ValueError("moving_mesh must have tetrahedra, but has none")
    return mesh

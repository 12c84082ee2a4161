"""Remeshing of adaptive cloth, alone or in a world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.solids.body import DeformableBody
from meniscus.solids.cloth.reports import RemeshReport, refusals
from meniscus.solids.remeshing import SomeWorld
from meniscus.surface.tracking.carried import SurfaceShape
from meniscus.surface.tracking.events import EVENT_KIND, SurfaceEvents

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
SomeCloth = Any
"""An `AdaptiveCloth`, which knows this module."""

# Thickness where none is given, relative to the shortest wanted edge; the largest that may be given.
_THICKNESS, _THICKEST = 0.25, 0.4


class ClothRemesher:
    """What remeshes one cloth: when a world asks for it, or at once. See `AdaptiveCloth.remesh`."""

    def __init__(self, cloth: SomeCloth) -> None:
        self.cloth = cloth
        self.editor = _solids.SheetEditor()

    def thickness_for(self, surface: object, thickness: float | None, **options: object) -> float:
        """Check what `World.add` was given, and return the thickness."""
        every = options.pop("remesh_every", 1)
        if options:
            raise TypeError(f"{_checks.join(sorted(options))} are options of other bodies, not of {type(self.cloth).__name__}")
        if surface is not None:
            raise ValueError("contact of adaptive cloth sees its own mesh: leave `surface` out")
        shortest = self.cloth.edges[0]
        h = _THICKNESS * shortest if thickness is None else _checks.number("thickness", thickness)
        if h > _THICKEST * shortest:
            raise ValueError(f"edges of {shortest:g} m are too short for a thickness of {h:g} m: at most {_THICKEST:g} of an edge")
        self.cloth.remesh_every = _checks.integer("remesh_every", every, 0)
        return h

    def before_loop(self, world: SomeWorld) -> None:
        """Remesh if it is due."""
        cloth = self.cloth
        cloth.loops += 1
        if cloth.remesh_every and (cloth.loops - 1) % cloth.remesh_every == 0:
            cloth.remesh(world)

    def remesh(self, world: SomeWorld | None) -> RemeshReport:
        """See `AdaptiveCloth.remesh`."""
        cloth = self.cloth
        if world is not None:
            if not world.setup.has(cloth):
                raise ValueError("the world has not this cloth")
            world.setup.require_between_loops("cloth is remeshed")
        edges, sizes = cloth.edge_sizes()
        fits = (sizes <= cloth.options.bounds[1]) & (sizes >= cloth.options.bounds[0])
        bounds = float(fits.mean())
        # Edges between vertices that are held stay as they are.
        held = np.zeros(len(cloth), np.bool_)
        held[cloth.constrained] = True
        fits |= held[edges].all(axis=1)
        if fits.all() or (world is not None and len(world.loop.deactivated)):
            cloth.remeshed = report = RemeshReport(vertices=len(cloth), triangles=len(cloth.triangles), in_bounds=bounds)
            return report
        found = self.editor.improve(sheet_arrays(cloth), *surroundings(cloth, world), cloth._core_options)
        return self._take_result(found, bounds, world)

    def apply(self, kind: str, edges: npt.ArrayLike, world: SomeWorld | None) -> RemeshReport:
        """See `AdaptiveCloth.apply`."""
        cloth = self.cloth
        rows = np.ascontiguousarray(edges, np.int32)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise ValueError(f"edges must have shape (k, 2), not {rows.shape}")
        if kind not in ("split", "flip", "collapse"):
            raise ValueError(f"kind must be split, flip or collapse, not {kind!r}")
        chosen = EVENT_KIND("kind", kind)
        found = self.editor.apply(sheet_arrays(cloth), *surroundings(cloth, world), cloth._core_options, chosen, rows)
        return self._take_result(found, 1.0, world)

    def _take_result(self, found: tuple[Any, ...], bounds: float, world: SomeWorld | None) -> RemeshReport:
        """Become what the editor has made."""
        cloth = self.cloth
        x, v, rest, _, triangles, counts, core_events = found
        parts = [dict(getattr(counts, name)) for name in ("split", "flip", "collapse")]
        done = [part["done"] for part in parts]
        before, momentum = cloth.energy(), cloth.momentum()
        if any(done):
            events = SurfaceEvents(core_events)
            now = SurfaceShape(cloth.positions, cloth._triangles)
            shape, edges = cloth._carried.shape_before(now), cloth._carried.edges_of(now)
            numbers = np.full(int(max(events.vertex_numbers.max() + 1, len(cloth))), -1, np.int32)
            numbers[events.vertex_numbers] = np.arange(len(x), dtype=np.int32)
            numbers = numbers[: len(cloth)]
            cloth._carried.follow(events, edges, shape, SurfaceShape(x, triangles))
            known = None if world is None else (world.surface.size, world.setup.place_of(self)[0])
            cloth._become(x, v, rest, triangles, _renumbered(cloth.sheet, numbers))
            cloth.events = events
            cloth.generation += 1
            if world is not None and known is not None:
                _renumber(world, *known, numbers, len(x))
        cloth.remeshed = report = RemeshReport(
            splits=done[0],
            flips=done[1],
            collapses=done[2],
            refused=refusals(*parts),
            second_places=counts.second_places,
            vertices=len(cloth),
            triangles=len(cloth._triangles),
            momentum=cloth.momentum() - momentum,
            energy=(before, cloth.energy()),
            in_bounds=bounds,
        )
        return report


def sheet_arrays(cloth: SomeCloth) -> _solids.SheetArrays:
    """Return the cloth as the compiled core takes it."""
    held = np.zeros(len(cloth), np.bool_)
    held[cloth.constrained] = True
    return _solids.SheetArrays(cloth.positions, cloth.velocities, cloth._rest, held, cloth._triangles)


def surroundings(cloth: DeformableBody, world: SomeWorld | None) -> tuple[Floats, Ints]:
    """Return vertices (n, 3), m, and triangles (m, 3) of all else in a world."""
    if world is None:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int32)
    surface, own = world.surface, world.setup.place_of(cloth)[1]
    x = surface.at_vertices(surface.gather([body.positions for body in world.bodies], world.time))
    triangles = np.asarray(surface.mesh.triangles)
    others = ((triangles < own.start) | (triangles >= own.stop)).all(axis=1)
    return np.ascontiguousarray(x), np.ascontiguousarray(triangles[others])


def hold(core: _solids.DeformableBody, held: Mapping[str, Any]) -> None:
    """Set the constraints of a compiled body."""
    core.fix(np.setdiff1d(held["constrained"], np.union1d(held["moved"], held["sliding"])).astype(np.int32))
    core.move(held["moved"])
    core.restore_sliding(held["sliding"], held["normals"])


def _renumbered(sheet: Mapping[str, Any], numbers: Ints) -> dict[str, Any]:
    """Return the constraints of nodes that have other numbers now; those with constraints are never gone."""
    own = {name: numbers[sheet[name]] for name in ("constrained", "moved", "sliding")}
    return {**own, "normals": sheet["normals"], "on_paths": [numbers[where] for where in sheet["on_paths"]]}


def _renumber(world: SomeWorld, size: int, place: slice, numbers: Ints, count: int) -> None:
    """Tell a world of so many nodes that those of a body in `place` have other numbers, and are `count`."""
    all_numbers = np.arange(size, dtype=np.int32)
    all_numbers[place] = np.where(numbers >= 0, numbers + place.start, -1)
    all_numbers[place.stop :] += count - (place.stop - place.start)
    world.solver.nodes_renumbered(all_numbers)
    world.loop.forget_cuts()

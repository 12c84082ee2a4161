"""Free rims of sheets on a grid: how much of the last face that a sheet cuts it leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.grid import Grid
from meniscus.grid.face_arrays import cells_beside_faces, faces_within
from meniscus.grid.uniform import AXES

Floats = npt.NDArray[np.float64]

REACH = 0.5 + np.sqrt(2.0) / 4.0
"""A rim this far (in cells) beyond the centre of the last face closes all of it: the flow around a strip of closed faces is that around a
plate which reaches sqrt(2) / 4 cells further. Measured in tests: 0.3515, 0.3525, 0.3530 at 64, 128, 256 cells."""
_OPENING = 3.0 * np.pi / 4.0
"""Of the part that is left open, found like the first one: 1 / part - 1 = 3 pi / 4 (1 / d - 1) for a rim that is d cells short."""


def open_at_rims(grid: Grid, sides: SheetFaces, positions: npt.ArrayLike, elements: npt.ArrayLike) -> SheetFaces:
    """Return the same faces, of which those next to free rims are open in part, so that fluid flows around the rim where it is.

    The added mass of a plate is then right to second order in its width, also between faces. Without this, plates act as if they were up
    to a cell wider. Rims within half a cell of a side of the domain, or beyond it, stay closed. Not for sheets whose rims lie on other
    sheets: they would leak.

    Args:
        grid: 2-D or 3-D.
        sides: of the sheet, or of several.
        positions: (n, 3) of the nodes, m.
        elements: (m, 3) triangles, or (m, 2) segments.
    """
    return _opened(grid, sides, positions, elements, 0.5)


def open_free_rims(
    grid: Grid, sides: SheetFaces, positions: npt.ArrayLike, elements: npt.ArrayLike, shut: Sequence[npt.NDArray[np.bool_]]
) -> SheetFaces:
    """As `open_at_rims`, of any sheets, also such whose rims lie on others: faces are opened only where the fluid goes around them anyway.

    That is, where three faces that nothing shuts lead from one cell beside the face to the other one, and no sheet stands behind these.
    So nothing that was apart is connected: no duct, no closed shell and no corner between two sheets leaks.

    Args:
        grid: 2-D or 3-D.
        sides: of all sheets.
        positions: as for `open_at_rims`.
        elements: likewise.
        shut: per axis, the faces that sheets or sides of the domain close.
    """
    if len(sides) == 0:
        return sides
    around = np.zeros(len(sides), bool)
    for d in range(grid.dimension):
        on = np.flatnonzero(sides.axis == d)
        after = sides.face[on].copy()
        before = after.copy()
        before[:, d] -= 1
        for k in range(grid.dimension):
            for step in (-1, 1) if k != d else ():
                around[on] |= _leads_around(grid, shut, (before, after), d, (k, step))
    around &= np.repeat(around.reshape(-1, 2).all(axis=1), 2)
    parts = {f.name: getattr(sides, f.name)[around] for f in fields(sides)}
    opened = np.zeros(len(sides))
    opened[around] = _opened(grid, SheetFaces(**parts), positions, elements, 0.0).open
    return replace(sides, open=opened)


def _opened(grid: Grid, sides: SheetFaces, positions: npt.ArrayLike, elements: npt.ArrayLike, margin: float) -> SheetFaces:
    """Open faces in part; rims no more than `margin` cells inside of a side of the domain do not count."""
    d = grid.dimension
    x = np.asarray(positions, dtype=np.float64)[:, :d]
    rims = _rims(np.asarray(elements, dtype=int).reshape(-1, d))
    if len(rims) == 0 or len(sides) == 0:
        return sides
    hits = np.einsum("sk,skd->sd", sides.weights, x[sides.nodes])
    first, last = x[rims[:, 0]], x[rims[:, -1]]
    low, high = np.array(grid.origin), np.array(grid.origin) + np.array(grid.extent)
    has_sides = [f"{axis}-" in grid.sides for axis in AXES[:d]]
    short = np.zeros(len(sides))
    for s, (hit, axis) in enumerate(zip(hits, sides.axis, strict=True)):
        along = last - first
        size = (along * along).sum(axis=1)
        part = np.clip(np.divide(((hit - first) * along).sum(axis=1), size, out=np.zeros(len(size)), where=size > 0), 0.0, 1.0)
        nearest = first + part[:, None] * along
        apart = (nearest - hit) / grid.spacing
        apart[:, axis] = 0.0
        inside = np.array(has_sides) <= ((nearest > low + margin * grid.spacing) & (nearest < high - margin * grid.spacing))
        away = np.linalg.norm(apart, axis=1)[inside.all(axis=1)]
        if len(away):
            short[s] = np.clip(REACH - away.min(), 0.0, 1.0)
    # Both sides of a face leave the same part open, the smaller one.
    short = np.repeat(short.reshape(-1, 2).min(axis=1), 2)
    return replace(sides, open=short / (short + _OPENING * (1.0 - short)))


def _leads_around(
    grid: Grid,
    shut: Sequence[npt.NDArray[np.bool_]],
    cells: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    axis: int,
    beside: tuple[int, int],
) -> npt.NDArray[np.bool_]:
    """Return where one can go from the first cells to the second ones, the next along an axis, by the cells beside: along (axis, step)."""
    k, step = beside

    def within(cell: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        inside: npt.NDArray[np.bool_] = cells_beside_faces(grid, np.zeros(len(cell), int), cell, np.ones(len(cell), bool)) >= 0
        return inside

    def closed(cell: npt.NDArray[np.int64], along: int, upper: bool) -> npt.NDArray[np.bool_]:
        face = cell.copy()
        face[:, along] += upper
        folded, there = faces_within(grid, along, face)
        folded[~there] = 0
        mask: npt.NDArray[np.bool_] = shut[along][tuple(folded.T)] | ~there
        return mask

    moved = np.eye(grid.dimension, dtype=np.int64)[k] * step
    before, after = cells
    free = within(before) & within(after) & within(before + moved) & within(after + moved)
    for cell, along, upper in ((before, k, step > 0), (after, k, step > 0), (before + moved, axis, True)):
        free &= ~closed(cell, along, upper)
    # What is in the way behind these is less than two cells from the rim; a side of the domain is no sheet.
    before, after = before + moved, after + moved
    further = within(before + moved) & within(after + moved)
    for cell, along, upper in ((before, k, step > 0), (after, k, step > 0), (before + moved, axis, True)):
        free &= ~(further & closed(cell, along, upper))
    return free


def _rims(elements: npt.NDArray[np.int_]) -> npt.NDArray[np.int_]:
    """Return the facets of elements that belong to one alone: edges (k, 2) of triangles, ends (k, 1) of segments."""
    d = elements.shape[1]
    facets = np.concatenate([np.delete(elements, k, axis=1) for k in range(d)])
    ordered, count = np.unique(np.sort(facets, axis=1), axis=0, return_counts=True)
    single: npt.NDArray[np.int_] = ordered[count == 1]
    return single

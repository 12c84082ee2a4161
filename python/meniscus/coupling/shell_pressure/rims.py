"""Free rims of sheets on a grid: how much of the last face that a sheet cuts it leaves open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.grid import Grid
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
        inside = np.array(has_sides) <= ((nearest > low + 0.5 * grid.spacing) & (nearest < high - 0.5 * grid.spacing))
        away = np.linalg.norm(apart, axis=1)[inside.all(axis=1)]
        if len(away):
            short[s] = np.clip(REACH - away.min(), 0.0, 1.0)
    # Both sides of a face leave the same part open, the smaller one.
    short = np.repeat(short.reshape(-1, 2).min(axis=1), 2)
    return replace(sides, open=short / (short + _OPENING * (1.0 - short)))


def _rims(elements: npt.NDArray[np.int_]) -> npt.NDArray[np.int_]:
    """Return the facets of elements that belong to one alone: edges (k, 2) of triangles, ends (k, 1) of segments."""
    d = elements.shape[1]
    facets = np.concatenate([np.delete(elements, k, axis=1) for k in range(d)])
    ordered, count = np.unique(np.sort(facets, axis=1), axis=0, return_counts=True)
    single: npt.NDArray[np.int_] = ordered[count == 1]
    return single

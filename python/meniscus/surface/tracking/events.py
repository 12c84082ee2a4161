"""Record of operations on a surface."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption
from meniscus.mesh.arrays import float_rows, index_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
EventKind = Literal["split", "flip", "collapse", "pinch", "merge"]
CarryOn = Literal["vertices", "edges", "triangles"]

EVENT_KIND = CoreOption(EventKind, _surface.EventKind)
CARRY_ON = CoreOption(CarryOn, _surface.CarryOn)


class OperationCounts(NamedTuple):
    """How often an operation was tried, and how that ended.

    Attributes:
        done: it was kept.
        intersection: a new triangle would have met another one.
        enclosed: something lies in the space that it would have swept.
        volume: it would have changed the volume too much.
        normal: a triangle would have turned over.
        shape: an angle or an edge would have become bad.
        topology: the topology would have changed, or edges are not there any more.
        veto: the observer forbade it.
    """

    done: int
    intersection: int
    enclosed: int
    volume: int
    normal: int
    shape: int
    topology: int
    veto: int

    @property
    def refused(self) -> int:
        """All but `done`."""
        return sum(self) - self.done


class TrackingCounts(NamedTuple):
    """What an improvement did.

    Attributes:
        split, flip, collapse, merge: by how they ended.
        pinches: vertices that sheets got when they parted.
        flaps: pairs of triangles back to back that went.
        residues: parts of a few triangles that had all but vanished, and went.
        second_ways: merges for which the tube had to be turned.
        flip_sweeps: passes of flips.
        smoothed, limited: vertices that smoothing moved; those that it moved less far than it wanted.
    """

    split: OperationCounts
    flip: OperationCounts
    collapse: OperationCounts
    merge: OperationCounts
    pinches: int
    flaps: int
    residues: int
    second_ways: int
    flip_sweeps: int
    smoothed: int
    limited: int

    @classmethod
    def of(cls, core: _surface.TrackingCounts) -> TrackingCounts:
        """Return the counts of the core."""
        split, flip, collapse, merge = (OperationCounts(**getattr(core, name)) for name in cls._fields[:4])
        return cls(split, flip, collapse, merge, *(int(getattr(core, name)) for name in cls._fields[4:]))


class Transfers(NamedTuple):
    """What flows between elements: values per unit of a target become the sum of weight times value, amounts that of share times amount.

    Attributes:
        first: (n + 1,), the rows of event i are [first[i], first[i + 1]).
        targets, sources: (k,) numbers of elements, or (k, 2) vertices of edges, the lower first.
        weights, shares: (k,); the weights of a target have the sum 1 in an event, the shares of a source likewise.
    """

    first: npt.NDArray[np.int64]
    targets: Ints
    sources: Ints
    weights: Floats
    shares: Floats


class SurfaceEvents:
    """The operations on a surface, in their order: for each the triangles and vertices before and after, and what flows between them.

    Played back, they turn the first triangles and data into the last. Elements have the numbers of before the events, and new ones the
    next numbers; at the end, those that are left are numbered anew.

    Source: Brochu 2012, sections 3.2.1 and 6.3.1; the record is ours.
    """

    def __init__(self, core: _surface.SurfaceEvents, counts: TrackingCounts | None = None) -> None:
        self._core = core
        self.counts = counts

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._core)

    def __repr__(self) -> str:
        """One line with the counts."""
        kinds = [f"{int((self.kinds == i).sum())} {name}" for i, name in enumerate(EVENT_KIND.enum.__members__)]
        return f"<SurfaceEvents: {', '.join(kinds)}>"

    @property
    def kinds(self) -> npt.NDArray[np.int8]:
        """(n,) int8: 0 split, 1 flip, 2 collapse, 3 pinch, 4 merge."""
        return self._core.kinds

    def triangles(self, event: int) -> tuple[Ints, Ints]:
        """Return the triangles that an event removed and added, as rows of (number, three vertices)."""
        i = _checks.integer("event", event, 0, len(self))
        begin, end = self._core.first_change[i : i + 2]
        changes, which, rows = (getattr(self._core, name)[begin:end] for name in ("changes", "which", "rows"))
        parts = []
        for change in (2, 3):
            chosen = changes == change
            parts.append(np.concatenate([which[chosen][:, None], self._core.corners[rows[chosen]]], axis=1))
        return parts[0], parts[1]

    @property
    def vertex_numbers(self) -> Ints:
        """Numbers in the events of the vertices that are left (k,), in their new order."""
        return self._core.vertices

    @property
    def triangle_numbers(self) -> Ints:
        """Numbers in the events of the triangles that are left (m,), in their new order."""
        return self._core.triangles

    def transfers(self, on: CarryOn) -> Transfers:
        """Return what flows between elements in all events."""
        return Transfers(*self._core.transfers(CARRY_ON("on", on)))

    def replay(self, vertices: npt.ArrayLike, triangles: npt.ArrayLike) -> tuple[Floats, Ints]:
        """Return what the events make of vertices (n, 3), m, and triangles (m, 3). Smoothing is no event."""
        return self._core.replay(float_rows("vertices", vertices, 3), index_rows("triangles", triangles, 3))

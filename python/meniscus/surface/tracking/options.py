"""Options of tracked surfaces."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption

MergeGaps = Literal["none", "outside", "inside", "both"]
MERGE_GAPS = CoreOption(MergeGaps, _surface.MergeGaps)


@dataclass(frozen=True, kw_only=True)
class TrackingOptions:
    """What a `TrackedSurface` does to its mesh.

    Lengths are in units of the edge length of the surface, volumes in units of its cube.

    Attributes:
        longest, shortest: edges above are split, edges below are collapsed.
        curvature: edges are this part of the radius of curvature where that is smaller than the edge length; 0: alike everywhere.
        finest: of the edge length, the least that curvature makes of it.
        least_angle, largest_angle: of triangles, degrees. No operation makes worse ones where there were none.
        split, flip, collapse, smooth: which operations improve the mesh.
        merge_distance: parts that are closer merge.
        proximity: parts that are closer repel each other; less than `merge_distance`.
        butterfly: new vertices of split edges lie on a smooth surface through their neighbours; else in the middle of the edge.
        keep_volume: an improvement leaves the volume of closed parts as it was, unless parts merge or split: by where it puts the vertices
            of collapsed edges, and by an offset of each part at the end.
        frozen_boundary: edges of the boundary of an open surface are neither split nor collapsed, as printed; else they are, along it.
        ridge: a vertex is on a ridge where the second eigenvalue of its quadric exceeds this part of the first, and at a corner where the
            third does.
        flip_sweeps: at most so many passes of flips.

    Source: Brochu 2012, sections 3.2.4 to 3.2.6; values of its examples. Merging distance and proximity are those of the published scripts
    of the example with edges of 0.02 m. Angles, curvature, volumes that stay and boundaries that are refined are ours.
    """

    longest: float = 1.5
    shortest: float = 0.5
    curvature: float = 0.0
    finest: float = 0.25
    least_angle: float = 10.0
    largest_angle: float = 150.0
    split: bool = True
    flip: bool = True
    collapse: bool = True
    smooth: bool = True
    merge_distance: float = 0.05
    proximity: float = 0.005
    butterfly: bool = True
    keep_volume: bool = True
    frozen_boundary: bool = False
    ridge: float = 0.03
    flip_sweeps: int = 5

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)

    def core(self, edge_length: float, volume_change: float, topology: bool, safety: bool, merge: MergeGaps) -> Any:
        """Return the options of the core."""
        out = _surface.TrackingOptions()
        for field in fields(self):
            value = getattr(self, field.name)
            setattr(out, field.name, value * _RADIANS if field.name.endswith("_angle") else value)
        out.edge_length = _checks.positive("edge_length", edge_length)
        out.volume_change = _checks.number("volume_change", volume_change)
        out.topology = _checks.flag("topology", topology)
        out.safety = _checks.flag("safety", safety)
        out.merge = MERGE_GAPS("merge", merge)
        return out


_RADIANS = 3.141592653589793 / 180.0

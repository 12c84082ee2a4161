"""Options of tracked surfaces."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption

MergeGaps = Literal["none", "outside", "inside", "both"]
Operation = Literal["split", "flip", "collapse", "smooth"]
MERGE_GAPS = CoreOption(MergeGaps, _surface.MergeGaps)


@dataclass(frozen=True, kw_only=True)
class TrackingOptions:
    """What a `TrackedSurface` does to its mesh.

    Lengths are in units of the edge length of the surface, volumes in units of its cube.

    Attributes:
        lengths: edges below the first collapse, edges above the second are split; the second is more than twice the first.
        angles: of triangles, degrees: no operation makes smaller or larger ones than these where there were none.
        gaps: distances below which parts repel each other, and below which they merge.
        operations: those that improve the mesh, some of "split", "flip", "collapse", "smooth".
        curvature: edges are this part of the radius of curvature where that is smaller than the edge length; 0: alike everywhere.
        finest: of the edge length, the least that curvature makes of it.
        butterfly: new vertices of split edges lie on a smooth surface through their neighbours; else in the middle of the edge.
        keep_volume: an improvement leaves the volume of closed parts as it was, unless parts merge or split: by where it puts the vertices
            of collapsed edges, and by an offset of each part at the end.
        frozen_boundary: edges of the boundary of an open surface are neither split nor collapsed, as printed; else they are, along it.
        ridge: a vertex is on a ridge where the second eigenvalue of its quadric exceeds this part of the first, and at a corner where the
            third does.

    Raises:
        TypeError, ValueError: unknown operations, values of another kind or out of range.

    Source: Brochu 2012, sections 3.2.4 to 3.2.6; values of its examples. The gaps are those of the published scripts of the example with
    edges of 0.02 m. Angles, curvature, volumes that stay and boundaries that are refined are ours.
    """

    lengths: tuple[float, float] = (0.5, 1.5)
    angles: tuple[float, float] = (10.0, 150.0)
    gaps: tuple[float, float] = (0.005, 0.05)
    operations: tuple[str, ...] = get_args(Operation)
    curvature: float = 0.0
    finest: float = 0.25
    butterfly: bool = True
    keep_volume: bool = True
    frozen_boundary: bool = False
    ridge: float = 0.03

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        for name in ("lengths", "angles", "gaps"):
            _checks.vector(name, getattr(self, name), 2)
        for operation in _checks.items("operations", self.operations, str):
            _checks.choice("operations", operation, Operation)
        for name in ("butterfly", "keep_volume", "frozen_boundary"):
            _checks.flag(name, getattr(self, name))
        for name in ("curvature", "finest", "ridge"):
            _checks.number(name, getattr(self, name))

    def core(self, edge_length: float, volume_change: float, topology: bool, safety: bool, merge: MergeGaps) -> Any:
        """Return the options of the core."""
        out = _surface.TrackingOptions()
        out.shortest, out.longest = map(float, self.lengths)
        out.least_angle, out.largest_angle = (math.radians(angle) for angle in self.angles)
        out.proximity, out.merge_distance = map(float, self.gaps)
        for operation in get_args(Operation):
            setattr(out, operation, operation in self.operations)
        for name in ("curvature", "finest", "butterfly", "keep_volume", "frozen_boundary", "ridge"):
            setattr(out, name, getattr(self, name))
        out.edge_length = _checks.positive("edge_length", edge_length)
        out.volume_change = _checks.number("volume_change", volume_change)
        out.topology = _checks.flag("topology", topology)
        out.safety = _checks.flag("safety", safety)
        out.merge = MERGE_GAPS("merge", merge)
        return out

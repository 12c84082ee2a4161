"""Quality measures of the elements of a mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.simplices import Floats, SimplexMesh


@dataclass(frozen=True, eq=False, repr=False)
class MeshQuality:
    """Quality measures of all elements; `print` shows a summary with histograms. Ratios of degenerate elements are 0, never NaN.

    Attributes:
        kind: "tets" or "triangles".
        measures: (m,) signed volumes, m^3, or areas, m^2.
        smallest_angle, largest_angle: (m,), degrees: dihedral angles of tetrahedra, angles of triangles.
        aspect: (m,) smallest altitude / longest edge: 0.816 of a regular tetrahedron, 0.866 of a regular triangle.
        radius_ratio: (m,) inradius / circumradius, times 3 of tetrahedra and 2 of triangles: 1 if regular.
    """

    kind: str
    measures: Floats
    smallest_angle: Floats
    largest_angle: Floats
    aspect: Floats
    radius_ratio: Floats

    @property
    def inverted(self) -> int:
        """Number of tetrahedra without a positive volume, or of triangles without area."""
        return int(np.count_nonzero(~(self.measures > 0)))

    @property
    def worst(self) -> int:
        """The element with the lowest radius ratio; of several, the first."""
        if len(self.measures) == 0:
            raise ValueError("a mesh without elements has no worst one")
        return int(np.argmin(np.where(self.measures > 0, self.radius_ratio, -1)))

    def histogram(self, bins: int = 18) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """Return the numbers of elements with their smallest, and with their largest, angle in each of `bins` equal parts of [0, 180]
        degrees.

        The third array holds the bounds of the parts (bins + 1,).
        """
        count = _checks.integer("bins", bins, at_least=1)
        smallest, bounds = np.histogram(self.smallest_angle, count, (0.0, 180.0))
        largest, _ = np.histogram(self.largest_angle, count, (0.0, 180.0))
        return smallest.astype(np.int64), largest.astype(np.int64), bounds

    def __str__(self) -> str:
        """Several lines: counts, extremes and means, histograms of the angles."""
        m = len(self.measures)
        if m == 0:
            return f"no {self.kind}"
        unit = "m^3" if self.kind == "tets" else "m^2"
        angle = "dihedral angle" if self.kind == "tets" else "angle"
        lines = [
            f"{m} {self.kind}, {self.inverted} of them {'not of positive volume' if self.kind == 'tets' else 'without area'}",
            f"sizes {self.measures.min():.3g} to {self.measures.max():.3g} {unit}, sum {_mesh.sum_of(self.measures):.6g} {unit}",
            f"{angle}s {self.smallest_angle.min():.2f} to {self.largest_angle.max():.2f} degrees",
            f"aspect at least {self.aspect.min():.3g}, mean {self.aspect.mean():.3g}",
            f"radius ratio at least {self.radius_ratio.min():.3g}, mean {self.radius_ratio.mean():.3g}",
            f"degrees     smallest {angle:<16} largest",
        ]
        smallest, largest, bounds = self.histogram()
        highest = max(int(smallest.max()), int(largest.max()))
        for k in range(len(smallest)):
            if smallest[k] or largest[k]:
                bars = [f"{c:>9} {'#' * round(12 * c / highest):<14}" for c in (int(smallest[k]), int(largest[k]))]
                lines.append(f"{bounds[k]:3.0f} - {bounds[k + 1]:3.0f}  {bars[0]} {bars[1]}".rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        """One line."""
        if len(self.measures) == 0:
            return f"<MeshQuality: no {self.kind}>"
        return (
            f"<MeshQuality: {len(self.measures)} {self.kind}, {self.inverted} inverted or flat, angles {self.smallest_angle.min():.2f} to "
            f"{self.largest_angle.max():.2f} degrees, radius ratio at least {self.radius_ratio.min():.3g}>"
        )


def quality_of(mesh: SimplexMesh, positions: Floats | None) -> MeshQuality:
    """Return the quality of a triangle or tetrahedral mesh, at rest or at given positions."""
    x = mesh.vertices
    if positions is not None:
        x = mesh.check_positions("positions", positions)
        _checks.require_finite("positions", x)
    q = _mesh.measure_quality(x, mesh.elements)
    kind = "tets" if mesh.elements.shape[1] == 4 else "triangles"
    columns = [np.ascontiguousarray(q[:, k]) for k in range(4)]
    return MeshQuality(kind, mesh.measures(x), np.degrees(columns[0]), np.degrees(columns[1]), columns[2], columns[3])

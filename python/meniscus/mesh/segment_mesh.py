"""Meshes of segments: curves, hair, wire frames."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.arrays import sealed
from meniscus.mesh.simplices import Floats, Ints, SimplexMesh


class SegmentMesh(SimplexMesh):
    """Rest positions and the segments between them.

    Args:
        vertices: (n, 3) numbers, m; copied unless they are those of a mesh.
        segments: (m, 2) integers, indices of vertices; copied unless they are those of a mesh.

    Raises:
        TypeError, ValueError: what is no such array, a wrong shape, an index out of range, a segment with one vertex twice, positions that
            are not finite.
    """

    _corners = 2
    _elements_name = "segments"

    def __init__(self, vertices: npt.ArrayLike, segments: npt.ArrayLike) -> None:
        super().__init__(vertices, segments)

    @property
    def segments(self) -> Ints:
        """The two ends of each segment (m, 2); read-only."""
        return self._elements

    @property
    def lengths(self) -> Floats:
        """Lengths at rest (m,), m; read-only."""
        return self._rest_measures

    def length(self) -> float:
        """Return the sum of the lengths at rest, m."""
        return float(_mesh.sum_of(self._rest_measures))

    @cached_property
    def boundary(self) -> Ints:
        """The vertices at which one segment ends, ascending; read-only."""
        counts = np.bincount(self._elements.ravel(), minlength=len(self._vertices))
        return sealed(np.flatnonzero(counts == 1).astype(np.int32))  # type: ignore[no-any-return]

    @cached_property
    def neighbours(self) -> Ints:
        """The segment (m, 2) beyond the end opposite of each end; -1 where there is none or where more than two meet; read-only."""
        flat = self._elements.ravel()
        counts = np.bincount(flat, minlength=len(self._vertices))
        order = np.argsort(flat, kind="stable").astype(np.int32)
        first = np.flatnonzero(counts[flat[order]] == 2)[::2]
        a, b = order[first], order[first + 1]
        result = np.full(flat.shape, -1, np.int32)
        # Corner 2 s + k is the end opposite of corner 2 s + 1 - k.
        result[a ^ 1] = b // 2
        result[b ^ 1] = a // 2
        return sealed(result.reshape(-1, 2))  # type: ignore[no-any-return]

    @cached_property
    def _components(self) -> tuple[int, Ints]:
        count, component = _mesh.segment_components(self._elements, len(self._vertices))
        return int(count), component

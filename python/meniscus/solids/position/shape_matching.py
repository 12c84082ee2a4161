"""Shape matching as a constraint of position based dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.mesh.any_mesh import own_mesh
from meniscus.solids.position.position_constraints import PositionConstraint, Projector, checked_stiffness, require_nodes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
ShapeMotion = Literal["rigid", "linear", "quadratic"]
"""How a shape at rest is deformed to fit its nodes."""
QuadraticBasis = Literal["centred", "printed"]
"""Whether quadratic quantities have their mean subtracted."""
SHAPE_MOTION = CoreOption(ShapeMotion, _solids.ShapeMotion)


class ShapeMatching(PositionConstraint):
    """Clusters of nodes that are pulled towards their shape at rest, which is moved and deformed as fits them best.

    No connections between nodes are needed. Nodes in several clusters get the mean of their goals; each cluster counts a node's mass
    divided by the number of its clusters, so that linear and angular momentum are conserved. Flat and straight clusters and single nodes
    are fine, and so are nodes that are inverted against their shape: those turn back.

    Args:
        mesh: a mesh, or positions (n, 3), m, at rest.
        clusters: lists of nodes; default all nodes as one. See `near_clusters`.
        motion: "rigid": the goal is the shape, turned; "linear": part of it follows the best linear map, "quadratic": the best quadratic
            one, with bending and twisting.
        softness: from 0 to 1, how much of the goal is that map; the rest is the turned shape. Without effect for "rigid".
        keep_volume: of "linear": the map keeps the volume (of flat shapes the area, of straight ones the length).
        compliance: s^2: each node is pulled with its mass over the compliance (N/m). 0: nodes are at their goals.
        stiffness: of the printed method, from 0 to 1.
        masses: (n,), kg, how much nodes count; default those of the body.
        basis: "printed": quadratic quantities as they are, which loses momentum.

    Raises:
        TypeError, ValueError: wrong types or values; when added to a body: nodes it does not have, masses that are not finite.

    Source: Müller, Stam, James and Thürey 2008, section 5.4.5; Müller, Heidelberger, Teschner and Gross, "Meshless deformations based on
    shape matching", 2005.
    """

    def __init__(
        self,
        mesh: Any,
        *,
        clusters: Sequence[npt.ArrayLike] | None = None,
        motion: ShapeMotion = "rigid",
        softness: float = 0.5,
        keep_volume: bool = True,
        compliance: float = 0.0,
        stiffness: float = 1.0,
        masses: npt.ArrayLike | None = None,
        basis: QuadraticBasis = "centred",
    ) -> None:
        own = own_mesh(mesh)
        x = np.array(own if isinstance(own, (np.ndarray, list)) else own.vertices, np.float64)
        if x.ndim != 2 or x.shape[1] != 3:
            raise ValueError(f"positions must have shape (n, 3), not {x.shape}")
        _checks.require_finite("positions", x)
        self.rest = x
        given = [np.arange(len(x))] if clusters is None else [np.asarray(c) for c in clusters]
        for k, c in enumerate(given):
            if c.ndim != 1 or not len(c) or c.dtype.kind not in "iu" or not 0 <= c.min() <= c.max() < len(x):
                raise ValueError(f"cluster {k} must be a list of nodes from 0 to {len(x) - 1}")
        self.first = np.concatenate([[0], np.cumsum([len(c) for c in given])]).astype(np.int32)
        self.nodes = np.concatenate([*given, np.empty(0, np.int32)]).astype(np.int32)
        self.motion = motion
        self._motion = SHAPE_MOTION("motion", motion)
        self.softness = _checks.number("softness", softness)
        self.compliance = _checks.number("compliance", compliance)
        if not 0 <= self.softness <= 1 or not self.compliance >= 0:
            raise ValueError("softness must be from 0 to 1, and the compliance not negative")
        self.keep_volume = _checks.flag("keep_volume", keep_volume)
        self.centred = _checks.choice("basis", basis, QuadraticBasis) == "centred"
        self.stiffness = checked_stiffness(stiffness)
        self.masses = None if masses is None else np.array(np.broadcast_to(np.asarray(masses, np.float64), (len(x),)))

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(self.first) - 1

    def projector(self, body: Any) -> Projector:
        """Return what projects them."""
        require_nodes(self.nodes, len(body))
        if len(self.rest) != len(body):
            raise ValueError(f"the shape has {len(self.rest)} nodes at rest, but the body {len(body)}")
        return _ShapeProjector(self._core(body.dtype, body.masses), self)

    def goals(self, positions: npt.ArrayLike, masses: npt.ArrayLike = 1.0) -> Floats:
        """Return the goals (n, 3), m, of nodes at positions (n, 3), m; of nodes in no cluster their positions.

        `masses` (n,), kg, count where the constraint has none of its own.
        """
        x = np.array(_checks.numbers("positions", positions))
        if x.shape != self.rest.shape:
            raise ValueError(f"positions must have shape {self.rest.shape}, not {x.shape}")
        nodes = np.ones((len(x), 4))
        nodes[:, :3] = x
        self._core(np.dtype(np.float64), np.broadcast_to(np.asarray(masses, np.float64), (len(x),))).goals(nodes, x)
        return x

    def _core(self, dtype: np.dtype[Any], masses: Floats) -> Any:
        make: Any = _solids.ShapeMatchingFloat32 if dtype == np.float32 else _solids.ShapeMatchingFloat64
        m = np.ascontiguousarray(masses if self.masses is None else self.masses, np.float64)
        return make(self.first, self.nodes, m, self.rest, self._motion, self.softness, self.keep_volume, self.centred, self.compliance)


class _ShapeProjector(Projector):
    ordered = False

    def project(self, nodes: Any, dt: float, part: float, times: int, averaged: bool, backward: bool) -> None:
        self.core.project(nodes, dt, part, times)


def near_clusters(positions: npt.ArrayLike, spacing: float, reach: float | None = None) -> list[Ints]:
    """Return overlapping clusters for `ShapeMatching`: nodes around the points of a lattice.

    Args:
        positions: (n, 3), m, at rest.
        spacing: between the points of the lattice, m.
        reach: nodes within this distance of a point along each axis belong to its cluster, m; default `spacing`, with which nodes are in
            up to eight clusters.

    Raises:
        TypeError, ValueError: other arguments; a reach below half the spacing, which would leave out nodes.

    Source: Müller, Heidelberger, Teschner and Gross 2005, section 4.4.
    """
    x = np.asarray(_checks.numbers("positions", positions), np.float64)
    if x.ndim != 2 or x.shape[1] != 3:
        raise ValueError(f"positions must have shape (n, 3), not {x.shape}")
    _checks.require_finite("positions", x)
    cell = _checks.positive("spacing", spacing)
    size = cell if reach is None else _checks.positive("reach", reach)
    if size < 0.5 * cell:
        raise ValueError(f"reach must be at least half the spacing, {0.5 * cell:g} m, not {size:g}")
    if not len(x):
        return []
    low = x.min(axis=0)
    wide = int(np.ceil(size / cell))
    base = np.rint((x - low) / cell).astype(np.int64)
    offsets = np.stack(np.meshgrid(*[np.arange(-wide, wide + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    most = base.max(axis=0)
    found: dict[tuple[int, ...], list[Ints]] = {}
    for offset in offsets:
        at = base + offset
        near = (np.abs(low + at * cell - x) <= size * (1 + 1e-12)).all(axis=1) & (at >= 0).all(axis=1) & (at <= most).all(axis=1)
        rows = np.flatnonzero(near)
        if not len(rows):
            continue
        keys, inverse = np.unique(at[rows], axis=0, return_inverse=True)
        order = np.argsort(inverse.ravel(), kind="stable")
        parts = np.split(rows[order], np.cumsum(np.bincount(inverse.ravel(), minlength=len(keys)))[:-1])
        for key, part in zip(keys.tolist(), parts, strict=True):
            found.setdefault(tuple(key), []).append(part.astype(np.int32))
    return [np.sort(np.concatenate(found[key])) for key in sorted(found)]

"""Meshes of simple shapes: cloth, blocks of tetrahedra, spheres."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.triangle_mesh import TriangleMesh

ClothPattern = Literal["herring-bone", "diamond", "regular"]
BlockPattern = Literal["six", "five"]


def cloth_mesh(
    nx: int,
    ny: int,
    size: Sequence[float] = (1.0, 1.0),
    *,
    origin: Sequence[float] = (0.0, 0.0, 0.0),
    pattern: ClothPattern = "herring-bone",
) -> TriangleMesh:
    """Return a rectangle in a plane of constant z, of nx x ny quads with two triangles each.

    Vertex (ny + 1) * i + j lies at origin + (i / nx * size[0], j / ny * size[1], 0). Quad ny * i + j has triangles 2 (ny * i + j) and
    the next; their normals point along +z.

    Args:
        nx, ny: quads along x and y.
        size: lengths along x and y, m.
        origin: the vertex with the lowest coordinates, m.
        pattern: directions of the diagonals, which should make bending isotropic. "herring-bone": alternately from column to column
            (columns run along y), or from row to row where only the number of rows is even; both directions come equally often unless nx
            and ny are both odd. "diamond": alternately in both directions. "regular": all alike.

    Raises:
        TypeError, ValueError: a number below one, a length that is not positive, an unknown pattern.

    Source: Selle 2008, section 5.2.
    """
    nx, ny = _checks.integer("nx", nx, at_least=1), _checks.integer("ny", ny, at_least=1)
    lengths = _lengths(size, 2)
    low = _checks.vector("origin", origin, 3)
    kind = _checks.choice("pattern", pattern, ClothPattern)
    _require_addressable((nx + 1) * (ny + 1))
    vertices = np.empty((nx + 1, ny + 1, 3))
    vertices[..., 0] = _ticks(low[0], lengths[0], nx)[:, None]
    vertices[..., 1] = _ticks(low[1], lengths[1], ny)
    vertices[..., 2] = low[2]
    i, j = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    if kind == "regular":
        falling = np.zeros((nx, ny), bool)
    elif kind == "diamond":
        falling = (i + j) % 2 == 1
    else:
        falling = (j if nx % 2 == 1 and ny % 2 == 0 else i) % 2 == 1
    corner = (ny + 1) * i + j
    a, b, c, d = corner, corner + ny + 1, corner + ny + 2, corner + 1
    rising_pair = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], 2)
    falling_pair = np.stack([np.stack([a, b, d], -1), np.stack([b, c, d], -1)], 2)
    triangles = np.where(falling[:, :, None, None], falling_pair, rising_pair)
    return TriangleMesh(vertices.reshape(-1, 3), np.ascontiguousarray(triangles.reshape(-1, 3), dtype=np.int32))


def tet_block(
    nx: int,
    ny: int,
    nz: int,
    size: Sequence[float] = (1.0, 1.0, 1.0),
    *,
    origin: Sequence[float] = (0.0, 0.0, 0.0),
    pattern: BlockPattern = "six",
) -> TetMesh:
    """Return a box of nx x ny x nz smaller boxes with six or five tetrahedra each.

    Vertex ((ny + 1) * i + j) * (nz + 1) + k lies at origin + (i / nx, j / ny, k / nz) * size. The tetrahedra of a small box follow each
    other; all have positive volume.

    Args:
        nx, ny, nz: small boxes along x, y and z.
        size: lengths of the whole along x, y and z, m.
        origin: the vertex with the lowest coordinates, m.
        pattern: "six": all tetrahedra of a small box share its diagonal from the lowest to the highest corner, and have equal volumes;
            diagonals of faces start at the lowest corner too, so that all small boxes are cut alike. "five": one regular tetrahedron, if
            the box is a cube, between four corners, with a third of the volume, and one at each other corner; neighbours are mirror
            images, which prefers no direction.

    Raises:
        TypeError, ValueError: a number below one, a length that is not positive, an unknown pattern.

    Source: Kuhn, "Some combinatorial lemmas in topology", 1960 (six); Mueller et al., "Real time physics" course notes, 2008, chapter 4
    (what such blocks are used for).
    """
    counts = tuple(_checks.integer(name, n, at_least=1) for name, n in (("nx", nx), ("ny", ny), ("nz", nz)))
    lengths = _lengths(size, 3)
    low = _checks.vector("origin", origin, 3)
    kind = _checks.choice("pattern", pattern, BlockPattern)
    _require_addressable((counts[0] + 1) * (counts[1] + 1) * (counts[2] + 1))
    vertices = np.empty((*(n + 1 for n in counts), 3))
    for d in range(3):
        shape = [1, 1, 1]
        shape[d] = -1
        vertices[..., d] = _ticks(low[d], lengths[d], counts[d]).reshape(shape)
    cells = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), -1)
    strides = np.array([(counts[1] + 1) * (counts[2] + 1), counts[2] + 1, 1])
    first = cells @ strides
    if kind == "six":
        tets = first[..., None, None] + _SIX @ strides
    else:
        odd = cells.sum(axis=-1) % 2 == 1
        tets = first[..., None, None] + np.where(odd[..., None, None], _FIVE_MIRRORED @ strides, _FIVE @ strides)
    return TetMesh(vertices.reshape(-1, 3), np.ascontiguousarray(tets.reshape(-1, 4), dtype=np.int32))


def icosphere(levels: int, radius: float = 1.0, center: Sequence[float] = (0.0, 0.0, 0.0)) -> TriangleMesh:
    """Return a sphere of 20 * 4^levels triangles: an icosahedron whose triangles are cut in four, with all vertices on the sphere.

    Args:
        levels: number of subdivisions, at most 12.
        radius: m.
        center: m.

    Raises:
        TypeError, ValueError: levels out of range, a radius that is not positive.
    """
    count = _checks.integer("levels", levels, at_least=0, below=13)
    r = _checks.positive("radius", radius)
    middle = np.array(_checks.vector("center", center, 3))
    golden = (1 + 5**0.5) / 2
    corners = np.array([p for a in (-1.0, 1.0) for b in (-golden, golden) for p in ((0, a, b), (a, b, 0), (b, 0, a))], float)
    near = np.linalg.norm(corners[:, None] - corners, axis=2) < 2.1
    triangles = []
    for i, j, k in itertools.combinations(range(12), 3):
        if near[i, j] and near[j, k] and near[k, i]:
            outward = np.linalg.det(corners[[i, j, k]]) > 0
            triangles.append((i, j, k) if outward else (i, k, j))
    x = corners / np.linalg.norm(corners, axis=1, keepdims=True)
    mesh = TriangleMesh(x, np.array(triangles, np.int32))
    for _ in range(count):
        t, n = mesh.triangles, len(mesh.vertices)
        middles = mesh.vertices[mesh.edges].sum(axis=1)
        middles /= np.linalg.norm(middles, axis=1, keepdims=True)
        m = mesh.element_edges + n
        parts = [(t[:, 0], m[:, 2], m[:, 1]), (m[:, 2], t[:, 1], m[:, 0]), (m[:, 1], m[:, 0], t[:, 2]), (m[:, 0], m[:, 1], m[:, 2])]
        finer = np.stack([np.stack(p, -1) for p in parts], 1).reshape(-1, 3)
        mesh = TriangleMesh(np.concatenate([mesh.vertices, middles]), np.ascontiguousarray(finer, dtype=np.int32))
    return TriangleMesh(middle + r * mesh.vertices, mesh.triangles)


def _ticks(low: float, length: float, n: int) -> npt.NDArray[np.float64]:
    return low + length * (np.arange(n + 1) / n)


def _lengths(size: Sequence[float], dimension: int) -> tuple[float, ...]:
    values = _checks.vector("size", size, dimension)
    return tuple(_checks.positive(f"size[{d}]", v) for d, v in enumerate(values))


def _require_addressable(vertices: int) -> None:
    if vertices > 2**31 - 1:
        raise ValueError(f"a mesh can have at most {2**31 - 1} vertices, not {vertices}")


def _kuhn_tets() -> npt.NDArray[Any]:
    """Return the corners of six tetrahedra of the unit cube: the paths along edges from (0, 0, 0) to (1, 1, 1)."""
    tets = []
    for order in itertools.permutations(range(3)):
        corners = [(0, 0, 0)]
        for axis in order:
            corners.append(tuple(int(c or d == axis) for d, c in enumerate(corners[-1])))  # type: ignore[arg-type]
        tets.append(corners)
    return _positive(np.array(tets))


def _five_tets(mirrored: bool) -> npt.NDArray[Any]:
    """Return the corners of five tetrahedra of the unit cube: one at every second corner, and the one between the others."""
    corners = [c for c in itertools.product((0, 1), repeat=3) if sum(c) % 2 == int(mirrored)]
    tets = [[c, *(tuple(1 - v if d == axis else v for d, v in enumerate(c)) for axis in range(3))] for c in corners]
    tets.append([c for c in itertools.product((0, 1), repeat=3) if sum(c) % 2 != int(mirrored)])
    return _positive(np.array(tets))


def _positive(tets: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Swap the last two corners of tetrahedra of negative volume."""
    sides = (tets[:, 1:] - tets[:, :1]).astype(float)
    negative = np.linalg.det(sides) < 0
    tets[negative] = tets[negative][:, [0, 1, 3, 2]]
    return tets


_SIX = _kuhn_tets()
_FIVE = _five_tets(False)
_FIVE_MIRRORED = _five_tets(True)

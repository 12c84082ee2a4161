"""Grooms: the shapes of many strands, and where they grow."""

from __future__ import annotations

import math
import os

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import SegmentMesh, TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.solids.hair.hair_files import read_hair, read_lines, write_hair, write_lines

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Groom:
    """Strands as polylines, one after the other, from root to tip.

    Args:
        points: (n, 3), m.
        offsets: (m + 1,) integers: strand s has the points offsets[s] to offsets[s + 1] - 1, two at least.
        radius: of the fibres, m; a number or one per strand.
        root_triangles: (m,) triangles of `skin` on which the roots are; None: on none.
        root_weights: (m, 3) barycentric coordinates of the roots in these.
        skin: triangle mesh that the roots are on, as it was when the strands grew.
        directors: (m, 3) vectors that turn with the skin and stop the twist of the roots; None: any across the first segments.

    Attributes:
        styles: other shapes (n, 3) of the same strands, by name.

    Raises:
        TypeError, ValueError: wrong types or shapes; a strand of one point, points that coincide or are not finite; roots off the skin.
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        radius: float | Floats = 4e-5,
        root_triangles: npt.ArrayLike | None = None,
        root_weights: npt.ArrayLike | None = None,
        skin: SurfaceLike | None = None,
        directors: npt.ArrayLike | None = None,
    ) -> None:
        x = np.array(points, np.float64)
        if x.ndim != 2 or x.shape[1] != 3:
            raise ValueError(f"points must have shape (n, 3), not {x.shape}")
        _checks.require_finite("points", x)
        ends = np.asarray(offsets)
        if ends.dtype.kind not in "iu" or ends.ndim != 1 or len(ends) < 1:
            raise TypeError(f"offsets must be integers (m + 1,), not {ends.dtype} of shape {ends.shape}")
        ends = ends.astype(np.int64)
        if ends[0] != 0 or ends[-1] != len(x):
            raise ValueError(f"offsets must go from 0 to the {len(x)} points, not from {ends[0]} to {ends[-1]}")
        counts = np.diff(ends)
        if (counts < 2).any():
            s = int(np.argmax(counts < 2))
            raise ValueError(f"strand {s} has {counts[s]} points; two are the least")
        self.points, self.offsets = x, ends
        lengths = np.linalg.norm(np.diff(x, axis=0), axis=1)
        lengths[ends[1:-1] - 1] = 1.0  # from a tip to the next root
        if (lengths == 0).any():
            i = int(np.argmax(lengths == 0))
            raise ValueError(f"points {i} and {i + 1} coincide")
        self.radius = np.broadcast_to(np.asarray(radius, np.float64), (len(self),)).copy()
        if not (np.isfinite(self.radius) & (self.radius > 0)).all():
            raise ValueError("radius must be positive")
        self.skin = None if skin is None else own_mesh(skin)
        if self.skin is not None and not isinstance(self.skin, TriangleMesh):
            raise TypeError(f"skin must be a triangle mesh, not {type(skin).__name__}")
        if (self.skin is None) != (root_triangles is None) or (root_triangles is None) != (root_weights is None):
            raise ValueError("give skin, root_triangles and root_weights together, or none of them")
        self.root_triangles: Ints | None = None
        self.root_weights: Floats | None = None
        if self.skin is not None:
            self.root_triangles = np.ascontiguousarray(root_triangles, np.int32)
            self.root_weights = np.array(root_weights, np.float64)
            self._check_roots()
        first = self.directions
        given = _any_across(first) if directors is None else np.array(directors, np.float64)
        if given.shape != (len(self), 3):
            raise ValueError(f"directors must have shape ({len(self)}, 3), not {given.shape}")
        across = given - np.einsum("si,si->s", given, first)[:, None] * first
        norm = np.linalg.norm(across, axis=1)
        flat = norm < 1e-9
        across[flat], norm[flat] = _any_across(first[flat]), 1.0
        self.directors = across / norm[:, None]
        self.styles: dict[str, Floats] = {}

    def _check_roots(self) -> None:
        assert self.skin is not None
        assert self.root_triangles is not None
        assert self.root_weights is not None
        if self.root_triangles.shape != (len(self),) or self.root_weights.shape != (len(self), 3):
            raise ValueError(f"root_triangles and root_weights must have shapes ({len(self)},) and ({len(self)}, 3)")
        if len(self) == 0:
            return
        if self.root_triangles.min() < 0 or self.root_triangles.max() >= len(self.skin.triangles):
            raise ValueError(f"root_triangles must be of the {len(self.skin.triangles)} triangles of the skin")
        off = np.abs(self.roots_on(self.skin.vertices) - self.roots).max(axis=1)
        size = float(np.ptp(self.skin.vertices, axis=0).max())
        if (off > 1e-6 * size).any():
            s = int(np.argmax(off))
            raise ValueError(f"the root of strand {s} is {off[s]:.3g} m off its triangle")

    def __len__(self) -> int:
        """Return the number of strands."""
        return len(self.offsets) - 1

    @property
    def roots(self) -> Floats:
        """First points (m, 3), m."""
        first: Floats = self.points[self.offsets[:-1]]
        return first

    @property
    def directions(self) -> Floats:
        """Unit vectors (m, 3) along the first segments."""
        d = self.points[self.offsets[:-1] + 1] - self.points[self.offsets[:-1]]
        unit: Floats = d / np.linalg.norm(d, axis=1)[:, None]
        return unit

    @property
    def lengths(self) -> Floats:
        """Lengths of the strands (m,), m."""
        each = np.append(np.linalg.norm(np.diff(self.points, axis=0), axis=1), 0.0)
        each[self.offsets[1:] - 1] = 0.0
        return np.add.reduceat(each, self.offsets[:-1]) if len(self) else np.zeros(0)

    @property
    def mesh(self) -> SegmentMesh:
        """Strands as a mesh of segments."""
        first = np.delete(np.arange(len(self.points), dtype=np.int32), self.offsets[1:] - 1)
        return SegmentMesh(self.points, np.stack([first, first + 1], axis=1))

    def add_style(self, name: str, points: npt.ArrayLike) -> None:
        """Store another shape (n, 3) of the strands. Raises ValueError for one of other strands."""
        x: Floats = np.array(points, np.float64)
        if x.shape != self.points.shape:
            raise ValueError(f"a style of these strands has shape {self.points.shape}, not {x.shape}")
        _checks.require_finite("points", x)
        self.styles[name] = x

    def roots_on(self, vertices: npt.ArrayLike) -> Floats:
        """Return where the roots (m, 3) are when the vertices of the skin are at `vertices` (k, 3), m."""
        corners = self._corners(vertices)
        assert self.root_weights is not None
        return np.einsum("sk,skd->sd", self.root_weights, corners)  # type: ignore[no-any-return]

    def frames_on(self, vertices: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return directions and directors (m, 3) of the roots, turned with their triangles from the skin's own vertices to others."""
        assert self.skin is not None
        turns = np.einsum("sik,sjk->sij", _triangle_frames(self._corners(vertices)), _triangle_frames(self._corners(self.skin.vertices)))
        return np.einsum("sij,sj->si", turns, self.directions), np.einsum("sij,sj->si", turns, self.directors)

    def _corners(self, vertices: npt.ArrayLike) -> Floats:
        if self.skin is None or self.root_triangles is None:
            raise ValueError("the strands have no skin")
        x = np.asarray(vertices, np.float64)
        if x.shape != self.skin.vertices.shape:
            raise ValueError(f"vertices must have shape {self.skin.vertices.shape}, not {x.shape}")
        return x[self.skin.triangles[self.root_triangles]]  # type: ignore[no-any-return]

    @staticmethod
    def grow(
        mesh: SurfaceLike,
        count: int,
        length: float,
        *,
        curl_radius: float = 0.0,
        pitch: float | None = None,
        segments: int = 25,
        noise: float = 0.0,
        radius: float = 4e-5,
        where: npt.NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> Groom:
        """Grow strands on a triangle mesh, uniformly by area, along its normals.

        Args:
            mesh: triangle mesh, m.
            count: number of strands.
            length: of each along its curve, m.
            curl_radius: of helices, m; 0: straight.
            pitch: of helices, m a turn; None: four times `curl_radius`.
            segments: of each strand, of equal length.
            noise: standard deviation of the directions, rad.
            radius: of the fibres, m.
            where: (k,) triangles on which strands grow; None: all.
            seed: of the random numbers.

        Raises:
            TypeError, ValueError: no triangle mesh, or one without area; numbers out of range.
        """
        skin = own_mesh(mesh)
        if not isinstance(skin, TriangleMesh):
            raise TypeError(f"mesh must be a triangle mesh, not {type(mesh).__name__}")
        m, n = _checks.integer("count", count, 0), _checks.integer("segments", segments, 1)
        whole, r = _checks.positive("length", length), _checks.number("curl_radius", curl_radius)
        rise = 4 * r if pitch is None else _checks.positive("pitch", pitch)
        spread = _checks.number("noise", noise)
        if r < 0 or spread < 0:
            raise ValueError("curl_radius and noise must not be negative")
        random = np.random.default_rng(_checks.integer("seed", seed, 0))
        corners = skin.vertices[skin.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area = np.linalg.norm(normals, axis=1)
        if where is not None:
            area = np.where(_checks.mask("where", where, area.shape), area, 0.0)
        if not area.sum() > 0:
            raise ValueError("strands need triangles with an area to grow on")
        triangle = random.choice(len(area), m, p=area / area.sum()).astype(np.int32)
        u = np.sqrt(random.random(m))
        v = random.random(m)
        weights = np.stack([1 - u, u * (1 - v), u * v], axis=1)
        roots = np.einsum("sk,skd->sd", weights, corners[triangle])
        axis = normals[triangle] / area[triangle][:, None] + spread * random.standard_normal((m, 3))
        axis /= np.linalg.norm(axis, axis=1)[:, None]
        side = _any_across(axis)
        phase = 2 * math.pi * random.random(m)
        other = np.cross(axis, side)
        side, other = (
            np.cos(phase)[:, None] * side + np.sin(phase)[:, None] * other,
            np.cos(phase)[:, None] * other - np.sin(phase)[:, None] * side,
        )
        local = _helix(whole, n, r, rise)
        points = roots[:, None] + np.einsum("kc,csd->skd", local, np.stack([side, other, axis]))
        edge = corners[triangle][:, 1] - corners[triangle][:, 0]
        return Groom(
            points.reshape(-1, 3),
            np.arange(m + 1) * (n + 1),
            radius=radius,
            root_triangles=triangle,
            root_weights=weights,
            skin=skin,
            directors=edge,
        )

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Groom:
        """Read strands from a `.hair` file (cyHair, HairFile of Cem Yuksel) or from polylines of a VTK file (`.vtp`, `.vtk`).

        Raises:
            OSError: the file cannot be read.
            ValueError: another format, a file cut short, strands of one point.
        """
        file = _checks.path("path", path)
        if file.suffix == ".hair":
            points, offsets, radius = read_hair(file)
        elif file.suffix in (".vtp", ".vtk"):
            points, offsets, radius = read_lines(file)
        else:
            raise ValueError(f"strands are read from .hair, .vtp and .vtk files, not from {file.name}")
        return Groom(points, offsets) if radius is None else Groom(points, offsets, radius=radius)

    def save(self, path: str | os.PathLike[str], points: Floats | None = None) -> None:
        """Write the strands, or another shape (n, 3) of them, in a format of `load`; `.hair` files have single precision.

        Raises:
            OSError: the file cannot be written.
            ValueError: another format.
        """
        file, x = _checks.path("path", path), self.points if points is None else points
        if x.shape != self.points.shape:
            raise ValueError(f"points must have shape {self.points.shape}, not {x.shape}")
        if file.suffix == ".hair":
            write_hair(file, x, self.offsets, self.radius)
        elif file.suffix == ".vtp":
            write_lines(file, x, self.offsets, self.radius)
        else:
            raise ValueError(f"strands are written to .hair and .vtp files, not to {file.name}")

    def __repr__(self) -> str:
        """One line: strands, points."""
        return f"<Groom {len(self)} strands, {len(self.points)} points{', on a skin' if self.skin is not None else ''}>"


def _any_across(t: Floats) -> Floats:
    """Unit vectors across unit vectors (m, 3)."""
    axes = np.eye(3)[np.argmin(np.abs(t), axis=1)]
    d = np.cross(t, axes)
    return d / np.linalg.norm(d, axis=1)[:, None]  # type: ignore[no-any-return]


def _triangle_frames(corners: Floats) -> Floats:
    """Orthonormal frames (m, 3, 3) as columns: the first edge, the normal across it, the normal."""
    a = corners[:, 1] - corners[:, 0]
    c = np.cross(a, corners[:, 2] - corners[:, 0])
    a = a / np.linalg.norm(a, axis=1)[:, None]
    c = c / np.linalg.norm(c, axis=1)[:, None]
    return np.stack([a, np.cross(c, a), c], axis=2)


def _helix(length: float, segments: int, radius: float, pitch: float) -> Floats:
    """Points (segments + 1, 3) of a helix through the origin along z, with equal chords that sum up to `length`."""
    if radius == 0:
        line: Floats = np.linspace(0, 1, segments + 1)[:, None] * np.array([0.0, 0.0, length])
        return line
    turn, chord = 0.0, length / segments
    for _ in range(60):  # fixed point for the angle of a chord: (2 r sin(a / 2))^2 + (p a / 2 pi)^2 = chord^2
        shape = (math.sin(turn / 2) / (turn / 2)) ** 2 if turn > 0 else 1.0
        turn = 0.5 * turn + 0.5 * chord / math.sqrt(radius**2 * shape + (pitch / (2 * math.pi)) ** 2)
    a = turn * np.arange(segments + 1)
    return np.stack([radius * (np.cos(a) - 1), radius * np.sin(a), pitch * a / (2 * math.pi)], axis=1)

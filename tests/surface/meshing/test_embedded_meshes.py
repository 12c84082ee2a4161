"""Fitted meshes overlap nowhere: on shapes with gaps, teeth and strands about as thin as the cells, in any place and of any size."""

import warnings

import numpy as np
import pytest
from support.meshes import box, join, real_mesh
from support.variants import slow_but

import meniscus as ms

LEAST, LARGEST = 10.0, 165.0
Mesh = tuple[np.ndarray, np.ndarray]


def placed(mesh: Mesh, seed: int, scale: float = 1.0) -> Mesh:
    """Turned at random, scaled, and moved by a few sizes."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.linalg.det(q))
    return np.ascontiguousarray(scale * (mesh[0] @ q.T + rng.uniform(-3, 3, 3))), mesh[1]


def two_boxes(gap: float) -> Mesh:
    """A box beside another; without a gap they touch in part of a side."""
    return join(box(), box((1 + gap, 0.2, 0.3), (1.8 + gap, 0.9, 1.1)))


def gear(teeth: int = 14) -> Mesh:
    """A wheel of radius 1 with teeth a quarter high."""
    phases = 2 * np.pi * (np.arange(teeth)[:, None] + [0.0, 0.3, 0.4, 0.75]).ravel() / teeth
    radii = np.tile([0.75, 0.75, 1.0, 1.0], teeth)
    n = len(phases)
    rim = np.stack([radii * np.cos(phases), radii * np.sin(phases)], 1)
    v = np.concatenate([np.c_[rim, np.zeros(n)], np.c_[rim, np.full(n, 0.5)], [[0, 0, 0], [0, 0, 0.5]]])
    i = np.arange(n)
    k = (i + 1) % n
    hub = np.full(n, 2 * n)
    quads = [(i, k, k + n), (i, k + n, i + n), (hub, k, i), (hub + 1, i + n, k + n)]
    return v, np.concatenate([np.stack(q, 1) for q in quads]).astype(np.int32)


def knot(n: int = 200, m: int = 16, radius: float = 0.35) -> Mesh:
    """A tube along the trefoil on a torus with radii 2 and 1."""
    s = 2 * np.pi * np.arange(n) / n
    around = np.stack([np.cos(2 * s), np.sin(2 * s), 0 * s], 1)
    x = (2 + np.cos(3 * s))[:, None] * around + np.stack([0 * s, 0 * s, np.sin(3 * s)], 1)
    along = np.roll(x, -1, 0) - np.roll(x, 1, 0)
    along /= np.linalg.norm(along, axis=1)[:, None]
    off = x - 2 * around
    off -= (off * along).sum(1)[:, None] * along
    off /= np.linalg.norm(off, axis=1)[:, None]
    a = 2 * np.pi * np.arange(m) / m
    ring = np.cos(a)[:, None] * off[:, None] + np.sin(a)[:, None] * np.cross(along, off)[:, None]
    i, k = (c.ravel() for c in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    p, q, r, t = i * m + k, (i + 1) % n * m + k, (i + 1) % n * m + (k + 1) % m, i * m + (k + 1) % m
    triangles = np.concatenate([np.stack([p, q, r], 1), np.stack([p, r, t], 1)]).astype(np.int32)
    vertices = np.ascontiguousarray((x[:, None] + radius * ring).reshape(-1, 3))
    if ms.mesh.TriangleMesh(vertices, triangles).volume() < 0:
        triangles = np.ascontiguousarray(triangles[:, ::-1])
    return vertices, triangles


def crossings(mesh: ms.mesh.TetMesh) -> int:
    """Pairs of a boundary edge and a boundary triangle that cross."""
    boundary = np.ascontiguousarray(mesh.boundary.triangles)
    return len(ms.collision.CollisionMesh(None, boundary).self_intersections(mesh.vertices))


def require_embedded(mesh: ms.mesh.TetMesh) -> None:
    assert crossings(mesh) == 0
    assert mesh.is_embedded()
    assert ms.mesh.check_watertight(mesh.vertices, np.ascontiguousarray(mesh.boundary.triangles)).watertight
    quality = mesh.quality()
    assert quality.smallest_angle.min() >= LEAST
    assert quality.largest_angle.max() <= LARGEST


def require_fitted(surface: ms.surface.MeshDistance, cell: float, refine: int = 0) -> bool:
    """The mesh is embedded, and close to the surface or said not to be. Returns whether it is close."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        mesh = ms.surface.bcc_mesh(surface, cell, refine=refine, compress=True, sharp_angle=0.6)
    require_embedded(mesh)
    h = cell / 2**refine
    away = ms.surface.hausdorff_distance(mesh.boundary, surface, 0.1 * h).distance / h
    reports = [str(w.message) for w in told if w.category is ms.surface.DeviationWarning]
    if not reports:
        # Other samples than those of the report find slightly different distances.
        assert away <= 0.06
        return True
    (report,) = reports
    # Both sets of samples are a tenth of a cell apart: no point is farther from one than 0.1 / sqrt(3).
    assert float(report.split("up to ")[1].split()[0]) == pytest.approx(away, abs=0.06)
    return False


def length(surface: ms.surface.MeshDistance) -> float:
    return float((surface.vertices.max(axis=0) - surface.vertices.min(axis=0)).max())


SHAPES = {"gap": two_boxes(0.02), "contact": two_boxes(0.0), "gear": gear(), "knot": knot()}


@pytest.mark.parametrize(("name", "parts"), slow_but([("gap", 6), ("gap", 5), ("gear", 5), ("knot", 9)], ("gap", 5)))
def test_details_below_the_cells_do_not_overlap(name: str, parts: int) -> None:
    """Gaps of a twentieth of a cell, teeth and strands of one cell."""
    surface = ms.surface.MeshDistance(*placed(SHAPES[name], 3))
    assert not require_fitted(surface, length(surface) / parts)


@pytest.mark.parametrize("rounding", range(3))
def test_boxes_that_touch_are_one_solid(rounding: int) -> None:
    """The sides within it are not followed, and are no part of the deviation: that was 0.97 cells.

    One box is 0.1 m higher than the other, 0.28 cells: a boundary that spans this step is half of it away. Whether the fit gets rid of
    such faces hangs on the last bits of the corners, which QR has from the machine: of 80 positions and roundings, 58 are within the
    deviation, and 11 between 0.12 and 0.23 cells; of the same solid as one surface, 61, and up to 0.18.
    """
    vertices, triangles = placed(SHAPES["contact"], 3)
    vertices *= 1 + 1e-15 * np.random.default_rng(rounding).normal(size=vertices.shape)
    surface = ms.surface.MeshDistance(vertices, triangles)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        mesh = ms.surface.bcc_mesh(surface, length(surface) / 6, compress=True, sharp_angle=0.6)
    for warning in told:
        assert float(str(warning.message).split("up to ")[1].split()[0]) < 0.28
    require_embedded(mesh)
    assert mesh.components == 1
    assert mesh.volume() == pytest.approx(1 + 0.8 * 0.7 * 0.8, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e5])
@pytest.mark.parametrize("seed", [0, 1])
def test_any_size_and_position(scale: float, seed: int) -> None:
    """The same for gaps of another width, turned otherwise, and with a refined boundary."""
    for refine in (0, 1):
        surface = ms.surface.MeshDistance(*placed(two_boxes(0.1), seed, scale))
        require_fitted(surface, length(surface) / (6 - 2 * refine), refine)


def test_resolved_shapes_are_within_the_deviation() -> None:
    """Teeth of three cells are."""
    surface = ms.surface.MeshDistance(*placed(gear(9), 1))
    assert require_fitted(surface, length(surface) / 12)


@pytest.mark.filterwarnings("ignore::meniscus.surface.DeviationWarning")  # shells that no cell fits into
@pytest.mark.parametrize("seed", range(6))
def test_meshes_of_level_sets(seed: int) -> None:
    """Plain meshes, fitted or not, of balls, thin shells and waves that the lattice does not resolve."""
    rng = np.random.default_rng(seed)
    centers, radii = rng.uniform(-1, 1, (12, 3)), rng.uniform(0.02, 0.6, 12)
    waves, phases = rng.uniform(2, 20) * rng.normal(size=(6, 3)), rng.uniform(0, 6, 6)

    def balls(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.min(np.linalg.norm(x[:, None] - centers, axis=2) - radii, axis=1))

    def level(x: np.ndarray) -> np.ndarray:
        if seed % 3 == 0:
            return balls(x)
        if seed % 3 == 1:
            return np.asarray(np.abs(balls(x)) - 0.04)
        return np.asarray(np.cos(x @ waves.T + phases).sum(axis=1) / np.linalg.norm(waves, axis=1).sum())

    bounds = ((-1.1,) * 3, (1.1,) * 3)
    made = 0
    for options in ({"compress": True}, {"compress": True, "depth": 0.3}, {"keep": "covering"}, {"keep": "centred"}):
        mesh = ms.surface.bcc_mesh(level, 0.3, refine=seed % 2, bounds=bounds, **options)
        made += len(mesh.tets)
        assert mesh.is_embedded()
        assert crossings(mesh) == 0
    assert made > 1000


def closed_bunny() -> Mesh:
    """The scan has holes; the boundary of a fine mesh of where its winding number is above one half has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ms.surface.NotWatertightWarning)
        scan = ms.mesh.TriangleMesh(*real_mesh("stanford-bunny"))
        cell = float((scan.vertices.max(axis=0) - scan.vertices.min(axis=0)).max()) / 32
        mesh = ms.surface.bcc_mesh(scan, cell, refine=1, compress=True, holes="winding-number")
    skin = mesh.boundary.compacted()[0]
    return np.array(skin.vertices), np.array(skin.triangles)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [8, 12, 16, 24, 32])
@pytest.mark.parametrize("name", ["spot", "fandisk", "rocker-arm", "bunny", "knot", "gear", "contact"])
def test_models_at_any_size(name: str, parts: int) -> None:
    """Plain and with sharp edges; each is close where the lattice resolves it, and embedded where not."""
    if name in SHAPES:
        surface = ms.surface.MeshDistance(*placed(SHAPES[name], 3))
    else:
        surface = ms.surface.MeshDistance(*(closed_bunny() if name == "bunny" else real_mesh(name)))
    require_embedded(ms.surface.bcc_mesh(surface, length(surface) / parts, compress=True))
    close = require_fitted(surface, length(surface) / parts)
    if parts >= {"spot": 16, "knot": 16, "gear": 24}.get(name, 99) or (name == "fandisk" and parts in (16, 24)):
        assert close

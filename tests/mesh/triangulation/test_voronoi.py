"""Voronoi cells of sites in a box."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial import ConvexHull, HalfspaceIntersection, Voronoi

import meniscus as ms

BOX = np.array([[0.0, 0.0, 0.0], [1.0, 0.8, 1.3]])


def bcc(edge: float, box: np.ndarray = BOX, jitter: float = 0.0) -> np.ndarray:
    counts = np.round((box[1] - box[0]) / edge).astype(int)
    axes = [box[0, d] + edge * (np.arange(counts[d]) + 0.25) for d in range(3)]
    corner = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    sites = np.concatenate([corner, corner + edge / 2])
    sites += jitter * edge * np.random.default_rng(3).uniform(-0.2, 0.2, sites.shape)
    return np.clip(sites, box[0], box[1])


def layouts() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    near_a_plane = rng.uniform(BOX[0], BOX[1], (300, 3))
    near_a_plane[:, 2] = 0.7 + 1e-3 * rng.choice([-1.0, 1.0], 300)
    return {
        "random": rng.uniform(BOX[0], BOX[1], (1500, 3)),
        "lattice": bcc(0.1),
        "nearly a lattice": bcc(0.1, jitter=1e-9),
        "jittered": bcc(0.1, jitter=1.0),
        "pairs": np.concatenate([near_a_plane, bcc(0.2)]),
        "one": np.array([[0.3, 0.2, 0.4]]),
        "two": np.array([[0.3, 0.2, 0.4], [0.5, 0.7, 1.0]]),
        "line": np.stack([np.linspace(0.1, 0.9, 7), np.full(7, 0.4), np.full(7, 0.6)], 1),
        "corners": np.stack(np.meshgrid(*BOX.T, indexing="ij"), -1).reshape(-1, 3),
    }


@pytest.mark.parametrize("name", list(layouts()))
def test_cells_fill_the_box_and_close(name: str) -> None:
    sites = layouts()[name]
    cells = ms.mesh.VoronoiMesh(sites, BOX)
    size = BOX[1] - BOX[0]
    assert cells.volumes.sum() == pytest.approx(size.prod(), rel=1e-12)
    assert (cells.volumes > 0).all()
    # The area vectors of a closed cell sum to zero; those of the walls fill them.
    vectors = cells.areas[:, None] * cells.normals
    total = np.zeros((len(sites), 3))
    np.add.at(total, cells.faces[:, 0], vectors)
    inner = cells.faces[:, 1] >= 0
    np.add.at(total, cells.faces[inner, 1], -vectors[inner])
    assert np.abs(total).max() < 1e-12 * size.max() ** 2
    for wall in range(6):
        area = cells.areas[cells.faces[:, 1] == -1 - wall].sum()
        assert area == pytest.approx(size.prod() / size[wall // 2], rel=1e-12)


def test_faces_lie_in_the_middle_of_their_sites() -> None:
    sites = layouts()["jittered"]
    cells = ms.mesh.VoronoiMesh(sites, BOX)
    a, b = cells.faces[:, 0], cells.faces[:, 1]
    assert (a < np.where(b < 0, len(sites), b)).all()
    assert len(np.unique(cells.faces, axis=0)) == len(cells.faces)
    for f in range(0, len(a), 97):
        corners = cells.polygon(f)
        distance = np.linalg.norm(corners - sites[a[f]], axis=1)
        if b[f] >= 0:
            np.testing.assert_allclose(distance, np.linalg.norm(corners - sites[b[f]], axis=1), atol=1e-13)
            way = sites[b[f]] - sites[a[f]]
            np.testing.assert_allclose(cells.normals[f], way / np.linalg.norm(way), atol=1e-14)
        # No other site is closer: the corners are those of the Voronoi diagram.
        assert (distance <= np.linalg.norm(corners[:, None] - sites[None], axis=2).min(axis=1) + 1e-12).all()
        fan = np.cross(corners[1:-1] - corners[0], corners[2:] - corners[0]).sum(0) / 2
        assert fan @ cells.normals[f] == pytest.approx(cells.areas[f], rel=1e-9)


@pytest.mark.parametrize("name", ["random", "lattice", "jittered", "nearly a lattice", "pairs", "line"])
def test_volumes_are_those_of_the_half_spaces(name: str) -> None:
    sites = layouts()[name]
    cells = ms.mesh.VoronoiMesh(sites, BOX)
    walls = np.array([[-1, 0, 0, 0.0], [1, 0, 0, -1.0], [0, -1, 0, 0.0], [0, 1, 0, -0.8], [0, 0, -1, 0.0], [0, 0, 1, -1.3]])
    for i in range(0, len(sites), max(len(sites) // 12, 1)):
        # The 120 closest sites are all that can matter here.
        near = np.argsort(np.linalg.norm(sites - sites[i], axis=1))[1:120]
        way = sites[near] - sites[i]
        half = np.concatenate([way, -(way * 0.5 * (sites[near] + sites[i])).sum(1, keepdims=True)], axis=1)
        inside = sites[i] + 1e-9 * (BOX.mean(0) - sites[i])
        hull = ConvexHull(HalfspaceIntersection(np.concatenate([half, walls]), inside).intersections)
        assert cells.volumes[i] == pytest.approx(hull.volume, rel=1e-9)


def test_inner_faces_are_those_of_scipy() -> None:
    sites = layouts()["random"]
    cells = ms.mesh.VoronoiMesh(sites, BOX)
    other = Voronoi(sites)
    pairs = {tuple(sorted(map(int, pair))) for pair in other.ridge_points}
    assert {tuple(map(int, f)) for f in cells.faces if f[1] >= 0} <= pairs


def test_a_lattice_has_truncated_octahedra() -> None:
    edge = 0.25
    cells = ms.mesh.VoronoiMesh(bcc(edge, np.array([[0.0] * 3, [2.0] * 3])), [[0.0] * 3, [2.0] * 3])
    inner = np.flatnonzero((np.abs(np.asarray(cells.sites) - 1) < 0.5).all(1))
    np.testing.assert_allclose(cells.volumes[inner], edge**3 / 2, rtol=1e-12)
    faces = np.bincount(np.concatenate([cells.faces[:, 0], cells.faces[cells.faces[:, 1] >= 0, 1]]))
    assert (faces[inner] == 14).all()


def test_points_are_located_in_the_cell_of_the_closest_site() -> None:
    rng = np.random.default_rng(4)
    for name in ("random", "lattice", "pairs", "one"):
        sites = layouts()[name]
        points = rng.uniform(BOX[0] - 0.3, BOX[1] + 0.3, (400, 3))
        found = ms.mesh.VoronoiMesh(sites, BOX).locate(points)
        distance = np.linalg.norm(points.clip(BOX[0], BOX[1])[:, None] - sites[None], axis=2)
        np.testing.assert_allclose(distance[np.arange(400), found], distance.min(1), atol=1e-15)


def test_updates_equal_a_full_build() -> None:
    rng = np.random.default_rng(6)
    sites = layouts()["jittered"]
    cells = ms.mesh.VoronoiMesh(sites, BOX)
    for _ in range(5):
        remove = rng.choice(len(sites), 40, replace=False)
        insert = rng.uniform(BOX[0], BOX[1], (30, 3))
        cells.update(remove, insert)
        sites = np.concatenate([np.delete(sites, remove, axis=0), insert])
        whole = ms.mesh.VoronoiMesh(sites, BOX)
        for name in ("sites", "faces", "areas", "centroids", "volumes"):
            np.testing.assert_array_equal(getattr(cells, name), getattr(whole, name))
    with pytest.raises(ValueError, match="remove must hold"):
        cells.update([len(sites)])


def test_the_bits_do_not_depend_on_threads() -> None:
    sites = layouts()["jittered"]
    before = ms.num_threads()
    found = []
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            cells = ms.mesh.VoronoiMesh(sites, BOX)
            found.append((cells.faces.tobytes(), cells.areas.tobytes(), cells.centroids.tobytes(), cells.volumes.tobytes()))
    finally:
        ms.set_num_threads(before)
    assert all(bits == found[0] for bits in found)


def test_copies_and_views() -> None:
    cells = ms.mesh.VoronoiMesh(layouts()["random"], BOX)
    other = pickle.loads(pickle.dumps(cells))
    np.testing.assert_array_equal(other.areas, cells.areas)
    volumes = cells.volumes
    del cells
    assert volumes.sum() == pytest.approx(1.04)
    with pytest.raises(ValueError, match="read-only"):
        volumes[0] = 1


@pytest.mark.parametrize(
    ("sites", "box", "match"),
    [
        (np.zeros((0, 3)), BOX, "at least one"),
        (np.array([[0.1, 0.1, np.nan]]), BOX, "finite"),
        (np.array([[0.1, 0.1, 2.0]]), BOX, "in the box, but site 0"),
        (np.array([[0.1, 0.1, 0.1], [0.1, 0.1, 0.1]]), BOX, "apart, but site 1"),
        (np.array([[0.1, 0.1, 0.1]]), BOX[::-1], "lower corner first"),
        (np.array([[0.1, 0.1, 0.1]]), BOX[0], "two corners"),
    ],
)
def test_what_makes_no_sense_is_refused(sites: np.ndarray, box: np.ndarray, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        ms.mesh.VoronoiMesh(sites, box)

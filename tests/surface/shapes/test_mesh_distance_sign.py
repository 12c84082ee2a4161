"""The sign of the distance to meshes: a million random points, points on and beside every feature, and meshes with holes."""

import warnings

import numpy as np
import pytest
from support.meshes import (
    WATERTIGHT_FILES,
    Mesh,
    box,
    brute_force_winding,
    inside_by_parity,
    random_points,
    real_mesh,
    size_of,
    torus,
)
from support.variants import slow, slow_but

import meniscus as ms
from meniscus.collision import winding_number
from meniscus.surface import LevelSet, MeshDistance, NotWatertightWarning


def outward_winding(mesh: Mesh, points: np.ndarray, accuracy: float | None) -> np.ndarray:
    """Winding numbers, positive inside whichever way the mesh is oriented."""
    v, t = mesh
    a, b, c = (v[t[:, k]] - v[0] for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum()
    return np.sign(volume) * winding_number(v, t, points, accuracy=accuracy)


@pytest.mark.slow
@pytest.mark.parametrize("name", WATERTIGHT_FILES)
def test_a_million_points_on_lines(name: str, rng: np.random.Generator) -> None:
    # The parity of crossings is exact but for points within round-off of the surface, and knows neither normals nor angles.
    mesh = real_mesh(name)
    low, high = mesh[0].min(axis=0), mesh[0].max(axis=0)
    lines = rng.uniform(low[:2], high[:2], (1000, 2))
    heights = np.sort(rng.uniform(low[2], high[2], (1000, 1000)))
    points = np.concatenate([np.repeat(lines, 1000, axis=0), heights.reshape(-1, 1)], axis=1)
    inside = inside_by_parity(mesh, lines, heights).ravel()
    d = MeshDistance(*mesh).signed_distance(points)
    wrong = (d < 0) != inside
    assert 0.01 < inside.mean() < 0.9
    assert wrong.sum() == 0, f"{wrong.sum()} wrong signs, at distances up to {np.abs(d[wrong]).max()}"


@pytest.mark.parametrize("n", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", slow_but(WATERTIGHT_FILES, "spot"))
def test_random_points_by_winding_number(name: str, n: int, rng: np.random.Generator) -> None:
    mesh = real_mesh(name)
    points = random_points(mesh, n, rng, 0.02)
    w = outward_winding(mesh, points, 2.0)
    assert np.abs(w - np.round(w)).max() < 0.1  # closed: an integer to within the accuracy
    d = MeshDistance(*mesh).signed_distance(points)
    assert ((d < 0) != (w > 0.5)).sum() == 0
    some = rng.integers(len(points), size=30)
    assert np.abs(np.abs(brute_force_winding(mesh, points[some])) - (d[some] < 0)).max() <= 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("name", WATERTIGHT_FILES)
def test_many_points_by_the_sum_over_all_triangles(name: str, rng: np.random.Generator) -> None:
    mesh = real_mesh(name)
    points = random_points(mesh, 100_000, rng, 0.02)
    w = outward_winding(mesh, points, None)
    assert np.abs(w - np.round(w)).max() < 1e-11
    assert ((MeshDistance(*mesh).signed_distance(points) < 0) != (w > 0.5)).sum() == 0


def features(mesh: Mesh, n: int, rng: np.random.Generator) -> np.ndarray:
    """Points exactly (to round-off) on random vertices, edges and faces."""
    corners = mesh[0][mesh[1][rng.integers(len(mesh[1]), size=n)]]
    u = rng.random((n, 1))
    return np.concatenate(
        [corners[:, 0], u * corners[:, 0] + (1 - u) * corners[:, 1], (rng.dirichlet(np.ones(3), n)[:, :, None] * corners).sum(axis=1)]
    )


@pytest.mark.parametrize("name", slow_but(WATERTIGHT_FILES, "spot"))
def test_on_and_beside_vertices_edges_and_faces(name: str, rng: np.random.Generator) -> None:
    mesh = real_mesh(name)
    size = size_of(mesh)
    d = MeshDistance(*mesh)
    on = features(mesh, 300, rng)
    assert np.abs(d.signed_distance(on)).max() <= 4e-16 * size * 8
    for distance in (1e-9, 1e-6, 1e-3):
        direction = rng.standard_normal(on.shape)
        points = on + distance * size * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        signed = d.signed_distance(points)
        assert np.abs(signed).max() <= 1.0000001 * distance * size
        # Where the mesh is this close, the solid angle of the nearest triangle is still exact to far more than one half.
        assert ((signed < 0) == (outward_winding(mesh, points, 8.0) > 0.5)).all()
    some = np.ascontiguousarray(points[::9])
    assert ((d.signed_distance(some) < 0) == (outward_winding(mesh, some, None) > 0.5)).all()


@pytest.mark.parametrize("name", slow_but(WATERTIGHT_FILES, "spot"))
def test_on_the_planes_of_triangles_beyond_their_edges(name: str, rng: np.random.Generator) -> None:
    mesh = real_mesh(name)
    corners = mesh[0][mesh[1][rng.integers(len(mesh[1]), size=2000)]]
    weights = rng.uniform(-3, 3, (2000, 3))
    weights[:, 2] = 1 - weights[:, 0] - weights[:, 1]
    points = np.ascontiguousarray((weights[:, :, None] * corners).sum(axis=1))
    d = MeshDistance(*mesh).signed_distance(points)
    off = np.abs(d) > 1e-13 * size_of(mesh)
    assert off.mean() > 0.5
    assert ((d < 0) == (outward_winding(mesh, points, 8.0) > 0.5))[off].all()


@pytest.mark.slow
def test_along_the_creases_of_the_fandisk(rng: np.random.Generator) -> None:
    mesh = v, t = real_mesh("fandisk")
    normals = np.cross(v[t[:, 1]] - v[t[:, 0]], v[t[:, 2]] - v[t[:, 0]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    sides = np.concatenate([np.sort(t[:, [k, (k + 1) % 3]], axis=1) for k in range(3)])
    order = np.lexsort(sides.T)
    pair = np.tile(np.arange(len(t)), 3)[order].reshape(-1, 2)
    edge = sides[order][::2]
    sharp = np.einsum("ij,ij->i", normals[pair[:, 0]], normals[pair[:, 1]]) < np.cos(np.radians(40))
    assert sharp.sum() > 100
    first, second = normals[pair[sharp, 0]], normals[pair[sharp, 1]]
    along = v[edge[sharp, 1]] - v[edge[sharp, 0]]
    on = v[edge[sharp, 0]] + rng.random((sharp.sum(), 1)) * along
    d = MeshDistance(*mesh)
    for distance in (1e-8, 1e-4, 1e-2):
        # Straight ahead in the plane of either side, and in directions between.
        for direction in (first, -first, second, -second, first + second, first - second, -first - second, second - 1e-9 * first):
            points = on + distance * direction
            signed = d.signed_distance(points)
            away = np.abs(signed) > 1e-13 * size_of(mesh)
            assert ((signed < 0) == (outward_winding(mesh, points, 8.0) > 0.5))[away].all()


def test_the_thin_ears_of_spot(rng: np.random.Generator) -> None:
    # Ears and horns are what is above the head; their vertices are pushed through to the other side along the normals.
    mesh = v, t = real_mesh("spot")
    normal = np.zeros_like(v)
    area = np.cross(v[t[:, 1]] - v[t[:, 0]], v[t[:, 2]] - v[t[:, 0]])
    for k in range(3):
        np.add.at(normal, t[:, k], area)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    ears = np.abs(v[:, 0]) > 0.3
    assert ears.sum() > 100
    d = MeshDistance(*mesh)
    signs = []
    for depth in np.linspace(-0.15, 0.15, 31):
        points = np.ascontiguousarray(v[ears] + depth * normal[ears])
        signed = d.signed_distance(points)
        away = np.abs(signed) > 1e-13
        assert ((signed < 0) == (outward_winding(mesh, points, 4.0) > 0.5))[away].all()
        signs.append((signed < 0).mean())
    assert max(signs) > 0.8
    assert signs[0] < max(signs)  # the deepest points have come out on the other side


@pytest.mark.slow
def test_the_bunny_has_a_warning_and_the_sign_of_the_winding_number(rng: np.random.Generator) -> None:
    mesh = real_mesh("stanford-bunny")
    text = r"^the mesh is not watertight: it has 5 holes with 223 boundary edges, and the winding number decides what is inside$"
    with pytest.warns(NotWatertightWarning, match=text) as caught:
        d = MeshDistance(*mesh)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    points = random_points(mesh, 2000, rng)
    w = winding_number(*mesh, points, accuracy=None)
    signed = d.signed_distance(points)
    assert ((signed < 0) == (w > 0.5)).all()
    assert 0.1 < (w > 0.5).mean() < 0.9
    assert (d.contains(points) == (w > 0.5)).all()
    # At the holes the tree's approximation would not tell the sides of one half apart.
    hole = max(d.report.holes, key=len)
    rim = mesh[0][hole]
    between = rim.mean(axis=0) + rng.uniform(0, 1, (200, 1)) * (rim[rng.integers(len(rim), size=200)] - rim.mean(axis=0))
    assert (d.contains(between) == (winding_number(*mesh, between, accuracy=None) > 0.5)).all()


@pytest.mark.parametrize(("mesh", "edges"), [slow(torus(), 6), (box(), 4)], ids=["torus", "box"])
def test_open_meshes(mesh: Mesh, edges: int, rng: np.random.Generator) -> None:
    v, t = mesh
    part = np.ascontiguousarray(t[2:])
    with pytest.warns(NotWatertightWarning, match=f"1 hole with {edges} boundary edges"):
        d = MeshDistance(v, part)
    points = random_points((v, t), 3000, rng)
    inside = brute_force_winding((v, part), points) > 0.5
    assert (d.contains(points) == inside).all()
    assert ((d.signed_distance(points) < 0) == inside).all()


def test_the_warning_names_what_is_wrong_where_the_call_is() -> None:
    v, t = box()
    flipped = t.copy()
    flipped[0] = flipped[0, ::-1]
    with pytest.warns(NotWatertightWarning, match="it has 3 edges between triangles of opposite orientation, and the winding") as caught:
        LevelSet.from_mesh(ms.Grid((4, 4, 4), 0.5), v, flipped)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LevelSet.from_mesh(ms.Grid((4, 4, 4), 0.5), v, t)

"""Signed distance to meshes: brute force, orientation, components, updates, pickling, threads, and the samples of grids."""

import pickle
import threading
import warnings

import numpy as np
import pytest
from support.build import same_bits
from support.meshes import (
    WATERTIGHT_FILES,
    Mesh,
    box,
    brute_force_distance,
    join,
    random_points,
    real_mesh,
    reversed_mesh,
    size_of,
    sphere_like,
    torus,
)
from support.variants import THREAD_COUNTS, slow, slow_but

import meniscus as ms
from meniscus.surface import MeshDistance, NotWatertightWarning


def grid_around(mesh: Mesh, cells: int, margin: float = 0.2) -> ms.Grid:
    """A grid of roughly `cells` cells along the longest side of the mesh, of no round shape."""
    low, high = mesh[0].min(axis=0), mesh[0].max(axis=0)
    h = float((high - low).max()) / cells
    shape = tuple(int(np.ceil((1 + 2 * margin) * s / h)) + 1 for s in high - low)
    return ms.Grid(shape, h, tuple(float(x) for x in low - margin * (high - low)))


def sample_points(field: ms.grid.ScalarField) -> np.ndarray:
    """Positions of all samples, in order."""
    return np.stack([np.broadcast_to(x, field.shape) for x in field.coordinates()], axis=-1).reshape(-1, 3)


def box_distance(points: np.ndarray, low: float, high: float) -> np.ndarray:
    """Exact signed distance to a cube."""
    q = np.abs(points - 0.5 * (low + high)) - 0.5 * (high - low)
    return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)


def test_a_cube_has_its_closed_form(rng: np.random.Generator) -> None:
    mesh = box((-1, -1, -1), (2, 2, 2))
    points = np.concatenate([random_points(mesh, 5000, rng, 1.0), rng.integers(-3, 5, (500, 3)) * 0.5])
    exact = box_distance(points, -1, 2)
    d = MeshDistance(*mesh)
    assert np.abs(d.signed_distance(points) - exact).max() <= 2e-15
    off = np.abs(exact) > 1e-14
    assert (d.contains(points) == (exact < 0))[off].all()
    assert np.abs(d.closest(points).distances - np.abs(exact)).max() <= 2e-15
    assert d.report.watertight
    assert repr(d) == "<MeshDistance: 12 triangles in 1 component, watertight>"


@pytest.mark.parametrize("name", slow_but(WATERTIGHT_FILES, "spot"))
def test_distances_of_real_meshes_against_brute_force(name: str, rng: np.random.Generator) -> None:
    mesh = real_mesh(name)
    points = random_points(mesh, 150, rng, 0.3)
    corners = mesh[0][mesh[1]]
    near = corners[rng.integers(len(corners), size=100)].mean(axis=1) + 1e-3 * size_of(mesh) * rng.standard_normal((100, 3))
    points = np.concatenate([points, near])
    d = MeshDistance(*mesh).signed_distance(points)
    assert np.abs(np.abs(d) - brute_force_distance(mesh, points)).max() <= 1e-13 * size_of(mesh)


def test_orientation_to_the_inside_is_turned_round(rng: np.random.Generator) -> None:
    for mesh in (box(), torus(), sphere_like(7, rng)):
        points = random_points(mesh, 2000, rng)
        d = MeshDistance(*mesh).signed_distance(points)
        assert (d < 0).any()
        assert same_bits(MeshDistance(*reversed_mesh(mesh)).signed_distance(points) < 0, d < 0)
        assert np.abs(MeshDistance(*reversed_mesh(mesh)).signed_distance(points) - d).max() <= 1e-15
        # Parts that lie apart are turned round one by one, also if most of the volume is the right way round.
        shift = np.array([10.0, 0, 0])
        both = MeshDistance(*join(mesh, reversed_mesh((mesh[0] + shift, mesh[1])), (mesh[0] - shift, mesh[1])))
        assert both.report.components == 3
        assert (both.contains(np.concatenate([points, points + shift, points - shift])) == np.tile(d < 0, 3)).all()


def test_shells_within_shells(rng: np.random.Generator) -> None:
    outer, inner = box((-2, -2, -2), (2, 2, 2)), box((-1, -1, -1), (1, 1, 1))
    points = random_points(outer, 4000, rng)
    to_outer, to_inner = box_distance(points, -2, 2), box_distance(points, -1, 1)
    nearest = np.minimum(np.abs(to_outer), np.abs(to_inner))
    for mesh, inside in [
        (join(outer, reversed_mesh(inner)), (to_outer < 0) & (to_inner > 0)),  # a cavity
        (join(reversed_mesh(outer), inner), (to_outer < 0) & (to_inner > 0)),  # the same, all turned round
        (join(outer, inner), to_outer < 0),  # solid in solid
    ]:
        d = MeshDistance(*mesh)
        assert np.abs(np.abs(d.signed_distance(points)) - nearest).max() <= 2e-15
        assert ((d.signed_distance(points) < 0) == inside).all()
        assert (d.contains(points) == inside).all()
        phi = ms.CellField(grid_around(outer, 21))
        d.sample(phi)
        assert same_bits(phi.array.ravel(), d.signed_distance(sample_points(phi)))


def test_parts_that_cross_are_a_union(rng: np.random.Generator) -> None:
    a, b = box((0, 0, 0), (2, 2, 2)), box((1, 1, 1), (3, 3, 3))
    points = random_points(join(a, b), 4000, rng)
    inside = (box_distance(points, 0, 2) < 0) | (box_distance(points, 1, 3) < 0)
    assert (MeshDistance(*join(a, b)).contains(points) == inside).all()
    # One component that crosses itself: a torus whose tube is wider than its hole.
    crossed = torus(1.0, 1.3, 60, 40)
    points = random_points(crossed, 4000, rng)
    contains = MeshDistance(*crossed).contains(points)
    assert (contains == (ms.collision.winding_number(*crossed, points, accuracy=None) > 0.5)).all()
    near_axis = np.array([(0.01, 0.02, z) for z in np.linspace(-0.7, 0.7, 15)])
    winding = ms.collision.winding_number(*crossed, near_axis, accuracy=None)
    assert (MeshDistance(*crossed).contains(near_axis) == (winding > 0.5)).all()


def test_far_from_the_origin(rng: np.random.Generator) -> None:
    mesh = torus()
    points = random_points(mesh, 2000, rng)
    d = MeshDistance(*mesh).signed_distance(points)
    shift = np.array([1e6, -3e6, 2e6])
    moved = MeshDistance(mesh[0] + shift, mesh[1]).signed_distance(points + shift)
    assert np.abs(moved - d).max() <= 4e-9
    assert ((moved < 0) == (d < 0))[np.abs(d) > 1e-8].all()


def test_degenerate_triangles_do_not_disturb_the_sign(rng: np.random.Generator) -> None:
    v, t = box((-1, -1, -1), (1, 1, 1))
    v = np.concatenate([v, [0.3 * v[t[0, 0]] + 0.7 * v[t[0, 1]]]])
    a, b, c = t[0].tolist()
    mesh = (v, np.concatenate([t[1:], [(a, 8, c), (8, b, c), (a, b, 8), (3, 3, 3), (8, 8, a)]]).astype(np.int32))
    edge = np.linspace(0.01, 0.99, 50)[:, None] * (v[b] - v[a]) + v[a]
    points = np.concatenate([random_points(mesh, 3000, rng), *(edge + h * rng.standard_normal((50, 3)) for h in (1e-1, 1e-4, 1e-9))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d = MeshDistance(*mesh)
    assert d.report.degenerate.tolist() == [13, 14, 15]
    assert np.abs(d.signed_distance(points) - box_distance(points, -1, 1)).max() <= 1e-14


def test_an_update_is_a_new_mesh(rng: np.random.Generator) -> None:
    v, t = torus()
    d = MeshDistance(v, t)
    before = v.copy()
    for step in range(3):
        w = v @ np.diag([1, 1 + 0.3 * step, 1]) + 0.2 * np.sin(3 * v[:, [1, 2, 0]]) + step
        if step == 2:
            w = w[:, [1, 0, 2]].copy()  # mirrored: oriented to the inside from now on
        d.update(w)
        fresh = MeshDistance(w, t)
        points = random_points((w, t), 3000, rng)
        assert same_bits(d.signed_distance(points), fresh.signed_distance(points))
        assert same_bits(list(d.closest(points)), list(fresh.closest(points)))
        assert (d.signed_distance(points) < 0).any()
        assert same_bits(d.vertices, w)
    assert same_bits(v, before)
    flat = v.copy()
    flat[t[5, 0]] = flat[t[5, 1]]
    d.update(flat)
    assert 5 in d.report.degenerate


@pytest.mark.slow
def test_other_threads_may_ask_during_an_update(rng: np.random.Generator) -> None:
    v, t = torus()
    d = MeshDistance(v, t)
    points = random_points((v, t), 200, rng)
    small, large = d.signed_distance(points), MeshDistance(1.5 * v, t).signed_distance(points)
    stop, answers = threading.Event(), []

    def ask() -> None:
        while not stop.is_set():
            answers.append(d.signed_distance(points))

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(100):
        d.update(1.5 * v)
        d.update(v)
    stop.set()
    thread.join()
    assert answers
    assert all(same_bits(a, small) or same_bits(a, large) for a in answers)


def test_a_failing_update_changes_nothing(rng: np.random.Generator) -> None:
    v, t = torus()
    d = MeshDistance(v, t)
    points = random_points((v, t), 100, rng)
    before = d.signed_distance(points)
    nan = v.copy()
    nan[3, 1] = np.nan
    for bad, error, text in [
        (v[:-1].copy(), ValueError, f"vertices must hold {len(v)} positions, not {len(v) - 1}"),
        (v.astype(np.float32), TypeError, "vertices must be of dtype float64"),
        (np.asfortranarray(v), TypeError, "vertices must be C-contiguous"),
        (nan, ValueError, r"vertices must be finite, but \[3, 1\] is nan"),
    ]:
        with pytest.raises(error, match=text):
            d.update(bad)
        assert same_bits(d.signed_distance(points), before)
        assert same_bits(d.vertices, v)


def test_it_owns_its_mesh_and_can_be_pickled(rng: np.random.Generator) -> None:
    v, t = torus()
    d = MeshDistance(v, t)
    points = random_points((v, t), 500, rng)
    before = d.signed_distance(points)
    v[...] = 7
    t[...] = 0
    d.vertices[...] = 3
    d.triangles[...] = 1
    assert same_bits(d.signed_distance(points), before)
    other = pickle.loads(pickle.dumps(d))
    assert same_bits(other.signed_distance(points), before)
    assert same_bits([other.vertices, other.triangles], [d.vertices, d.triangles])
    hole = box()[0], np.ascontiguousarray(box()[1][1:])
    with pytest.warns(NotWatertightWarning):
        open_box = MeshDistance(*hole)
    data = pickle.dumps(open_box)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not pickle.loads(data).report.watertight


@THREAD_COUNTS
def test_the_same_bits_on_any_number_of_threads(threads: tuple[int, ...], default_parallelism: None, rng: np.random.Generator) -> None:
    closed, shells = torus(n=80, m=50), join(torus(n=30), torus(2.0, 1.6))
    hole = closed[0], np.ascontiguousarray(closed[1][40:])
    points = random_points(closed, 3000, rng)
    results = []
    for count in threads:
        ms.set_num_threads(count)
        found = []
        for mesh in (closed, shells, hole):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotWatertightWarning)
                d = MeshDistance(*mesh)
            grid = grid_around(mesh, 19)
            for phi, band in ((ms.NodeField(grid), None), (ms.CellField(grid, np.float32), 0.1)):
                d.sample(phi, band=band)
                found.append(phi.array.copy())
            d.update(1.25 * mesh[0])
            found += [d.signed_distance(points), d.contains(points), *d.closest(points)]
            found.append(ms.collision.winding_number(*mesh, points))
        results.append(found)
    assert all(same_bits(r, results[0]) for r in results[1:])


@pytest.mark.parametrize("make", [ms.NodeField, ms.CellField])
def test_samples_of_a_grid_are_the_distances_of_points(make: type, dtype: type) -> None:
    mesh = torus()
    d = MeshDistance(*mesh)
    phi = make(grid_around(mesh, 23), dtype)
    d.sample(phi)
    exact = d.signed_distance(sample_points(phi)).reshape(phi.shape)
    assert same_bits(phi.array, exact.astype(dtype))
    assert (exact < 0).any()


SHELLS = join(box((-2, -2, -2), (2, 2, 2)), box((-1, -1, -1), (1, 1, 1)))


@pytest.mark.parametrize("mesh", [torus(), slow(SHELLS)], ids=["torus", "shells"])
def test_a_band(mesh: Mesh) -> None:
    d = MeshDistance(*mesh)
    phi = ms.NodeField(grid_around(mesh, 61, 0.5))
    exact = d.signed_distance(sample_points(phi)).reshape(phi.shape)
    for cells in (1.0, 3.0, 1e9):
        band = cells * phi.grid.spacing
        d.sample(phi, band=band)
        near = np.abs(exact) < band
        assert same_bits(phi.array[near], exact[near])
        assert ((phi.array < 0) == (exact < 0)).all()
        assert (np.abs(phi.array) <= np.abs(exact)).all()
        assert (np.abs(phi.array[~near]) >= band).all()
        if cells < 10:
            assert (np.abs(phi.array) < np.abs(exact)).mean() > 0.2  # something was saved
        else:
            assert near.all()


def test_a_band_around_a_mesh_with_holes() -> None:
    v, t = torus()
    with pytest.warns(NotWatertightWarning):
        d = MeshDistance(v, np.ascontiguousarray(t[60:]))
    phi = ms.NodeField(grid_around((v, t), 41, 0.5))
    d.sample(phi, band=2 * phi.grid.spacing)
    exact = d.signed_distance(sample_points(phi)).reshape(phi.shape)
    assert ((phi.array < 0) == (exact < 0)).all()
    assert (np.abs(phi.array) <= np.abs(exact)).all()
    assert (np.abs(phi.array) >= np.minimum(np.abs(exact), 2 * phi.grid.spacing)).all()


def test_what_sampling_refuses() -> None:
    d = MeshDistance(*box())
    phi = ms.NodeField(ms.Grid((4, 4, 4), 0.5))
    phi.array = 7
    for bad, error, text in [
        (phi.array, TypeError, "phi must be a CellField or NodeField, not ndarray"),
        (ms.MacField(phi.grid), TypeError, "phi must be a CellField or NodeField, not MacField"),
        (ms.NodeField(ms.Grid((4, 4), 0.5)), ValueError, "phi must be on a 3-D grid, not 2-D"),
        (ms.CellField(ms.Grid((4, 4, 4), 0.5, periodic=(False, True, False))), ValueError, "grid must not be periodic"),
    ]:
        with pytest.raises(error, match=text):
            d.sample(bad)
    for band in (0.0, -1.0):
        with pytest.raises(ValueError, match="band must be positive"):
            d.sample(phi, band=band)
    with pytest.raises(TypeError, match="band must be a number"):
        d.sample(phi, band="wide")  # type: ignore[arg-type]
    assert (phi.array == 7).all()


def test_no_points() -> None:
    d = MeshDistance(*box())
    none = np.empty((0, 3))
    assert d.signed_distance(none).shape == d.contains(none).shape == (0,)
    assert d.contains(none).dtype == np.bool_
    assert d.closest(none).barycentric.shape == (0, 3)

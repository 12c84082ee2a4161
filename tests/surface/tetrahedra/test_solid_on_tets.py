"""Solids on tetrahedral meshes: fractions, cut cells, normals, velocities."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from support.same_bits import everywhere
from support.variants import slow_but

import meniscus as ms
from meniscus.surface import SolidOnTets

RADIUS = 0.37
CENTRE = np.array([0.013, -0.021, 0.007])
SPHERE = ms.surface.Sphere(tuple(CENTRE), RADIUS)
VOLUME = 4 / 3 * np.pi * RADIUS**3


def rotation(seed: int) -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def lattice(n: int, seed: int = 0, jitter: float = 0.0, size: float = 1.4) -> tuple[np.ndarray, np.ndarray]:
    """Positions and tetrahedra around the origin: rotated, shifted, and with nodes moved by up to `jitter` cells."""
    mesh = ms.mesh.bcc_lattice((-size / 2,) * 3, size / n, (n,) * 3)
    rng = np.random.default_rng(seed)
    x = mesh.vertices + rng.uniform(-0.5, 0.5, 3) * size / n + jitter * size / n * rng.uniform(-1, 1, mesh.vertices.shape)
    return np.ascontiguousarray(x @ rotation(seed).T), np.array(mesh.tets)


def volumes(x: np.ndarray, tets: np.ndarray) -> np.ndarray:
    return np.abs(np.linalg.det(x[tets[:, 1:]] - x[tets[:, :1]])) / 6


def filled(solid: Any, x: np.ndarray, tets: np.ndarray, time: float = 0.0, dt: float | None = None, **options: Any) -> SolidOnTets:
    band = options.pop("band", None)
    result = SolidOnTets(tets, len(x), **options)
    result.update(solid, x, time, dt, band=band)
    return result


def degrees_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.degrees(2 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=1) / 2, 0, 1)))


@pytest.mark.parametrize(("seed", "jitter"), slow_but([(0, 0.0), (1, 0.0), (2, 0.15)], (2, 0.15)))
def test_volume_of_a_sphere_is_of_second_order(seed: int, jitter: float) -> None:
    errors = []
    for n in (8, 16, 32):
        x, tets = lattice(n, seed, jitter)
        errors.append((filled(SPHERE, x, tets).fraction * volumes(x, tets)).sum() / VOLUME - 1)
    steps = 1.4 / np.array([8, 16, 32]) / RADIUS
    assert np.abs(np.array(errors) / steps**2).max() < 0.3
    assert np.log2(errors[0] / errors[1]) > 1.8
    assert np.log2(errors[1] / errors[2]) > 1.8


@pytest.mark.parametrize("count", slow_but([4, 5, 10, 20, 35], 20))
def test_volume_by_counted_samples_converges(count: int) -> None:
    """Of first order at least; errors of single tetrahedra cancel in part, so that orders of 1.4 to 2.8 are measured."""
    steps, errors = [], []
    for n in (6, 9, 14, 21):
        runs = []
        for seed in range(4):
            x, tets = lattice(n, seed)
            s = filled(SPHERE, x, tets, fraction="count", count=count)
            assert (np.round(s.fraction * count) == s.fraction * count).all() or count in (5, 10, 20, 35)
            runs.append((s.fraction * volumes(x, tets)).sum() / VOLUME - 1)
        steps.append(1.4 / n / RADIUS)
        errors.append(math.sqrt(np.mean(np.square(runs))))
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order > 1.0
    assert max(np.array(errors) / np.array(steps)) < 0.1


def test_fractions_are_exact_for_a_plane_and_any_orientation(rng: np.random.Generator) -> None:
    x, tets = lattice(5, 3, 0.2)
    tets[::2] = tets[::2][:, [0, 2, 1, 3]]
    plane = ms.surface.HalfSpace((0.05, -0.03, 0.02), tuple(rng.normal(size=3)))
    s = filled(plane, x, tets)
    phi = plane.signed_distance(x)[tets]
    below = np.zeros(len(tets))
    for i in range(4):
        others = np.prod([phi[:, j] - phi[:, i] for j in range(4) if j != i], axis=0)
        below += np.maximum(-phi[:, i], 0) ** 3 / others
    np.testing.assert_allclose(s.fraction, below, atol=1e-9)
    crossed = (phi.min(axis=1) <= 0) & (phi.max(axis=1) > 0)
    assert s.cut[crossed].all()
    assert np.abs(phi[s.cut & ~crossed]).min(axis=1).max(initial=0.0) < s.band / 64
    assert np.array_equal(s.inside, (phi.max(axis=1) <= 0) & ~s.cut)


@pytest.mark.parametrize("continuation", ["closest", "averaged"])
@pytest.mark.parametrize("as_mesh", [False, True])
def test_normals_are_within_five_degrees(continuation: str, as_mesh: bool) -> None:
    x, tets = lattice(16, 4)
    solid: Any = SPHERE
    if as_mesh:
        mesh = ms.mesh.icosphere(5, RADIUS, tuple(CENTRE))
        solid = ms.surface.KinematicSolid((mesh.vertices, mesh.triangles))
    s = filled(solid, x, tets, continuation=continuation)
    r = x[tets].mean(axis=1) - CENTRE
    outside = ~s.inside
    np.testing.assert_allclose(np.linalg.norm(s.normal[outside], axis=1), 1.0, rtol=1e-12)
    assert not s.normal[s.inside].any()
    angle = degrees_between(s.normal, r / np.linalg.norm(r, axis=1)[:, None])
    assert angle[s.cut].max() < (2.0 if as_mesh else 0.01)
    if continuation == "closest":
        within = (np.abs(s.phi[tets]) < s.band).any(axis=1) & outside
        assert angle[within].max() < (2.0 if as_mesh else 0.01)
    # Beyond the band errors grow with the distance, up to a multiple of the size of elements over the radius.
    far = np.degrees(1.4 / 16 / RADIUS)
    assert angle[outside].max() < (0.75 if continuation == "closest" else 1.5) * far


def body(time: float) -> ms.surface.Pose:
    a = 0.9 * time
    return ms.surface.Pose((0.3 * time, -0.1 * time, 0.05), [[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])


@pytest.mark.parametrize("as_mesh", [False, True])
@pytest.mark.parametrize("dt", [None, 0.05, -0.05])
def test_velocities_are_those_of_the_closest_point(as_mesh: bool, dt: float | None) -> None:
    x, tets = lattice(14, 5)
    box = ms.surface.Box((-0.3, -0.2, -0.25), (0.25, 0.3, 0.2))
    shape: Any = box
    if as_mesh:
        corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
        corners = np.array([-0.3, -0.2, -0.25]) + corners * [0.55, 0.5, 0.45]
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        shape = (corners, np.array([[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)], np.int32))
    solid = ms.surface.KinematicSolid(shape, body)
    s = filled(solid, x, tets, 0.4, dt)
    near = s.cut | (~s.inside & (np.abs(s.phi[tets]).min(axis=1) < s.band))
    centroids = np.ascontiguousarray(x[tets].mean(axis=1)[near])
    # The exact closest point of a box, in its own frame.
    pose = body(0.4)
    q = pose.to_body(centroids)
    low, high = np.array([-0.3, -0.2, -0.25]), np.array([0.25, 0.3, 0.2])
    closest = np.clip(q, low, high)
    depth = np.concatenate([q - low, high - q], axis=1)
    within = (depth > 0).all(axis=1)
    face = np.argmin(depth, axis=1)
    closest[within, face[within] % 3] = np.where(face[within] < 3, low[face[within] % 3], high[face[within] % 3])
    sorted_depth = np.sort(depth, axis=1)
    clear = ~within | (sorted_depth[:, 1] - sorted_depth[:, 0] > 1e-4)  # no two faces equally near
    expected = solid.velocity(np.ascontiguousarray(pose.apply(closest)), 0.4, dt)
    np.testing.assert_allclose(s.velocity[near][clear], expected[clear], atol=1e-4 * np.abs(expected).max())
    # Far away, means of neighbours stay within the bounds of what they continue.
    far = ~s.inside & ~near
    assert np.abs(s.velocity[far]).max() <= np.abs(expected).max() * (1 + 1e-3)
    assert not s.velocity[s.inside].any()


def test_velocities_are_constant_along_normals() -> None:
    x, tets = lattice(16, 6)
    solid = ms.surface.KinematicSolid(SPHERE.translated((0.0, 0.0, 0.0)), body)
    s = filled(solid, x, tets, 0.2, band=math.inf)
    centre = np.array(body(0.2).apply(CENTRE[None])[0])
    r = x[tets].mean(axis=1) - centre
    on_surface = centre + RADIUS * r / np.linalg.norm(r, axis=1)[:, None]
    outside = ~s.inside
    expected = solid.velocity(np.ascontiguousarray(on_surface), 0.2)
    np.testing.assert_allclose(s.velocity[outside], expected[outside], atol=1e-5)


def test_velocity_of_a_deforming_mesh() -> None:
    ball = ms.mesh.icosphere(4, 1.0)

    def vertices(t: float) -> np.ndarray:
        return np.asarray(ball.vertices) * [0.3 + 0.1 * t, 0.3, 0.3 - 0.05 * t]

    x, tets = lattice(14, 7)
    solid = ms.surface.DeformingSolid(vertices, ball.triangles)
    s = filled(solid, x, tets, 0.5)
    near = np.flatnonzero(s.cut)
    points = np.ascontiguousarray(x[tets[near]].mean(axis=1))
    np.testing.assert_allclose(s.velocity[near], solid.velocity(points, 0.5), atol=1e-12)
    assert np.abs(s.velocity[near]).max() > 0.05
    mesh = ms.surface.MeshDistance(vertices(0.5), ball.triangles)
    exact = mesh.signed_distance(x)
    np.testing.assert_allclose(s.phi, np.clip(exact, -s.band, s.band), atol=1e-14)
    # The same object, later.
    s.update(solid, x, 0.9)
    assert np.array_equal(s.phi, filled(solid, x, tets, 0.9).phi)


@pytest.mark.parametrize("scrambled", [False, True])
def test_distances_are_exact_within_the_band(scrambled: bool) -> None:
    x, tets = lattice(20, 8)
    if scrambled:
        order = np.random.default_rng(1).permutation(len(x))
        place = np.argsort(order)
        x, tets = np.ascontiguousarray(x[order]), place[tets].astype(np.int32)
    shape = (ms.surface.Torus((0.1, 0, 0), (1, 2, 3), 0.35, 0.1) | ms.surface.Box((-0.5, -0.1, -0.1), (0.5, 0.1, 0.0))) - SPHERE
    for band in (None, 0.3, math.inf):
        s = filled(shape, x, tets, band=band)
        np.testing.assert_array_equal(s.phi, np.clip(shape.signed_distance(x), -s.band, s.band))


def test_groups_are_the_union_of_their_members() -> None:
    x, tets = lattice(14, 9)
    ball = ms.mesh.icosphere(4, 0.3, (-0.15, 0.0, 0.0))
    mesh = ms.surface.KinematicSolid((ball.vertices, ball.triangles), velocity=(1.0, 0.0, 0.0))
    round_one = ms.surface.KinematicSolid(ms.surface.Sphere((0.2, 0.05, 0.0), 0.25), velocity=(0.0, 2.0, 0.0))
    within = ms.surface.KinematicSolid(ms.surface.Sphere((-0.15, 0.0, 0.0), 0.1))
    group = ms.surface.SolidGroup([mesh, ms.surface.SolidGroup([round_one, within])])
    s = filled(group, x, tets)
    alone = [filled(member, x, tets) for member in (mesh, round_one, within)]
    np.testing.assert_array_equal(s.phi, np.min([a.phi for a in alone], axis=0))
    covered = alone[0].inside | alone[1].inside | alone[2].inside
    assert np.array_equal(s.cut, (alone[0].cut | alone[1].cut | alone[2].cut) & ~covered)
    assert not s.cut[np.linalg.norm(x[tets].mean(axis=1) - [-0.15, 0, 0], axis=1) < 0.15].any()  # none at the surface inside
    centroids = np.ascontiguousarray(x[tets].mean(axis=1))
    first = s.cut & (mesh.signed_distance(centroids) < round_one.signed_distance(centroids))
    np.testing.assert_allclose(s.velocity[first], np.broadcast_to([1.0, 0.0, 0.0], (first.sum(), 3)))
    np.testing.assert_allclose(s.velocity[s.cut & ~first], np.broadcast_to([0.0, 2.0, 0.0], ((s.cut & ~first).sum(), 3)))


def test_nothing_solid_and_everything_solid() -> None:
    x, tets = lattice(4, 1)
    s = filled(None, x, tets)
    assert (s.phi > 0).all()
    assert not s.fraction.any()
    assert not s.cut.any()
    assert not s.inside.any()
    assert not s.normal.any()
    s.update(ms.surface.Sphere((0, 0, 0), 50.0), x, 1.5)
    assert s.time == 1.5
    assert (s.phi < 0).all()
    assert (s.fraction == 1).all()
    assert s.inside.all()
    assert not s.cut.any()
    assert not s.velocity.any()
    s.update(ms.surface.Sphere((90, 0, 0), 50.0), x)
    assert not s.cut.any()
    assert not s.fraction.any()
    assert not s.normal.any()


@pytest.mark.parametrize("solid", slow_but(["shape", "mesh", "function", "level set", "group"], "shape", "level set"))
def test_same_bits_for_any_threads(solid: str, default_parallelism: None) -> None:
    x, tets = lattice(20, 2, 0.1)
    ball = ms.mesh.icosphere(3, RADIUS, tuple(CENTRE))
    level_set = ms.surface.LevelSet(ms.Grid((24, 24, 24), 1.4 / 24, (-0.7, -0.7, -0.7)))
    SPHERE.sample(level_set.field)
    solids: dict[str, Any] = {
        "shape": ms.surface.KinematicSolid(SPHERE, body),
        "mesh": ms.surface.KinematicSolid((ball.vertices, ball.triangles), body),
        "function": ms.surface.KinematicSolid(lambda p: 3 * ((p**2).sum(axis=1) - 0.1), body, dimension=3),
        "level set": level_set,
    }
    solids["group"] = ms.surface.SolidGroup([solids["shape"], solids["mesh"]])

    def run() -> list[np.ndarray]:
        s = filled(solids[solid], x, tets, 0.1)
        counted = filled(solids[solid], x, tets, 0.1, fraction="count", continuation="averaged")
        return [a for t in (s, counted) for a in (t.phi, t.fraction, t.cut, t.inside, t.normal, t.velocity)]

    everywhere(run)


def test_arrays_keep_their_places_and_later_updates_do_not_depend_on_earlier_ones() -> None:
    x, tets = lattice(12, 3)
    s = SolidOnTets(tets, len(x))
    arrays = [s.phi, s.fraction, s.cut, s.inside, s.normal, s.velocity]
    solid = ms.surface.KinematicSolid(SPHERE, body)
    for time in (0.0, 0.3, 0.1):
        moved = np.ascontiguousarray(x * (1 + 0.2 * time) @ rotation(4).T)
        s.update(solid, moved, time)
        fresh = filled(solid, moved, tets, time)
        for mine, other in zip(arrays, [fresh.phi, fresh.fraction, fresh.cut, fresh.inside, fresh.normal, fresh.velocity], strict=True):
            assert np.array_equal(mine, other)
    assert s.phi is arrays[0]
    assert s.nbytes >= sum(a.nbytes for a in arrays)
    copied = pickle.loads(pickle.dumps(s))
    assert np.array_equal(copied.tets, tets)
    assert "tetrahedra" in repr(s)


def test_inverted_tetrahedra_count_by_the_size_of_their_volume() -> None:
    x, tets = lattice(10, 2)
    plain = filled(SPHERE, x, tets)
    inverted = filled(SPHERE, x, np.ascontiguousarray(tets[:, [1, 0, 2, 3]]))
    for a, b in zip((plain.cut, plain.inside, plain.fraction), (inverted.cut, inverted.inside, inverted.fraction), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-14)
    flat = x * [1, 1, 0]
    s = filled(SPHERE, np.ascontiguousarray(flat), tets)
    assert np.isfinite(s.fraction).all()
    assert np.isfinite(s.normal).all()


def test_what_is_refused() -> None:
    x, tets = lattice(3)
    s = SolidOnTets(tets, len(x))
    with pytest.raises(TypeError, match="solid must be a Solid such as KinematicSolid"):
        s.update("ball", x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="solid must be 3-D like the tetrahedra, not 2-D"):
        s.update(ms.surface.Sphere((0.0, 0.0), 1.0), x)
    with pytest.raises(ValueError, match="positions must have"):
        s.update(SPHERE, x[:-1])
    with pytest.raises(ValueError, match="positions must be finite"):
        s.update(SPHERE, x * np.nan)
    with pytest.raises(ValueError, match="band must be positive"):
        s.update(SPHERE, x, band=-1.0)
    with pytest.raises(ValueError, match="dt must not be zero"):
        s.update(SPHERE, x, 0.0, 0.0)
    s.update(SPHERE, x)
    with pytest.raises(ValueError, match="finite"):
        s.update(ms.surface.KinematicSolid(lambda p: p[:, 0] * np.nan, dimension=3), x)
    assert math.isnan(s.time)
    with pytest.raises(ValueError, match="fraction must be one of"):
        SolidOnTets(tets, len(x), fraction="exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not 11"):
        SolidOnTets(tets, len(x), count=11)
    with pytest.raises(ValueError, match="tets must name vertices from 0 to 4"):
        SolidOnTets(tets, 5)

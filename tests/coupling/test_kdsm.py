"""The mesh of air around a moving surface: exactness, bits, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from support.creatures import BALL, TIMES, built, squirm, turn

import meniscus as ms
from meniscus.coupling import KDSM, AirMesh, AirSprings, Cause, Following, Skinning
from meniscus.coupling.degenerate_elements import repaired
from meniscus.coupling.in_between import in_between
from meniscus.coupling.interior_morph import InteriorMorph

SHEAR = np.array([[1.2, 0.3, -0.1], [0.0, 0.9, 0.4], [0.25, 0.0, 1.1]])


def inside_points(n: int = 300, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return BALL.vertices.mean(axis=0) + 0.45 * rng.random((n, 1)) ** (1 / 3) * x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("start", ["rest", "previous-frame"])
def test_affine_motion_of_the_skin_is_exact_inside(start: str) -> None:
    points = inside_points()
    morph = InteriorMorph(BALL, points, 0.2, start)
    assert morph.covered.all()
    for s in (0.4, 1.0):
        matrix = np.eye(3) + s * (turn(1.1) @ SHEAR - np.eye(3))
        shift = s * np.array([3.0, -1.0, 0.5])
        moved = morph.positions(BALL.vertices @ matrix.T + shift)
        np.testing.assert_allclose(moved, points @ matrix.T + shift, atol=1e-10)


def test_a_motion_that_returns_takes_the_inside_back() -> None:
    points = inside_points()
    since_rest, by_frames = InteriorMorph(BALL, points, 0.2), InteriorMorph(BALL, points, 0.2, "previous-frame")
    for t in 0.2 * np.sin(np.linspace(0.0, 2.0 * np.pi, 13)):
        skin = squirm(float(t))
        x, y = since_rest.positions(skin), by_frames.positions(skin)
    np.testing.assert_allclose(x, points, atol=1e-10)
    drift = np.linalg.norm(y - points, axis=1).max()
    assert 1e-6 < drift < 0.02, "the printed morph drifts"
    assert by_frames.drift >= drift * 0.99


def test_embedded_points_follow_affine_motions_exactly() -> None:
    kdsm = built(times=TIMES[:2])
    x = kdsm.rest.vertices
    rng = np.random.default_rng(1)
    points = np.einsum("nk,nkd->nd", rng.dirichlet(np.ones(4), 500), x[kdsm.rest.tets[rng.integers(len(kdsm.rest.tets), size=500)]])
    hung = kdsm.embed(points)
    matrix = turn(0.7) @ SHEAR
    np.testing.assert_allclose(hung.evaluate(x @ matrix.T), points @ matrix.T, rtol=0, atol=1e-13 * np.ptp(x, axis=0).max())
    with pytest.raises(ValueError, match=r"points must lie in the mesh, but \[1\]"):
        kdsm.embed(np.array([[0.1, 0.2, -0.3], [9.0, 0.0, 0.0]]))


@pytest.mark.parametrize("mode", ["dynamic", "quasi-static"])
@pytest.mark.parametrize("material", ["springs", "neo-hookean"])
def test_a_still_skin_moves_nothing(mode: str, material: str) -> None:
    kdsm = built(lambda t: BALL.vertices, skinning=Skinning(mode=mode, material=material))
    for k in range(len(TIMES)):
        np.testing.assert_allclose(kdsm.frame(k), kdsm.rest.vertices, atol=1e-12)
    assert kdsm.report().largest_gap.max() < 1e-12


@pytest.mark.slow
def test_a_rigid_pose_is_reached_from_rest() -> None:
    matrix, shift = turn(1.3), np.array([2.0, 0.5, -1.0])
    kdsm = built(lambda t: BALL.vertices @ matrix.T + shift, times=[0.0], skinning=Skinning(mode="quasi-static"))
    np.testing.assert_allclose(kdsm.frame(0), kdsm.rest.vertices @ matrix.T + shift, atol=1e-6)
    moved = built(
        lambda t: BALL.vertices @ matrix.T + shift,
        times=[0.0],
        following=Following(in_between=1.0, hold=3.0),
        skinning=Skinning(density=0.3),
    )
    np.testing.assert_allclose(moved.frame(0), moved.rest.vertices @ matrix.T + shift, atol=1e-3)


def test_in_between_poses_are_rigid_for_rigid_motions() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    for angle in (0.0, 0.5, 3.0, np.pi):
        poses = in_between(x, x @ turn(angle).T + 2.0, 7)
        assert len(poses) == 7
        np.testing.assert_array_equal(poses[-1], x @ turn(angle).T + 2.0)
        for pose in poses:
            np.testing.assert_allclose(np.linalg.norm(pose[:, None] - pose, axis=2), distances, atol=1e-10)


def test_displacement_is_the_step_times_the_velocity_across_frames() -> None:
    kdsm = built(subdivisions=1)
    largest = max(np.abs(kdsm.frame(k)).max() for k in range(len(TIMES)))
    rng = np.random.default_rng(5)
    for _ in range(40):
        t, dt = np.sort(rng.random(2) * TIMES[-1])
        dt = dt - t if rng.random() < 0.5 else min(dt, TIMES[-1] - t)
        difference = kdsm.at(t + dt) - kdsm.at(t)
        assert np.abs(difference - dt * kdsm.velocities(t, dt)).max() <= 4 * np.spacing(largest)


def test_between_frames_skin_and_mesh_move_together() -> None:
    kdsm = built()
    t = 0.3 * TIMES[2] + 0.7 * TIMES[3]
    np.testing.assert_allclose(kdsm.at(t, level=0), 0.3 * kdsm.frame(2) + 0.7 * kdsm.frame(3), atol=1e-15)
    np.testing.assert_allclose(kdsm.skin_at(t), 0.3 * squirm(TIMES[2]) + 0.7 * squirm(TIMES[3]), atol=1e-15)
    x = kdsm.skin_at(t)[kdsm.skin.triangles].mean(axis=1)
    np.testing.assert_allclose(kdsm.solid.signed_distance(np.ascontiguousarray(x), t), 0.0, atol=1e-12)
    v = kdsm.solid.velocity(np.ascontiguousarray(x), t, 1e-3)
    rate = (squirm(TIMES[3]) - squirm(TIMES[2])) / (TIMES[3] - TIMES[2])
    np.testing.assert_allclose(v, rate[kdsm.skin.triangles].mean(axis=1), atol=1e-9)


@pytest.mark.fast_cases("dynamic")
@pytest.mark.parametrize("mode", ["dynamic", "quasi-static"])
def test_any_number_of_threads_gives_the_same_bits(mode: str) -> None:
    before = ms.num_threads()
    found = []
    try:
        for n in (1, 2, 3, 5, 8):
            ms.set_num_threads(n)
            kdsm = built(skinning=Skinning(mode=mode), times=TIMES[:4])
            found.append(np.stack([kdsm.frame(k) for k in range(4)]))
    finally:
        ms.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_quasi_static_frames_depend_on_nothing_else() -> None:
    whole = built(skinning=Skinning(mode="quasi-static"))
    for k in (4, 1, 3):
        np.testing.assert_array_equal(built(skinning=Skinning(mode="quasi-static"), times=[TIMES[k]]).frame(0), whole.frame(k))


@pytest.mark.fast_cases("dynamic")
@pytest.mark.parametrize("mode", ["dynamic", "quasi-static"])
def test_nodes_of_the_air_stay_out_of_the_creature(mode: str) -> None:
    """A spike shoots out of the ball into the air."""
    x = BALL.vertices
    tip = int(np.argmax(x[:, 0]))
    center = x.mean(axis=0)
    reach = np.exp(-(np.linalg.norm(x - x[tip], axis=1) ** 2) / 0.02)

    def spike(t: float) -> np.ndarray:
        return x + (3.0 * t * reach)[:, None] * (x - center)

    kdsm = built(spike, skinning=Skinning(mode=mode))
    outside = np.flatnonzero(kdsm.rest_distance > 0)
    for k in range(len(TIMES)):
        phi = ms.surface.MeshDistance(spike(TIMES[k]), BALL.triangles).signed_distance(np.ascontiguousarray(kdsm.frame(k)[outside]))
        assert phi.min() > -1e-9
    free = built(spike, skinning=Skinning(mode=mode, push_out=False))
    phi = ms.surface.MeshDistance(spike(TIMES[-1]), BALL.triangles).signed_distance(np.ascontiguousarray(free.frame(5)[outside]))
    assert phi.min() < -1e-3


def test_gaps_shrink_with_stiffer_bindings() -> None:
    soft, printed, stiff = (
        built(skinning=Skinning(springs=AirSprings(binding_stiffness=k))).report().mean_gap.max() for k in (4.0, 41.4, 414.0)
    )
    assert stiff < 0.8 * printed < 0.8 * 0.8 * soft


def test_layers_count_elements_from_the_skin() -> None:
    kdsm = built(times=TIMES[:1], layers=2)
    inside = kdsm.rest_distance < 0
    tets = kdsm.rest.tets
    np.testing.assert_array_equal(kdsm.layers == 0, inside[tets].any(axis=1))
    for layer in range(1, kdsm.layers.max() + 1):
        nodes = np.unique(tets[kdsm.layers == layer - 1])
        assert np.isin(tets[kdsm.layers == layer], nodes).any(axis=1).all()
        assert not np.isin(tets[kdsm.layers > layer], nodes).any()


def test_degenerate_elements_are_repaired_or_listed() -> None:
    kdsm = built(times=TIMES[:1], layers=2)
    mesh = kdsm.rest
    movable = np.ones(len(mesh.vertices), bool)
    movable[kdsm.given] = False
    x = np.array(mesh.vertices)
    inner = np.setdiff1d(np.arange(len(x)), np.concatenate([mesh.boundary.used_vertices, kdsm.given]))
    rng = np.random.default_rng(2)
    x[inner[:3]] += 0.4 * rng.normal(size=(3, 3))
    assert mesh.degenerate(x).sum() > 3
    mended, bad = repaired(mesh, x, movable, 20)
    np.testing.assert_array_equal(bad, mesh.degenerate(mended))
    assert bad.sum() < 0.5 * mesh.degenerate(x).sum()
    np.testing.assert_array_equal(mended[kdsm.given], x[kdsm.given])

    def crush(k: int, positions: np.ndarray) -> np.ndarray:
        positions[inner[0]] = positions[inner[5]]
        return positions

    listed = built(times=TIMES[:2], layers=2, following=Following(edit=crush))
    degenerate = listed.degenerate()
    assert {d.frame for d in degenerate} == {0, 1}
    assert {d.cause for d in degenerate} == {"springs"}
    np.testing.assert_array_equal(listed.disabled(TIMES[0]), mesh.degenerate(np.ascontiguousarray(listed.frame(0))))
    assert listed.moving().enabled(TIMES[0]).sum() == len(mesh.tets) - listed.disabled(TIMES[0]).sum()
    assert not np.isnan(listed.frame(1)).any()
    assert Cause.given_nodes.name == "given_nodes"


def test_an_edited_frame_is_where_the_run_goes_on() -> None:
    def lift(k: int, positions: np.ndarray) -> np.ndarray | None:
        if k != 1:
            return None
        positions[:, 1] += 1.0
        return positions

    plain, edited = built(times=TIMES[:3]), built(times=TIMES[:3], following=Following(edit=lift))
    np.testing.assert_array_equal(edited.frame(0), plain.frame(0))
    np.testing.assert_allclose(edited.frame(1), plain.frame(1) + np.array([0.0, 1.0, 0.0]), atol=1e-14)
    assert not np.allclose(edited.frame(2), plain.frame(2))


def test_the_mesh_encloses_what_it_is_told_to() -> None:
    hair = BALL.vertices[::7] + 0.9 * (BALL.vertices[::7] - BALL.vertices.mean(axis=0))
    kdsm = built(times=TIMES[:2], air=AirMesh(enclose=hair))
    assert len(kdsm.embed(hair)) == len(hair)
    with pytest.raises(ValueError, match="points must lie in the mesh"):
        built(times=TIMES[:2]).embed(hair)
    box = ms.surface.Box((0.0, 0.0, -0.4), (1.6, 0.4, -0.2))
    wide = built(times=TIMES[:2], air=AirMesh(custom=box))
    assert len(wide.embed(np.array([[1.5, 0.2, -0.3]]))) == 1
    with pytest.raises(ValueError, match=r"offset must enclose all points, but \[\d+\]"):
        built(times=TIMES[:2], air=AirMesh(enclose=hair, offset=0.1))


def crossing_ball() -> ms.mesh.TriangleMesh:
    x = BALL.vertices
    return ms.mesh.TriangleMesh(
        np.concatenate([x, x + np.array([0.45, 0.1, 0.0])]), np.concatenate([BALL.triangles, BALL.triangles + np.int32(len(x))])
    )


def test_skins_that_cross_themselves_are_the_union_of_their_parts() -> None:
    """Two balls that cross, the second also inside out: what is inside is what is inside of either, and moves with the skin."""
    skin = crossing_ball()
    half = len(BALL.triangles)
    turned = ms.mesh.TriangleMesh(skin.vertices, np.concatenate([skin.triangles[:half], skin.triangles[half:, ::-1]]))
    shift = np.array([0.05, 0.02, 0.0])
    built = [KDSM.build(s, lambda t: skin.vertices + (t > 0) * shift, TIMES[:2], cell_size=0.25, layers=1) for s in (skin, turned)]
    for kdsm in built:
        x = kdsm.rest.vertices
        middles = [BALL.vertices.mean(axis=0) + np.array(way) for way in ((0.0, 0.0, 0.0), (0.45, 0.1, 0.0))]
        apart = np.min([np.linalg.norm(x - m, axis=1) - 0.5 for m in middles], axis=0)
        clear = np.abs(apart) > 0.05
        assert np.array_equal(kdsm.rest_distance[clear] < 0, apart[clear] < 0)
        assert len(kdsm.given) > 10
        np.testing.assert_allclose(kdsm.frame(1)[kdsm.given], kdsm.frame(0)[kdsm.given] + shift, atol=1e-10)
    np.testing.assert_allclose(built[0].rest_distance, built[1].rest_distance, atol=1e-12)


def test_what_cannot_be_built_is_refused_in_one_sentence() -> None:
    opened = ms.mesh.TriangleMesh(BALL.vertices, BALL.triangles[3:])
    with pytest.raises(ValueError, match="the surface at rest must be closed"):
        KDSM.build(opened, lambda t: BALL.vertices, TIMES, cell_size=0.25)
    with pytest.raises(ValueError, match=r"frame 2 of the animation has a position that is not finite, of vertex 7"):
        built(lambda t: squirm(t) if t < TIMES[2] else np.where(np.arange(len(BALL.vertices))[:, None] == 7, np.nan, squirm(t)))
    with pytest.raises(ValueError, match=r"frame 3 of the animation must have shape"):
        built(lambda t: squirm(t) if t < TIMES[3] else squirm(t)[:-1])
    with pytest.raises(ValueError, match=r"frame 1 of the animation moves farther than the mesh can follow: (an edge of|vertex)"):
        built(lambda t: BALL.vertices @ turn(50.0 * t).T)
    with pytest.raises(ValueError, match="t must lie in the motion"):
        built().at(1.0)
    with pytest.raises(ValueError, match=r"times must ascend, but \[2\]"):
        built(times=[0.0, 0.2, 0.1])
    with pytest.raises(ValueError, match="6 frames and 5 times"):
        built(np.stack([squirm(t) for t in TIMES]), times=TIMES[:5])
    with pytest.raises(ValueError, match="mode must be one of"):
        built(skinning=Skinning(mode="still"))
    with pytest.raises(TypeError, match="skinning must be a Skinning, not dict"):
        built(skinning={"mode": "still"})
    with pytest.raises(ValueError, match="morph must be 'rest'"):
        built(skinning=Skinning(mode="quasi-static"), following=Following(morph="previous-frame"))
    with pytest.raises(ValueError, match="poissons_ratio"):
        Skinning(poissons_ratio=0.5)


@pytest.mark.parametrize("start", ["rest", "first-frame"])
def test_it_starts_at_rest_or_at_the_first_frame(start: str) -> None:
    later = TIMES + 0.1
    kdsm = built(times=later, following=Following(start=start))
    if start == "rest":
        np.testing.assert_array_equal(kdsm.skin.vertices, BALL.vertices)
        assert kdsm.report().mean_gap[0] < 0.1
    else:
        np.testing.assert_array_equal(kdsm.skin.vertices, squirm(later[0]))
        np.testing.assert_allclose(kdsm.frame(0), kdsm.rest.vertices, atol=1e-12)

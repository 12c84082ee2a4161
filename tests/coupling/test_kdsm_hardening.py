"""What users do that is easily done wrong: buffers used again, other animations under one name, threads, pickles, replaced files."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from support.creatures import BALL, TIMES, built, squirm

import meniscus as ms
from meniscus.coupling import KDSM, AirMesh, AirSprings, Following, Skinning
from meniscus.coupling.animation import Animation


@pytest.mark.fast_cases("dynamic")
@pytest.mark.parametrize("mode", ["dynamic", "quasi-static"])
def test_a_function_may_use_its_memory_again(mode: str) -> None:
    buffer = np.empty_like(BALL.vertices)

    def into_buffer(t: float) -> np.ndarray:
        buffer[:] = squirm(t)
        return buffer

    one, other = built(into_buffer, skinning=Skinning(mode=mode)), built(skinning=Skinning(mode=mode))
    for k in range(len(TIMES)):
        np.testing.assert_array_equal(one.frame(k), other.frame(k))
        np.testing.assert_array_equal(one.skin_frame(k), squirm(TIMES[k]))


def test_numbered_files_need_no_zeros(tmp_path: Path) -> None:
    times = np.arange(12) / 24.0
    for k, t in enumerate(times):
        ms.mesh.TriangleMesh(squirm(t), BALL.triangles).write(tmp_path / f"w2-{k}.ply")
    animation = Animation(BALL, str(tmp_path / "w2-*.ply"), times)
    for k in (1, 2, 10, 11):
        np.testing.assert_allclose(animation.frame(k), squirm(times[k]), atol=1e-15)


@pytest.mark.fast_cases("dynamic")
@pytest.mark.parametrize("mode", ["dynamic", "quasi-static"])
def test_a_file_goes_on_with_its_own_animation_only(tmp_path: Path, mode: str) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / "ball.h5"
    built(times=TIMES[:4], out=path, skinning=Skinning(mode=mode))
    for times in (TIMES[:4], TIMES):
        with pytest.raises(ValueError, match=r"holds another animation: its frame \d differs"):
            built(lambda t: squirm(t) + 1.0, times=times, out=path, skinning=Skinning(mode=mode))
    np.testing.assert_array_equal(built(out=path, skinning=Skinning(mode=mode)).frame(5), built(skinning=Skinning(mode=mode)).frame(5))


def test_a_file_that_another_build_replaces_is_not_written_to(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / "ball.h5"

    def replace(k: int, count: int) -> None:
        if k == 2:
            built(times=TIMES[:2], cell_size=0.3, out=path, existing="replace")

    with pytest.raises(OSError, match="another build has replaced the file"):
        built(out=path, on_frame=replace)
    kept = KDSM.load(path)
    assert kept.complete
    np.testing.assert_array_equal(kept.frame(1), built(times=TIMES[:2], cell_size=0.3).frame(1))


def test_an_error_keeps_the_quasi_static_frames_that_are_done(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / "ball.h5"

    def breaks(t: float) -> np.ndarray:
        return squirm(t) if t < TIMES[4] else np.full_like(BALL.vertices, np.nan)

    with pytest.raises(ValueError, match="frame 4 of the animation has a position that is not finite"):
        built(breaks, out=path, skinning=Skinning(mode="quasi-static"))
    assert len(KDSM.load(path).times) == 4


def test_one_thread_at_a_time_calls_functions_of_the_user() -> None:
    inside, most = 0, 0
    lock = threading.Lock()

    def edit(k: int, positions: np.ndarray) -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.02)
        with lock:
            inside -= 1

    built(skinning=Skinning(mode="quasi-static"), following=Following(edit=edit))
    assert most == 1


def test_gravity_and_drag_are_for_dynamic_meshes() -> None:
    still = built(lambda t: BALL.vertices, skinning=Skinning(mode="quasi-static", gravity=(0.0, -9.81, 0.0)))
    np.testing.assert_allclose(still.frame(3), still.rest.vertices, atol=1e-12)
    sagging = built(lambda t: BALL.vertices, skinning=Skinning(gravity=(0.0, -9.81, 0.0), density=20.0))
    assert (sagging.frame(5) - sagging.rest.vertices)[:, 1].min() < -1e-3


def test_kdsms_are_copied_and_pickled(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    for kdsm in (built(times=TIMES[:3]), built(times=TIMES[:3], out=tmp_path / "ball.h5")):
        assert kdsm.solid.moves
        kdsm.at(0.01)
        for other in (pickle.loads(pickle.dumps(kdsm)), copy.deepcopy(kdsm), copy.copy(kdsm)):
            np.testing.assert_array_equal(other.at(0.05), kdsm.at(0.05))
            assert other.options == kdsm.options
            points = np.ascontiguousarray(kdsm.skin_at(0.05)[:5])
            np.testing.assert_array_equal(other.solid.signed_distance(points, 0.05), kdsm.solid.signed_distance(points, 0.05))


def test_repair_leaves_no_node_in_the_creature_and_takes_little_time() -> None:
    mesh = built(times=TIMES[:1], layers=2)
    x = BALL.vertices
    center = x.mean(axis=0)

    def fold(t: float) -> np.ndarray:
        """One half of the ball turns over the other."""
        angle = 20.0 * t * np.clip(x[:, 0] - center[0], 0.0, None)
        y, c, n = x - center, np.cos(angle), np.sin(angle)
        return center + np.stack([y[:, 0], c * y[:, 1] - n * y[:, 2], n * y[:, 1] + c * y[:, 2]], axis=1)

    outside = np.flatnonzero(mesh.rest_distance > 0)
    repaired, plain = (
        built(fold, layers=2, following=Following(repair=rounds), skinning=Skinning(springs=AirSprings(binding_stiffness=4.0)))
        for rounds in (5, 0)
    )
    for k in range(len(TIMES)):
        solid = ms.surface.MeshDistance(fold(TIMES[k]), BALL.triangles)
        assert solid.signed_distance(np.ascontiguousarray(repaired.frame(k)[outside])).min() > -1e-9
    assert (repaired.report().disabled <= plain.report().disabled).all()


def test_numbers_of_numpy_are_numbers() -> None:
    kdsm = built(
        times=TIMES[:1],
        cell_size=np.float32(0.25),
        layers=np.int64(1),
        skinning=Skinning(springs=AirSprings(edge_stiffness=np.float64(30.0))),
    )
    assert kdsm.options["layers"] == 1
    assert kdsm.cell_size == 0.25


def test_times_far_from_zero_take_as_many_steps() -> None:
    near, far = built(), built(lambda t: squirm(t - 2.0**20), times=TIMES + 2.0**20)
    np.testing.assert_allclose(far.frame(5), near.frame(5), atol=1e-4)


def test_a_jump_is_refused_however_rigid() -> None:
    with pytest.raises(ValueError, match=r"frame 3 .* moves farther .*: vertex \d+ of the surface, in element \d+, moves by .* cells"):
        built(lambda t: BALL.vertices + (5.0 if t > TIMES[2] else 0.0))


def test_parts_without_given_nodes_are_held_by_their_bindings() -> None:
    disc = BALL.scaled((1.0, 0.02, 1.0))
    kdsm = KDSM.build(
        disc, lambda t: disc.vertices + np.array([t, 0.0, 0.0]), TIMES[:3], cell_size=0.25, layers=1, skinning=Skinning(mode="quasi-static")
    )
    assert len(kdsm.given) == 0
    np.testing.assert_allclose(kdsm.frame(2), kdsm.rest.vertices + np.array([TIMES[2], 0.0, 0.0]), atol=1e-9)


def test_bindings_need_vertices_of_triangles() -> None:
    spare = ms.mesh.TriangleMesh(np.concatenate([BALL.vertices, [[9.0, 9.0, 9.0]]]), BALL.triangles)
    with pytest.raises(ValueError, match="bind must hold vertices of triangles, but 162 is none"):
        KDSM.build(spare, lambda t: spare.vertices, TIMES[:1], cell_size=0.25, layers=1, air=AirMesh(bind=[0, 5, 162]))
    kdsm = KDSM.build(spare, lambda t: spare.vertices, TIMES[:1], cell_size=0.25, layers=0, air=AirMesh(bind=[5, 0, 5]))
    assert kdsm.report().largest_gap[0] < 1e-12

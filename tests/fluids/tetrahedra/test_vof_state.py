"""State of water on tetrahedra: snapshots, copies, pickles, threads, interrupted steps, bad input, hierarchies."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from support.same_bits import everywhere
from support.tet_vof.meshes import about, inner, lattice, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF, WallAdhesion

REST = lattice(0.25, (5, 5, 5), 3, shear=0.1, stir=0.1)
FREE = inner(REST)


def breathing(t: float) -> np.ndarray:
    """Turns, shifts and stirs."""
    stirred = REST.vertices + 0.04 * FREE[:, None] * np.sin(9 * t + 40 * REST.vertices)
    return np.asarray(stirred @ about([1, 2, 3], 0.8 * t).T + t * np.array([0.2, 0.1, 0.0]))


def where(t: float) -> tuple[float, float, float]:
    return (0.1 * math.sin(5 * t), 0.0, -0.1)


def pool(points: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
    return np.clip(0.5 - 3 * points[:, 2], 0, 1), np.tile([0.5, 0.0, 0.0], (len(points), 1))


def off(t: float) -> np.ndarray:
    return np.arange(len(REST.tets)) % 37 == int(20 * t) % 37


def solver(**changes: Any) -> TetVOF:
    options = {
        "outside": pool,
        "adhesion": 4.0,
        "sources": [ms.fluids.LiquidSource(ms.surface.Sphere((0.0, 0.2, 0.4), 0.15), velocity=(0.0, 0.0, -1.0))],
        **changes,
    }
    mesh = ms.mesh.MovingTetMesh(REST, breathing, disabled=off)
    vof = TetVOF(mesh, ms.surface.KinematicSolid(ms.surface.Sphere((0.0, 0.0, 0.0), 0.25), where), **options)
    vof.fill(ms.surface.Box((-0.4, -0.4, -0.1), (0.4, 0.4, 0.4)), (0.3, 0.0, 0.1))
    return vof


def bits(vof: TetVOF) -> list[np.ndarray]:
    book = vof.ledger()
    numbers = [vof.time, vof.steps, book.in_tets, book.waiting, book.emitted, book.inflow, book.sources]
    return [
        vof.volume.copy(),
        vof.velocity.copy(),
        vof.drops.positions.copy(),
        vof.drops["velocity"].copy(),
        vof.drops["volume"].copy(),
        vof.waiting.volume.copy(),
        np.array(numbers),
        book.momentum,
        *book.impulses.values(),
        vof.force_on_body(),
        vof.rank.copy(),
        vof.capacity.copy(),
    ]


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


VARIANTS: dict[str, dict[str, Any]] = {
    "random": {},
    "independent, per node": {"samples": "independent", "trace": "per_node"},
    "fixed": {"samples": "fixed", "count": 35},
    "exact with planes": {"samples": "exact", "planes": True},
    "adaptive, per node": {"samples": "adaptive", "trace": "per_node", "smear": 2},
    "projection": {"conservation": "push-out and projection"},
    "count, wall": {"fraction": "count", "outside": "wall"},
}


@pytest.mark.fast_cases("exact with planes", "adaptive, per node", "projection", "random", "count, wall")
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_same_bits_on_any_number_of_threads(changes: dict[str, Any], default_parallelism: None) -> None:
    def run() -> list[np.ndarray]:
        vof = solver(**changes)
        for _ in range(4):
            vof.step(1 / 30)
        return bits(vof)

    everywhere(run)


@pytest.mark.parametrize("changes", [{}, {"samples": "adaptive", "trace": "per_node"}], ids=["random", "adaptive"])
def test_snapshots_copies_and_pickles_go_on_alike(changes: dict[str, Any]) -> None:
    vof = solver(**changes)
    for _ in range(3):
        vof.step(1 / 30)
    snapshot = vof.snapshot()
    others = [vof.copy(), copy.deepcopy(vof), pickle.loads(pickle.dumps(vof))]
    fresh = solver(**changes)
    fresh.restore(snapshot)
    assigned = solver(**changes)
    assigned.step(0.05)
    assigned.assign(vof)
    others += [fresh, assigned]
    for _ in range(3):
        vof.step(1 / 30)
    want = bits(vof)
    for other in others:
        for _ in range(3):
            other.step(1 / 30)
        assert same(bits(other), want)
    vof.restore(snapshot)
    for _ in range(3):
        vof.step(1 / 30)
    assert same(bits(vof), want)


@pytest.mark.parametrize("stage", TetVOF.stages)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_last_whole_step(stage: str, error: type[BaseException]) -> None:
    vof, twin = solver(), solver()
    for v in (vof, twin):
        v.step(1 / 30)
    before, report = bits(vof), vof.report

    def stop(name: str, at: TetVOF) -> None:
        if name == stage:
            at.volume[3] += 1.0
            raise error("stop")

    with pytest.raises(error, match="stop"):
        vof.step(1 / 30, stop)
    assert same(bits(vof), before)
    assert vof.report is report
    for v in (vof, twin):
        v.step(1 / 30)
    assert same(bits(vof), bits(twin))


def test_stages_by_hand_are_a_step() -> None:
    vof, twin = solver(), solver()
    seen: list[str] = []
    twin.step(1 / 30, lambda name, _: seen.append(name))
    assert tuple(seen) == TetVOF.stages
    for name in TetVOF.stages:
        getattr(vof, name)(1 / 30)
    assert np.array_equal(vof.volume, twin.volume)
    assert np.array_equal(vof.velocity, twin.velocity)
    assert np.array_equal(vof.drops.positions, twin.drops.positions)


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_meshes_with_finer_levels(levels: int) -> None:
    """The finest level of a hierarchy is the same as that mesh alone, but for the places of round-off in its vertices."""
    coarse = lattice(0.5, (2, 2, 2), 5)
    u = np.array([0.3, 0.2, 0.1])
    moving = ms.mesh.MovingTetMesh(coarse, lambda t: coarse.vertices + u * t, levels=levels)
    x = moving.positions(0.0)
    alone = ms.mesh.TetMesh(np.ascontiguousarray(x), np.ascontiguousarray(moving.tets()))
    other = ms.mesh.MovingTetMesh(alone, lambda t: moving.positions(t))
    found = []
    for mesh in (moving, other):
        vof = TetVOF(mesh, ms.surface.Sphere((0.0, 0.0, 0.0), 0.2), samples="exact")
        vof.fill(ms.surface.Box((-0.3, -0.3, 0.1), (0.3, 0.3, 0.5)))
        for _ in range(4):
            vof.step(1 / 30)
        found.append(vof)
    assert len(found[0].volume) == len(coarse.tets) * 8**levels
    np.testing.assert_allclose(found[0].volume, found[1].volume, rtol=0, atol=1e-10 * found[0].capacity.max())
    np.testing.assert_array_equal(found[0].rank, found[1].rank)


def test_levels_share_the_flags_of_their_parents() -> None:
    coarse = lattice(0.5, (2, 2, 2), 5)
    flags = np.arange(len(coarse.tets)) % 3 == 0
    vof = TetVOF(still(coarse, levels=1, disabled=lambda t: flags))
    assert np.array_equal(vof.rank == -2, np.repeat(flags, 8))
    assert (vof.capacity[vof.rank == -2] == 0).all()


# --- bad input -----------------------------------------------------------------------------------------------------------------------


def plain(**options: Any) -> TetVOF:
    return TetVOF(still(lattice(0.25, (3, 3, 3))), **options)


def leaving(**options: Any) -> TetVOF:
    """Water that is about to leave."""
    vof = plain(**options)
    vof.fill(lambda p: np.full(len(p), -1.0), (0.0, 0.0, 20.0))
    return vof


BALL = ms.surface.Sphere((0.0, 0.0, 0.0), 0.2)
BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "a mesh that does not move": (lambda: TetVOF(lattice()), TypeError, "moving_mesh must be a MovingTetMesh"),
    "no mesh": (lambda: TetVOF(None), TypeError, "moving_mesh"),
    "an option that does not exist": (lambda: plain(sample="exact"), TypeError, "no option 'sample'"),
    "samples": (lambda: plain(samples="all"), ValueError, "samples"),
    "count": (lambda: plain(count=0), ValueError, "count"),
    "count of fixed points": (lambda: plain(samples="fixed", count=7).step(0.1), ValueError, "7"),
    "planes": (lambda: plain(planes=True), ValueError, "planes need"),
    "outside": (lambda: plain(outside="water"), ValueError, "outside must be"),
    "outside of another type": (lambda: plain(outside=3.0), TypeError, "outside"),
    "adhesion without a solid": (lambda: plain(adhesion=3.0), ValueError, "adhesion needs a solid"),
    "debris": (lambda: plain(debris=1.0), ValueError, "debris"),
    "jitter": (lambda: plain(jitter=2.0), ValueError, "jitter"),
    "drops beyond number": (lambda: plain(drop_radius=(1e-7, 1e-6)), ValueError, "the largest of drop_radius must be at least 0.000"),
    "drops beyond memory": (
        lambda: leaving(drop_radius=(1e-4, 7e-4)).step(0.1),
        ValueError,
        r"would be [0-9.e+]+ drops, which is more than 10000000: choose a larger drop_radius",
    ),
    "requests before there are any": (lambda: plain().requests(), RuntimeError, r"call request\(dt\) before"),
    "drop radii": (lambda: plain(drop_radius=(0.1, 0.11)), ValueError, "twice"),
    "density": (lambda: plain(density=-1.0), ValueError, "density"),
    "gravity": (lambda: plain(gravity=(0.0, 1.0)), ValueError, "gravity"),
    "reach": (lambda: WallAdhesion(reach=0.0), ValueError, "reach"),
    "direction": (lambda: WallAdhesion(direction="up"), ValueError, "direction"),
    "fill beyond capacity": (lambda: plain().fill(BALL, level=1.5), ValueError, "level must be in"),
    "fill below nothing": (lambda: plain().fill(BALL, level=-0.5), ValueError, "level must be in"),
    "fill with nothing": (lambda: plain().fill(None), TypeError, "region"),
    "dt of zero": (lambda: plain().step(0.0), ValueError, "dt must be positive"),
    "dt below zero": (lambda: plain().step(-0.1), ValueError, "dt must be positive"),
    "dt not a number": (lambda: plain().step(math.nan), ValueError, "dt"),
    "absorb beyond the mesh": (lambda: plain().absorb([10**6], [0.1], [[0.0, 0.0, 0.0]]), ValueError, "tets must be numbers from 0"),
    "absorb less than nothing": (lambda: plain().absorb([1], [-0.1], [[0.0, 0.0, 0.0]]), ValueError, "must not be negative"),
    "absorb of other shapes": (lambda: plain().absorb([1, 2], [0.1], [[0.0, 0.0, 0.0]]), ValueError, "shapes"),
    "absorb what is no number": (lambda: plain().absorb([1], [math.nan], [[0.0, 0.0, 0.0]]), ValueError, "finite"),
    "a hook that is none": (lambda: plain().step(0.1, 3), TypeError, "on_stage"),
    "a stage without move": (lambda: plain().request(0.1), RuntimeError, "request follows move"),
    "porosity of another shape": (lambda: setattr(plain(), "porosity", np.zeros(3)), ValueError, "porosity must have shape"),
    "porosity below zero": (lambda: setattr(plain(), "porosity", np.full(432, -1.0)), ValueError, "porosity"),
    "way out of no tetrahedron": (lambda: plain().way_out(10**7), ValueError, "tet"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input_is_refused_in_one_sentence(case: tuple[Any, type[Exception], str]) -> None:
    call, kind, words = case
    with pytest.raises(kind, match=words) as caught:
        call()
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["volume", "velocity"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_in_the_views_is_refused(name: str, value: float) -> None:
    vof = plain()
    vof.fill(BALL)
    vof.step(0.01)
    t = int(np.argmax(vof.volume))
    time, steps = vof.time, vof.steps
    getattr(vof, name)[t] = value
    before = vof.volume.copy()
    with pytest.raises(ValueError, match=name):
        vof.step(0.01)
    assert (vof.time, vof.steps) == (time, steps)
    np.testing.assert_array_equal(vof.volume, before)


def test_a_negative_volume_is_refused() -> None:
    vof = plain()
    vof.fill(BALL)
    vof.volume[3] = -1e-3
    with pytest.raises(ValueError, match="volume"):
        vof.step(0.01)


def test_the_end_of_the_motion_is_said_and_nothing_is_lost() -> None:
    rest = lattice(0.25, (3, 3, 3))
    frames = np.stack([rest.vertices + 0.1 * k for k in range(3)])
    vof = TetVOF(ms.mesh.MovingTetMesh(rest, frames, times=[1.0, 1.1, 1.2]))
    assert vof.time == 1.0
    vof.fill(BALL)
    vof.step(0.15)
    before = vof.volume.copy()
    with pytest.raises(ValueError, match=r"motion from 1 s to 1\.2 s"):
        vof.step(0.1)
    assert vof.time == 1.15
    assert np.array_equal(vof.volume, before)
    vof.step(0.05)


@pytest.mark.parametrize(
    "returns",
    [None, 3.0, (np.ones(2), np.zeros((2, 3))), "nan", "two", "complex", "complex velocity", "column", "ragged", "words"],
)
def test_an_outside_that_returns_something_else(returns: Any) -> None:
    def outside(points: np.ndarray, time: float) -> Any:
        if returns == "complex":
            return np.full(len(points), 0.5 + 0.1j), np.zeros_like(points)
        if returns == "complex velocity":
            return np.full(len(points), 0.5), np.zeros(points.shape, complex)
        if returns == "column":
            return np.full((len(points), 1), 0.5), np.zeros_like(points)
        if returns == "ragged":
            return np.full(len(points), 0.5), [[0.0, 0.0, 0.0], [1.0]]
        if returns == "words":
            return ["wet"] * len(points), np.zeros_like(points)
        if returns == "nan":
            return np.full(len(points), math.nan), np.zeros_like(points)
        if returns == "two":
            return np.full(len(points), 2.0), np.zeros_like(points)
        return returns

    rest = lattice(0.25, (3, 3, 3))
    vof = TetVOF(ms.mesh.MovingTetMesh(rest, lambda t: rest.vertices + t), outside=outside)
    vof.fill(lambda p: np.full(len(p), -1.0))
    before = vof.volume.copy()
    with pytest.raises((TypeError, ValueError), match="outside") as caught:
        vof.step(0.1)
    assert "\n" not in str(caught.value)
    assert np.array_equal(vof.volume, before)


def test_an_outside_may_say_wet_and_dry() -> None:
    rest = lattice(0.25, (3, 3, 3))
    mesh = ms.mesh.MovingTetMesh(rest, lambda t: rest.vertices + t)
    found = [
        TetVOF(mesh, outside=lambda p, t, kind=kind: ((p[:, 2] < 0.1).astype(kind), np.zeros_like(p))).step(0.1).inflow
        for kind in (bool, int, float)
    ]
    assert found[0] > 0
    assert found == [found[0]] * 3


def test_a_body_outside_of_the_mesh_is_said() -> None:
    vof = TetVOF(still(lattice(0.25, (3, 3, 3))), ms.surface.Sphere((9.0, 0.0, 0.0), 0.5))
    with pytest.warns(UserWarning, match="does not reach into the mesh"):
        vof.fill(BALL)
    vof.step(0.01)


def test_a_mesh_of_which_nothing_is_enabled_is_said() -> None:
    rest = lattice(0.25, (3, 3, 3))
    with pytest.raises(ValueError, match=r"disabled|enabled"):
        TetVOF(still(rest, disabled=lambda t: np.ones(len(rest.tets), bool))).step(0.1)


def test_turned_and_shifted_scenes_agree() -> None:
    """Nothing prefers an axis of space: exact transport of a scene that is turned as a whole. Normals are differences of distances."""
    turn, shift = turned(8), np.array([0.3, -0.2, 5.0])
    rest = lattice(0.2, (5, 5, 5), 2)
    other = ms.mesh.TetMesh(np.ascontiguousarray(rest.vertices @ turn.T + shift), rest.tets)
    ball = np.array([0.05, 0.0, -0.1])
    found = []
    for mesh, centre, down in ((rest, ball, np.array([0, 0, -9.81])), (other, turn @ ball + shift, turn @ [0, 0, -9.81])):
        vof = TetVOF(still(mesh), ms.surface.Sphere(tuple(centre), 0.25), samples="exact", gravity=tuple(down), debris=0.0)
        vof.volume[:] = 0.5 * found[0][0] if found else 0.5 * vof.capacity
        start = vof.volume.copy()
        for _ in range(3):
            vof.step(1 / 60)
        found.append((start / 0.5, vof.volume.copy()))
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=0, atol=1e-5 * found[0][1].max())

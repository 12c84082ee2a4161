"""Adhesion painted on the vertices of a skin."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from support.tet_vof.meshes import about, centroids, lattice, momentum, rounded, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF, WallAdhesion

REST = (0.0, 0.0, 0.0)
SKIN = ms.mesh.icosphere(4, radius=0.3)
X = SKIN.vertices / np.linalg.norm(SKIN.vertices, axis=1)[:, None]


def around(adhesion: Any, solid: Any = None, time: float = 0.01) -> TetVOF:
    """Resting water everywhere around a ball, with the mesh at a time."""
    vof = TetVOF(
        still(lattice(0.125, (9, 9, 9), 3)),
        ms.surface.KinematicSolid(SKIN) if solid is None else solid,
        adhesion=adhesion,
        gravity=REST,
        debris=0.0,
    )
    vof.volume[:] = rounded(vof, np.where(vof.rank >= 0, 0.5 * vof.capacity, 0))
    vof.move(time)
    return vof


def pushed(vof: TetVOF, dt: float = 0.01) -> np.ndarray:
    """What the adhesion does to the velocities, without a move of the mesh."""
    before = vof.velocity.copy()
    vof.accelerate(dt)
    return np.asarray((vof.velocity - before) / dt)


@pytest.mark.parametrize("solid", ["rigid", "deforming"])
def test_what_is_painted_on_vertices_is_what_a_function_says_there(solid: str) -> None:
    body = ms.surface.KinematicSolid(SKIN) if solid == "rigid" else ms.surface.DeformingSolid(lambda t: SKIN.vertices, SKIN.triangles)

    def strength(x: np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.asarray(5.0 + 10.0 * x[:, 2] - 4.0 * x[:, 0])

    def direction(x: np.ndarray, t: float = 0.0) -> np.ndarray:
        return np.cross([0.3, -0.2, 1.0], x) + np.array([0.1, 0.0, 0.2])

    painted = pushed(around(WallAdhesion(strength=strength(SKIN.vertices), direction=direction(SKIN.vertices)), body))
    said = pushed(around(WallAdhesion(strength=strength, direction=direction), body))
    assert np.count_nonzero(said.any(axis=1)) > 1000
    # Both are interpolated; the function is asked at points that are the centroids' own distance away, which is not that to the surface.
    np.testing.assert_allclose(painted, said, rtol=0, atol=0.05 * np.abs(said).max())


def test_strength_and_direction_may_be_painted_alone() -> None:
    constant = pushed(around(WallAdhesion(strength=6.0)))
    np.testing.assert_allclose(pushed(around(WallAdhesion(strength=np.full(len(X), 6.0)))), constant, rtol=1e-12, atol=1e-15)
    up = pushed(around(WallAdhesion(strength=6.0, direction=(0.0, 0.0, 1.0))))
    np.testing.assert_allclose(
        pushed(around(WallAdhesion(strength=6.0, direction=np.tile([0.0, 0.0, 1.0], (len(X), 1))))), up, rtol=1e-9, atol=1e-12
    )
    out = pushed(around(WallAdhesion(strength=np.full(len(X), 6.0), direction="outward")))
    np.testing.assert_allclose(out, -constant, rtol=1e-12, atol=1e-15)


def test_the_impulse_is_booked_and_felt() -> None:
    vof = around(WallAdhesion(strength=np.where(X[:, 2] > 0, 8.0, 0.0)))
    vof.accelerate(0.01)
    impulse = vof.ledger().impulses["adhesion"]
    assert impulse[2] < -0.1
    np.testing.assert_allclose(impulse, 1000 * momentum(vof), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(vof.running_report.force_on_body, -impulse / 0.01, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kind", ["rigid", "deforming"])
def test_paint_turns_with_the_body(kind: str) -> None:
    """Painted at the start of the motion of the mesh; later it is where the body has taken it, and turned as the body is."""
    axis, angle = turned(5)[0], 1.1
    rest = lattice(0.125, (9, 9, 9), 3)

    def rotation(t: float) -> np.ndarray:
        return about(axis, angle * t)

    body: Any = (
        ms.surface.KinematicSolid(SKIN, lambda t: ms.surface.Pose(REST, rotation(t)))
        if kind == "rigid"
        else ms.surface.DeformingSolid(lambda t: SKIN.vertices @ rotation(t).T, SKIN.triangles)
    )
    mesh = ms.mesh.MovingTetMesh(rest, lambda t: np.ascontiguousarray(rest.vertices @ rotation(t).T))
    paint = WallAdhesion(strength=5.0 + 4.0 * X[:, 0], direction=np.cross(X, [0.2, 1.0, 0.1]) - 0.5 * X)
    found = []
    for dt in (1e-9, 1.0):
        vof = TetVOF(mesh, body, adhesion=paint, gravity=REST, debris=0.0)
        vof.volume[:] = rounded(vof, np.where(vof.rank >= 0, 0.5 * vof.capacity, 0))
        vof.move(dt)
        found.append(pushed(vof) @ rotation(dt))
    assert np.abs(found[0]).max() > 2.0
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-6 * np.abs(found[0]).max())


@pytest.mark.slow
def test_a_half_that_is_painted_outward_thickens_and_the_other_dries() -> None:
    """Water runs over a ball whose one half holds it, while the other leads it off."""
    grip = np.where(X[:, 0] < 0, -10.0, 10.0)
    found = []
    for strength in (grip, -grip, np.full(len(X), 10.0)):
        vof = TetVOF(
            still(lattice(0.125, (9, 9, 11))),
            ms.surface.KinematicSolid(SKIN),
            adhesion=WallAdhesion(strength=strength, direction="toward"),
            samples="exact",
        )
        vof.fill(ms.surface.Sphere((0.0, 0.0, 0.35), 0.2))
        for _ in range(21):
            vof.step(1 / 60)
        c = centroids(vof)
        height = np.linalg.norm(c, axis=1) - 0.3
        row = []
        for side in (c[:, 0] < -0.03, c[:, 0] > 0.03):
            near = side & (height < 0.3) & (vof.volume > 0)
            skin = side & (vof.rank == 0)
            wet = skin & (vof.volume > 0.02 * np.maximum(vof.capacity, 1e-12))
            row.append((float((vof.volume * height)[near].sum() / vof.volume[near].sum()), wet.sum() / skin.sum()))
        found.append(row)
    for (thickness, covered), (other_thickness, other_covered) in ((found[0][0], found[0][1]), (found[1][1], found[1][0])):
        assert thickness > 1.2 * other_thickness
        assert covered < 0.85 * other_covered
    # Painted alike, both halves are alike.
    assert found[2][0][0] == pytest.approx(found[2][1][0], rel=0.1)
    assert found[2][0][1] == pytest.approx(found[2][1][1], rel=0.1)


def test_paint_is_copied_and_goes_with_copies_of_the_solver() -> None:
    values = np.where(X[:, 2] > 0, 8.0, 0.0)
    paint = WallAdhesion(strength=values)
    values[:] = -1.0
    assert paint.strength.max() == 8.0
    vof = around(paint)
    vof._moved_by, vof._phase = None, ""
    twin = vof.copy()
    for v in (vof, twin):
        v.step(0.01)
    assert np.array_equal(vof.velocity, twin.velocity)
    again = pickle.loads(pickle.dumps(paint))
    assert np.array_equal(again.strength, paint.strength)


N = len(X)
BAD: dict[str, tuple[Any, str]] = {
    "too few": (lambda: around(WallAdhesion(strength=np.ones(5))), rf"the strength .* row for each of the {N} vertices of the skin, not 5"),
    "too few directions": (lambda: around(WallAdhesion(direction=np.ones((5, 3)))), rf"the direction .* each of the {N} vertices"),
    "two columns": (lambda: WallAdhesion(direction=np.ones((N, 2))), rf"direction must have shape \({N}, 3\)"),
    "not finite": (lambda: WallAdhesion(strength=np.full(N, math.nan)), "strength"),
    "complex": (lambda: WallAdhesion(strength=np.full(N, 1j)), "strength must be an array of numbers"),
    "no skin": (
        lambda: around(WallAdhesion(strength=np.ones(N)), ms.surface.Sphere(REST, 0.3)),
        "one mesh of triangles, such as KDSM.solid",
    ),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_wrong_paint_is_refused_in_one_sentence(case: tuple[Any, str]) -> None:
    with pytest.raises((TypeError, ValueError), match=case[1]) as caught:
        case[0]()
    assert "\n" not in str(caught.value)


def test_a_hook_may_ask_a_deforming_body_about_another_time() -> None:
    """One set of queries serves all times of a body; what the step needs is brought back to its own time."""

    def body() -> ms.surface.DeformingSolid:
        return ms.surface.DeformingSolid(lambda t: SKIN.vertices + np.array([0.3 * t, 0.0, 0.1 * t]), SKIN.triangles)

    found = []
    for curious in (False, True):
        solid = body()
        vof = TetVOF(still(lattice(0.125, (9, 9, 10))), solid, adhesion=WallAdhesion(strength=np.full(N, 5.0)))
        vof.fill(ms.surface.Sphere((0.0, 0.05, 0.4), 0.15))

        def ask(name: str, at: TetVOF, solid: Any = solid, curious: bool = curious) -> None:
            if curious:
                solid.signed_distance(np.zeros((1, 3)), 5.0)

        for _ in range(4):
            vof.step(1 / 60, ask)
        found.append((vof.volume.copy(), vof.velocity.copy()))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])

"""Kinematic solids as Python objects: pickling, representation, and errors."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import components, same_bits
from support.solids import body, drifting, icosahedron, swing2, swing3, unit_grid

from meniscus.surface import DeformingSolid, KinematicSolid, Pose, SolidGroup, SolidSample, Sphere, Twist


def test_pickling(dimension: int) -> None:
    motion = swing2 if dimension == 2 else swing3
    spin: Any = 1.0 if dimension == 2 else (1.0, 0.0, 0.0)
    solids: list[Any] = [
        KinematicSolid(body(dimension), motion),
        KinematicSolid(body(dimension), velocity=Twist((1.0,) * dimension, spin)),
        SolidGroup([KinematicSolid(body(dimension), motion, difference_step=0.1)]),
    ]
    if dimension == 3:
        solids += [KinematicSolid(icosahedron(), motion), DeformingSolid(drifting, icosahedron()[1])]
    grid = unit_grid(dimension, 8)
    for solid in solids:
        sample, again = solid.sample(grid, 0.3), pickle.loads(pickle.dumps(solid)).sample(grid, 0.3)
        assert same_bits(again.levelset.array, sample.levelset.array)
        assert same_bits(components(again.velocity), components(sample.velocity))
        stored = pickle.loads(pickle.dumps(sample))
        assert stored.time == 0.3
        assert same_bits(stored.levelset.array, sample.levelset.array)
        assert same_bits(components(stored.velocity), components(sample.velocity))
        solid.sample(grid, 0.5, out=stored)
        assert same_bits(stored.levelset.array, solid.sample(grid, 0.5).levelset.array)


def test_reprs() -> None:
    solid = KinematicSolid(Sphere((0.5, 0.5), 0.25))
    text = "KinematicSolid(Sphere(center=(0.5, 0.5), radius=0.25), motion=None, velocity=None)"
    assert repr(solid) == text
    assert repr(SolidGroup([solid])) == f"SolidGroup([{text}])"
    assert "12 vertices and 20 triangles" in repr(KinematicSolid(icosahedron()))
    assert "20 triangles" in repr(DeformingSolid(drifting, icosahedron()[1]))
    assert repr(solid.sample(unit_grid(2, 4), 0.5)).startswith("<SolidSample at time 0.5 s: <NodeField 4x4")
    assert repr(Pose((1.0, 2.0))) == "Pose(translation=(1.0, 2.0), rotation=((1.0, 0.0), (0.0, 1.0)))"


DISC, BALL = Sphere((0.0, 0.0), 1.0), Sphere((0.0, 0.0, 0.0), 1.0)
V, T = icosahedron()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: KinematicSolid(3.0), TypeError, "shape must be a Shape, a surface mesh"),
        (lambda: KinematicSolid(lambda x: x[:, 0]), ValueError, "dimension must be given where shape is a function"),
        (lambda: KinematicSolid(lambda x: x[:, 0], dimension=4), ValueError, "dimension must be 2 or 3"),
        (lambda: KinematicSolid(DISC, dimension=3), ValueError, "dimension must be 2 like that of the shape"),
        (lambda: KinematicSolid(DISC, (1.0, 0.0)), TypeError, "motion must be a function of time or None"),
        (lambda: KinematicSolid(DISC, velocity=(1.0, 0.0, 0.0)), ValueError, "velocity must hold 2 numbers"),
        (lambda: KinematicSolid(DISC, velocity=Twist((0, 0, 0))), ValueError, "velocity must be 2-D like the shape"),
        (lambda: KinematicSolid(DISC, difference_step=0.0), ValueError, "difference_step must be positive"),
        (lambda: KinematicSolid((V.astype(complex), T)), TypeError, "vertices must hold numbers"),
        (lambda: KinematicSolid((V[:, :2].copy(), T)), ValueError, r"vertices must have shape \(n, 3\)"),
        (lambda: KinematicSolid((V * np.nan, T)), ValueError, "vertices must be finite"),
        (lambda: KinematicSolid((V, T.astype(float))), TypeError, "triangles must hold integers"),
        (lambda: KinematicSolid((V, T[:0])), ValueError, "triangles must hold at least one triangle"),
        (lambda: KinematicSolid((V, T + 1)), ValueError, "triangles must hold indices of the 12 vertices"),
        (lambda: DeformingSolid(V, T), TypeError, "vertices must be a function of time"),
        (lambda: DeformingSolid(drifting, T, V), TypeError, "velocity must be a function of time or None"),
        (lambda: DeformingSolid(lambda t: V[:, :2], T), ValueError, r"vertices must return an array of shape \(n, 3\)"),
        (lambda: DeformingSolid(lambda t: V * np.inf, T), ValueError, "the result of vertices must be finite"),
        (lambda: Pose((0.0,)), ValueError, "translation must hold 2 or 3 numbers"),
        (lambda: Pose((0.0, np.inf)), ValueError, r"translation\[1\] must be finite"),
        (lambda: Pose((0.0, 0.0), np.nan), ValueError, "rotation must be finite"),
        (lambda: Pose((0.0, 0.0), [1.0, 0.0]), ValueError, "rotation must be an angle or a 2x2 matrix"),
        (lambda: Pose((0, 0, 0), np.diag([1.0, 1.0, -1.0])), ValueError, "rotation must be an orthogonal matrix of determinant 1"),
        (lambda: Pose((0, 0, 0), 1.1 * np.eye(3)), ValueError, "rotation must be an orthogonal matrix of determinant 1"),
        (lambda: Pose((0, 0, 0), (2.0, 0, 0, 0)), ValueError, "rotation must be a quaternion .* of length 1"),
        (lambda: Twist(1.0), ValueError, "linear must hold 2 or 3 numbers"),
        (lambda: Twist((1.0, 0.0), (0, 0, 1)), TypeError, "angular must be a number"),
        (lambda: Twist((1.0, 0.0, 0.0), 1.0), TypeError, "angular must hold 3 numbers"),
        (lambda: SolidGroup([]), TypeError, "solids must be a sequence of at least one solid"),
        (lambda: SolidGroup([DISC]), TypeError, r"solids\[0\] must be a Solid"),
        (lambda: SolidGroup([KinematicSolid(DISC), KinematicSolid(BALL)]), ValueError, r"solids\[1\] must be 2-D like solids\[0\]"),
    ],
)
def test_bad_solids(make: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


GRID = unit_grid(2, 4)


@pytest.mark.parametrize(
    ("solid", "arguments", "error", "words"),
    [
        (KinematicSolid(DISC), {"grid": unit_grid(3, 2)}, ValueError, "grid must be 2-D like the solid"),
        (KinematicSolid(DISC), {"grid": None}, TypeError, "grid must be a Grid"),
        (KinematicSolid(DISC), {"time": np.nan}, ValueError, "time must be finite"),
        (KinematicSolid(DISC), {"dt": 0.0}, ValueError, "dt must not be zero"),
        (KinematicSolid(DISC), {"dt": np.inf}, ValueError, "dt must be finite"),
        (KinematicSolid(DISC), {"band": 0.0}, ValueError, "band must be positive"),
        (KinematicSolid(DISC), {"dtype": np.int32}, TypeError, "dtype must be float32 or float64"),
        (KinematicSolid(DISC), {"out": 1}, TypeError, "out must be a SolidSample"),
        (KinematicSolid(DISC), {"out": SolidSample(unit_grid(2, 5))}, ValueError, "out must be a sample on"),
        (
            KinematicSolid(Sphere((0.5, 0.5, 0.5), 0.2)),
            {"grid": unit_grid(3, 4), "out": SolidSample(unit_grid(3, 4)), "dtype": np.float32},
            TypeError,
            "out must have a velocity of dtype float32",
        ),
        (KinematicSolid(DISC), {"dtype": np.float32}, TypeError, "float32 is for three dimensions"),
        (KinematicSolid(DISC, lambda t: 1.0), {}, TypeError, "motion must return a Pose or a translation"),
        (KinematicSolid(DISC, lambda t: (1.0, np.nan)), {}, ValueError, r"the translation that motion returns\[1\] must be finite"),
        (KinematicSolid(DISC, lambda t: (1.0, 0.0, 0.0)), {}, ValueError, "the translation that motion returns must hold 2 numbers"),
        (KinematicSolid(DISC, lambda t: Pose((0, 0, 0))), {}, ValueError, "motion must return a 2-D pose like the shape"),
        (KinematicSolid(DISC, lambda t: Pose((0, 0), np.pi * t)), {"dt": 1.0}, ValueError, "less than half a turn within dt"),
        (KinematicSolid(DISC, velocity=lambda t: (1.0,)), {}, ValueError, "what velocity returns must hold 2 numbers"),
        (KinematicSolid(DISC, velocity=lambda t: Twist((0, 0, 0))), {}, ValueError, "what velocity returns must be 2-D"),
        (KinematicSolid(lambda x: x, dimension=2), {}, ValueError, r"shape must return an array of shape \(25,\) for 25 points"),
        (KinematicSolid(lambda x: x[:, 0] * np.nan, dimension=2), {}, ValueError, "the result of shape must be finite"),
    ],
)
def test_bad_sampling(solid: KinematicSolid, arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        solid.sample(**{"grid": GRID, **arguments})


def test_a_failed_sampling_says_so_in_the_time() -> None:
    solid = KinematicSolid(lambda x: np.full(len(x), np.inf), dimension=2)
    out = KinematicSolid(DISC).sample(GRID, 0.5)
    assert out.time == 0.5
    with pytest.raises(ValueError, match="must be finite"):
        solid.sample(GRID, 0.6, out=out)
    assert np.isnan(out.time)


def test_bad_deformations_and_points() -> None:
    shrinking = DeformingSolid(lambda t: V if t == 0 else V[1:], T)
    with pytest.raises(ValueError, match=r"vertices must return an array of shape \(12, 3\), not \(11, 3\)"):
        shrinking.sample(unit_grid(3, 4), 1.0)
    wrong = DeformingSolid(drifting, T, lambda t: V[1:])
    with pytest.raises(ValueError, match=r"velocity must return an array of shape \(12, 3\)"):
        wrong.sample(unit_grid(3, 4), 1.0)
    solid = KinematicSolid(DISC)
    for call in (solid.signed_distance, solid.velocity):
        with pytest.raises(ValueError, match=r"points must have shape \(n, 2\)"):
            call(np.zeros((1, 3)))
        with pytest.raises(TypeError, match="points must be of dtype float64"):
            call(np.zeros((1, 2), np.float32))
        with pytest.raises(ValueError, match="time must be finite"):
            call(np.zeros((1, 2)), np.inf)

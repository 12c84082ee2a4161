"""Constructive operations, transforms, sampling on fields, and errors of shapes."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.build import same_bits
from support.shapes import L_SHAPE, cloud

import meniscus as ms
from meniscus.surface import (
    Box,
    Capsule,
    Complement,
    Cone,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Intersection,
    Offset,
    Polygon,
    Pose,
    Shape,
    Shell,
    SmoothUnion,
    Sphere,
    Torus,
    Transformed,
    Union,
)


def test_offset_of_a_sharp_wedge_stays_in_its_bounds() -> None:
    """The level set of max(a, b) is a mitre, which reaches farther than the offset."""
    wedge = HalfSpace((0.0, 0.0), (-0.1, 1.0)) & HalfSpace((0.0, 0.0), (-0.1, -1.0)) & Box((0.0, -1.0), (1.0, 1.0))
    wedge = wedge | Sphere((0.5, 0.0), 0.01)
    for grown in (wedge.offset(0.1), wedge.shell(0.2), wedge.smooth_union(Sphere((0.5, 0.0), 0.01), 0.4)):
        x = cloud(2, 40_000, size=2.0)
        inside = x[grown.signed_distance(x) <= 0]
        assert len(inside) > 300
        lower, upper = grown.bounds
        assert (inside >= lower).all()
        assert (inside <= upper).all()


def test_constructive_values_and_signs(dimension: int) -> None:
    a = Sphere((0.2,) * dimension, 0.6)
    b = Box((-0.5,) * dimension, (0.4,) * dimension)
    x = cloud(dimension)
    pa, pb = a.signed_distance(x), b.signed_distance(x)
    for shape, expected in [
        (a | b, np.minimum(pa, pb)),
        (a & b, np.maximum(pa, pb)),
        (a - b, np.maximum(pa, -pb)),
        (~a, -pa),
        (a.offset(0.1), pa - 0.1),
        (a.offset(-0.1), pa + 0.1),
        (b.shell(0.1), np.abs(pb) - 0.05),
        (Union([a, b, a]), np.minimum(pa, pb)),
        (Intersection([b, a]), np.maximum(pa, pb)),
        (a.smooth_union(b, 0.3), np.minimum(pa, pb) - np.maximum(0.3 - np.abs(pa - pb), 0) ** 2 / 1.2),
    ]:
        np.testing.assert_allclose(shape.signed_distance(x), expected, rtol=0, atol=1e-15)
    assert len({(pa < 0).sum(), ((a - b).signed_distance(x) < 0).sum(), ((a & b).signed_distance(x) < 0).sum()}) == 3


def test_exactness_of_constructive_operations() -> None:
    """Outside a union and inside an intersection the distance is exact; two squares show where it is not."""
    a, b = Box((0.0, 0.0), (1.0, 1.0)), Box((0.5, 0.0), (2.0, 1.0))
    whole = Box((0.0, 0.0), (2.0, 1.0))
    x = cloud(2, 3000, size=2.5)
    exact, union = whole.signed_distance(x), (a | b).signed_distance(x)
    np.testing.assert_allclose(union[exact > 0], exact[exact > 0], rtol=0, atol=1e-15)
    assert (np.abs(union) <= np.abs(exact) + 1e-15).all()
    assert (union[exact < 0] > exact[exact < 0] + 0.05).any()
    corner = HalfSpace((0.0, 0.0), (1.0, 0.0)) & HalfSpace((0.0, 0.0), (0.0, 1.0))
    assert corner.signed_distance(np.array([[1.0, 1.0], [-2.0, -3.0]])).tolist() == [1.0, -2.0]


def test_transforms(primitive: Shape) -> None:
    n = primitive.dimension
    x = cloud(n, 500)
    phi = primitive.signed_distance(x)
    if n == 2:
        c, s = np.cos(0.7), np.sin(0.7)
        rotation, given = np.array([[c, -s], [s, c]]), 0.7
    else:
        given = np.array([0.5, -0.5, 0.1, 0.7]) / np.linalg.norm([0.5, -0.5, 0.1, 0.7])
        w, v = given[0], given[1:]
        cross = np.cross(v, np.eye(3)).T
        rotation = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    t, about = np.linspace(0.3, -0.4, n), np.linspace(1.0, 0.2, n)
    close = {"rtol": 0, "atol": 1e-13}
    np.testing.assert_allclose(primitive.translated(t).signed_distance(x + t), phi, **close)
    np.testing.assert_allclose(primitive.rotated(given).signed_distance(x @ rotation.T), phi, **close)
    np.testing.assert_allclose(primitive.rotated(rotation).signed_distance(x @ rotation.T), phi, **close)
    np.testing.assert_allclose(
        primitive.rotated(rotation, about).signed_distance(np.ascontiguousarray((x - about) @ rotation.T + about)), phi, **close
    )
    np.testing.assert_allclose(primitive.scaled(2.5, about).signed_distance((x - about) * 2.5 + about), 2.5 * phi, **close)
    moved = primitive.scaled(0.5).rotated(rotation).translated(t)
    np.testing.assert_allclose(moved.signed_distance(0.5 * x @ rotation.T + t), 0.5 * phi, **close)
    lower, upper = moved.bounds
    y = cloud(n, 5000)
    inside = y[moved.signed_distance(y) <= 0]
    assert len(inside)
    assert (inside >= lower).all()
    assert (inside <= upper).all()


def trees(dimension: int) -> st.SearchStrategy[Shape]:
    """Random constructive trees."""
    number = st.floats(-0.6, 0.6)
    size = st.floats(0.05, 0.7)
    vector = st.tuples(*[number] * dimension)
    direction = vector.filter(lambda v: np.linalg.norm(v) > 0.05)
    leaves = [
        st.builds(Sphere, vector, size),
        st.builds(lambda c, h: Box(np.subtract(c, h), np.add(c, h), 0.3 * min(h)), vector, st.tuples(*[size] * dimension)),
        st.builds(HalfSpace, vector, direction),
        st.builds(lambda a, d, r: Capsule(a, np.add(a, d), r), vector, direction, size),
        st.builds(Ellipsoid, vector, st.tuples(*[size] * dimension)),
    ]
    if dimension == 3:
        leaves += [
            st.builds(lambda a, d, r, s: Cone(a, np.add(a, d), r, s), vector, direction, size, size),
            st.builds(lambda c, d, r, s: Torus(c, d, r + s, s), vector, direction, size, size),
        ]
    else:
        leaves.append(st.builds(lambda c: Polygon(np.array(L_SHAPE) + c), vector))
    angle = st.floats(-3, 3)
    turned = angle if dimension == 2 else st.builds(lambda a: [np.cos(a), 0.6 * np.sin(a), 0.0, 0.8 * np.sin(a)], angle)
    return st.recursive(
        st.one_of(leaves),
        lambda inner: st.one_of(
            st.builds(lambda a, b: a | b, inner, inner),
            st.builds(lambda a, b: a & b, inner, inner),
            st.builds(lambda a, b: a - b, inner, inner),
            st.builds(lambda a: ~a, inner),
            st.builds(lambda a, d: a.offset(d), inner, st.floats(-0.2, 0.2)),
            st.builds(lambda a, d: a.shell(d), inner, st.floats(0.05, 0.3)),
            st.builds(lambda a, b, w: a.smooth_union(b, w), inner, inner, st.floats(0.05, 0.5)),
            st.builds(lambda a, r, t, s: a.rotated(r).scaled(s).translated(t), inner, turned, vector, st.floats(0.5, 2)),
        ),
        max_leaves=6,
    )


def membership(shape: Any, x: np.ndarray) -> np.ndarray | None:
    """Return a mask of the points in the shape, by the rules of sets; None where there is an offset, for which there is no such rule."""
    if isinstance(shape, (Union, Intersection)):
        parts = [membership(s, x) for s in shape.shapes]
        if any(p is None for p in parts):
            return None
        return np.any(parts, axis=0) if isinstance(shape, Union) else np.all(parts, axis=0)
    if isinstance(shape, Complement):
        part = membership(shape.shape, x)
        return None if part is None else ~part
    if isinstance(shape, Transformed):
        return membership(shape.shape, np.ascontiguousarray((x - shape.translation) @ np.array(shape.rotation) / shape.scale))
    if isinstance(shape, (Offset, Shell, SmoothUnion)):
        return None
    return shape.signed_distance(x) < 0


@pytest.mark.parametrize("n", [2, 3])
@given(data=st.data())
def test_random_trees(n: int, data: st.DataObject) -> None:
    """Lipschitz constant one, signs as of sets, inside of the bounds, and the same after pickling."""
    shape = data.draw(trees(n))
    rng = np.random.default_rng(7)
    x = rng.uniform(-1.5, 1.5, (400, n))
    phi = shape.signed_distance(x)
    y = x + rng.normal(size=x.shape) * 10.0 ** rng.uniform(-4, 0, (400, 1))
    length = np.linalg.norm(y - x, axis=1)
    assert (np.abs(shape.signed_distance(y) - phi) <= length + 1e-12).all()
    member = membership(shape, x)
    if member is not None:
        clear = np.abs(phi) > 1e-12
        assert (member[clear] == (phi[clear] < 0)).all()
    lower, upper = shape.bounds
    inside = x[phi <= 0]
    assert (inside >= lower - 1e-12).all()
    assert (inside <= upper + 1e-12).all()
    again = pickle.loads(pickle.dumps(shape))
    assert same_bits(again.signed_distance(x), phi)
    assert again == shape
    assert hash(again) == hash(shape)


@pytest.mark.parametrize("kind", [ms.CellField, ms.NodeField])
def test_sampling_on_fields(kind: Any, dimension: int, dtype: type) -> None:
    shape = Sphere((0.1,) * dimension, 0.4) - Box((0.0,) * dimension, (1.0,) * dimension)
    grid = ms.Grid((20,) * dimension, 0.1, (-1.0,) * dimension)
    phi = kind(grid, dtype)
    shape.sample(phi)
    x = np.stack([c.ravel() for c in np.broadcast_arrays(*phi.coordinates())], axis=1)
    np.testing.assert_array_equal(phi.array.ravel(), shape.signed_distance(x).astype(dtype))
    pose = Pose((0.2,) * dimension)
    shape.sample(phi, pose=pose, band=0.1)
    exact = shape.signed_distance(pose.to_body(x))
    near = np.abs(exact) < 0.1
    np.testing.assert_array_equal(phi.array.ravel()[near], exact[near].astype(dtype))
    assert (np.sign(phi.array.ravel()) == np.sign(exact)).all()
    wrapped = kind(ms.Grid((20,) * dimension, 0.1, (-1.0,) * dimension, True), dtype)
    shape.translated((0.9,) * dimension).sample(wrapped)
    whole = wrapped.array.copy()
    shape.translated((-1.1,) * dimension).sample(wrapped)
    np.testing.assert_allclose(wrapped.array, whole, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-14)
    space = ms.Workspace()
    shape.sample(phi, workspace=space)
    held = ms.core.block_allocations()
    shape.sample(phi, workspace=space)
    assert ms.core.block_allocations() == held


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"phi": 1}, TypeError, "phi must be a ScalarField"),
        ({"phi": ms.CellField(ms.Grid((2, 2, 2), 1.0))}, ValueError, "phi must be 2-D like the shape"),
        ({"pose": 1}, TypeError, "pose must be a Pose"),
        ({"pose": Pose((0, 0, 0))}, ValueError, "pose must be 2-D like the shape"),
        ({"band": -1.0}, ValueError, "band must be positive"),
        ({"band": "wide"}, TypeError, "band must be a number"),
        ({"workspace": 1}, TypeError, "workspace must be a Workspace"),
    ],
)
def test_bad_fields(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Sphere((0.0, 0.0), 1.0).sample(**{"phi": ms.CellField(ms.Grid((2, 2), 1.0)), **arguments})


def test_repr_equality_and_frozenness() -> None:
    shape = Sphere((0.5, 0.5), 0.2) - Box([0.4, 0.4], np.array([0.6, 0.9]))
    text = repr(shape)
    assert text == (
        "Intersection(shapes=(Sphere(center=(0.5, 0.5), radius=0.2), "
        "Complement(shape=Box(lower=(0.4, 0.4), upper=(0.6, 0.9), rounding=0.0))))"
    )
    assert eval(text) == shape
    assert shape != Sphere((0.5, 0.5), 0.2)
    assert Sphere((0.5, 0.5), 0.2) != Sphere((0.5, 0.5), 0.3)
    assert len({Sphere((0, 0), 1), Sphere((0.0, 0.0), 1.0), Sphere((0, 0), 2)}) == 2
    with pytest.raises(AttributeError):
        Sphere((0.5, 0.5), 0.2).radius = 1.0  # type: ignore[misc]


S2, S3 = Sphere((0.0, 0.0), 1.0), Sphere((0.0, 0.0, 0.0), 1.0)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Shape(), TypeError, "make one of them"),
        (lambda: Sphere((0.0,), 1.0), ValueError, "center must hold 2 or 3 numbers"),
        (lambda: Sphere("ab", 1.0), ValueError, "center must hold 2 or 3 numbers"),
        (lambda: Sphere((0.0, np.nan), 1.0), ValueError, r"center\[1\] must be finite"),
        (lambda: Sphere((0.0, 0.0), 0.0), ValueError, "radius must be positive"),
        (lambda: Sphere((0.0, 0.0), "1"), TypeError, "radius must be a number"),
        (lambda: Box((0.0, 0.0), (1.0, 0.0)), ValueError, "upper must lie above lower"),
        (lambda: Box((0.0, 0.0), (1.0, 1.0, 1.0)), ValueError, "upper must hold 2 numbers"),
        (lambda: Box((0.0, 0.0), (1.0, 2.0), 0.6), ValueError, "rounding must be between 0 and half of the shortest edge, 0.5"),
        (lambda: Box((0.0, 0.0), (1.0, 2.0), -0.1), ValueError, "rounding must be between 0"),
        (lambda: HalfSpace((0.0, 0.0), (0.0, 0.0)), ValueError, "normal must not be zero"),
        (lambda: Capsule((0.0, 0.0), (0.0, 0.0), 1.0), ValueError, "start and end must not coincide"),
        (lambda: Capsule((0.0, 0.0), (0.0, 1.0), -1.0), ValueError, "radius must be positive"),
        (lambda: Cylinder((0.0, 0.0), (0.0, 1.0), 1.0), ValueError, "start must hold 3 numbers"),
        (lambda: Cylinder((0, 0, 0), (0, 0, 0), 1.0), ValueError, "start and end must not coincide"),
        (lambda: Cone((0, 0, 0), (0, 0, 1), -1.0), ValueError, "start_radius must be finite and not negative"),
        (lambda: Cone((0, 0, 0), (0, 0, 1), 1.0, -1.0), ValueError, "end_radius must be finite and not negative"),
        (lambda: Cone((0, 0, 0), (0, 0, 1), 0.0), ValueError, "must not both be zero"),
        (lambda: Torus((0, 0, 0), (0, 0, 0), 1.0, 0.5), ValueError, "axis must not be zero"),
        (lambda: Torus((0, 0, 0), (0, 0, 1), 0.5, 0.5), ValueError, "major_radius must be finite and above minor_radius"),
        (lambda: Ellipsoid((0, 0), (1.0, 0.0)), ValueError, "each of radii must be positive"),
        (lambda: Ellipsoid((0, 0), (1.0, 1.0, 1.0)), ValueError, "radii must hold 2 numbers"),
        (lambda: Polygon([]), TypeError, "loops must be an array of vertices"),
        (lambda: Polygon([(0, 0), (1, 1)]), ValueError, "at least 3 vertices, got 2"),
        (lambda: Polygon([(0, 0), (1, 1), (1, 1)]), ValueError, "must not coincide"),
        (lambda: Polygon([[(0, 0), (1, 1), (1, np.inf)]]), ValueError, r"loops\[0\]\[2\]\[1\] must be finite"),
        (lambda: S2.offset(np.inf), ValueError, "distance must be finite"),
        (lambda: S2.shell(0.0), ValueError, "thickness must be positive"),
        (lambda: S2.smooth_union(S2, 0.0), ValueError, "width must be positive"),
        (lambda: S2.smooth_union(S3, 0.1), ValueError, r"shapes\[1\] must be 2-D like shapes\[0\]"),
        (lambda: S2 | S3, ValueError, r"shapes\[1\] must be 2-D like shapes\[0\]"),
        (lambda: S2 | 1, TypeError, "unsupported operand"),
        (lambda: S2 & 1, TypeError, "unsupported operand"),
        (lambda: S2 - 1, TypeError, "unsupported operand"),
        (lambda: Union([]), TypeError, "shapes must be a sequence of at least one Shape"),
        (lambda: Intersection([S2, 1]), TypeError, r"shapes\[1\] must be a Shape"),
        (lambda: Complement(1), TypeError, "shape must be a Shape"),
        (lambda: S2.translated((1.0, 0.0, 0.0)), ValueError, "translation must hold 2 numbers"),
        (lambda: S2.scaled(0.0), ValueError, "factor must be positive"),
        (lambda: S2.rotated(np.nan), ValueError, "rotation must be finite"),
        (lambda: S2.rotated(0.1, (0, 0, 0)), ValueError, "about must hold 2 numbers"),
        (lambda: S2.rotated([[1.0, 0.0], [0.0, -1.0]]), ValueError, "rotation must be an orthogonal matrix of determinant 1"),
        (lambda: S2.rotated([[2.0, 0.0], [0.0, 0.5]]), ValueError, "rotation must be an orthogonal matrix of determinant 1"),
        (lambda: S3.rotated(0.1), ValueError, "rotation must be a 3x3 matrix or a quaternion"),
        (lambda: S3.rotated("x"), TypeError, "rotation must be a 3x3 matrix or a quaternion"),
        (lambda: S3.rotated([1.0, 1.0, 0.0, 0.0]), ValueError, "rotation must be a quaternion .* of length 1"),
        (lambda: S3.rotated(np.full((3, 3), np.inf)), ValueError, "rotation must be finite"),
    ],
)
def test_bad_shapes(make: Callable[[], Shape], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("points", "error", "words"),
    [
        (np.zeros((3, 3)), ValueError, r"points must have shape \(n, 2\)"),
        (np.zeros((3, 2), np.float32), TypeError, "points must be of dtype float64"),
        (np.full((3, 2), np.nan), ValueError, "points must be finite"),
        ([[0.0, 0.0]], TypeError, "points must be a NumPy array"),
    ],
)
def test_bad_points(points: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        S2.signed_distance(points)

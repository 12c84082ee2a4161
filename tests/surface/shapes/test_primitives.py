"""Primitive shapes: distances, signs and bounds against closed forms and brute force."""

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from support.build import same_bits
from support.shapes import BOUNDED, PRIMITIVES, cloud, surface_points
from support.variants import slow

import meniscus as ms
from meniscus.surface import (
    Ellipsoid,
    HalfSpace,
    Polygon,
    Shape,
    Sphere,
)


def gradient(shape: Shape, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Symmetric differences."""
    columns = []
    for d in range(shape.dimension):
        e = np.zeros(shape.dimension)
        e[d] = h
        columns.append((shape.signed_distance(x + e) - shape.signed_distance(x - e)) / (2 * h))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", BOUNDED)
def test_distance_against_dense_points_of_the_surface(name: str) -> None:
    shape = PRIMITIVES[name]()
    dense = surface_points(name)
    assert np.abs(shape.signed_distance(dense)).max() < 1e-14
    x = cloud(shape.dimension, 60)
    brute, _ = cKDTree(dense).query(x)
    phi = shape.signed_distance(x)
    # Brute force errs upwards by the square of the spacing of the points, about 4e-3, times the curvature of sphere and surface.
    assert (np.abs(phi) <= brute + 1e-12).all()
    assert (brute - np.abs(phi) <= 2e-5 * (1 + 1 / np.maximum(np.abs(phi), 1e-3))).all()


def test_sign_from_the_definitions() -> None:
    x2, x3 = cloud(2, 20_000), cloud(3, 20_000)

    def inside(name: str) -> np.ndarray:
        shape = PRIMITIVES[name]()
        return shape.signed_distance(x2 if shape.dimension == 2 else x3) <= 0

    e: Any = PRIMITIVES["ellipsoid"]()
    assert (inside("ellipsoid") == ((((x3 - e.center) / e.radii) ** 2).sum(axis=1) <= 1)).all()
    e = PRIMITIVES["ellipse"]()
    assert (inside("ellipse") == ((((x2 - e.center) / e.radii) ** 2).sum(axis=1) <= 1)).all()
    b: Any = PRIMITIVES["box"]()
    assert (inside("box") == ((x3 >= b.lower) & (x3 <= b.upper)).all(axis=1)).all()
    h: Any = PRIMITIVES["half space"]()
    assert (inside("half space") == ((x3 - h.point) @ np.array(h.normal) <= 0)).all()
    c: Any = PRIMITIVES["frustum"]()
    axis = np.array(c.end) - c.start
    t = (x3 - c.start) @ axis / (axis @ axis)
    rho = np.linalg.norm(x3 - c.start - t[:, None] * axis, axis=1)
    assert (inside("frustum") == ((t >= 0) & (t <= 1) & (rho <= 0.2 + 0.3 * t))).all()
    k: Any = PRIMITIVES["torus"]()
    w = np.array(k.axis) / np.linalg.norm(k.axis)
    z = (x3 - k.center) @ w
    ring = np.linalg.norm(x3 - k.center - z[:, None] * w, axis=1) - k.major_radius
    assert (inside("torus") == (ring**2 + z**2 <= k.minor_radius**2)).all()
    in_l = (x2 >= 0).all(axis=1) & (((x2[:, 0] <= 1) & (x2[:, 1] <= 0.4)) | ((x2[:, 0] <= 0.3) & (x2[:, 1] <= 0.9)))
    assert (inside("L") == in_l).all()
    x, y = x2.T
    in_hole = (x <= 0.2) & (y >= 0.1) & ((y - 0.1) * 0.15 <= (x - 0.05) * 0.2)
    assert in_hole.any()
    assert (inside("L with a hole") == (in_l & ~in_hole)).all()


@pytest.mark.parametrize("radii", [(1.0, 0.6), (1.0, 1e-3), (0.2, 0.9, 0.5), slow((1.0, 1.0, 0.01)), slow((0.3, 0.3, 0.3))])
def test_ellipsoid_against_minimisation(radii: tuple[float, ...]) -> None:
    """Search of the surface's own angles, ever finer around the best one."""
    e = np.array(radii)
    shape = Ellipsoid((0.0,) * len(e), radii)
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.uniform(0, 1.5, (15, len(e))), rng.uniform(0, 1, (10, len(e))) * e])
    phi = shape.signed_distance(points)
    for x, value in zip(points, phi, strict=True):
        # The closest point lies in the octant of x.
        best, width = np.full(len(e) - 1, np.pi / 4), np.pi / 4
        for _ in range(110):
            axes = [np.clip(b + width * np.linspace(-1, 1, 33), 0, np.pi / 2) for b in best]
            a = np.meshgrid(*axes, indexing="ij")
            unit = (
                np.stack([np.cos(a[0]), np.sin(a[0])], -1)
                if len(e) == 2
                else np.stack([np.sin(a[1]) * np.cos(a[0]), np.sin(a[1]) * np.sin(a[0]), np.cos(a[1])], -1)
            )
            distance = np.linalg.norm(e * unit - x, axis=-1)
            at = np.unravel_index(distance.argmin(), distance.shape)
            best = np.array([axis[i] for axis, i in zip(axes, at, strict=True)])
            width *= 0.8
        sign = -1.0 if ((x / e) ** 2).sum() < 1 else 1.0
        assert value == pytest.approx(sign * distance.min(), abs=1e-10)


@pytest.mark.parametrize("radii", [(1e-4, 1.0, 0.5), (1.0, 1e-6), (3.0, 2.0, 2.0), (1e3, 1.0, 1e-3)])
def test_ellipsoid_to_the_last_digits(radii: tuple[float, ...]) -> None:
    """Bisection of Lagrange's condition with 80 digits."""
    e = [Decimal(r) for r in radii]
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.uniform(-1.5, 1.5, (15, len(e))), rng.uniform(-1, 1, (15, len(e))) * radii])
    points[::5, 0] = 0.0
    phi = Ellipsoid((0.0,) * len(e), radii).signed_distance(points)
    with localcontext() as context:
        context.prec = 80
        for x, value in zip(points.tolist(), phi, strict=True):
            y = [Decimal(c) for c in x]
            low, high = -(min(e) ** 2), Decimal(4) * max(e) ** 2 + 4
            for _ in range(220):
                t = (low + high) / 2
                total = sum((a * b / (t + a * a)) ** 2 for a, b in zip(e, y, strict=True))
                low, high = (t, high) if total > 1 else (low, t)
            near = [a * a * b / (t + a * a) for a, b in zip(e, y, strict=True)]
            # At the pole (x[0] = 0 for the shortest radius) the rest of the closest point lies along that axis.
            missing = 1 - sum((n / a) ** 2 for n, a in zip(near, e, strict=True))
            extra = max(missing, Decimal(0)) * min(e) ** 2 if t < 0 else Decimal(0)
            squared = sum((n - b) ** 2 for n, b in zip(near, y, strict=True)) + extra
            expected = float(squared.sqrt().copy_sign(t))
            assert value == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_ellipsoid_on_its_axes_and_near_them() -> None:
    """On the medial axis the root sits at a pole; the closed forms there are those of Eberly's special cases."""
    shape = Ellipsoid((0.0, 0.0, 0.0), (3.0, 2.0, 1.0))
    # From (x, 0, 0) with x < (9 - 1) / 3 the closest point is off the axis: (9 x / 8, 0, +-sqrt(1 - (3 x / 8)^2)).
    for x in (0.0, 0.5, 1.0, 2.0, 2.6):
        for off in (0.0, 1e-300, 1e-20, 1e-14):
            expected = -np.hypot(x / 8, np.sqrt(1 - (3 * x / 8) ** 2))
            assert shape.signed_distance(np.array([[x, off, off]]))[0] == pytest.approx(expected, abs=1e-13)
    np.testing.assert_allclose(
        shape.signed_distance(np.array([[2.9, 0, 0], [3.0, 0, 0], [5.0, 0, 0], [0, 0, -4.0], [0, 3.0, 0]])),
        [-0.1, 0, 2, 3, 1],
        rtol=0,
        atol=1e-14,
    )


def test_gradients_of_primitives_have_length_one(primitive: Shape) -> None:
    x = cloud(primitive.dimension, 3000)
    # Near the surface there is no medial axis of a smooth shape, and little of it elsewhere: look at what differs at two widths.
    a, b = gradient(primitive, x, 1e-6), gradient(primitive, x, 1e-4)
    smooth = np.abs(a - b).max(axis=1) < 1e-3
    assert smooth.mean() > 0.9
    np.testing.assert_allclose(np.linalg.norm(a[smooth], axis=1), 1, rtol=0, atol=1e-5)


def test_values_do_not_depend_on_the_batch(primitive: Shape, default_parallelism: None) -> None:
    x = cloud(primitive.dimension, 1000)
    ms.set_num_threads(1)
    plain = primitive.signed_distance(x)
    assert same_bits(np.concatenate([primitive.signed_distance(x[i : i + 7]) for i in range(0, 1000, 7)]), plain)
    for threads in (2, 3, 5, 8):
        ms.set_num_threads(threads)
        assert same_bits(primitive.signed_distance(x), plain)
    assert primitive.signed_distance(x[:0]).shape == (0,)


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_are_tight(name: str) -> None:
    shape = PRIMITIVES[name]()
    dense = surface_points(name)
    lower, upper = shape.bounds
    np.testing.assert_allclose(lower, dense.min(axis=0), rtol=0, atol=1e-3)
    np.testing.assert_allclose(upper, dense.max(axis=0), rtol=0, atol=1e-3)
    assert (dense >= lower - 1e-12).all()
    assert (dense <= upper + 1e-12).all()


def test_unbounded_bounds() -> None:
    inf = np.inf
    np.testing.assert_array_equal(HalfSpace((1.0, 2.0), (0.0, 3.0)).bounds, ([-inf, -inf], [inf, 2.0]))
    np.testing.assert_array_equal(HalfSpace((1.0, 2.0), (-1.0, 0.0)).bounds, ([1.0, -inf], [inf, inf]))
    np.testing.assert_array_equal(HalfSpace((1.0, 2.0), (1.0, 1.0)).bounds, ([-inf, -inf], [inf, inf]))
    np.testing.assert_array_equal((~Sphere((0.0, 0.0), 1.0)).bounds, ([-inf, -inf], [inf, inf]))
    slab = HalfSpace((0.0, 1.0), (0.0, 1.0)) & HalfSpace((0.0, 0.0), (0.0, -1.0))
    np.testing.assert_array_equal(slab.bounds, ([-inf, 0.0], [inf, 1.0]))
    turned = slab.rotated([[0.0, -1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(turned.bounds, ([-1.0, -inf], [0.0, inf]))


def test_polygons_of_either_orientation_and_vertices_at_the_height_of_points() -> None:
    square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    x = np.array([[-1.0, 0.0], [0.5, 0.5], [-1.0, 1.0], [2.0, 1.0], [0.5, 0.0], [0.0, 0.0], [1.0, 0.5]])
    expected = [1.0, -0.5, 1.0, 1.0, 0.0, 0.0, 0.0]
    for loop in (square, square[::-1], np.array(square)):
        assert np.abs(Polygon(loop).signed_distance(x)).tolist() == np.abs(expected).tolist()
        assert (Polygon(loop).signed_distance(x)[:4] > 0).tolist() == [True, False, True, True]
    diamond = Polygon([(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)])
    y = np.array([[-2.0, 0.0], [-0.5, 0.0], [0.5, 0.0], [2.0, 0.0], [-2.0, 1.0], [-2.0, -1.0]])
    assert (diamond.signed_distance(y) < 0).tolist() == [False, True, True, False, False, False]

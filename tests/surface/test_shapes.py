"""Analytic shapes: distances against closed forms and brute force, constructive operations, transforms."""

import pickle
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.build import same_bits

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

L_SHAPE = [(0.0, 0.0), (1.0, 0.0), (1.0, 0.4), (0.3, 0.4), (0.3, 0.9), (0.0, 0.9)]
HOLE = [(0.05, 0.1), (0.2, 0.1), (0.2, 0.3)]

PRIMITIVES: dict[str, Callable[[], Shape]] = {
    "disc": lambda: Sphere((0.1, -0.2), 0.5),
    "ball": lambda: Sphere((0.1, -0.2, 0.3), 0.5),
    "rectangle": lambda: Box((-0.4, -0.1), (0.5, 0.6)),
    "box": lambda: Box((-0.4, -0.1, 0.0), (0.5, 0.6, 0.3)),
    "rounded rectangle": lambda: Box((-0.4, -0.1), (0.5, 0.6), 0.2),
    "rounded box": lambda: Box((-0.4, -0.1, 0.0), (0.5, 0.6, 0.3), 0.1),
    "half plane": lambda: HalfSpace((0.1, 0.1), (1.0, -2.0)),
    "half space": lambda: HalfSpace((0.1, 0.1, 0.0), (1.0, -2.0, 0.5)),
    "stadium": lambda: Capsule((-0.3, 0.1), (0.4, 0.3), 0.2),
    "capsule": lambda: Capsule((-0.3, 0.1, 0.0), (0.4, 0.3, -0.2), 0.2),
    "cylinder": lambda: Cylinder((-0.3, 0.1, 0.0), (0.4, 0.3, -0.2), 0.3),
    "cone": lambda: Cone((-0.3, 0.1, 0.0), (0.4, 0.3, -0.2), 0.4),
    "frustum": lambda: Cone((-0.3, 0.1, 0.0), (0.4, 0.3, -0.2), 0.2, 0.5),
    "torus": lambda: Torus((0.1, 0.0, -0.1), (1.0, 2.0, 0.5), 0.5, 0.2),
    "ellipse": lambda: Ellipsoid((0.1, 0.0), (0.6, 0.2)),
    "ellipsoid": lambda: Ellipsoid((0.1, 0.0, -0.1), (0.3, 0.7, 0.15)),
    "L": lambda: Polygon(L_SHAPE),
    "L with a hole": lambda: Polygon([L_SHAPE, HOLE]),
}
BOUNDED = [name for name in PRIMITIVES if not name.startswith("half")]


@pytest.fixture(params=PRIMITIVES)
def primitive(request: pytest.FixtureRequest) -> Shape:
    return PRIMITIVES[request.param]()


def cloud(dimension: int, n: int = 2000, seed: int = 3, size: float = 1.2) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-size, size, (n, dimension))


def gradient(shape: Shape, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Symmetric differences."""
    columns = []
    for d in range(shape.dimension):
        e = np.zeros(shape.dimension)
        e[d] = h
        columns.append((shape.signed_distance(x + e) - shape.signed_distance(x - e)) / (2 * h))
    return np.stack(columns, axis=1)


def frame(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An orthonormal frame around an axis."""
    w = axis / np.linalg.norm(axis)
    u = np.cross(w, [0.3, -0.5, 0.9])
    u /= np.linalg.norm(u)
    return u, np.cross(w, u), w


def circles(center: np.ndarray, axis: np.ndarray, radius: np.ndarray, height: np.ndarray, n: int = 400) -> np.ndarray:
    """Points on circles around an axis, one for each (radius, height)."""
    u, v, w = frame(axis)
    a = np.linspace(0, 2 * np.pi, n, endpoint=False)
    ring = np.cos(a)[:, None] * u + np.sin(a)[:, None] * v
    return (center + radius[:, None, None] * ring + height[:, None, None] * w).reshape(-1, 3)


def loop_points(loops: Any, n: int = 3000) -> np.ndarray:
    """Points along the edges of a polygon."""
    t = np.linspace(0, 1, n)[:, None]
    points = []
    for loop in loops:
        a = np.array(loop)
        points += [p + t * (q - p) for p, q in zip(a, np.roll(a, -1, axis=0), strict=True)]
    return np.concatenate(points)


def surface_points(name: str) -> np.ndarray:
    """A dense set of points of the surface, from its definition alone."""
    shape: Any = PRIMITIVES[name]()
    if name in ("ellipse", "ellipsoid", "disc", "ball"):
        radii = np.array(shape.radii if "ellips" in name else (shape.radius,) * shape.dimension)
        if shape.dimension == 2:
            a = np.linspace(0, 2 * np.pi, 20000)
            unit = np.stack([np.cos(a), np.sin(a)], axis=1)
        else:
            a, b = np.meshgrid(np.linspace(0, 2 * np.pi, 800), np.linspace(0, np.pi, 400))
            unit = np.stack([np.cos(a) * np.sin(b), np.sin(a) * np.sin(b), np.cos(b)], axis=-1).reshape(-1, 3)
        return np.array(shape.center) + radii * unit
    if name == "torus":
        a = np.linspace(0, 2 * np.pi, 400)
        return circles(
            np.array(shape.center),
            np.array(shape.axis),
            shape.major_radius + shape.minor_radius * np.cos(a),
            shape.minor_radius * np.sin(a),
            800,
        )
    if name in ("cylinder", "cone", "frustum"):
        a, b = np.array(shape.start), np.array(shape.end)
        length = np.linalg.norm(b - a)
        r0, r1 = (shape.radius, shape.radius) if name == "cylinder" else (shape.start_radius, shape.end_radius)
        t = np.linspace(0, 1, 300)
        radius = np.concatenate([r0 * t, r0 + (r1 - r0) * t, r1 * t])
        return circles(a, b - a, radius, np.concatenate([0 * t, length * t, 0 * t + length]), 800)
    if name in ("stadium", "capsule"):
        a, b = np.array(shape.start), np.array(shape.end)
        if name == "stadium":
            angle = np.linspace(0, 2 * np.pi, 8000)
            ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            t = np.linspace(0, 1, 4000)[:, None]
            along = (b - a) / np.linalg.norm(b - a)
            side = shape.radius * np.array([-along[1], along[0]])
            points = np.concatenate([a + shape.radius * ring, b + shape.radius * ring, a + t * (b - a) + side, a + t * (b - a) - side])
            reach = np.clip((points - a) @ along, 0, np.linalg.norm(b - a))
            # The half circles that lie in the other parts are no surface.
            return points[np.linalg.norm(points - a - reach[:, None] * along, axis=1) > shape.radius - 1e-14]
        length = np.linalg.norm(b - a)
        t = np.linspace(0, np.pi / 2, 200)
        radius = np.concatenate([shape.radius * np.sin(t), np.full(200, shape.radius), shape.radius * np.cos(t)])
        height = np.concatenate([-shape.radius * np.cos(t), np.linspace(0, length, 200), length + shape.radius * np.sin(t)])
        return circles(a, b - a, radius, height, 800)
    if name in ("L", "L with a hole"):
        return loop_points([L_SHAPE] if name == "L" else [L_SHAPE, HOLE])
    lower, upper = np.array(shape.lower), np.array(shape.upper)
    core_low, core_high = lower + shape.rounding, upper - shape.rounding
    side = np.linspace(0, 1, 20001 if shape.dimension == 2 else 301)
    points = []
    for d in range(shape.dimension):
        others = np.stack([x.ravel() for x in np.meshgrid(*[side] * (shape.dimension - 1))], axis=1)
        for value in (0.0, 1.0):
            x = lower + (upper - lower) * np.insert(others, d, value, axis=1)
            # Rounding pulls the faces of the sharp box along the normals of the inner one.
            inner = np.clip(x, core_low, core_high)
            if shape.rounding:
                x = inner + shape.rounding * (x - inner) / np.linalg.norm(x - inner, axis=1, keepdims=True)
            points.append(x)
    return np.concatenate(points)


@pytest.mark.parametrize("name", BOUNDED)
def test_distance_against_dense_points_of_the_surface(name: str) -> None:
    shape = PRIMITIVES[name]()
    dense = surface_points(name)
    assert np.abs(shape.signed_distance(dense)).max() < 1e-14
    x = cloud(shape.dimension, 60)
    brute = np.array([np.linalg.norm(dense - p, axis=1).min() for p in x])
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


@pytest.mark.parametrize("radii", [(1.0, 0.6), (1.0, 1e-3), (0.2, 0.9, 0.5), (1.0, 1.0, 0.01), (0.3, 0.3, 0.3)])
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
    """Which points are in the shape, by the rules of sets; None where there is an offset, for which there is no such rule."""
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

"""Families of hard queries of continuous collision detection: coplanar points, contacts at the ends of a step or on a rim, multiple roots,
extreme magnitudes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support.ccd.oracle import Kind

Queries = tuple[np.ndarray, np.ndarray]
Family = Callable[[np.random.Generator, int, Kind], Queries]


def near_misses(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """A contact at some time on the rim of an element, moved by some units in the last place."""
    start, end = rng.normal(size=(n, 4, 3)), rng.normal(size=(n, 4, 3))
    t = rng.uniform(0, 1, (n, 1))
    at = (1 - t[..., None]) * start + t[..., None] * end
    gap = _gap(at, _parameters(rng, n, kind), kind)
    start[:, 0] -= gap
    end[:, 0] -= gap
    if kind == "edge-edge":
        start[:, 1] -= gap
        end[:, 1] -= gap
    return _nudged(rng, start), _nudged(rng, end)


def small_grid(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Integers in -2 .. 2: degenerate in every way, often in several."""
    return random_integers(rng, n, 2), random_integers(rng, n, 2)


def tiny_grid(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    return random_integers(rng, n, 1), random_integers(rng, n, 1)


def dyadic(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Multiples of different powers of two."""
    scale = np.ldexp(1.0, rng.integers(-6, 3, (n, 4, 3)))
    return random_integers(rng, n, 4) * scale, random_integers(rng, n, 4) * scale


def in_plane(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """All points stay in the plane z = 0."""
    start, end = random_integers(rng, n, 5), random_integers(rng, n, 5)
    start[..., 2] = end[..., 2] = 0
    return start, end


def in_tilted_plane(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """All points stay in one plane, which moves with them."""
    axes, base, drift = rng.integers(-3, 4, (n, 2, 3)), rng.integers(-9, 10, (n, 1, 3)), rng.integers(-3, 4, (n, 1, 3))
    start, end = (np.einsum("nij,njk->nik", rng.integers(-4, 5, (n, 4, 2)), axes) for _ in range(2))
    return (start + base).astype(float), (end + base + drift).astype(float)


def in_plane_reals(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    start, end = rng.normal(size=(n, 4, 3)), rng.normal(size=(n, 4, 3))
    axis = rng.integers(0, 3, n)
    start[np.arange(n), :, axis] = end[np.arange(n), :, axis] = rng.normal(size=(n, 1))
    return start, end


def on_a_line(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """All points stay on one line."""
    direction = rng.integers(-2, 3, (n, 1, 3))
    return tuple((rng.integers(-6, 7, (n, 4, 1)) * direction).astype(float) for _ in range(2))  # type: ignore[return-value]


def parallel_edges(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Edges (or the vertex and one side of the face) that are parallel at the start, at the end, or all the time."""
    start, end = random_integers(rng, n, 3), random_integers(rng, n, 3)
    for x, which in ((start, rng.random(n) < 0.7), (end, rng.random(n) < 0.7)):
        x[which, 3] = x[which, 2] + (x[which, 1] - x[which, 0]) * rng.integers(-2, 3, (int(which.sum()), 1))
    return start, end


def touching_at_start(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    x = _touching(rng, n, kind)
    return x, x + random_integers(rng, n, 20)


def touching_at_end(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    end, start = touching_at_start(rng, n, kind)
    return start, end


def touching_midway(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Contact at t = 1/2, within the elements, on an edge, at a vertex, or of a zero-length edge or zero-area face."""
    x, d = _touching(rng, n, kind), random_integers(rng, n, 20)
    return x - d, x + d


def touching_at_quarter(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    x, d = _touching(rng, n, kind), random_integers(rng, n, 20)
    return x - d, x + 3 * d


def flat_elements(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Zero-area faces and zero-length edges, at one end of the step or at both."""
    start, end = random_integers(rng, n, 3), random_integers(rng, n, 3)
    for x in (start, end):
        which = rng.random(n) < 0.8
        x[which, 3] = x[which, 2] + rng.integers(-1, 2, (int(which.sum()), 1)) * (x[which, 1] - x[which, 2]) * (kind == "vertex-face")
    return start, end


def duplicated_points(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Some of the four points coincide, at the start, at the end or both; some do not move."""
    start, end = random_integers(rng, n, 3), random_integers(rng, n, 3)
    rows = np.arange(n)
    for x in (start, end):
        i, j = rng.integers(0, 4, (2, n))
        x[rows, i] = x[rows, j]
    i, which = rng.integers(0, 4, n), rng.random(n) < 0.5
    end[rows[which], i[which]] = start[rows[which], i[which]]
    return start, end


def duplicated_reals(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    start, end = rng.normal(size=(n, 4, 3)), rng.normal(size=(n, 4, 3))
    rows, (i, j) = np.arange(n), rng.integers(0, 4, (2, n))
    for x, which in ((start, rng.random(n) < 0.7), (end, rng.random(n) < 0.7)):
        x[rows[which], i[which]] = x[rows[which], j[which]]
    return start, end


def static_pairs(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    x = np.where(rng.random((n, 1, 1)) < 0.5, random_integers(rng, n, 2), _touching(rng, n, kind))
    return x, x.copy()


def translations(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Each of the two elements is translated as a whole."""
    x = random_integers(rng, n, 3)
    moves = rng.integers(-6, 7, (n, 2, 3)).astype(float)
    return x, x + moves[:, [0, 1, 1, 1] if kind == "vertex-face" else [0, 0, 1, 1]]


def real_translations(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """The same with small multiples of 2^-20, which keep the sums exact."""
    x = np.round(rng.normal(size=(n, 4, 3)) * 2.0**20) / 2.0**20
    moves = np.round(rng.normal(size=(n, 2, 3)) * 2.0**20) / 2.0**20
    return x, x + moves[:, [0, 1, 1, 1] if kind == "vertex-face" else [0, 0, 1, 1]]


def double_roots(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """The elements touch and part again, at a rational time."""
    return _multiple_roots(rng, n, kind, 2)


def triple_roots(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    return _multiple_roots(rng, n, kind, 3)


def near_double_roots(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """No contact or two, some units in the last place apart."""
    start, end = double_roots(rng, n, kind)
    return _nudged(rng, start), _nudged(rng, end)


def near_triple_roots(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    start, end = triple_roots(rng, n, kind)
    return _nudged(rng, start), _nudged(rng, end)


def rim_at_irrational_times(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """A vertex meets an edge, both in a plane that moves along, at times that are roots of a quadratic; the fourth point is anywhere."""
    start, end = in_tilted_plane(rng, n, kind)
    apex = 2 if kind == "vertex-face" else 1
    start[:, apex], end[:, apex] = random_integers(rng, n, 9)[:, 0], random_integers(rng, n, 9)[:, 0]
    return start, end


def shared_vertex(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """A point that belongs to both elements all the time, next to general ones: contact at all times."""
    start, end = rng.normal(size=(n, 4, 3)), rng.normal(size=(n, 4, 3))
    start[:, 2], end[:, 2] = start[:, 0], end[:, 0]
    return start, end


def hair(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Almost in one plane for the whole step."""
    start, end = rng.uniform(-1, 1, (n, 4, 3)), rng.uniform(-1, 1, (n, 4, 3))
    thickness = 10.0 ** rng.uniform(-17, -6, (n, 1))
    start[..., 2] *= thickness
    end[..., 2] *= thickness
    return start, end


def far_away(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """A large common offset leaves few bits for the shape."""
    offset = rng.choice([1e8, -1e8, 1e14, 2.0**51], (n, 1, 3))
    return offset + rng.uniform(-1, 1, (n, 4, 3)) * 4, offset + rng.uniform(-1, 1, (n, 4, 3)) * 4


def grid_far_away(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """A small grid of doubles far from the origin, most with contacts on the border."""
    start, end = small_grid(rng, n, kind)
    return start + 2.0**40, end + 2.0**40


def mixed_magnitudes(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Each coordinate of its own magnitude, from subnormal to 1e300."""
    scale = np.ldexp(1.0, rng.choice([-1074, -1060, -600, -30, 0, 5, 500, 990], (n, 4, 3)))
    start, end = (rng.integers(-6, 7, (n, 4, 3)) * scale for _ in range(2))
    return start, end


def mixed_axes(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Each axis of its own magnitude: contacts are as frequent as in small_grid, and the coordinates span all exponents."""
    start, end = touching_midway(rng, n, kind) if rng.random() < 0.5 else small_grid(rng, n, kind)
    scale = np.ldexp(1.0, rng.choice([-1074, -1030, -540, -3, 0, 470, 985], (n, 1, 3)))
    return start * scale, end * scale


def huge_and_subnormal(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """A contact of huge elements that is decided by subnormal displacements."""
    x = _touching(rng, n, kind) * 1e290
    start, end = (np.where(rng.random((n, 4, 3)) < 0.2, rng.integers(-3, 4, (n, 4, 3)) * 5e-324, x) for _ in range(2))
    return start, end


def largest_doubles(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
    """Sums and differences of coordinates overflow."""
    largest = np.finfo(float).max
    values = np.array([largest, -largest, largest / 2, -largest / 2, 0.0, 1.0, np.nextafter(largest, 0)])
    return rng.choice(values, (n, 4, 3)), rng.choice(values, (n, 4, 3))


def scaled(family: Family, exponent: int) -> Family:
    """A family of integers times a power of two."""

    def function(rng: np.random.Generator, n: int, kind: Kind) -> Queries:
        start, end = family(rng, n, kind)
        return np.ldexp(start, exponent), np.ldexp(end, exponent)

    return function


def random_integers(rng: np.random.Generator, n: int, largest: int) -> np.ndarray:
    return rng.integers(-largest, largest + 1, (n, 4, 3)).astype(float)


def _nudged(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Moved by up to two units in the last place."""
    return np.asarray(x + rng.integers(-2, 3, x.shape) * np.spacing(np.abs(x)))


def _parameters(rng: np.random.Generator, n: int, kind: Kind) -> np.ndarray:
    """Parameters (u, v) on the rim of an element."""
    u, v = rng.uniform(0, 1, (2, n))
    side = rng.integers(0, 4, n)
    if kind == "vertex-face":
        u, v = np.where(side == 0, 0, u), np.where(side == 1, 0, np.where(side >= 2, 1 - u, v))
    else:
        u, v = np.where(side < 2, side, u), np.where(side >= 2, side - 2, v)
    return np.stack([u, v], axis=1)


def _gap(x: np.ndarray, uv: np.ndarray, kind: Kind) -> np.ndarray:
    u, v = uv[:, :1], uv[:, 1:]
    if kind == "vertex-face":
        return np.asarray(x[:, 0] - ((1 - u - v) * x[:, 1] + u * x[:, 2] + v * x[:, 3]))
    return np.asarray((1 - u) * x[:, 0] + u * x[:, 1] - (1 - v) * x[:, 2] - v * x[:, 3])


def _touching(rng: np.random.Generator, n: int, kind: Kind) -> np.ndarray:
    """Integer positions (n, 4, 3) of elements at rest that touch: anywhere, on a rim, at a vertex, or without area or length."""
    if kind == "vertex-face":
        x = 8 * rng.integers(-4, 5, (n, 4, 3))
        weights = rng.multinomial(8, [1 / 3] * 3, n)
        rim = rng.random(n)
        weights[rim < 0.3] = rng.multinomial(4, [1 / 3] * 3, int((rim < 0.3).sum())) * 2
        weights[rim < 0.1] = np.array([8, 0, 0])
        x[:, 0] = np.einsum("ni,nid->nd", weights, x[:, 1:]) // 8
        return x.astype(float)
    x = 8 * rng.integers(-4, 5, (n, 4, 3))
    i, j = rng.choice([0, 8, 1, 2, 3, 4, 5, 7], (2, n, 1))
    contact = ((8 - i) * x[:, 0] + i * x[:, 1]) // 8
    direction = rng.integers(-4, 5, (n, 3))
    x[:, 2], x[:, 3] = contact - j * direction, contact + (8 - j) * direction
    return x.astype(float)


def _multiple_roots(rng: np.random.Generator, n: int, kind: Kind, multiplicity: int) -> Queries:
    """Contacts within the elements at which the coplanarity cubic has a root of this multiplicity.

    The determinant of an upper triangular matrix is the product of its diagonal, whose entries are here 1 or s, a function of the time
    with one zero. Its rows are the vectors a, b and w; w = 0 at the zero, and c = u a + v b + w has the same determinant. An integer
    matrix that can be inverted and a common motion hide the form.
    """
    zero = rng.integers(0, 4, n)
    at = np.array([(-1, 1), (-1, 2), (-2, 1), (-1, 3)])[zero]
    result = []
    upper = rng.integers(-3, 4, (n, 3))
    which = rng.integers(0, 2, n)
    u, v = rng.integers(1, 4, (2, n, 1))
    u, v = np.where(u + v > 4, 1, u), np.where(u + v > 4, 1, v)
    if kind == "vertex-face":
        v = np.where(u + v == 4, 1, v)
        u = np.where(u + v == 4, 1, u)
    matrix = rng.integers(-3, 4, (n, 3, 3))
    matrix[np.abs(np.linalg.det(matrix)) < 0.5] = np.eye(3, dtype=int)
    base, drift = rng.integers(-9, 10, (2, n, 3))
    for k in range(2):
        s = at[:, k]
        a, b, w = np.zeros((3, n, 3), int)
        # At s = 0, a and b stay independent: what is not on the diagonal is 1 beside an s.
        a[:, 0] = np.where(which == 0, 1, s) if multiplicity == 2 else s
        b[:, 1] = np.where(which == 0, s, 1) if multiplicity == 2 else s
        w[:, 2] = s
        a[:, 1], a[:, 2] = np.where(a[:, 0] == s, 1, upper[:, 0]), upper[:, 1]
        b[:, 2] = 1
        if multiplicity == 2:
            a[:, 1] = np.where(which == 0, upper[:, 0], 0)
            a[:, 2] = np.where(which == 0, upper[:, 1], 1)
            b[:, 2] = np.where(which == 0, 1, upper[:, 2])
        a, b = 4 * a, 4 * b
        c = (u * a + (v if kind == "vertex-face" else -v) * b) // 4 + w
        origin = np.zeros((n, 3), int)
        x = np.stack([c, origin, a, b] if kind == "vertex-face" else [origin, a, c, c + b], axis=1)
        x = np.einsum("nij,njk->nik", x, matrix) + (base + k * drift)[:, None]
        result.append(x.astype(float))
    return result[0], result[1]

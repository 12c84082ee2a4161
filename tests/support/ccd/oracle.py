"""Oracle of continuous collision detection: exact answers about two moving elements, in Python integers.

The method has nothing in common with that of the library. Four moving points are coplanar where a cubic in time vanishes. Its roots are
isolated with Sturm sequences, and at each root signs of polynomials decide whether the elements touch. A sign at a root is zero where the
greatest common divisor of both polynomials has that root; otherwise the bracket of the root is halved until the polynomial keeps its sign
on it.

Both kinds of pairs are written with three vectors that are linear in the time:

- a vertex x0 and a face x1, x2, x3: a = x2 - x1, b = x3 - x1, c = x0 - x1; contact where c = u a + v b with u, v, 1 - u - v >= 0;
- two edges x0, x1 and x2, x3: a = x1 - x0, b = x3 - x2, c = x2 - x0; contact where c = u a - v b with u, v in [0, 1].

The border of the parameters is where the time is 0 or 1 or one of these inequalities is an equality. Three facts keep the cases few:

1. Where a x b is not zero at a contact, u and v are functions of the time near it. So the multiplicity of the contact is that of the
   root of the cubic det(a, b, c), which is det(F_t, F_u, F_v) up to a factor that is not zero.
2. Where a x b = 0 at a contact, the parameters of all contacts at that time fill a line or a plane as far as the domain goes, so they
   reach the rim: a contact on the border.
3. Where the cubic is zero at all times, a contact within the domain can be followed in time until it reaches the border, or a time as in
   2. So any contact means a contact on the border. The set of the times of contact is closed, and it only begins, ends or has a single
   point where one of the polynomials changes its sign that the decision at a time reads. So it is enough to look at their roots.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from support.ccd.integer_polynomials import (
    Polynomial,
    Time,
    _sign,
    _squarefree_factors,
    add,
    instant,
    multiply,
    primitive,
    quotient,
    roots_within,
    trimmed,
)

Kind = Literal["vertex-face", "edge-edge"]
KINDS: tuple[Kind, Kind] = ("vertex-face", "edge-edge")
Vector = tuple[Polynomial, Polynomial, Polynomial]


@dataclass(frozen=True)
class Answer:
    """Contacts between two elements within the step."""

    boundary: bool
    """Whether there is a contact on the border of the parameters: at the start, at the end, or with the rim of an element."""
    interior: int
    """Contacts that are not on the border, each counted with its multiplicity."""
    times: int
    """Distinct times of contact, where they are finitely many."""
    infinite: bool
    """Whether the elements touch during a whole interval of time."""
    first: Time | None
    """The first time of contact."""

    @property
    def any(self) -> bool:
        return self.first is not None

    @property
    def parity(self) -> bool:
        return self.boundary or self.interior % 2 == 1


_NOTHING = Answer(False, 0, 0, False, None)


class _Pair:
    """The vectors a, b and c of a pair, and its decision at one time."""

    def __init__(self, kind: Kind, start: Sequence[Sequence[int]], end: Sequence[Sequence[int]]) -> None:
        self.kind = kind
        x = [
            tuple(trimmed((p, q - p)) for p, q in zip(p0, p1, strict=True)) for p0, p1 in zip(start, end, strict=True)
        ]  # positions as polynomials
        if kind == "vertex-face":
            self.a, self.b, self.c = _minus(x[2], x[1]), _minus(x[3], x[1]), _minus(x[0], x[1])
            ends = [(x[0], x[1], x[2]), (x[0], x[2], x[3]), (x[0], x[3], x[1])]
        else:
            self.a, self.b, self.c = _minus(x[1], x[0]), _minus(x[3], x[2]), _minus(x[2], x[0])
            ends = [(x[0], x[2], x[3]), (x[1], x[2], x[3]), (x[2], x[0], x[1]), (x[3], x[0], x[1])]
        self._ends = ends
        self.normal = _cross(self.a, self.b)
        self.cubic = _dot(self.normal, self.c)

    @functools.cached_property
    def weights(self) -> list[Vector]:
        """Return the values that must not be negative, each times the normal, component by component."""
        u = _cross(self.c, self.b)
        if self.kind == "vertex-face":
            v = _cross(self.a, self.c)
            return [u, v, _minus(_minus(self.normal, u), v)]
        v = _cross(self.c, self.a)
        return [u, v, _minus(self.normal, u), _minus(self.normal, v)]

    @functools.cached_property
    def points_on_segments(self) -> list[tuple[Vector, Polynomial]]:
        """The cases that are left where the normal is zero: point p lies on the segment q r, of whatever length, if the vector
        (p - q) x (r - q) is zero and the number (p - q).(p - r) is not positive."""
        return [(_cross(_minus(p, q), _minus(r, q)), _dot(_minus(p, q), _minus(p, r))) for p, q, r in self._ends]

    def contact(self, time: Time) -> int:
        """0 for none, 1 within both elements, 2 with the rim of one: at a time where the cubic is zero."""
        for k, n in enumerate(self.normal):
            s = time.sign_of(n)
            if s:
                signs = [s * time.sign_of(w[k]) for w in self.weights]
                return 0 if min(signs) < 0 else 1 + (min(signs) == 0)
        # A face without area is the union of its edges; edges on one line touch if an end of one lies on the other.
        for across, along in self.points_on_segments:
            if not any(time.sign_of(p) for p in across) and time.sign_of(along) <= 0:
                return 2
        return 0

    def critical_polynomials(self) -> set[Polynomial]:
        """All polynomials whose signs `contact` reads."""
        p = [q for v in (self.normal, *self.weights) for q in v]
        p += [q for across, along in self.points_on_segments for q in (*across, along)]
        return {primitive(q) for q in p if len(q) > 1}


def _minus(x: Vector, y: Vector) -> Vector:
    return (add(x[0], y[0], -1), add(x[1], y[1], -1), add(x[2], y[2], -1))


def _cross(x: Vector, y: Vector) -> Vector:
    def minor(i: int, j: int) -> Polynomial:
        return add(multiply(x[i], y[j]), multiply(x[j], y[i]), -1)

    return (minor(1, 2), minor(2, 0), minor(0, 1))


def _dot(x: Vector, y: Vector) -> Polynomial:
    return add(add(multiply(x[0], y[0]), multiply(x[1], y[1])), multiply(x[2], y[2]))


def _integers(values: Sequence[float]) -> list[int]:
    """The doubles times one power of two that makes all of them integers; a common factor is taken out."""
    ratios = [x.as_integer_ratio() for x in values]
    scale = max(d for _, d in ratios)
    integers = [n * (scale // d) for n, d in ratios]
    common = math.gcd(*integers)
    return [n // common for n in integers] if common else integers


def _boxes_apart(kind: Kind, start: np.ndarray, end: np.ndarray) -> bool:
    split = 1 if kind == "vertex-face" else 2
    low, high = np.minimum(start, end), np.maximum(start, end)
    return bool((low[:split].min(axis=0) > high[split:].max(axis=0)).any() or (low[split:].min(axis=0) > high[:split].max(axis=0)).any())


def solve(kind: Kind, start: np.ndarray, end: np.ndarray) -> Answer:
    """The answer for one pair: positions (4, 3) at the start and the end of the step."""
    if _boxes_apart(kind, start, end):
        return _NOTHING
    flat = _integers([*start.ravel().tolist(), *end.ravel().tolist()])
    rows = [flat[i : i + 3] for i in range(0, 24, 3)]
    pair = _Pair(kind, rows[:4], rows[4:])
    return _solve_coplanar(pair) if not pair.cubic else _solve_cubic(pair)


def _solve_cubic(pair: _Pair) -> Answer:
    rest = primitive(pair.cubic)
    found = []
    boundary = False
    # Roots at the ends of the step are taken out first.
    if rest[0] == 0:
        if pair.contact(instant(0)):
            boundary = True
            found.append(instant(0))
        while rest[0] == 0:
            rest = rest[1:]
    if sum(rest) == 0:
        if pair.contact(instant(1)):
            boundary = True
            found.append(instant(1))
        while sum(rest) == 0:
            rest = quotient(rest, (-1, 1))
    interior = 0
    for factor, multiplicity in _squarefree_factors(rest):
        for time in roots_within(factor):
            contact = pair.contact(time)
            if contact:
                found.append(time)
            boundary |= contact == 2
            interior += multiplicity if contact == 1 else 0
    first = min(found, key=functools.cmp_to_key(Time.order)) if found else None
    return Answer(boundary, interior, len(found), False, first)


def _solve_coplanar(pair: _Pair) -> Answer:
    times = [instant(0), instant(1)]
    for p in pair.critical_polynomials():
        for factor, _ in _squarefree_factors(p):
            times += roots_within(factor)
    times.sort(key=functools.cmp_to_key(Time.order))
    distinct = [times[0]] + [t for s, t in itertools.pairwise(times) if s.order(t)]
    found = [t for t in distinct if pair.contact(t)]
    infinite = bool(found) and any(pair.contact(_between(s, t)) for s, t in itertools.pairwise(distinct))
    return Answer(bool(found), 0, len(found), infinite, found[0] if found else None)


def _between(s: Time, t: Time) -> Time:
    """A time with a finite binary expansion strictly between two others."""
    width = Fraction(1, 4)
    while True:
        low, high = s.bracket(width)[1], t.bracket(width)[0]
        if low < high:
            middle = (low + high) / 2
            return Time((-middle.numerator, middle.denominator), middle.numerator, middle.denominator.bit_length() - 1, True)
        width /= 4


def solve_all(kind: Kind, start: np.ndarray, end: np.ndarray) -> list[Answer]:
    """The answers for n pairs: positions (n, 4, 3)."""
    return [solve(kind, s, e) for s, e in zip(start, end, strict=True)]


def touches(kind: Kind, points: np.ndarray) -> bool:
    """Return whether two elements at rest touch. The rims belong to them."""
    flat = _integers(points.ravel().tolist())
    rows = [flat[i : i + 3] for i in range(0, 12, 3)]
    pair = _Pair(kind, rows, rows)
    return not pair.cubic and pair.contact(instant(0)) > 0


def _orientation(x: Sequence[Sequence[int]], i: int, j: int, k: int, m: int) -> int:
    a, b, c = ([x[q][d] - x[i][d] for d in range(3)] for q in (j, k, m))
    return _sign(a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]))


def edge_meets_face(points: np.ndarray) -> bool:
    """Return whether the edge points[0], points[1] meets the face points[2:5]. The rims belong to them.

    Two closed convex sets of these kinds meet if an end of the edge lies on the face, if the edge meets a side of the face, or if
    the edge goes through the interior from one side of the plane to the other.
    """
    flat = _integers(points.ravel().tolist())
    x = [flat[i : i + 3] for i in range(0, 15, 3)]
    if _orientation(x, 2, 3, 4, 0) * _orientation(x, 2, 3, 4, 1) < 0:
        turns = {_orientation(x, 0, 1, i, j) for i, j in ((2, 3), (3, 4), (4, 2))}
        if turns in ({1}, {-1}):
            return True
    return any(touches("vertex-face", points[[i, 2, 3, 4]]) for i in (0, 1)) or any(
        touches("edge-edge", points[[0, 1, i, j]]) for i, j in ((2, 3), (3, 4), (4, 2))
    )

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

Kind = Literal["vertex-face", "edge-edge"]
KINDS: tuple[Kind, Kind] = ("vertex-face", "edge-edge")

Polynomial = tuple[int, ...]
"""Coefficients, constant first; the last one is not zero. Zero is the empty tuple."""
Vector = tuple[Polynomial, Polynomial, Polynomial]


# --- polynomials with integer coefficients -------------------------------------------------------------------------------------------


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)


def _trimmed(p: Sequence[int]) -> Polynomial:
    n = len(p)
    while n and p[n - 1] == 0:
        n -= 1
    return tuple(p[:n])


def _primitive(p: Polynomial) -> Polynomial:
    """Without the common factor of the coefficients; the sign stays."""
    g = math.gcd(*p) if p else 1
    return p if g == 1 else tuple(x // g for x in p)


def _add(p: Polynomial, q: Polynomial, factor: int = 1) -> Polynomial:
    n = max(len(p), len(q))
    return _trimmed([(p[i] if i < len(p) else 0) + factor * (q[i] if i < len(q) else 0) for i in range(n)])


def _multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    if not p or not q:
        return ()
    r = [0] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            r[i + j] += x * y
    return _trimmed(r)


def _derivative(p: Polynomial) -> Polynomial:
    return tuple(i * x for i, x in enumerate(p))[1:]


def _remainder(p: Polynomial, q: Polynomial) -> Polynomial:
    """A positive multiple of the remainder of p / q."""
    lead = abs(q[-1])
    flip = _sign(q[-1])
    while len(p) >= len(q):
        shift = len(p) - len(q)
        factor = flip * p[-1]
        p = _trimmed([lead * x - (factor * q[i - shift] if i >= shift else 0) for i, x in enumerate(p)])
    return _primitive(p)


def _quotient(p: Polynomial, q: Polynomial) -> Polynomial:
    """p / q up to a positive factor, where q divides p over the rationals."""
    lead = abs(q[-1])
    quotient = [0] * (len(p) - len(q) + 1)
    while len(p) >= len(q):
        shift = len(p) - len(q)
        factor = _sign(q[-1]) * p[-1]
        quotient = [lead * x for x in quotient]
        quotient[shift] = factor
        p = _trimmed([lead * x - (factor * q[i - shift] if i >= shift else 0) for i, x in enumerate(p)])
    assert not p
    return _primitive(_trimmed(quotient))


def _gcd(p: Polynomial, q: Polynomial) -> Polynomial:
    while q:
        p, q = q, _remainder(p, q) if len(p) >= len(q) else p
    return _primitive(p)


def _value(p: Polynomial, m: int, k: int) -> int:
    """A positive multiple of p(m / 2^k)."""
    r = 0
    for i, x in enumerate(reversed(p)):
        r = r * m + (x << (k * i))
    return r


def _squarefree_factors(p: Polynomial) -> Iterator[tuple[Polynomial, int]]:
    """Factors without multiple roots, and the multiplicity that their roots have in p (Yun's algorithm)."""
    common = _gcd(p, _derivative(p))
    simple = _quotient(p, common)
    multiplicity = 1
    while len(simple) > 1:
        more = _gcd(simple, common)
        factor = _quotient(simple, more)
        if len(factor) > 1:
            yield factor, multiplicity
        simple, common = more, _quotient(common, more)
        multiplicity += 1


# --- times --------------------------------------------------------------------------------------------------------------------------


class Time:
    """A real root of a polynomial without multiple roots: m / 2^k itself, or the only root within ]m / 2^k, (m + 1) / 2^k[."""

    def __init__(self, polynomial: Polynomial, m: int, k: int, exact: bool) -> None:
        self._polynomial = polynomial
        self._m = m
        self._k = k
        self._exact = exact
        # Where the lower end is another root, the sign right of it is that of the derivative, which is not zero there.
        self._sign_below = 0 if exact else _sign(_value(polynomial, m, k)) or _sign(_value(_derivative(polynomial), m, k))

    def bracket(self, width: Fraction = Fraction(1, 1 << 60)) -> tuple[Fraction, Fraction]:
        """Rational bounds, equal or at most `width` apart."""
        while not self._exact and Fraction(1, 1 << self._k) > width:
            self._halve()
        low = Fraction(self._m, 1 << self._k)
        return low, low if self._exact else Fraction(self._m + 1, 1 << self._k)

    def compare(self, x: Fraction) -> int:
        """The sign of this time minus x."""
        return self.sign_of(_trimmed((-x.numerator, x.denominator)))

    def __float__(self) -> float:
        low, high = self.bracket(Fraction(1, 1 << 80))
        return float((low + high) / 2)

    def sign_of(self, p: Polynomial) -> int:
        """The sign of a polynomial of degree 2 or less at this time."""
        if not p:
            return 0
        if len(p) == 1:
            return _sign(p[0])
        attempts = 0
        while not self._exact:
            s = self._sign_on_bracket(p)
            if s is not None:
                return s
            if attempts == 8 and self._is_root_of(_gcd(self._polynomial, p)):
                return 0
            attempts += 1
            self._halve()
        return _sign(_value(p, self._m, self._k))

    def order(self, other: Time) -> int:
        """The sign of this time minus another one."""
        if self._exact:
            return -other.compare(Fraction(self._m, 1 << self._k))
        if other._exact:
            return self.compare(Fraction(other._m, 1 << other._k))
        attempts = 0
        while True:
            if self._exact or other._exact:
                return self.order(other)
            a, b = self.bracket(Fraction(1)), other.bracket(Fraction(1))
            if a[1] <= b[0]:
                return -1
            if b[1] <= a[0]:
                return 1
            # The brackets are halves of halves of the same interval: one contains the other.
            inner = self if self._k >= other._k else other
            if attempts == 8 and inner._is_root_of(_gcd(self._polynomial, other._polynomial)):
                return 0
            attempts += 1
            (other if inner is self else self)._halve()

    def _is_root_of(self, divisor: Polynomial) -> bool:
        """Is this time a root of a divisor of its polynomial? The divisor has no other root within the bracket, and that one is simple."""
        if len(divisor) < 2:
            return False
        below = _sign(_value(divisor, self._m, self._k)) or _sign(_value(_derivative(divisor), self._m, self._k))
        above = _sign(_value(divisor, self._m + 1, self._k)) or -_sign(_value(_derivative(divisor), self._m + 1, self._k))
        return below != above

    def _halve(self) -> None:
        m, k = 2 * self._m + 1, self._k + 1
        s = _sign(_value(self._polynomial, m, k))
        self._k = k
        if s == 0:
            self._m, self._exact = m, True
        else:
            self._m = m if s == self._sign_below else m - 1

    def _sign_on_bracket(self, p: Polynomial) -> int | None:
        """The sign of p within the open bracket, if its three Bernstein coefficients there agree."""
        m, one = self._m, 1 << self._k
        c0, c1 = p[0] * one * one, p[1] * one
        c2 = p[2] if len(p) > 2 else 0
        low = c0 + (c1 + c2 * m) * m
        high = c0 + (c1 + c2 * (m + 1)) * (m + 1)
        middle = 2 * c0 + c1 * (2 * m + 1) + 2 * c2 * m * (m + 1)
        if low >= 0 and high >= 0 and middle >= 0:
            return 1
        if low <= 0 and high <= 0 and middle <= 0:
            return -1
        return None


def _instant(t: int) -> Time:
    return Time((-t, 1), t, 0, True)


def _roots_within(p: Polynomial) -> list[Time]:
    """The roots in ]0, 1[ of a polynomial without multiple roots, isolated by its Sturm sequence."""
    chain = [p, _derivative(p)]
    while len(chain[-1]) > 1:
        chain.append(tuple(-x for x in _remainder(chain[-2], chain[-1])))

    def variations(m: int, k: int) -> int:
        signs = [s for s in (_sign(_value(q, m, k)) for q in chain) if s]
        return sum(s != r for s, r in itertools.pairwise(signs))

    result = []
    todo = [(0, 0, variations(0, 0), variations(1, 0))]
    while todo:
        m, k, before, after = todo.pop()
        # The difference counts the roots in ]low, high].
        inside = before - after - (_value(p, m + 1, k) == 0)
        if inside == 1:
            result.append(Time(p, m, k, False))
        elif inside > 1:
            middle = variations(2 * m + 1, k + 1)
            if _value(p, 2 * m + 1, k + 1) == 0:
                result.append(Time(p, 2 * m + 1, k + 1, True))
            todo += [(2 * m, k + 1, before, middle), (2 * m + 1, k + 1, middle, after)]
    return result


# --- one pair -----------------------------------------------------------------------------------------------------------------------


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
            tuple(_trimmed((p, q - p)) for p, q in zip(p0, p1, strict=True)) for p0, p1 in zip(start, end, strict=True)
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
        return {_primitive(q) for q in p if len(q) > 1}


def _minus(x: Vector, y: Vector) -> Vector:
    return (_add(x[0], y[0], -1), _add(x[1], y[1], -1), _add(x[2], y[2], -1))


def _cross(x: Vector, y: Vector) -> Vector:
    def minor(i: int, j: int) -> Polynomial:
        return _add(_multiply(x[i], y[j]), _multiply(x[j], y[i]), -1)

    return (minor(1, 2), minor(2, 0), minor(0, 1))


def _dot(x: Vector, y: Vector) -> Polynomial:
    return _add(_add(_multiply(x[0], y[0]), _multiply(x[1], y[1])), _multiply(x[2], y[2]))


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
    rest = _primitive(pair.cubic)
    found = []
    boundary = False
    # Roots at the ends of the step are taken out first.
    if rest[0] == 0:
        if pair.contact(_instant(0)):
            boundary = True
            found.append(_instant(0))
        while rest[0] == 0:
            rest = rest[1:]
    if sum(rest) == 0:
        if pair.contact(_instant(1)):
            boundary = True
            found.append(_instant(1))
        while sum(rest) == 0:
            rest = _quotient(rest, (-1, 1))
    interior = 0
    for factor, multiplicity in _squarefree_factors(rest):
        for time in _roots_within(factor):
            contact = pair.contact(time)
            if contact:
                found.append(time)
            boundary |= contact == 2
            interior += multiplicity if contact == 1 else 0
    first = min(found, key=functools.cmp_to_key(Time.order)) if found else None
    return Answer(boundary, interior, len(found), False, first)


def _solve_coplanar(pair: _Pair) -> Answer:
    times = [_instant(0), _instant(1)]
    for p in pair.critical_polynomials():
        for factor, _ in _squarefree_factors(p):
            times += _roots_within(factor)
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


# --- elements at rest ---------------------------------------------------------------------------------------------------------------


def touches(kind: Kind, points: np.ndarray) -> bool:
    """Return whether two elements at rest touch. The rims belong to them."""
    flat = _integers(points.ravel().tolist())
    rows = [flat[i : i + 3] for i in range(0, 12, 3)]
    pair = _Pair(kind, rows, rows)
    return not pair.cubic and pair.contact(_instant(0)) > 0


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

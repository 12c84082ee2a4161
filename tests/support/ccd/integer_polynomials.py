"""Polynomials with integer coefficients, and their real roots as exact times."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

Polynomial = tuple[int, ...]
"""Coefficients, constant first; the last one is not zero. Zero is the empty tuple."""


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)


def trimmed(p: Sequence[int]) -> Polynomial:
    n = len(p)
    while n and p[n - 1] == 0:
        n -= 1
    return tuple(p[:n])


def primitive(p: Polynomial) -> Polynomial:
    """Without the common factor of the coefficients; the sign stays."""
    g = math.gcd(*p) if p else 1
    return p if g == 1 else tuple(x // g for x in p)


def add(p: Polynomial, q: Polynomial, factor: int = 1) -> Polynomial:
    n = max(len(p), len(q))
    return trimmed([(p[i] if i < len(p) else 0) + factor * (q[i] if i < len(q) else 0) for i in range(n)])


def multiply(p: Polynomial, q: Polynomial) -> Polynomial:
    if not p or not q:
        return ()
    r = [0] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            r[i + j] += x * y
    return trimmed(r)


def _derivative(p: Polynomial) -> Polynomial:
    return tuple(i * x for i, x in enumerate(p))[1:]


def _remainder(p: Polynomial, q: Polynomial) -> Polynomial:
    """A positive multiple of the remainder of p / q."""
    lead = abs(q[-1])
    flip = _sign(q[-1])
    while len(p) >= len(q):
        shift = len(p) - len(q)
        factor = flip * p[-1]
        p = trimmed([lead * x - (factor * q[i - shift] if i >= shift else 0) for i, x in enumerate(p)])
    return primitive(p)


def quotient(p: Polynomial, q: Polynomial) -> Polynomial:
    """p / q up to a positive factor, where q divides p over the rationals."""
    lead = abs(q[-1])
    quotient = [0] * (len(p) - len(q) + 1)
    while len(p) >= len(q):
        shift = len(p) - len(q)
        factor = _sign(q[-1]) * p[-1]
        quotient = [lead * x for x in quotient]
        quotient[shift] = factor
        p = trimmed([lead * x - (factor * q[i - shift] if i >= shift else 0) for i, x in enumerate(p)])
    assert not p
    return primitive(trimmed(quotient))


def _gcd(p: Polynomial, q: Polynomial) -> Polynomial:
    while q:
        p, q = q, _remainder(p, q) if len(p) >= len(q) else p
    return primitive(p)


def _value(p: Polynomial, m: int, k: int) -> int:
    """A positive multiple of p(m / 2^k)."""
    r = 0
    for i, x in enumerate(reversed(p)):
        r = r * m + (x << (k * i))
    return r


def _squarefree_factors(p: Polynomial) -> Iterator[tuple[Polynomial, int]]:
    """Factors without multiple roots, and the multiplicity that their roots have in p (Yun's algorithm)."""
    common = _gcd(p, _derivative(p))
    simple = quotient(p, common)
    multiplicity = 1
    while len(simple) > 1:
        more = _gcd(simple, common)
        factor = quotient(simple, more)
        if len(factor) > 1:
            yield factor, multiplicity
        simple, common = more, quotient(common, more)
        multiplicity += 1


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
        return self.sign_of(trimmed((-x.numerator, x.denominator)))

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


def instant(t: int) -> Time:
    return Time((-t, 1), t, 0, True)


def roots_within(p: Polynomial) -> list[Time]:
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

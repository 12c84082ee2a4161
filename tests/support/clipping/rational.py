"""Volumes of clipped tetrahedra in rational arithmetic: an answer to compare with that has no error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

Vector = tuple[Fraction, ...]
Tet = tuple[Vector, ...]
Plane = Callable[[Vector], Fraction]


def exact(tet: Iterable[Iterable[float]]) -> Tet:
    return tuple(tuple(Fraction(float(x)) for x in corner) for corner in tet)


def determinant(tet: Sequence[Vector]) -> Fraction:
    """Six times the signed volume."""
    a, b, c = ([x - y for x, y in zip(corner, tet[0], strict=True)] for corner in tet[1:])
    minors = (b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0])
    return sum((x * minor for x, minor in zip(a, minors, strict=True)), Fraction(0))


def volume(tet: Sequence[Vector]) -> Fraction:
    return abs(determinant(tet)) / 6


def faces_of(tet: Tet) -> list[Plane]:
    """Functions that are positive on the inner sides of the faces."""
    side = 1 if determinant(tet) > 0 else -1

    def plane(k: int) -> Plane:
        return lambda x: side * determinant([x if i == k else corner for i, corner in enumerate(tet)])

    return [plane(k) for k in range(4)]


def clipped(tets: Iterable[Tet], plane: Plane) -> list[Tet]:
    """Tetrahedra that fill the part where the plane is positive: a corner, or a prism in three."""
    found: list[Tet] = []
    for tet in tets:
        value = [plane(x) for x in tet]
        kept = [i for i in range(4) if value[i] > 0]
        lost = [i for i in range(4) if value[i] <= 0]

        def cut(i: int, j: int, tet: Tet = tet, value: list[Fraction] = value) -> Vector:
            t = value[i] / (value[i] - value[j])
            return tuple(a + t * (b - a) for a, b in zip(tet[i], tet[j], strict=True))

        if len(kept) == 4:
            found.append(tet)
        elif len(kept) == 1:
            found.append((tet[kept[0]], *(cut(kept[0], j) for j in lost)))
        elif kept:
            if len(kept) == 3:
                bottom, top = [tet[i] for i in kept], [cut(i, lost[0]) for i in kept]
            else:
                bottom, top = ([tet[i], cut(i, lost[0]), cut(i, lost[1])] for i in kept)
            found += [(*bottom, top[2]), (bottom[0], bottom[1], top[1], top[2]), (bottom[0], *top)]
    return found


def overlap_volume(a: Iterable[Iterable[float]], b: Iterable[Iterable[float]]) -> Fraction:
    x, y = exact(a), exact(b)
    if determinant(x) == 0 or determinant(y) == 0:
        return Fraction(0)
    parts = [x]
    for plane in faces_of(y):
        parts = clipped(parts, plane)
    return sum((volume(part) for part in parts), Fraction(0))


def fraction_below(values: Iterable[float]) -> Fraction:
    """Part of the unit tetrahedron where the linear function with these values at its corners is <= 0."""
    phi = [Fraction(float(v)) for v in values]
    if not any(phi):
        return Fraction(1)
    unit = exact([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    parts = clipped([unit], lambda x: -phi[0] - sum((p - phi[0]) * c for p, c in zip(phi[1:], x, strict=True)))
    return 6 * sum((volume(part) for part in parts), Fraction(0))

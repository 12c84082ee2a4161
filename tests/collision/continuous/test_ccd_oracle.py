"""Oracle of continuous collision detection against known cases, symmetries and a conservation law."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from support.ccd import cases, oracle, queries
from support.ccd.oracle import KINDS, Answer, Kind
from support.variants import slow_but


@pytest.mark.parametrize("case", cases.CASES, ids=lambda c: c.name)
def test_known_cases(case: cases.Case) -> None:
    answer = oracle.solve(case.kind, case.start, case.end)
    assert (answer.boundary, answer.interior) == (case.boundary, case.interior)
    assert (answer.first is None) == (case.first is None)
    if answer.first is not None and case.first is not None:
        assert float(answer.first) == pytest.approx(case.first, abs=1e-6)


# The same numbers stand in tests/cpp/collision/continuous/ccd_oracle_test.cpp.
CHECKSUMS = {
    ("grid", "vertex-face"): 0xA9CD041B04C69A4E,
    ("grid", "edge-edge"): 0x663BCF48BD4F9FDA,
    ("wide grid", "vertex-face"): 0xB125F833EB5F3A3C,
    ("wide grid", "edge-edge"): 0x637B62B83696FDC9,
    ("fractions", "vertex-face"): 0x1FD435738B0AA8AF,
    ("fractions", "edge-edge"): 0x31BBEE450097BF15,
    ("plane", "vertex-face"): 0xD2539484A40AAA8F,
    ("plane", "edge-edge"): 0xFA6C15F3F3F69206,
    ("touch", "vertex-face"): 0x23246AC803C4945F,
    ("touch", "edge-edge"): 0xFE4828BC0AE47CE2,
    ("scales", "vertex-face"): 0xA9CD041B04C69A4E,
    ("scales", "edge-edge"): 0x663BCF48BD4F9FDA,
}


@pytest.mark.parametrize(("name", "kind"), CHECKSUMS)
def test_same_as_in_cpp(name: str, kind: Kind) -> None:
    total = 0xCBF29CE484222325
    for answer in oracle.solve_all(kind, *queries.shared(name, 20120701, 500, kind)):
        first = 0 if answer.first is None else int(answer.first.bracket(Fraction(1, 1 << 20))[0] * (1 << 20)) + 1
        code = answer.boundary | answer.interior << 1 | min(answer.times, 15) << 3 | answer.infinite << 7 | first << 8
        total = (total ^ code) * 0x100000001B3 % (1 << 64)
    assert hex(total) == hex(CHECKSUMS[name, kind])


def _summary(answer: Answer) -> tuple[bool, int, int, bool]:
    return answer.boundary, answer.interior, answer.times, answer.infinite


@pytest.mark.parametrize("kind", slow_but(KINDS, "vertex-face"))
def test_symmetries(kind: Kind, rng: np.random.Generator) -> None:
    """Corners in another order, the mirror image, another scale, and the motion backwards."""
    start, end = queries.mixture(queries.DEGENERATE, rng, 120, kind)
    orders = [[0, 2, 3, 1], [0, 1, 3, 2]] if kind == "vertex-face" else [[1, 0, 2, 3], [2, 3, 0, 1], [3, 2, 1, 0]]
    for s, e in zip(start, end, strict=True):
        answer = oracle.solve(kind, s, e)
        for order in orders:
            other = oracle.solve(kind, s[order], e[order])
            assert _summary(other) == _summary(answer)
            assert (other.first is None) or other.first.order(answer.first) == 0  # type: ignore[arg-type]
        assert _summary(oracle.solve(kind, -s[:, ::-1], -e[:, ::-1])) == _summary(answer)
        assert _summary(oracle.solve(kind, e, s)) == _summary(answer)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", [*queries.GENERIC, "far_away", "hair"])
def test_generic_answers_against_floating_point(family: str, kind: Kind, rng: np.random.Generator) -> None:
    """Roots of the cubic in floating point, where they are far from every border."""
    start, end = {**queries.GENERIC, **queries.DEGENERATE}[family](rng, 300, kind)
    judged = 0
    for s, e in zip(start, end, strict=True):
        i, j, k = ((1, 2), (1, 3), (1, 0)) if kind == "vertex-face" else ((0, 1), (2, 3), (0, 2))
        a, b, c = (np.stack([s[q] - s[p], (e[q] - e[p]) - (s[q] - s[p])]) for p, q in (i, j, k))
        cubic = sum(
            sign * np.convolve(np.convolve(a[::-1, x], b[::-1, y]), c[::-1, z])
            for x, y, z in itertools.permutations(range(3))
            for sign in [np.linalg.det(np.eye(3)[[x, y, z]])]
        )
        count, clear = 0, True
        for root in np.roots(cubic):
            if abs(root.imag) < 1e-3 and -1e-3 < root.real < 1.001:
                at, bt, ct = (v[0] + root.real * v[1] for v in (a, b, c))
                u, v = np.linalg.lstsq(np.stack([at, bt], axis=1), ct, rcond=None)[0]
                inside = [u, v, 1 - u - v] if kind == "vertex-face" else [u, -v, 1 - u, 1 + v]
                clear &= abs(root.imag) == 0 and min(abs(x) for x in [*inside, root.real, 1 - root.real]) > 1e-3
                count += min([*inside, root.real, 1 - root.real]) > 0
        if clear:
            judged += 1
            assert _summary(oracle.solve(kind, s, e))[:2] == (False, count)
    assert judged > 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("family", "time"),
    [("touching_at_start", 0.0), ("touching_at_end", 1.0), ("touching_midway", 0.5), ("touching_at_quarter", 0.25)],
)
def test_constructed_contacts(family: str, time: float, kind: Kind, rng: np.random.Generator) -> None:
    start, end = queries.DEGENERATE[family](rng, 100, kind)
    for s, e in zip(start, end, strict=True):
        answer = oracle.solve(kind, s, e)
        assert answer.first is not None
        assert answer.first.compare(Fraction(time)) <= 0
        assert oracle.touches(kind, (1 - time) * s + time * e)
        assert answer.boundary or 0 < time < 1


@pytest.mark.parametrize("kind", KINDS)
def test_multiplicities(kind: Kind, rng: np.random.Generator) -> None:
    for name, multiplicity in (("double_roots", 2), ("triple_roots", 3)):
        for answer in oracle.solve_all(kind, *queries.DEGENERATE[name](rng, 50, kind)):
            assert _summary(answer) == (False, multiplicity, 1, False)


@pytest.mark.slow
def test_roots_and_intersections_are_conserved(rng: np.random.Generator) -> None:
    """Whether an edge meets a face changes as often as one of their five pairs of parts collides (Brochu 2012, section 4.5.1)."""
    changes = 0
    for largest in (3, 20):
        for _ in range(400):
            start, end = (rng.integers(-largest, largest + 1, (5, 3)).astype(float) for _ in range(2))
            pairs: list[tuple[Kind, list[int]]] = [("vertex-face", [i, 2, 3, 4]) for i in (0, 1)]
            pairs += [("edge-edge", [0, 1, i, j]) for i, j in ((2, 3), (3, 4), (4, 2))]
            answers = [oracle.solve(kind, start[rows], end[rows]) for kind, rows in pairs]
            if not any(a.boundary for a in answers):
                before, after = oracle.edge_meets_face(start), oracle.edge_meets_face(end)
                assert (before != after) == (sum(a.parity for a in answers) % 2 == 1)
                changes += before != after
    assert changes > 50

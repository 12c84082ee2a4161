"""Continuous collision detection of pairs against exact answers in Python integers, and over the candidates of public frames."""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from support.ccd import cases, oracle, queries
from support.ccd.oracle import KINDS, Answer, Kind
from support.collision import FRAMES, public_frames
from support.variants import slow

import meniscus as ms

Mode = Literal["parity", "any"]


def contacts(kind: Kind, start: np.ndarray, end: np.ndarray, mode: Mode) -> np.ndarray:
    function = ms.collision.vertex_face if kind == "vertex-face" else ms.collision.edge_edge
    return function(start, end, mode=mode)


TIMES: dict[Kind, Callable[..., np.ndarray]] = {
    "vertex-face": ms.collision.time_of_impact_vertex_face,
    "edge-edge": ms.collision.time_of_impact_edge_edge,
}


@functools.cache
def questions(kind: Kind, count: int) -> tuple[np.ndarray, np.ndarray, list[Answer]]:
    """Queries, most of them generic, with their exact answers."""
    rng = np.random.default_rng(2012)
    generic = 7 * count // 10
    parts = [queries.mixture(queries.GENERIC, rng, generic, kind), queries.mixture(queries.DEGENERATE, rng, count - generic, kind)]
    start, end = (np.concatenate([p[k] for p in parts]) for k in range(2))
    return start, end, oracle.solve_all(kind, start, end)


def first_difference(kind: Kind, got: np.ndarray, expected: np.ndarray) -> str:
    start, end, _ = questions(kind, len(got))
    i = int(np.flatnonzero(got != expected)[0])
    return f"{np.count_nonzero(got != expected)} differences, the first: {start[i].tolist()} -> {end[i].tolist()}"


@pytest.mark.parametrize("mode", ["parity", "any"])
@pytest.mark.parametrize("case", cases.CASES, ids=lambda c: c.name)
def test_known_cases(case: cases.Case, mode: Mode) -> None:
    assert contacts(case.kind, case.start[None], case.end[None], mode).tolist() == [getattr(case, mode)]


@pytest.mark.parametrize("case", cases.CASES, ids=lambda c: c.name)
def test_times_of_known_cases(case: cases.Case) -> None:
    (time,) = TIMES[case.kind](case.start[None], case.end[None], tolerance=1e-7)
    if case.first is None:
        assert time == np.inf
    else:
        assert case.first - 1.2e-6 <= time <= case.first + 1e-6
        assert time > 0 or case.first == 0


MANY = pytest.mark.parametrize("count", [1000, slow(10_000)])


@MANY
@pytest.mark.parametrize("mode", ["parity", "any"])
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_exact_answers(kind: Kind, mode: Mode, count: int) -> None:
    start, end, answers = questions(kind, count)
    expected = np.array([getattr(a, mode) for a in answers])
    got = contacts(kind, start, end, mode)
    assert (got == expected).all(), first_difference(kind, got, expected)
    assert expected.sum() > count // 10


@MANY
@pytest.mark.parametrize("tolerance", [1e-6, 0.1, 1e-13])
@pytest.mark.parametrize("kind", KINDS)
def test_times_are_certified(kind: Kind, tolerance: float, count: int) -> None:
    start, end, answers = questions(kind, count)
    times = TIMES[kind](start, end, tolerance=tolerance)
    slack = Fraction(tolerance)
    for i, (answer, time) in enumerate(zip(answers, times.tolist(), strict=True)):
        if answer.first is None:
            right = time == np.inf
        elif answer.first.compare(Fraction(0)) == 0:
            right = time == 0
        else:
            right = 0 <= time <= 1 and answer.first.compare(Fraction(time)) >= 0 >= answer.first.compare(Fraction(time) + slack)
        assert right, f"{time} for {start[i].tolist()} -> {end[i].tolist()}"


@MANY
@pytest.mark.parametrize("kind", KINDS)
def test_order_of_points_and_pairs_does_not_matter(kind: Kind, count: int) -> None:
    start, end, _ = questions(kind, count)
    orders = [[0, 2, 3, 1], [0, 1, 3, 2]] if kind == "vertex-face" else [[1, 0, 2, 3], [2, 3, 0, 1]]
    modes: tuple[Mode, Mode] = ("parity", "any")
    for mode in modes:
        expected = contacts(kind, start, end, mode)
        for order in orders:
            got = contacts(kind, np.ascontiguousarray(start[:, order]), np.ascontiguousarray(end[:, order]), mode)
            assert (got == expected).all(), first_difference(kind, got, expected)
        got = contacts(kind, start[::-1].copy(), end[::-1].copy(), mode)[::-1]
        assert (got == expected).all(), first_difference(kind, got, expected)


@pytest.mark.parametrize("name", ["cloth-funnel", pytest.param("cloth-ball", marks=pytest.mark.slow)])
def test_public_frames(name: str) -> None:
    """All candidates of pairs of frames with published answers, as arrays of pairs."""
    assert name in FRAMES
    frames = public_frames(name)
    scene = frames.scene
    expected_odd = {"cloth-funnel": (27, 106), "cloth-ball": (18744, 92305)}[name]
    candidates = ms.collision.CollisionMesh(scene.edges, scene.triangles).candidates(scene.start, scene.end)
    elements: dict[Kind, np.ndarray] = {
        "vertex-face": np.column_stack([candidates.vertex_face[:, 0], scene.triangles[candidates.vertex_face[:, 1]]]),
        "edge-edge": scene.edges[candidates.edge_edge].reshape(-1, 4),
    }
    for (kind, rows), pairs, odd in zip(elements.items(), candidates, expected_odd, strict=True):
        key = kind.replace("-", "_")
        truth = {tuple(p) for p in frames.listed[key][frames.collides[key]].tolist()}
        touching: set[tuple[int, ...]] = set()
        crossing = 0
        for i in range(0, len(rows), 500_000):
            start, end = scene.start[rows[i : i + 500_000]], scene.end[rows[i : i + 500_000]]
            found = np.sort(pairs[i : i + 500_000][contacts(kind, start, end, "any")], axis=1) if kind == "edge-edge" else None
            if found is None:
                found = pairs[i : i + 500_000][contacts(kind, start, end, "any")]
            touching |= {tuple(p) for p in found.tolist()}
            crossing += int(contacts(kind, start, end, "parity").sum())
        assert touching == truth
        assert crossing == odd
    # The oracle agrees with what was published, on every pair that collides and a sample of the others.
    if name == "cloth-funnel":
        for kind, rows in elements.items():
            chosen = np.union1d(np.flatnonzero(contacts(kind, scene.start[rows], scene.end[rows], "any")), np.arange(0, len(rows), 50))
            answers = oracle.solve_all(kind, scene.start[rows[chosen]], scene.end[rows[chosen]])
            touches = contacts(kind, scene.start[rows[chosen]], scene.end[rows[chosen]], "any")
            assert [a.any for a in answers] == touches.tolist()

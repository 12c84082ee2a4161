"""Repulsion remembers sides: elements that pass each other come back, and those that only rotate are left where they are."""

import numpy as np
import pytest
from support.contact.repulsion import single_pair

from meniscus.collision import SideMemory

KINDS = ("vertex-face", "edge-edge")
STEPS = 16


def first_element(kind: str) -> slice:
    return slice(0, 1 if kind == "vertex-face" else 2)


def height(kind: str, x: np.ndarray) -> float:
    return float(x[0, 2] - x[-1, 2]) if kind == "edge-edge" else float(x[0, 2] - (0.45 * x[1] + 0.25 * x[2] + 0.3 * x[3])[2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("depth", [0.01, 0.1, 0.35])
def test_elements_that_passed_each_other_return_within_a_loop(kind: str, side: int, depth: float) -> None:
    """At most a tenth of the overlap goes in a step; without history they are pushed apart on the wrong side."""
    ends = {}
    for history in (True, False):
        repulsion, x = single_pair(kind, side * 0.05, sides=SideMemory(history=history), stiffness=1e9)
        x[first_element(kind), 2] = -side * depth
        for step in range(STEPS):
            v = np.zeros((4, 3))
            report = repulsion.push(x, v, 0.01)
            if step == 0:
                # Of the wrong side, deeper than 0.1 m, the side is unknown.
                assert report.inverted == (1 if history else 0)
                assert report.largest_overlap == pytest.approx(0.1 + depth if history else max(0.1 - depth, 0), abs=1e-12)
            x += 0.01 * v
        ends[history] = side * height(kind, x)
    assert ends[True] > 0
    assert ends[False] < 0


@pytest.mark.parametrize("kind", KINDS)
def test_inverted_pairs_beyond_the_reach_are_left_alone(kind: str) -> None:
    for reach, active in ((2.0, 0), (4.0, 1), (np.inf, 1)):
        repulsion, x = single_pair(kind, 0.05, sides=SideMemory(reach=reach))
        x[first_element(kind), 2] = -0.3
        assert repulsion.push(x, np.zeros((4, 3)), 0.01).active == active


def rotated(x: np.ndarray, angle: float, axis: int) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = [d for d in range(3) if d != axis]
    r = np.eye(3)
    r[i, i], r[i, j], r[j, i], r[j, j] = c, -s, s, c
    return x @ r.T


def test_edges_that_rotate_by_half_a_turn_stay_on_their_side() -> None:
    """The printed test inverts a pair that rotates as one body, unless it never inverts any."""
    for options, inverted in (
        ({}, 0),
        ({"sides": SideMemory(edge_history="direction")}, 1),
        ({"sides": SideMemory(edge_history="direction", flip=-1.5)}, 0),
    ):
        repulsion, x = single_pair("edge-edge", 0.05, **options)
        for axis in (0, 1):
            report = repulsion.push(rotated(x, np.pi, axis), np.zeros((4, 3)), 0.01)
            assert report[1:3] == (1, inverted)
            assert report.largest_overlap == pytest.approx(0.15 if inverted else 0.05, rel=1e-9)
        assert repulsion.push(rotated(x, np.pi, 2), np.zeros((4, 3)), 0.01)[1:3] == (1, 0)


def test_edges_that_turn_past_parallel_stay_on_their_side() -> None:
    """The volume of their tetrahedron changes its sign, but the direction between them has not turned."""
    repulsion, x = single_pair("edge-edge", 0.05)
    for angle in (0.3, np.pi / 2 - 1e-3, np.pi / 2, np.pi / 2 + 1e-3, 2.0, 3.0):
        turned = x.copy()
        turned[:2] = rotated(x[:2] - np.array([0, 0.1, 0]), angle, 2) + np.array([0, 0.1, 0])
        report = repulsion.push(turned, np.zeros((4, 3)), 0.01)
        assert report[1:3] == (1, 0)
        assert report.largest_overlap == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize(("flip", "inverted"), [(-1.5, 0), (-0.5, 1), (0.0, 1)])
def test_the_limit_of_the_turn_is_an_option(flip: float, inverted: int) -> None:
    repulsion, x = single_pair("edge-edge", 0.05, sides=SideMemory(flip=flip))
    x[:2, 2] = -0.02
    assert repulsion.push(x, np.zeros((4, 3)), 0.01)[1:3] == (1, inverted)


@pytest.mark.parametrize("kind", KINDS)
def test_elements_in_contact_are_pushed_to_their_side(kind: str) -> None:
    """At distance 0 the order of the vertices tells the normal."""
    for side in (1, -1):
        repulsion, x = single_pair(kind, side * 0.05)
        x[first_element(kind), 2] = 0
        v = np.zeros((4, 3))
        assert repulsion.push(x, v, 0.01)[1:4] == (1, 0, 1)
        assert side * v[0, 2] > 0
        assert np.isfinite(v).all()


def test_parallel_edges_are_pushed_in_the_middle_of_their_common_part() -> None:
    repulsion, x = single_pair("edge-edge", 0.05)
    x = np.array([[0.0, 0, 0.05], [1, 0, 0.05], [0.5, 0, 0], [1.5, 0, 0]])
    v = np.zeros((4, 3))
    assert repulsion.push(x, v, 0.01)[1:4] == (1, 0, 1)
    assert v[:, 2] / v[1, 2] == pytest.approx([1 / 3, 1, -1, -1 / 3], rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_elements_do_no_harm(kind: str) -> None:
    repulsion, x = single_pair(kind, 0.05)
    for flat in (np.repeat(x[:1], 4, axis=0), x * [1, 0, 0], np.concatenate([x[:2], x[1:2], x[1:2]])):
        v = np.zeros((4, 3))
        repulsion.push(np.ascontiguousarray(flat), v, 0.01)
        repulsion.rub(np.ascontiguousarray(flat), v)
        assert np.isfinite(v).all()

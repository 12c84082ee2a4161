"""Pairs of repulsion that are apart, but come near each other along the motion of a loop."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.collision import CollisionMesh, PairSearch, Repulsion, edge_edge_distance, point_triangle_distance

THICKNESS = 0.01


def two_sheets(gap: float = 0.05) -> tuple[CollisionMesh, np.ndarray, np.ndarray]:
    """Mesh and vertices of two sheets, and whether these are of the upper one."""
    sheet = ms.mesh.cloth_mesh(6, 6, (0.5, 0.5))
    n = len(sheet.vertices)
    x = np.concatenate([sheet.vertices, sheet.vertices + np.array([0.011, 0.007, gap])])
    return CollisionMesh(None, np.concatenate([sheet.triangles, sheet.triangles + n])), x, np.arange(2 * n) >= n


def motion_of(upper: np.ndarray, down: float) -> np.ndarray:
    return np.array([0.0, 0.0, -down]) * upper[:, None]


def test_what_falls_farther_than_its_thickness_is_found() -> None:
    mesh, x, upper = two_sheets()
    repulsion = Repulsion(mesh, x, np.ones(len(x)), thickness=THICKNESS)
    assert repulsion.find(x) == repulsion.approaching == 0
    assert repulsion.find(x, motion_of(upper, 0.03)) == 0
    count = repulsion.find(x, motion_of(upper, 0.06))
    assert count == repulsion.approaching > len(x) / 2
    # The sides are those of now: what has passed through is pulled back.
    v = np.zeros_like(x)
    passed = x + motion_of(upper, 0.055)
    assert repulsion.push(passed, v, 1e-3).inverted > 0
    assert v[upper, 2].max() > 0 >= v[~upper, 2].max()


@pytest.mark.parametrize("way", ["together", "apart", "along"])
def test_motion_that_brings_nothing_together_adds_no_pairs(way: str) -> None:
    mesh, x, upper = two_sheets()
    repulsion = Repulsion(mesh, x, np.ones(len(x)), thickness=THICKNESS)
    motion = {
        "together": np.tile([0.3, -0.2, 0.9], (len(x), 1)),
        "apart": motion_of(upper, -0.5),
        "along": np.array([0.5, 0.0, 0.0]) * upper[:, None],
    }[way]
    assert repulsion.find(x, motion) == 0


def test_pairs_are_those_that_come_within_their_thickness(rng: np.random.Generator) -> None:
    mesh, x, upper = two_sheets()
    motion = motion_of(upper, 0.06) + rng.uniform(-0.02, 0.02, x.shape)
    repulsion = Repulsion(mesh, x, np.ones(len(x)), thickness=THICKNESS, search=PairSearch(most_motion=100))
    repulsion.find(x, motion)
    for kind in ("vertex-face", "edge-edge"):
        found = {tuple(p) for p in repulsion.pairs(kind).elements.tolist()}
        elements = mesh.triangles if kind == "vertex-face" else mesh.edges
        firsts = np.flatnonzero(upper) if kind == "vertex-face" else np.flatnonzero(upper[mesh.edges[:, 0]])
        seconds = np.flatnonzero(~upper[elements[:, 0]])
        a, b = (g.ravel() for g in np.meshgrid(firsts, seconds, indexing="ij"))
        least, over = np.full(len(a), np.inf), np.zeros(len(a), bool)
        for time in np.linspace(0, 1, 201):
            at = x + time * motion
            if kind == "vertex-face":
                near = point_triangle_distance(at[a], at[mesh.triangles[b]])
                inside = (near.weights[:, 1:] < -0.05).all(axis=1)
            else:
                near = edge_edge_distance(at[mesh.edges[a]], at[mesh.edges[b]])
                inside = (np.abs(near.weights) > 0.05).all(axis=1)
            distance = near.distances
            # Where they meet for the first time.
            over |= (least > THICKNESS) & (distance <= THICKNESS) & inside
            least = np.minimum(least, distance)
        low, high = (np.minimum(a, b), np.maximum(a, b)) if kind == "edge-edge" else (a, b)
        listed = np.array([pair in found for pair in zip(low.tolist(), high.tolist(), strict=True)])
        assert np.count_nonzero(over) > 10
        if kind == "vertex-face":
            assert listed[over].all()
        # Most edges that meet are found: others turn to each other on the way.
        assert listed[over].mean() > 0.7
        assert least[listed].max() <= 1.2 * THICKNESS


def test_motion_is_bounded() -> None:
    mesh, x, upper = two_sheets(0.3)
    repulsion = Repulsion(mesh, x, np.ones(len(x)), thickness=THICKNESS)
    assert repulsion.find(x, motion_of(upper, 100.0)) == 0
    assert Repulsion(mesh, x, np.ones(len(x)), thickness=THICKNESS, search=PairSearch(most_motion=40)).find(x, motion_of(upper, 0.4)) > 0


def test_any_number_of_threads_finds_the_same_pairs(rng: np.random.Generator) -> None:
    mesh, x, upper = two_sheets()
    motion = motion_of(upper, 0.06) + rng.uniform(-0.02, 0.02, x.shape)
    threads, found = ms.core.num_threads(), []
    try:
        for n in (1, 2, 3, 5, 8):
            ms.set_num_threads(n)
            repulsion = Repulsion(mesh, x, np.ones(len(x)), thickness=THICKNESS)
            repulsion.find(x, motion)
            found.append([np.asarray(a).tobytes() for kind in ("vertex-face", "edge-edge") for a in repulsion.pairs(kind)])
    finally:
        ms.set_num_threads(threads)
    assert all(f == found[0] for f in found)


def test_mistakes_are_told() -> None:
    mesh, x, upper = two_sheets()
    repulsion = Repulsion(mesh, x, np.ones(len(x)), thickness=THICKNESS)
    motion = motion_of(upper, 0.06)
    motion[7, 1] = np.nan
    with pytest.raises(ValueError, match="motion"):
        repulsion.find(x, motion)
    with pytest.raises(ValueError, match="motion"):
        repulsion.find(x, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="most_motion"):
        Repulsion(mesh, x, np.ones(len(x)), search=PairSearch(most_motion=-1.0))

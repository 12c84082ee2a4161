"""Contacts that are hard to resolve: tangles, pairs that touch at the start, more contacts than coordinates; pairs set aside."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.collision import CollisionMesh, CollisionPairs, resolve

NO_PAIRS = np.zeros((0, 2), np.int32)


def crumpled(seed: int, speed: float) -> tuple[CollisionMesh, np.ndarray, np.ndarray]:
    """Five close sheets of which each vertex moves its own way, on average towards the middle."""
    rng = np.random.default_rng(seed)
    sheet = ms.mesh.cloth_mesh(8, 8)
    x = np.concatenate([sheet.vertices + np.array([0, 0, 0.02 * k]) for k in range(5)])
    triangles = np.concatenate([sheet.triangles + k * len(sheet.vertices) for k in range(5)])
    inward = np.array([0.5, 0.5, 0.04]) - x
    return CollisionMesh(None, triangles), x, x + speed * (inward + 0.5 * rng.normal(size=x.shape))


@pytest.mark.parametrize("seed", range(4))
def test_tangles_end_by_impulses_on_known_contacts(seed: int) -> None:
    # Impulses on new contacts alone leave some after 64 passes, and zones then freeze more than half of the vertices.
    mesh, x, y = crumpled(seed, 0.5)
    z, info = resolve(mesh, x, y, np.ones(len(x)))
    assert (info.end, info.rigid_nodes) == ("free", 0)
    assert not mesh.collides(x, z)
    u, w = y - x, z - x
    assert np.abs(w.sum(0) - u.sum(0)).max() <= 1e-12 * np.abs(u).sum()
    assert (w * w).sum() <= (u * u).sum()
    # Moved as one body, they would keep next to none of the energy.
    assert (w * w).sum() > 0.1 * (u * u).sum()


def plane_soup() -> tuple[CollisionMesh, np.ndarray, np.ndarray]:
    """Triangles in one plane that overlap, and move."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=(27, 2)), np.zeros((27, 1))], axis=1)
    return CollisionMesh(None, np.arange(27, dtype=np.int32).reshape(-1, 3)), x, x + rng.normal(size=x.shape)


@pytest.mark.parametrize("rigid", [True, False])
def test_pairs_that_touch_at_the_start_are_pinched_at_once(rigid: bool) -> None:
    mesh, x, y = plane_soup()
    z, info = resolve(mesh, x, y, np.ones(len(x)), rigid_zones=rigid)
    assert (info.end, info.passes, info.impulses) == ("pinched", 1, 0)
    at_start = mesh.collisions(x, x)
    assert np.array_equal(info.unresolved.vertex_face, at_start.vertex_face)
    assert np.array_equal(info.unresolved.edge_edge, at_start.edge_edge)
    # Once these are deactivated, the rest is resolved.
    z, info = resolve(mesh, x, y, np.ones(len(x)), rigid_zones=rigid, deactivated=info.unresolved)
    assert info.certified
    left = mesh.collisions(x, z)
    assert {tuple(p) for p in left.vertex_face.tolist()} <= {tuple(p) for p in at_start.vertex_face.tolist()}
    assert {tuple(p) for p in left.edge_edge.tolist()} <= {tuple(p) for p in at_start.edge_edge.tolist()}


def test_more_contacts_than_coordinates_meet_their_constraints() -> None:
    # Zones alone: 27 nodes collect several times as many contacts as they have coordinates.
    mesh, x, y = plane_soup()
    x[:, 2] = np.repeat(1e-3 * np.arange(9), 3)
    z, info = resolve(mesh, x, y, 10.0 ** np.random.default_rng(0).uniform(-2, 2, 27), impulse_passes=0, rigid_zones=False)
    assert info.certified
    assert info.rigid_nodes == 0
    assert not mesh.collides(x, z)


@pytest.mark.parametrize(
    ("vertex_face", "edge_edge", "says"),
    [
        ([[6, 0]], [], "has vertex 6, but there are 6"),
        ([[0, 2]], [], "has triangle 2, but there are 2"),
        ([], [[0, 6]], "has edge 6, but there are 6"),
        ([[-1, 0]], [], "has vertex -1"),
        ([[0, 0]], [], r"the vertex and the triangle \(0, 0\) have vertex 0"),
        ([], [[0, 1]], r"the edges \(0, 1\) have vertex 0"),
        ([], [[3, 3]], r"the edges \(3, 3\) have vertex 3"),
    ],
)
def test_deactivated_pairs_that_do_not_exist_are_refused(vertex_face: list[list[int]], edge_edge: list[list[int]], says: str) -> None:
    x = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0.5, 0.5, 0.2], [0.6, 0.5, 1.0], [0.5, 0.6, 1.0]])
    mesh = CollisionMesh(None, np.array([[0, 1, 2], [3, 4, 5]]))
    pairs = CollisionPairs(*(np.array(p, np.int32).reshape(-1, 2) for p in (vertex_face, edge_edge)))
    with pytest.raises(ValueError, match=says):
        resolve(mesh, x, x, np.ones(6), deactivated=pairs)


def test_deactivated_edges_may_be_in_any_order() -> None:
    x = np.array([[-1.0, 0, 0], [1, 0, 0], [0, -1, 1], [0, 1, 1]])
    y = x - np.array([0, 0, 2]) * (np.arange(4) > 1)[:, None]
    mesh = CollisionMesh(np.array([[0, 1], [2, 3]]), np.zeros((0, 3), np.int32))
    z, info = resolve(mesh, x, y, np.ones(4), deactivated=CollisionPairs(NO_PAIRS, np.array([[1, 0]], np.int32)))
    assert info.end == "free"
    assert np.array_equal(z, y)


def test_the_pairs_before_which_a_step_was_cut_are_listed() -> None:
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, 1], [1.2, 0.2, 2], [0.2, 1.2, 2]])
    y = x - np.array([0, 0, 4]) * (np.arange(6) > 2)[:, None]
    mesh = CollisionMesh(None, np.array([[0, 1, 2], [3, 4, 5]]))
    w = np.array([0, 0, 0, 1.0, 0, 0])
    _, info = resolve(mesh, x, y, w)
    assert info.end in ("cut", "free")
    _, info = resolve(mesh, x, y, np.r_[1e-9, np.zeros(5)], impulse_passes=0, inelastic_solves=0)
    assert info.end == "cut"
    assert info.unresolved.vertex_face.tolist() == [[3, 0]]

"""Surfaces of what fills tetrahedra."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus import mesh, surface


def lattice(n: int = 16):
    block = mesh.bcc_lattice((-1, -1, -1), 2 / n, (n, n, n))
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    x = np.ascontiguousarray(block.vertices @ turn)
    return x, block.tets, np.abs(mesh.TetMesh(x, block.tets).measures(x))


def filled(x, tets, room, shape):
    return room * np.clip(0.5 - shape.signed_distance(np.ascontiguousarray(x[tets].mean(axis=1))) / 0.1, 0, 1)


def test_the_surface_of_a_ball_is_a_ball() -> None:
    for n, tolerance in ((12, 0.06), (24, 0.03)):
        x, tets, room = lattice(n)
        ball = surface.Sphere((0.1, -0.05, 0.08), 0.5)
        found = surface.filled_surface(x, tets, filled(x, tets, room, ball), room, level=0.5)
        assert np.abs(ball.signed_distance(found.vertices)).max() < tolerance
        closed = mesh.TriangleMesh(found.vertices, found.triangles)
        assert closed.volume() == pytest.approx(4 / 3 * np.pi * 0.125, rel=4 * tolerance)
        outward = found.vertices - (0.1, -0.05, 0.08)
        assert (np.einsum("nk,nk->n", outward, found.normals) > 0).all()


def test_it_ends_at_the_solid_and_leaves_crumbs_out() -> None:
    x, tets, room = lattice()
    ball, solid = surface.Sphere((0, 0, 0), 0.6), surface.Sphere((0, 0, 0.5), 0.4)
    middle = np.ascontiguousarray(x[tets].mean(axis=1))
    room = np.where(solid.signed_distance(middle) > 0, room, 0.0)
    volume = filled(x, tets, room, ball)
    crumb = int(np.argmin(np.linalg.norm(middle - (-0.7, 0.4, -0.3), axis=1)))
    volume[crumb] = 1e-3 * room[crumb]
    found = surface.filled_surface(x, tets, volume, room, solid=solid.signed_distance)
    assert solid.signed_distance(found.vertices).min() > -0.06
    assert np.abs(solid.signed_distance(found.vertices)).min() < 0.05
    assert crumb in found.apart
    assert np.abs(ball.signed_distance(middle[np.setdiff1d(found.apart, crumb)])).max(initial=0) < 0.1


def test_nothing_has_no_surface_and_wrong_arguments_are_refused() -> None:
    x, tets, room = lattice(4)
    empty = surface.filled_surface(x, tets, np.zeros(len(tets)), room)
    assert empty.vertices.shape == empty.normals.shape == (0, 3)
    assert empty.triangles.shape == (0, 3)
    with pytest.raises(ValueError, match="level must be between 0 and 1, not 1"):
        surface.filled_surface(x, tets, room, room, level=1.0)
    with pytest.raises(ValueError, match="volume and room must have shape"):
        surface.filled_surface(x, tets, room[1:], room)
    with pytest.raises(ValueError, match="is too small for what is filled"):
        surface.filled_surface(x, tets, room, room, cell_size=1e-4)


def test_saturation_is_continued_to_where_there_is_no_room() -> None:
    x, tets, room = lattice(6)
    middle = x[tets].mean(axis=1)
    room = np.where(middle[:, 2] > 0, room, 0.0)
    share = surface.saturation_at_vertices(tets, 0.3 * room, room, len(x))
    near = np.unique(tets[room > 0])
    np.testing.assert_allclose(share[near], 0.3, rtol=1e-12)
    beyond = np.setdiff1d(np.unique(tets[np.isin(tets, near).any(axis=1)]), near)
    np.testing.assert_allclose(share[beyond], 0.3, rtol=1e-12)

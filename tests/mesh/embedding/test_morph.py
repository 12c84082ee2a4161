"""Harmonic morphs: affine motions, a known harmonic function, rotations, the maximum principle, errors."""

import numpy as np
import pytest

import meniscus as ms


def ball(cell: float, *, compress: bool = True) -> ms.mesh.TetMesh:
    """A ball of radius one."""
    return ms.surface.bcc_mesh(ms.surface.Sphere((0, 0, 0), 1.0), cell, compress=compress)


def skin_of(mesh: ms.mesh.TetMesh) -> np.ndarray:
    """Vertices of the boundary."""
    return np.unique(mesh.boundary.triangles).astype(np.int32)


def test_affine_motion_is_exact(rng: np.random.Generator) -> None:
    """Linear elements reproduce an affine displacement inside."""
    mesh = ball(0.25)
    skin = skin_of(mesh)
    matrix, shift = rng.normal(size=(3, 3)), rng.normal(size=3)
    exact = mesh.vertices @ matrix.T + shift
    found = ms.mesh.harmonic_morph(mesh, skin, exact[skin])
    np.testing.assert_allclose(found, exact, atol=1e-10)
    np.testing.assert_array_equal(found[skin], exact[skin])


def test_matrix_is_that_of_a_plain_assembly(rng: np.random.Generator) -> None:
    """Against a dense solve with gradients from inverted matrices."""
    mesh = ball(0.6)
    n, skin = len(mesh.vertices), skin_of(mesh)
    dense = np.zeros((n, n))
    for t, volume in zip(mesh.tets, mesh.volumes, strict=True):
        gradients = np.linalg.inv(np.hstack([np.ones((4, 1)), mesh.vertices[t]]))[1:].T
        dense[np.ix_(t, t)] += volume * gradients @ gradients.T
    given = rng.normal(size=(len(skin), 3))
    free = np.setdiff1d(np.arange(n), skin)
    assert len(free) > 3
    expected = np.zeros((n, 3))
    expected[skin] = given
    expected[free] = np.linalg.solve(dense[np.ix_(free, free)], -dense[np.ix_(free, skin)] @ given)
    np.testing.assert_allclose(ms.mesh.harmonic_morph(mesh, skin, given), expected, atol=1e-10)


def test_converges_to_a_harmonic_function() -> None:
    """Error of x^2 - y^2 falls by about four when cells are halved."""
    errors = []
    for cell in (0.4, 0.2, 0.1):
        mesh = ball(cell)
        exact = np.stack(
            [mesh.vertices[:, 0] ** 2 - mesh.vertices[:, 1] ** 2, mesh.vertices[:, 0] * mesh.vertices[:, 2], 0 * mesh.vertices[:, 0]],
            axis=1,
        )
        skin = skin_of(mesh)
        found = ms.mesh.harmonic_morph(mesh, skin, exact[skin])
        errors.append(np.sqrt(((found - exact) ** 2).mean()))
        assert not found[:, 2].any()
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


def test_maximum_principle_on_the_lattice(rng: np.random.Generator) -> None:
    """No dihedral angle of the lattice is obtuse: each component stays within the range of what is given."""
    mesh = ball(0.2, compress=False)
    skin = skin_of(mesh)
    morph = ms.mesh.HarmonicMorph(mesh, skin)
    assert morph.obtuse_edges == 0
    given = rng.choice([-1.0, 1.0], size=(len(skin), 3))
    found = morph.displacements(given)
    inner = np.setdiff1d(np.arange(len(mesh.vertices)), skin)
    assert np.abs(found[inner]).max() < 1
    assert ms.mesh.HarmonicMorph(ball(0.2), skin_of(ball(0.2))).obtuse_edges > 0


def test_a_full_turn_in_60_steps() -> None:
    """Turning frame to frame, each from the one before, brings every vertex back."""
    rest = ball(0.4)
    skin = skin_of(rest)
    x = rest.vertices.copy()
    angle = 2 * np.pi / 60
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    for _ in range(60):
        mesh = ms.mesh.TetMesh(x, rest.tets)
        x = x + ms.mesh.harmonic_morph(mesh, skin, x[skin] @ turn.T - x[skin])
    np.testing.assert_allclose(x, rest.vertices, atol=1e-9)


def test_same_bits_on_any_number_of_threads_and_warm_starts(rng: np.random.Generator) -> None:
    """Reductions have a fixed tree; a start at the solution needs no iteration."""
    mesh = ball(0.15)
    skin = skin_of(mesh)
    given = rng.normal(size=(len(skin), 3))
    before = ms.core.num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.core.set_num_threads(threads)
            results.append(ms.mesh.harmonic_morph(mesh, skin, given))
    finally:
        ms.core.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    morph = ms.mesh.HarmonicMorph(mesh, skin)
    cold = morph.displacements(given, tolerance=1e-8)
    iterations = sum(morph.iterations)
    out = np.empty_like(cold)
    assert morph.displacements(given, tolerance=1e-7, start=cold, out=out) is out
    assert sum(morph.iterations) < iterations / 10


def test_refuses_what_has_no_solution() -> None:
    """Parts without a node, inverted tetrahedra, wrong nodes."""
    mesh = ms.mesh.bcc_lattice((0, 0, 0), 1.0, (2, 1, 1))
    two = ms.mesh.TetMesh(np.concatenate([mesh.vertices, mesh.vertices + 5]), np.concatenate([mesh.tets, mesh.tets + len(mesh.vertices)]))
    with pytest.raises(ValueError, match="every part"):
        ms.mesh.HarmonicMorph(two, np.array([0], np.int32))
    with pytest.raises(ValueError, match=r"nodes must differ, but \[1\] is 0"):
        ms.mesh.HarmonicMorph(mesh, np.array([0, 0], np.int32))
    with pytest.raises(ValueError, match=r"nodes must be in \[0, 6\), but \[0\] is 6"):
        ms.mesh.HarmonicMorph(mesh, np.array([6], np.int32))
    with pytest.raises(TypeError):
        ms.mesh.HarmonicMorph(mesh, np.array([0]))
    with pytest.raises(ValueError, match="positive volume"):
        ms.mesh.HarmonicMorph(ms.mesh.TetMesh(mesh.vertices * [-1, 1, 1], mesh.tets), np.array([0], np.int32))
    with pytest.raises(ValueError, match="finite"):
        ms.mesh.harmonic_morph(mesh, np.array([0], np.int32), np.array([[np.nan, 0, 0]]))

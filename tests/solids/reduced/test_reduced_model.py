"""Reduced models: modes, derivatives, polynomial and sampled forces. Source: Müller et al. 2008, chapter 7; Barbic and James 2005."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import bsr_array
from scipy.sparse.linalg import spsolve
from support.variants import slow_but

from meniscus.mesh import tet_block
from meniscus.solids import Cubature, DeformableBody, ReducedModel, TetElements

ELASTIC = {"youngs_modulus": 1e5, "poissons_ratio": 0.3}
MATERIALS = ("st-venant-kirchhoff", "linear", "neo-hookean", "corotational")


def block():
    """A block of 2 m, its end at x = 0."""
    mesh = tet_block(6, 2, 2, (2.0, 0.6, 0.7), pattern="five")
    return mesh, np.flatnonzero(mesh.vertices[:, 0] == 0)


@pytest.mark.parametrize("held", [True, False])
def test_modes_are_those_of_the_dense_problem(held):
    """Those of a body that is held nowhere begin after the six rigid motions."""
    mesh, end = block()
    fixed = end if held else ()
    model = ReducedModel(mesh, modes=12, fixed=fixed, density=700.0, **ELASTIC)
    m = np.repeat(model.masses, 3)
    np.testing.assert_allclose(model.vectors @ (m[:, None] * model.vectors.T), np.eye(12), atol=1e-12)
    stiffness = bsr_array(TetElements(mesh, **ELASTIC).stiffness(mesh.vertices)).toarray()
    free = np.repeat(~np.isin(np.arange(len(mesh.vertices)), fixed), 3)
    exact = eigh(stiffness[np.ix_(free, free)], np.diag(m[free]), eigvals_only=True)[0 if held else 6 :][:12]
    np.testing.assert_allclose(model.eigenvalues, exact, rtol=1e-9)
    np.testing.assert_allclose(stiffness @ model.vectors.T * free[:, None], (model.eigenvalues * m[:, None] * model.vectors.T), atol=1e-5)
    assert not model.vectors.reshape(12, -1, 3)[:, fixed].any()
    if not held:
        u, x = model.vectors.reshape(12, -1, 3), mesh.vertices - model.center
        np.testing.assert_allclose(np.einsum("n,rni->ri", model.masses, u), 0, atol=1e-12)
        np.testing.assert_allclose(np.einsum("n,rni->ri", model.masses, np.cross(x, u)), 0, atol=1e-11)


def test_the_sparse_method_finds_the_modes_of_the_dense_one():
    """A large body takes the block Lanczos method; a square section has double frequencies, which it must not miss."""
    mesh = tet_block(20, 3, 3, (4.0, 0.6, 0.6), pattern="five")
    model = ReducedModel(mesh, modes=15, **ELASTIC)
    stiffness = bsr_array(TetElements(mesh, **ELASTIC).stiffness(mesh.vertices)).toarray()
    root = 1 / np.sqrt(np.repeat(model.masses, 3))
    exact = np.linalg.eigvalsh(root[:, None] * stiffness * root)[6:21]
    assert 3 * len(mesh.vertices) > 600
    np.testing.assert_allclose(model.eigenvalues, exact, rtol=1e-8)


def test_frequencies_of_a_bar():
    """Fixed at one end: (2k - 1) / 4 of the speed of sound over the length. Modes along the axis, without contraction across."""
    mesh = tet_block(40, 2, 2, (10.0, 1.0, 1.0), pattern="five")
    model = ReducedModel(mesh, modes=20, youngs_modulus=1e6, poissons_ratio=0.0, fixed=np.flatnonzero(mesh.vertices[:, 0] == 0))
    along = np.einsum("n,rn->r", model.masses, model.vectors.reshape(20, -1, 3)[:, :, 0] ** 2)
    expected = np.array([1, 3, 5]) * np.sqrt(1e6 / 1000) / 40
    np.testing.assert_allclose(model.frequencies[along > 0.9], expected, rtol=0.003)


@pytest.mark.slow
def test_frequencies_of_a_free_beam():
    """(beta L) of Euler and Bernoulli, extrapolated from two meshes, whose elements are too stiff by h^2."""
    found = []
    for n in (4, 6):
        mesh = tet_block(30 * n, n, n, (40.0, 1.0, 1.0), pattern="five")
        found.append(np.sqrt(ReducedModel(mesh, modes=6, youngs_modulus=1e6, poissons_ratio=0.0).eigenvalues[[0, 2, 4]]))
    omega = (36 * found[1] - 16 * found[0]) / 20
    beta = 40 * np.sqrt(omega * np.sqrt(1000 / (1e6 / 12)))
    np.testing.assert_allclose(beta, [4.7300, 7.8532, 10.9956], rtol=0.005)


@pytest.mark.parametrize("material", MATERIALS)
def test_forces_are_those_of_the_elements(material):
    """U^T f(U q) to round-off, at strains of tens of per cent; the stiffness is the derivative of the forces."""
    mesh, end = block()
    model = ReducedModel(mesh, modes=6, size=14, fixed=end, material=material, cubature=Cubature(size=0), **ELASTIC)
    body = DeformableBody(mesh, density=1000.0)
    elements = body.add(TetElements(mesh, material=material, **ELASTIC))
    q = model.sample_poses(1, bend=0.3)[0]
    body.positions = mesh.vertices + model.displacements(q)
    assert np.linalg.norm(model.displacements(q), axis=1).max() > 0.2
    found = model.forces_at(q)
    expected = -model.vectors @ body.forces_at_nodes().ravel()
    np.testing.assert_allclose(found.gradient, expected, atol=1e-12 * np.abs(expected).max())
    assert found.energy == pytest.approx(elements.energy(body.positions), rel=1e-12)
    h = 1e-5 * np.linalg.norm(q)
    step = [(model.forces_at(q + h * e).gradient - model.forces_at(q - h * e).gradient) / (2 * h) for e in np.eye(14)]
    np.testing.assert_allclose(found.stiffness, step, atol=1e-7 * np.abs(found.stiffness).max())


def test_derivatives_say_how_modes_turn():
    """The second derivative of static displacements under growing loads K u is minus the modal derivative: it lies in the basis."""
    mesh, end = block()
    model = ReducedModel(mesh, modes=4, size=14, fixed=end, **ELASTIC)
    linear = ReducedModel(mesh, modes=4, fixed=end, **ELASTIC)
    elements = TetElements(mesh, material="st-venant-kirchhoff", **ELASTIC)
    body = DeformableBody(mesh, density=1000.0)
    body.add(elements)
    stiffness = bsr_array(elements.stiffness(mesh.vertices)).toarray()
    free = np.repeat(~np.isin(np.arange(len(mesh.vertices)), end), 3)
    for i, j in ((0, 0), (1, 0), (3, 2)):
        u, v = linear.vectors[i], linear.vectors[j]
        s = 1e-5

        def matrix(t, v=v):
            return bsr_array(elements.stiffness(mesh.vertices + t * v.reshape(-1, 3))).toarray()

        change = (matrix(s) - matrix(-s)) @ u / (2 * s)
        derivative = np.zeros(len(u))
        derivative[free] = np.linalg.solve(stiffness[np.ix_(free, free)], -change[free])
        found = model.displacements(model.coordinates(derivative.reshape(-1, 3))).ravel()
        np.testing.assert_allclose(found, derivative, atol=1e-5 * np.abs(derivative).max())


def bent(elements, body, free, tip, load):
    """Displacements under a load at the tip that grows in ten steps."""
    x = body.positions.copy()
    rest = x.copy()
    for part in np.linspace(0.1, 1, 10):
        for _ in range(40):
            body.positions = x
            r = body.forces_at_nodes()
            r[tip, 2] -= load * part / len(tip)
            r = r.ravel()[free]
            if np.linalg.norm(r) < 1e-8 * load:
                break
            d = np.zeros(x.size)
            d[free] = spsolve(bsr_array(elements.stiffness(x)).tocsc()[free][:, free], r)
            x += d.reshape(-1, 3)
    return x - rest


def bent_reduced(model, tip, load):
    force = np.zeros_like(model.rest_positions)
    force[tip, 2] = -load / len(tip)
    right, q = model.vectors @ force.ravel(), np.zeros(model.size)
    for part in np.linspace(0.1, 1, 10):
        for _ in range(60):
            f = model.forces_at(q)
            if np.linalg.norm(part * right - f.gradient) < 1e-10 * np.linalg.norm(right):
                break
            q += np.linalg.solve(f.stiffness, part * right - f.gradient)
    return model.displacements(q)


@pytest.mark.parametrize(("load", "part"), slow_but([(1383.6, 1 / 3), (3580.0, 0.6)], (1383.6, 1 / 3)))
def test_a_cantilever_bent_far(load, part):
    """20 vectors from 8 modes and their derivatives within 1 % of the full displacement; 20 modes alone are wrong by over 70 %."""
    mesh = tet_block(20, 2, 2, (10.0, 1.0, 1.0), pattern="five")
    end, tip = (np.flatnonzero(np.isclose(mesh.vertices[:, 0], x)) for x in (0.0, 10.0))
    elastic = {"youngs_modulus": 1e6, "poissons_ratio": 0.3}
    elements = TetElements(mesh, material="st-venant-kirchhoff", **elastic)
    body = DeformableBody(mesh, density=1000.0)
    body.add(elements)
    free = np.flatnonzero(np.repeat(~np.isin(np.arange(len(mesh.vertices)), end), 3))
    full = bent(elements, body, free, tip, load)
    assert -full[tip, 2].mean() == pytest.approx(10 * part, rel=0.01)
    errors = []
    for modes in (8, 20):
        model = ReducedModel(mesh, modes=modes, size=20, fixed=end, **elastic)
        errors.append(np.linalg.norm(bent_reduced(model, tip, load) - full) / np.linalg.norm(full))
    assert errors[0] < 0.01
    assert errors[1] > 0.7


def test_cubature_takes_few_elements_for_poses_that_it_has_not_seen():
    mesh = tet_block(16, 4, 4, (4.0, 1.0, 1.0), pattern="five")
    end = np.flatnonzero(mesh.vertices[:, 0] == 0)
    options = {"modes": 5, "size": 10, "fixed": end, "material": "neo-hookean", **ELASTIC}
    exact = ReducedModel(mesh, cubature=Cubature(size=0), **options)
    model = ReducedModel(mesh, cubature=Cubature(error=0.01), **options)
    assert model.cubature_error <= 0.01
    assert len(model.cubature_elements) <= 100 < len(mesh.tets) / 8
    assert (model.cubature_weights > 0).all()
    for q in exact.sample_poses(10, seed=5):
        expected = exact.forces_at(q).gradient
        assert np.linalg.norm(model.forces_at(q).gradient - expected) < 0.05 * np.linalg.norm(expected)
    # Without weights that are fitted, the same elements are no integral.
    share = len(mesh.tets) / len(model.cubature_elements)
    assert np.ptp(model.cubature_weights) > 0.5 * share


def test_a_model_pickles_with_its_set_up():
    mesh, end = block()
    for material in ("st-venant-kirchhoff", "neo-hookean"):
        model = ReducedModel(mesh, modes=4, size=8, fixed=end, material=material, cubature=Cubature(error=0.1), **ELASTIC)
        other = pickle.loads(pickle.dumps(model))
        q = model.sample_poses(1)[0]
        for a, b in zip(model.forces_at(q), other.forces_at(q), strict=True):
            np.testing.assert_array_equal(a, b)
        assert repr(other) == repr(model)


def test_what_models_refuse():
    mesh, end = block()
    with pytest.raises(ValueError, match="three or more that do not lie on a line"):
        ReducedModel(mesh, fixed=end[:2])
    with pytest.raises(ValueError, match="size must lie between 4 and 14, not 20"):
        ReducedModel(mesh, modes=4, size=20)
    with pytest.raises(ValueError, match=r"poissons_ratio must lie between -1 and 1/2"):
        ReducedModel(mesh, poissons_ratio=0.5)
    with pytest.raises(ValueError, match="has only"):
        ReducedModel(tet_block(1, 1, 1, (1.0, 1.0, 1.0), pattern="five"), modes=40)
    two = np.concatenate([mesh.vertices, mesh.vertices + 10]), np.concatenate([mesh.tets, mesh.tets + len(mesh.vertices)]).astype(np.int32)
    with pytest.raises(ValueError, match="hang together"):
        ReducedModel(two[1], two[0])
    flat = mesh.vertices.copy()
    flat[:, 2] = 0
    with pytest.raises(ValueError, match="flat or inverted"):
        ReducedModel(mesh.tets, flat)

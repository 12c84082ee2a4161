"""Derivatives of the forces of tetrahedra: against differences, definite on request, with the right eigenvalues."""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as solvers
from support.build import same_bits
from support.literal.tet_formulas import element_stiffness

from meniscus.mesh import tet_block
from meniscus.numerics import polar_rotation
from meniscus.solids import TetElements

MATERIALS = ("linear", "corotational", "st-venant-kirchhoff", "neo-hookean")
NONLINEAR = MATERIALS[1:]
TANGENTS = ("exact", "definite", "frozen")
E, NU = 1e6, 0.3
MU, LAMBDA = E / (2 * (1 + NU)), E * NU / ((1 + NU) * (1 - 2 * NU))
ONE = np.array([(0, 1, 2, 3)], np.int32)


def elements(mesh: Any, material: str, **options: Any) -> TetElements:
    return TetElements(mesh, **{"youngs_modulus": E, "poissons_ratio": NU, "material": material, **options})


def rotation(rng: np.random.Generator) -> np.ndarray:
    return polar_rotation(rng.normal(size=(1, 3, 3)))[0]


def dense(e: TetElements, x: np.ndarray, tangent: str) -> np.ndarray:
    k = sparse.bsr_array(tuple(e.stiffness(x, tangent)), shape=(3 * e.nodes, 3 * e.nodes))  # type: ignore[arg-type]
    return k.toarray()


def crumpled(rng: np.random.Generator, amount: float = 0.1) -> tuple[Any, np.ndarray]:
    mesh = tet_block(2, 2, 1, (1, 1, 0.5))
    return mesh, mesh.vertices @ rotation(rng).T + amount * rng.uniform(-1, 1, mesh.vertices.shape)


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("storage", ["assembled", "matrix-free"])
def test_exact_tangents_are_derivatives(material: str, storage: str, rng: np.random.Generator) -> None:
    # Strong deformations, many elements inverted.
    for amount in (0.1, 0.6):
        mesh, x = crumpled(rng, amount)
        e = elements(mesh, material, stiffness=storage)
        inverted = np.linalg.det(e.deformation_gradients(x)) < 0
        assert inverted.any() == (amount > 0.5)
        for _ in range(5):
            d, h = rng.normal(size=x.shape), 1e-5
            slope = (8 * (e.forces(x + h * d) - e.forces(x - h * d)) - (e.forces(x + 2 * h * d) - e.forces(x - 2 * h * d))) / (12 * h)
            found = e.differentials(x, d)
            assert np.abs(found - slope).max() <= 1e-7 * np.abs(slope).max()


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("tangent", TANGENTS)
def test_matrices(material: str, tangent: str, rng: np.random.Generator) -> None:
    mesh, x = crumpled(rng, 0.3)
    e = elements(mesh, material)
    k = dense(e, x, tangent)
    size = np.abs(k).max()
    assert np.abs(k - k.T).max() <= 1e-14 * size
    # Translations cost nothing.
    assert np.abs(k @ np.tile(np.eye(3), (e.nodes, 1))).max() <= 1e-13 * size
    d = rng.normal(size=x.shape)
    for storage in ("assembled", "matrix-free"):
        other = elements(mesh, material, stiffness=storage)
        assert np.abs(other.differentials(x, d, tangent).reshape(-1) + k @ d.reshape(-1)).max() <= 1e-13 * size  # type: ignore[arg-type]
        blocks = other.diagonal(x, 1.0, 0.0, tangent)  # type: ignore[arg-type]
        for i in range(e.nodes):
            assert np.abs(blocks[i] + k[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]).max() <= 1e-14 * size


@pytest.mark.parametrize("material", NONLINEAR)
def test_definite_tangents(material: str, rng: np.random.Generator) -> None:
    for amount in (0.05, 0.3, 0.6):
        mesh, x = crumpled(rng, amount)
        x = 0.6 * x
        e = elements(mesh, material)
        exact = dense(e, x, "exact")
        for tangent in ("definite", "frozen"):
            k = dense(e, x, tangent)
            assert np.linalg.eigvalsh(k).min() >= -1e-12 * np.abs(k).max()
        assert np.linalg.eigvalsh(exact).min() < -1e-3 * np.abs(exact).max()
    # Of one element, nothing but the negative part is taken away: the eigenvalues above zero stay.
    for _ in range(20):
        p = rng.uniform(-1, 1, (4, 3))
        if np.linalg.det(p[1:] - p[0]) < 0.3:
            continue
        # With the shape of the corners orthonormal, eigenvalues of the element are those of the energy.
        one = TetElements(ONE, np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float), youngs_modulus=E, material=material)  # type: ignore[arg-type]
        free = np.arange(3, 12)
        x = p - p[0]
        exact = dense(one, x, "exact")[np.ix_(free, free)]
        values, vectors = np.linalg.eigh(exact)
        clamped = (vectors * np.maximum(values, 0)) @ vectors.T
        found = dense(one, x, "definite")[np.ix_(free, free)]
        assert np.abs(found - clamped).max() <= 1e-9 * np.abs(exact).max()


def test_frozen_corotational_stiffness_is_the_rotated_one(rng: np.random.Generator) -> None:
    p = np.array([(0, 0, 0), (1, 0.2, 0), (0.1, 1, 0), (0, 0.3, 1.2)], float)
    e = TetElements(ONE, p, youngs_modulus=E, poissons_ratio=NU)
    x = p @ rotation(rng).T + 0.2 * rng.uniform(-1, 1, p.shape)
    turn = np.kron(np.eye(4), e.rotations(x)[0])
    k = element_stiffness(p, E, NU)
    assert np.abs(dense(e, x, "frozen") - turn @ k @ turn.T).max() <= 1e-14 * np.abs(k).max()


def test_green_strain_stiffness_by_the_formula(rng: np.random.Generator) -> None:
    p = np.array([(0, 0, 0), (1, 0.2, 0), (0.1, 1, 0), (0, 0.3, 1.2)], float)
    e = TetElements(ONE, p, youngs_modulus=E, poissons_ratio=NU, material="st-venant-kirchhoff")
    volume = np.linalg.det(p[1:] - p[0]) / 6
    y = np.linalg.inv((p[1:] - p[0]).T)
    y = np.concatenate([-y.sum(axis=0)[None], y])

    def formula(x: np.ndarray) -> np.ndarray:
        f = x.T @ y
        strain = 0.5 * (f.T @ f - np.eye(3))
        s = 2 * MU * strain + LAMBDA * np.trace(strain) * np.eye(3)
        k = np.zeros((12, 12))
        for i in range(4):
            for j in range(4):
                a, b = f @ y[i], f @ y[j]
                k[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = volume * (
                    (y[i] @ s @ y[j]) * np.eye(3) + LAMBDA * np.outer(a, b) + MU * (y[i] @ y[j]) * f @ f.T + MU * np.outer(b, a)
                )
        return k

    for x in (p, p @ rotation(rng).T + 0.3 * rng.uniform(-1, 1, p.shape)):
        k = formula(x)
        assert np.abs(dense(e, x, "exact") - k).max() <= 1e-13 * np.abs(k).max()
    assert np.abs(formula(p) - element_stiffness(p, E, NU)).max() <= 1e-14 * np.abs(k).max()


@pytest.mark.parametrize("material", MATERIALS)
def test_all_materials_have_the_same_stiffness_at_rest(material: str) -> None:
    mesh = tet_block(2, 2, 2)
    expected = dense(elements(mesh, "linear"), mesh.vertices, "exact")
    e = elements(mesh, material)
    for tangent in TANGENTS:
        k = dense(e, mesh.vertices, tangent)
        assert np.abs(k - expected).max() <= 1e-13 * np.abs(expected).max()
    values = np.linalg.eigvalsh(dense(e, mesh.vertices, "exact"))
    assert np.abs(values[:6]).max() <= 1e-12 * values[-1]
    assert values[6] > 1e-4 * values[-1]


@pytest.mark.parametrize("material", MATERIALS)
def test_damping(material: str, rng: np.random.Generator) -> None:
    mesh, x = crumpled(rng, 0.4)
    e = elements(mesh, material, damping=0.02, mass_damping=0.5, density=10.0)
    v = rng.normal(size=x.shape)
    f = e.damping_forces(x, v)
    assert (f * v).sum() < 0
    drag = -0.5 * e.masses[:, None] * v
    # Hooke's law between the rates of Green strain and second Piola-Kirchhoff stress, but for the linear material.
    k = dense(elements(mesh, "linear" if material == "linear" else "st-venant-kirchhoff"), x, "frozen")
    assert np.abs(f - drag + 0.02 * (k @ v.reshape(-1)).reshape(-1, 3)).max() <= 1e-13 * np.abs(f).max()
    assert np.abs((f - drag).sum(axis=0)).max() <= 1e-12 * np.abs(f).max()
    for tangent in TANGENTS:
        blocks = e.diagonal(x, 0.0, 2.0, tangent)  # type: ignore[arg-type]
        for i in range(e.nodes):
            expected = -2.0 * (0.02 * k[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] + 0.5 * e.masses[i] * np.eye(3))
            assert np.abs(blocks[i] - expected).max() <= 1e-13 * np.abs(k).max()
    if material != "linear":
        # Rates of Green strain know nothing of rotations, and give no torque, also where the body is strained.
        spin = np.cross([1.0, -2, 0.5], x)
        assert np.abs(e.damping_forces(x, spin) + 0.5 * e.masses[:, None] * spin).max() <= 1e-12 * np.abs(f).max()
        assert np.abs(np.cross(x, f - drag).sum(axis=0)).max() <= 1e-12 * np.abs(f).max()


@pytest.mark.parametrize("material", MATERIALS)
def test_bounds_of_frequencies(material: str, rng: np.random.Generator) -> None:
    mesh = tet_block(10, 2, 2, (1, 0.2, 0.2))
    e = elements(mesh, material, density=1.0)
    scale = np.repeat(1 / np.sqrt(e.masses), 3)
    k = dense(e, mesh.vertices, "exact")
    highest = np.sqrt(np.linalg.eigvalsh(scale[:, None] * k * scale)[-1])
    assert highest == pytest.approx(35021, rel=1e-3)
    bound = np.sqrt(2 * (e.stiffness_bounds(mesh.vertices) / e.masses).max())
    assert highest <= bound <= 2 * highest
    for amount in (0.01, 0.04):
        x = mesh.vertices @ rotation(rng).T + amount * rng.uniform(-1, 1, mesh.vertices.shape)
        k = dense(e, x, "exact")
        highest = np.sqrt(np.linalg.eigvalsh(scale[:, None] * k * scale)[-1])
        bound = np.sqrt(2 * (e.stiffness_bounds(x) / e.masses).max())
        assert highest <= bound <= 3 * highest


@pytest.mark.parametrize("material", ["st-venant-kirchhoff", "corotational", "neo-hookean"])
def test_newton_converges_quadratically_on_a_twist(material: str) -> None:
    mesh = tet_block(6, 2, 2, (3, 1, 1))
    e = elements(mesh, material)
    x = mesh.vertices.copy()
    angle = 1.2 * mesh.vertices[:, 0] / 3
    y, z = mesh.vertices[:, 1] - 0.5, mesh.vertices[:, 2] - 0.5
    x[:, 1], x[:, 2] = 0.5 + np.cos(angle) * y - np.sin(angle) * z, 0.5 + np.sin(angle) * y + np.cos(angle) * z
    free = np.repeat((mesh.vertices[:, 0] > 0) & (mesh.vertices[:, 0] < 3), 3)
    residuals = []
    for _ in range(8):
        f = e.forces(x).reshape(-1)[free]
        residuals.append(np.abs(f).max())
        k = sparse.bsr_array(tuple(e.stiffness(x)), shape=(x.size, x.size)).tocsc()[free][:, free]
        step = np.zeros(x.size)
        step[free] = solvers.spsolve(k, f)
        x += step.reshape(-1, 3)
    floor = 1e-14 * E
    assert residuals[-1] <= floor
    late = [r / residuals[0] for r in residuals if r > 10 * floor]
    assert len(late) >= 3
    # Each step at least doubles the digits gained, up to a constant.
    for before, after in itertools.pairwise(late[1:]):
        assert after <= 30 * before**2


def test_the_matrix_is_filled_anew(rng: np.random.Generator) -> None:
    mesh, x = crumpled(rng)
    e = elements(mesh, "corotational")
    first = e.stiffness(x, "exact")
    again = e.stiffness(mesh.vertices, "exact")
    assert np.abs(first.data - again.data).max() > 1e-3 * E
    assert same_bits(e.stiffness(x, "exact").data, first.data)
    assert (np.diff(first.indptr) > 0).all()
    for i in range(e.nodes):
        assert (np.diff(first.indices[first.indptr[i] : first.indptr[i + 1]]) > 0).all()

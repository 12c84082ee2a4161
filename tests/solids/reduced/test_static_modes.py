"""Component modes, compliance and modal warping. Source: Müller et al. 2008, chapter 7; Craig and Bampton 1968; Choi and Ko 2005."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import bsr_array
from support.same_bits import everywhere

from meniscus.mesh import TetMesh, tet_block
from meniscus.solids import ReducedBody, ReducedModel, TetElements

ELASTIC = {"youngs_modulus": 1e5, "poissons_ratio": 0.3}


def beam(parts: int = 8, length: float = 2.0) -> tuple[TetMesh, np.ndarray, np.ndarray]:
    """A beam along x, the nodes of its ends."""
    mesh = tet_block(parts, 2, 2, (length, 0.4, 0.5), pattern="five")
    x = mesh.vertices[:, 0]
    return mesh, np.flatnonzero(x == 0), np.flatnonzero(x == x.max())


def full_matrices(mesh: TetMesh, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return bsr_array(TetElements(mesh, **ELASTIC).stiffness(mesh.vertices)).toarray(), np.repeat(masses, 3)


def rows(nodes: np.ndarray) -> np.ndarray:
    return (3 * np.asarray(nodes)[:, None] + np.arange(3)).ravel()


@pytest.mark.parametrize("held", [True, False])
def test_component_modes_are_static_at_the_interface_and_vibrate_inside(held: bool) -> None:
    mesh, start, end = beam()
    model = ReducedModel(mesh, modes=1, fixed=start if held else (), **ELASTIC)
    interface = end if held else np.concatenate([start, end])
    parts = model.component_modes(interface, 5)
    k, m = full_matrices(mesh, model.masses)
    static, modes = parts.vectors[5:], parts.vectors[:5]
    np.testing.assert_array_equal(static[:, rows(np.sort(interface))], np.eye(len(static)))
    assert not modes[:, rows(interface)].any()
    inner = np.setdiff1d(np.arange(len(m)), rows(np.concatenate([start, end])))
    np.testing.assert_allclose((k @ static.T)[inner], 0, atol=1e-9 * np.abs(k).max())
    exact = eigh(k[np.ix_(inner, inner)], np.diag(m[inner]), eigvals_only=True)[:5]
    np.testing.assert_allclose(np.diag(parts.stiffness)[:5], exact, rtol=1e-9)
    np.testing.assert_allclose(parts.stiffness, parts.vectors @ k @ parts.vectors.T, atol=1e-9 * np.abs(parts.stiffness).max())
    np.testing.assert_allclose(parts.mass, parts.vectors @ (m[:, None] * parts.vectors.T), atol=1e-12 * model.mass)
    np.testing.assert_allclose(parts.stiffness[:5, 5:], 0, atol=1e-9 * np.abs(parts.stiffness).max())


def test_two_components_joined_have_the_frequencies_of_the_whole() -> None:
    """Matrices added at the nodes that both halves have: frequencies from above, which converge with the modes inside."""
    whole, start, _ = beam(12, 3.0)
    half = 1.5
    model = ReducedModel(whole, modes=4, fixed=start, **ELASTIC)
    k, m = full_matrices(whole, model.masses)
    free = np.setdiff1d(np.arange(len(m)), rows(start))
    exact = eigh(k[np.ix_(free, free)], np.diag(m[free]), eigvals_only=True)[:4]
    centres = whole.vertices[whole.tets].mean(axis=1)[:, 0]
    errors = []
    for modes in (0, 4, 16):
        joined, size = {}, 0
        for number, chosen in enumerate((centres < half, centres > half)):
            part, source = TetMesh(whole.vertices, whole.tets[chosen]).compacted()
            part_model = ReducedModel(part, modes=1, fixed=np.flatnonzero(part.vertices[:, 0] == 0), **ELASTIC)
            shared = np.flatnonzero(part.vertices[:, 0] == half)
            c = part_model.component_modes(shared, modes)
            # The nodes of the interface by their numbers in the whole, after the modes of both halves.
            order = np.argsort(source[shared])
            at = np.concatenate([np.arange(modes) + number * modes, 2 * modes + rows(np.argsort(order))])
            size = 2 * modes + 3 * len(shared)
            joined[number] = (at, c)
        kk, mm = np.zeros((size, size)), np.zeros((size, size))
        for at, c in joined.values():
            kk[np.ix_(at, at)] += c.stiffness
            mm[np.ix_(at, at)] += c.mass
        found = eigh(kk, mm, eigvals_only=True)[:4]
        assert (found >= exact * (1 - 1e-9)).all()
        errors.append(found / exact - 1)
    assert (errors[0] > errors[1]).all()
    assert (errors[1] > errors[2]).all()
    assert errors[2].max() < 0.01


@pytest.mark.parametrize("held", [True, False])
def test_loads_at_the_interface_have_the_static_response_of_the_full_model(held: bool) -> None:
    """Everywhere in the body; as many modes alone are off by more than a per cent."""
    mesh, start, end = beam()
    fixed = start if held else ()
    interface = end[[0, 4, 8]] if held else np.concatenate([start[[0, 8]], end[[0, 8]]])
    model = ReducedModel(mesh, modes=3, fixed=fixed, interface=interface, material="linear", **ELASTIC)
    assert model.size == 3 + 3 * len(interface) - (0 if held else 6)
    m = np.repeat(model.masses, 3)
    np.testing.assert_allclose(model.vectors @ (m[:, None] * model.vectors.T), np.eye(model.size), atol=1e-10)
    force = np.zeros(len(m))
    force[rows(interface)] = np.random.default_rng(3).normal(size=3 * len(interface))
    k, _ = full_matrices(mesh, model.masses)
    if held:
        free = np.setdiff1d(np.arange(len(m)), rows(start))
        exact = np.zeros(len(m))
        exact[free] = np.linalg.solve(k[np.ix_(free, free)], force[free])
    else:  # a couple along the line between two nodes balances itself
        line = mesh.vertices[interface[3]] - mesh.vertices[interface[0]]
        force[:] = 0
        force[rows(interface[[3, 0]])] = np.concatenate([line, -line])
        exact = np.linalg.lstsq(k, force, rcond=1e-12)[0]
        exact -= rigid_part(mesh, model.masses, exact)
    found = model.displacements(model.vectors @ force / model.eigenvalues).ravel()
    np.testing.assert_allclose(found, exact, atol=1e-8 * np.abs(exact).max())
    alone = ReducedModel(mesh, modes=model.size, fixed=fixed, material="linear", **ELASTIC)
    assert np.abs(alone.displacements(alone.vectors @ force / alone.eigenvalues).ravel() - exact).max() > 0.01 * np.abs(exact).max()


def rigid_part(mesh: TetMesh, masses: np.ndarray, u: np.ndarray) -> np.ndarray:
    m = np.repeat(masses, 3)
    x = mesh.vertices - masses @ mesh.vertices / masses.sum()
    motions = np.array([np.tile(e, (len(x), 1)).ravel() for e in np.eye(3)] + [np.cross(e, x).ravel() for e in np.eye(3)])
    return motions.T @ np.linalg.solve(motions @ (m[:, None] * motions.T), motions @ (m * u))


def test_compliance_is_the_inverse_of_the_stiffness_and_contacts_are_boundary_conditions() -> None:
    mesh, start, end = beam()
    model = ReducedModel(mesh, modes=1, fixed=start, **ELASTIC)
    surface = np.setdiff1d(mesh.boundary.used_vertices, start)
    response = model.compliance(surface)
    np.testing.assert_array_equal(response.nodes, surface)
    np.testing.assert_array_equal(response.matrix, response.matrix.T)
    k, m = full_matrices(mesh, model.masses)
    free = np.setdiff1d(np.arange(len(m)), rows(start))
    inverse = np.zeros((len(m), len(m)))
    inverse[np.ix_(free, free)] = np.linalg.inv(k[np.ix_(free, free)])
    exact = inverse[np.ix_(rows(surface), rows(surface))]
    np.testing.assert_allclose(response.matrix, exact, atol=1e-9 * np.abs(exact).max())
    # Three contacts: two press along normals, one node is held in all directions; a load besides.
    rng = np.random.default_rng(5)
    contacts = np.searchsorted(surface, [end[0], end[4], end[8], end[8], end[8]])
    directions = np.vstack([[0.0, 0, 1], rng.normal(size=3), np.eye(3)])
    wanted = np.array([-0.02, 0.01, 0.0, 0.005, -0.01])
    loads = np.zeros((len(surface), 3))
    loads[3] = (4.0, -7.0, 2.0)
    u, f = response.press(contacts, directions, wanted, loads)
    np.testing.assert_allclose(np.einsum("cd,cd->c", u[contacts], directions), wanted, atol=1e-12)
    # The same by Lagrange multipliers in the full model.
    c = np.zeros((len(wanted), len(m)))
    for i, (at, n) in enumerate(zip(surface[contacts], directions, strict=True)):
        c[i, rows([at])] = n
    c = c[:, free]
    load = np.zeros(len(m))
    load[rows(surface)] = loads.ravel()
    system = np.block([[k[np.ix_(free, free)], c.T], [c, np.zeros((len(c), len(c)))]])
    solved = np.linalg.solve(system, np.concatenate([load[free], wanted]))
    full = np.zeros(len(m))
    full[free] = solved[: len(free)]
    np.testing.assert_allclose(u.ravel(), full[rows(surface)], atol=1e-9 * np.abs(full).max())
    forces = spread(contacts, -solved[len(free) :, None] * directions, len(surface))
    np.testing.assert_allclose(f - loads, forces, atol=1e-9 * np.abs(forces).max())
    none, still = response.press([], np.zeros((0, 3)), [])
    assert not none.any()
    assert not still.any()


def spread(at: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    out = np.zeros((count, 3))
    np.add.at(out, at, values)
    return out


def test_a_hinge_turns_a_stiff_part_rigidly_by_any_angle() -> None:
    """A beam that is soft at its root only: the lowest mode turns the rest, without warping it grows by 1 / cos."""
    mesh = tet_block(12, 1, 1, (3.0, 0.25, 0.25), pattern="five")
    x = mesh.vertices[:, 0]
    fixed = np.flatnonzero(x == 0)
    soft = (x[mesh.tets] < 0.3).all(axis=1)
    options = {"modes": 2, "fixed": fixed, "youngs_modulus": np.where(soft, 1e3, 1e9), "material": "linear"}
    linear, warped = ReducedModel(mesh, **options), ReducedModel(mesh, warping=True, **options)
    stiff = x > 0.7
    pairs = mesh.edges[stiff[mesh.edges].all(axis=1)]
    lengths = np.linalg.norm(mesh.vertices[pairs[:, 0]] - mesh.vertices[pairs[:, 1]], axis=1)

    def stretch(model: ReducedModel, angle: float) -> tuple[float, float]:
        """The largest strain of an edge of the stiff part, and the angle that it has turned by."""
        u = model.vectors[0].reshape(-1, 3)
        slope = np.linalg.norm(u[stiff][np.argmax(x[stiff])] - u[stiff][np.argmin(x[stiff])]) / (x[stiff].max() - x[stiff].min())
        y = mesh.vertices + model.displacements(np.array([angle / slope, 0.0]))
        strain = np.abs(np.linalg.norm(y[pairs[:, 0]] - y[pairs[:, 1]], axis=1) / lengths - 1).max()
        way = y[stiff][np.argmax(x[stiff])] - y[stiff][np.argmin(x[stiff])]
        rest = mesh.vertices[stiff][np.argmax(x[stiff])] - mesh.vertices[stiff][np.argmin(x[stiff])]
        return float(strain), float(np.arccos(way @ rest / np.linalg.norm(way) / np.linalg.norm(rest)))

    for angle in (0.5, 1.0, 2.0, 3.0):
        strain, turned = stretch(warped, angle)
        assert strain < 2e-4
        assert turned == pytest.approx(angle, rel=0.01)
        assert stretch(linear, angle)[0] > 0.9 * (np.sqrt(1 + angle**2) - 1)


def test_warped_rows_are_derivatives_and_small_motions_are_linear() -> None:
    """What an impulse changes at a node, and velocities, are those of places by finite differences; loads do the work that they should."""
    mesh, start, end = beam()
    model = ReducedModel(mesh, modes=6, fixed=start, material="linear", warping=True, **ELASTIC)
    plain = ReducedModel(mesh, modes=6, fixed=start, material="linear", **ELASTIC)
    rng = np.random.default_rng(2)
    tiny = 1e-6 * model.sample_poses(1)[0]
    np.testing.assert_allclose(model.displacements(tiny), plain.displacements(tiny), atol=1e-5 * np.abs(plain.displacements(tiny)).max())
    for bend in (0.02, 0.3, 1.5):  # both sides of a turn of one radian, where factors change from series to closed forms
        q, v = model.sample_poses(1, bend=bend)[0], rng.normal(size=6)
        body = ReducedBody(model)
        body.coordinates[:], body.rates[:] = q, v
        body.refresh()
        h = 1e-6 * np.linalg.norm(q)
        exact = (model.displacements(q + h * v) - model.displacements(q - h * v)) / (2 * h)
        np.testing.assert_allclose(body.velocities, exact, atol=1e-7 * np.abs(exact).max())
        np.testing.assert_allclose(body.positions, mesh.vertices + model.displacements(q), atol=1e-14)
        rows_of = np.array([(model.displacements(q + h * e) - model.displacements(q - h * e))[end[4]] / (2 * h) for e in np.eye(6)])
        np.testing.assert_allclose(body.inverse_mass(end[[4]].astype(np.int32))[0], rows_of.T @ rows_of, rtol=1e-6, atol=1e-9)


def test_a_cantilever_keeps_its_length_under_a_large_load() -> None:
    """At rest under its weight, its tip turned by 45 degrees; without warping it grows by 37 %."""
    mesh = tet_block(24, 2, 2, (4.0, 0.25, 0.25), pattern="five")
    x = mesh.vertices[:, 0]
    axis = np.flatnonzero((np.abs(mesh.vertices[:, 1:] - 0.125) < 1e-9).all(axis=1))
    axis = axis[np.argsort(x[axis])]
    lengths = {}
    for warping in (False, True):
        body = ReducedBody(
            ReducedModel(mesh, modes=8, fixed=np.flatnonzero(x == 0), youngs_modulus=1e7, material="linear", warping=warping),
            gravity=(0.0, 0.0, -9.81),
            mass_damping=3.0,
        )
        for _ in range(400):
            body.step(0.02, method="implicit-euler")
        assert np.abs(body.velocities).max() < 1e-3
        y = body.positions[axis]
        lengths[warping] = np.linalg.norm(np.diff(y, axis=0), axis=1).sum() / 4.0
    assert lengths[False] > 1.3
    assert abs(lengths[True] - 1) < 0.03


def test_warped_bodies_have_the_same_bits_on_any_threads_and_in_copies(default_parallelism: None) -> None:
    mesh, start, _ = beam()
    model = ReducedModel(mesh, modes=6, fixed=start, material="linear", warping=True, **ELASTIC)

    def run() -> list[np.ndarray]:
        body = ReducedBody(pickle.loads(pickle.dumps(model)), gravity=(0.0, 1.0, -9.81))
        for _ in range(5):
            body.step(0.02)
        return [np.array(body.positions), body.velocities]

    everywhere(run)


def test_what_is_refused() -> None:
    mesh, start, end = beam()
    with pytest.raises(ValueError, match='warping is for the material "linear" and a body with fixed nodes'):
        ReducedModel(mesh, material="linear", warping=True)
    with pytest.raises(ValueError, match="a basis with an interface has no modal derivatives"):
        ReducedModel(mesh, fixed=start, interface=end, modes=4, size=8)
    with pytest.raises(ValueError, match="interface node 0 must be a node of the body that is not fixed"):
        ReducedModel(mesh, fixed=start, interface=start[:1])
    model = ReducedModel(mesh, fixed=start)
    with pytest.raises(ValueError, match="compliance at node 0 must be a node of the body that is not fixed"):
        model.compliance(start[:1])
    with pytest.raises(ValueError, match="a body whose compliance is sought must have fixed nodes"):
        ReducedModel(mesh).compliance(end)
    response = model.compliance(end)
    with pytest.raises(ValueError, match="directions of contacts must be independent"):
        response.press([0, 0], [[0.0, 0, 1], [0, 0, 2]], [0.0, 0.1])
    with pytest.raises(ValueError, match="contacts must be at nodes of the compliance, not at 99"):
        response.press([99], [[0.0, 0, 1]], [0.1])

"""Quadratic tetrahedra: stiffness by the book, tangents, patches, rigid motions, masses, steps of bodies."""

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from support.build import same_bits
from support.elements.quadratic_tets import consistent_mass, gauss_rule, linear_stiffness
from support.forces.meshes import tet_block as unit_cubes
from support.same_bits import everywhere

import meniscus as ms
from meniscus.mesh import QuadraticTetMesh, TetMesh, quadratic_mesh, tet_block
from meniscus.numerics import polar_rotation
from meniscus.solids import DeformableBody, QuadraticTetElements, TetElements

MATERIALS = ("linear", "corotational", "st-venant-kirchhoff", "neo-hookean")
NONLINEAR = MATERIALS[1:]
TANGENTS = ("exact", "definite", "frozen")
E, NU = 1e6, 0.3
MU, LAMBDA = E / (2 * (1 + NU)), E * NU / ((1 + NU) * (1 - 2 * NU))


def rotation(rng: np.random.Generator) -> np.ndarray:
    return polar_rotation(rng.normal(size=(1, 3, 3)))[0]


def elements(mesh: QuadraticTetMesh, material: str = "corotational", **options: Any) -> QuadraticTetElements:
    return QuadraticTetElements(mesh, **{"youngs_modulus": E, "poissons_ratio": NU, "material": material, **options})


def irregular(rng: np.random.Generator, curved: float = 0.0) -> QuadraticTetMesh:
    """Eight cubes with moved corners; with `curved`, also nodes on edges off their middles."""
    mesh = quadratic_mesh(TetMesh(*unit_cubes(2, rng)))
    x = mesh.vertices.copy()
    corners = int(mesh.corners.used_vertices.size)
    x[corners:] += curved * rng.uniform(-1, 1, x[corners:].shape)
    return mesh.moved(x)


def dense(e: QuadraticTetElements, x: np.ndarray, tangent: str = "exact") -> np.ndarray:
    return sparse.bsr_array(tuple(e.stiffness(x, tangent)), shape=(x.size, x.size)).toarray()  # type: ignore[arg-type]


def inner(mesh: QuadraticTetMesh) -> np.ndarray:
    """The nodes (n,) that are not on the boundary."""
    inside = np.ones(len(mesh.vertices), bool)
    inside[mesh.boundary.triangles] = False
    return inside


# --- stiffness ------------------------------------------------------------------------------------------------------------------------


def test_stiffness_is_that_of_the_book(rng: np.random.Generator) -> None:
    """With straight edges the four points integrate exactly; with curved ones they are the rule."""
    straight = irregular(rng)
    k = linear_stiffness(straight.vertices, straight.elements, LAMBDA, MU, gauss_rule())
    assert np.abs(dense(elements(straight, "linear"), straight.vertices) - k).max() <= 1e-13 * np.abs(k).max()
    curved = irregular(rng, 0.1)
    far, near = (5 + 3 * 5**0.5) / 20, (5 - 5**0.5) / 20
    four = [(np.where(np.arange(4) == q, far, near), 0.25) for q in range(4)]
    k = linear_stiffness(curved.vertices, curved.elements, LAMBDA, MU, four)
    assert np.abs(dense(elements(curved, "linear"), curved.vertices) - k).max() <= 1e-13 * np.abs(k).max()


@pytest.mark.parametrize("material", MATERIALS)
def test_all_materials_have_the_same_stiffness_at_rest(material: str, rng: np.random.Generator) -> None:
    mesh = irregular(rng, 0.1)
    expected = dense(elements(mesh, "linear"), mesh.vertices)
    e = elements(mesh, material)
    for tangent in TANGENTS:
        assert np.abs(dense(e, mesh.vertices, tangent) - expected).max() <= 1e-13 * np.abs(expected).max()
    # Four points are enough: there are no modes without energy but the six rigid ones, not even of a single element.
    for single in (mesh, QuadraticTetMesh(mesh.vertices[mesh.elements[5]], np.arange(10, dtype=np.int32)[None])):
        values = np.linalg.eigvalsh(dense(elements(single, material), single.vertices))
        assert np.abs(values[:6]).max() <= 1e-12 * values[-1]
        assert values[6] > 1e-4 * values[-1]


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("storage", ["assembled", "matrix-free"])
def test_forces_and_tangents_are_derivatives(material: str, storage: str, rng: np.random.Generator) -> None:
    mesh = irregular(rng, 0.1)
    m = len(mesh.elements)
    e = elements(mesh, material, stiffness=storage, youngs_modulus=rng.uniform(1, 2, m), poissons_ratio=rng.uniform(-0.5, 0.45, m))
    # Strong deformations, many elements inverted at some of their points.
    for amount in (0.05, 0.5):
        x = mesh.vertices @ rotation(rng).T + amount * rng.uniform(-1, 1, mesh.vertices.shape)
        inverted = np.linalg.det(e.deformation_gradients(x)) < 0
        assert inverted.any() == (amount > 0.4)
        for _ in range(3):
            d, h = rng.normal(size=x.shape), 1e-4
            f = e.forces(x)
            slope = (8 * (e.energy(x + h * d) - e.energy(x - h * d)) - (e.energy(x + 2 * h * d) - e.energy(x - 2 * h * d))) / (12 * h)
            assert abs(slope + (f * d).sum()) <= 1e-8 * np.abs(f * d).sum()
            h = 1e-5
            slopes = (8 * (e.forces(x + h * d) - e.forces(x - h * d)) - (e.forces(x + 2 * h * d) - e.forces(x - 2 * h * d))) / (12 * h)
            assert np.abs(e.differentials(x, d) - slopes).max() <= 1e-7 * np.abs(slopes).max()


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("tangent", TANGENTS)
def test_matrices(material: str, tangent: Any, rng: np.random.Generator) -> None:
    mesh = irregular(rng, 0.1)
    x = mesh.vertices @ rotation(rng).T + 0.3 * rng.uniform(-1, 1, mesh.vertices.shape)
    k = dense(elements(mesh, material), x, tangent)
    size = np.abs(k).max()
    assert np.abs(k - k.T).max() <= 1e-14 * size
    assert np.abs(k @ np.tile(np.eye(3), (len(x), 1))).max() <= 1e-13 * size
    d = rng.normal(size=x.shape)
    damping = None
    for storage in ("assembled", "matrix-free"):
        e = elements(mesh, material, stiffness=storage, damping=0.02, mass_damping=0.5, density=10.0)
        assert np.abs(e.differentials(x, d, tangent).reshape(-1) + k @ d.reshape(-1)).max() <= 1e-13 * size
        # What damps must not see rotations: Hooke's law for the rate of Green strain.
        frozen = dense(elements(mesh, "st-venant-kirchhoff" if material == "corotational" else material), x, "frozen")
        expected = -0.02 * (frozen @ d.reshape(-1)).reshape(-1, 3) - 0.5 * e.masses[:, None] * d
        damping = e.damping_forces(x, d)
        assert np.abs(damping - expected).max() <= 1e-13 * size
        blocks = e.diagonal(x, 1.0, 2.0, tangent)
        for i in range(len(x)):
            here = slice(3 * i, 3 * i + 3)
            whole = k[here, here] + 0.04 * frozen[here, here] + 1.0 * e.masses[i] * np.eye(3)
            assert np.abs(blocks[i] + whole).max() <= 1e-13 * size


@pytest.mark.parametrize("material", NONLINEAR)
def test_definite_tangents(material: str, rng: np.random.Generator) -> None:
    mesh = irregular(rng, 0.1)
    for amount in (0.05, 0.3, 0.6):
        x = 0.6 * (mesh.vertices @ rotation(rng).T) + amount * rng.uniform(-1, 1, mesh.vertices.shape)
        e = elements(mesh, material)
        exact = dense(e, x)
        assert amount > 0.5 or np.linalg.eigvalsh(exact).min() < -1e-3 * np.abs(exact).max()
        for tangent in ("definite", "frozen"):
            k = dense(e, x, tangent)
            assert np.linalg.eigvalsh(k).min() >= -1e-12 * np.abs(k).max()
    # Where the exact one has no negative part, nothing is taken away.
    x = mesh.vertices @ (1.1 * rotation(rng)).T + 0.005 * rng.uniform(-1, 1, mesh.vertices.shape)
    exact = dense(e, x)
    assert np.abs(dense(e, x, "definite") - exact).max() <= 1e-12 * np.abs(exact).max()


def test_homogeneous_strains_agree_with_linear_elements(rng: np.random.Generator) -> None:
    """In a linear field of positions, all points have the strain and stress of the linear element, and energies agree."""
    mesh = irregular(rng)
    for material in MATERIALS:
        e, plain = elements(mesh, material), TetElements(mesh.corners, youngs_modulus=E, poissons_ratio=NU, material=material)  # type: ignore[arg-type]
        x = np.ascontiguousarray(mesh.vertices @ (np.eye(3) + 0.3 * rng.uniform(-1, 1, (3, 3))).T)
        assert e.energy(x) == pytest.approx(plain.energy(x), rel=1e-12)
        for measure in ("cauchy", "first-piola", "second-piola"):
            s = plain.stresses(x, measure)  # type: ignore[arg-type]
            assert np.abs(e.stresses(x, measure) - s[:, None]).max() <= 1e-11 * np.abs(s).max()  # type: ignore[arg-type]
        assert np.abs(e.strains(x) - plain.strains(x)[:, None]).max() <= 1e-12
        assert np.abs(e.rotations(x) - plain.rotations(x)[:, None]).max() <= 1e-12
        v = rng.normal(size=(3, 3))
        v = np.ascontiguousarray(mesh.vertices @ v.T)
        assert e.strain_rate(x, v) == pytest.approx(plain.strain_rate(x, v), rel=1e-10)


# --- patches and rigid motions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("material", MATERIALS)
def test_patches_of_constant_strain(material: str, rng: np.random.Generator) -> None:
    straight, gradient = irregular(rng), np.eye(3) + 0.3 * rng.uniform(-1, 1, (3, 3))
    e = elements(straight, material)
    f = e.forces(np.ascontiguousarray(straight.vertices @ gradient.T))
    assert np.abs(f[inner(straight)]).max() <= 1e-13 * np.abs(f).max()
    # With curved edges strains and stresses are right to the last digits too.
    curved = irregular(rng, 0.1)
    e = elements(curved, material)
    x = np.ascontiguousarray(curved.vertices @ gradient.T)
    assert np.abs(e.deformation_gradients(x) - gradient).max() <= 1e-13
    p = e.stresses(x, "first-piola")
    assert np.abs(p - p[0, 0]).max() <= 1e-12 * np.abs(p).max()


def test_forces_of_constant_stress_between_curved_edges_are_small_of_second_order(rng: np.random.Generator) -> None:
    straight = irregular(rng)
    inside, gradient = inner(straight), np.eye(3) + 0.1 * rng.uniform(-1, 1, (3, 3))
    shift = rng.uniform(-1, 1, straight.vertices.shape)
    shift[straight.corners.used_vertices] = 0
    left = []
    for size in (0.08, 0.04, 0.02):
        mesh = straight.moved(straight.vertices + size * shift)
        f = elements(mesh).forces(np.ascontiguousarray(mesh.vertices @ gradient.T))
        left.append(np.abs(f[inside]).max() / np.abs(f).max())
    assert left[0] < 0.02
    for coarse, fine in itertools.pairwise(left):
        assert coarse / fine == pytest.approx(4, rel=0.15)


def test_pure_bending_is_exact(rng: np.random.Generator) -> None:
    """The field of a beam in pure bending is quadratic: u = (x z, -nu y z, -x^2 / 2 - nu (z^2 - y^2) / 2), with the stress E z along x.

    It balances inside of any mesh with straight edges, which linear elements do not come near to.
    """
    for nu in (0.0, 0.3, 0.49, 0.4999):
        mesh = irregular(rng)
        q, inside = rotation(rng), inner(mesh)
        x, y, z = (mesh.vertices @ q).T
        u = np.stack([x * z, -nu * y * z, -0.5 * (x**2 + nu * (z**2 - y**2))], axis=1)
        e = elements(mesh, "linear", poissons_ratio=nu)
        moved = np.ascontiguousarray(mesh.vertices + u @ q.T)
        f = e.forces(moved)
        scale = E / (1 - 2 * nu)
        assert np.abs(f[inside]).max() <= 1e-13 * scale
        assert np.abs(f).max() > 1e-2 * E
        # The energy of each element is the integral of E z^2 / 2.
        rule = gauss_rule()
        height = sum(
            w * (np.einsum("k,mkd->md", np.append(at, 0)[:4], mesh.vertices[mesh.elements[:, :4]]) @ q[:, 2]) ** 2 for at, w in rule
        )
        assert e.energy(moved) == pytest.approx(0.5 * E * (height * mesh.measures()).sum(), rel=1e-10)
        plain = TetElements(mesh.pieces, youngs_modulus=E, poissons_ratio=nu, material="linear")
        assert np.abs(plain.forces(moved)[inside]).max() > 1e-2 * scale


@pytest.mark.parametrize("material", MATERIALS)
def test_rigid_motions_are_free(material: str, rng: np.random.Generator) -> None:
    mesh = irregular(rng, 0.1)
    e = elements(mesh, material, damping=0.1)
    x = mesh.vertices
    size, energy = np.abs(e.forces(1.01 * x)).max(), e.energy(1.01 * x)
    moved = [x, x + np.array([3.0, -2, 1])]
    if material != "linear":
        moved += [np.ascontiguousarray(x @ rotation(rng).T + rng.uniform(-5, 5, 3)) for _ in range(5)]
    for y in moved:
        assert np.abs(e.forces(y)).max() <= 1e-11 * size
        assert abs(e.energy(y)) <= 1e-10 * energy
        v = np.cross(rng.normal(size=3), y) + rng.normal(size=3)
        assert np.abs(e.damping_forces(y, v)).max() <= 1e-9 * 0.1 * size / 0.01


# --- masses and frequencies -----------------------------------------------------------------------------------------------------------


def test_masses(rng: np.random.Generator) -> None:
    mesh = irregular(rng)
    m = consistent_mass(mesh.vertices, mesh.elements, 7.0)
    # What rows of the consistent matrix sum up to is negative at corners, and no mass.
    assert m.sum(axis=1).min() < 0
    e = elements(mesh, density=7.0)
    assert e.masses.min() > 0
    assert e.masses.sum() == pytest.approx(m.sum(), rel=1e-12)
    assert np.abs(e.masses @ mesh.vertices - m.sum(axis=1) @ mesh.vertices).max() <= 1e-12 * m.sum()
    single = QuadraticTetMesh(mesh.vertices[mesh.elements[3]], np.arange(10, dtype=np.int32)[None])
    diagonal = np.diag(consistent_mass(single.vertices, single.elements, 7.0))
    assert np.abs(single.node_masses(7.0) - diagonal / diagonal.sum() * 7 * single.volume()).max() <= 1e-13 * diagonal.max()
    rho = rng.uniform(1, 2, len(mesh.elements))
    assert np.abs(elements(mesh, density=rho).masses - mesh.node_masses(rho)).max() <= 1e-15
    with pytest.raises(ValueError, match="masses need a density"):
        _ = elements(mesh).masses


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("nu", [0.0, 0.3, 0.45])
def test_bounds_of_frequencies(material: str, nu: float, rng: np.random.Generator) -> None:
    mesh = quadratic_mesh(tet_block(3, 1, 1, (1, 0.4, 0.4)))
    e = elements(mesh, material, poissons_ratio=nu, density=1.0)
    scale = np.repeat(1 / np.sqrt(e.masses), 3)
    for amount, most in ((0.0, 1.9), (0.01, 2.3), (0.03, 3)):
        x = np.ascontiguousarray(mesh.vertices @ rotation(rng).T + amount * rng.uniform(-1, 1, mesh.vertices.shape))
        if material == "linear":
            x = mesh.vertices
        highest = np.sqrt(np.linalg.eigvalsh(scale[:, None] * dense(e, x) * scale)[-1])
        bound = np.sqrt(2 * (e.stiffness_bounds(x) / e.masses).max())
        assert highest <= bound <= most * highest


# --- bodies ---------------------------------------------------------------------------------------------------------------------------

STEPS: list[tuple[str, dict[str, Any]]] = [
    ("newmark", {}),
    ("newmark", {"elasticity": "full-step"}),
    ("implicit-euler", {"newton_tolerance": 1e-12}),
    ("symplectic-euler", {}),
    ("rk4", {}),
    ("verlet", {}),
    ("velocity-verlet", {}),
]


@pytest.mark.parametrize(("integrator", "options"), STEPS)
@pytest.mark.parametrize("material", NONLINEAR)
def test_bodies_in_free_flight(integrator: Any, options: dict[str, Any], material: str, rng: np.random.Generator) -> None:
    mesh = irregular(rng)
    body = DeformableBody(mesh, density=100.0)
    e = body.add(elements(mesh, material, youngs_modulus=1e4, density=100.0))
    assert np.abs(body.masses - e.masses).max() <= 1e-15 * 100
    body.velocities = np.cross([0.5, -1.0, 0.3], body.positions) + 0.1 * rng.normal(size=body.positions.shape) + [1.0, 2.0, 0.0]
    body.positions *= 1.03
    momentum, start = body.momentum(), body.energy()
    turning, least = body.angular_momentum(), start["elastic"]
    dt = 0.5 * body.max_dt("symplectic-euler", max_strain=1e9)
    for _ in range(60):
        body.step(dt, integrator, tolerance=1e-13, **options)
        least = min(least, body.energy()["elastic"])
    assert np.abs(body.momentum() - momentum).max() <= 1e-11 * np.abs(momentum).max()
    # It swings, and what the elements lose the motion gains; implicit steps damp.
    assert least < 0.5 * start["elastic"]
    change = (body.energy()["total"] - start["total"]) / start["elastic"]
    if integrator == "implicit-euler" or options:
        assert -1.5 < change < -0.05
    else:
        assert abs(change) < {"symplectic-euler": 0.1, "verlet": 0.3}.get(integrator, 0.01)
    if integrator in ("symplectic-euler", "velocity-verlet"):
        assert np.abs(body.angular_momentum() - turning).max() <= 1e-9 * np.linalg.norm(turning)


@pytest.mark.slow
def test_the_limit_of_steps_is_safe_and_not_far_from_the_real_one(rng: np.random.Generator) -> None:
    mesh = irregular(rng)
    for factor, blows_up in ((1.0, False), (2.5, True)):
        body = DeformableBody(mesh, density=100.0)
        body.add(elements(mesh, "corotational"))
        body.velocities = 1e-6 * rng.normal(size=body.positions.shape)
        start = body.energy()["total"]
        dt = factor * body.max_dt("newmark", cfl=1.0, max_strain=1e9)
        most = 0.0
        try:
            for _ in range(600):
                body.step(dt)
                most = max(most, body.energy()["total"])
        except ValueError:
            most = np.inf
        assert (most > 100 * start) == blows_up


@pytest.mark.parametrize("material", ["corotational", "neo-hookean"])
def test_a_body_squashed_into_a_plane_recovers(material: str) -> None:
    mesh = quadratic_mesh(tet_block(2, 2, 2))
    e = elements(mesh, material, youngs_modulus=1e4, damping=0.02)
    body = DeformableBody(mesh, density=100.0)
    body.add(e)
    body.positions[:, 2] = 0
    for _ in range(50):
        body.step(0.1, integrator="implicit-euler")
    assert np.linalg.det(e.deformation_gradients(body.positions)).min() > 0.9
    assert np.abs(e.strains(body.positions)).max() <= 1e-2


def test_threads_and_width_do_not_matter(rng: np.random.Generator, default_parallelism: None) -> None:
    mesh = quadratic_mesh(tet_block(5, 5, 5))  # more elements than one thread takes at a time
    x = mesh.vertices @ rotation(rng).T + 0.01 * rng.normal(size=mesh.vertices.shape)
    dx = rng.normal(size=x.shape)
    for material in ("corotational", "neo-hookean"):
        for storage in ("assembled", "matrix-free"):
            e = elements(mesh, material, damping=0.1, stiffness=storage)

            def run(e: QuadraticTetElements = e) -> list[np.ndarray]:
                result = [np.array([e.energy(x), e.strain_rate(x, dx)]), e.forces(x), e.stiffness_bounds(x), e.damping_forces(x, dx)]
                for tangent in TANGENTS:
                    result += [e.differentials(x, dx, tangent), e.diagonal(x, 1.0, 0.5, tangent)]  # type: ignore[arg-type]
                return result

            everywhere(run)


def test_bodies_step_with_the_same_bits_on_any_number_of_threads(rng: np.random.Generator, default_parallelism: None) -> None:
    mesh = quadratic_mesh(tet_block(5, 5, 4))
    kick = rng.normal(size=mesh.vertices.shape)

    def run() -> list[np.ndarray]:
        body = DeformableBody(mesh, density=100.0)
        body.add(elements(mesh))
        body.velocities = kick
        body.step(4e-4)
        body.step(1e-2, "implicit-euler")
        return [body.positions.copy(), body.velocities.copy()]

    everywhere(run, (1, 5))


# --- arguments ------------------------------------------------------------------------------------------------------------------------


def test_elements_that_are_flat_or_inverted_at_rest(rng: np.random.Generator) -> None:
    mesh = quadratic_mesh(tet_block(1, 1, 1))
    x = mesh.vertices.copy()
    folded = int(mesh.elements[2, 4])
    x[folded] += 3 * (x[mesh.elements[2, 0]] - x[folded])  # beyond the corner
    bad = mesh.moved(x)
    with pytest.raises(ValueError, match=r"element \d is flat or inverted at rest"):
        elements(bad)
    e = elements(bad, degenerate="skip", density=5.0)
    assert 2 in e.skipped
    assert len(e.skipped) < 6
    assert (e.volumes[e.skipped] == 0).all()
    kept = np.setdiff1d(np.arange(6), e.skipped)
    rest = elements(QuadraticTetMesh(x, np.ascontiguousarray(mesh.elements[kept])), density=5.0)
    y = x + 0.05 * rng.normal(size=x.shape)
    n = rest.nodes
    assert np.abs(e.forces(y)[:n] - rest.forces(y)[:n]).max() <= 1e-12 * np.abs(rest.forces(y)).max()
    assert e.masses.sum() == pytest.approx(rest.masses.sum())


def test_pickles_and_arguments(rng: np.random.Generator) -> None:
    mesh = irregular(rng, 0.05)
    e = elements(mesh, "neo-hookean", youngs_modulus=rng.uniform(1, 2, len(mesh.elements)), damping=0.5, density=3.0)
    f = pickle.loads(pickle.dumps(e))
    x = mesh.vertices + 0.1 * rng.normal(size=mesh.vertices.shape)
    assert same_bits([f.forces(x), f.damping_forces(x, x), f.masses], [e.forces(x), e.damping_forces(x, x), e.masses])
    with pytest.raises(TypeError, match="quadratic_mesh makes one of a TetMesh"):
        QuadraticTetElements(mesh.corners, youngs_modulus=E)
    with pytest.raises(ValueError, match=r"shape \(m, 10\)"):
        QuadraticTetElements(mesh.corners.tets, mesh.vertices, youngs_modulus=E)
    with pytest.raises(ValueError, match="nodes must be below"):
        QuadraticTetElements(mesh.elements, mesh.vertices[:-1].copy(), youngs_modulus=E)
    with pytest.raises(ValueError, match="material must be one of"):
        elements(mesh, "jelly")
    with pytest.raises(ValueError, match="the stiffness matrix is not kept"):
        elements(mesh, stiffness="matrix-free").stiffness(mesh.vertices)
    none = QuadraticTetElements(mesh.elements[:0], mesh.vertices, youngs_modulus=E)
    assert none.energy(x) == 0
    assert not none.forces(x).any()


def test_memory_of_bodies_is_viewed(rng: np.random.Generator) -> None:
    mesh = irregular(rng)
    body = DeformableBody(mesh, density=1.0)
    surface = mesh.boundary
    assert np.shares_memory(surface.vertices, mesh.vertices)
    view = body.positions
    body.velocities[...] = 1.0
    body.step(0.5)
    assert np.abs(view - mesh.vertices - 0.5).max() <= 1e-15 * 4
    # The same triangles draw the body anywhere, and points hang on the pieces.
    points = rng.uniform(0.3, 1.7, (50, 3))
    hung = ms.collision.embed(mesh.pieces, points, "nearest")
    assert np.abs(hung.positions(view) - hung.positions(np.asarray(mesh.vertices)) - 0.5).max() <= 1e-14

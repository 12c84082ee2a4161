"""Linear tetrahedral elements: strains, stresses, energies, forces, and flat and inverted elements."""

import pickle

import numpy as np
import pytest
from support.build import same_bits
from support.literal.tet_formulas import element_face_forces, element_stiffness

import meniscus as ms
from meniscus.mesh import tet_block
from meniscus.numerics import polar_rotation
from meniscus.solids import TetElements

MATERIALS = ("linear", "corotational", "st-venant-kirchhoff", "neo-hookean")
NONLINEAR = MATERIALS[1:]
E, NU = 1e6, 0.3
MU, LAMBDA = E / (2 * (1 + NU)), E * NU / ((1 + NU) * (1 - 2 * NU))
UNIT = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
ONE = np.array([(0, 1, 2, 3)], np.int32)


def rotation(rng: np.random.Generator) -> np.ndarray:
    return polar_rotation(rng.normal(size=(1, 3, 3)))[0]


def random_tet(rng: np.random.Generator) -> np.ndarray:
    """Corners of a tetrahedron of positive volume that is not too flat."""
    while True:
        p = rng.uniform(-1, 1, (4, 3))
        if np.linalg.det(p[1:] - p[0]) > 0.2:
            return p


def one(p: np.ndarray, material: str = "corotational", **options: object) -> TetElements:
    return TetElements(ONE, p, **{"youngs_modulus": E, "poissons_ratio": NU, "material": material, **options})  # type: ignore[arg-type]


def deformed(f: np.ndarray, p: np.ndarray = UNIT) -> np.ndarray:
    return np.ascontiguousarray(p @ np.asarray(f, float).T)


def torque(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    return np.cross(x, f).sum(axis=0)


# --- strain and stress ----------------------------------------------------------------------------------------------------------------


def test_strains_of_the_examples(rng: np.random.Generator) -> None:
    e = one(UNIT)
    twice = deformed(2 * np.eye(3))
    assert np.abs(e.strains(twice) - 1.5 * np.eye(3)).max() <= 1e-15
    assert np.abs(e.strains(twice, "cauchy") - np.eye(3)).max() <= 1e-15
    quarter = deformed([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert np.abs(e.deformation_gradients(quarter)[0] - np.eye(3) - [[-1, -1, 0], [1, -1, 0], [0, 0, 0]]).max() <= 1e-15
    assert np.abs(e.strains(quarter)).max() <= 1e-15
    assert np.abs(e.strains(quarter, "cauchy")[0] - np.diag([-1, -1, 0])).max() <= 1e-15
    for angle in rng.uniform(-3, 3, 10):
        c, s = np.cos(angle), np.sin(angle)
        x = deformed([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        assert np.abs(e.strains(x, "cauchy")[0] - (c - 1) * np.diag([1, 1, 0])).max() <= 1e-15
        assert np.abs(e.strains(deformed(rotation(rng)))).max() <= 1e-15


@pytest.mark.parametrize("material", MATERIALS)
def test_hookes_law_for_small_strains(material: str, rng: np.random.Generator) -> None:
    p, size = random_tet(rng), 1e-7
    e = one(p, material)
    # Uniaxial stress: the sides give way by Poisson's ratio.
    stress = e.stresses(deformed(np.eye(3) + size * np.diag([1, -NU, -NU]), p))[0]
    assert np.abs(stress - np.diag([E * size, 0, 0])).max() <= 1e-6 * E * size
    # Simple shear by gamma: tau = G gamma.
    shear = np.eye(3)
    shear[0, 1] = size
    stress = e.stresses(deformed(shear, p))[0]
    assert np.abs(stress - MU * size * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])).max() <= 1e-6 * E * size
    # Pressure: K = E / (3 (1 - 2 nu)) times the change of volume.
    stress = e.stresses(deformed((1 + size) * np.eye(3), p))[0]
    assert np.abs(stress - E / (3 * (1 - 2 * NU)) * 3 * size * np.eye(3)).max() <= 1e-5 * E * size


def test_stress_measures(rng: np.random.Generator) -> None:
    for material in NONLINEAR:
        e, f = one(UNIT, material), np.eye(3) + 0.3 * rng.uniform(-1, 1, (3, 3))
        x = deformed(f)
        first = e.stresses(x, "first-piola")[0]
        assert np.abs(e.stresses(x, "second-piola")[0] - np.linalg.solve(f, first)).max() <= 1e-9 * E
        cauchy = e.stresses(x)[0]
        assert np.abs(cauchy - first @ f.T / np.linalg.det(f)).max() <= 1e-12 * E
        assert np.abs(cauchy - cauchy.T).max() <= 1e-14 * E
    green = 0.5 * (f.T @ f - np.eye(3))
    second = one(UNIT, "st-venant-kirchhoff").stresses(x, "second-piola")[0]
    assert np.abs(second - 2 * MU * green - LAMBDA * np.trace(green) * np.eye(3)).max() <= 1e-9 * E
    r = polar_rotation(f[None])[0]
    s = r.T @ f - np.eye(3)
    warped = one(UNIT, "corotational").stresses(x, "first-piola")[0]
    assert np.abs(warped - r @ (2 * MU * s + LAMBDA * np.trace(s) * np.eye(3))).max() <= 1e-14 * E
    flat = deformed(np.diag([1, 1, 0]))
    assert np.isnan(one(UNIT).stresses(flat)).all()
    assert np.isfinite(one(UNIT).stresses(flat, "first-piola")).all()


def test_green_strain_gives_way_under_compression() -> None:
    # With free sides the stress of uniaxial stretch s is E s (s^2 - 1) / 2, with its greatest size at 1 / sqrt(3) and 0 at 0.
    e = TetElements(ONE, UNIT, youngs_modulus=E, poissons_ratio=0.0, material="st-venant-kirchhoff")
    stretch = np.linspace(0, 1, 1001)
    push = np.array([e.stresses(deformed(np.diag([s, 1, 1])), "first-piola")[0, 0, 0] for s in stretch])
    assert np.abs(push - E * stretch * (stretch**2 - 1) / 2).max() <= 1e-14 * E
    assert stretch[np.argmin(push)] == pytest.approx(1 / np.sqrt(3), abs=1e-3)
    assert push[0] == 0
    # The stable neo-Hookean energy pushes back all the way, and out of inversion.
    out = TetElements(ONE, UNIT, youngs_modulus=E, poissons_ratio=0.3, material="neo-hookean")
    pushed = np.array([out.stresses(deformed(np.diag([s, 1, 1])), "first-piola")[0, 0, 0] for s in np.linspace(-1, 0.99, 200)])
    assert (pushed < 0).all()


# --- energies and forces --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("material", MATERIALS)
def test_forces_are_the_slope_of_the_energy(material: str, rng: np.random.Generator) -> None:
    mesh = tet_block(3, 2, 2, (1.5, 1, 1))
    e = TetElements(
        mesh, youngs_modulus=rng.uniform(0.5, 2, len(mesh.tets)), poissons_ratio=rng.uniform(-0.5, 0.45, len(mesh.tets)), material=material
    )  # type: ignore[arg-type]
    x = deformed(rotation(rng), mesh.vertices) + rng.uniform(-0.1, 0.1, mesh.vertices.shape)
    f, h = e.forces(x), 1e-4
    for _ in range(10):
        d = rng.normal(size=x.shape)
        # The fourth-order difference formula.
        slope = (8 * (e.energy(x + h * d) - e.energy(x - h * d)) - (e.energy(x + 2 * h * d) - e.energy(x - 2 * h * d))) / (12 * h)
        assert abs(slope + (f * d).sum()) <= 1e-9 * np.abs(f * d).sum()


@pytest.mark.parametrize("material", MATERIALS)
def test_rest_is_at_rest(material: str, rng: np.random.Generator) -> None:
    mesh = tet_block(3, 3, 3)
    e = TetElements(mesh, youngs_modulus=E, poissons_ratio=NU, material=material)  # type: ignore[arg-type]
    size = np.abs(e.forces(1.01 * mesh.vertices)).max()
    assert np.abs(e.forces(mesh.vertices)).max() <= 1e-12 * size
    assert abs(e.energy(mesh.vertices)) <= 1e-12 * e.energy(1.01 * mesh.vertices)
    moved = mesh.vertices + np.array([3.0, -2, 1])
    assert np.abs(e.forces(moved)).max() <= 1e-11 * size
    if material != "linear":
        assert np.abs(e.forces(deformed(rotation(rng), mesh.vertices))).max() <= 1e-11 * size


@pytest.mark.parametrize("material", NONLINEAR)
def test_forces_turn_with_the_element(material: str, rng: np.random.Generator) -> None:
    for _ in range(50):
        p = random_tet(rng)
        e, x = one(p, material), p + rng.uniform(-0.3, 0.3, (4, 3))
        q = rotation(rng)
        f = e.forces(x)
        size = np.abs(f).max()
        assert np.abs(e.forces(np.ascontiguousarray(x @ q.T)) - f @ q.T).max() <= 1e-12 * size
        assert np.abs(f.sum(axis=0)).max() <= 1e-12 * size
        assert np.abs(torque(x, f)).max() <= 1e-12 * size


def test_one_turned_and_strained_element_has_no_torque(rng: np.random.Generator) -> None:
    """With the printed stiffness or with Gram-Schmidt, which are tried beside it, it has."""
    worst_printed = worst_gram = 0.0
    for _ in range(100):
        p = random_tet(rng)
        x = deformed(rotation(rng) @ (np.eye(3) + 0.2 * rng.uniform(-1, 1, (3, 3))), p)
        f = one(p).forces(x)
        size = np.abs(f).max()
        assert np.abs(f.sum(axis=0)).max() <= 1e-12 * size
        assert np.abs(torque(x, f)).max() <= 1e-12 * size

        def warped(method: str, formula: str, p: np.ndarray = p, x: np.ndarray = x) -> np.ndarray:
            gradient = np.ascontiguousarray(np.linalg.solve((p[1:] - p[0]), x[1:] - x[0]).T)
            r = polar_rotation(gradient[None], method)[0]  # type: ignore[arg-type]
            u = x @ r - p
            return -(element_stiffness(p, E, NU, formula) @ u.reshape(-1)).reshape(4, 3) @ r.T  # type: ignore[arg-type]

        assert np.abs(warped("polar", "corrected") - f).max() <= 1e-12 * size
        printed, gram = warped("polar", "printed-shear"), warped("gram-schmidt", "corrected")
        worst_printed = max(worst_printed, np.linalg.norm(torque(x, printed)) / np.linalg.norm(printed))
        worst_gram = max(worst_gram, np.linalg.norm(torque(x, gram)) / np.linalg.norm(gram))
    assert worst_printed > 0.05
    assert worst_gram > 0.05


def test_linear_elements_feel_rotations_that_warped_ones_do_not() -> None:
    mesh = tet_block(8, 4, 4, (1, 0.5, 0.5))
    linear, warped = (TetElements(mesh, youngs_modulus=E, poissons_ratio=0.0, material=m) for m in ("linear", "corotational"))
    turned = deformed([[0, -1, 0], [1, 0, 0], [0, 0, 1]], mesh.vertices)
    stretched = deformed(np.diag([1.01, 1, 1]), mesh.vertices)
    ghost, real = np.abs(linear.forces(turned)).max(), np.abs(linear.forces(stretched)).max()
    assert ghost > 50 * real
    assert np.abs(warped.forces(turned)).max() <= 1e-10 * real


# --- recipes as printed ----------------------------------------------------------------------------------------------------------------


def test_forces_on_deformed_faces(rng: np.random.Generator) -> None:
    p = random_tet(rng)
    e = one(p, "st-venant-kirchhoff")
    x = deformed(rotation(rng), p) + rng.uniform(-0.2, 0.2, (4, 3))
    f = e.forces(x)
    assert np.abs(element_face_forces(p, x, E, NU) - f).max() <= 1e-12 * np.abs(f).max()
    # As printed, forces are twice too great even for small strains without rotation.
    x = deformed(np.eye(3) + 1e-6 * np.diag([1, -0.5, 0.25]), p)
    f = e.forces(x)
    assert np.abs(element_face_forces(p, x, E, NU, "printed") - 2 * f).max() <= 1e-5 * np.abs(f).max()
    assert np.abs(element_face_forces(p, x, E, NU, "printed-halved") - f).max() <= 1e-5 * np.abs(f).max()
    # And with the right areas the stress does not turn with the element.
    x = deformed(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]) @ np.diag([1.001, 1, 1]), p)
    f = e.forces(x)
    assert np.linalg.norm(element_face_forces(p, x, E, NU, "printed-halved") - f) > 0.5 * np.linalg.norm(f)


def test_the_recipe_for_the_stiffness(rng: np.random.Generator) -> None:
    for _ in range(10):
        p = random_tet(rng)
        k = element_stiffness(p, E, NU)
        size = np.abs(k).max()
        dense = np.zeros((12, 12))
        blocks = one(p, "linear").stiffness(p)
        for i in range(4):
            for n in range(blocks.indptr[i], blocks.indptr[i + 1]):
                j = blocks.indices[n]
                dense[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = blocks.data[n]
        assert np.abs(dense - k).max() <= 1e-14 * size
        assert np.abs(k - k.T).max() <= 1e-15 * size
        values = np.linalg.eigvalsh(k)
        assert np.abs(values[:6]).max() <= 1e-13 * values[-1]
        assert values[6] > 1e-6 * values[-1]
        # The energy of a homogeneous strain.
        strain = rng.uniform(-1, 1, (3, 3))
        strain = strain + strain.T
        u = (p @ strain).reshape(-1)
        volume = np.linalg.det(p[1:] - p[0]) / 6
        energy = volume * (MU * (strain**2).sum() + 0.5 * LAMBDA * np.trace(strain) ** 2)
        assert 0.5 * u @ k @ u == pytest.approx(energy, rel=1e-12)
        # Turned elements have turned stiffness; the printed coefficient of shear belongs to no isotropic material.
        q = rotation(rng)
        turn = np.kron(np.eye(4), q)
        assert np.abs(element_stiffness(np.ascontiguousarray(p @ q.T), E, NU) - turn @ k @ turn.T).max() <= 1e-14 * size
        shear = element_stiffness(p, E, NU, "printed-shear")
        wrong = element_stiffness(np.ascontiguousarray(p @ q.T), E, NU, "printed-shear") - turn @ shear @ turn.T
        assert np.abs(wrong).max() > 1e-3 * size
        assert np.abs(element_stiffness(p, E, NU, "printed") - 6 * shear).max() <= 1e-14 * 6 * size


def test_shear_tractions_of_a_cube() -> None:
    # A unit cube in simple shear gamma: the force on its top is G gamma A, and twice that as printed.
    mesh, gamma = tet_block(1, 1, 1), 1e-3
    u = np.zeros((8, 3))
    u[:, 0] = gamma * mesh.vertices[:, 1]
    top = mesh.vertices[:, 1] == 1
    for formula, expected in (("corrected", 1.0), ("printed-shear", 2.0)):
        f = np.zeros((8, 3))
        for t in mesh.tets:
            k = element_stiffness(np.ascontiguousarray(mesh.vertices[t]), E, NU, formula)  # type: ignore[arg-type]
            f[t] += (k @ u[t].reshape(-1)).reshape(4, 3)
        assert f[top, 0].sum() / (MU * gamma) == pytest.approx(expected, rel=1e-12)


# --- flat, inverted and missing ---------------------------------------------------------------------------------------------------------


BAD_SHAPES = {
    "flat": np.diag([1, 1, 0.0]),
    "line": np.diag([1, 0.0, 0]),
    "point": np.zeros((3, 3)),
    "inverted": np.diag([1, 1, -1.0]),
    "turned inside out": -np.eye(3),
    "huge": 1e5 * np.eye(3),
    "sheared flat": np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1.0]]),
}


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("shape", BAD_SHAPES)
@pytest.mark.parametrize("storage", ["assembled", "matrix-free"])
def test_flat_and_inverted_elements_are_finite(material: str, shape: str, storage: str, rng: np.random.Generator) -> None:
    p = random_tet(rng)
    e, x = one(p, material, stiffness=storage, damping=0.1), deformed(BAD_SHAPES[shape], p)
    assert np.isfinite(e.energy(x))
    f = e.forces(x)
    assert np.isfinite(f).all()
    assert np.isfinite(e.stiffness_bounds(x)).all()
    assert np.isfinite(e.damping_forces(x, rng.normal(size=(4, 3)))).all()
    for tangent in ("exact", "definite", "frozen"):
        assert np.isfinite(e.diagonal(x, 1.0, 1.0, tangent)).all()  # type: ignore[arg-type]
        for _ in range(5):
            dx = rng.normal(size=(4, 3))
            df = e.differentials(x, dx, tangent)  # type: ignore[arg-type]
            assert np.isfinite(df).all()
            if tangent != "exact":
                assert (df * dx).sum() <= 1e-9 * np.abs(df * dx).sum()
    if material in ("corotational", "neo-hookean") and shape in ("flat", "inverted", "line"):
        # It is pushed back the short way: against what was collapsed or inverted.
        assert np.abs(f).max() > 1e-3 * E


def test_elements_that_are_flat_at_rest() -> None:
    x = np.concatenate([UNIT, [(1, 1, 0)]])
    tets = np.array([(0, 1, 2, 3), (0, 1, 4, 2), (0, 2, 1, 3), (1, 4, 2, 3)], np.int32)
    with pytest.raises(ValueError, match="element 1 is flat or inverted at rest"):
        TetElements(tets, x, youngs_modulus=E)
    e = TetElements(tets, x, youngs_modulus=E, degenerate="skip", density=6.0)
    assert e.skipped.tolist() == [1, 2]
    assert np.abs(e.volumes - [1 / 6, 0, 0, 1 / 6]).max() <= 1e-15
    assert np.abs(e.masses - [0.25, 0.5, 0.5, 0.5, 0.25]).max() <= 1e-15
    good = TetElements(np.ascontiguousarray(tets[[0, 3]]), x, youngs_modulus=E)
    y = 1.1 * x
    assert same_bits(e.forces(y), good.forces(y))
    assert e.energy(y) == good.energy(y)
    assert e.strain_rate(y, y) == pytest.approx(1.1)
    assert e.degenerate(x).tolist() == [False, True, True, False]
    assert TetElements(tets[:1].copy(), x, youngs_modulus=E).degenerate(deformed(np.diag([1, 1, 1e-4]))).tolist() == [True]
    assert one(UNIT).degenerate(deformed(np.diag([1, 1, 0.5])), volume=0.6).tolist() == [True]


def test_scales_far_from_one(rng: np.random.Generator) -> None:
    p = random_tet(rng)
    x = p + 0.1 * rng.normal(size=p.shape)
    for material in MATERIALS:
        f = one(p, material).forces(x)
        for scale in (1e-9, 1e6):
            # Forces go with the square of the size.
            g = one(scale * p, material).forces(scale * x)
            assert np.abs(g / scale**2 - f).max() <= 1e-12 * np.abs(f).max()


# --- the rest -----------------------------------------------------------------------------------------------------------------------------


def test_no_elements() -> None:
    e = TetElements(np.empty((0, 4), np.int32), np.zeros((3, 3)), youngs_modulus=E)
    x = np.zeros((3, 3))
    assert e.nodes == 0
    assert e.energy(x) == 0
    assert not e.forces(x).any()
    assert not e.differentials(x, x).any()
    assert e.strain_rate(x, x) == 0
    assert e.stiffness(x).data.shape == (0, 3, 3)
    assert e.rotations(x).shape == (0, 3, 3)


def test_strain_rate(rng: np.random.Generator) -> None:
    p = random_tet(rng)
    e = one(p)
    assert e.strain_rate(p, 0.5 * p) == pytest.approx(0.5, rel=1e-12)
    assert e.strain_rate(p, np.cross([1.0, 2, 3], p)) <= 1e-14
    # Twice as large, lengths change twice as fast for the same relative speed.
    assert e.strain_rate(2 * p, 2 * p) == pytest.approx(2, rel=1e-12)


def test_masses_of_a_block() -> None:
    mesh = tet_block(3, 4, 5, (1, 2, 3))
    e = TetElements(mesh, youngs_modulus=E, density=700.0)
    assert e.masses.sum() == pytest.approx(700 * 6, rel=1e-14)
    with pytest.raises(ValueError, match="masses need a density"):
        _ = one(UNIT).masses


def test_threads_width_and_storage_do_not_matter(rng: np.random.Generator, default_parallelism: None) -> None:
    mesh = tet_block(9, 8, 7)
    x = deformed(rotation(rng), mesh.vertices) + 0.03 * rng.normal(size=mesh.vertices.shape)
    dx = rng.normal(size=x.shape)
    levels = ["baseline", "avx2", "avx512"]
    levels = levels[: levels.index(ms.core.simd_supported()) + 1]
    for material in MATERIALS:
        kinds = [TetElements(mesh, youngs_modulus=E, material=material, damping=0.1, stiffness=s) for s in ("assembled", "matrix-free")]  # type: ignore[arg-type]

        def everything(kinds: list[TetElements] = kinds) -> list[np.ndarray]:
            result = []
            for e in kinds:
                result += [np.array(e.energy(x)), e.forces(x), e.stiffness_bounds(x), e.damping_forces(x, dx)]
                result += [e.differentials(x, dx, t) for t in ("exact", "definite", "frozen")]  # type: ignore[arg-type]
                result += [e.diagonal(x, 1.0, 0.5, t) for t in ("exact", "definite", "frozen")]  # type: ignore[arg-type]
            return result

        ms.set_num_threads(1)
        ms.core.set_simd_level("baseline")
        expected = everything()
        half = len(expected) // 2
        for a, b in zip(expected[:half], expected[half:], strict=True):
            assert np.abs(a - b).max() <= 1e-13 * np.abs(a).max()
        for threads, level in [(n, levels[-1]) for n in (1, 2, 3, 5, 8)] + [(3, level) for level in levels]:
            ms.set_num_threads(threads)
            ms.core.set_simd_level(level)
            assert all(same_bits(a, b) for a, b in zip(everything(), expected, strict=True))


def test_pickle(rng: np.random.Generator) -> None:
    mesh = tet_block(2, 2, 2)
    e = TetElements(mesh, youngs_modulus=rng.uniform(1, 2, len(mesh.tets)), material="neo-hookean", damping=0.5, density=3.0)
    f = pickle.loads(pickle.dumps(e))
    x = mesh.vertices + 0.1 * rng.normal(size=mesh.vertices.shape)
    assert same_bits(f.forces(x), e.forces(x))
    assert same_bits(f.damping_forces(x, x), e.damping_forces(x, x))
    assert same_bits(f.masses, e.masses)


def test_arguments() -> None:
    with pytest.raises(ValueError, match="material must be one of"):
        one(UNIT, "jelly")
    with pytest.raises(ValueError, match=r"poissons_ratio must be above -1 and below 1/2, but that of element 0 is 0.5"):
        one(UNIT, poissons_ratio=0.5)
    with pytest.raises(ValueError, match="youngs_modulus must be finite and not negative"):
        one(UNIT, youngs_modulus=-1.0)
    with pytest.raises(ValueError, match=r"youngs_modulus must be a number or have shape \(1,\)"):
        one(UNIT, youngs_modulus=np.ones(2))
    with pytest.raises(TypeError, match="youngs_modulus must be a number"):
        one(UNIT, youngs_modulus="soft")
    with pytest.raises(ValueError, match="damping must be finite and not negative"):
        one(UNIT, damping=-1.0)
    with pytest.raises(ValueError, match="mass_damping needs densities"):
        one(UNIT, mass_damping=1.0)
    with pytest.raises(ValueError, match="nodes must be below"):
        TetElements(np.array([(0, 1, 2, 4)], np.int32), UNIT, youngs_modulus=E)
    with pytest.raises(TypeError, match="must hold integers"):
        TetElements(np.array([(0.0, 1, 2, 3)]), UNIT, youngs_modulus=E)
    with pytest.raises(ValueError, match="the stiffness matrix is not kept"):
        one(UNIT, stiffness="matrix-free").stiffness(UNIT)
    bad = UNIT.copy()
    bad[2, 1] = np.inf
    with pytest.raises(ValueError, match="finite"):
        one(UNIT).forces(bad)

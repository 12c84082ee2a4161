"""Linear triangular elements in space: plane stress, derivatives, and triangles that collapse."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from support.build import same_bits

import meniscus as ms
from meniscus.mesh import TriangleMesh
from meniscus.numerics import polar_rotation
from meniscus.solids import TriangleMembrane

MATERIALS = ("corotational", "st-venant-kirchhoff", "neo-hookean")
TANGENTS = ("exact", "definite", "frozen")
E, NU, H = 1e6, 0.3, 0.02
MU, LAMBDA = E / (2 * (1 + NU)), E * NU / (1 - NU**2)
ONE = np.array([(0, 1, 2)], np.int32)
UNIT = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)], float)


def sheet(n: int, rng: np.random.Generator) -> TriangleMesh:
    """A square of irregular triangles in a plane of no special direction."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    a = (n + 1) * i + j
    t = np.concatenate([np.stack([a, a + n + 1, a + n + 2], -1).reshape(-1, 3), np.stack([a, a + n + 2, a + 1], -1).reshape(-1, 3)])
    p = np.zeros(((n + 1) ** 2, 3))
    p[:, :2] = np.stack(np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"), -1).reshape(-1, 2) / n
    inside = ((p[:, :2] > 0) & (p[:, :2] < 1)).all(axis=1)
    p[inside, :2] += rng.uniform(-0.2, 0.2, (int(inside.sum()), 2)) / n
    return TriangleMesh(np.ascontiguousarray(p @ rotation(rng).T), np.ascontiguousarray(t, dtype=np.int32))


def rotation(rng: np.random.Generator) -> np.ndarray:
    return polar_rotation(rng.normal(size=(1, 3, 3)))[0]


def membrane(mesh: Any, material: str = "corotational", **options: Any) -> TriangleMembrane:
    return TriangleMembrane(mesh, **{"youngs_modulus": E, "poissons_ratio": NU, "thickness": H, "material": material, **options})


def one(material: str = "corotational", p: np.ndarray = UNIT, **options: Any) -> TriangleMembrane:
    return membrane(ONE, material, rest_positions=p, **options)


def dense(e: TriangleMembrane, x: np.ndarray, tangent: str) -> np.ndarray:
    return sparse.bsr_array(tuple(e.stiffness(x, tangent)), shape=(3 * e.nodes, 3 * e.nodes)).toarray()  # type: ignore[arg-type]


@pytest.mark.parametrize("material", MATERIALS)
def test_plane_stress(material: str) -> None:
    e, size = one(material), 1e-7
    stress = e.stresses(UNIT * (1 + size * np.array([1, -NU, 0])))[0]
    assert np.abs(stress - [[E * size, 0], [0, 0], [0, 0]]).max() <= 1e-6 * E * size
    stress = e.stresses((1 + size) * UNIT)[0]
    assert np.abs(stress - E / (1 - NU) * size * np.eye(3)[:, :2]).max() <= 1e-6 * E * size
    sheared = UNIT.copy()
    sheared[2, 0] = size
    assert np.abs(e.stresses(sheared)[0] - MU * size * np.array([[0, 1], [1, 0], [0, 0]])).max() <= 1e-6 * E * size
    # A strip that is pulled by a force: it stretches by F / (E h w).
    f = e.forces(UNIT * (1 + size * np.array([1, -NU, 0])))
    assert f[1, 0] == pytest.approx(-0.5 * E * size * H, rel=1e-5)


@pytest.mark.parametrize("material", MATERIALS)
def test_forces_are_the_slope_of_the_energy(material: str, rng: np.random.Generator) -> None:
    mesh = sheet(4, rng)
    e = membrane(mesh, material, youngs_modulus=rng.uniform(0.5, 2, len(mesh.triangles)), thickness=rng.uniform(1, 2, len(mesh.triangles)))
    x = mesh.vertices + rng.uniform(-0.08, 0.08, mesh.vertices.shape)
    f, h = e.forces(x), 1e-5
    for _ in range(10):
        d = rng.normal(size=x.shape)
        slope = (8 * (e.energy(x + h * d) - e.energy(x - h * d)) - (e.energy(x + 2 * h * d) - e.energy(x - 2 * h * d))) / (12 * h)
        assert abs(slope + (f * d).sum()) <= 1e-8 * np.abs(f * d).sum()
        slopes = (8 * (e.forces(x + h * d) - e.forces(x - h * d)) - (e.forces(x + 2 * h * d) - e.forces(x - 2 * h * d))) / (12 * h)
        assert np.abs(e.differentials(x, d) - slopes).max() <= 1e-7 * np.abs(slopes).max()


@pytest.mark.parametrize("material", MATERIALS)
def test_symmetries(material: str, rng: np.random.Generator) -> None:
    mesh = sheet(4, rng)
    e = membrane(mesh, material)
    x = mesh.vertices + rng.uniform(-0.1, 0.1, mesh.vertices.shape)
    f = e.forces(x)
    size = np.abs(f).max()
    assert np.abs(f.sum(axis=0)).max() <= 1e-12 * size
    assert np.abs(np.cross(x, f).sum(axis=0)).max() <= 1e-12 * size
    q = rotation(rng)
    assert np.abs(e.forces(np.ascontiguousarray(x @ q.T)) - f @ q.T).max() <= 1e-12 * size
    assert np.abs(e.forces(np.ascontiguousarray(mesh.vertices @ q.T) + 1.0)).max() <= 1e-11 * size
    assert e.energy(mesh.vertices) <= 1e-20 * e.energy(x)
    # It does not matter where a triangle begins.
    turned = membrane(np.ascontiguousarray(np.roll(mesh.triangles, 1, axis=1)), material, rest_positions=mesh.vertices)
    assert np.abs(turned.forces(x) - f).max() <= 1e-12 * size
    # Bending without stretch costs nothing: a cylinder on the fold lines of a strip.
    flat = np.array([(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)], float)
    folded = np.array([(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)], float)
    strip = membrane(np.array([(0, 2, 1), (1, 2, 3)], np.int32), material, rest_positions=flat)
    assert np.abs(strip.forces(folded[[0, 1, 2, 3]])).max() <= 1e-12 * E


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("tangent", TANGENTS)
def test_matrices(material: str, tangent: str, rng: np.random.Generator) -> None:
    mesh = sheet(3, rng)
    x = 0.9 * mesh.vertices + rng.uniform(-0.1, 0.1, mesh.vertices.shape)
    e = membrane(mesh, material, damping=0.1)
    k = dense(e, x, tangent)
    size = np.abs(k).max()
    assert np.abs(k - k.T).max() <= 1e-14 * size
    assert np.abs(k @ np.tile(np.eye(3), (e.nodes, 1))).max() <= 1e-13 * size
    lowest = np.linalg.eigvalsh(k).min()
    assert (lowest < -1e-3 * size) if tangent == "exact" else (lowest >= -1e-13 * size)
    d = rng.normal(size=x.shape)
    free = membrane(mesh, material, damping=0.1, stiffness="matrix-free")
    for other in (e, free):
        assert np.abs(other.differentials(x, d, tangent).reshape(-1) + k @ d.reshape(-1)).max() <= 1e-13 * size  # type: ignore[arg-type]
        blocks = other.diagonal(x, 1.0, 0.0, tangent)  # type: ignore[arg-type]
        for i in range(e.nodes):
            assert np.abs(blocks[i] + k[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]).max() <= 1e-14 * size
    frozen = dense(membrane(mesh, "st-venant-kirchhoff"), x, "frozen")
    for other in (e, free):
        damping = other.damping_forces(x, d)
        assert np.abs(damping.reshape(-1) + 0.1 * frozen @ d.reshape(-1)).max() <= 1e-13 * size
        spin = np.cross([1.0, -2, 0.5], x)
        assert np.abs(other.damping_forces(x, spin)).max() <= 1e-13 * np.abs(damping).max()
        assert np.abs(np.cross(x, damping).sum(axis=0)).max() <= 1e-13 * len(x) * np.abs(damping).max()
        blocks = other.diagonal(x, 0.0, 1.0, tangent)  # type: ignore[arg-type]
        for i in range(e.nodes):
            assert np.abs(blocks[i] + 0.1 * frozen[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]).max() <= 1e-14 * size
    if tangent == "definite":
        exact = dense(one(material), x[:3] * [1, 2, 0.5], "exact")
        values, vectors = np.linalg.eigh(exact[3:, 3:])
        found = dense(one(material), x[:3] * [1, 2, 0.5], "definite")[3:, 3:]
        assert np.abs(found - (vectors * np.maximum(values, 0)) @ vectors.T).max() <= 1e-9 * np.abs(exact).max()


def test_stiffness_at_rest(rng: np.random.Generator) -> None:
    mesh = sheet(3, rng)
    expected = dense(membrane(mesh), mesh.vertices, "frozen")
    for material in MATERIALS:
        for tangent in TANGENTS:
            k = dense(membrane(mesh, material), mesh.vertices, tangent)
            assert np.abs(k - expected).max() <= 1e-13 * np.abs(expected).max()
    # Nothing resists out of the plane: one for each node, and three rigid motions in the plane.
    values = np.linalg.eigvalsh(expected)
    zero = len(mesh.vertices) + 3
    assert np.abs(values[:zero]).max() <= 1e-12 * values[-1]
    assert values[zero] > 1e-3 * values[-1]


COLLAPSED = {
    "segment": np.diag([1, 0, 1.0]),
    "other segment": np.diag([0, 1, 1.0]),
    "slanted segment": np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1.0]]),
    "point": np.zeros((3, 3)),
    "huge": 1e5 * np.eye(3),
    "mirrored": np.diag([1, -1, 1.0]),
}


@pytest.mark.parametrize("material", MATERIALS)
@pytest.mark.parametrize("shape", COLLAPSED)
def test_collapsed_triangles_are_finite(material: str, shape: str, rng: np.random.Generator) -> None:
    x = np.ascontiguousarray(UNIT @ COLLAPSED[shape].T)
    for storage in ("assembled", "matrix-free"):
        e = one(material, stiffness=storage, damping=0.1)
        f = e.forces(x)
        assert np.isfinite(e.energy(x))
        assert np.isfinite(f).all()
        assert np.isfinite(e.stiffness_bounds(x)).all()
        assert np.isfinite(e.damping_forces(x, rng.normal(size=(3, 3)))).all()
        for tangent in TANGENTS:
            dx = rng.normal(size=(3, 3))
            df = e.differentials(x, dx, tangent)  # type: ignore[arg-type]
            assert np.isfinite(df).all()
            if tangent != "exact":
                assert (df * dx).sum() <= 1e-9 * np.abs(df * dx).sum()
        if shape == "mirrored":
            # In space that is a rotation.
            assert np.abs(f).max() <= 1e-9 * E * H


def test_triangles_without_area_at_rest() -> None:
    x = np.concatenate([UNIT, [(2, 0, 0)]])
    t = np.array([(0, 1, 2), (0, 1, 3)], np.int32)
    with pytest.raises(ValueError, match="triangle 1 has no area at rest"):
        membrane(t, rest_positions=x)
    e = membrane(t, rest_positions=x, degenerate="skip", density=300.0)
    assert e.skipped.tolist() == [1]
    assert e.areas.tolist() == [0.5, 0]
    assert e.masses.tolist() == pytest.approx([300 * H / 6] * 3 + [0])
    y = 1.1 * x
    assert same_bits(e.forces(y)[:3], one().forces(np.ascontiguousarray(y[:3])))
    assert e.strain_rate(y, 2 * y) == pytest.approx(2.2)


@pytest.mark.parametrize("material", MATERIALS)
def test_a_sheet_under_tension_stretches_and_narrows(material: str, rng: np.random.Generator) -> None:
    """Equilibrium of an irregular sheet with free sides under a small pull is the homogeneous one."""
    mesh = sheet(5, rng)
    rest = mesh.vertices
    frame = np.stack([rest[30] - rest[0], rest[5] - rest[0], np.cross(rest[30] - rest[0], rest[5] - rest[0])])
    e = membrane(mesh, material)
    flat = np.round(rest @ frame.T, 12)
    pull = np.zeros(36)
    for a, b in ((k, k + 1) for k in range(5)):
        pull[[a, b]] -= 0.1
        pull[[30 + a, 30 + b]] += 0.1
    force = 1e-6 * E * H
    load = force * pull[:, None] * frame[0]
    k = dense(e, rest, "frozen")
    # One of the solutions, which turns a little.
    u = np.linalg.lstsq(k, load.reshape(-1), rcond=1e-11)[0].reshape(-1, 3) @ frame.T
    affine = np.column_stack([flat[:, :2], np.ones(36)])
    fit = np.linalg.lstsq(affine, u[:, :2])[0]
    assert np.abs(affine @ fit - u[:, :2]).max() <= 1e-14
    assert np.abs(0.5 * (fit[:2] + fit[:2].T) - 1e-6 * np.diag([1, -NU])).max() <= 1e-14


@pytest.mark.parametrize("material", MATERIALS)
def test_bounds_of_frequencies(material: str, rng: np.random.Generator) -> None:
    mesh = sheet(5, rng)
    e = membrane(mesh, material, density=10.0)
    scale = np.repeat(1 / np.sqrt(e.masses), 3)
    for x in (mesh.vertices, mesh.vertices + rng.uniform(-0.03, 0.03, mesh.vertices.shape)):
        highest = np.sqrt(np.linalg.eigvalsh(scale[:, None] * dense(e, x, "exact") * scale)[-1])
        bound = np.sqrt(2 * (e.stiffness_bounds(x) / e.masses).max())
        assert highest <= bound <= 3 * highest


def test_threads_width_and_pickle(rng: np.random.Generator, default_parallelism: None) -> None:
    mesh = sheet(23, rng)
    x, d = mesh.vertices + rng.uniform(-0.01, 0.01, mesh.vertices.shape), rng.normal(size=mesh.vertices.shape)
    levels = ["baseline", "avx2", "avx512"]
    levels = levels[: levels.index(ms.core.simd_supported()) + 1]
    for material in MATERIALS:
        e = membrane(mesh, material, damping=0.1, mass_damping=0.2, density=3.0)
        copy = pickle.loads(pickle.dumps(e))

        def everything(e: TriangleMembrane) -> list[np.ndarray]:
            return [
                np.array([e.energy(x), e.strain_rate(x, d)]),
                e.forces(x),
                e.damping_forces(x, d),
                e.stiffness_bounds(x),
                *(e.differentials(x, d, t) for t in TANGENTS),  # type: ignore[arg-type]
            ]

        ms.set_num_threads(1)
        ms.core.set_simd_level("baseline")
        expected = everything(e)
        for threads, level in [(n, levels[-1]) for n in (1, 2, 3, 5, 8)] + [(3, level) for level in levels]:
            ms.set_num_threads(threads)
            ms.core.set_simd_level(level)
            for force in (e, copy):
                assert all(same_bits(a, b) for a, b in zip(everything(force), expected, strict=True))


def test_arguments() -> None:
    with pytest.raises(ValueError, match="no linear material"):
        one("linear")
    with pytest.raises(ValueError, match="above -1 and below 1, but that of element 0 is 1"):
        one(poissons_ratio=1.0)
    with pytest.raises(ValueError, match="thickness must be finite and above 0"):
        one(thickness=0.0)
    with pytest.raises(ValueError, match="masses need a density"):
        _ = one().masses
    empty = membrane(np.empty((0, 3), np.int32), rest_positions=UNIT)
    assert empty.energy(UNIT) == 0
    assert not empty.forces(UNIT).any()
    assert empty.deformation_gradients(UNIT).shape == (0, 3, 2)

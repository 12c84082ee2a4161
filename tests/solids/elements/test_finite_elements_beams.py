"""Bars and beams of tetrahedra against the theory of beams, patch tests, and motions that conserve momentum."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as solvers

import meniscus as ms
from meniscus.mesh import tet_block
from meniscus.solids import TetElements

E = 1e6


def matrix(e: TetElements, x: np.ndarray, tangent: str = "exact") -> Any:
    return sparse.bsr_array(tuple(e.stiffness(x, tangent)), shape=(x.size, x.size)).tocsr()  # type: ignore[arg-type]


def linear_tip(cells: int, nu: float, height: float = 0.1) -> float:
    """Deflection of the tip of a cantilever of length 1 under an end load of 1."""
    across = max(round(cells * height), 1)
    mesh = tet_block(cells, across, across, (1, height, height))
    x = mesh.vertices
    e = TetElements(mesh, youngs_modulus=E, poissons_ratio=nu, material="linear")
    free, end = np.repeat(x[:, 0] > 0, 3), x[:, 0] == 1
    load = np.zeros_like(x)
    load[end, 2] = 1 / end.sum()
    u = np.zeros(x.size)
    k = matrix(e, x)[free][:, free].tocsc()
    b = load.reshape(-1)[free]
    if cells < 80:
        u[free] = solvers.spsolve(k, b)
    else:
        # From about what comes out, so that conjugate gradients have less to do.
        guess, slope = np.zeros_like(x), 6 / (E * height**4)
        guess[:, 2] = slope * (x[:, 0] ** 2 - x[:, 0] ** 3 / 3)
        guess[:, 0] = -(x[:, 2] - height / 2) * slope * (2 * x[:, 0] - x[:, 0] ** 2)
        u[free], failed = solvers.cg(k, b, x0=0.9 * guess.reshape(-1)[free], rtol=1e-6)
        assert failed == 0
    return float(u.reshape(-1, 3)[end, 2].mean())


def timoshenko_tip(nu: float) -> float:
    inertia, area = 0.1**4 / 12, 0.1**2
    return 1 / (3 * E * inertia) + 1 / (5 / 6 * E / (2 * (1 + nu)) * area)


TABLE = {
    (10, 0.0): 0.244,
    (20, 0.0): 0.550,
    (40, 0.0): 0.824,
    (80, 0.0): 0.949,
    (10, 0.3): 0.219,
    (20, 0.3): 0.504,
    (40, 0.3): 0.787,
    (80, 0.3): 0.930,
    (10, 0.45): 0.109,
    (20, 0.45): 0.299,
    (40, 0.45): 0.598,
    (80, 0.45): 0.836,
}


@pytest.mark.parametrize(("cells", "nu"), [pytest.param(*k, marks=pytest.mark.slow if k[0] == 80 else ()) for k in TABLE])
def test_a_cantilever_is_too_stiff_by_known_factors_and_converges(cells: int, nu: float) -> None:
    assert linear_tip(cells, nu) / timoshenko_tip(nu) == pytest.approx(TABLE[cells, nu], abs=6e-4)


# End load F L^2 / (E I) and where the tip of an inextensible beam goes: down by w L and back by u L.
ELASTICA = {1.0: (0.30172, 0.05643), 5.0: (0.71379, 0.38763), 10.0: (0.81061, 0.55500)}


def test_warped_stiffness_follows_the_elastica() -> None:
    """With the stiffness in bending that this mesh has in a linear solution, large deflections are those of the elastica."""
    cells, height = 40, 0.05
    mesh = tet_block(cells, 2, 2, (1, height, height))
    rest = mesh.vertices
    bending = 1 / (3 * linear_tip(cells, 0.0, height))
    e = TetElements(mesh, youngs_modulus=E, poissons_ratio=0.0)
    free, end = np.repeat(rest[:, 0] > 0, 3), rest[:, 0] == 1
    x = rest.copy()
    for force in (0.5, 1.0, 2.0, 3.5, 5.0, 7.0, 10.0):
        load = np.zeros_like(x)
        load[end, 2] = -force * bending / end.sum()
        for _ in range(40):
            residual = (e.forces(x) + load).reshape(-1)[free]
            if np.abs(residual).max() <= 1e-9 * np.abs(load).max():
                break
            step = np.zeros(x.size)
            step[free] = solvers.spsolve(matrix(e, x)[free][:, free].tocsc(), residual)
            x += min(1.0, 0.1 / np.abs(step).max()) * step.reshape(-1, 3)
        else:
            raise AssertionError(f"no equilibrium for {force}")
        if force in ELASTICA:
            w, u = ELASTICA[force]
            tip = (x - rest)[end].mean(axis=0)
            assert -tip[2] == pytest.approx(w, rel=0.02)
            assert -tip[0] == pytest.approx(u, rel=0.03)


@pytest.mark.parametrize(("cells", "first", "third"), [(10, 0.9989, 2.972), (20, 0.99968, 2.992), (40, 0.9999, 2.997)])
def test_axial_frequencies(cells: int, first: float, third: float) -> None:
    mesh = tet_block(cells, 1, 1, (1, 0.1, 0.1))
    density = 2.0
    e = TetElements(mesh, youngs_modulus=E, poissons_ratio=0.0, material="linear", density=density)
    x = np.zeros(mesh.vertices.shape, bool)
    x[:, 0] = mesh.vertices[:, 0] > 0
    moving = x.reshape(-1)
    k = matrix(e, mesh.vertices)[moving][:, moving].toarray()
    scale = 1 / np.sqrt(np.repeat(e.masses, 3)[moving])
    values, vectors = np.linalg.eigh(scale[:, None] * k * scale)
    # Cross sections of the axial modes stay plane.
    modes = (scale[:, None] * vectors[:, :12]).T.reshape(12, cells, -1)
    warping = np.abs(modes - modes.mean(axis=2)[:, :, None]).max(axis=(1, 2)) / np.abs(modes).max(axis=(1, 2))
    plane = np.flatnonzero(warping <= 0.2)
    omega = np.sqrt(values[plane])
    assert omega[0] / (np.pi / 2 * np.sqrt(E / density)) == pytest.approx(first, abs=2e-4)
    assert omega[1] / omega[0] == pytest.approx(third, abs=5e-3)


def test_a_bar_under_its_own_weight() -> None:
    density, g = 1000.0, 9.81
    mesh = tet_block(20, 2, 2, (2, 0.2, 0.2))
    e = TetElements(mesh, youngs_modulus=E, poissons_ratio=0.0, material="linear", density=density)
    x = mesh.vertices
    free = np.repeat(x[:, 0] > 0, 3)
    load = np.zeros_like(x)
    load[:, 0] = e.masses * g
    u = np.zeros(x.size)
    u[free] = solvers.spsolve(matrix(e, x)[free][:, free].tocsc(), load.reshape(-1)[free])
    u = u.reshape(-1, 3)
    # The weight falls unevenly on the nodes of a cross section, which the mean does not see.
    size = density * g * 2**2 / (2 * E)
    for s in np.unique(x[:, 0]):
        sunk = u[x[:, 0] == s, 0].mean()
        assert abs(sunk - density * g / E * (2 * s - 0.5 * s**2)) <= 2e-3 * size


@pytest.mark.parametrize("material", ["linear", "corotational", "st-venant-kirchhoff", "neo-hookean"])
def test_patches(material: str, rng: np.random.Generator) -> None:
    """A homogeneous strain leaves no forces inside of an irregular mesh, and the right ones on its ends."""
    block = tet_block(4, 3, 3, (1, 0.75, 0.75))
    rest = block.vertices.copy()
    inside = ((rest > 0) & (rest < [1, 0.75, 0.75])).all(axis=1)
    rest[inside] += rng.uniform(-0.05, 0.05, (int(inside.sum()), 3))
    nu = 0.3
    e = TetElements(block.tets, rest, youngs_modulus=E, poissons_ratio=nu, material=material)  # type: ignore[arg-type]
    strain = 1e-6
    f = e.forces(rest * (1 + strain * np.array([1, -nu, -nu])))
    size = E * strain * 0.75**2
    assert np.abs(f[inside]).max() <= 1e-9 * size
    assert -f[rest[:, 0] == 1, 0].sum() / size == pytest.approx(1, rel=1e-5)
    side = (rest[:, 0] > 0) & (rest[:, 0] < 1)
    assert np.abs(f[side]).max() <= 1e-5 * size
    # Large strains too balance inside.
    f = e.forces(np.ascontiguousarray(rest @ (np.eye(3) + 0.3 * rng.uniform(-1, 1, (3, 3))).T))
    assert np.abs(f[inside]).max() <= 1e-13 * np.abs(f).max() * 10


@pytest.mark.parametrize("material", ["corotational", "st-venant-kirchhoff", "neo-hookean"])
def test_a_spinning_body_keeps_its_momenta(material: str, rng: np.random.Generator) -> None:
    mesh = tet_block(3, 2, 2, (1.5, 1, 1))
    density = 100.0
    e = TetElements(mesh, youngs_modulus=1e5, poissons_ratio=0.3, material=material, density=density)  # type: ignore[arg-type]
    m = e.masses[:, None]
    x = mesh.vertices - (m * mesh.vertices).sum(axis=0) / m.sum()
    v = np.cross([3.0, 4, 5], x) + [1, 0, 2] + 0.5 * rng.normal(size=x.shape)
    linear, angular = (m * v).sum(axis=0), np.cross(x, m * v).sum(axis=0)
    dt = 0.2 / np.sqrt(2 * (e.stiffness_bounds(x) / e.masses).max())
    start = e.energy(x) + 0.5 * (m * v * v).sum()
    energies = []
    for _ in range(2000):
        v = v + dt * e.forces(x) / m
        x = x + dt * v
        energies.append(e.energy(x) + 0.5 * (m * v * v).sum())
    assert np.abs((m * v).sum(axis=0) - linear).max() <= 1e-12 * np.abs(m * v).sum()
    assert np.abs(np.cross(x, m * v).sum(axis=0) - angular).max() <= 1e-11 * np.linalg.norm(np.cross(x, m * v), axis=1).sum()
    assert np.abs(np.array(energies) / start - 1).max() <= 0.05


@pytest.mark.parametrize("material", ["corotational", "neo-hookean"])
def test_a_body_squashed_into_a_plane_recovers(material: str) -> None:
    mesh = tet_block(3, 3, 3)
    e = TetElements(mesh, youngs_modulus=1e4, poissons_ratio=0.3, material=material, damping=0.02, density=100.0)  # type: ignore[arg-type]
    body = ms.solids.DeformableBody(mesh, density=100.0)
    body.add(e)
    body.positions[:, 2] = 0
    for _ in range(200):
        body.step(0.05, integrator="implicit-euler")
        assert np.isfinite(body.positions).all()
    assert not e.degenerate(body.positions).any()
    assert np.abs(e.strains(body.positions)).max() <= 1e-2

"""Beams, thick tubes and strips of quadratic tetrahedra against exact solutions: they do not lock.

The clamped end of the theory of beams holds its cross section plane but lets it contract: here u_x = 0 there, with as much more as
fixes the body. A fully fixed cross section resists Poisson's effect too, which makes real beams stiffer than any theory of beams: by 0.8
percent in deflection at a Poisson's ratio of 0.3 and ten times as long as high, by several at 0.49.
"""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as solvers
from support.elements.beams import Elastica, first_frequency, tip_deflection
from support.variants import slow_but

from meniscus.mesh import QuadraticTetMesh, TetMesh, quadratic_mesh, tet_block
from meniscus.numerics import polar_rotation
from meniscus.solids import QuadraticTetElements, TetElements

E, HEIGHT = 1e6, 0.1
FACES = ((0, 1, 2, 4, 5, 6), (0, 1, 3, 4, 8, 7), (1, 2, 3, 5, 9, 8), (0, 2, 3, 6, 9, 7))


def matrix(e: Any, x: np.ndarray, tangent: str = "exact") -> Any:
    return sparse.bsr_array(tuple(e.stiffness(x, tangent)), shape=(x.size, x.size)).tocsr()


def face_shares(mesh: QuadraticTetMesh, on: np.ndarray) -> np.ndarray:
    """Shares (n,) of nodes in a uniform load on the straight faces whose corners are all in `on`: a third of each for its edges."""
    x, result = mesh.vertices, np.zeros(len(mesh.vertices))
    for face in FACES:
        nodes = mesh.elements[:, face]
        nodes = nodes[on[nodes[:, :3]].all(axis=1)]
        area = 0.5 * np.linalg.norm(np.cross(x[nodes[:, 1]] - x[nodes[:, 0]], x[nodes[:, 2]] - x[nodes[:, 0]]), axis=1)
        for k in (3, 4, 5):
            np.add.at(result, nodes[:, k], area / 3)
    return result / result.sum()


def cantilever(slenderness: int, stretched: int, irregular: bool) -> QuadraticTetMesh:
    """Four cells over the height; cells `stretched` times as long as high; corners inside and along the sides moved by up to 15 percent."""
    length = slenderness * HEIGHT
    block = tet_block(4 * slenderness // stretched, 4, 4, (length, HEIGHT, HEIGHT))
    x = block.vertices.copy()
    if irregular:
        shift = 0.15 * HEIGHT / 4 * np.random.default_rng(3).uniform(-1, 1, x.shape)
        for axis, size in enumerate((length, HEIGHT, HEIGHT)):
            # The middle lines are where the clamped end is held.
            kept = np.isclose(x[:, axis], 0) | np.isclose(x[:, axis], size) | (np.isclose(x[:, axis], size / 2) & (axis > 0))
            shift[kept, axis] = 0
        x += shift
    return quadratic_mesh(TetMesh(x, block.tets))


def figures(mesh: QuadraticTetMesh, nu: float, *, fixed: bool = False, turned: bool = False) -> tuple[float, float]:
    """Deflection of the end under an end load and first frequency, over those of Timoshenko's beam."""
    x, n, length = mesh.vertices, len(mesh.vertices), float(mesh.vertices[:, 0].max())
    turn = polar_rotation(np.random.default_rng(1).normal(size=(1, 3, 3)))[0] if turned else np.eye(3)
    there = np.ascontiguousarray(x @ turn.T + (turned * np.array([3.0, -2.0, 5.0])))
    e = QuadraticTetElements(mesh, there, youngs_modulus=E, poissons_ratio=nu, density=2.0)
    back = sparse.block_diag([turn] * n, format="csr")
    k = back.T @ matrix(e, there) @ back
    held, root = np.zeros((n, 3), bool), x[:, 0] == 0
    held[root, 0] = True
    for axis in (1, 2):
        held[root & (fixed | np.isclose(x[:, axis], HEIGHT / 2)), axis] = True
    free = ~held.ravel()
    load = np.zeros((n, 3))
    load[:, 2] = face_shares(mesh, np.isclose(x[:, 0], length))
    reduced = k.tocsr()[free][:, free].tocsc()
    factors = solvers.splu(reduced, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}, diag_pivot_thresh=0.0)
    u = np.zeros(3 * n)
    u[free] = factors.solve(load.ravel()[free])
    mass = sparse.diags_array(np.repeat(e.masses, 3)[free]).tocsc()
    inverse = solvers.LinearOperator(reduced.shape, factors.solve)
    squares = solvers.eigsh(reduced, 2, mass, sigma=0, OPinv=inverse, return_eigenvectors=False, v0=np.ones(reduced.shape[0]))
    tip = float((u.reshape(-1, 3) * load).sum()) / tip_deflection(length, HEIGHT, E, nu)
    return tip, float(np.sqrt(squares.min())) / first_frequency(length, HEIGHT, E, nu, 2.0)


SHAPES = slow_but([(5, 1, False), (5, 1, True), (5, 2, True), (10, 1, False), (10, 1, True), (10, 2, True)], (5, 2, True))


@pytest.mark.parametrize("nu", [0.0, 0.3, 0.49])
@pytest.mark.parametrize(("slenderness", "stretched", "irregular"), SHAPES)
def test_cantilevers_are_those_of_timoshenko(slenderness: int, stretched: int, irregular: bool, nu: float) -> None:
    """With four cells over the height, also turned in space and irregular; measured within 0.43 percent."""
    tip, frequency = figures(cantilever(slenderness, stretched, irregular), nu, turned=irregular)
    assert tip == pytest.approx(1, abs=0.005)
    assert frequency == pytest.approx(1, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("slenderness", [5, 10])
def test_cantilevers_with_a_fixed_end(slenderness: int) -> None:
    mesh = cantilever(slenderness, 1, True)
    for nu in (0.0, 0.3):
        tip, frequency = figures(mesh, nu, fixed=True, turned=True)
        assert tip == pytest.approx(1, abs=0.02)
        assert frequency == pytest.approx(1, abs=0.02)


@pytest.mark.slow
def test_a_fixed_end_resists_contraction() -> None:
    """Nearly incompressible and short, a beam deflects by 0.962 of Timoshenko's: what 2, 4 and 6 cells (0.912, 0.948, 0.955) tend to."""
    tip, _ = figures(cantilever(5, 1, False), 0.49, fixed=True)
    assert tip == pytest.approx(0.962, rel=0.02)


def test_linear_elements_lock_where_quadratic_ones_do_not() -> None:
    """As many cells: a third of the deflection at a Poisson's ratio of 0.49."""
    mesh = cantilever(5, 1, False).corners
    mesh = mesh.compacted()[0]
    x = mesh.vertices
    e = TetElements(mesh, youngs_modulus=E, poissons_ratio=0.49)
    held, root, end = np.zeros(x.shape, bool), x[:, 0] == 0, np.isclose(x[:, 0], 0.5)
    held[root, 0] = True
    for axis in (1, 2):
        held[root & np.isclose(x[:, axis], HEIGHT / 2), axis] = True
    free = ~held.ravel()
    load, u = np.zeros(x.shape), np.zeros(x.size)
    load[end, 2] = 1 / end.sum()
    u[free] = solvers.spsolve(matrix(e, x)[free][:, free].tocsc(), load.ravel()[free])
    assert u @ load.ravel() / tip_deflection(0.5, HEIGHT, E, 0.49) == pytest.approx(0.369, abs=0.01)


# --- a thick tube ---------------------------------------------------------------------------------------------------------------------


def tube(cells: int, curved: bool) -> tuple[QuadraticTetMesh, np.ndarray]:
    """A quarter of a tube between the radii 1 and 2; its nodes in cylindrical coordinates."""
    mesh = quadratic_mesh(tet_block(cells, 2 * cells, 1, (1, np.pi / 2, 1 / cells)))
    c = mesh.vertices
    x = np.stack([(1 + c[:, 0]) * np.cos(c[:, 1]), (1 + c[:, 0]) * np.sin(c[:, 1]), c[:, 2]], axis=1)
    if not curved:
        ends = mesh.elements[:, [[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]]]
        x[mesh.elements[:, 4:]] = x[ends].mean(axis=2)
    return mesh.moved(x), c


def tube_error(cells: int, nu: float, curved: bool = True) -> float:
    """Root mean square of the error in displacements u = B / r, of a tube that is widened and held in length, over that of u.

    This motion keeps all volumes, so that any stiffness against it is locking.
    """
    mesh, c = tube(cells, curved)
    x = mesh.vertices
    squares = x[:, 0] ** 2 + x[:, 1] ** 2
    exact = x * [1, 1, 0] / squares[:, None]
    held = np.zeros(x.shape, bool)
    held[:, 2] = np.isclose(c[:, 2], 0) | np.isclose(c[:, 2], 1 / cells)
    held[(c[:, 0] == 0) | (c[:, 0] == 1)] = True
    held[np.isclose(c[:, 1], 0), 1] = True
    held[np.isclose(c[:, 1], np.pi / 2), 0] = True
    free = ~held.ravel()
    k = matrix(QuadraticTetElements(mesh, youngs_modulus=E, poissons_ratio=nu, material="linear"), x)
    u = np.where(held, exact, 0).ravel()
    u[free] = solvers.spsolve(k[free][:, free].tocsc(), -(k @ u)[free])
    m = mesh.node_masses(1.0)[:, None]
    wrong = u.reshape(-1, 3) - exact
    return float(np.sqrt((m * wrong**2).sum() / (m * exact**2).sum()))


@pytest.mark.parametrize(("nu", "first", "ratio"), [(0.0, 0.0016, 7.7), (0.3, 0.0019, 7.9), (0.49, 0.006, 7.5), (0.4999, 0.025, 4.9)])
def test_a_widened_tube_converges(nu: float, first: float, ratio: float) -> None:
    """With third order, and without a loss of more than a constant close to the incompressible limit."""
    errors = [tube_error(cells, nu) for cells in (2, 4, 8)]
    assert errors[0] <= first
    assert errors[0] / errors[1] > ratio
    assert errors[1] / errors[2] > ratio


def test_curved_edges_pay() -> None:
    for nu in (0.3, 0.49):
        assert tube_error(4, nu, curved=False) > 1.7 * tube_error(4, nu)


# --- the elastica ---------------------------------------------------------------------------------------------------------------------


def bent_strip(cells: int, load: float, material: str, height: float = 0.02) -> float:
    """Largest distance of the middle line from the elastica, of a strip of length 1, one cell high and wide."""
    mesh = quadratic_mesh(tet_block(cells, 1, 1, (1, height, height), origin=(0, -height / 2, -height / 2)))
    rest = mesh.vertices
    curve = Elastica(load)
    e = QuadraticTetElements(mesh, youngs_modulus=E, poissons_ratio=0.0, material=material)  # type: ignore[arg-type]
    free = np.repeat(rest[:, 0] > 0, 3)
    force = np.zeros(rest.shape)
    force[:, 2] = -load * E * height**4 / 12 * face_shares(mesh, rest[:, 0] == 1)
    # Newton's method from the solution for a beam.
    at, t = curve.at(rest[:, 0]), curve.slopes(rest[:, 0])
    x = np.stack([at[:, 0] + rest[:, 2] * np.sin(t), rest[:, 1], at[:, 1] + rest[:, 2] * np.cos(t)], axis=1)
    x[~free.reshape(-1, 3)] = rest[~free.reshape(-1, 3)]
    for _ in range(60):
        residual = (e.forces(x) + force).ravel()[free]
        if np.abs(residual).max() <= 1e-7 * np.abs(force).max():
            break
        step = np.zeros(x.size)
        step[free] = solvers.spsolve(matrix(e, x)[free][:, free].tocsc(), residual)
        x += min(1.0, 0.05 / np.abs(step).max()) * step.reshape(-1, 3)
    else:
        raise AssertionError("no equilibrium")
    middle = (rest[:, 1] == 0) & (rest[:, 2] == 0)
    return float(np.abs(x[middle][:, [0, 2]] - curve.at(rest[middle, 0])).max())


@pytest.mark.parametrize("material", ["corotational", "st-venant-kirchhoff", "neo-hookean"])
@pytest.mark.parametrize("load", slow_but([1.0, 10.0], 10.0))
def test_strips_follow_the_elastica(material: str, load: float) -> None:
    """The error falls at least with the third order, down to what a beam as thick as this deviates from a thin one, 1.4 h^2."""
    errors = [bent_strip(cells, load, material) for cells in (5, 10, 20, 40)]
    assert errors[0] <= 0.11
    assert errors[0] / errors[1] > 8
    assert errors[1] / errors[2] > 12
    assert errors[3] <= 1.4 * 0.02**2

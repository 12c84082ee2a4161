"""Waves in elastic solids: their speeds in columns and bars of linear and quadratic tetrahedra, as frequencies and as pulses that travel.

Along a column whose sides may not give way, displacements along it travel with c_p = sqrt((lambda + 2 mu) / rho), those across with
c_s = sqrt(mu / rho); a thin bar with free sides has sqrt(E / rho). Fixed at one end and free at the other, it has the frequencies
(2 n - 1) pi c / (2 L). Source: Mueller et al., "Real time physics class notes", 2008, section 4.1.5; Love, "A treatise on the mathematical
theory of elasticity", 1927, article 278 (lateral inertia).
"""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

from meniscus.mesh import quadratic_mesh, tet_block
from meniscus.numerics import polar_rotation
from meniscus.solids import DeformableBody, QuadraticTetElements, TetElements

E, NU, DENSITY, LENGTH = 3e5, 0.3, 40.0, 2.0
MU, LAMBDA = E / (2 * (1 + NU)), E * NU / ((1 + NU) * (1 - 2 * NU))
SPEEDS = {"p": np.sqrt((LAMBDA + 2 * MU) / DENSITY), "s": np.sqrt(MU / DENSITY)}


def column(order: str, cells: int, turn: np.ndarray, **options: Any) -> tuple[Any, Any]:
    """A column along x of square cells, turned; its rest positions before that, and its elements."""
    h = LENGTH / cells
    mesh: Any = tet_block(cells, 1, 1, (LENGTH, h, h))
    if order == "quadratic":
        mesh = quadratic_mesh(mesh)
    kind: Any = TetElements if order == "linear" else QuadraticTetElements
    there = np.ascontiguousarray(mesh.vertices @ turn.T)
    return mesh, kind(mesh.elements, there, **{"youngs_modulus": E, "poissons_ratio": NU, "density": DENSITY, **options})


def frequencies(order: str, cells: int, wave: str) -> np.ndarray:
    """The frequencies of a column fixed at x = 0 whose nodes move along one axis, and cross sections as a whole."""
    turn = polar_rotation(np.random.default_rng(2).normal(size=(1, 3, 3)))[0]
    mesh, e = column(order, cells, turn)
    there = np.ascontiguousarray(mesh.vertices @ turn.T)
    k = sparse.bsr_array(tuple(e.stiffness(there)), shape=(there.size, there.size)).tocsr()
    _, place = np.unique(mesh.vertices[:, 0].round(12), return_inverse=True)
    axis = turn[:, {"p": 0, "s": 1}[wave]]
    # One unknown for each cross section.
    nodes = np.arange(len(place))
    motion = sparse.coo_array((np.tile(axis, len(nodes)), ((3 * nodes[:, None] + np.arange(3)).ravel(), place.repeat(3)))).tocsr()
    stiffness = (motion.T @ k @ motion).toarray()[1:, 1:]
    mass = np.bincount(place, e.masses)[1:]
    return np.sqrt(np.linalg.eigvalsh(stiffness / np.sqrt(mass[:, None] * mass)))


@pytest.mark.parametrize("wave", ["p", "s"])
@pytest.mark.parametrize("order", ["linear", "quadratic"])
def test_columns_have_the_frequencies_of_waves(order: str, wave: str) -> None:
    """With second order, from below: masses are lumped. Linear elements have those of a chain of points to the last digits."""
    errors = []
    for cells in (8, 16, 32):
        found = frequencies(order, cells, wave)[:3]
        exact = (2 * np.arange(1, 4) - 1) * np.pi * SPEEDS[wave] / (2 * LENGTH)
        assert (found < exact).all()
        errors.append(1 - found / exact)
        if order == "linear":
            h = LENGTH / cells
            chain = 2 * SPEEDS[wave] / h * np.sin(exact / SPEEDS[wave] * h / 2)
            assert np.abs(found / chain - 1).max() <= 1e-10
    assert errors[0][0] <= {"linear": 1.7e-3, "quadratic": 1.2e-4}[order]
    for coarse, fine in itertools.pairwise(errors):
        assert np.abs(coarse / fine - 4).max() <= 0.3


@pytest.mark.parametrize("order", ["linear", "quadratic"])
def test_bars_have_the_speed_of_thin_ones(order: str) -> None:
    """With free sides, and lateral inertia as the first correction for their thickness: nu^2 k^2 r^2 / 2 with the polar radius r."""
    cells = 20
    mesh, e = column(order, cells, np.eye(3))
    x, h = mesh.vertices, LENGTH / cells
    k = sparse.bsr_array(tuple(e.stiffness(x)), shape=(x.size, x.size)).toarray()
    free = np.ones(x.shape, bool)
    free[x[:, 0] == 0, 0] = False
    # Symmetric about the middle planes, by the corner nodes at the root.
    root = np.flatnonzero(x[:, 0] == 0)
    free[root[x[root, 1] == 0], 1] = False
    free[root[x[root, 2] == 0], 2] = False
    keep = free.ravel()
    scale = 1 / np.sqrt(np.repeat(e.masses, 3)[keep])
    values, vectors = np.linalg.eigh(scale[:, None] * k[np.ix_(keep, keep)] * scale)
    # Bending and torsion have no mean motion along the axis.
    modes = np.zeros((x.size, 12))
    modes[keep] = scale[:, None] * vectors[:, :12]
    motion = modes.reshape(-1, 3, 12)
    axial = np.abs((e.masses[:, None] * motion[:, 0]).sum(axis=0)) / np.sqrt(e.masses.sum())
    first = int(np.argmax(axial))
    speed = np.sqrt(E / DENSITY)
    wavenumber = np.pi / (2 * LENGTH)
    exact = wavenumber * speed * (1 - 0.5 * NU**2 * wavenumber**2 * h**2 / 6)
    assert np.sqrt(values[first]) == pytest.approx(exact, rel=7e-4)


def pulse(order: str, cells: int, wave: str) -> float:
    """Error of a pulse that has travelled from the middle to both sides, relative to its height."""
    turn = polar_rotation(np.random.default_rng(2).normal(size=(1, 3, 3)))[0]
    mesh, e = column(order, cells, turn, material="linear")
    rest = np.ascontiguousarray(mesh.vertices @ turn.T)
    body = DeformableBody(rest, masses=e.masses)
    body.add(e)
    axis = {"p": 0, "s": 1}[wave]
    for other in {0, 1, 2} - {axis}:
        body.slide(np.arange(len(rest), dtype=np.int32), turn[:, other].tolist())
    s, c, width, height = mesh.vertices[:, 0], SPEEDS[wave], 0.12, 1e-3
    bump = lambda at: height * np.exp(-(((at - LENGTH / 2) / width) ** 2))  # noqa: E731
    body.positions = rest + bump(s)[:, None] * turn[:, axis]
    duration = 0.3 * LENGTH / c
    steps = int(np.ceil(duration / (0.5 * body.max_dt("velocity-verlet", max_strain=1e9))))
    for _ in range(steps):
        body.step(duration / steps, "velocity-verlet")
    found = (body.positions - rest) @ turn[:, axis]
    exact = 0.5 * (bump(s - c * duration) + bump(s + c * duration))
    return float(np.abs(found - exact).max() / height)


@pytest.mark.parametrize("wave", ["p", "s"])
@pytest.mark.parametrize("order", ["linear", "quadratic"])
def test_pulses_travel_with_the_speed_of_waves(order: str, wave: str) -> None:
    errors = [pulse(order, cells, wave) for cells in (40, 80)]
    assert errors[0] <= 0.09
    assert errors[0] / errors[1] > 3.5

"""The solver of the pressure on tetrahedral meshes: iterations, bits, memory, starts, failures, arguments."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.fluids.tet_flows import block, boundary_vertices, everything, graded, lattice, turned
from support.same_bits import everywhere

import meniscus as ms
from meniscus.fluids import TetPressureSolver, TetSolid
from meniscus.numerics.solve import ConvergenceError

DT = 0.02


def test_iterations_do_not_grow_with_the_mesh() -> None:
    for n in (12, 24):
        mesh = lattice(n)
        x = np.ascontiguousarray(mesh.vertices @ turned(2).T)
        rng = np.random.default_rng(n)
        inner = ~boundary_vertices(mesh)
        x[inner] += rng.uniform(-0.12, 0.12, (inner.sum(), 3)) / n
        solver, top = TetPressureSolver(mesh), mesh.vertices[:, 2] == mesh.vertices[:, 2].max()
        for boundary in ("open", "wall", top):
            for u in (rng.normal(size=(len(mesh.tets), 3)), np.sin(3 * x[mesh.tets].mean(axis=1))):
                info = solver.project(x, u, DT, wet=everything(mesh), boundary=boundary)
                assert info.iterations <= 12
                assert info.operator_complexity < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("family", [lattice, block])
def test_iterations_on_a_million_tetrahedra(family: Any) -> None:
    mesh = family(44 if family is lattice else 55)
    x = np.array(mesh.vertices)
    info = TetPressureSolver(mesh).project(x, np.sin(3 * x[mesh.tets].mean(axis=1)), DT, wet=everything(mesh), boundary="wall")
    assert info.iterations <= 15


def scene(mesh: ms.mesh.TetMesh) -> tuple[np.ndarray, dict[str, Any]]:
    rng = np.random.default_rng(21)
    x = np.ascontiguousarray(mesh.vertices @ turned(2).T)
    m = len(mesh.tets)
    c = np.clip(rng.uniform(-0.1, 3, m), 0, 1)
    height = x[mesh.tets].mean(axis=1)[:, 1]
    return x, {"wet": height < np.quantile(height, 0.8), "solid": TetSolid(open_fraction=c, object_velocity=rng.normal(size=(m, 3)))}


def test_same_bits_on_any_number_of_threads() -> None:
    mesh = lattice(14)
    x, settings = scene(mesh)
    u0 = np.random.default_rng(2).normal(size=(len(mesh.tets), 3))

    def run() -> Any:
        u, p = u0.copy(), np.zeros(len(x))
        info = TetPressureSolver(mesh).project(x, u, DT, boundary="wall", pressure=p, **settings)
        return u, p, np.array(info.history)

    everywhere(run)


def test_result_depends_on_the_arguments_alone() -> None:
    """Not on the projections before with other water, positions and settings; nor on pickling."""
    mesh = graded()
    x, settings = scene(mesh)
    rng = np.random.default_rng(3)
    u0 = rng.normal(size=(len(mesh.tets), 3))
    used = TetPressureSolver(mesh)
    for fraction in (1.0, 0.3, 0.0, 0.7):
        used.project(x * 1.3, rng.normal(size=u0.shape), 0.3, wet=rng.random(len(u0)) < fraction, boundary="wall", raise_on_failure=False)
    results = []
    for solver in (used, TetPressureSolver(mesh), pickle.loads(pickle.dumps(used))):
        u, p = u0.copy(), np.zeros(len(x))
        solver.project(x, u, DT, pressure=p, **settings)
        results.append((u, p))
    for u, p in results[1:]:
        np.testing.assert_array_equal(u, results[0][0])
        np.testing.assert_array_equal(p, results[0][1])


def test_memory_of_a_repeated_projection_stays() -> None:
    mesh = lattice(8)
    x, settings = scene(mesh)
    solver = TetPressureSolver(mesh)
    solver.project(x, np.ones((len(mesh.tets), 3)), DT, **settings)
    held = solver.nbytes
    solver.project(x, np.ones((len(mesh.tets), 3)), DT, **settings)
    assert solver.nbytes == held < 320 * len(mesh.tets)


def test_scales_of_length_time_and_density_do_not_matter() -> None:
    mesh = graded()
    x, settings = scene(mesh)
    u0 = np.random.default_rng(4).normal(size=(len(mesh.tets), 3))
    plain, p0 = u0.copy(), np.zeros(len(x))
    solver = TetPressureSolver(mesh)
    info = solver.project(x, plain, DT, pressure=p0, **settings)
    for length in (1e-6, 1e6):
        u, p = u0.copy(), np.zeros(len(x))
        other = solver.project(x * length, u, 3.0, density=2.0, pressure=p, **settings)
        assert other.iterations == info.iterations
        np.testing.assert_allclose(u, plain, atol=1e-6)
        np.testing.assert_allclose(p, p0 * (2 / 3 * DT / 1000) * length, atol=1e-6 * np.abs(p0).max() * (DT / 1500) * length)


def test_warm_start() -> None:
    mesh = lattice(10)
    x, settings = scene(mesh)
    u0 = np.random.default_rng(4).normal(size=(len(mesh.tets), 3))
    cold, p = u0.copy(), np.zeros(len(x))
    solver = TetPressureSolver(mesh)
    first = solver.project(x, cold, DT, pressure=p, tolerance=1e-10, **settings)
    u = u0.copy()
    info = solver.project(x, u, DT, pressure=p, warm_start=True, **settings)
    assert info.iterations == 0 < first.iterations
    np.testing.assert_allclose(u, cold, atol=1e-12)
    u, p = u0.copy(), 1.001 * p
    info = solver.project(x, u, DT, pressure=p, warm_start=True, **settings)
    assert 0 < info.iterations < first.iterations
    np.testing.assert_allclose(u, cold, atol=1e-6)


@pytest.mark.parametrize("boundary", ["open", "wall"])
def test_warm_start_from_nonsense(boundary: Any) -> None:
    """What is left to remove is round-off, and the start is a million times as large as it need be."""
    mesh = lattice(10)
    x, wet = np.array(mesh.vertices), everything(mesh)
    u, solver = np.ones((len(mesh.tets), 3)), TetPressureSolver(mesh)
    for _ in range(3):
        solver.project(x, u, DT, wet=wet, boundary=boundary)
    before = u.copy()
    for size in (1e-3, 1e6):
        p = np.random.default_rng(4).normal(size=len(x)) * size
        solver.project(x, u, DT, wet=wet, boundary=boundary, pressure=p, warm_start=True)
        np.testing.assert_allclose(u, before, atol=1e-13)


def test_failure_changes_nothing() -> None:
    mesh = lattice(8)
    x, settings = scene(mesh)
    u0, p0 = np.random.default_rng(4).normal(size=(len(mesh.tets), 3)), np.full(len(x), 7.0)
    u, p = u0.copy(), p0.copy()
    solver = TetPressureSolver(mesh)
    with pytest.raises(ConvergenceError, match=r"after 2 iterations .* limit of iterations .* open, \d+ vertices from \d+") as failure:
        solver.project(x, u, DT, pressure=p, max_iterations=2, **settings)
    assert failure.value.info.iterations == 2
    assert not failure.value.info.converged
    np.testing.assert_array_equal(u, u0)
    np.testing.assert_array_equal(p, p0)
    info = solver.project(x, u, DT, pressure=p, max_iterations=2, raise_on_failure=False, **settings)
    assert not info.converged
    assert np.abs(u - u0).max() > 0.1


def test_nothing_wet_and_nothing_at_all() -> None:
    mesh = lattice(3)
    x = np.array(mesh.vertices)
    u, p = np.ones((len(mesh.tets), 3)), np.ones(len(x))
    info = TetPressureSolver(mesh).project(x, u, DT, wet=everything(mesh, False), pressure=p)
    assert info.converged
    assert info.wet_tets == 0
    assert (u == 1).all()
    assert (p == 0).all()
    empty = ms.mesh.TetMesh(np.zeros((0, 3)), np.zeros((0, 4), np.int32))
    assert TetPressureSolver(empty).project(np.zeros((0, 3)), np.zeros((0, 3)), DT, wet=np.zeros(0, bool)).converged


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"dt": 0.0}, ValueError, "dt must be positive"),
    ({"dt": np.nan}, ValueError, "dt must be finite"),
    ({"density": -1.0}, ValueError, "density must be positive"),
    ({"wet": [1, 0]}, TypeError, "wet must be of dtype bool"),
    ({"wet": np.ones(3, bool)}, ValueError, "wet must have shape"),
    ({"solid": TetSolid(enabled=np.ones(3, bool))}, ValueError, "enabled must have shape"),
    ({"boundary": "closed"}, ValueError, "boundary must be one of 'open', 'wall'"),
    ({"boundary": np.ones(3, bool)}, ValueError, "boundary must have shape"),
    ({"solid": TetSolid(open_fraction=np.float32(1))}, TypeError, "open_fraction must be a NumPy array"),
    ({"warm_start": True}, ValueError, "warm_start needs pressure"),
    ({"tolerance": 1.0}, ValueError, "tolerance must be below 1"),
    ({"solid": TetSolid(min_open=0.0)}, ValueError, "min_open must be above 0"),
    ({"solid": TetSolid(min_aspect=1.0)}, ValueError, "min_aspect must be in"),
    ({"max_iterations": 0}, ValueError, "max_iterations must be at least 1"),
    ({"velocity": np.ones((5, 3))}, ValueError, "velocity must have shape"),
    ({"positions": np.ones((5, 3))}, ValueError, "positions must have shape"),
    ({"pressure": np.ones(5)}, ValueError, "pressure must have shape"),
]


@pytest.mark.parametrize(("change", "kind", "message"), WRONG, ids=[m for _, _, m in WRONG])
def test_wrong_arguments(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    mesh = lattice(2)
    arguments: dict[str, Any] = {"positions": np.array(mesh.vertices), "velocity": np.ones((len(mesh.tets), 3)), "dt": DT}
    arguments |= {"wet": everything(mesh)} | change
    with pytest.raises(kind, match=message):
        TetPressureSolver(mesh).project(**arguments)


@pytest.mark.parametrize("name", ["positions", "velocity", "object_velocity", "open_fraction", "pressure"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(name: str, bad: float) -> None:
    mesh = lattice(2)
    m, n = len(mesh.tets), len(mesh.vertices)
    arrays = {"positions": np.array(mesh.vertices), "velocity": np.ones((m, 3)), "object_velocity": np.ones((m, 3))}
    arrays |= {"open_fraction": np.ones(m), "pressure": np.zeros(n)}
    arrays[name].ravel()[5] = bad
    velocity = arrays["velocity"].copy()
    given = {k: arrays[k] for k in ("positions", "velocity", "pressure")}
    solid = TetSolid(open_fraction=arrays["open_fraction"], object_velocity=arrays["object_velocity"])
    with pytest.raises(ValueError, match=name):
        TetPressureSolver(mesh).project(dt=DT, wet=everything(mesh), solid=solid, warm_start=True, **given)
    np.testing.assert_array_equal(arrays["velocity"], velocity)


def test_other_kinds_of_meshes_are_refused() -> None:
    with pytest.raises(TypeError, match="mesh must be a TetMesh"):
        TetPressureSolver(ms.mesh.icosphere(1))  # type: ignore[arg-type]
    apexes = [[0, 0, 1], [0, 0, 2], [0, 0, 3]]
    with pytest.raises(ValueError, match="face"):
        TetPressureSolver(ms.mesh.TetMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], *apexes], [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]]))

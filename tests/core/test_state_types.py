"""Protocol of all objects that own memory: snapshot, restore, copy, assign, pickles, nbytes, and a repr of one line."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.core import State
from meniscus.fluids import LiquidSolver, ParticleLiquidSolver, SmokeSolver, VortexParticles
from meniscus.surface import ParticleLevelSet

GRID, SPACE = ms.Grid((6, 5), 0.2), ms.Grid((6, 5, 4), 0.2)


def cells(seed: int) -> ms.CellField:
    field = ms.CellField(SPACE, np.float32)
    field.array[...] = np.random.default_rng(seed).random(field.shape)
    field.fill_ghosts()
    return field


def nodes(seed: int) -> ms.NodeField:
    field = ms.NodeField(GRID)
    field.array[...] = np.random.default_rng(seed).random(field.shape)
    return field


def velocity(seed: int) -> ms.MacField:
    field = ms.MacField(GRID, boundary={"x+": ms.Open()})
    for d in range(2):
        field.component(d)[...] = np.random.default_rng(seed + d).random(field.component(d).shape)
    return field


def particles(seed: int) -> ms.Particles:
    rng = np.random.default_rng(seed)
    made = ms.Particles(rng.random((9 * seed, 2)), age=rng.random(9 * seed), kind=np.arange(9 * seed, dtype=np.int8))
    made.remove(made["age"] < 0.3)
    made.sort_by_cell(GRID)
    return made


def vortices(seed: int) -> VortexParticles:
    rng = np.random.default_rng(seed)
    return VortexParticles(rng.random((seed, 3)), rng.random((seed, 3)), 0.3)


def level_set(seed: int) -> Any:
    made = ms.surface.LevelSet(SPACE, "nodes", np.float32)
    made.array[...] = np.random.default_rng(seed).normal(size=made.array.shape)
    return made


def particle_level_set(seed: int) -> ParticleLevelSet:
    made = ParticleLevelSet(GRID)
    made.levelset.unite(ms.surface.Sphere((0.5, 0.5), 0.1 + 0.1 * seed))
    made.seed()
    return made


def body(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    made = ms.solids.DeformableBody(rng.random((7, 3)), masses=1.0)
    made.velocities[...] = rng.random((7, 3))
    made.step(0.01 * seed, "verlet")
    return made


def smoke(seed: int) -> SmokeSolver:
    made = SmokeSolver(GRID)
    made.density.array[...] = np.random.default_rng(seed).random(GRID.shape)
    made.step(0.01 * seed)
    return made


def liquid(seed: int) -> LiquidSolver:
    made = LiquidSolver(GRID)
    made.fill(ms.surface.Box((-1.0, -1.0), (2.0, 0.2 + 0.1 * seed)))
    made.step(0.001 * seed)
    return made


def particle_liquid(seed: int) -> ParticleLiquidSolver:
    made = ParticleLiquidSolver(GRID)
    made.fill(ms.surface.Box((-1.0, -1.0), (2.0, 0.2 + 0.1 * seed)))
    made.step(0.001 * seed)
    return made


KINDS: tuple[Callable[[int], State], ...] = (
    cells,
    nodes,
    velocity,
    particles,
    vortices,
    level_set,
    particle_level_set,
    body,
    smoke,
    liquid,
    particle_liquid,
)


def leaves(value: Any) -> list[bytes]:
    """All arrays and numbers of a nested snapshot, in bits."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in leaves(item)]
    return [b"none" if value is None else np.asarray(value).tobytes()]


@pytest.mark.parametrize("make", KINDS)
def test_the_protocol_of_state(make: Callable[[int], State]) -> None:
    one, other = make(2), make(3)
    assert isinstance(one, State)
    first, second = one.snapshot(), other.snapshot()
    assert leaves(first) != leaves(second)
    assert one.nbytes > 0
    assert repr(one).startswith(f"<{type(one).__name__} ")
    assert "\n" not in repr(one)
    copies = [one.copy(), copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))]
    for c in copies:
        assert type(c) is type(one)
        assert c is not one
        assert leaves(c.snapshot()) == leaves(first)
    copies[0].assign(other)
    assert leaves(copies[0].snapshot()) == leaves(second)
    copies[1].restore(second)
    assert leaves(copies[1].snapshot()) == leaves(second)
    assert leaves(one.snapshot()) == leaves(first)
    one.restore(first)
    assert leaves(one.snapshot()) == leaves(first)


@pytest.mark.parametrize("make", KINDS)
def test_a_copy_taken_again_allocates_nothing(make: Callable[[int], State]) -> None:
    large, small = make(3), make(2)
    target = large.copy()
    target.assign(small)
    blocks = ms.core.block_allocations()
    for source in (large, small, large):
        target.assign(source)
    assert ms.core.block_allocations() == blocks
    assert leaves(target.snapshot()) == leaves(large.snapshot())


@pytest.mark.parametrize("make", KINDS)
def test_another_kind_is_refused(make: Callable[[int], State]) -> None:
    one, strange = make(2), make(2).snapshot()
    other = level_set(1) if make is not level_set else cells(1)
    with pytest.raises((TypeError, ValueError), match="assign"):
        one.assign(other)
    for bad in (None, (), {}, {"a": 1}):
        with pytest.raises((TypeError, ValueError), match="snapshot"):
            one.restore(bad)
    assert leaves(one.snapshot()) == leaves(strange)


def test_particles_are_assigned_with_ids_and_cells() -> None:
    one, other = particles(5), particles(2)
    other.assign(one)
    np.testing.assert_array_equal(other.ids, one.ids)
    np.testing.assert_array_equal(other.cells, one.cells)
    np.testing.assert_array_equal(other.cell_starts, one.cell_starts)
    new = [p.append(np.zeros((1, 2))) for p in (one, other)]
    np.testing.assert_array_equal(one.ids[new[0]], other.ids[new[1]])
    assert len(one.ids[new[0]]) == 1
    with pytest.raises(ValueError, match="same columns"):
        one.assign(ms.Particles(np.zeros((3, 2)), age=np.zeros(3)))


def test_a_mesh_does_not_change() -> None:
    mesh = ms.mesh.TriangleMesh(np.eye(3), np.array([[0, 1, 2]], np.int32))
    other = ms.mesh.TriangleMesh(2 * np.eye(3), np.array([[0, 1, 2]], np.int32))
    assert isinstance(mesh, State)
    assert mesh.copy() is mesh
    assert copy.deepcopy(mesh) == mesh == pickle.loads(pickle.dumps(mesh))
    assert mesh.nbytes == 72 + 12
    mesh.restore(mesh.snapshot())
    mesh.assign(pickle.loads(pickle.dumps(mesh)))
    with pytest.raises(ValueError, match="a mesh does not change"):
        mesh.restore(other.snapshot())
    with pytest.raises(ValueError, match="a mesh does not change"):
        mesh.assign(other)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all arrays, numbers, containers and Nones in a nested snapshot."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    return [path, *(p for key, item in items for p in places(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """A nested snapshot with another value at one place, or with what a function makes of the value there."""
    if not path:
        return by(value) if callable(by) else by
    if isinstance(value, dict):
        return {key: replaced(item, path[1:], by) if key == path[0] else item for key, item in value.items()}
    return type(value)([replaced(item, path[1:], by) if i == path[0] else item for i, item in enumerate(value)])


def wrong_values(value: Any) -> list[Any]:
    """Values that cannot be at the place of this one."""
    if isinstance(value, np.ndarray):
        others = [value.astype(np.complex128), np.zeros((3, *value.shape), value.dtype), "x", None, {}]
        if value.dtype.kind == "f" and value.size:
            others.append(np.where(np.arange(value.size).reshape(value.shape) == 0, np.nan, value).astype(value.dtype))
        return others
    if isinstance(value, dict):
        return [{**value, "other": 1}, dict(list(value.items())[1:]) if value else None, None, 3]
    if isinstance(value, (list, tuple)):
        return [type(value)([*value, 1]), None, 3]
    if isinstance(value, bool):
        return ["x", {}, object()]
    if isinstance(value, (int, float)):
        return ["x", None, [1.0], object(), 10**400, float("nan"), float("inf")]
    return [3, [1], object()] if isinstance(value, str) else [object(), [1]]


@pytest.mark.parametrize("make", KINDS)
def test_a_snapshot_with_one_wrong_value_changes_nothing(make: Callable[[int], State]) -> None:
    one, snapshot = make(2), make(3).snapshot()
    before = leaves(one.snapshot())
    for path in places(snapshot):
        at = snapshot
        for key in path:
            at = at[key]
        for wrong in wrong_values(at):
            if make is body and path == ("previous",) and wrong is None:
                continue  # a body that has taken no step yet
            with pytest.raises((TypeError, ValueError)) as error:
                one.restore(replaced(snapshot, path, lambda _, w=wrong: w))
            assert str(error.value), (path, wrong)
            assert leaves(one.snapshot()) == before, (path, wrong)
    one.restore(snapshot)
    assert leaves(one.snapshot()) == leaves(snapshot)


def test_parts_that_a_solver_does_not_have_cannot_be_restored() -> None:
    for solver, names in ((smoke(2), ["vortices"]), (liquid(2), ["vortices", "pockets", "air"])):
        for name in names:
            snapshot = {**solver.snapshot(), name: "something"}
            with pytest.raises(TypeError, match=f"{name} in the snapshot must be None"):
                solver.restore(snapshot)


@pytest.mark.parametrize("ids", [[-1, 0], [1, 1], [0, 2**62], [0, 7]])
def test_particles_with_ids_that_cannot_be(ids: list[int]) -> None:
    one = ms.Particles(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="id in the snapshot"):
        one.restore({**one.snapshot(), "id": np.array(ids)})
    assert one.ids.tolist() == [0, 1]


def test_queries_and_hierarchies_pickle() -> None:
    ball = ms.mesh.icosphere(1)
    x, y = np.array(ball.vertices), np.ascontiguousarray(ball.vertices * 0.5 + 0.4)
    for mesh in (ms.collision.CollisionMesh(ball), ms.collision.CollisionMesh(ball.edges[:5], ball.triangles[::2])):
        for other in (copy.copy(mesh), copy.deepcopy(mesh), pickle.loads(pickle.dumps(mesh))):
            np.testing.assert_array_equal(other.edges, mesh.edges)
            np.testing.assert_array_equal(other.triangles, mesh.triangles)
            assert other.time_of_impact(x, y) == mesh.time_of_impact(x, y)
    hierarchy = ms.mesh.SubdivisionHierarchy(ball, 2)
    for again in (copy.deepcopy(hierarchy), pickle.loads(pickle.dumps(hierarchy))):
        assert [again.mesh(i) for i in range(3)] == [hierarchy.mesh(i) for i in range(3)]

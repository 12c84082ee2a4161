"""Protocol of all objects that own memory: snapshot, restore, copy, assign, pickles, nbytes, and a repr of one line."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest
from support.contracts.states import OTHERS, STATES, Specimen, cells, level_set, liquid, particles, smoke

import meniscus as ms
from meniscus.core import BusyError, Solver, State

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
ALL = pytest.mark.parametrize("kind", STATES, ids=lambda kind: kind.make.__name__)


def test_every_public_state_has_a_specimen() -> None:
    """Scenes are made of these, and have a table of their own in `tests/scenes`."""
    rooms = ("core", "grid", "mesh", "collision", "surface", "fluids", "solids", "coupling", "io", "viz")
    modules = [ms, *(importlib.import_module(f"meniscus.{room}") for room in rooms)]
    public = {thing for module in modules for name in module.__all__ if inspect.isclass(thing := getattr(module, name))}
    assert {c for c in public if issubclass(c, State)} == {kind.type for kind in STATES} | OTHERS.keys()


def leaves(value: Any) -> list[bytes]:
    """All arrays and numbers of a nested snapshot, in bits."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in leaves(item)]
    return [b"none" if value is None else np.asarray(value).tobytes()]


@ALL
def test_the_protocol_of_state(kind: Specimen) -> None:
    one, other = kind.make(2), kind.make(3)
    assert type(one) is kind.type
    first, second = one.snapshot(), other.snapshot()
    assert leaves(first) != leaves(second)
    assert one.nbytes > 0
    assert re.fullmatch(rf"<{type(one).__name__}\b.+>", repr(one))
    copies = [one.copy(), copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))]
    for c in copies:
        assert type(c) is type(one)
        assert c is not one
        for name in ("grid", "location", "dtype", "boundary", "columns"):
            assert getattr(c, name, None) == getattr(one, name, None)
        assert leaves(c.snapshot()) == leaves(first)
    copies[0].assign(other)
    assert leaves(copies[0].snapshot()) == leaves(second)
    copies[1].restore(second)
    assert leaves(copies[1].snapshot()) == leaves(second)
    assert leaves(one.snapshot()) == leaves(first)
    one.restore(first)
    assert leaves(one.snapshot()) == leaves(first)


@ALL
def test_copies_go_on_with_the_same_bits_and_alone(kind: Specimen) -> None:
    one, again = kind.make(2), kind.make(3)
    saved = one.snapshot()
    before = leaves(saved)
    again.restore(saved)
    others = [one.copy(), copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), again]
    ends = []
    for other in others:
        kind.change(other)
        ends.append(leaves(other.snapshot()))
        assert leaves(one.snapshot()) == before
    kind.change(one)
    assert leaves(saved) == before
    end = leaves(one.snapshot())
    assert end != before
    assert all(e == end for e in ends)
    one.restore(saved)
    kind.change(one)
    assert leaves(one.snapshot()) == end


@ALL
def test_a_copy_taken_again_allocates_nothing(kind: Specimen) -> None:
    large, small = kind.make(3), kind.make(2)
    target = large.copy()
    target.assign(small)
    blocks = ms.core.block_allocations()
    for source in (large, small, large):
        target.assign(source)
    assert ms.core.block_allocations() == blocks
    assert leaves(target.snapshot()) == leaves(large.snapshot())


@ALL
def test_another_kind_is_refused(kind: Specimen) -> None:
    one, strange = kind.make(2), kind.make(2).snapshot()
    other = level_set(1) if kind.make is not level_set else cells(1)
    with pytest.raises((TypeError, ValueError), match="assign"):
        one.assign(other)
    for bad in (None, (), {}, {"a": 1}):
        with pytest.raises((TypeError, ValueError), match="snapshot"):
            one.restore(bad)
    assert leaves(one.snapshot()) == leaves(strange)


# A step of a world in real time has no stages.
WITH_STAGES = [kind for kind in STATES if issubclass(kind.type, Solver) and kind.type is not ms.solids.PositionsWorld]


@pytest.mark.parametrize("kind", WITH_STAGES, ids=lambda kind: kind.make.__name__)
def test_a_step_within_a_step_is_refused(kind: Specimen) -> None:
    one, alone = kind.make(2), kind.make(2)
    refused = []

    def again(stage: str, solver: Any) -> None:
        with pytest.raises(BusyError, match=f"a step of this {kind.type.__name__} is going on"):
            solver.step(0.1)
        refused.append(stage)

    one.step(0.002, on_stage=again)
    alone.step(0.002, on_stage=lambda stage, solver: None)
    assert refused
    assert leaves(one.snapshot()) == leaves(alone.snapshot())
    one.step(0.002)


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


BLOCK = ms.mesh.tet_block(1, 1, 1)
MESHES = [ms.mesh.SegmentMesh(BLOCK.vertices, BLOCK.edges), BLOCK.boundary, BLOCK, ms.mesh.quadratic_mesh(BLOCK)]


@pytest.mark.parametrize("mesh", MESHES, ids=lambda mesh: type(mesh).__name__)
def test_a_mesh_does_not_change(mesh: Any) -> None:
    other = mesh.moved(2 * mesh.vertices)
    assert isinstance(mesh, State)
    assert mesh.copy() is mesh
    assert copy.deepcopy(mesh) == mesh == pickle.loads(pickle.dumps(mesh))
    assert mesh.nbytes == mesh.vertices.nbytes + mesh.elements.nbytes
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


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """What a nested snapshot holds at a place."""
    return at(value[path[0]], path[1:]) if path else value


def wrong_values(value: Any, name: Any, kind: Specimen) -> list[Any]:
    """Values that cannot be at the place of this one, which has a name."""
    if isinstance(value, np.ndarray):
        others = [value.astype(np.complex128), np.zeros((3, *value.shape), value.dtype), "x", None, {}]
        if value.ndim > 1 and name not in kind.boxes:
            others.append(np.zeros((*value.shape[:-1], value.shape[-1] + 1), value.dtype))
        if value.ndim and name not in (*kind.boxes, *kind.lists):
            others.append(np.zeros((len(value) + 1, *value.shape[1:]), value.dtype))
        return others
    if isinstance(value, dict):
        fewer = dict(list(value.items())[1:]) if value and name not in kind.free_names else None
        return [{**value, "other": 1}, fewer, None, 3]
    if isinstance(value, (list, tuple)):
        return [type(value)([*value, 1]), None, 3]
    if isinstance(value, bool):
        return ["x", {}, object()]
    if isinstance(value, (int, float)):
        others = ["x", None, [1.0], object(), 10**400, float("nan")]
        others += [] if name in kind.infinite else [float("inf"), float("-inf")]
        return others + ([value + 0.5] if isinstance(value, int) else [])
    return [3, [1], object()] if isinstance(value, str) else [object(), [1]]


@ALL
def test_a_snapshot_with_one_wrong_value_changes_nothing(kind: Specimen) -> None:
    one, snapshot = kind.make(2), kind.make(3).snapshot()
    before = leaves(one.snapshot())
    for path in places(snapshot):
        if len(path) > 1 and path[0] in kind.members:
            continue
        name = next((key for key in reversed(path) if isinstance(key, str)), None)
        for wrong in wrong_values(at(snapshot, path), name, kind):
            if wrong is None and name in kind.none_until:
                continue
            with pytest.raises((TypeError, ValueError)) as error:
                one.restore(replaced(snapshot, path, lambda _, w=wrong: w))
            assert str(error.value), (path, wrong)
            assert leaves(one.snapshot()) == before, (path, wrong)
    one.restore(snapshot)
    assert leaves(one.snapshot()) == leaves(snapshot)


def with_nan(value: Any, last: bool) -> Any:
    """The same number or array with NaN in it, at its beginning or end; with one row that is NaN, if it has none."""
    if isinstance(value, float):
        return float("nan")
    changed = value.copy() if value.size else np.zeros([max(n, 1) for n in value.shape], value.dtype)
    changed.reshape(-1)[-1 if last else 0] = np.nan
    return changed


@ALL
def test_what_is_not_a_number_is_refused_by_its_name(kind: Specimen) -> None:
    one, snapshot = kind.make(2), kind.make(3).snapshot()
    before = leaves(one.snapshot())
    found = [
        path for path in places(snapshot) if isinstance(at(snapshot, path), float) or getattr(at(snapshot, path), "dtype", 0) in FLOATS
    ]
    assert found
    for path in found:
        for last in (False, True):
            with pytest.raises(ValueError, match="must be") as error:
                one.restore(replaced(snapshot, path, lambda value, last=last: with_nan(value, last)))
            # An array without rows may also be refused for the row that it gets.
            assert "nan" in str(error.value) or not np.size(at(snapshot, path)), path
            for key in path:
                names = [key] if isinstance(key, str) else [f"[{key}]", f"array {key} "]
                assert any(name in str(error.value) for name in names), path
            assert leaves(one.snapshot()) == before, path


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

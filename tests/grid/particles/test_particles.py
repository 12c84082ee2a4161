"""Particles: columns, ids, growth, removal, sorting and copies."""

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.build import grid_of, same_bits

import meniscus as ms
from meniscus import core


def make(n: int, dimension: int, dtype: Any, rng: np.random.Generator) -> ms.Particles:
    return ms.Particles(
        rng.random((n, dimension)).astype(dtype),
        mass=rng.random(n),
        kind=rng.integers(0, 9, n).astype(np.uint8),
        velocity=rng.random((n, dimension)).astype(np.float32),
    )


def state(p: ms.Particles) -> dict[str, np.ndarray]:
    return {"positions": p.positions.copy(), "ids": p.ids.copy(), **{n: p[n].copy() for n in p.columns}}


def same_state(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return list(a) == list(b) and all(same_bits(a[n], b[n]) for n in a)


def test_columns(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(10, dimension, dtype, rng)
    assert len(p) == 10
    assert p.dimension == dimension
    assert p.positions.dtype == dtype
    assert p.positions.shape == (10, dimension)
    assert p.columns == ["mass", "kind", "velocity"]
    assert p["mass"].shape == (10,)
    assert p["velocity"].shape == (10, dimension)
    assert [p[n].dtype for n in p.columns] == [np.float64, np.uint8, np.float32]
    np.testing.assert_array_equal(p.ids, np.arange(10))
    for a in (p.positions, p["mass"], p["velocity"]):
        assert a.flags.c_contiguous
        assert a.flags.writeable
    assert not p.ids.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        p.ids[0] = 7
    p["mass"] = 2
    assert (p["mass"] == 2).all()
    view = p["mass"]
    p["mass"] = np.arange(10.0)
    assert same_bits(view, np.arange(10.0))
    p.positions[3] = 9
    assert (p.positions[3] == 9).all()
    assert p.positions.__array_interface__["data"] == p.positions.__array_interface__["data"]


@pytest.mark.parametrize("column_type", [np.float32, np.float64, np.int32, np.int64, np.uint8])
def test_added_columns_are_zero(column_type: type, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(5, dimension, dtype, rng)
    generation = p.generation
    for name, width, shape in (("a", 1, (5,)), ("b", 4, (5, 4))):
        view = p.add_column(name, column_type, width)
        assert view.dtype == column_type
        assert view.shape == shape
        assert not view.any()
        view[...] = 3
        assert (p[name] == 3).all()
    assert p.generation == generation
    p.append(rng.random((200, dimension)).astype(dtype))
    assert (p["b"][:5] == 3).all()
    assert not p["b"][5:].any()


def test_append_and_views_that_become_stale(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(3, dimension, dtype, rng)
    before, capacity, generation = state(p), p.capacity, p.generation
    views = {"positions": p.positions, "mass": p["mass"]}
    room = capacity - len(p)
    where = p.append(rng.random((room, dimension)).astype(dtype), mass=np.full(room, 5.0))
    assert where == slice(3, capacity)
    assert (p.generation, p.capacity) == (generation, capacity)
    views["mass"][0] = before["mass"][0] = 42.0
    assert p["mass"][0] == 42.0
    assert (p["mass"][where] == 5.0).all()
    assert not p["velocity"][where].any()
    p.append(np.zeros((1, dimension), dtype))
    assert p.generation == generation + 1
    assert p.capacity > capacity
    assert len(p) == capacity + 1
    for n, v in views.items():
        assert same_bits(v, before[n])
        assert same_bits((p.positions if n == "positions" else p[n])[:3], before[n])
    p["mass"][0] = 1.0
    assert views["mass"][0] == 42.0
    del p
    gc.collect()
    assert same_bits(views["mass"], before["mass"])


def test_reserve(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(4, dimension, dtype, rng)
    before = state(p)
    p.reserve(1000)
    generation = p.generation
    assert p.capacity >= 1000
    assert same_state(state(p), before)
    view, allocations = p.positions, ms.core.block_allocations()
    p.append(np.zeros((996, dimension), dtype))
    assert p.generation == generation
    assert ms.core.block_allocations() == allocations
    assert p.positions.__array_interface__["data"] == view.__array_interface__["data"]
    p.reserve(3)
    assert p.capacity >= 1000
    with pytest.raises(ValueError, match="capacity must be at least 0"):
        p.reserve(-1)


def test_growth_is_geometric(dimension: int) -> None:
    p = ms.Particles(np.zeros((0, dimension)))
    for _ in range(3000):
        p.append(np.zeros((1, dimension)))
    assert p.generation < 16
    np.testing.assert_array_equal(p.ids, np.arange(3000))


def test_remove(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(50, dimension, dtype, rng)
    before, mask, generation = state(p), rng.random(50) < 0.4, p.generation
    assert p.remove(mask) == mask.sum()
    assert p.generation == generation
    assert same_state(state(p), {n: a[~mask] for n, a in before.items()})
    assert p.remove(np.zeros(len(p), bool)) == 0
    ids = p.ids.copy()
    assert p.remove(np.ones(len(p), bool)) == len(ids)
    assert len(p) == 0
    p.append(np.zeros((2, dimension), dtype))
    np.testing.assert_array_equal(p.ids, [50, 51])


@settings(max_examples=50)
@given(steps=st.lists(st.tuples(st.integers(0, 40), st.floats(0, 1)), min_size=1, max_size=12))
def test_ids_are_never_reused(steps: list[tuple[int, float]]) -> None:
    rng = np.random.default_rng(0)
    p = ms.Particles(np.zeros((0, 2)), tag=np.zeros(0, np.int64))
    expected, given_out = np.zeros(0, np.int64), 0
    for n, part in steps:
        new = np.arange(given_out, given_out + n)
        p.append(np.zeros((n, 2)), tag=new)
        given_out += n
        expected = np.concatenate([expected, new])
        gone = rng.random(len(p)) < part
        p.remove(gone)
        expected = expected[~gone]
        assert same_bits(p.ids, expected)
        assert same_bits(p["tag"], expected)


def cell_keys(x: np.ndarray, g: ms.Grid) -> np.ndarray:
    index = np.floor((x.astype(np.float64) - g.origin) / g.spacing)
    for d, n in enumerate(g.shape):
        index[:, d] = np.mod(index[:, d], n) if g.periodic[d] else np.clip(index[:, d], 0, n - 1)
    return np.ravel_multi_index(tuple(index.astype(np.int64).T), g.shape)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("shape", [(7, 5, 4), (1, 1, 1), (300, 2, 130)])
def test_sort_by_cell(shape: tuple[int, ...], periodic: bool, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, shape=shape[:dimension], periodic=periodic)
    for n in (0, 1, 2, 63, 5000):
        low, size = np.array(g.origin), np.array(g.extent)
        x = (low + size * (1.5 * rng.random((n, dimension)) - 0.25)).astype(dtype)
        p = ms.Particles(x, tag=np.arange(n, dtype=np.int32), wide=rng.random((n, 3)))
        p.remove(np.zeros(n, bool))
        before = state(p)
        keys = cell_keys(x, g)
        order = np.argsort(keys, kind="stable")
        p.sort_by_cell(g)
        assert same_state(state(p), {name: a[order] for name, a in before.items()})
        cells, starts = np.unique(keys[order], return_index=True)
        np.testing.assert_array_equal(p.cells, cells)
        np.testing.assert_array_equal(p.cell_starts, [*starts, n])
        for i in range(0, len(cells), 53):
            own = slice(p.cell_starts[i], p.cell_starts[i + 1])
            assert (cell_keys(p.positions[own], g) == p.cells[i]).all()
        again = state(p)
        p.sort_by_cell(g)
        assert same_state(state(p), again)


def test_sorting_order_is_forgotten_when_particles_change(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    p = make(30, dimension, dtype, rng)
    for change in (lambda: p.append(np.zeros((1, dimension), dtype)), lambda: p.remove(np.arange(len(p)) == 3)):
        p.sort_by_cell(g)
        assert len(p.cells) > 0
        change()
        assert len(p.cells) == len(p.cell_starts) == 0


def test_sort_refuses(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(30, dimension, dtype, rng)
    with pytest.raises(ValueError, match=f"grid must be {dimension}-D"):
        p.sort_by_cell(grid_of(5 - dimension))
    with pytest.raises(TypeError, match="grid must be a Grid"):
        p.sort_by_cell((4, 4))
    p.positions[11, 1] = np.nan
    before = state(p)
    with pytest.raises(ValueError, match="component 1 of particle 11 is nan"):
        p.sort_by_cell(grid_of(dimension))
    assert same_state(state(p), before)


def test_snapshot_and_restore(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(20, dimension, dtype, rng)
    before, saved = state(p), p.snapshot()
    p.positions[...] = 0
    p.append(np.zeros((500, dimension), dtype))
    p.remove(rng.random(520) < 0.9)
    p.restore(saved)
    assert same_state(state(p), before)
    where = p.append(np.zeros((1, dimension), dtype))
    assert p.ids[where] == 20
    empty = ms.Particles(np.zeros((0, dimension), dtype))
    saved = empty.snapshot()
    empty.append(np.ones((3, dimension), dtype))
    empty.restore(saved)
    assert len(empty) == 0


def test_a_failing_restore_changes_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(20, dimension, dtype, rng)
    p.sort_by_cell(grid_of(dimension))
    before, cells, saved = state(p), p.cells, p.snapshot()
    nan = saved["position"].copy()
    nan[3, 1] = np.nan
    bad: list[tuple[dict, type[Exception]]] = [
        ({n: a for n, a in saved.items() if n != "mass"}, ValueError),
        ({**saved, "extra": saved["mass"]}, ValueError),
        ({**saved, "mass": saved["mass"][:-1]}, ValueError),
        ({**saved, "velocity": saved["velocity"][:, :1]}, ValueError),
        ({**saved, "position": saved["position"][:, :1]}, ValueError),
        ({**saved, "mass": saved["mass"].astype(np.float32)}, TypeError),
        ({**saved, "kind": saved["kind"].astype(np.int64)}, TypeError),
        ({**saved, "position": nan}, ValueError),
        ({**saved, "id": saved["id"].astype(np.float64)}, TypeError),
    ]
    for snapshot, error in bad:
        with pytest.raises(error, match="snapshot"):
            p.restore(snapshot)
        assert same_state(state(p), before)
        assert same_bits(p.cells, cells)
    where = p.append(np.zeros((1, dimension), dtype))
    assert p.ids[where] == 20


def test_failing_appends_add_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    p = make(5, dimension, dtype, rng)
    before = state(p)
    x = np.zeros((3, dimension), dtype)
    nan = x.copy()
    nan[2, 0] = np.nan
    bad: list[tuple[Any, dict, type[Exception], str]] = [
        (x.astype(np.float32 if dtype is np.float64 else np.float64), {}, TypeError, "positions must be of dtype"),
        (np.zeros((3, 5 - dimension), dtype), {}, ValueError, "positions must have shape"),
        (x[0], {}, ValueError, "positions must have shape"),
        (nan, {}, ValueError, r"positions must be finite, but \[2, 0\] is nan"),
        (x, {"heat": np.zeros(3)}, KeyError, "no column 'heat'; there are: mass, kind, velocity"),
        (x, {"mass": np.zeros(3, np.float32)}, TypeError, "'mass' must be of dtype float64"),
        (x, {"mass": np.zeros(4)}, ValueError, r"'mass' must have shape \(3,\)"),
        (x, {"velocity": np.zeros(3, np.float32)}, ValueError, "'velocity' must have shape"),
        (x, {"mass": np.array([0, np.inf, 0])}, ValueError, "'mass' must be finite"),
        (x, {"mass": np.zeros(3), "kind": np.zeros(3)}, TypeError, "'kind' must be of dtype uint8"),
    ]
    for positions, columns, error, words in bad:
        with pytest.raises(error, match=words):
            p.append(positions, **columns)
        assert same_state(state(p), before)
    where = p.append(x)
    assert p.ids[where].tolist() == [5, 6, 7]


def test_other_errors(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    with pytest.raises(TypeError, match="float32 or float64"):
        ms.Particles(np.zeros((3, dimension), np.int64))
    for shape in ((3,), (3, 1), (3, 4), (3, 2, 2)):
        with pytest.raises(ValueError, match="positions must have shape"):
            ms.Particles(np.zeros(shape, dtype))
    with pytest.raises(ValueError, match="positions must be finite"):
        ms.Particles(np.full((3, dimension), np.inf, dtype))
    with pytest.raises(TypeError, match="the dtype of a column is one of"):
        ms.Particles(np.zeros((3, dimension), dtype), a=np.zeros(3, np.complex128))
    p = make(5, dimension, dtype, rng)
    before = state(p)
    with pytest.raises(KeyError, match="no column 'position'"):
        _ = p["position"]
    with pytest.raises(ValueError, match="already have a column 'mass'"):
        p.add_column("mass")
    with pytest.raises(ValueError, match="already have a column 'id'"):
        p.add_column("id")
    with pytest.raises(ValueError, match="width must be at least 1"):
        p.add_column("a", width=0)
    with pytest.raises(ValueError, match="needs a name"):
        p.add_column("")
    with pytest.raises(TypeError, match="mask must be of dtype bool"):
        p.remove(np.zeros(5))
    with pytest.raises(ValueError, match="mask must have shape"):
        p.remove(np.zeros(4, bool))
    with pytest.raises(TypeError, match="'kind' must be of dtype uint8"):
        p["kind"] = np.full(5, 0.5)
    with pytest.raises(TypeError, match="'mass' must be of dtype float64"):
        p["mass"] = np.zeros(5, np.float32)
    with pytest.raises(ValueError, match="'mass' must have shape"):
        p["mass"] = np.zeros(4)
    with pytest.raises(ValueError, match="'mass' must be finite"):
        p["mass"] = np.inf
    with pytest.raises(TypeError, match="'kind' must be an integer"):
        p["kind"] = 2.5
    with pytest.raises(ValueError, match="'kind' takes integers from 0 to 255, not 256"):
        p["kind"] = 256
    with pytest.raises(ValueError, match="'mass' must be finite"):
        p["mass"] = np.full(5, np.nan)
    assert same_state(state(p), before)


def test_repr(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    name = np.dtype(dtype).name
    assert repr(make(4, dimension, dtype, rng)) == f"<Particles 4 in {dimension}-D, {name}, columns mass, kind, velocity>"
    assert repr(ms.Particles(np.zeros((0, dimension), dtype))) == f"<Particles 0 in {dimension}-D, {name}>"


def test_no_leaks(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    gc.collect()
    start = ms.core.block_bytes()
    p = make(100, dimension, dtype, rng)
    view = p.positions
    p.append(np.zeros((1000, dimension), dtype))
    p.sort_by_cell(grid_of(dimension))
    p.copy()
    del p
    gc.collect()
    assert ms.core.block_bytes() - start >= view.nbytes
    del view
    gc.collect()
    assert ms.core.block_bytes() == start


def test_memory_that_cannot_be_is_refused_and_changes_nothing() -> None:
    particles = ms.Particles(np.ones((3, 2)), mass=np.ones(3))
    held = core.block_bytes()
    for capacity, error in ((2**62, ValueError), (2**55, MemoryError), (2**38, MemoryError)):
        with pytest.raises(error, match=r"capacity must be lower|the machine has"):
            particles.reserve(capacity)
    for width, error in ((2**63 - 1, ValueError), (2**31 - 1, MemoryError)):
        with pytest.raises(error, match=r"width must be|the machine has"):
            particles.add_column("a", width=width)
    assert list(particles.columns) == ["mass"]
    assert core.block_bytes() == held
    np.testing.assert_array_equal(particles.positions, np.ones((3, 2)))
    with pytest.raises(MemoryError, match="this needs a block of"):
        ms.CellField(ms.Grid((2**20, 2**20), 1.0))


def test_particles_that_come_back_have_their_ids(rng: np.random.Generator) -> None:
    p = make(8, 3, np.float32, rng)
    before, following = state(p), p._core.next_id
    mask = np.arange(8) % 3 == 1
    taken = {"positions": p.positions[mask].copy(), "ids": p.ids[mask].copy(), **{n: p[n][mask].copy() for n in p.columns}}
    p.remove(mask)
    assert p.append_back(**taken) == slice(5, 8)
    assert p._core.next_id == following
    order = np.argsort(p.ids)
    assert same_state({n: a[order] for n, a in state(p).items()}, before)
    for ids, problem in (([99], "no particle has had the id 99"), ([1, 2], r"ids must have shape \(1,\)")):
        with pytest.raises(ValueError, match=problem):
            p.append_back(p.positions[:1], np.array(ids))
    with pytest.raises(TypeError, match="ids must be of dtype int64"):
        p.append_back(p.positions[:1], np.array([0.0]))
    assert len(p) == 8

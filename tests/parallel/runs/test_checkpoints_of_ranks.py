"""Checkpoints that several ranks write: whole or absent, one file to other programs, read by any number of ranks."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.build import scalar_types

import meniscus as ms
from meniscus import io
from meniscus.core.stateful import Stateful
from meniscus.grid.particles.global_order import cells_of
from meniscus.io.spread import spread_of

h5py = pytest.importorskip("h5py")

SHAPES: dict[str, Any] = {
    "2-D": ((19, 33), (True, False)),
    "3-D": ((17, 12, 18), (False, True, False)),
    "a row of blocks": ((34, 5), False),
}


class Waiting(Stateful):
    """Values in a few cells of the own block."""

    rows_of_cells = "cells"

    def __init__(self, grid: ms.Grid, scale: float) -> None:
        every = np.arange(3, int(np.prod(grid.shape)), 17)
        at = np.stack(np.unravel_index(every, grid.shape), axis=1) - grid.first_cell
        own = every[((at >= 0) & (at < np.array(grid.local_shape))).all(axis=1)]
        self.cells = self.declare("cells", own, resizable=True)
        self.volume = self.declare("volume", scale * np.sin(own), resizable=True)


class Everything(Stateful):
    """Every kind of state; set by a function of the position, so that it is the same on any ranks."""

    def __init__(self, shape: str, scale: float = 1.0, blocks: Any = None) -> None:
        size, periodic = SHAPES[shape]
        self.grid = grid = ms.Grid(size, 0.1, origin=(0.3,) * len(size), periodic=periodic, blocks=blocks)
        single = scalar_types(grid.dimension)[0]
        self.cells = self.declare("cells", ms.CellField.from_function(grid, lambda *x: scale * np.sin(sum(x)), dtype=single))
        self.nodes = self.declare("nodes", ms.NodeField.from_function(grid, lambda *x: scale * np.cos(sum(x))))
        self.velocity = self.declare("velocity", ms.MacField.from_function(grid, lambda x, t: scale * np.sin(3 * x + 1)))
        self.levelset = self.declare("levelset", ms.surface.LevelSet.from_function(grid, lambda *x: scale * (sum(x) - 2.0), "cells"))
        self.wet = self.declare("wet", self.levelset.array <= 0, samples_of=grid)
        self.known = self.declare("known", [self.velocity.component(d) > 0.2 for d in range(grid.dimension)], samples_of=grid)
        self.colors = self.declare("colors", np.stack(np.broadcast_arrays(*grid.cell_centers()), axis=-1) * scale, samples_of=grid)
        rng = np.random.default_rng(4)
        low, extent = np.array(grid.origin), np.array(grid.extent)
        self.dust = self.declare("dust", ms.Particles(np.empty((0, grid.dimension)), age=np.empty(0), kind=np.empty(0, np.int32)))
        self.dust.append(low + extent * rng.random((200, grid.dimension)), age=scale * rng.random(200), replicated=True)
        self.dust["kind"][:] = self.dust.ids % 7
        self.none = self.declare("none", ms.Particles(np.empty((0, grid.dimension), single)))
        self.corner = self.declare("corner", ms.Particles(np.empty((0, grid.dimension), single)))
        self.corner.append(np.tile(np.array(grid.origin, single) + single(0.01), (9, 1)), replicated=True)
        for p in (self.dust, self.none, self.corner):
            p.migrate(grid)
        # As in a step: they have moved since they were ordered.
        self.dust.positions[...] += 0.07 * np.sin(9 * self.dust.positions)
        self.waiting = self.declare("waiting", Waiting(grid, scale))
        self.random = self.declare("random", np.random.default_rng(5))
        self.totals = self.declare("totals", {"in": scale * 0.1, "out": [1, None, "text"]})
        self.table = self.declare("table", scale * np.arange(6.0).reshape(2, 3))
        self.maybe: Any = self.declare("maybe", None)


def save(folder: Path, shape: str, step: int = 3, blocks: Any = None, keep: int = 2) -> Path:
    state = Everything(shape, 1.0 + step, blocks)
    made = io.Checkpoint("test", {}, "1", {"step": step}, state.snapshot(), io.checkpoint.grids_of(state), spread_of(state))
    return io.save_checkpoint(folder, made, keep=keep)


def flat(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, (dict, list, tuple)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for key, item in items for k, v in flat(item, f"{path}/{key}").items()}
    return {path: value}


def assert_same(one: Any, other: Any) -> None:
    a, b = flat(one), flat(other)
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert type(value) is type(b[name]), name
        np.testing.assert_array_equal(value, b[name], err_msg=name)
        assert np.asarray(value).dtype == np.asarray(b[name]).dtype, name


def whole(state: Everything) -> dict[str, Any]:
    """The fields of all ranks and the particles by id, on every rank."""
    comm = state.grid.comm
    result: dict[str, Any] = {}
    for name in ("cells", "nodes", "velocity", "levelset"):
        part = getattr(state, name)
        result[name] = comm.gather(ms.parallel.gather(part.field if name == "levelset" else part))[0]
    for name in ("dust", "none", "corner"):
        columns = {k: np.concatenate(comm.gather(v)) for k, v in getattr(state, name).snapshot().items() if k != "next id"}
        order = np.lexsort((columns["id"], cells_of(columns["position"], state.grid)))
        result[name] = {k: v[order] for k, v in columns.items()}
    for name in ("cells", "volume"):
        result[f"waiting {name}"] = np.sort(np.concatenate(comm.gather(getattr(state.waiting, name))))
    result["arrays"] = [comm.gather(int(a.sum())) for a in (state.wet, *state.known)]
    return result


@pytest.mark.parametrize("shape", SHAPES)
def test_any_number_of_ranks_writes_and_h5py_reads_the_arrays_of_one(tmp_path: Path, shape: str) -> None:
    alone = io.read_checkpoint(save(tmp_path / "1", shape))
    for count in (2, 3, 4, 8):
        folder = tmp_path / str(count)
        paths = ms.parallel.run_threads(count, save, folder, shape)
        assert len({p.name for p in paths}) == 1
        assert sorted(p.name for p in folder.iterdir()) == [
            "checkpoint-000000003.h5",
            *(f"part-000000003-0-{rank}.h5" for rank in range(count)),
        ]
        # Also after the folder has moved, and from elsewhere.
        moved = folder.rename(tmp_path / f"moved {count}")
        with h5py.File(moved / paths[0].name) as file:

            def compare(name: str, item: Any, file: Any = file) -> None:
                if name.startswith("state/") and isinstance(item, h5py.Dataset):
                    with h5py.File(tmp_path / "1" / "checkpoint-000000003.h5") as one:
                        np.testing.assert_array_equal(item[()], one[name][()], err_msg=name)
                        assert item.dtype == one[name].dtype

            file.visititems(compare)
            assert tuple(file["state/cells"].attrs["grid shape"]) == SHAPES[shape][0]
        together = io.read_checkpoint(moved / paths[0].name)
        assert_same(together.state, alone.state)
        assert together.grids == alone.grids


@pytest.mark.parametrize("writers", [1, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_number_of_ranks_goes_on(tmp_path: Path, shape: str, writers: int) -> None:
    ms.parallel.run_threads(writers, save, tmp_path, shape)

    def resume() -> Any:
        state = Everything(shape, 99.0)
        found, passed_over = io.latest_checkpoint(tmp_path, state)
        assert found is not None
        assert not passed_over
        state.restore(found.state)
        for p in (state.dust, state.corner):
            owned = cells_of(p.positions, state.grid)
            at = np.stack(np.unravel_index(owned, state.grid.shape), axis=1) - np.array(state.grid.first_cell)
            assert ((at >= 0) & (at < np.array(state.grid.local_shape))).all()
            if state.grid.comm.size > 1:
                assert (np.lexsort((p.ids, owned)) == np.arange(len(p))).all()
        assert state.dust.snapshot()["next id"] == 200
        assert state.random.random() == np.random.default_rng(5).random()
        return whole(state), state.totals, state.table, state.maybe

    def expected() -> Any:
        state = Everything(shape, 4.0)
        return whole(state), state.totals, state.table, state.maybe

    alone = expected()
    for count in (1, 2, 3, 8):
        wanted = ms.parallel.run_threads(count, expected)
        for found, mine in zip(ms.parallel.run_threads(count, resume), wanted, strict=True):
            assert_same(found, mine)
            assert_same(found[0] | {"arrays": 0}, alone[0] | {"arrays": 0})


def test_blocks_of_the_resuming_ranks_may_be_others(tmp_path: Path) -> None:
    ms.parallel.run_threads(4, save, tmp_path, "2-D", 3, ((4, 15), (29, 4)))

    def resume() -> Any:
        state = Everything("2-D", 99.0, ((5, 4, 10), (33,)))
        state.restore(io.latest_checkpoint(tmp_path, state)[0].state)  # type: ignore[union-attr]
        return whole(state) | {"arrays": 0}

    assert_same(ms.parallel.run_threads(3, resume)[0], whole(Everything("2-D", 4.0)) | {"arrays": 0})


def test_the_last_two_are_kept_with_their_parts(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        ms.parallel.run_threads(2, save, tmp_path, "2-D", step)
    ms.parallel.run_threads(3, save, tmp_path, "2-D", 3)  # the same step again, as at the end of a frame
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == [
        "checkpoint-000000002.h5",
        "checkpoint-000000003.h5",
        *(f"part-000000002-0-{rank}.h5" for rank in range(2)),
        *(f"part-000000003-1-{rank}.h5" for rank in range(3)),
    ]
    save(tmp_path, "2-D", 4)
    save(tmp_path, "2-D", 5)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint-000000004.h5", "checkpoint-000000005.h5"]


@pytest.mark.fast_cases("3-*")
@pytest.mark.parametrize("damage", ["part missing", "part changed", "part of another", "index cut short"])
@pytest.mark.parametrize("count", [1, 3])
def test_what_is_damaged_is_passed_over_for_an_older_one(tmp_path: Path, damage: str, count: int) -> None:
    for step in (6, 7):
        ms.parallel.run_threads(4, save, tmp_path, "3-D", step)
    part, index = tmp_path / "part-000000007-0-2.h5", tmp_path / "checkpoint-000000007.h5"
    if damage == "part missing":
        part.unlink()
    elif damage == "part changed":
        content = bytearray(part.read_bytes())
        content[-100] ^= 1
        part.write_bytes(content)
    elif damage == "part of another":
        shutil.copy(tmp_path / "part-000000006-0-2.h5", part)
    else:
        index.write_bytes(index.read_bytes()[:-1])
    words = {"part missing": "is missing", "part of another": "belongs to another"}.get(damage, "cut short or damaged")

    def resume() -> Any:
        state = Everything("3-D", 99.0)
        found, passed_over = io.latest_checkpoint(tmp_path, state)
        assert found is not None
        assert found.progress["step"] == 6
        assert len(passed_over) == 1
        assert words in passed_over[0]
        with pytest.raises(io.DamagedCheckpoint, match=words):
            io.read_checkpoint(index)
        state.restore(found.state)
        return whole(state) | {"arrays": 0}

    assert_same(ms.parallel.run_threads(count, resume)[0], whole(Everything("3-D", 7.0)) | {"arrays": 0})


def test_a_part_that_cannot_be_written_leaves_the_set_before(tmp_path: Path) -> None:
    ms.parallel.run_threads(3, save, tmp_path, "2-D", 1)
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    (tmp_path / ".part-000000002-0-1.h5.part").mkdir()
    with pytest.raises(ms.parallel.RankError, match="rank 1 failed: IsADirectoryError"):
        ms.parallel.run_threads(3, save, tmp_path, "2-D", 2)
    (tmp_path / ".part-000000002-0-1.h5.part").rmdir()
    assert {p: p.read_bytes() for p in tmp_path.glob("*-000000001*")} == before
    assert not (tmp_path / "checkpoint-000000002.h5").exists()
    ms.parallel.run_threads(2, save, tmp_path, "2-D", 2, None, 1)  # what was left of the failed one is swept out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint-000000002.h5", *(f"part-000000002-1-{rank}.h5" for rank in range(2))]


def test_what_differs_between_ranks_is_refused_on_all(tmp_path: Path) -> None:
    class Odd(Stateful):
        def __init__(self) -> None:
            self.field = self.declare("field", ms.CellField(ms.Grid((16, 16), 1.0)))
            self.rank = self.declare("rank", {"of": [self.field.grid.comm.rank]})

    class Copied(Stateful):
        def __init__(self) -> None:
            self.field = self.declare("field", ms.CellField(ms.Grid((16, 16), 1.0)))
            self.dust = self.declare("dust", ms.Particles(np.full((3, 2), 2.0)))

    def program() -> None:
        for kind, words in ((Odd, "rank/of/0 differs between the ranks 0 and 1"), (Copied, "needs append.*replicated=True")):
            state = kind()
            made = io.Checkpoint("test", {}, "1", {"step": 1}, state.snapshot(), {}, spread_of(state))
            with pytest.raises((ValueError, ms.parallel.RankError), match=words):
                io.save_checkpoint(tmp_path, made)

    ms.parallel.run_threads(3, program)
    assert not list(tmp_path.iterdir())


def test_parts_are_small(tmp_path: Path) -> None:
    """No rank writes more than its part, its particles wherever they are."""

    class Crowd(Stateful):
        def __init__(self) -> None:
            self.field = self.declare("field", ms.CellField(ms.Grid((64, 64), 1.0)))
            self.dust = self.declare("dust", ms.Particles(np.empty((0, 2))))
            self.dust.append(np.random.default_rng(0).random((4000, 2)) * (9.0, 60.0), replicated=True)
            self.dust.migrate(self.field.grid)

    def program() -> None:
        state = Crowd()
        io.save_checkpoint(tmp_path, io.Checkpoint("test", {}, "1", {"step": 1}, state.snapshot(), {}, spread_of(state)))

    ms.parallel.run_threads(8, program)
    sizes = [os.path.getsize(p) for p in tmp_path.glob("part-*.h5")]
    assert len(sizes) == 8
    assert max(sizes) < (64 * 64 * 8 + 4000 * 24) / 8 * 1.3 + 6000


def test_particles_that_all_ranks_add_alike_are_there_once() -> None:
    def program() -> Any:
        grid = ms.Grid((16, 16), 1.0)
        rng = np.random.default_rng(3)
        p = ms.Particles(np.empty((0, 2)), age=np.empty(0))
        for n in (10, 0, 3, 50):
            where = p.append(16 * rng.random((n, 2)), age=rng.random(n), replicated=True)
            assert where.stop == len(p)
            p.migrate(grid)
        p.append(np.full((1, 2), 3.3), age=2.0, replicated=True)
        p.migrate(grid)
        if grid.comm.size > 1:
            with pytest.raises(ValueError, match="rank 1 and rank 0 have different numbers of particles"):
                p.append(np.ones((1 + grid.comm.rank, 2)), replicated=True)
            with pytest.raises(ValueError, match="rank 1 and rank 0 have different particles"):
                p.append(np.ones((1, 2)), age=float(grid.comm.rank), replicated=True)
        assert p.snapshot()["next id"] == 64
        return {name: np.concatenate(grid.comm.gather(p.snapshot()[name])) for name in ("position", "id", "age")}

    alone = program()
    for count in (2, 3, 4):
        for found in ms.parallel.run_threads(count, program):
            order, mine = np.argsort(found["id"]), np.argsort(alone["id"])
            assert_same({k: v[order] for k, v in found.items()}, {k: v[mine] for k, v in alone.items()})

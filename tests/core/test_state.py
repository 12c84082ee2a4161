"""Declared state of objects: snapshots, copies, pickles, transactions and memory follow from it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus.core.stateful import Stateful


class Tally:
    """A class of a user, with snapshots alone."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def snapshot(self) -> dict[str, Any]:
        return {"counts": list(self.counts)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.counts = list(snapshot["counts"])


class Inner(Stateful):
    def __init__(self, n: int) -> None:
        self.masks = self.declare("masks", [np.zeros(n, bool), np.zeros(n + 1, bool)])
        self.volumes = self.declare("volumes", np.zeros(1), resizable=True)
        self.totals = self.declare("totals", {"in": 0.0, "out": 0.0})


class Everything(Stateful):
    """One part of every kind."""

    settings = ("wind",)

    def __init__(self, grid: ms.Grid, seed: int = 3, vortices: ms.Particles | None = None) -> None:
        self.grid = grid
        self.velocity = self.declare("velocity", ms.MacField(grid))
        self.heat = self.declare("heat", ms.CellField(ms.Grid((4, 3, 2), 0.1), np.float32))
        self.dust = self.declare("dust", ms.Particles(np.zeros((3, 2)), age=np.zeros(3)))
        self.vortices = self.declare("vortices", vortices)
        self.random = self.declare("random", np.random.default_rng(seed))
        self.array = self.declare("array", np.zeros((2, 3)))
        self.inner = self.declare("inner", Inner(4))
        self.tally = self.declare("tally", Tally())
        self.time = self.declare("time", 0.0)
        self.name = self.declare("name", "start")
        self.last = self.declare("last", None)
        self.scratch = ms.CellField(grid)
        self.wind = 1.0
        self.derived = 0

    def _state_replaced(self) -> None:
        self.derived = 0

    def change(self, factor: float = 1.0) -> None:
        """Change every part."""
        self.velocity.u[...] += factor * self.random.random(self.velocity.u.shape)
        self.heat.array[...] += np.float32(factor)
        self.dust.append(self.random.random((2, 2)), age=np.ones(2))
        self.dust.remove(self.dust["age"] == 0.0)
        self.array += factor
        self.inner.masks[0][:2] = True
        self.inner.masks = [~m for m in self.inner.masks]
        self.inner.volumes = np.arange(len(self.inner.volumes) + 2.0)
        self.inner.totals["in"] += factor
        self.tally.counts.append(len(self.dust))
        self.time += factor
        self.name = f"after {self.time}"
        self.last = self.time
        if self.vortices is not None:
            self.vortices.append(self.random.random((1, 2)))
        self.derived += 1


def made(**more: Any) -> Everything:
    return Everything(ms.Grid((6, 5), 0.1), **more)


def flat(value: Any) -> list[Any]:
    """All arrays and numbers of a nested snapshot."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in flat(item)]
    return [value]


def same(a: Any, b: Any) -> bool:
    x, y = flat(a), flat(b)
    return len(x) == len(y) and all(same_bits(p, q) if isinstance(p, np.ndarray) else p == q for p, q in zip(x, y, strict=True))


def break_off(
    thing: Stateful, change: Callable[[], None], error: type[BaseException] = RuntimeError, parts: list[str] | None = None
) -> None:
    """Change a thing in a transaction that does not come to its end."""
    with thing.transaction(parts):
        change()
        raise error


def test_snapshots_bring_every_part_back() -> None:
    thing = made()
    thing.change()
    saved, heat = thing.snapshot(), thing.heat.array
    kept = copy.deepcopy(saved)
    thing.change()
    following = thing.snapshot()
    assert not same(following, saved)
    thing.restore(saved)
    assert same(thing.snapshot(), kept)
    assert thing.heat.array is not None
    assert np.shares_memory(thing.heat.array, heat)
    assert thing.derived == 0
    thing.change()
    assert same(thing.snapshot(), following)
    assert same(saved, kept)


@pytest.mark.parametrize("way", ["copy", "copy.copy", "copy.deepcopy", "pickle", "assign"])
def test_copies_go_on_alone(way: str) -> None:
    thing = made(seed=8, vortices=ms.Particles(np.zeros((2, 2))))
    thing.wind = 7.0
    for _ in range(2):
        thing.change()
    if way == "assign":
        other = made(vortices=ms.Particles(np.zeros((0, 2))))
        other.change()
        other.assign(thing)
        other.wind = 7.0
    else:
        other = {"copy": Everything.copy, "copy.copy": copy.copy, "copy.deepcopy": copy.deepcopy}.get(
            way, lambda t: pickle.loads(pickle.dumps(t))
        )(thing)
    assert other.wind == 7.0
    assert same(other.snapshot(), thing.snapshot())
    before = thing.snapshot()
    other.change()
    assert same(thing.snapshot(), before)
    thing.change()
    assert same(other.snapshot(), thing.snapshot())
    assert not np.shares_memory(other.heat.array, thing.heat.array)
    assert other.vortices is not thing.vortices
    assert other.tally is not thing.tally


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_a_transaction_happens_wholly_or_not_at_all(error: type[BaseException]) -> None:
    thing = made(vortices=ms.Particles(np.zeros((2, 2))))
    thing.change()
    masks, volumes, view = thing.inner.masks, thing.inner.volumes, thing.array
    before = thing.snapshot()

    def change() -> None:
        thing.change()
        thing.vortices = None

    with pytest.raises(error):
        break_off(thing, change, error)
    assert same(thing.snapshot(), before)
    assert thing.inner.masks is masks
    assert thing.inner.volumes is volumes
    assert thing.array is view
    assert thing.derived == 0
    with thing.transaction():
        thing.change()
    other = made(vortices=ms.Particles(np.zeros((2, 2))))
    for _ in range(2):
        other.change()
    assert same(thing.snapshot(), other.snapshot())


def test_only_what_a_stage_changes_is_kept() -> None:
    thing = made()
    size = thing.nbytes
    with thing.transaction(["heat"]):
        pass
    assert 0 < thing.nbytes - size <= 2 * thing.heat.nbytes

    def change() -> None:
        thing.heat.array[...] = 3.0
        thing.velocity.u[...] = 5.0

    with pytest.raises(RuntimeError):
        break_off(thing, change, parts=["heat"])
    assert thing.heat.array.max() == 0.0
    assert thing.velocity.u.min() == 5.0


def test_a_repeated_transaction_takes_no_memory() -> None:
    thing = made()
    for _ in range(2):
        with thing.transaction():
            pass
    blocks, size = ms.core.block_allocations(), thing.nbytes
    for _ in range(3):
        with thing.transaction():
            thing.heat.array[...] += np.float32(1.0)
        with pytest.raises(RuntimeError):
            break_off(thing, lambda: thing.heat.array.fill(0.0))
    assert ms.core.block_allocations() == blocks
    assert thing.nbytes == size
    assert thing.heat.array.min() == 3.0


def test_memory_is_counted_once() -> None:
    thing = made()
    parts = [thing.velocity, thing.heat, thing.dust, thing.scratch]
    assert thing.nbytes == sum(p.nbytes for p in parts) + thing.array.nbytes + thing.inner.nbytes
    thing.again = thing.heat
    assert thing.nbytes == sum(p.nbytes for p in parts) + thing.array.nbytes + thing.inner.nbytes
    assert thing.inner.nbytes == 9 + 8


def test_a_wrong_snapshot_changes_nothing() -> None:
    thing = made()
    thing.change()
    good, before = thing.snapshot(), thing.snapshot()
    bad: list[Any] = [
        {},
        None,
        {**good, "more": 1},
        {**good, "array": np.zeros((3, 3))},
        {**good, "array": np.zeros((2, 3), np.float32)},
        {**good, "velocity": good["heat"]},
        {**good, "inner": {**good["inner"], "masks": [np.zeros(4, bool)]}},
        {**good, "inner": {**good["inner"], "totals": {"in": 0.0}}},
        {**good, "time": object()},
    ]
    for snapshot in bad:
        with pytest.raises((ValueError, TypeError), match="snapshot"):
            thing.restore(snapshot)
        assert same(thing.snapshot(), before)


def test_errors_name_the_part_that_does_not_fit() -> None:
    thing = made()
    good = thing.snapshot()
    bad: list[tuple[str, Any, str]] = [
        ("velocity", (np.zeros((2, 2)),), "velocity cannot be restored from the snapshot: snapshot must be a tuple of 2 arrays"),
        ("heat", (good["heat"][0].astype(float),), r"heat cannot be restored from the snapshot: array 0 in the snapshot must be float32 "),
        ("dust", {"age": np.zeros(3)}, "dust cannot be restored from the snapshot: snapshot must have the columns"),
        ("dust", {**good["dust"], "next id": "3"}, "dust cannot be restored from the snapshot: next id in the snapshot must be an integer"),
        ("dust", {**good["dust"], "id": 3}, "dust cannot be restored from the snapshot: "),
        ("random", {}, "random cannot be restored from the snapshot: "),
        ("random", 5, "random cannot be restored from the snapshot: "),
        ("array", [[1.0], [2.0, 3.0]], "array cannot be restored from the snapshot: "),
        (
            "inner",
            {**good["inner"], "masks": [np.zeros(4, bool), 3]},
            r"inner .*: masks\[1\] in the snapshot must be bool \(5,\)",
        ),
        (
            "inner",
            {**good["inner"], "totals": {"in": "x", "out": 0.0}},
            r"inner .*: totals\['in'\] in the snapshot must be a num",
        ),
        ("tally", {}, "tally cannot be restored from the snapshot: 'counts'"),
        ("time", "1.0", "time in the snapshot must be a number, not '1.0'"),
        ("time", True, "time in the snapshot must be a number, not True"),
        ("time", None, "time in the snapshot must be a number, not None"),
        ("time", np.zeros(1), "time in the snapshot must be a number"),
        ("name", 3.0, "name in the snapshot must be a string, not 3.0"),
        ("last", object(), "last in the snapshot must be a plain value, not a object"),
    ]
    for part, value, message in bad:
        with pytest.raises((TypeError, ValueError), match=message):
            thing.restore({**good, part: value})
        assert same(thing.snapshot(), good)


class Declared(Stateful):
    """Parts whose declarations allow more than their present values, or less."""

    def __init__(self) -> None:
        self.rows = self.declare("rows", np.zeros((2, 3)), resizable=True)
        self.masses = self.declare("masses", np.ones(2), resizable=True, infinite=True, rows_of="rows")
        self.box = self.declare("box", np.zeros((1, 1)), resizable=2)
        self.limit = self.declare("limit", 1.0, infinite=True)
        self.count = self.declare("count", 2)


def test_declarations_say_what_a_snapshot_may_hold() -> None:
    thing = Declared()
    good = thing.snapshot()
    more = {"rows": np.ones((3, 3)), "masses": np.array([1.0, np.inf, 2.0]), "box": np.ones((4, 5)), "limit": np.inf, "count": np.int64(7)}
    thing.restore(more)
    assert same(thing.snapshot(), more)
    thing.restore(good)
    for part, value, message in (
        ("rows", np.zeros((3, 3)), "masses in the snapshot must have as many rows as rows, 3, not 2"),
        ("rows", np.zeros((2, 4)), r"rows in the snapshot must be float64 \(2, 3\), not float64 \(2, 4\)"),
        ("rows", np.full((2, 3), np.inf), r"rows in the snapshot must be finite, but \[0, 0\] is inf"),
        ("masses", np.array([1.0, np.nan]), r"masses in the snapshot must be numbers, but \[1\] is nan"),
        ("box", np.zeros(4), r"box in the snapshot must be float64 \(1, 1\), not float64 \(4,\)"),
        ("limit", np.nan, "limit in the snapshot must be a number, not nan"),
        ("count", 2.5, "count in the snapshot must be an integer, not 2.5"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            thing.restore({**good, part: value})
        assert same(thing.snapshot(), good)


def test_numbers_keep_their_type_and_what_was_declared_none_may_be_anything_plain() -> None:
    thing = made()
    thing.restore({**thing.snapshot(), "time": 2, "last": "a word"})
    assert type(thing.time) is float
    assert (thing.time, thing.last) == (2.0, "a word")
    thing.restore({**thing.snapshot(), "last": None})
    assert thing.last is None


def test_what_cannot_be_brought_back_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"state 'thing' of Everything is a object; it must have snapshot\(\) and restore\(\)"):
        made().declare("thing", object())
    with pytest.raises(TypeError, match="state 'things' of Everything is a set"):
        made().declare("things", [1.0, {2}])
    with pytest.raises(TypeError, match="only a Inner with the same state can be assigned"):
        Inner(3).assign(made())  # type: ignore[arg-type]


def test_one_line_says_what_the_state_is() -> None:
    assert repr(Inner(3)).startswith("<Inner of masks, volumes, totals, ")
    assert "\n" not in repr(made())

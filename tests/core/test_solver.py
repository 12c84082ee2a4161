"""Steps of solvers: order of the stages, hooks, transactions, reports, and advance by a duration."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.core import PlainReport, Solver, stage


@dataclass
class HeatReport:
    dt: float = 0.0
    lost: float = 0.0


class Heat(Solver[HeatReport]):
    """A rod that conducts and cools; `count` is of no stage."""

    stages = ("conduct", "cool")
    report_type = HeatReport

    def __init__(self, longest: float = math.inf) -> None:
        self.longest = longest
        self.heat = self.declare("heat", np.linspace(0.0, 1.0, 9))
        self.sink = self.declare("sink", np.zeros(1))
        self.count = self.declare("count", np.zeros(1))
        self.time = self.declare("time", 0.0)

    def max_dt(self) -> float:
        return self.longest

    @stage(reads=("heat",), writes=("heat",), positive=True)
    def conduct(self, dt: float) -> None:
        self.heat[1:-1] += 0.1 * dt * np.diff(self.heat, 2)

    @stage(reads=("heat", "sink"), writes=("heat", "sink"))
    def cool(self, dt: float) -> None:
        given = dt * self.heat[-1]
        self.heat[-1] -= given
        self.sink += given
        self.running_report.lost = given

    def _complete(self, report: HeatReport) -> None:
        if not np.isfinite(self.heat).all():
            raise ValueError("the heat must be finite after a step")


class Pair(Solver[PlainReport]):
    """Two rods in one step."""

    stages = ("both",)
    step_writes = ("time", "first", "second")

    def __init__(self) -> None:
        self.first, self.second = self.declare("first", Heat()), self.declare("second", Heat())
        self.time = self.declare("time", 0.0)

    def begin(self, dt: float) -> None:
        super().begin(dt)
        for rod in self._members():
            rod.begin(dt)

    @stage(writes=("first", "second"))
    def both(self, dt: float) -> None:
        for rod in self._members():
            rod.conduct(dt)
            rod.cool(dt)

    def _members(self) -> tuple[Heat, Heat]:
        return self.first, self.second

    def _complete(self, report: PlainReport) -> None:
        for rod in self._members():
            rod.end()


def state(solver: Solver[Any]) -> list[Any]:
    return [np.array(value) if isinstance(value, np.ndarray) else value for value in solver.snapshot().values()]


def same(a: list[Any], b: list[Any]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_step_is_its_stages_in_their_order() -> None:
    stepped, by_hand = Heat(), Heat()
    seen: list[str] = []
    report = stepped.step(0.5, lambda name, s: seen.append(name))
    by_hand.begin(0.5)
    by_hand.conduct(0.5)
    by_hand.cool(0.5)
    by_hand.end()
    assert seen == ["conduct", "cool"] == list(stepped.stage_seconds)
    assert same(state(stepped), state(by_hand))
    assert stepped.time == 0.5
    assert report is stepped.report
    assert (report.dt, report.lost) == (0.5, 0.5) == (by_hand.report.dt, by_hand.report.lost)
    assert stepped.running_report == HeatReport()
    assert min(stepped.stage_seconds.values()) > 0


def test_another_order_and_fewer_stages_may_be_set() -> None:
    turned, plain = Heat(), Heat()
    turned.stages = ("cool", "conduct")
    turned.step(0.5)
    plain.step(0.5)
    assert not np.array_equal(turned.heat, plain.heat)
    turned.stages = ("cool",)
    assert [s.name for s in turned.stage_table] == ["cool"]
    before = turned.heat.copy()
    turned.step(0.5)
    assert np.array_equal(turned.heat[:-1], before[:-1])


@pytest.mark.parametrize("fails", ["hook", "stage", "end"])
def test_a_failed_step_changes_nothing(fails: str) -> None:
    rod = Heat()
    rod.step(0.5)
    before, report = state(rod), rod.report

    def fail(name: str, s: Heat) -> None:
        s.count += 1.0
        raise KeyboardInterrupt

    def burn(dt: float) -> None:
        rod.count += 1.0
        rod.heat[...] = np.nan if fails == "end" else 7.0
        if fails == "stage":
            raise KeyboardInterrupt

    if fails != "hook":
        rod.cool = burn  # type: ignore[method-assign]
    with pytest.raises(ValueError if fails == "end" else KeyboardInterrupt):
        rod.step(0.5, fail if fails == "hook" else None)
    assert same(state(rod), before)
    assert rod.report is report
    assert rod.running_report == HeatReport()


def test_a_step_keeps_copies_of_what_its_stages_write_alone() -> None:
    rod = Heat()
    rod.step(0.1)
    assert set(rod._backups) == {"heat", "sink", "time"}
    rod.step(0.1, lambda *_: None)
    assert set(rod._backups) == {"heat", "sink", "count", "time"}


def test_a_stage_in_place_of_another_may_change_anything() -> None:
    class Counting(Heat):
        def cool(self, dt: float) -> None:
            self.count += 1.0
            raise RuntimeError("too cold")

    rod = Counting()
    assert [s.writes for s in rod.stage_table] == [("heat",), None]
    before = state(rod)
    with pytest.raises(RuntimeError, match="too cold"):
        rod.step(0.1)
    assert same(state(rod), before)


def test_lengths_of_steps_and_stages_are_checked_before_anything_changes() -> None:
    rod = Heat()
    before = state(rod)
    for call, error in (
        (lambda: rod.step(0.0), "dt must be positive"),
        (lambda: rod.step(math.inf), "dt must be finite"),
        (lambda: rod.conduct(0.0), "dt must be positive"),
        (lambda: rod.cool(-1.0), "dt must not be negative, not -1"),
        (lambda: rod.step(0.1, on_stage=3), "on_stage must be a function"),
        (lambda: rod.advance(-1.0), "duration must be positive"),
        (lambda: rod.advance(1.0, on_step=3), "on_step must be a function"),
    ):
        with pytest.raises((TypeError, ValueError), match=error):
            call()
    assert same(state(rod), before)
    rod.cool(0.0)
    with pytest.raises(TypeError, match="fast"):
        rod.step(0.1, fast=True)


@pytest.mark.parametrize(("longest", "steps"), [(math.inf, 1), (1.0, 1), (0.4, 3), (1 / 3, 3), (0.1, 10)])
def test_advance_takes_equal_steps_that_end_there(longest: float, steps: int) -> None:
    rod = Heat(longest)
    ends: list[float] = []
    reports = rod.advance(1.0, lambda s: ends.append(s.time))
    assert len(reports) == len(ends) == steps
    assert rod.time == pytest.approx(1.0, rel=1e-15)
    assert max(r.dt for r in reports) <= longest * (1 + 1e-9)
    assert min(r.dt for r in reports) == pytest.approx(max(r.dt for r in reports), rel=1e-12)


def test_advance_follows_the_limit_and_keeps_completed_steps() -> None:
    rod = Heat()

    def limit(s: Heat) -> None:
        s.longest = 0.05 if s.time >= 0.5 else 0.25

    limit(rod)
    assert [round(r.dt, 12) for r in rod.advance(1.0, limit)] == [0.25] * 2 + [0.05] * 10

    def stop(s: Heat) -> None:
        if s.time > 1.52:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rod.advance(1.0, stop)
    assert rod.time == pytest.approx(1.55)
    rod.longest = 1e-12
    with pytest.raises(ValueError, match="steps of 1e-12 s are too short to advance by 1 s"):
        rod.advance(1.0)


def test_frames_end_on_the_clock() -> None:
    rod = Heat(0.03)
    times = [rod.time for _ in rod.frames(6, per_second=10)]
    assert times == pytest.approx([0.1 * k for k in range(1, 7)], rel=1e-15)


@pytest.mark.parametrize("fails", [False, True])
def test_members_take_part_in_the_step(fails: bool) -> None:
    pair, alone = Pair(), Heat()
    before = state(pair.first)

    def again(name: str, s: Pair) -> None:
        with pytest.raises(ms.core.BusyError, match="a step of this Heat is going on"):
            s.second.step(0.1)
        if fails:
            raise KeyboardInterrupt

    if fails:
        with pytest.raises(KeyboardInterrupt):
            pair.step(0.5, again)
        assert same(state(pair.first), before)
        assert same(state(pair.second), before)
        assert pair.time == pair.first.time == 0.0
    else:
        pair.step(0.5, again)
        alone.step(0.5)
        assert same(state(pair.first), state(alone))
        assert pair.time == pair.first.time == 0.5
    assert pair.first.running_report == HeatReport()
    pair.second.step(0.1)


@pytest.mark.parametrize("way", [lambda s: s.copy(), lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_go_on_alike(way: Callable[[Any], Any]) -> None:
    rod = Heat(0.4)
    rod.advance(1.0)
    other = way(rod)
    assert other.report is None
    for s in (rod, other):
        s.advance(1.0)
    assert same(state(rod), state(other))


SOLVERS: dict[str, Callable[[], Any]] = {
    "smoke": lambda: ms.fluids.SmokeSolver(
        ms.Grid((12, 12), 1 / 12),
        ms.fluids.SmokeOptions(
            density_weight=-1.0, temperature_weight=0.1, viscosity=1e-3, vorticity=ms.fluids.VorticityOptions(confinement=0.1)
        ),
    ),
    "water": lambda: ms.fluids.LiquidSolver(ms.Grid((12, 12), 1 / 12), ms.fluids.LiquidOptions(viscosity=1e-3)),
    "particles": lambda: ms.fluids.ParticleLiquidSolver(ms.Grid((12, 12), 1 / 12)),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_what_a_stage_does_not_read_does_not_matter(name: str, rng: np.random.Generator) -> None:
    solver = SOLVERS[name]()
    if name == "smoke":
        solver.density.array[4:8, 2:6] = 1.0
        solver.temperature.array[4:8, 2:6] = 30.0
    else:
        solver.fill(ms.surface.Box((0.0, 0.0), (0.5, 0.6)))
    solver.step(0.02)
    for declared in solver.stage_table:
        assert declared.reads is not None
        assert declared.writes is not None
        assert {*declared.reads, *declared.writes} <= set(solver.state)
        changed = solver.copy()
        for part in (p for p in solver.state if p not in declared.reads):
            field = getattr(changed, part)
            if isinstance(field, ms.CellField):
                field.array = rng.random(field.shape).astype(field.dtype)
            elif isinstance(field, ms.MacField):
                field.u, field.v = (rng.random(a.shape).astype(field.dtype) for a in (field.u, field.v))
        plain = solver.copy()
        for s in (plain, changed):
            getattr(s, declared.name)(0.02)
        for part in declared.writes:
            a, b = (ms.core.state.snapshot_of(getattr(s, part)) for s in (plain, changed))
            assert pickle.dumps(a) == pickle.dumps(b), (declared.name, part)
        getattr(solver, declared.name)(0.02)

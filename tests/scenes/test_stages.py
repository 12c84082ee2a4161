"""Timing of the stages of a step, and hooks between them."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np
import pytest

from meniscus import scenes

DUST = str(Path(__file__).with_name("dust.py"))


def test_hook_is_called_after_each_stage_in_order_and_sees_the_scene():
    scene = scenes.Swirl(resolution=16, frames=2)
    seen = []
    last = scenes.run(scene, on_stage=lambda name, s: seen.append((name, s)))
    assert [name for name, _ in seen[:4]] == ["flow", "transport", "flow", "transport"]
    assert all(s is scene for _, s in seen)
    steps = []
    scenes.run(scenes.Swirl(resolution=16, frames=2), on_step=steps.append)
    assert len(seen) == 2 * len(steps)
    assert last.number == 2


def test_hook_may_change_the_state_between_stages():
    def still(name, scene):
        if name == "flow":
            for d in range(2):
                scene.velocity.component(d)[...] = 0.0

    assert scenes.run("swirl", resolution=16, frames=1, period=1.0, on_stage=still).diagnostics["distance"] == 0.0
    assert scenes.run("swirl", resolution=16, frames=1, period=1.0).diagnostics["distance"] > 0.01


def test_seconds_per_stage_are_in_the_diagnostics_without_the_hook(tmp_path):
    last = scenes.run("swirl", resolution=16, frames=1, period=0.5, out=tmp_path, pictures=False, on_stage=lambda *_: time.sleep(0.02))
    with (tmp_path / "diagnostics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["seconds flow"]) == 0.0
    for row in rows[1:]:
        stages = float(row["seconds flow"]), float(row["seconds transport"])
        assert min(stages) > 0
        # The hook sleeps within the step but belongs to no stage.
        assert sum(stages) < float(row["seconds"]) - 0.03
    assert last.total == 1


def test_stages_work_outside_of_a_run_and_unknown_ones_are_refused():
    scene = scenes.find(DUST)()
    scene.setup()
    scene.advance(0.0, 0.1)
    with pytest.raises(ValueError, match="scene Dust has no stage 'melt'; its stages are stir, carry, blow"):
        scene.stage("melt")
    assert scene.stage("stir") is scene.stage("carry"), "without a run a stage costs nothing"


def test_steps_tell_time_and_cells():
    steps = []
    scenes.run(scenes.find(DUST)(frames=2), on_step=steps.append)
    assert [s.number for s in steps] == list(range(1, 11))
    assert [s.frame for s in steps] == [0, 0, 0, 0, 1, 1, 1, 1, 1, 2]
    assert all(s.cells == 12 * 12 * 14 for s in steps)
    assert steps[-1].time == steps[-1].end == 1.0
    np.testing.assert_allclose(sum(s.dt for s in steps), 1.0)


def test_diagnostics_that_change_their_names_are_refused(tmp_path):
    class Moody(scenes.Swirl):
        def report(self, t):
            return {"a": 1.0} if t < 0.1 else {"b": 1.0}

    with pytest.raises(ValueError, match="the same names at every step, but a, b came or went"):
        scenes.run(Moody(resolution=8, frames=1), tmp_path, pictures=False)


def test_stages_of_a_solver_are_counted_by_its_hook(tmp_path):
    class Solved(scenes.Swirl):
        def advance(self, t, dt):
            time.sleep(0.002)
            self.after_stage("flow", self)
            time.sleep(0.01)
            self.after_stage("transport", self)

    seen = []
    scenes.run(Solved(resolution=8, frames=1, period=0.5), tmp_path, pictures=False, on_stage=lambda name, _: seen.append(name))
    with (tmp_path / "diagnostics.csv").open() as file:
        rows = list(csv.DictReader(file))[1:]
    assert seen == ["flow", "transport"] * len(rows)
    for row in rows:
        flow, transport = float(row["seconds flow"]), float(row["seconds transport"])
        assert flow >= 0.002
        assert transport >= 0.01
        assert flow + transport <= float(row["seconds"])

"""One step at a time: a second one of the same object is refused, and the first goes on as if nothing had been."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import meniscus as ms


def smoke() -> ms.fluids.SmokeSolver:
    solver = ms.fluids.SmokeSolver(ms.Grid((24, 24), 1 / 24), ms.fluids.SmokeOptions(density_weight=-1.0))
    solver.density.array[8:12, 4:8] = 1.0
    return solver


def test_of_two_threads_one_steps() -> None:
    solver, alone = smoke(), smoke()
    inside, go_on = threading.Event(), threading.Event()

    def wait(stage: str, s: ms.fluids.SmokeSolver) -> None:
        inside.set()
        assert go_on.wait(60)

    thread = threading.Thread(target=solver.step, args=(0.02, wait))
    thread.start()
    assert inside.wait(60)
    with pytest.raises(ms.core.BusyError, match="give each thread a copy"):
        solver.step(0.5)
    go_on.set()
    thread.join()
    alone.step(0.02)
    assert np.array_equal(solver.density.array, alone.density.array)
    assert all(np.array_equal(a, b) for a, b in zip(solver.velocity.snapshot(), alone.velocity.snapshot(), strict=True))


def test_a_failed_step_leaves_the_object_free() -> None:
    solver = smoke()

    def fail(stage: str, s: ms.fluids.SmokeSolver) -> None:
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            solver.step(0.02, on_stage=fail)
    solver.step(0.02)


def test_stages_fills_and_snapshots_of_another_thread_are_refused_within_a_step() -> None:
    """Whatever changes or copies the state waits for nobody: it is refused while another thread is in a step, and allowed in a hook."""
    grid = ms.Grid((24, 24), 1 / 24)
    liquid = ms.fluids.LiquidSolver(grid)
    liquid.fill(ms.surface.Box((0.0, 0.0), (0.5, 0.5)))
    body = ms.solids.DeformableBody(ms.mesh.tet_block(2, 2, 2), gravity=(0.0, -9.81, 0.0))
    load = ms.solids.PointLoads([0], np.array([[1.0, 0.0, 0.0]]))
    snapshots = []
    inside, go_on = threading.Event(), threading.Event()

    def wait(stage: str, s: ms.fluids.LiquidSolver) -> None:
        snapshots.append(s.snapshot())
        inside.set()
        assert go_on.wait(60)

    before = liquid.snapshot()
    thread = threading.Thread(target=liquid.step, args=(0.002, wait))
    thread.start()
    assert inside.wait(60)
    for call in (
        lambda: liquid.fill(ms.surface.Box((0.6, 0.6), (0.7, 0.7))),
        lambda: liquid.transport(0.001),
        lambda: liquid.project(0.001),
        liquid.snapshot,
        liquid.copy,
        lambda: liquid.restore(before),
        lambda: ms.fluids.LiquidSolver(grid).assign(liquid),
    ):
        with pytest.raises(ms.core.BusyError, match="give each thread a copy"):
            call()
    go_on.set()
    thread.join()
    assert len(snapshots) == len(liquid.stages)
    liquid.restore(before)

    with body.exclusive():
        refused = []

        def use() -> None:
            for call in (lambda: body.add(load), lambda: body.step(0.01), body.limits, body.forces_at_nodes, body.snapshot):
                try:
                    call()
                except ms.core.BusyError as error:
                    refused.append(str(error))

        other = threading.Thread(target=use)
        other.start()
        other.join()
        assert len(refused) == 5
    body.add(load)
    body.step(0.001)

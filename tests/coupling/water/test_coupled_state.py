"""State of water that is shared: threads, snapshots, copies, interrupted steps, bad input."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
from support.same_bits import everywhere
from support.tet_vof.coupled import air, ball, run

import meniscus as ms
from meniscus.coupling import KDSM, DropSource, KDSMWater, KDSMWaterOptions
from meniscus.fluids import LiquidOptions, LiquidSolver, LiquidSource, WallAdhesion
from meniscus.mesh import MovingTetMesh, icosphere
from meniscus.surface import Pose, Sphere

STREAM = [LiquidSource(Sphere((1.0, 1.0, 1.38), 0.1), velocity=(0.0, 0.0, -1.5))]


def turning(time: float) -> Pose:
    return Pose((0.1 * time, 0.0, -0.5 * time))


def simulation(**changes: Any) -> KDSMWater:
    return ball(12, pose=turning, level=0.85, sources=STREAM, **changes)


def bits(sim: KDSMWater) -> list[np.ndarray]:
    v, liquid = sim.vof, sim.liquid
    spray, ledger = liquid.particles.spray, sim.ledger()  # type: ignore[union-attr]
    order = np.argsort(spray.ids)
    return [
        v.volume.copy(),
        v.velocity.copy(),
        v.rank.copy(),
        sim.owner.copy(),
        liquid.levelset.array.copy(),
        *(liquid.velocity.component(d).copy() for d in range(3)),
        spray.positions[order],
        spray["radius"][order],
        np.array([sim.time, ledger.tets, ledger.drops, ledger.expected, ledger.injected]),
        *(np.concatenate([[t[0]], t[1], t[2]]) for t in ledger.transfers.values()),
    ]


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


VARIANTS: dict[str, dict[str, Any]] = {
    "owned": {"vof_to_grid": 0.3, "adhesion": 2.0},
    "literal": {"exchange": "literal", "vof_to_grid": 0.3},
}


@pytest.mark.fast_cases("owned")
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_same_bits_on_any_number_of_threads(changes: dict[str, Any], default_parallelism: None) -> None:
    def go() -> list[np.ndarray]:
        sim = simulation(**changes)
        for _ in range(5):
            sim.step(0.02)
        return bits(sim)

    everywhere(go)


@pytest.mark.fast_cases("literal")
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_snapshots_copies_and_pickles_go_on_alike(changes: dict[str, Any]) -> None:
    sim = simulation(**changes)
    for _ in range(4):
        sim.step(0.02)
    snapshot = sim.snapshot()
    fresh = simulation(**changes)
    fresh.restore(snapshot)
    assigned = simulation(**changes)
    assigned.step(0.03)
    assigned.assign(sim)
    others = [fresh, assigned, sim.copy(), copy.deepcopy(sim)]
    for _ in range(3):
        sim.step(0.02)
    want = bits(sim)
    for other in others:
        assert other.vof is not sim.vof
        for _ in range(3):
            other.step(0.02)
        assert same(bits(other), want)
    sim.restore(snapshot)
    for _ in range(3):
        sim.step(0.02)
    assert same(bits(sim), want)


REST = icosphere(2, 0.3)


def up(time: float) -> np.ndarray:
    return REST.vertices + 1.0 + 0.1 * time


@pytest.fixture(scope="module")
def risen() -> KDSM:
    return KDSM.build(REST, up, np.linspace(0, 1, 3), cell_size=0.16, layers=2)


def test_a_pickle_goes_on_alike(risen: KDSM) -> None:
    liquid = LiquidSolver(ms.Grid((12,) * 3, 1 / 6), LiquidOptions(expansion=True), solid=risen.solid)
    sim = KDSMWater(risen, liquid)
    sim.vof.fill(Sphere((1.0, 1.0, 1.4), 0.2))
    sim.step(0.02)
    other = pickle.loads(pickle.dumps(sim))
    for s in (sim, other):
        s.step(0.02)
    assert same(bits(sim), bits(other))


@pytest.fixture(scope="module")
def untroubled() -> tuple[KDSMWater, Any, list[np.ndarray]]:
    """A simulation, its state on the way, and the bits of the step that follows."""
    sim = simulation()
    run(sim, 0.08)
    snapshot = sim.snapshot()
    sim.step(0.02)
    return sim, snapshot, bits(sim)


@pytest.mark.fast_cases("RuntimeError-*", "KeyboardInterrupt-move", "KeyboardInterrupt-fly", "KeyboardInterrupt-project")
@pytest.mark.parametrize("stage", KDSMWater.stages)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_last_whole_step(
    stage: str, error: type[BaseException], untroubled: tuple[KDSMWater, Any, list[np.ndarray]]
) -> None:
    sim, snapshot, after = untroubled
    sim.restore(snapshot)
    before, report = bits(sim), sim.report

    def fail(name: str, _: Any) -> None:
        if name == stage:
            raise error("stop")

    with pytest.raises(error):
        sim.step(0.02, on_stage=fail)
    assert same(bits(sim), before)
    assert sim.report is report
    sim.step(0.02)
    assert same(bits(sim), after)


def test_a_step_within_a_step_is_refused_and_changes_nothing() -> None:
    sim, twin = simulation(), simulation()

    def again(name: str, _: Any) -> None:
        for part in (sim, sim.vof, sim.liquid):
            with pytest.raises(ms.core.BusyError):
                part.step(0.01)

    sim.step(0.02, on_stage=again)
    twin.step(0.02)
    assert sim.time == sim.vof.time == sim.liquid.time == 0.02
    assert same(bits(sim), bits(twin))


def test_stages_can_be_called_one_by_one() -> None:
    sim, twin = simulation(), simulation()
    names = []
    twin.step(0.02, on_stage=lambda name, s: names.append(name))
    assert tuple(names) == KDSMWater.stages
    sim.begin(0.02)
    for name in sim.stages:
        getattr(sim, name)(0.02)
    sim.end()
    assert same(bits(sim), bits(twin))


def test_parameters_may_change_with_time() -> None:
    asked: list[float] = []

    def half(time: float) -> float:
        asked.append(time)
        return 0.5

    sim = simulation(
        vof_to_grid=half, adhesion=lambda t: WallAdhesion(strength=3.0 + t), jitter=lambda t: 0.2 + t, drop_radius=lambda t: (0.01, 0.03)
    )
    run(sim, 0.06)
    assert max(asked) > 0.03
    assert sim.vof.adhesion is not None
    assert sim.vof.adhesion.strength == pytest.approx(3.0 + 0.04, abs=0.021)
    assert sim.vof.options.drop_radius == (0.01, 0.03)
    radius = sim.liquid.particles.spray["radius"]  # type: ignore[union-attr]
    assert ((radius > 0.0099) & (radius < 0.0301)).all()
    assert 0.2 < sim.vof.options.jitter < 0.3


def test_frames_end_at_their_times() -> None:
    sim = simulation()
    assert [(f, round(sim.time * 24, 9)) for f in sim.frames(3, per_second=24)] == [(1, 1), (2, 2), (3, 3)]


def test_parts_that_were_stepped_apart_are_refused() -> None:
    for part in ("vof", "liquid"):
        sim = simulation()
        getattr(sim, part).step(0.01)
        with pytest.raises(ValueError, match="must be at one time"):
            sim.step(0.01)


def refused(message: str, make: Any, *arguments: Any, error: Any = ValueError, **named: Any) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        make(*arguments, **named)
    assert "\n" not in str(caught.value)


def test_bad_input_gets_one_sentence(risen: KDSM) -> None:
    mesh = air(12).vof.mesh

    def liquid(n: int = 12, h: float = 1 / 6, **options: Any) -> LiquidSolver:
        return LiquidSolver(ms.Grid((n,) * 3, h), LiquidOptions(**options))

    far = MovingTetMesh(mesh.rest, lambda t: mesh.rest.vertices + 9.0)
    refused("the mesh must lie in the grid", KDSMWater, far, liquid())
    refused("tetrahedra must not be larger than the cells", KDSMWater, mesh, liquid(48, 1 / 24))
    refused("the solid of liquid must be that of the mesh", KDSMWater, risen, liquid())
    other = LiquidSolver(ms.Grid((12,) * 3, 1 / 6), solid=Sphere((1.0, 1.0, 1.0), 0.3))
    refused("the solid of liquid must be that of the mesh", KDSMWater, risen, other)
    refused("liquid must be 3-D", KDSMWater, mesh, LiquidSolver(ms.Grid((12, 12), 1 / 6)))
    refused("liquid must be a LiquidSolver", KDSMWater, mesh, None, error=TypeError)
    refused("kdsm must be a MovingTetMesh", KDSMWater, REST, liquid(), error=TypeError)
    refused("drops need tracking='particle-level-set'", KDSMWater, mesh, liquid(tracking="level-set"))
    late = LiquidSolver(ms.Grid((12,) * 3, 1 / 6), solid=risen.solid)
    late.time = 1.5
    refused("liquid must be within the motion of the mesh", KDSMWater, risen, late)
    refused("exchange must be", KDSMWater, mesh, liquid(), exchange="borrowed")
    refused("TetVOF has no option 'smaples'", KDSMWater, mesh, liquid(), smaples="exact", error=TypeError)
    refused("gravity is that of liquid", KDSMWater, mesh, liquid(), gravity=(0.0, 0.0, 1.0), error=TypeError)
    refused("vof_to_grid must not be negative", KDSMWater, mesh, liquid(), vof_to_grid=-1.0)
    for name in ("resolved", "edges", "least"):
        refused(name, KDSMWaterOptions, **{name: -1.0})
    refused("rate must be positive", DropSource, region=Sphere((0.0, 0.0, 0.0), 1.0), rate=0.0, velocity=(0, 0, 0), radius=0.1)
    sim = KDSMWater(mesh, liquid())
    refused("dt must be positive", sim.step, 0.0)
    refused("dt must be finite", sim.step, np.nan)


def test_a_time_beyond_the_animation_is_refused_and_nothing_is_lost(risen: KDSM) -> None:
    liquid = LiquidSolver(ms.Grid((12,) * 3, 1 / 6), LiquidOptions(expansion=True), solid=risen.solid)
    sim = KDSMWater(risen, liquid)
    sim.vof.fill(Sphere((1.0, 1.0, 1.4), 0.2))
    sim.step(0.05)
    before = bits(sim)
    refused("t must lie in the motion", sim.step, 0.96)
    assert same(bits(sim), before)
    sim.step(0.05)

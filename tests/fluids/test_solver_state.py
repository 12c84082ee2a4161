"""Declared state of the fluid solvers: copies, pickles, snapshots, transactions and memory follow from it, for all three alike."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import (
    Emitter,
    LiquidOptions,
    LiquidParticles,
    LiquidSolver,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    SmokeOptions,
    SmokeSolver,
    TransportOptions,
    VortexParticles,
    VorticityOptions,
)
from meniscus.fluids.fluid_solver import FluidSolver
from meniscus.surface import Box, KinematicSolid, Sphere

DT = 0.02
N = 14


def path(time: float) -> tuple[float, float]:
    """Of a solid (a function of the module, so that it pickles)."""
    return (0.3 * time, 0.0)


def vortices() -> VortexParticles:
    rng = np.random.default_rng(2)
    return VortexParticles(rng.uniform(0.2, 0.5, (8, 2)), rng.normal(size=8), 0.2)


def solid() -> KinematicSolid:
    return KinematicSolid(Sphere((0.7, 0.6), 0.12), path)


def smoke(**more: Any) -> SmokeSolver:
    emitter = Emitter(region=Sphere((0.4, 0.2), 0.15), density=1.0, temperature=1.0, divergence=0.2, velocity=(0.2, 0.4))
    vorticity = VorticityOptions(confinement=0.1, vortex_strength=0.01)
    options = SmokeOptions(temperature_weight=2.0, viscosity=1e-3, vorticity=vorticity, **more)
    grid = ms.Grid((N, N), 1 / N)
    boundary = {"y+": ms.Open()}
    return SmokeSolver(grid, options, dtype=np.float64, boundary=boundary, solid=solid(), emitters=[emitter], vortices=vortices())


def liquid(tracking: Any = "particle-level-set") -> LiquidSolver:
    source = LiquidSource(region=Box((0.0, 0.5), (0.2, 0.7)), velocity=(0.5, 0.0))
    options = LiquidOptions(tracking=tracking, vortex_strength=0.01, drift_correction=True, viscosity=1e-3)
    solver = LiquidSolver(ms.Grid((N, N), 1 / N), options, solid=solid(), sources=[source], vortices=vortices())
    solver.fill(Box((-1.0, -1.0), (0.4, 0.6)))
    return solver


def particles(transfer: Any = "apic") -> ParticleLiquidSolver:
    source = LiquidSource(region=Box((0.0, 0.6), (0.2, 0.8)), velocity=(0.5, 0.0))
    options = ParticleLiquidOptions(transfer=transfer, particles=LiquidParticles(density_correction=True))
    solver = ParticleLiquidSolver(ms.Grid((N, N), 1 / N), options, boundary={"x+": ms.Open()}, solid=solid(), sources=[source])
    solver.fill(Box((-1.0, -1.0), (0.4, 0.6)))
    return solver


SOLVERS: dict[str, Callable[[], Any]] = {
    "smoke": smoke,
    "smoke along a map": lambda: smoke(splitting="trapezoid", transport=TransportOptions(method="flow-map")),
    "liquid": liquid,
    "liquid by level set": lambda: liquid("level-set"),
    "apic": particles,
    "flip": lambda: particles("flip"),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": lambda s: s.copy(),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
}


def leaves(value: Any) -> list[Any]:
    """All arrays and numbers of a nested snapshot."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in leaves(item)]
    return [value]


def same(a: Any, b: Any) -> bool:
    x, y = leaves(a), leaves(b)
    return len(x) == len(y) and all(np.asarray(p).tobytes() == np.asarray(q).tobytes() for p, q in zip(x, y, strict=True))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SOLVERS)
def test_copies_go_on_with_the_same_bits_and_alone(name: str, way: str) -> None:
    solver = SOLVERS[name]()
    if "gravity" in solver.settings:
        solver.gravity = np.array((0.1, -5.0))
    for _ in range(2):
        solver.step(DT)
    other = WAYS[way](solver)
    assert other.time == solver.time
    assert same(other.snapshot(), solver.snapshot())
    before = solver.snapshot()
    for _ in range(2):
        other.step(DT)
    assert same(solver.snapshot(), before)
    for _ in range(2):
        solver.step(DT)
    assert same(other.snapshot(), solver.snapshot())
    assert other.velocity is not solver.velocity


@pytest.mark.parametrize("name", SOLVERS)
def test_snapshots_of_one_solver_restore_another(name: str) -> None:
    solver, other = SOLVERS[name](), SOLVERS[name]()
    for _ in range(3):
        solver.step(DT)
    other.step(2 * DT)
    other.restore(solver.snapshot())
    for s in (solver, other):
        s.step(DT)
    assert same(other.snapshot(), solver.snapshot())
    before = solver.snapshot()
    with pytest.raises(ValueError, match=f"a snapshot of {type(solver).__name__} must hold velocity"):
        solver.restore({})
    wrong = {**solver.snapshot(), "time": solver.time + 1, "pressure": (np.zeros((2, 2)),)}
    with pytest.raises(ValueError, match="pressure cannot be restored from the snapshot: "):
        solver.restore(wrong)
    with pytest.raises(TypeError, match="time in the snapshot must be a number, not '1'"):
        solver.restore({**solver.snapshot(), "time": "1"})
    assert same(solver.snapshot(), before)


@pytest.mark.parametrize("make", [SmokeSolver, LiquidSolver, ParticleLiquidSolver])
def test_what_is_no_solid_is_refused_at_once(make: Any) -> None:
    grid, other = ms.Grid((N, N), 1 / N), ms.Grid((N, N), 2 / N)
    bad: list[tuple[Any, type[Exception], str]] = [
        (3, TypeError, "solid must be a Solid such as KinematicSolid, .* not int"),
        (ms.CellField(grid), TypeError, "solid must be a Solid such as KinematicSolid, .* not CellField"),
        (ms.NodeField(other), ValueError, "solid must have the grid of the velocity"),
    ]
    solver = make(grid, solid=solid())
    kept = solver.solid
    for value, error, message in bad:
        with pytest.raises(error, match=message):
            make(grid, solid=value)
        with pytest.raises(error, match=message):
            solver.solid = value
        assert solver.solid is kept
    solver.solid = at_rest = ms.NodeField(grid)
    assert solver.solid is at_rest


@pytest.mark.parametrize("name", SOLVERS)
def test_stages_change_what_is_declared_and_nothing_else(name: str) -> None:
    """So a step without a stage need not keep what only that stage changes."""
    solver = SOLVERS[name]()
    solver.step(DT)
    for stage in solver.stages:
        before = solver.snapshot()
        getattr(solver, stage)(DT)
        after = solver.snapshot()
        changed = {part for part in before if not same(before[part], after[part])}
        assert changed <= set(next(s.writes for s in solver.stage_table if s.name == stage)), stage
        assert "time" not in changed


@pytest.mark.parametrize("name", SOLVERS)
def test_a_failed_step_changes_nothing(name: str) -> None:
    solver, untouched = SOLVERS[name](), SOLVERS[name]()
    for s in (solver, untouched):
        s.step(DT)
    report = solver.report

    def fail(stage: str, _: Any) -> None:
        if stage == solver.stages[-1]:
            raise KeyboardInterrupt

    before = solver.snapshot()
    with pytest.raises(KeyboardInterrupt):
        solver.step(DT, on_stage=fail)
    assert same(solver.snapshot(), before)
    assert solver.report is report
    last = solver.stages[-1]
    setattr(solver, last, lambda dt: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        solver.step(DT)  # without a hook
    delattr(solver, last)
    assert same(solver.snapshot(), before)
    for s in (solver, untouched):
        s.step(DT)
    assert same(solver.snapshot(), untouched.snapshot())


@pytest.mark.parametrize("name", SOLVERS)
def test_memory_and_one_line_of_description(name: str) -> None:
    start = ms.core.block_bytes()
    solver = SOLVERS[name]()
    solver.step(DT)
    blocks = ms.core.block_bytes() - start
    assert 0.8 * blocks < solver.nbytes < 2.0 * blocks
    assert repr(solver).startswith(f"<{type(solver).__name__} 14x14 cells, t = 0.02 s, velocity, pressure, ")
    assert "\n" not in repr(solver)


class WithDye(SmokeSolver):
    """Smoke with a field more: one line declares it, the others use it."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.dye = self.declare("dye", ms.CellField(self.grid, self.velocity.dtype))

    def transport(self, dt: float) -> None:
        """Carry the dye with everything else."""
        ms.fluids.advect(self.dye, self.velocity, dt)
        super().transport(dt)


def test_a_field_more_is_one_line() -> None:
    solver = WithDye(ms.Grid((N, N), 1 / N), SmokeOptions(density_weight=1.0))
    solver.dye.array[4:8, 4:8] = 1.0
    solver.velocity.u[5:9] = 0.4
    for _ in range(2):
        solver.step(DT)
    held = solver.nbytes
    assert held > SmokeSolver(ms.Grid((N, N), 1 / N)).nbytes + 2 * solver.dye.nbytes
    saved = solver.snapshot()
    assert "dye" in saved
    copies = [way(solver) for way in WAYS.values()]
    with pytest.raises(ZeroDivisionError):
        solver.step(DT, on_stage=lambda *_: 1 / 0)
    assert same(solver.snapshot(), saved)
    solver.step(DT)
    assert not same(solver.snapshot()["dye"], saved["dye"])
    for other in copies:
        other.step(DT)
        assert same(other.snapshot(), solver.snapshot())
    solver.restore(saved)
    assert same(solver.snapshot(), saved)


def test_a_step_of_fewer_stages_copies_less() -> None:
    class Carried(SmokeSolver):
        """Smoke that is carried by a velocity that stays."""

        stages = ("emit", "transport")

    whole, part = SmokeSolver(ms.Grid((N, N), 1 / N)), Carried(ms.Grid((N, N), 1 / N))
    for s in (whole, part):
        s.step(DT)
    assert whole._backups.keys() - part._backups.keys() == {"pressure"}


def test_bookkeeping_is_a_tenth_of_a_solver_at_most() -> None:
    """Lines of a solver that declare, report, copy or count, of all lines."""
    words = ("self.declare(", "running_report", "report.", "_state_replaced", "snapshot", "restore", "nbytes", "settings =", "report_type")
    for kind in (SmokeSolver, LiquidSolver, ParticleLiquidSolver):
        lines = Path(__import__(kind.__module__, fromlist=["_"]).__file__).read_text().splitlines()
        found = [line for line in lines if any(word in line for word in words)]
        assert len(found) <= 0.1 * len(lines), (kind.__name__, len(found), len(lines))
        assert issubclass(kind, FluidSolver)


class Cooling(SmokeSolver):
    """A gas solver with a stage of its own, which changes what no stage of that name is declared to change, and fails."""

    stages = ("add_forces", "project", "cool")

    def cool(self, dt: float) -> None:
        self.density.array += 1
        raise ValueError("too cold")


def test_a_stage_of_somebody_else_may_change_anything() -> None:
    solver = Cooling(ms.Grid((8, 8), 1 / 8))
    before = solver.snapshot()
    with pytest.raises(ValueError, match="too cold"):
        solver.step(0.1)
    assert same(solver.snapshot(), before)


@pytest.mark.parametrize("kind", [LiquidSolver, ParticleLiquidSolver])
def test_gravity_is_checked_when_it_is_set(kind: type) -> None:
    solver = kind(ms.Grid((8, 8), 1 / 8))
    solver.gravity = (0.5, -3)
    assert solver.gravity.tolist() == [0.5, -3.0]
    solver.gravity[0] = 0.0
    solver.step(0.01)
    assert solver.copy().gravity.tolist() == [0.0, -3.0]
    for wrong in ((1.0,), (0.0, np.nan), "down"):
        with pytest.raises((TypeError, ValueError), match="gravity"):
            solver.gravity = wrong


@pytest.mark.parametrize("kind", [SmokeSolver, LiquidSolver])
@pytest.mark.parametrize("given", [False, True])
def test_vortex_particles_may_come_and_go(kind: type, given: bool) -> None:
    solver = kind(ms.Grid((8, 8), 1 / 8), vortices=vortices() if given else None)
    solver.vortices = None if given else vortices()
    for other in (solver.copy(), copy.deepcopy(solver), pickle.loads(pickle.dumps(solver))):
        assert same(other.snapshot(), solver.snapshot())
        assert (other.vortices is None) == given
        assert other.vortices is None or other.vortices is not solver.vortices

"""Transactions of the gas solver: a step happens as a whole or not at all; its stages can be called by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import components, same_bits

import meniscus as ms
from meniscus.fluids import Emitter, SmokeOptions, SmokeSolver, VortexParticles, VorticityOptions
from meniscus.fluids import stages as stages_module
from meniscus.numerics.solve import ConvergenceError
from meniscus.surface import KinematicSolid, Sphere

DT = 0.05
STAGES = ("emit", "transport", "add_forces", "diffuse", "project")


class Stop(Exception):
    """Not an error that any stage raises itself."""


def everything(dimension: int = 2, dtype: Any = np.float64, n: int = 14, **more: Any) -> SmokeSolver:
    """All that a solver can have: an emitter and a solid that move, all forces, viscosity, an open side, vortex particles."""
    rng = np.random.default_rng(4)
    middle = (0.5,) * dimension
    w = rng.normal(size=(30, 3) if dimension == 3 else 30).astype(dtype)
    options: dict[str, Any] = {
        "density_weight": 0.2,
        "temperature_weight": 3.0,
        "acceleration": (0.1,) * dimension,
        "vorticity": VorticityOptions(confinement=0.2, vortex_strength=0.02),
        "viscosity": 2e-3,
        "slip": "no-slip",
    }
    ball, wind = Sphere((0.3,) * dimension, 0.2), (0.3,) * dimension
    return SmokeSolver(
        ms.Grid((n,) * dimension, 1 / n),
        SmokeOptions(**{**options, **more}),
        dtype=dtype,
        boundary={"xyz"[dimension - 1] + "+": ms.Open()},
        solid=KinematicSolid(Sphere(middle, 0.15), lambda t: (0.3 * t,) + (0.0,) * (dimension - 1)),
        emitters=[Emitter(region=ball, density=1.0, temperature=1.0, velocity=wind, divergence=0.1)],
        vortices=VortexParticles(rng.uniform(0, 1, (30, dimension)).astype(dtype), w, 0.25),
    )


def state(smoke: SmokeSolver) -> list[np.ndarray]:
    arrays = [*components(smoke.velocity), smoke.density.array.copy(), smoke.temperature.array.copy(), smoke.pressure.array.copy()]
    p = smoke.vortices
    if p is not None:
        arrays += [p.positions.copy(), p.vorticity.copy(), p.radius.copy(), p.ids.copy()]
    return [*arrays, np.array(smoke.time)]


def check_unchanged(smoke: SmokeSolver, fail: Callable[[], Any], kind: type[BaseException], match: str | None = None) -> None:
    """Fails, leaves everything as it was, and goes on as if nothing had been."""
    untouched = everything(smoke.grid.dimension, smoke.velocity.dtype)
    for _ in range(2):
        smoke.step(DT)
        untouched.step(DT)
    before, report = state(smoke), smoke.report
    with pytest.raises(kind, match=match):
        fail()
    assert same_bits(state(smoke), before)
    assert smoke.report is report
    smoke.step(DT)
    untouched.step(DT)
    assert same_bits(state(smoke), state(untouched))
    assert not same_bits(state(smoke)[0], before[0])


@pytest.mark.parametrize("stage", STAGES)
def test_an_error_after_any_stage(stage: str, dimension: int, dtype: type) -> None:
    smoke = everything(dimension, dtype)

    def hook(name: str, solver: SmokeSolver) -> None:
        assert solver is smoke
        if name == stage:
            raise Stop

    check_unchanged(smoke, lambda: smoke.step(DT, hook), Stop)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_ends_a_step(kind: type[BaseException]) -> None:
    smoke = everything()

    def hook(name: str, solver: SmokeSolver) -> None:
        if name == "project":
            raise kind

    check_unchanged(smoke, lambda: smoke.step(DT, hook), kind)


@pytest.mark.parametrize(("field", "match"), [("velocity", "finite"), ("density", "finite"), ("temperature", "finite")])
@pytest.mark.parametrize("stage", ["emit", "transport", "project"])
def test_values_that_are_not_finite(field: str, match: str, stage: str) -> None:
    smoke = everything()

    def hook(name: str, solver: SmokeSolver) -> None:
        if name == stage:
            array = solver.velocity.u if field == "velocity" else getattr(solver, field).array
            array[2, 11] = np.nan  # neither in the solid nor in the emitter

    check_unchanged(smoke, lambda: smoke.step(DT, hook), ValueError, match)


@pytest.mark.parametrize(("stage", "operator"), [("pressure", "project"), ("viscosity", "diffuse_in_step")])
def test_a_solve_that_does_not_converge(stage: str, operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    smoke, original = everything(), getattr(stages_module, operator)

    def hardly(*arguments: Any, **options: Any) -> Any:
        # Tolerances that one iteration does not reach; `project` takes its own by position.
        limits = {"max_iterations": 1, **({"tolerance": 1e-14} if operator == "diffuse_in_step" else {})}
        return original(*arguments, **{**options, **limits})

    def fail() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(stages_module, operator, hardly)
            smoke.step(DT)

    check_unchanged(smoke, fail, ConvergenceError, f"{stage} did not converge")


def test_an_unreachable_tolerance() -> None:
    smoke = everything(tolerance=1e-300)
    before = state(smoke)
    with pytest.raises(ConvergenceError, match="did not converge"):
        smoke.step(DT)
    assert same_bits(state(smoke), before)
    assert smoke.report is None


def test_the_hook_sees_the_stages_in_their_order(dimension: int) -> None:
    """Each of them done: what it has changed is there."""
    smoke, seen = everything(dimension), []
    rho, up = smoke.density.array.copy(), smoke.velocity.component(dimension - 1).copy()

    def hook(name: str, solver: SmokeSolver) -> None:
        seen.append(name)
        changed = {
            "emit": lambda: not same_bits(solver.density.array, rho),
            "add_forces": lambda: not same_bits(solver.velocity.component(dimension - 1), up),
            "project": lambda: bool(solver.pressure.array.any()),
        }
        assert solver.time == 0.0
        assert changed.get(name, lambda: True)()

    smoke.step(DT, hook)
    assert tuple(seen) == STAGES == SmokeSolver.stages
    assert smoke.time == DT


def test_a_step_is_its_stages(dimension: int, dtype: type) -> None:
    whole, parts = (everything(dimension, dtype) for _ in range(2))
    for _ in range(3):
        whole.step(DT)
        for name in SmokeSolver.stages:
            getattr(parts, name)(DT)
        parts.time += DT
    assert same_bits(state(whole), state(parts))


def test_stages_in_another_order(dimension: int, dtype: type) -> None:
    """Forces before transport, and no diffusion: legal, and not the same; divergence-free in the end."""
    usual, other = (everything(dimension, dtype) for _ in range(2))
    for _ in range(2):
        for smoke, order in ((usual, STAGES), (other, ("add_forces", "project", "transport", "emit", "project"))):
            for name in order:
                getattr(smoke, name)(DT)
            smoke.time += DT
    assert not same_bits(usual.velocity.component(0), other.velocity.component(0))
    assert all(np.isfinite(a).all() for a in state(other))
    target = np.abs(ms.fluids.divergence(other.velocity, other.solid, time=other.time).array).max()
    assert target < 0.2


def test_a_step_does_not_depend_on_what_was_done_before(dimension: int, dtype: type) -> None:
    """A new solver with the same fields goes on bit for bit: nothing hides in what is kept between steps."""
    old = everything(dimension, dtype)
    for _ in range(3):
        old.step(DT)
    new = everything(dimension, dtype)
    for d in range(dimension):
        new.velocity.component(d)[...] = old.velocity.component(d)
    for name in ("density", "temperature", "pressure"):
        getattr(new, name).array[...] = getattr(old, name).array
    assert new.vortices is not None
    assert old.vortices is not None
    new.vortices.restore(old.vortices.snapshot())
    new.time = old.time
    for _ in range(2):
        old.step(DT)
        new.step(DT)
    assert same_bits(state(old), state(new))


def test_another_solid_is_seen(dimension: int) -> None:
    """`solid` may be set anew between steps."""
    smoke, fresh = everything(dimension), everything(dimension)
    smoke.solid = Sphere((0.6,) * dimension, 0.1)
    smoke.step(DT)
    fresh.step(DT)
    assert not same_bits(components(smoke.velocity), components(fresh.velocity))
    smoke.solid = Sphere((0.4,) * dimension, 0.2)
    smoke.emit(DT)
    smoke.transport(DT)
    center = (int(0.4 * 14),) * dimension
    smoke.project(DT)
    assert all(abs(float(smoke.velocity.component(d)[center])) < 1e-12 for d in range(dimension))

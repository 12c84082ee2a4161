"""Air and smoke around solids that move and deform."""

from typing import Any

import numpy as np
import pytest
from support.build import components, same_bits
from support.projection import nodes
from support.solids import icosahedron

import meniscus as ms
from meniscus.fluids import Emitter, SmokeOptions, SmokeSolver, divergence
from meniscus.surface import KinematicSolid, LevelSet, Sphere

N, DT = 20, 0.02
H = 1 / N


def solver(dimension: int, dtype: Any, solid: Any, **arguments: Any) -> SmokeSolver:
    options = SmokeOptions(**arguments.pop("options", {}))
    return SmokeSolver(ms.Grid((N,) * dimension, H), options, dtype=dtype, solid=solid, **arguments)


def distance(smoke: SmokeSolver, centre: tuple[float, ...]) -> np.ndarray:
    x = np.meshgrid(*smoke.density.coordinates(), indexing="ij")
    return np.sqrt(sum((a - c) ** 2 for a, c in zip(x, centre, strict=True)))


def moving_sphere(dimension: int, speed: float = 1.0) -> KinematicSolid:
    return KinematicSolid(Sphere((0.35,) + (0.5,) * (dimension - 1), 0.15), lambda t: (speed * t,) + (0.0,) * (dimension - 1))


@pytest.mark.parametrize("slip", ["free", "no-slip"])
def test_air_makes_way_for_a_moving_sphere(slip: str, dimension: int, dtype: type) -> None:
    """No flux through its surface at the end of each step, and the air beside it flows back."""
    smoke = solver(dimension, dtype, moving_sphere(dimension), options={"slip": slip, "tolerance": 1e-7})
    for _ in range(4):
        smoke.step(DT)
    sample = smoke.solid.sample(smoke.grid, smoke.time, -DT, dtype=dtype)
    left = divergence(smoke.velocity, sample).array
    assert np.abs(left).max() < (1e-4 if dtype is np.float64 else 1e-3)
    u, where = smoke.velocity.u, (slice(None),) + (N // 2,) * (dimension - 1)
    ahead, behind = int(0.62 * N), int(0.22 * N)
    assert u[where][ahead] > 0.05
    assert u[where][behind] > 0.05
    beside = (int(0.43 * N), int(0.75 * N)) + (N // 2,) * (dimension - 2)
    assert u[beside] < -0.02


def test_smoke_inside_of_a_solid_does_not_count(dimension: int, dtype: type) -> None:
    """Uniform smoke around a sphere at rest: the amount is that of the cells outside."""
    smoke = solver(dimension, dtype, Sphere((0.5,) * dimension, 0.2))
    smoke.density.array = 1.0
    report = smoke.step(DT)
    outside = (distance(smoke, (0.5,) * dimension) > 0.2).sum() * H**dimension
    assert report.smoke == pytest.approx(outside, rel=2e-2)
    assert report.smoke < 0.97
    assert report.uncovered == 0.0
    assert abs(report.transport_change) < 1e-6


def test_an_emitter_inside_of_a_solid_emits_nothing(dimension: int, dtype: type) -> None:
    middle = (0.5,) * dimension
    emitter = Emitter(region=Sphere(middle, 0.1), density_rate=1.0)
    report = solver(dimension, dtype, Sphere(middle, 0.2), emitters=[emitter]).step(DT)
    assert report.emitted == 0.0
    assert report.smoke == 0.0


def test_balance_around_a_moving_sphere(dimension: int, dtype: type) -> None:
    """What was there, was emitted, came by transport and by what the sphere covers and uncovers is what is there."""
    emitter = Emitter(region=Sphere((0.7,) * dimension, 0.15), density_rate=2.0)
    smoke = solver(dimension, dtype, moving_sphere(dimension), emitters=[emitter])
    smoke.density.array[...] = distance(smoke, (0.2,) * dimension)
    start = (distance(smoke, (0.35,) + (0.5,) * (dimension - 1)) > 0.15).astype(float)
    amount = float(np.sum(smoke.density.array * start, dtype=np.float64)) * H**dimension
    uncovered = 0.0
    for k in range(6):
        report = smoke.step(DT)
        # The first sum is by the exact sphere; from then on by what the solver saw.
        expected = amount + report.emitted + report.transport_change + report.uncovered
        assert report.smoke == pytest.approx(expected, rel=0.02 if k == 0 else 1e-12)
        amount = report.smoke
        uncovered = max(uncovered, abs(report.uncovered))
    assert uncovered > 0


def test_a_sphere_through_clear_air_makes_no_smoke(dimension: int, dtype: type) -> None:
    """Not even where it was full of smoke itself: cells that it uncovers take the smoke beside them."""
    smoke = solver(dimension, dtype, moving_sphere(dimension, 2.0))
    smoke.density.array[...] = np.where(distance(smoke, (0.35,) + (0.5,) * (dimension - 1)) < 0.15 - H, 5.0, 0.0)
    for _ in range(8):
        report = smoke.step(DT)
        centre = (0.35 + 2 * smoke.time,) + (0.5,) * (dimension - 1)
        outside = distance(smoke, centre) > 0.15 + H
        assert np.abs(smoke.density.array[outside]).max() < 1e-6
        assert abs(report.smoke) < 1e-6


def test_smoke_does_not_go_through_a_solid_plate() -> None:
    """A plate across the whole box: what is below stays below."""
    smoke = solver(2, np.float64, None, options={"temperature_weight": 5.0})
    smoke.solid = nodes(smoke.grid, lambda x, y: np.abs(y - 0.5) - 1.6 * H)
    smoke.density.array[:, :6] = smoke.temperature.array[:6, :6] = 1.0
    for _ in range(10):
        report = smoke.step(0.05)
    assert report.max_speed > 0.05
    assert np.abs(smoke.density.array[:, 12:]).max() == 0.0


def test_kinds_of_solids_agree(dimension: int) -> None:
    """A shape, a level set and a solid at rest are the same."""
    middle = (0.5,) * dimension
    shape = Sphere(middle, 0.2)
    sample = KinematicSolid(shape).sample(ms.Grid((N,) * dimension, H))
    levelset, results = LevelSet(sample.grid), []
    levelset.array = sample.levelset.array
    for solid in (shape, KinematicSolid(shape), levelset, sample.levelset):
        smoke = solver(dimension, np.float64, solid, options={"temperature_weight": 2.0})
        smoke.temperature.array[...] = distance(smoke, middle) < 0.4
        for _ in range(3):
            smoke.step(DT)
        results.append([*components(smoke.velocity), smoke.temperature.array.copy()])
    assert all(same_bits(r, results[0]) for r in results[1:])


@pytest.mark.parametrize("slip", ["free", "no-slip"])
def test_viscous_air_sticks_only_where_it_shall(slip: str) -> None:
    """A wind along a plate that fills the lower quarter of a periodic channel."""
    grid = ms.Grid((8, N), H, periodic=(True, False))
    options = SmokeOptions(viscosity=1.0, slip=slip)  # type: ignore[arg-type]
    smoke = SmokeSolver(grid, options, dtype=np.float64, solid=nodes(grid, lambda x, y: y - 0.25 + 0 * x))
    smoke.velocity.u[...] = 1.0
    for _ in range(5):
        smoke.step(0.5)
    air = smoke.velocity.u[:, 6:]
    assert np.abs(air - 1.0).max() < 1e-9 if slip == "free" else np.abs(air).max() < 0.05


def test_a_level_set_may_change_between_steps() -> None:
    """Its owner may move it: the masks are those of now."""
    smoke = solver(2, np.float64, None)
    solid = nodes(smoke.grid, lambda x, y: np.hypot(x - 0.3, y - 0.5) - 0.2)
    smoke.solid = solid
    smoke.density.array = 1.0
    first = smoke.step(DT).smoke
    solid.array = nodes(smoke.grid, lambda x, y: np.hypot(x - 0.6, y - 0.5) - 0.3).array
    smoke.density.array = 1.0
    report = smoke.step(DT)
    assert report.smoke == pytest.approx(first - np.pi * (0.3**2 - 0.2**2), abs=0.02)
    assert abs(report.transport_change) < 1e-9


def test_a_pulsating_mesh_pumps_air_through_the_open_side(dtype: type) -> None:
    """What leaves the box is the volume that the mesh sweeps in each step: its surface at the end times its mean velocity."""
    vertices, triangles = icosahedron(1.0, (0.0, 0.0, 0.0))
    corners = vertices[triangles]
    volume = float(np.linalg.det(corners).sum() / 6)

    def radius(t: float) -> float:
        return float(0.25 + 0.05 * np.sin(6 * t))

    solid = KinematicSolid.deforming(lambda t: 0.5 + radius(t) * vertices, triangles)
    errors = []
    for n in (16, 32):
        smoke = SmokeSolver(ms.Grid((n, n, n), 1 / n), dtype=dtype, solid=solid, boundary={"z+": ms.Open()})
        out = expected = 0.0
        for _ in range(4):
            before = radius(smoke.time)
            smoke.step(0.05)
            after = radius(smoke.time)
            expected += 3 * volume * after**2 * (after - before)
            out += 0.05 * float(smoke.velocity.w[..., -1].sum(dtype=np.float64)) / n**2
        errors.append(1 - out / expected)
    assert 0 < errors[0] < 0.035, errors
    assert errors[1] < 0.3 * errors[0], errors  # second order

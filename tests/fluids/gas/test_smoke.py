"""Gas solver: forces through a whole step, transport of smoke, step sizes, solids and vortex particles."""

import math
from typing import Any

import numpy as np
import pytest
from support.build import components, same_bits
from support.projection import set_faces

import meniscus as ms
from meniscus.fluids import (
    Emitter,
    SmokeOptions,
    SmokeSolver,
    TransportOptions,
    VortexParticles,
    VorticityOptions,
    kinetic_energy,
    vortex_ring,
)
from meniscus.surface import Box, KinematicSolid, Sphere

DT = 0.02


def solver(dimension: int = 2, n: int = 16, dtype: Any = np.float64, periodic: Any = False, **arguments: Any) -> SmokeSolver:
    options = arguments.pop("options", None)
    grid = ms.Grid((n,) * dimension, 1 / n, periodic=periodic)
    return SmokeSolver(grid, None if options is None else SmokeOptions(**options), dtype=dtype, **arguments)


def centres(smoke: SmokeSolver) -> list[np.ndarray]:
    return np.meshgrid(*smoke.density.coordinates(), indexing="ij")


def blob(smoke: SmokeSolver, middle: float = 0.4, width: float = 0.15) -> np.ndarray:
    return np.exp(-sum((c - middle) ** 2 for c in centres(smoke)) / width**2).astype(smoke.density.dtype)


def swirl(smoke: SmokeSolver, speed: float = 1.0) -> None:
    """A divergence-free flow that is tangential at the sides of the unit box."""

    def flow(x: np.ndarray, y: np.ndarray, *z: np.ndarray) -> tuple[Any, ...]:
        s, c = np.sin, np.cos
        return (speed * s(np.pi * x) * c(np.pi * y), -speed * c(np.pi * x) * s(np.pi * y), *(0 * a for a in z))

    set_faces(smoke.velocity, flow)


@pytest.mark.parametrize("kind", ["hot", "dense"])
def test_initial_acceleration_of_a_layer(kind: str, dimension: int, dtype: type) -> None:
    """Uniform gas between open ends is accelerated as a whole: nothing but the force acts in the first step."""
    along = "xyz"[dimension - 1]
    boundary = {f"{along}-": ms.Open(), f"{along}+": ms.Open()}
    options = {"temperature_weight": 0.125, "ambient": 20.0} if kind == "hot" else {"density_weight": 0.75}
    smoke = solver(dimension, 8, dtype, boundary=boundary, options=options)
    if kind == "hot":
        smoke.temperature.array = 28.0
    else:
        smoke.density.array = 2.0
    smoke.step(0.5)
    *across, up = components(smoke.velocity)
    expected = 0.5 * 0.125 * 8.0 if kind == "hot" else -0.5 * 0.75 * 2.0
    assert np.abs(up - expected).max() <= 4 * np.finfo(dtype).eps
    assert all(np.abs(c).max() <= 4 * np.finfo(dtype).eps for c in across)


def test_a_hot_blob_rises_and_a_dense_one_sinks(dimension: int, dtype: type) -> None:
    for options, sign in (({"temperature_weight": 1.0}, 1), ({"density_weight": 1.0}, -1)):
        smoke = solver(dimension, dtype=dtype, options=options)
        smoke.density.array[...] = smoke.temperature.array[...] = blob(smoke, 0.5)
        smoke.step(DT)
        up = smoke.velocity.component(dimension - 1)
        middle = (8,) * dimension
        assert sign * up[middle] > 0.2 * DT
        # The force on the blob, less what the pressure of the box gives to the air around it: at most the force itself.
        assert sign * up[middle] < DT


def test_acceleration_in_a_box_is_balanced_by_pressure(dimension: int, dtype: type) -> None:
    """Gravity on air of one density: hydrostatic pressure, and no motion."""
    g = (0.0,) * (dimension - 1) + (-9.81,)
    smoke = solver(dimension, dtype=dtype, options={"acceleration": g, "air_density": 1.2, "tolerance": 1e-9})
    smoke.step(DT)
    assert max(np.abs(c).max() for c in components(smoke.velocity)) < (1e-8 if dtype is np.float64 else 1e-6)
    p = np.moveaxis(smoke.pressure.array, -1, 0)
    assert np.abs(np.diff(p, axis=0) + 1.2 * 9.81 / 16).max() < 1e-5


def test_neutral_smoke_is_passive(dimension: int, dtype: type) -> None:
    """Without weights, smoke and heat change nothing in the air, in no bit."""
    empty, full = (
        solver(dimension, dtype=dtype, options={"vorticity": VorticityOptions(confinement=0.2), "viscosity": 1e-3}) for _ in range(2)
    )
    for smoke in (empty, full):
        swirl(smoke)
    full.density.array[...] = full.temperature.array[...] = blob(full)
    for _ in range(3):
        empty.step(DT)
        full.step(DT)
    assert same_bits(components(empty.velocity), components(full.velocity))
    assert same_bits(empty.pressure.array, full.pressure.array)
    assert not same_bits(full.density.array, blob(full))


def test_smoke_in_a_closed_box_changes_by_what_is_reported(dimension: int, dtype: type) -> None:
    emitter = Emitter(region=Sphere((0.3,) * dimension, 0.15), density_rate=3.0, end=3 * DT)
    smoke = solver(dimension, dtype=dtype, emitters=[emitter], options={"density_weight": -2.0})
    smoke.density.array[...] = blob(smoke)
    swirl(smoke)
    amount = float(np.sum(smoke.density.array, dtype=np.float64)) / 16**dimension
    start = amount
    for _ in range(8):
        report = smoke.step(DT)
        amount += report.emitted + report.transport_change
        assert report.smoke == pytest.approx(amount, rel=1e-13)
        assert (report.emitted > 0) == (smoke.time < 3.5 * DT)
        assert abs(report.transport_change) < 2e-3 * start
    assert report.smoke == pytest.approx(float(np.sum(smoke.density.array, dtype=np.float64)) / 16**dimension, rel=1e-13)
    assert report.uncovered == 0.0


def test_smoke_leaves_through_an_open_top() -> None:
    """A uniform wind: what has left is what was above the line."""
    smoke = solver(2, boundary={"y-": ms.Prescribed((0.0, 1.0)), "y+": ms.Open()})
    smoke.velocity.v[...] = 1.0
    smoke.density.array = 1.0
    smoke.density.array[:, :4] = 0.0
    total = smoke.density.array.sum(dtype=np.float64) / 256
    for k in range(4):
        report = smoke.step(1 / 16)
        assert report.transport_change == pytest.approx(-1 / 16, rel=1e-4)
        assert report.smoke == pytest.approx(total - (k + 1) / 16, rel=1e-4)


def test_advised_steps(dimension: int, dtype: type) -> None:
    smoke = solver(dimension, dtype=dtype, options={"temperature_weight": 0.5, "density_weight": 2.0, "ambient": 10.0, "cfl": 3.0})
    h = 1 / 16
    assert smoke.max_dt() == math.inf
    smoke.velocity.component(0)[3, 3] = -2.0
    assert smoke.max_dt() == pytest.approx(3.0 * h / 2.0)
    smoke.velocity.component(0)[...] = 0.0
    smoke.temperature.array[2, 2] = 2.0  # cold air falls as hot air rises
    assert smoke.max_dt() == pytest.approx(3.0 * h / math.sqrt(h * 0.5 * 8.0))
    smoke.density.array[1, 1] = 3.0
    assert smoke.max_dt() == pytest.approx(3.0 * h / math.sqrt(h * (0.5 * 8.0 + 2.0 * 3.0)))


def test_advised_steps_know_emitters_and_accelerations() -> None:
    emitter = Emitter(region=Sphere((0.5, 0.5), 0.2), velocity=(0.0, -4.0), end=1.0)
    smoke = solver(emitters=[emitter])
    assert smoke.max_dt() == pytest.approx(2.0 / 16 / 4.0)
    smoke.time = 1.0
    assert smoke.max_dt() == math.inf
    smoke = solver(options={"acceleration": (3.0, 4.0)})
    assert smoke.max_dt() == pytest.approx(2.0 / 16 / math.sqrt(5.0 / 16))


def test_advised_steps_know_moving_solids(dimension: int, dtype: type) -> None:
    """Also where the air is still at rest, at the time that it is, and whatever steps came before."""
    still = (0.0,) * (dimension - 1)
    solid = KinematicSolid(Sphere((0.5,) * dimension, 0.2), lambda t: (2 * t**2, *still))
    smoke = solver(dimension, dtype=dtype, solid=solid)
    assert smoke.max_dt() > 1e3
    smoke.time = 0.1
    assert smoke.max_dt() == pytest.approx(2.0 / 16 / 0.4, rel=1e-3)
    smoke.step(DT)
    for d in range(dimension):
        smoke.velocity.component(d)[...] = 0.0
    assert smoke.max_dt() == pytest.approx(2.0 / 16 / 0.48, rel=1e-3)


def test_energy_does_not_grow_without_forces(dimension: int, dtype: type) -> None:
    smoke = solver(dimension, dtype=dtype, options={"transport": TransportOptions(method="semi-lagrangian"), "viscosity": 1e-3})
    rng = np.random.default_rng(5)
    for d in range(dimension):
        smoke.velocity.component(d)[...] = rng.uniform(-1, 1, smoke.velocity.component(d).shape)
    ms.fluids.project(smoke.velocity, DT)
    energy = kinetic_energy(smoke.velocity)
    for _ in range(6):
        report = smoke.step(DT)
        assert report.kinetic_energy < energy
        energy = report.kinetic_energy
    assert report.kinetic_energy == kinetic_energy(smoke.velocity)
    assert report.max_speed == pytest.approx(max(np.abs(c).max() for c in components(smoke.velocity)))


def test_taylor_green_vortices_decay() -> None:
    n, nu = 32, 0.1
    grid = ms.Grid((n, n), 2 * np.pi / n, periodic=True)
    smoke = SmokeSolver(grid, SmokeOptions(viscosity=nu, transport=TransportOptions(limiter="none"), tolerance=1e-8), dtype=np.float64)
    set_faces(smoke.velocity, lambda x, y: (np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)))
    start = kinetic_energy(smoke.velocity)
    for _ in range(20):
        smoke.step(0.05)
    assert smoke.report is not None
    assert smoke.report.kinetic_energy == pytest.approx(start * np.exp(-4 * nu * smoke.time), rel=0.04)


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_symmetric_plume_stays_symmetric(exchanged: bool, dtype: type) -> None:
    """Mirrored along x; and with x and y exchanged."""
    emitter = Emitter(region=Sphere((0.5, 0.5, 0.25), 0.15), density=1.0, temperature=1.0)
    options = {
        "temperature_weight": 4.0,
        "density_weight": 0.5,
        "vorticity": VorticityOptions(confinement=0.3),
        "viscosity": 1e-3,
        "tolerance": 1e-10,
    }
    smoke = solver(3, 12, dtype, emitters=[emitter], options=options, boundary={"z+": ms.Open()})
    for _ in range(5):
        smoke.step(0.05)
    tolerance = 1e-7 if dtype is np.float64 else 2e-4
    rho, (u, v, w) = smoke.density.array, components(smoke.velocity)
    assert np.abs(w).max() > 0.2
    if exchanged:
        assert np.abs(rho - rho.swapaxes(0, 1)).max() < tolerance
        assert np.abs(u - v.swapaxes(0, 1)).max() < tolerance
        assert np.abs(w - w.swapaxes(0, 1)).max() < tolerance
    else:
        assert np.abs(rho - rho[::-1]).max() < tolerance
        assert np.abs(u + u[::-1]).max() < tolerance
        assert np.abs(v - v[::-1]).max() < tolerance


def test_a_periodic_box_has_no_seam(dimension: int) -> None:
    """Moved by some cells, the same flow comes out, moved."""
    shift, axes = (5, -3, 7)[:dimension], tuple(range(dimension))
    options = {
        "temperature_weight": 3.0,
        "density_weight": 0.5,
        "vorticity": VorticityOptions(confinement=0.3),
        "viscosity": 1e-3,
        "tolerance": 1e-11,
    }
    here, there = (solver(dimension, 12, periodic=True, options=options) for _ in range(2))
    here.density.array[...] = here.temperature.array[...] = blob(here)
    here.velocity.u[...] = 0.3
    for name in ("density", "temperature"):
        getattr(there, name).array[...] = np.roll(getattr(here, name).array, shift, axes)
    there.velocity.u[...] = 0.3
    for _ in range(4):
        here.step(0.05)
        there.step(0.05)
    assert np.abs(np.roll(here.density.array, shift, axes) - there.density.array).max() < 1e-8
    for d in range(dimension):
        mine, its = (np.delete(s.velocity.component(d), -1, d) for s in (here, there))
        assert np.abs(np.roll(mine, shift, axes) - its).max() < 1e-8
    assert np.abs(here.velocity.component(dimension - 1)).max() > 0.1


@pytest.mark.parametrize("dimension", [3])
def test_single_and_double_precision_agree(dimension: int) -> None:
    options = {
        "temperature_weight": 3.0,
        "vorticity": VorticityOptions(confinement=0.3),
        "viscosity": 1e-3,
        "transport": TransportOptions(limiter="clamp"),
    }
    single, double = (solver(dimension, dtype=t, options=options) for t in (np.float32, np.float64))
    for smoke in (single, double):
        smoke.temperature.array[...] = blob(smoke)
        for _ in range(4):
            smoke.step(0.05)
    assert np.abs(single.velocity.u - double.velocity.u).max() < 2e-4
    assert np.abs(single.temperature.array - double.temperature.array).max() < 2e-4


def test_a_smoke_ring_travels_along_its_axis(dtype: type) -> None:
    """Round as it was, with its smoke, and by about the speed of the air in its middle."""
    smoke = solver(3, 32, dtype)
    vortex_ring((0.5, 0.5, 0.3), (0.0, 0.0, 1.0), 0.15).sample(smoke.velocity)
    ms.fluids.project(smoke.velocity, 1.0)
    top = float(np.abs(smoke.velocity.w).max())
    x, y, z = centres(smoke)
    smoke.density.array[...] = np.exp(-((np.hypot(x - 0.5, y - 0.5) - 0.15) ** 2 + (z - 0.3) ** 2) / 0.05**2)

    def height() -> float:
        return float((smoke.density.array * z).sum(dtype=np.float64) / smoke.density.array.sum(dtype=np.float64))

    start = height()
    for _ in range(8):
        smoke.step(0.1 / 8 / top)
    assert 0.01 < height() - start < 0.1
    rho = smoke.density.array
    for mirrored in (rho[::-1], rho[:, ::-1], rho.swapaxes(0, 1)):
        assert np.abs(rho - mirrored).max() < 1e-3


def vortices(dimension: int, dtype: Any, n: int = 20) -> VortexParticles:
    rng = np.random.default_rng(8)
    w = rng.normal(size=(n, 3) if dimension == 3 else n)
    return VortexParticles(rng.uniform(0.2, 0.8, (n, dimension)).astype(dtype), w.astype(dtype), 0.2)


def test_vortex_particles_without_strength_change_nothing(dimension: int, dtype: type) -> None:
    plain = solver(dimension, dtype=dtype, options={"vorticity": VorticityOptions(confinement=0.2)})
    carried = solver(dimension, dtype=dtype, options={"vorticity": VorticityOptions(confinement=0.2)}, vortices=vortices(dimension, dtype))
    for smoke in (plain, carried):
        swirl(smoke)
        for _ in range(3):
            report = smoke.step(DT)
    assert same_bits(components(plain.velocity), components(carried.velocity))
    assert report.vortices is not None
    assert plain.report is not None
    assert plain.report.vortices is None


def test_vortex_particles_stir_and_keep_their_strength(dimension: int, dtype: type) -> None:
    particles = vortices(dimension, dtype)
    smoke = solver(
        dimension, dtype=dtype, options={"vorticity": VorticityOptions(vortex_strength=0.05, vortex_kernel="tent")}, vortices=particles
    )
    before = {int(i): float(np.linalg.norm(w)) for i, w in zip(particles.ids, particles.vorticity, strict=True)}
    start = particles.positions.copy()
    for _ in range(5):
        report = smoke.step(DT)
    assert report.kinetic_energy > 0
    assert len(particles) == len(before)
    assert not same_bits(particles.positions, start)
    for i, w in zip(particles.ids, particles.vorticity, strict=True):
        assert np.linalg.norm(w) == pytest.approx(before[int(i)], rel=float(16 * np.finfo(dtype).eps))


def test_repeated_steps_allocate_nothing(dimension: int, dtype: type) -> None:
    emitter = Emitter(region=Box((0.3,) * dimension, (0.6,) * dimension), density=1.0, velocity=(0.1,) * dimension, divergence=0.1)
    solid = KinematicSolid(Sphere((0.5,) * dimension, 0.15), lambda t: (0.5 * t,) + (0.0,) * (dimension - 1))
    options = {"density_weight": -1.0, "vorticity": VorticityOptions(confinement=0.2, vortex_strength=0.01), "viscosity": 1e-2}
    particles = vortices(dimension, dtype)
    smoke = solver(dimension, dtype=dtype, emitters=[emitter], solid=solid, options=options, vortices=particles, boundary=ms.Open())
    for _ in range(2):
        smoke.step(DT)
    before = ms.core.block_allocations()
    for _ in range(3):
        smoke.step(DT)
    assert ms.core.block_allocations() == before


def test_bytes_count_what_is_held(dimension: int, dtype: type) -> None:
    """All blocks that a solver has made, and the lists of its multigrid levels."""
    emitter = Emitter(region=Sphere((0.5,) * dimension, 0.2), density=1.0, divergence=0.5)
    alive = ms.core.block_bytes()
    smoke = solver(
        dimension,
        20,
        dtype,
        emitters=[emitter],
        options={"viscosity": 1e-2, "vorticity": VorticityOptions(confinement=0.1)},
        boundary=ms.Open(),
    )
    smoke.step(DT)
    blocks = ms.core.block_bytes() - alive
    assert 0.99 * blocks < smoke.nbytes < 1.4 * blocks


def test_options_and_arguments() -> None:
    cases: list[tuple[type[Exception], str, dict]] = [
        (ValueError, "air_density must be positive", {"air_density": 0.0}),
        (ValueError, "viscosity must not be negative", {"viscosity": -1.0}),
        (ValueError, "slip must be one of 'free', 'no-slip'", {"slip": "sticky"}),
        (TypeError, "tolerance must be a number", {"tolerance": "tight"}),
    ]
    with pytest.raises(ValueError, match="confinement must be finite"):
        VorticityOptions(confinement=math.nan)
    for kind, message, options in cases:
        with pytest.raises(kind, match=message):
            SmokeOptions(**options)
    with pytest.raises(TypeError, match="options must be a SmokeOptions"):
        SmokeSolver(ms.Grid((4, 4), 1.0), {"viscosity": 1.0})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="vortices must be a VortexParticles"):
        solver(vortices=[])
    with pytest.raises(ValueError, match="dt must be positive"):
        solver().step(0.0)

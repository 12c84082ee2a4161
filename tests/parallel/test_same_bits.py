"""Independence of results, to the last bit, of the number of threads and of the vector instructions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import components, random_scalar, random_velocity, same_bits, share_periodic
from support.projection import cells, nodes

import meniscus as ms
from meniscus.fluids import (
    Emitter,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    SmokeOptions,
    SmokeSolver,
    VortexParticles,
    add_buoyancy,
    add_vortex_forces,
    add_vorticity_confinement,
    advance_vortices,
    curl_noise,
    diffuse,
    diffuse_liquid,
    divergence,
    enstrophy,
    grid_to_particles,
    kinetic_energy,
    particle_density,
    particle_levelset,
    particles_to_grid,
    point_source,
    project,
    rotation,
    seed_vortices,
    vortex_ring,
    vorticity,
)
from meniscus.grid import Particles, advect, extrapolate, sample, semi_lagrangian, trace, upwind
from meniscus.numerics import FractalNoise
from meniscus.surface import (
    KinematicSolid,
    LevelSet,
    ParticleLevelSet,
    ParticleOptions,
    Pose,
    Sphere,
    extend_velocity,
    interpolate_levelsets,
    redistance,
)

THREADS = (1, 2, 3, 5, 8)
LEVELS = ("baseline", "avx2", "avx512")
# Several chunks of rows, and rows that are no multiple of any vector or block length.
SHAPES = {2: (211, 173), 3: (37, 29, 41)}
MANY_CELLS = {2: (700, 500), 3: (80, 60, 70)}


def everywhere(run: Callable[[], Any], threads: tuple[int, ...] = THREADS) -> None:
    """Run with every number of threads, and with every instruction set at the default number."""
    best = LEVELS.index(ms.core.simd_supported())
    ms.core.set_simd_level("baseline")
    ms.set_num_threads(1)
    plain = run()
    settings = [(n, LEVELS[best]) for n in threads] + [(3, level) for level in LEVELS[:best]]
    for n, level in settings:
        ms.set_num_threads(n)
        ms.core.set_simd_level(level)
        assert same_bits(run(), plain), f"{n} threads, {level}"


def inflow(x: np.ndarray, t: float) -> np.ndarray:
    return np.sin(5 * x[:, 0]) + t


def problem(dimension: int, dtype: type, periodic: bool) -> tuple[Any, ms.MacField]:
    rng = np.random.default_rng(31)
    g = ms.Grid(SHAPES[dimension], 0.1, periodic=(periodic, False, periodic)[:dimension])
    moving = (0.5, -0.25, 0.125)[:dimension]
    scalar = {"y-": ms.Prescribed(0.5), "y+": ms.Open()}
    vector = {"y-": ms.Prescribed(moving), "y+": ms.Wall(moving, "no-slip")}
    return random_scalar("cell", g, dtype, rng, scalar), random_velocity(g, dtype, rng, vector)


@pytest.fixture(autouse=True)
def _bring_back(default_parallelism: None) -> None:
    """Every test here changes threads and instruction sets."""


SCHEMES = [
    {"method": "upwind"},
    {"method": "semi-lagrangian", "trace": "euler"},
    {"method": "semi-lagrangian", "interpolation": "cubic", "trace": "rk3"},
    {"method": "bfecc", "limiter": "clamp"},
    {"method": "bfecc", "block": "upwind", "limiter": "none"},
    {"method": "maccormack"},
    {"method": "maccormack", "interpolation": "cubic", "first_order_near": "walls"},
    {"method": "maccormack", "block": "upwind"},
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: "-".join(s.values()))
def test_scalars(scheme: dict, dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        field, velocity = problem(dimension, dtype, periodic)
        for cfl in (0.45, 3.3):

            def run(f: Any = field, v: Any = velocity, cfl: float = cfl) -> np.ndarray:
                out = f.copy()
                advect(out, v, cfl * 0.1, time=0.3, **scheme)
                return out.array.copy()

            everywhere(run)


@pytest.mark.parametrize("method", ["upwind", "semi-lagrangian", "bfecc", "maccormack"])
def test_velocities(method: str, dimension: int, dtype: type) -> None:
    _, velocity = problem(dimension, dtype, True)

    def run() -> list[np.ndarray]:
        v = velocity.copy()
        advect(v, v, 0.22, method=method)
        return components(v)

    everywhere(run)


@pytest.mark.parametrize("method", ["upwind", "semi-lagrangian", "maccormack"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_masks(method: str, interpolation: str, dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, True)
    rng = np.random.default_rng(32)
    masks = {
        "visible": rng.random(field.shape) < 0.98,
        "active": rng.random(field.shape) < 0.7,
        "first_order": rng.random(field.shape) < 0.3,
    }

    def run() -> np.ndarray:
        out = field.copy()
        advect(out, velocity, 0.12, method=method, interpolation=interpolation, **masks)
        return out.array.copy()

    everywhere(run)


@pytest.mark.parametrize("block", [semi_lagrangian, upwind])
def test_bare_passes(block: Callable, dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, False)

    def run() -> list[np.ndarray]:
        out, low, high = (field.copy() for _ in range(3))
        block(field, velocity, -0.03, out=out, lower=low, upper=high)
        return [out.array.copy(), low.array.copy(), high.array.copy()]

    everywhere(run)


def test_checks_and_reductions(dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, False)
    everywhere(lambda: np.array(ms.grid.max_speed(velocity)))
    rng = np.random.default_rng(33)
    for at in rng.integers(0, field.shape, (5, dimension)):
        field.array[tuple(at)] = np.nan

    def message() -> np.ndarray:
        with pytest.raises(ValueError, match="must be finite") as error:
            advect(field, velocity, 0.1)
        return np.array(str(error.value))

    everywhere(message)


def test_ghosts(dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, True)

    def run() -> list[np.ndarray]:
        f, v = field.copy(), velocity.copy()
        f.fill_ghosts(0.3)
        v.fill_ghosts(0.3)
        return [f.with_ghosts.copy(), *(v.component_with_ghosts(d).copy() for d in range(dimension))]

    everywhere(run)


@pytest.mark.parametrize("layers", [2, None])
def test_extrapolation(layers: int | None, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(34)
    g = ms.Grid(MANY_CELLS[dimension], 0.1, periodic=(True, False, False)[:dimension])
    field = random_scalar("node", g, dtype, rng)
    known = rng.random(field.shape) < 0.01
    share_periodic(known, g, field.on_side)

    def run() -> list[np.ndarray]:
        f = field.copy()
        mask = extrapolate(f, known, layers=layers)
        return [f.array.copy(), mask]

    everywhere(run)


def test_points(dimension: int, dtype: type) -> None:
    field, velocity = problem(dimension, dtype, True)
    rng = np.random.default_rng(35)
    points = ((1.4 * rng.random((20_003, dimension)) - 0.2) * velocity.grid.extent).astype(dtype)
    everywhere(lambda: sample(field, points, time=0.2))
    everywhere(lambda: sample(field, points, interpolation="cubic"))
    everywhere(lambda: sample(velocity, points))
    for method in ("euler", "midpoint", "rk3"):

        def run(method: str = method) -> np.ndarray:
            x = points.copy()
            trace(x, velocity, -0.35, method=method)
            return x

        everywhere(run)


def test_particle_sorting(dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(36)
    g = ms.Grid(MANY_CELLS[dimension], 0.1)
    points = (rng.random((50_003, dimension)) * g.extent).astype(dtype)

    def run() -> list[np.ndarray]:
        p = ms.Particles(points, tag=np.arange(len(points)))
        p.sort_by_cell(g)
        p.remove(p.ids % 3 == 0)
        return [p.positions.copy(), p["tag"].copy(), p.ids.copy()]

    everywhere(run)


def test_flows_and_noise(dimension: int, dtype: type) -> None:
    noise = FractalNoise(9, 0.7, 0.2, 2)
    flow = curl_noise(dimension, noise) + point_source((1.0,) * dimension, 0.7)
    flow = flow + (rotation((1.0, 1.0), 1.0) if dimension == 2 else vortex_ring((1, 1, 1), (1, 2, 3), 0.5))
    points = 2 * np.random.default_rng(37).random((5003, dimension))

    def run() -> list[np.ndarray]:
        v, x = ms.MacField(ms.Grid((19, 17, 13)[:dimension], 0.1), dtype), points.copy()
        flow.sample(v, 0.4)
        flow.trace(x, 0.4, 0.1)
        w = v.copy()
        curl_noise(dimension, noise).sample(w, 0.4)
        return [*components(v), *components(w), x, flow(points, 0.4), *noise.with_gradient(points, 0.4)]

    everywhere(run)


@pytest.mark.parametrize("periodic", [False, True])
def test_vorticity(periodic: bool, dimension: int, dtype: type) -> None:
    _, velocity = problem(dimension, dtype, periodic)
    solid = ms.surface.Sphere((2.0,) * dimension, 1.0)

    def run() -> list[np.ndarray]:
        v = velocity.copy()
        omega = vorticity(v)
        energies = np.array([enstrophy(v), kinetic_energy(v)])
        add_vorticity_confinement(v, 0.1, 0.5, solid=solid)
        return [*(w.array.copy() for w in (omega if isinstance(omega, tuple) else (omega,))), energies, *components(v)]

    everywhere(run)


@pytest.mark.parametrize("kernel", ["gaussian", "tent"])
def test_vortex_particles(kernel: Any, dimension: int, dtype: type) -> None:
    _, velocity = problem(dimension, dtype, True)
    solid = ms.surface.Sphere((2.0,) * dimension, 1.0)
    extent = np.array(velocity.grid.extent)

    def run() -> list[np.ndarray]:
        v = velocity.copy()
        p = VortexParticles(np.empty((0, dimension), dtype), np.empty((0, 3) if dimension == 3 else 0, dtype), 1.0)
        seed_vortices(p, ms.surface.Box(tuple(0 * extent), tuple(extent)), rate=700.0, dt=1.0, strength=1.0, radius=0.37, seed=4)
        add_vortex_forces(v, p, 0.1, 1e-2, kernel=kernel)
        advance_vortices(p, v, 0.2, solid=solid, in_solid="push-out")
        add_vortex_forces(v, p, 0.1, 1e-2, kernel=kernel, reduce=True, balance=False)
        return [*components(v), p.positions.copy(), p.vorticity.copy(), p.ids.copy()]

    everywhere(run)


def test_boundary_functions_of_far_traces(dimension: int, dtype: type) -> None:
    """Functions are asked from many threads, one position at a time."""
    g = ms.Grid((700, 7) if dimension == 2 else (30, 24, 7), 0.1)
    field = random_scalar("cell", g, dtype, np.random.default_rng(38), ms.Prescribed(inflow))
    velocity = ms.MacField(g, dtype, ms.ZeroGradient())
    velocity.u = 0.25
    velocity.component(dimension - 1)[...] = 1

    def run() -> np.ndarray:
        out = field.copy()
        semi_lagrangian(field, velocity, 0.47, trace="euler", out=out)
        return out.array.copy()

    everywhere(run, threads=(1, 2))


# Several slabs of planes on the finest levels, odd and even, periodic or not.
POISSON_SHAPES = {2: [(301, 507), (300, 500)], 3: [(41, 43, 67), (48, 40, 64)]}


@pytest.mark.parametrize("which", [0, 1], ids=["odd", "even"])
@pytest.mark.parametrize("surroundings", ["box", "cut cells", "drops", "free surface", "densities", "regions"])
def test_projection(surroundings: str, which: int, dimension: int, dtype: type) -> None:
    shape = POISSON_SHAPES[dimension][which]
    for periodic in (False, True):
        g = ms.Grid(shape, 1 / shape[0], periodic=(periodic, False, periodic)[:dimension])
        rng = np.random.default_rng(39)
        start = random_velocity(g, dtype, rng, {"y+": ms.Open(1.0)})
        options: dict[str, Any] = {
            "box": lambda g=g: {},
            "cut cells": lambda g=g: {"solid": nodes(g, lambda *x: np.sqrt(sum((c - 0.4) ** 2 for c in x)) - 0.2)},
            "drops": lambda g=g, rng=rng: {"liquid": rng.random(g.shape) < 0.7},
            "free surface": lambda g=g: {"liquid": cells(g, lambda x, y, *z: y - 0.4 - 0.1 * np.sin(7 * x), dtype), "air_pressure": 2.0},
            "densities": lambda g=g: {"density": cells(g, lambda x, y, *z: np.where(x + y < 0.9, 1.0, 30.0), dtype)},
            "regions": lambda g=g: {"solid": nodes(g, lambda x, y, *z: np.abs(np.abs(y - 0.5) - 0.2) - 0.03), "flux_correction": "walls"},
        }[surroundings]()

        def run(g: ms.Grid = g, start: Any = start, options: dict = options) -> list[np.ndarray]:
            velocity, pressure = start.copy(), ms.CellField(g)
            info = project(velocity, 0.1, pressure=pressure, **options)
            left = divergence(velocity, options.get("solid")).array
            numbers = [np.array([info.residual, *info.history]), np.array([[r.cells, r.flux, r.residual] for r in info.regions])]
            return [*components(velocity), pressure.array.copy(), left, *numbers]

        everywhere(run, threads=THREADS if dimension == 2 else (2, 3, 8))


def test_buoyancy_and_viscosity(dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        scalar, velocity = problem(dimension, dtype, periodic)
        solid = nodes(velocity.grid, lambda *x: np.sqrt(sum((c - 1.5) ** 2 for c in x)) - 0.8)

        def run(scalar: Any = scalar, velocity: Any = velocity, solid: Any = solid) -> list[np.ndarray]:
            v = velocity.copy()
            add_buoyancy(v, 0.1, density=scalar, temperature=scalar, density_weight=0.3, temperature_weight=1.1, ambient=0.2, time=0.3)
            infos = diffuse(v, 0.1, 0.5, solid=solid, time=0.3)
            return [*components(v), *(np.array([i.residual, *i.history]) for i in infos)]

        everywhere(run, threads=THREADS if dimension == 2 else (2, 3, 8))


def test_viscosity_of_liquids(dimension: int, dtype: type) -> None:
    """With either preconditioner."""
    for periodic, strength in ((False, 0.5), (True, 0.5), (False, 20.0), (True, 20.0)):
        _, velocity = problem(dimension, dtype, periodic)
        solid = nodes(velocity.grid, lambda *x: np.sqrt(sum((c - 1.5) ** 2 for c in x)) - 0.8)
        liquid = ms.CellField(velocity.grid, dtype)
        liquid.array = (sum(np.cos(1.7 * c) for c in liquid.coordinates()) - 0.4).astype(dtype)

        def run(velocity: Any = velocity, solid: Any = solid, liquid: Any = liquid, strength: float = strength) -> list[np.ndarray]:
            v = velocity.copy()
            info = diffuse_liquid(v, 1.0, strength * v.grid.spacing**2, liquid=liquid, solid=solid, time=0.3, tolerance=1e-7)
            return [*components(v), np.array([info.residual, *info.history])]

        everywhere(run, threads=THREADS if dimension == 2 else (2, 3, 8))


def test_smoke(dimension: int, dtype: type) -> None:
    """Two steps with everything that a solver can have."""
    n = {2: 150, 3: 40}[dimension]
    middle, rest = (0.5,) * dimension, (0.0,) * (dimension - 1)
    options = SmokeOptions(
        density_weight=0.2,
        temperature_weight=3.0,
        acceleration=(0.1,) * dimension,
        confinement=0.2,
        vortex_strength=0.02,
        viscosity=2e-3,
        slip="no-slip",
    )

    def run() -> list[np.ndarray]:
        rng = np.random.default_rng(40)
        w = rng.normal(size=(300, 3) if dimension == 3 else 300)
        source = Sphere((0.3,) * dimension, 0.2)
        smoke = SmokeSolver(
            ms.Grid((n,) * dimension, 1 / n),
            options,
            dtype=dtype,
            boundary={"y+": ms.Open(), "x-": ms.Wall(slip="no-slip")},
            solid=KinematicSolid(Sphere(middle, 0.15), lambda t: (0.3 * t, *rest)),
            emitters=[Emitter(region=source, motion=lambda t: Pose((t, *rest)), density=1.0, temperature=1.0, divergence=0.1)],
            vortices=VortexParticles(rng.uniform(0, 1, (300, dimension)).astype(dtype), w.astype(dtype), 0.1),
        )
        swirl = rng.uniform(-1, 1, smoke.velocity.u.shape)
        smoke.velocity.u[...] = swirl
        reports = [smoke.step(0.02) for _ in range(2)]
        numbers = [[r.smoke, r.emitted, r.transport_change, r.uncovered, r.kinetic_energy, r.max_speed] for r in reports]
        fields = [f.array.copy() for f in (smoke.density, smoke.temperature, smoke.pressure)]
        assert smoke.vortices is not None
        return [*components(smoke.velocity), *fields, smoke.vortices.positions.copy(), smoke.vortices.vorticity.copy(), np.array(numbers)]

    everywhere(run, threads=THREADS if dimension == 2 else (2, 3, 5, 8))


@pytest.mark.parametrize("affine", [False, True])
def test_particles_and_grids(affine: bool, dimension: int, dtype: type) -> None:
    _, velocity = problem(dimension, dtype, True)
    rng = np.random.default_rng(41)
    n = 60_000
    points = ((1.2 * rng.random((n, dimension)) - 0.1) * velocity.grid.extent).astype(dtype)
    columns = {"velocity": rng.normal(size=(n, dimension)).astype(dtype), "mass": rng.uniform(0.5, 2, n).astype(dtype)}
    if affine:
        columns["affine"] = rng.normal(size=(n, dimension**2)).astype(dtype)

    def run() -> list[np.ndarray]:
        p, v, mass = Particles(points, **columns), velocity.copy(), velocity.copy()
        known = particles_to_grid(p, v, mass=mass)
        density = particle_density(p, v.grid).array.copy()
        grid_to_particles(v, p, before=velocity, flip_ratio=0.9, time=0.2)
        more = [p["affine"].copy()] if affine else []
        return [*components(v), *components(mass), *known, density, p.ids.copy(), p["velocity"].copy(), *more]

    everywhere(run)


@pytest.mark.parametrize("method", ["spheres", "average", "anisotropic"])
def test_surfaces_of_particles(method: Any, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(42)
    g = ms.Grid({2: (150, 140), 3: (30, 26, 35)}[dimension], 0.1, periodic=(True, False, False)[:dimension])
    n = 12_000
    points = (rng.random((n, dimension)) * g.extent * [1.0, 0.5, 0.5][:dimension]).astype(dtype)
    everywhere(lambda: particle_levelset(points, g, method=method, cover=True).array.copy(), threads=(2, 3, 5, 8))


@pytest.mark.parametrize("transfer", ["flip", "apic"])
def test_particle_liquid(transfer: Any, dimension: int, dtype: type) -> None:
    """Two steps with everything that a solver can have."""
    n = {2: 100, 3: 26}[dimension]
    rest = (0.5,) * (dimension - 1)

    def run() -> list[np.ndarray]:
        liquid = ParticleLiquidSolver(
            ms.Grid((n,) * dimension, 1 / n),
            ParticleLiquidOptions(transfer=transfer, viscosity=1e-3, density_correction=True, slip="no-slip"),
            dtype=dtype,
            boundary={"x+": ms.Open()},
            solid=KinematicSolid(Sphere((0.0,) * dimension, 0.15), lambda t: Pose((0.4 + 0.3 * t, *rest))),
            sources=[LiquidSource(region=Sphere((0.3,) * (dimension - 1) + (0.8,), 0.1), velocity=(1.0,) * dimension)],
        )
        liquid.fill(Sphere((0.5,) * dimension, 0.4))
        reports = [liquid.step(0.02) for _ in range(2)]
        p = liquid.particles
        numbers = np.array([[r.volume, r.kinetic_energy, r.max_speed, r.left] for r in reports])
        fields = [liquid.pressure.array.copy(), liquid.levelset.array.copy()]
        return [*components(liquid.velocity), *fields, p.positions.copy(), p["velocity"].copy(), p.ids.copy(), numbers]

    everywhere(run, threads=THREADS if dimension == 2 else (2, 3, 8))


@pytest.mark.parametrize("interface", ["closest-point", "axis-crossings"])
def test_redistancing(interface: Any, dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        field, _ = problem(dimension, dtype, periodic)
        for _ in range(4):
            for d in range(dimension):
                field.array = ((np.roll(field.array, 1, d) + 2 * field.array + np.roll(field.array, -1, d)) / 4).astype(dtype)
        for band in (None, 0.45):

            def run(f: Any = field, band: float | None = band) -> np.ndarray:
                out = f.copy()
                redistance(out, band=band, interface=interface)
                return out.array.copy()

            everywhere(run)


def test_extension_of_velocities(dimension: int, dtype: type) -> None:
    for periodic in (False, True):
        field, velocity = problem(dimension, dtype, periodic)
        for _ in range(6):
            for d in range(dimension):
                field.array = ((np.roll(field.array, 1, d) + 2 * field.array + np.roll(field.array, -1, d)) / 4).astype(dtype)
        redistance(field)
        rng = np.random.default_rng(33)
        known = [rng.random(velocity.component(d).shape) < 0.2 for d in range(dimension)]

        def run(f: Any = field, v: ms.MacField = velocity, known: list[np.ndarray] = known) -> list[np.ndarray]:
            out = v.copy()
            result = extend_velocity(out, f, known, band=0.4)
            return components(out) + result.known

        everywhere(run)


@pytest.mark.parametrize("location", ["nodes", "cells"])
def test_surfaces_of_level_sets(location: Any, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(41)
    periodic = (False, True, False)[:dimension]
    phi = [LevelSet(ms.Grid(SHAPES[dimension], 0.1, periodic=periodic), location, dtype) for _ in range(2)]
    for p in phi:
        # Noise above a slope: large parts and thousands of small ones.
        noise = rng.standard_normal(p.array.shape)
        p.array = (noise + np.linspace(-2, 2, p.array.shape[0]).reshape(-1, *(1,) * (dimension - 1))).astype(dtype)
    velocities = [random_velocity(phi[0].grid, dtype, rng) for _ in range(2)]

    def run() -> list[np.ndarray]:
        p = phi[0]
        found = p.components(both=True)
        return [
            *p.to_mesh(normals=True),
            *p.to_mesh(sides="open", periods="closed", positions="cubic"),
            np.array([p.volume(), p.area()]),
            p.volume_fractions().array.copy(),
            *(p.curvature(kind=kind).array.copy() for kind in ("level", "surface", "columns")),  # type: ignore[arg-type]
            found.labels,
            found.volumes,
            found.air_volumes,
            interpolate_levelsets(*phi, *velocities, 0.2, 0.3).array.copy(),
        ]

    everywhere(run)


def test_particle_level_set(dimension: int, dtype: type) -> None:
    """Seeding, carrying, correction, removal, flight against a solid, reincorporation and reseeding."""
    rng = np.random.default_rng(41)
    g = ms.Grid(SHAPES[dimension], 0.1, periodic=(True, False, True)[:dimension])
    _, velocity = problem(dimension, dtype, True)
    center, radius = np.array(SHAPES[dimension]) * 0.05, 0.03 * min(SHAPES[dimension])
    solid = KinematicSolid(Sphere(tuple(center + radius), 0.5 * radius)).sample(g, dtype=dtype)
    thrown = rng.uniform(0, 2 * center, (3000, dimension)).astype(dtype)
    # Order matters to sums and to sorting, not to which particles there are: radii from the level set make many escape.
    for radii, location in (("flow", "cells"), ("levelset", "nodes")):
        numbers_and_ways: Any = {"per_cell": {2: 32, 3: 8}[dimension], "radii_from": radii, "reseed_every": 2}
        options = ParticleOptions(spray=True, escaped_outside="bubbles", removal_distance=0.3, **numbers_and_ways)

        def run(options: Any = options, location: Any = location) -> list[np.ndarray]:
            p = ParticleLevelSet(g, location, dtype, options=options)
            x = p.levelset.field.coordinates()
            p.levelset.array = (np.sqrt(sum((a - c) ** 2 for a, c in zip(x, center, strict=True))) - radius).astype(dtype)
            p.seed(solid=solid)
            p.spray.append(thrown, velocity=10 * thrown, radius=np.full(len(thrown), 0.02, dtype))
            v = velocity.copy()
            numbers = []
            for _ in range(2):
                r = p.advance(v, 0.05, solid=solid)
                f = p.advance_spray(0.05, (0.0,) * (dimension - 1) + (-9.8,), solid, drag=0.5, restitution=0.3, open_sides=["y+"])
                b = p.reincorporate(v)
                s = r.seeding or p.reseed()
                numbers += [r.advected, r.corrections[1].outside, r.corrections[1].inside, r.removal.spray.count, r.removal.spray.volume]
                numbers += [f.hits, f.left.count, f.left.volume, b.spray.count, b.spray.volume, *b.momentum, s.added, s.surplus]
            assert len(p.particles) > 20000
            assert len(p.spray) > 0
            sets = [a for q in (p.particles, p.spray, p.bubbles) for a in (q.positions, q.ids, *(q[c] for c in q.columns))]
            return [p.levelset.array.copy(), *components(v), *(a.copy() for a in sets), np.array(numbers, float)]

        everywhere(run, threads=THREADS if dimension == 2 else (2, 3, 8))

"""Bitwise reproducibility of fluid operators, whatever the number of threads and the vector width."""

from typing import Any

import numpy as np
import pytest
from support.build import components, random_velocity
from support.projection import cells, nodes
from support.same_bits import THREADS, everywhere, problem

import meniscus as ms
from meniscus.fluids import (
    Emitter,
    LiquidParticles,
    LiquidSource,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    SmokeOptions,
    SmokeSolver,
    VortexParticles,
    VorticityOptions,
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
from meniscus.grid import Particles
from meniscus.numerics import FractalNoise
from meniscus.surface import KinematicSolid, Pose, Sphere


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


# Several slabs of planes on the finest levels, odd and even, periodic or not.
POISSON_SHAPES = {2: [(301, 507), (300, 500)], 3: [(41, 43, 67), (48, 40, 64)]}


@pytest.mark.fast_cases(
    "2d-f64-box-even",
    "2d-f64-cut cells-even",
    "2d-f64-drops-odd",
    "2d-f64-free surface-even",
    "2d-f64-densities-even",
    "2d-f64-regions-odd",
    "3d-f64-box-even",
    "3d-f64-free surface-odd",
    "3d-f64-cut cells-even",
    "3d-f32-box-odd",
    "3d-f32-free surface-even",
    "3d-f32-regions-even",
)
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


@pytest.mark.fast_cases("2d-*")
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


@pytest.mark.fast_cases("2d-*", "3d-f32")
def test_smoke(dimension: int, dtype: type) -> None:
    """Two steps with everything that a solver can have."""
    n = {2: 150, 3: 40}[dimension]
    middle, rest = (0.5,) * dimension, (0.0,) * (dimension - 1)
    options = SmokeOptions(
        density_weight=0.2,
        temperature_weight=3.0,
        acceleration=(0.1,) * dimension,
        vorticity=VorticityOptions(confinement=0.2, vortex_strength=0.02),
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


@pytest.mark.fast_cases("2d-*", "*-average", "*-spheres", "3d-f64-*")
@pytest.mark.parametrize("method", ["spheres", "average", "anisotropic"])
def test_surfaces_of_particles(method: Any, dimension: int, dtype: type) -> None:
    rng = np.random.default_rng(42)
    g = ms.Grid({2: (150, 140), 3: (30, 26, 35)}[dimension], 0.1, periodic=(True, False, False)[:dimension])
    n = 12_000
    points = (rng.random((n, dimension)) * g.extent * [1.0, 0.5, 0.5][:dimension]).astype(dtype)
    everywhere(lambda: particle_levelset(points, g, method=method, cover=True).array.copy(), threads=(2, 3, 5, 8))


@pytest.mark.fast_cases("2d-*")
@pytest.mark.parametrize("transfer", ["flip", "apic"])
def test_particle_liquid(transfer: Any, dimension: int, dtype: type) -> None:
    """Two steps with everything that a solver can have."""
    n = {2: 100, 3: 26}[dimension]
    rest = (0.5,) * (dimension - 1)

    def run() -> list[np.ndarray]:
        liquid = ParticleLiquidSolver(
            ms.Grid((n,) * dimension, 1 / n),
            ParticleLiquidOptions(transfer=transfer, viscosity=1e-3, particles=LiquidParticles(density_correction=True), slip="no-slip"),
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

"""Benchmark cases of particle liquids: transfers, surfaces and whole steps, beside the same transfer in NumPy and in PhiFlow."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version

import meniscus as ms
from meniscus.core import Workspace
from meniscus.fluids import (
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    PressureOptions,
    grid_to_particles,
    particle_density,
    particle_levelset,
    particles_to_grid,
)
from meniscus.grid import Particles
from meniscus.surface import Box

FULL = 96
QUICK = 12
PER_CELL = 8
DTYPES = {"float32": np.float32, "float64": np.float64}
SURFACES = ("spheres", "average", "density", "anisotropic")


def scattered(n: int, dtype: Any, *, affine: bool) -> Particles:
    """Eight particles per cell anywhere in a unit cube, in the order of the cells."""
    rng = np.random.default_rng(15)
    count = PER_CELL * n**3
    columns = {"velocity": rng.normal(size=(count, 3)).astype(dtype)}
    if affine:
        columns["affine"] = rng.normal(size=(count, 9)).astype(dtype)
    particles = Particles(rng.random((count, 3)).astype(dtype), **columns)
    particles.sort_by_cell(ms.Grid((n,) * 3, 1 / n))
    return particles


def transfer_case(n: int, dtype: str, name: str) -> Case:
    """Particles of a full grid, to it or from it. They do not move, so that the order of their cells is only checked."""
    grid = ms.Grid((n,) * 3, 1 / n)
    kind = name.split("/")[1]
    particles = scattered(n, DTYPES[dtype], affine=kind == "apic")
    velocity, space = ms.MacField(grid, DTYPES[dtype]), Workspace()
    known = particles_to_grid(particles, velocity, workspace=space)
    other = 3 * velocity.u.nbytes
    if name.startswith("to-grid"):
        run = partial(particles_to_grid, particles, velocity, known=known, workspace=space)
    elif name.startswith("density"):
        density = ms.CellField(grid, DTYPES[dtype])
        other = density.array.nbytes
        run = partial(particle_density, particles, grid, out=density, workspace=space)
    else:
        before = velocity.copy() if kind == "flip" else None
        run = partial(grid_to_particles, velocity, particles, before=before, workspace=space)
    held = particles.positions.nbytes + particles["velocity"].nbytes + (particles["affine"].nbytes if kind == "apic" else 0)
    return Case(
        name=f"particles/{dtype}/{name}",
        group="particles",
        work=len(particles),
        unit="Mparticle/s",
        run=run,
        workspace=space,
        state_bytes=held,
        other_bytes=other,
        parameters={"shape": grid.shape, "particles": len(particles), "bytes_per_particle": held / len(particles) + 8},
    )


def surface_case(n: int, dtype: str, method: str) -> Case:
    """The level set of a ball of particles that fills a quarter of the domain."""
    grid = ms.Grid((n,) * 3, 1 / n)
    particles = scattered(n, DTYPES[dtype], affine=False)
    particles.remove(np.linalg.norm(particles.positions - 0.5, axis=1) > 0.39)
    space = Workspace()
    out = particle_levelset(particles, grid, method=method, workspace=space)  # type: ignore[arg-type]
    return Case(
        name=f"particles/{dtype}/surface/{method}",
        group="particles",
        work=len(particles),
        unit="Mparticle/s",
        run=partial(particle_levelset, particles, grid, method=method, out=out, workspace=space),  # type: ignore[arg-type]
        workspace=space,
        state_bytes=particles.positions.nbytes,
        other_bytes=out.array.nbytes,
        parameters={"shape": grid.shape, "particles": len(particles)},
    )


def step_case(n: int, dtype: str, transfer: str) -> Case:
    """Steps of a dam that has been breaking for a few, always the same one."""
    options = ParticleLiquidOptions(transfer=transfer, pressure=PressureOptions(tolerance=1e-5 if dtype == "float32" else 1e-8))  # type: ignore[arg-type]
    solver = ParticleLiquidSolver(ms.Grid((n, n // 2, n // 2), 1 / n), options, dtype=DTYPES[dtype])
    solver.fill(Box((-1.0, -1.0, -1.0), (0.5, 2.0, 0.4)))
    for _ in range(4):
        solver.step(0.005)
    start = solver.snapshot()
    return Case(
        name=f"particles/{dtype}/step/{transfer}",
        group="particles",
        work=len(solver.particles),
        unit="Mparticle/s",
        run=partial(solver.step, 0.005),
        prepare=partial(solver.restore, start),
        state_bytes=solver.nbytes,
        parameters={"shape": solver.grid.shape, "particles": len(solver.particles)},
    )


def names(dtype: str) -> Iterator[tuple[str, Callable[[int], Case]]]:
    """Names of all cases, and what makes them."""
    for name in ("to-grid/pic", "to-grid/apic", "to-particles/pic", "to-particles/flip", "to-particles/apic", "density/all"):
        yield f"particles/{dtype}/{name}", partial(transfer_case, dtype=dtype, name=name)
    for method in SURFACES:
        yield f"particles/{dtype}/surface/{method}", partial(surface_case, dtype=dtype, method=method)
    for transfer in ("flip", "apic"):
        yield f"particles/{dtype}/step/{transfer}", partial(step_case, dtype=dtype, transfer=transfer)


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    n = QUICK if quick else FULL
    return [make(n) for dtype in DTYPES for name, make in names(dtype) if chosen(name)]


def numpy_transfer(positions: np.ndarray, velocities: np.ndarray, grid: ms.Grid) -> list[np.ndarray]:
    """The means of the velocities around each face, by one sum over all particles for every corner of a cell."""
    result = []
    for d in range(3):
        shape = tuple(n + (a == d) for a, n in enumerate(grid.shape))
        q = (positions - grid.origin) / grid.spacing - [0.0 if a == d else 0.5 for a in range(3)]
        q = np.clip(q, 0, np.array(shape) - 1)
        lower = np.minimum(q.astype(np.int64), np.array(shape) - 2)
        f = q - lower
        mass, momentum = np.zeros(np.prod(shape)), np.zeros(np.prod(shape))
        for corner in product((0, 1), repeat=3):
            weight = np.prod([f[:, a] if c else 1 - f[:, a] for a, c in enumerate(corner)], axis=0)
            at = np.ravel_multi_index(tuple((lower + corner).T), shape)
            mass += np.bincount(at, weight, mass.size)
            momentum += np.bincount(at, weight * velocities[:, d], mass.size)
        result.append(np.divide(momentum, mass, out=np.zeros_like(mass), where=mass > 0).reshape(shape))
    return result


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """NumPy's sums by index, and PhiFlow's points on a staggered grid, of as many particles as NumPy has the patience for."""
    n = QUICK if quick else 48
    grid, particles = ms.Grid((n,) * 3, 1 / n), scattered(n, np.float64, affine=False)
    found = []
    parameters = {"shape": grid.shape, "particles": len(particles)}

    def add(name: str, library: str, remark: str, make: Callable[[], Callable[[], Any]]) -> Peer | None:
        if not chosen(name):
            return None
        peer = Peer(name, library, "particles/float64/to-grid/pic", remark)
        found.append(peer)
        try:
            run = make()
        except ImportError as error:
            peer.unavailable = f"not importable: {error}"
            return peer
        peer.case = Case(name, "peers", len(particles), "Mparticle/s", run, threads=(1,), rounds=2, parameters=parameters)
        return peer

    numpy = add(
        "peers/numpy/particles/to-grid",
        f"NumPy {np.__version__}",
        "np.bincount for each of eight corners",
        lambda: partial(numpy_transfer, particles.positions, particles["velocity"], grid),
    )
    if numpy is not None:
        velocity = ms.MacField(grid)
        particles_to_grid(particles, velocity)
        theirs = numpy_transfer(particles.positions, particles["velocity"], grid)
        numpy.compare(np.concatenate([t.ravel() for t in theirs]), np.concatenate([velocity.component(d).ravel() for d in range(3)]))

    def phiflow() -> Callable[[], Any]:
        flow = importlib.import_module("phi.flow")
        points = flow.math.tensor(particles.positions, flow.instance("points"), flow.channel(vector="x,y,z"))
        values = flow.math.tensor(particles["velocity"], flow.instance("points"), flow.channel(vector="x,y,z"))
        cloud = flow.PointCloud(points, values)
        target = flow.StaggeredGrid(0, flow.extrapolation.ZERO_GRADIENT, flow.Box(x=1, y=1, z=1), x=n, y=n, z=n)
        return lambda: flow.field.resample(cloud, target, scatter=True).values

    add(
        "peers/phiflow/particles/to-grid",
        f"PhiFlow {version('phiflow')}",
        "scatter=True: means of the particles in the box of each face, not linear weights; NumPy",
        phiflow,
    )
    return found

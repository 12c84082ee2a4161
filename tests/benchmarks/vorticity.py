"""Benchmark cases of the vorticity methods: confinement, and vortex particles at the density of Selle 2008, Figure 3.4."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from harness import Case
from transport import World

import meniscus as ms
from meniscus.fluids import VortexParticles, add_vortex_forces, add_vorticity_confinement, advance_vortices

# About 6000 particles of radius 4 cells in 128^3 cells.
CELLS_PER_PARTICLE = 350
RADIUS = 4


def confinement_case(world: World) -> Case:
    """The force on all faces. It is too small to change the flow from call to call."""
    space = ms.core.Workspace()
    return Case(
        name=f"confinement/{world.key}",
        group="other",
        work=world.cells,
        unit="Mcell/s",
        run=partial(add_vorticity_confinement, world.velocity.copy(), 1e-6, 1e-6, workspace=space),
        workspace=space,
        state_bytes=world.velocity_bytes,
        parameters={"dtype": world.dtype, "shape": world.grid.shape},
    )


def vortex_cases(world: World) -> Iterator[Case]:
    """The forces with either kernel, balanced and as printed, and a step of the particles."""
    count = world.cells // CELLS_PER_PARTICLE
    rng = np.random.default_rng(13)
    positions = (rng.random((count, 3)) * world.grid.extent).astype(world.dtype)
    particles = VortexParticles(positions, rng.normal(size=(count, 3)).astype(world.dtype), RADIUS * world.grid.spacing)
    parameters = {"dtype": world.dtype, "particles": count, "radius": RADIUS, "shape": world.grid.shape}

    def case(name: str, run: partial[object], space: ms.core.Workspace) -> Case:
        return Case(
            name=f"vortices/{world.key}/{name}",
            group="other",
            work=count,
            unit="Mparticle/s",
            run=run,
            workspace=space,
            state_bytes=positions.nbytes + particles.vorticity.nbytes + particles.radius.nbytes,
            other_bytes=world.velocity_bytes,
            parameters=parameters,
        )

    velocity = world.velocity.copy()
    for kernel in ("gaussian", "tent"):
        for balance in (True, False):
            space = ms.core.Workspace()
            run = partial(add_vortex_forces, velocity, particles, 1e-6, 1e-12, kernel=kernel, balance=balance, workspace=space)
            yield case(f"{kernel}-{'balanced' if balance else 'printed'}", run, space)
    space = ms.core.Workspace()
    yield case("advance", partial(advance_vortices, particles.copy(), world.velocity, 1e-9, workspace=space), space)


def cases(worlds: dict[str, World]) -> Iterator[Case]:
    """All of them, in three dimensions."""
    for key in ("3d/float32", "3d/float64"):
        yield confinement_case(worlds[key])
        yield from vortex_cases(worlds[key])

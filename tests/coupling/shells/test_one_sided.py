"""What happens beyond a shell makes no difference, to the bit; and far from shells nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shells import ball, ring
from support.shells.stirred_smoke import orbit, smoke_solver

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shells.parity import inside_cells
from meniscus.fluids import TransportOptions


@pytest.mark.parametrize(("dimension", "samples"), [(2, "faces"), (3, "faces"), (2, "nodes"), (3, "nodes")])
def test_what_is_beyond_a_shell_makes_no_difference_to_the_bit(dimension: int, samples: str) -> None:
    """Velocity, smoke and heat inside of a shell are the same whatever is outside, after transport, new values and forces."""
    shape = (20, 18) if dimension == 2 else (12, 13, 12)
    motion = orbit((0.5, 0.46, 0.5)[:dimension], 0.06, 3.0)
    mesh = ring((0.0, 0.0), 0.25) if dimension == 2 else ball((0.0, 0.0, 0.0), 0.28, 1)
    results = []
    for outside in (0, 1):
        solver = smoke_solver(shape, np.float64, transport=TransportOptions(velocity_samples=samples))
        body = KinematicShell(mesh, motion)
        sim = ShellCoupling(solver, Shells(solver.grid, [body]), "one-way")
        rng = np.random.default_rng(5)
        other = np.random.default_rng(17)
        h = solver.grid.spacing
        inside = inside_cells(body.positions, body.elements, np.zeros(dimension), h, shape)
        walls = sim.shells.walls()
        peak = rng.random(shape)
        for field in (solver.density, solver.temperature):
            field.array[...] = np.where(inside, rng.random(shape), other.random(shape) if outside else peak)
        for d in range(dimension):
            u = solver.velocity.component(d)
            own = rng.random(u.shape) - 0.5
            elsewhere = 2 * (other.random(u.shape) - 0.5) if outside else own
            near = np.zeros(u.shape, bool)
            cut = tuple(slice(1, -1) if a == d else slice(None) for a in range(dimension))
            lower = tuple(slice(None, -1) if a == d else slice(None) for a in range(dimension))
            upper = tuple(slice(1, None) if a == d else slice(None) for a in range(dimension))
            near[cut] = inside[lower] & inside[upper]
            # A blocked face has one value for both sides, which is that of the shell.
            u[...] = np.where(walls.blocked_faces[d], 0.25, np.where(near, own, elsewhere))
        sim.solver.begin(0.1)
        for stage in ("move_shells", "transport", "add_forces"):
            getattr(sim, stage)(0.1)
        now = inside_cells(body.positions, body.elements, np.zeros(dimension), h, shape)
        parts = [field.array[now] for field in (solver.density, solver.temperature)]
        for d in range(dimension):
            cut = tuple(slice(1, -1) if a == d else slice(None) for a in range(dimension))
            lower = tuple(slice(None, -1) if a == d else slice(None) for a in range(dimension))
            upper = tuple(slice(1, None) if a == d else slice(None) for a in range(dimension))
            u = solver.velocity.component(d)[cut]
            parts.append(u[now[lower] & now[upper] & ~sim._end.blocked_faces[d][cut]])
        results.append(np.concatenate([p.ravel() for p in parts]))
    assert len(results[0]) > 50
    assert np.array_equal(results[0], results[1])


@pytest.mark.parametrize("method", ["semi-lagrangian", "maccormack", "bfecc"])
def test_far_from_shells_all_bits_are_those_of_the_plain_transport(method: Any) -> None:
    grid = ms.Grid((40, 20, 20), 0.05)
    walls = Shells(grid, [KinematicShell(ball((0.3, 0.5, 0.5), 0.2, 2))]).walls()
    rng = np.random.default_rng(3)
    velocity = ms.MacField(grid, np.float64)
    for d in range(3):
        u = velocity.component(d)
        u[...] = rng.random(u.shape) - 0.5
    plain, guarded = ms.CellField(grid, np.float64), ms.CellField(grid, np.float64)
    plain.array[...] = guarded.array[...] = rng.random((40, 20, 20))
    ms.fluids.advect(plain, velocity, 0.2, method=method)
    ms.fluids.advect(guarded, velocity, 0.2, method=method, visibility=ms.grid.Visibility(walls=walls))
    differs = plain.array != guarded.array
    # Ways of two cells, twice there and back, and the stencils.
    assert not differs[walls.clearance() > 10].any()
    assert differs[walls.clearance() <= 2].any()
    assert (walls.clearance() > 10).sum() > 1000


@pytest.mark.parametrize("samples", ["faces", "nodes"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_what_is_in_a_shell_across_the_end_of_an_axis_that_closes_makes_no_difference_outside(dimension: int, samples: Any) -> None:
    """Also on ways of many cells that leave the domain at once, and to vorticity on both sides of that end."""
    n = (20, 18) if dimension == 2 else (11, 11, 11)
    h, middle = 1 / n[0], np.array([0.34, 0.47] if dimension == 2 else [0.0, 0.47, 0.52])
    mesh = ring((0.34, 0.47), 0.26, 200) if dimension == 2 else ball((0.0, 0.47, 0.52), 0.26, 3)

    def far(on_side: tuple[int, ...]) -> np.ndarray:
        places = [(np.arange(k + s) + 0.5 * (1 - s)) * h - c for k, s, c in zip(n, on_side, middle, strict=True)]
        places[0] -= np.round(places[0])
        return np.sqrt(sum(x**2 for x in np.meshgrid(*places, indexing="ij", sparse=True)))

    for seed, cells in ((0, 10.0), (1, 1.0)):
        results = []
        for other in (0, 1):
            grid = ms.Grid(n, h, periodic=(True, False, False)[:dimension])
            method: Any = ("maccormack", "semi-lagrangian")[seed]
            options = ms.fluids.SmokeOptions(
                transport=ms.fluids.TransportOptions(method=method, trace="euler", velocity_samples=samples),
                vorticity=ms.fluids.VorticityOptions(confinement=0.3),
            )
            solver = ms.fluids.SmokeSolver(grid, options, dtype=np.float64)
            sim = ShellCoupling(solver, Shells(grid, [KinematicShell(mesh)]), "one-way")
            rng, within = np.random.default_rng(seed), np.random.default_rng(50 + other)
            speed = cells * h / 0.01
            keep = []
            for d in range(dimension):
                u, blocked = solver.velocity.component(d), sim.walls.blocked_faces[d]
                r = far(tuple(int(a == d) for a in range(dimension)))
                u[...] = np.where(blocked, 0.0, speed * np.where(r > 0.25, rng.uniform(-1, 1, u.shape), within.uniform(-1, 1, u.shape)))
                # The fastest, a face of the outside, is the same.
                u[tuple(k // 2 for k in n)] = 1.01 * speed
                keep.append((r > 0.26) & ~blocked)
            solver.velocity.u[0] = solver.velocity.u[-1]
            solver.begin(0.01)
            for stage in ("move_shells", "transport", "add_forces"):
                getattr(sim, stage)(0.01)
            results.append(np.concatenate([solver.velocity.component(d)[mask] for d, mask in enumerate(keep)]))
        assert np.array_equal(results[0], results[1])

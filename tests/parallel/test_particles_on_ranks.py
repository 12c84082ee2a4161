"""Points and particle liquids on ranks have the bits of one rank, on blocks of every division."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from parallel import particle_programs as programs
from parallel.particle_programs import Arrays, everywhere, liquid

import meniscus as ms
from meniscus.fluids import (
    LiquidOptions,
    LiquidParticles,
    LiquidSolver,
    ParticleLiquidOptions,
    ParticleLiquidSolver,
    PressureOptions,
    VortexParticles,
    add_vortex_forces,
)
from meniscus.numerics import order_free_sums
from meniscus.surface import Box, Sphere

CUTS: list[dict[int, tuple[int, ...]]] = [
    {2: (2, 1), 3: (1, 1, 2)},
    {2: (1, 3), 3: (3, 1, 1)},
    {2: (2, 2), 3: (1, 2, 2)},
    {2: (4, 2), 3: (2, 2, 2)},
]


def poisoned(program: Any, *arguments: Any, **options: Any) -> Any:
    """Return a program of one rank, with poisoned ghosts."""

    def run() -> Any:
        ms.parallel.communicator.default().poison_ghosts()
        return program(*arguments, **options)

    return run


def require_same(found: Arrays, expected: Arrays) -> None:
    """Require the same bits."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name


@cache
def alone(name: str) -> Arrays:
    return programs.PROGRAMS[name]()


@pytest.mark.fast_cases("particle liquids-2x2", "particle transfers-2x2", "p[lou]*", "replicated particles-*")
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: "x".join(map(str, cut[2])))
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_bits_of_one_rank(name: str, cut: dict[int, tuple[int, ...]]) -> None:
    def make(shape: tuple[int, ...], *arguments: Any, **options: Any) -> ms.Grid:
        return ms.Grid(shape, *arguments, blocks=cut[len(shape)], **options)

    found, *_ = ms.parallel.run_threads(int(np.prod(cut[2])), poisoned(programs.PROGRAMS[name], make))
    require_same(found, alone(name))


def _dam_break(shape: tuple[int, ...], steps: int, **options: Any) -> Arrays:
    grid = ms.Grid(shape, 1 / shape[0])
    liquid = ParticleLiquidSolver(grid, ParticleLiquidOptions(pressure=PressureOptions(tolerance=1e-13), **options))
    liquid.fill(Box((0.0,) * grid.dimension, (0.4, 0.6, 1.0)[: grid.dimension]))
    reports = [liquid.step(0.01) for _ in range(steps)]
    numbers = np.array([[r.particles, r.volume, r.kinetic_energy, r.max_speed, r.projection.iterations] for r in reports])
    result = {"numbers": numbers, **everywhere(liquid.particles, grid)}
    for name, field in (("pressure", liquid.pressure), ("level set", liquid.levelset.field), ("velocity", liquid.velocity)):
        parts = field.gather()
        for d, part in enumerate(parts if isinstance(parts, tuple) else () if parts is None else (parts,)):
            result[f"{name} {d}"] = part
    return result


@pytest.mark.slow
@pytest.mark.parametrize("transfer", ["flip", "apic"])
def test_dam_break(transfer: str) -> None:
    """Fifty steps have the bits of one rank; with the sums of a single process, they are the same to 1e-10."""
    program = poisoned(_dam_break, (24, 18), 50, transfer=transfer)
    with order_free_sums():
        expected = program()
    for count in (2, 3, 8):
        found, *_ = ms.parallel.run_threads(count, program)
        require_same(found, expected)
    plain = program()
    for name, array in plain.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-10, atol=1e-10 * np.abs(array).max(initial=1e-300))


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 4, 8])
@pytest.mark.parametrize("transfer", ["flip", "apic"])
def test_long_dam_break(transfer: str, count: int) -> None:
    program = poisoned(_dam_break, (20, 16, 18), 50, transfer=transfer, particles=LiquidParticles(density_correction=True))
    with order_free_sums():
        expected = program()
    require_same(ms.parallel.run_threads(count, program)[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("transfer", ["flip", "apic", "pic"])
def test_liquids_of_all_kinds(transfer: str, periodic: bool, dimension: int, dtype: type) -> None:
    """Sources, drains, a moving solid, an open side, density correction and viscosity, on 1-D, 2-D and 3-D divisions."""
    shape = {2: (33, 27), 3: (17, 15, 13)}[dimension]

    def program(blocks: Any = None) -> Arrays:
        grid = ms.Grid(shape, 0.05, periodic=(False, periodic, False)[:dimension], blocks=blocks)
        options: dict[str, Any] = {
            "boundary": {"x+": ms.Open()},
            "particles": LiquidParticles(density_correction=True),
            "viscosity": 1e-3,
            "slip": "no-slip",
        }
        return liquid(grid, dtype, transfer=transfer, steps=4, **options)

    with order_free_sums():
        expected = program()
    for cut in CUTS:
        found, *_ = ms.parallel.run_threads(int(np.prod(cut[dimension])), poisoned(program, cut[dimension]))
        require_same(found, expected)


@pytest.mark.filterwarnings("ignore:a step of:meniscus.core.SolverWarning")  # it jumps on purpose
def test_a_drop_passes_empty_blocks() -> None:
    """Blocks without particles, and a drop that jumps over several blocks in one step; every particle is there once."""

    def program() -> Arrays:
        grid = ms.Grid((64, 16), 0.1, periodic=(True, False), blocks=(grid_blocks[0], 1))
        solver = ParticleLiquidSolver(grid, ParticleLiquidOptions(gravity=(0.0, 0.0)))
        count = solver.fill(Sphere((0.8, 0.8), 0.25), velocity=(12.0, 0.5))
        x = []
        for _ in range(4):
            solver.step(0.15)
            whole = everywhere(solver.particles, grid)
            assert len(whole["id"]) == count == solver.report.particles
            x.append(whole["position"])
        return {"positions": np.array(x), **whole}

    grid_blocks = [1]
    with order_free_sums():
        expected = program()
    assert np.abs(np.diff(expected["positions"][:, :, 0], axis=0)).max() > 1.7  # cells of 0.1 m, blocks of 8
    grid_blocks = [8]
    require_same(ms.parallel.run_threads(8, poisoned(program))[0], expected)


@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_traces_from_walls_that_are_faster_than_the_flow(cfl: float, dimension: int) -> None:
    """A lid above a fluid at rest, and one that nearly is: boundary values carry traces through several blocks."""
    shape = {2: (40, 24), 3: (21, 8, 17)}[dimension]
    lid = ms.Wall(velocity=(1.0, *[0.0] * (dimension - 1)), slip="no-slip")

    def program(blocks: Any = None) -> Arrays:
        grid = ms.Grid(shape, 0.1, blocks=blocks)
        velocity = ms.MacField(grid, boundary={"y+": lid, "x-": ms.Prescribed(lambda x, t: np.cos(3 * x + t))})
        velocity.component(0)[...] = 1e-3
        velocity.enforce_boundary()
        points = programs.own_part(grid, np.random.default_rng(1).random((200, dimension)) * np.array(shape) * grid.spacing)
        ms.grid.trace(points, velocity, cfl * grid.spacing)
        ms.grid.advect(velocity, velocity, cfl * grid.spacing, method="maccormack")
        parts = {f"velocity {d}": u for d, u in enumerate(velocity.gather() or ())}
        return {"points": programs.put_together(grid, points), **parts}

    for cut in CUTS:
        found, *_ = ms.parallel.run_threads(int(np.prod(cut[dimension])), poisoned(program, cut[dimension]))
        require_same(found, program())


def test_particles_that_ranks_add_on_their_own_get_different_ids() -> None:
    def program() -> np.ndarray:
        grid = ms.Grid((32, 8), 0.1)
        rank = grid.comm.rank
        particles = ms.Particles(np.full((3, 2), 0.1), number=np.arange(3), replicated=True)
        particles.append(np.full((2 + rank, 2), 3.0 - rank), number=10 + rank)
        particles.migrate(grid)
        particles.append(np.full((1, 2), 0.5), number=20 + rank)
        particles.migrate(grid)
        whole = everywhere(particles, grid)
        return np.column_stack([whole["id"], whole["number"]])

    (found, *_) = ms.parallel.run_threads(3, program)
    numbers = [0, 1, 2, *[10] * 2, *[11] * 3, *[12] * 4, 20, 21, 22]
    np.testing.assert_array_equal(found, np.column_stack([np.arange(len(numbers)), numbers]))


def test_bad_particles_of_one_rank_are_refused_on_all() -> None:
    def program() -> None:
        grid = ms.Grid((24, 8), 0.1)
        solver = ParticleLiquidSolver(grid)
        solver.fill(Box((0.0, 0.0), (2.4, 0.4)))
        before = solver.particles.positions.copy()
        if grid.comm.rank == 1:
            solver.particles["velocity"][3] = np.nan
        with pytest.raises(ms.parallel.RankError, match="rank 1 failed: ValueError: velocities"):
            solver.set_particles()
        with pytest.raises(ms.parallel.RankError, match="rank 1 failed"):
            solver.step(0.01)
        np.testing.assert_array_equal(solver.particles.positions, before)
        if grid.comm.rank == 1:
            solver.particles["velocity"][3] = 0.0
        solver.step(0.01)

    ms.parallel.run_threads(3, program)


def test_other_operators_say_where_particles_belong() -> None:
    def program() -> None:
        grid = ms.Grid((24, 8), 0.1)
        particles = ms.Particles(np.full((1, 2), 0.1), velocity=np.zeros((1, 2)))
        with grid.agreement():
            ms.fluids.particle_density(particles, grid)

    with pytest.raises(ms.parallel.RankError, match="particle 0 lies outside of the block that has it; migrate"):
        ms.parallel.run_threads(2, program)


def spun(shape: tuple[int, ...], dtype: type, migrate: bool) -> list[bytes]:
    """Return a velocity after the forces of vortex particles that do not come in the order of their cells."""
    grid, dimension = ms.Grid(shape, 0.1, periodic=(True, *[False] * (len(shape) - 1))), len(shape)
    rng = np.random.default_rng(70)
    x = (rng.random((60, dimension)) * grid.extent).astype(dtype)
    w = rng.normal(size=(60, 3) if dimension == 3 else 60).astype(dtype)
    vortices = VortexParticles(x, w, 0.35, replicated=True, grid=grid)
    if migrate:
        vortices.migrate(grid)
    velocity = ms.MacField(grid, dtype)
    add_vortex_forces(velocity, vortices, 0.1, 0.5)
    whole = velocity.gather()
    return [] if whole is None else [component.tobytes() for component in whole]


@pytest.mark.parametrize("shape", [(23, 17), (13, 12, 9)])
def test_vortex_particles_act_in_the_order_of_their_ids(shape: tuple[int, ...], dtype: type) -> None:
    expected = spun(shape, dtype, False)
    assert spun(shape, dtype, True) == expected
    for count in (2, 3):
        assert ms.parallel.run_threads(count, spun, shape, dtype, True)[0] == expected, count


def test_points_just_below_a_sample_and_beyond_a_period() -> None:
    """In float32 the place in the cell is one, and the block of the image, far away, answers by its slow path."""
    points = np.array([[12.000001, 2.0], [12.000001, 5.5], [-1e-6, 7.0], [11.5, 4.0], [12.000001, 0.0]])
    points = np.column_stack([points, np.full(len(points), 1.25)]).astype(np.float32)

    def run() -> bytes:
        # Less than the rounding unit of float32 beside 1: the points are 2 - 2e-8 cells from the origin, and so on.
        grid = ms.Grid((12, 8, 4), 1.0, periodic=True, origin=(0.0, 2e-8, 0.0))
        u = ms.MacField.from_function(grid, lambda p, t: np.sin(7 * p + p[:, ::-1] ** 2), dtype=np.float32)
        q = ms.CellField.from_function(grid, lambda a, b, c: np.sin(7 * a + b**2) + c, dtype=np.float32)
        n = ms.NodeField.from_function(grid, lambda a, b, c: np.sin(7 * a + b**2) + c, dtype=np.float32)
        return b"".join(ms.grid.sample(f, points).tobytes() for f in (u, q, n))

    alone = run()
    assert ms.parallel.run_threads(2, run) == [alone] * 2


def poured() -> tuple[list[int], list[list[float]]]:
    """Return ids and places of markers after drops from two cells, which came in another order, have filled a third one."""
    grid = ms.Grid((16, 12), 0.1)
    options = LiquidOptions(gravity=(0.0, 0.0), gather=True, tolerance=1e-9, drift_correction=False)
    solver = LiquidSolver(grid, options)
    solver.fill(Box((-1.0, -1.0), (3.0, 0.3)))
    rng = np.random.default_rng(71)
    count = 24
    left = np.arange(count) >= count // 2
    x = np.where(left[:, None], [0.75, 0.85], [0.95, 0.85]) + 0.02 * rng.random((count, 2))
    v = np.where(left[:, None], [1.3, 0.0], [-0.7, 0.0])
    volumes = np.full(count, 1.5 * 0.01 / count)
    solver.add_drops(x, v, volumes)
    assert solver.particles is not None
    solver.particles.spray.migrate(grid)  # sorts on one rank: the drops of the left cell, which have the larger ids, come first
    for _ in range(3):
        solver.step(0.05)
    assert len(solver.particles.spray) == 0
    p = solver.particles.particles
    parts = grid.comm.gather((p.ids.tolist(), p.positions.tolist()))
    ids, places = (np.concatenate([np.asarray(part[k]) for part in parts if part[0]]) for k in (0, 1))
    order = np.argsort(ids)
    return ids[order].tolist(), places[order].tolist()


def test_drops_that_fill_a_cell_are_numbered_by_cell_and_id() -> None:
    with order_free_sums():
        alone = poured()
    for count in (2, 4):
        assert ms.parallel.run_threads(count, poured)[0] == alone, count


def absorbed(periodic: bool) -> tuple[list[float], list[bytes]]:
    """Return the momentum of drops that a pool absorbs, and the velocities of the pool after that."""
    grid = ms.Grid((16, 12), 0.1, periodic=(periodic, False))
    solver = LiquidSolver(grid, LiquidOptions(gravity=(0.0, 0.0)))
    solver.fill(Box((-1.0, -1.0), (3.0, 0.8)))
    rng = np.random.default_rng(72)
    x = rng.random((80, 2)) * [1.6, 0.75]
    solver.add_drops(x, rng.standard_normal((80, 2)), np.full(80, 1e-3))
    assert solver.particles is not None
    solver.particles.spray.migrate(grid)
    joined = solver.rejoin(1e-6, expand=False)
    assert joined.count == 80
    return list(joined.momentum), [u.tobytes() for u in solver.velocity.gather() or ()]


@pytest.mark.parametrize("periodic", [False, True])
def test_faces_of_other_blocks_take_their_part_of_a_drop(periodic: bool) -> None:
    with order_free_sums():
        alone = absorbed(periodic)
    for count in (2, 4):
        assert ms.parallel.run_threads(count, absorbed, periodic)[0] == alone, count

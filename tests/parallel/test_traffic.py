"""Messages, bytes and rounds of operators equal the closed forms of docs/parallel.md, on random domains and cuts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from parallel.message_counts import BINNED_SUM, EXACT_SUM, Arrays, Count, Cut, faces, sent

import meniscus as ms
from meniscus.fluids import (
    VortexParticles,
    add_vortex_forces,
    add_vorticity_confinement,
    enstrophy,
    kinetic_energy,
    vorticity,
)

Check = Callable[[ms.Grid, Cut, np.random.Generator], Iterator[tuple[str, Callable[[], object], Count]]]
TYPES = {4: np.float32, 8: np.float64}


def random_grid(rng: np.random.Generator, size: int) -> ms.Grid:
    """A random domain, cut at random places into so many blocks; the same on all ranks that have the same generator."""
    dimension = int(rng.integers(2, 4))
    counts = [1] * dimension
    for factor in {2: [2], 3: [3], 4: [2, 2], 6: [3, 2], 8: [2, 2, 2]}[size]:
        counts[int(rng.integers(dimension))] *= factor
    cells = tuple(tuple(int(c) for c in rng.integers(4, 9, n)) for n in counts)
    return ms.Grid(
        tuple(sum(c) for c in cells),
        0.1,
        periodic=tuple(bool(p) for p in rng.integers(0, 2, dimension)),
        blocks=cells,  # type: ignore[arg-type]
    )


def field_of(grid: ms.Grid, rng: np.random.Generator, item: int) -> tuple[ms.CellField | ms.NodeField, Arrays]:
    """A scalar field in cells or on nodes."""
    nodes = bool(rng.integers(2))
    kind = ms.NodeField if nodes else ms.CellField
    field = kind.from_function(grid, lambda *x: np.sin(sum(x)), dtype=TYPES[item])
    return field, [((int(nodes),) * grid.dimension, item)]


def velocity_of(grid: ms.Grid, item: int) -> ms.MacField:
    """A velocity with components up to about 1 m/s."""
    return ms.MacField.from_function(
        grid, lambda x, t: np.stack([np.sin(3 * x[:, d - 1] + d) for d in range(grid.dimension)], axis=1), dtype=TYPES[item]
    )


def exchanges(grid: ms.Grid, cut: Cut, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], object], Count]]:
    item, other = rng.permutation([4, 8]).tolist() if grid.dimension == 3 else (8, 8)
    field, place = field_of(grid, rng, item)
    velocity, width = velocity_of(grid, other), int(rng.integers(1, 4))
    components = faces(grid.dimension, other)
    ms.parallel.exchange([field, velocity], width)  # plans are kept
    yield "exchange", lambda: ms.parallel.exchange([field, velocity], width), cut.exchange([*place, *components], width)
    yield "fill_ghosts", field.fill_ghosts, cut.halo(place)
    yield "fill_ghosts of a velocity", velocity.fill_ghosts, cut.halo(components)


def reductions(grid: ms.Grid, cut: Cut, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], object], Count]]:
    field, place = field_of(grid, rng, 8)
    velocity = velocity_of(grid, 8)
    yield "sum", field.sum, cut.reduce(EXACT_SUM)
    yield "max", field.max, cut.reduce(16)
    yield "max_speed", lambda: ms.grid.max_speed(velocity), cut.reduce(8)
    yield "kinetic_energy", lambda: kinetic_energy(velocity), cut.reduce(grid.dimension * BINNED_SUM)
    root = int(rng.integers(cut.size))

    def window(rank: int) -> list[range]:
        return [range(n + s if rank == root else 0) for n, s in zip(grid.shape, place[0][0], strict=True)]

    yield "gather", lambda: ms.parallel.gather(field, root), cut.boxes(window, place[0][0], 8, planned=False)


def transport(grid: ms.Grid, cut: Cut, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], object], Count]]:
    item = int(rng.choice([4, 8])) if grid.dimension == 3 else 8
    components = faces(grid.dimension, item)
    passes = {"semi-lagrangian": 1, "upwind": 1, "maccormack": 2, "bfecc": 3}
    for method, number in passes.items():
        for cfl in (0.4, 2.5, 5.3):
            field, place = field_of(grid, rng, item)
            velocity = velocity_of(grid, item)
            dt = cfl * grid.spacing / ms.grid.max_speed(velocity)
            expected = cut.reduce(16) + cut.halo(components)
            if cfl > 2:
                # Whether a side gives more speed farther out.
                expected += cut.reduce(8)
            if method == "upwind":
                expected += cut.reduce(8)
                number = ms.grid.advect(field.copy(), velocity, dt, method="upwind").substeps
            else:
                for component in components:
                    # Midpoints of traces, half a cell from samples of the same place.
                    expected += cut.far(component, math.floor(0.5 * cfl + 0.5) + 1)
                # The windows of a field are planned with its first pass.
                expected += cut.far(place[0], math.floor(cfl) + 1)
                expected += (number - 1) * cut.far(place[0], math.floor(cfl) + 1, planned=True)
            expected += number * cut.halo(place)
            yield f"{method} {cfl}", lambda f=field, v=velocity, m=method, h=dt: ms.grid.advect(f, v, h, method=m), expected  # type: ignore[misc]
    field, place = field_of(grid, rng, item)
    velocity = velocity_of(grid, item)
    dt = 0.5 * grid.spacing / ms.grid.max_speed(velocity)
    mask = [(place[0][0], 1)]
    seen = ms.grid.Visibility(active=field.array > 0, visible=field.array > -0.5, first_order=field.array > 0.5)
    expected = cut.reduce(16) + cut.halo(components) + 3 * cut.halo(mask) + 2 * cut.halo(place)
    yield "masks", lambda: ms.grid.advect(field, velocity, dt, method="maccormack", visibility=seen), expected
    own = cut.reduce(16) + cut.halo(components)
    for component in components:
        own += 2 * cut.halo([component])
    yield "velocity", lambda: ms.grid.advect(velocity, velocity, dt, method="maccormack"), own


def extrapolation(grid: ms.Grid, cut: Cut, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], object], Count]]:
    field, place = field_of(grid, rng, 8)
    marks = (place[0][0], 1)
    center = [n * grid.spacing / 2 for n in grid.shape]
    known = (
        type(field).from_function(grid, lambda *x: sum((a - c) ** 2 for a, c in zip(x, center, strict=True))).array
        < (2 * grid.spacing) ** 2
    )
    layers = int(rng.integers(1, 3))
    # Values and marks come first, values last; each layer asks whether there is one, and brings both.
    expected = cut.halo([*place, marks]) + layers * (cut.reduce(8) + cut.halo([*place, marks])) + cut.halo(place) + cut.reduce(8)
    yield "extrapolate", lambda: ms.grid.extrapolate(field, known, layers=layers), expected


def vortices(grid: ms.Grid, cut: Cut, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], object], Count]]:
    item = int(rng.choice([4, 8])) if grid.dimension == 3 else 8
    velocity = velocity_of(grid, item)
    components = faces(grid.dimension, item)
    yield "vorticity", lambda: vorticity(velocity), cut.halo(components)
    yield "enstrophy", lambda: enstrophy(velocity), cut.halo(components) + cut.reduce(BINNED_SUM)
    # The largest vorticity and the largest speed.
    confined = 2 * cut.halo(components) + 2 * cut.reduce(8)
    yield "confinement", lambda: add_vorticity_confinement(velocity, 0.1, 0.3), confined
    first, shape = np.array(grid.first_cell), np.array(grid.local_shape)
    own = np.random.default_rng(cut.rank)
    count = int(own.integers(0, 5))
    positions = grid.spacing * (first + own.random((count, grid.dimension)) * shape)
    spin = own.normal(size=(count, 3) if grid.dimension == 3 else count)
    particles = VortexParticles(positions.astype(TYPES[item]), spin.astype(TYPES[item]), 2 * grid.spacing)
    counts = grid.comm.gather(count)
    # Of each: id, position and radius as doubles, strength and mean in the type of the velocity.
    width = 3 if grid.dimension == 3 else 1
    known = 8 + 8 * -(-((grid.dimension + 1) * 8 + item * width) // 8) + item * grid.dimension
    known = -(-known // 8) * 8
    expected = cut.gathered_list(count, counts, known) + cut.halo(components)
    yield "vortex forces", lambda: add_vortex_forces(velocity, particles, 0.1, 0.1), expected


def particles(grid: ms.Grid, cut: Cut, rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], object], Count]]:
    size = np.array(grid.shape) * grid.spacing
    own = np.random.default_rng([7, cut.rank])
    p = ms.Particles(own.random((20, grid.dimension)) * size, mass=np.ones(20))
    cells = np.floor(p.positions / grid.spacing).astype(int)
    starts = [np.cumsum([0, *c])[:-1] for c in cut.cells]
    places = [np.searchsorted(starts[d], cells[:, d], side="right") - 1 for d in range(grid.dimension)]
    to = np.ravel_multi_index(places, cut.counts)
    row = 8 * grid.dimension + 8 + 8
    leaving = [int((to == r).sum()) if r != cut.rank else 0 for r in range(cut.size)]
    table = grid.comm.gather(leaving)
    # Who is where, what the particles have and how many move; then to whom how many bytes go: to as many as touch a block at once.
    most = max(sum(n > 0 for n in line) for line in table)
    first = min(cut.size - 1, 26)
    assert most <= first
    announced = cut.gather(8 * grid.dimension + 5 * 8)
    moved = Count(sum(n > 0 for n in leaving), row * sum(leaving), int(any(line[cut.rank] for line in table)))
    expected = announced + (cut.gather(16 * (first + 1)) + moved if most > 0 else Count())
    yield "migrate", lambda: p.migrate(grid), expected
    yield "migrate where no particle moves", lambda: p.migrate(grid), announced
    # Up to a layer beyond the block, also beyond the domain, its own ghosts answer; whether they do is asked in the round that says
    # how far points lie outside of the domain.
    field, place = field_of(grid, rng, 8)
    near = np.array(grid.first_cell) - 0.9 + own.random((20, grid.dimension)) * (np.array(grid.local_shape) + 1.8)
    inside = cut.halo(place) + cut.reduce(16)
    yield "sample", lambda: ms.grid.sample(field, near * grid.spacing), inside
    velocity = velocity_of(grid, 8)
    yield "sample of a velocity", lambda: ms.grid.sample(velocity, near * grid.spacing), cut.halo(faces(grid.dimension, 8)) + cut.reduce(16)


OPERATORS: dict[str, Check] = {
    "exchanges": exchanges,
    "reductions": reductions,
    "transport": transport,
    "extrapolation": extrapolation,
    "vortices": vortices,
    "particles": particles,
}


@pytest.mark.fast_cases("*-reductions", "*-exchanges", "*-vortices", "*-particles", "*-extrapolation", "[23]-transport")
@pytest.mark.parametrize("operators", OPERATORS)
@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_operators_send_what_their_closed_form_says(size: int, operators: str) -> None:
    def program(seed: int) -> list[str]:
        rng = np.random.default_rng([seed, size])
        with ms.parallel.ranks(None) as comm:
            grid = random_grid(rng, comm.size)
            cut, wrong = Cut(grid), []
            for name, work, expected in OPERATORS[operators](grid, cut, rng):
                found = sent(work, comm)
                if found != expected:
                    wrong.append(f"seed {seed}, rank {comm.rank}, {grid}, {grid.blocks}: {name} sends {found}, not {expected}")
            return wrong

    for seed in range(4):
        assert [line for lines in ms.parallel.run_threads(size, program, seed) for line in lines] == []


@pytest.mark.fast_cases("[234]")
@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_an_iteration_of_a_solve_sends_what_its_closed_form_says(size: int) -> None:
    """On a domain so small that every rank has the coarser levels, and the residual on the finest one, of all blocks."""

    def program(seed: int) -> tuple[list[Count], Count]:
        grid = random_grid(np.random.default_rng([seed, size]), size)
        grid = ms.Grid(grid.shape, 0.1, blocks=grid.blocks)
        solver, sides, counts = ms.fluids.PressureSolver(grid), {"x-": ms.grid.Open()}, []
        for iterations in (1, 2, 3, 4):
            velocity = ms.MacField.from_function(grid, lambda x, t: np.sin(3 * x[:, ::-1]) + x, boundary=sides)
            options: Any = {"tolerance": 1e-15, "max_iterations": iterations, "raise_on_failure": False, "solver": solver}
            # What is kept from call to call is sent with the first one.
            ms.fluids.project(velocity.copy(), 0.1, **options)
            counts.append(sent(lambda v=velocity, o=options: ms.fluids.project(v, 0.1, **o), grid.comm))  # type: ignore[misc]
        cut, cells = Cut(grid), int(np.prod(grid.local_shape))
        one = cut.halo([((0,) * grid.dimension, 8)], 1, corners=False) + 3 * cut.reduce(BINNED_SUM)
        return counts, one + Count(size - 1, (size - 1) * 4 * cells, 1)

    for seed in range(3):
        for counts, one in ms.parallel.run_threads(size, program, seed):
            for fewer, more in pairwise(counts):
                assert more == fewer + one


def test_one_rank_sends_nothing() -> None:
    grid = ms.Grid((12, 10), 0.1, periodic=(True, False))
    cut = Cut(grid)
    for name, operators in OPERATORS.items():
        for what, work, expected in operators(grid, cut, np.random.default_rng(3)):
            found: Any = sent(work, grid.comm)
            assert found == expected == Count(), (name, what)

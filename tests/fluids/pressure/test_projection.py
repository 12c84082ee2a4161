"""Divergence after a projection, and velocities that a projection must not change."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from support.build import components, random_velocity, same_bits
from support.poisson import PlainPoisson
from support.projection import cells, fluid_parts, nodes, open_faces, remaining_divergence, set_faces

import meniscus as ms
from meniscus.fluids import PressureSolver, divergence, project
from meniscus.surface import SolidSample


def moving(velocity: ms.MacField, phi: Callable[..., np.ndarray], speed: Callable[..., Any]) -> SolidSample:
    """A solid with a velocity of its own."""
    sample = SolidSample(velocity.grid, velocity.dtype)
    sample.levelset.array = nodes(velocity.grid, phi).array
    set_faces(sample.velocity, speed)
    return sample


@dataclass(frozen=True)
class Case:
    shape: dict[int, tuple[int, ...]] = field(default_factory=lambda: {2: (37, 29), 3: (17, 13, 19)})
    periodic: Any = False
    boundary: Callable[[int], Any] = lambda dimension: None
    solid: Callable[..., np.ndarray] | None = None
    liquid: Callable[..., np.ndarray] | None = None
    regions: int | None = 1


def ball(radius: float, centre: float = 0.5) -> Callable[..., np.ndarray]:
    return lambda *x: np.sqrt(sum((c - centre) ** 2 for c in x)) - radius


def slabs(*places: float, half: float = 0.03) -> Callable[..., np.ndarray]:
    return lambda x, *y: np.min([np.abs(x - p) - half for p in places], axis=0)


def speeds(dimension: int) -> tuple[float, ...]:
    return (0.5, -0.25, 0.125)[:dimension]


H2, H3 = 1 / 37, 1 / 17
CASES = {
    "closed box": Case(),
    "one cell": Case({2: (1, 1), 3: (1, 1, 1)}, regions=0),
    "one row": Case({2: (1, 40), 3: (1, 1, 40)}),
    "even": Case({2: (32, 48), 3: (16, 24, 8)}),
    "prime": Case({2: (53, 31), 3: (11, 13, 17)}),
    "long": Case({2: (200, 3), 3: (3, 101, 4)}),
    "periodic": Case(periodic=True),
    "periodic along one axis": Case(periodic=(False, True, False)),
    "two regions": Case(solid=slabs(0.4), regions=2),
    "five regions": Case(solid=slabs(0.2, 0.4, 0.6, 0.8, half=0.031), regions=5),
    "two periodic regions": Case(periodic=True, solid=slabs(0.3, 0.7), regions=2),
    "a body near a wall": Case(solid=lambda x, *y: np.maximum(np.abs(x - 0.2), np.abs(y[0] - 0.4)) - 0.16),
    "a thin slab": Case(solid=lambda x, y, *z: np.maximum(np.abs(x - 0.5) - 0.03, y - 0.5)),
    "ball": Case(solid=ball(0.22)),
    "in a ball": Case(solid=lambda *x: 0.38 - ball(0.0, 0.4)(*x)),
    "inflow and outflow": Case(boundary=lambda d: {"x-": ms.Prescribed(speeds(d)), "x+": ms.Open(2.0)}, solid=ball(0.15, 0.4)),
    "no gradient": Case(boundary=lambda d: {"y-": ms.ZeroGradient(), "y+": ms.ZeroGradient()}),
    "all open": Case(boundary=lambda d: ms.Open()),
    "moving walls": Case(boundary=lambda d: {"x-": ms.Wall(speeds(d)), "x+": ms.Wall(speeds(d), "no-slip")}),
    "inflow by a function": Case(
        boundary=lambda d: {"y-": ms.Prescribed(lambda x, t: np.sin(5 * x[:, :1]) + np.zeros(d)), "y+": ms.Open()},
        periodic=(True, False, False),
    ),
    "liquid below air": Case(liquid=lambda x, y, *z: y < 0.4 + 0.1 * np.sin(7 * x)),
    "drops": Case(liquid=lambda *x: np.random.default_rng(5).random(x[0].shape) < 0.6, regions=None),
    "liquid around a ball": Case(liquid=lambda x, y, *z: y < 0.5, solid=ball(0.2), regions=1),
}


def make(case: Case, dimension: int, dtype: Any) -> tuple[ms.MacField, dict]:
    grid = ms.Grid(case.shape[dimension], 1 / max(case.shape[dimension][0], 8), periodic=case.periodic)
    velocity = random_velocity(grid, dtype, np.random.default_rng(17), case.boundary(dimension))
    options: dict = {}
    if case.solid:
        options["solid"] = nodes(grid, case.solid)
    if case.liquid:
        options["liquid"] = cells(grid, case.liquid).array.astype(bool)
    return velocity, options


@pytest.mark.parametrize("name", CASES)
def test_divergence_is_gone(name: str, dimension: int, dtype: type) -> None:
    case = CASES[name]
    if np.isscalar(case.periodic) is False and dimension == 2:
        case = Case(case.shape, case.periodic[:2], case.boundary, case.solid, case.liquid, case.regions)
    velocity, options = make(case, dimension, dtype)
    velocity.fill_ghosts()
    before = remaining_divergence(velocity, **options)
    info = project(velocity, 0.02, tolerance=1e-8, **options)
    after = remaining_divergence(velocity, **options)
    assert info.converged
    assert case.regions is None or len(info.regions) == case.regions
    if dtype is np.float64:
        assert np.linalg.norm(after) <= 1.01e-8 * max(np.linalg.norm(before), 1e-300) + 1e-13 / velocity.grid.spacing
        assert info.residual <= 1e-8
    else:
        fastest = max(np.abs(c).max() for c in components(velocity))
        assert np.abs(after).max() <= 8 * np.finfo(np.float32).eps * fastest / velocity.grid.spacing + 1e-8 * np.linalg.norm(before)


@pytest.mark.parametrize("name", ["ball", "two regions", "inflow and outflow", "all open", "periodic", "liquid below air"])
def test_projecting_again_changes_nothing(name: str, dimension: int) -> None:
    velocity, options = make(CASES[name], dimension, np.float64)
    project(velocity, 0.02, tolerance=1e-12, **options)
    once = components(velocity)
    info = project(velocity, 0.02, tolerance=1e-8, **options)
    # Given pressures on open sides are part of what is removed, once.
    if name != "inflow and outflow":
        assert all(np.abs(a - b).max() < 1e-9 for a, b in zip(once, components(velocity), strict=True))
    assert info.converged


@pytest.mark.parametrize("name", ["closed box", "ball", "two regions", "all open", "periodic", "liquid below air"])
def test_gradients_are_removed_and_orthogonal_to_what_remains(name: str, dimension: int) -> None:
    """The discrete Helmholtz decomposition: what is removed and what is left are orthogonal, weighted with the open fractions."""
    velocity, options = make(CASES[name], dimension, np.float64)
    grid, before = velocity.grid, components(velocity)
    pressure = ms.CellField(grid)
    project(velocity, 1.0, tolerance=1e-12, pressure=pressure, **options)
    removed = [a - b for a, b in zip(before, components(velocity), strict=True)]
    if "solid" not in options:  # with cut cells, the weights are the open parts
        inner = sum(owned_sum(grid, d, r * c) for d, (r, c) in enumerate(zip(removed, components(velocity), strict=True)))
        size = sum(owned_sum(grid, d, r * r) for d, r in enumerate(removed))
        assert abs(inner) < 1e-10 * size
    # What was removed is the gradient of the pressure; alone, it is projected to zero.
    for d in range(grid.dimension):
        velocity.component(d)[...] = removed[d]
    solid = options.get("solid")
    if solid is None:
        project(velocity, 1.0, tolerance=1e-12, **options)
        inside = open_faces(grid, None, velocity.boundary)
        liquid = options.get("liquid")
        for d, w in enumerate(inside):
            if liquid is not None:
                w = w * touches(liquid, d)
            assert np.abs(velocity.component(d)[w > 0]).max() < 1e-9


def touches(liquid: np.ndarray, axis: int) -> np.ndarray:
    """Faces with liquid on a side."""
    wide = np.pad(liquid, [(1, 1) if d == axis else (0, 0) for d in range(liquid.ndim)])
    n = liquid.shape[axis]
    return wide.take(range(n + 1), axis=axis) | wide.take(range(1, n + 2), axis=axis)


def owned_sum(grid: ms.Grid, axis: int, values: np.ndarray) -> float:
    """The sum, with the shared face of a periodic axis counted once and faces on sides counting half."""
    v = np.moveaxis(values, axis, 0)
    return float(v[1:].sum() if grid.periodic[axis] else v[1:-1].sum() + 0.5 * (v[0].sum() + v[-1].sum()))


def test_a_moving_body_pushes_the_fluid(dimension: int, dtype: type) -> None:
    grid = ms.Grid((40, 30, 24)[:dimension], 1 / 40)
    velocity = ms.MacField(grid, dtype, {"x+": ms.Open()})
    body = moving(velocity, lambda *x: np.sqrt(sum((c - 0.35) ** 2 for c in x)) - 0.17, lambda *x: (1.0, 0.0, 0.0)[:dimension])
    info = project(velocity, 0.02, body, tolerance=1e-10)
    assert info.regions[0].closed is False
    left = divergence(velocity, body).array
    fluid = np.logical_or.reduce([touches_open(w, d) for d, w in enumerate(open_faces(grid, body.levelset, velocity.boundary))])
    bound = 1e-8 if dtype is np.float64 else 16 * np.finfo(np.float32).eps
    assert np.abs(left[fluid]).max() <= bound / grid.spacing
    # In front of and behind the body the fluid moves with it; beside it, back.
    middle = tuple(round(0.35 * 40) for _ in range(dimension - 1))
    assert velocity.u[(round(0.53 * 40), *middle)] > 0.3
    assert velocity.u[(round(0.17 * 40), *middle)] > 0.3
    beside = velocity.u[round(0.35 * 40), round(0.58 * 40)]
    assert (beside if dimension == 2 else beside[round(0.35 * 40)]) < 0


def touches_open(w: np.ndarray, axis: int) -> np.ndarray:
    """Cells with an open face across an axis."""
    n = w.shape[axis] - 1
    return (w.take(range(n), axis=axis) > 0) | (w.take(range(1, n + 1), axis=axis) > 0)


def test_inside_a_solid_everything_moves_with_it(dimension: int, dtype: type) -> None:
    grid = ms.Grid((12, 10, 9)[:dimension], 0.1)
    velocity = random_velocity(grid, dtype, np.random.default_rng(1), ms.Open())
    speed = speeds(dimension)
    info = project(velocity, 0.1, moving(velocity, lambda *x: -1 + 0 * x[0], lambda *x: speed))
    assert info.regions == ()
    assert info.iterations == 0
    for d in range(dimension):
        assert np.all(velocity.component(d) == dtype(speed[d]))
    velocity = random_velocity(grid, dtype, np.random.default_rng(1))
    project(velocity, 0.1, nodes(grid, lambda *x: -1 + 0 * x[0]))
    assert not any(c.any() for c in components(velocity))


def test_nothing_to_do(dimension: int, dtype: type) -> None:
    """No velocity, no liquid: no iterations, and no change."""
    grid = ms.Grid((20, 14, 9)[:dimension], 0.1)
    velocity = ms.MacField(grid, dtype)
    info = project(velocity, 0.1)
    assert (info.iterations, info.converged) == (0, True)
    assert not any(c.any() for c in components(velocity))
    velocity = random_velocity(grid, dtype, np.random.default_rng(1), {"x+": ms.Open()})
    before = components(velocity)
    info = project(velocity, 0.1, liquid=np.zeros(grid.shape, bool))
    assert info.regions == ()
    assert same_bits(components(velocity), before)
    info = project(velocity, 0.1, liquid=cells(grid, lambda *x: 1 + 0 * x[0], dtype))
    assert info.regions == ()
    assert same_bits(components(velocity), before)


def test_uniform_motion_together(dimension: int) -> None:
    """Galilean invariance: fluid and solid that move alike, in at one side and out at the other, stay as they are."""
    speed = speeds(dimension)
    grid = ms.Grid((33, 26, 21)[:dimension], 1 / 33)
    boundary = {s: ms.Prescribed(speed) for s in ("x-", "x+", "y-", "y+", "z-", "z+")[: 2 * dimension]} | {"x+": ms.Open()}
    velocity = set_faces(ms.MacField(grid, boundary=boundary), lambda *x: speed)
    body = moving(velocity, lambda *x: np.sqrt(sum((c - 0.4) ** 2 for c in x)) - 0.2, lambda *x: speed)
    project(velocity, 0.1, body)
    for d in range(dimension):
        assert np.abs(velocity.component(d) - speed[d]).max() < 1e-13


@pytest.mark.parametrize("name", ["ball", "two regions", "drops", "inflow and outflow"])
def test_target_divergence(name: str, dimension: int) -> None:
    velocity, options = make(CASES[name], dimension, np.float64)
    target = cells(velocity.grid, lambda x, y, *z: np.sin(5 * x) + y)
    other = velocity.copy()
    project(velocity, 0.1, target_divergence=target, tolerance=1e-12, **options)
    project(other, 0.1, tolerance=1e-12, **options)
    change = velocity.copy()
    for d in range(dimension):
        change.component(d)[...] -= other.component(d)
    # Per volume of fluid: a cell that a solid cuts has less of it.
    share = fluid_parts(velocity.grid, options.get("solid"))
    plain = PlainPoisson(velocity.grid, open_faces(velocity.grid, options.get("solid"), velocity.boundary), options.get("liquid"))
    expected = plain.without_means(target.array * share, share)
    # The solid is at rest in both, so its flux is no part of the difference.
    change.enforce_boundary(0.0)
    got = divergence(velocity, options.get("solid")).array - divergence(other, options.get("solid")).array
    got = plain.without_means(got, share)
    assert np.abs(got - expected).max() < 1e-8


def test_a_cached_solver_changes_nothing_and_allocates_nothing(dimension: int, dtype: type) -> None:
    grid = ms.Grid((45, 31, 22)[:dimension], 0.1)
    start = random_velocity(grid, dtype, np.random.default_rng(3), {"x+": ms.Open()})
    surroundings = [
        {"solid": nodes(grid, lambda *x: np.sqrt(sum((c - 1.2) ** 2 for c in x)) - 0.5)},
        {"liquid": cells(grid, lambda x, y, *z: y < 1.5).array.astype(bool)},
        {},
        {"density": cells(grid, lambda x, y, *z: 1 + x, dtype)},
        {"liquid": cells(grid, lambda x, y, *z: y - 1.5 + 0.1 * x, dtype), "air_pressure": 2.0},
    ]

    def run(options: dict, solver: PressureSolver | None) -> list[np.ndarray]:
        velocity, pressure = start.copy(), ms.CellField(grid)
        project(velocity, 0.1, solver=solver, pressure=pressure, **options)
        return [*components(velocity), pressure.array.copy()]

    fresh = [run(options, None) for options in surroundings]
    solver = PressureSolver(grid)
    for k in (0, 1, 0, 0, 2, 3, 2, 4, 1, 4, 3, 0):
        assert same_bits(run(surroundings[k], solver), fresh[k]), k
    for options in surroundings:
        velocity, pressure = start.copy(), ms.CellField(grid)
        project(velocity, 0.1, solver=solver, pressure=pressure, **options)
        before = ms.core.block_allocations()
        info = project(velocity, 0.1, solver=solver, pressure=pressure, **options)
        assert ms.core.block_allocations() == before
        assert info.setup_seconds == 0, "the matrix has not changed"
    assert solver.nbytes > 0

"""Implicit viscosity against closed forms: modes, shear between walls, solids, and velocities that must not change."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, random_velocity, same_bits
from support.projection import nodes, set_faces

import meniscus as ms
from meniscus.fluids import ViscositySolver, diffuse
from meniscus.numerics.solve import ConvergenceError
from meniscus.surface import HalfSpace, SolidSample

NU, DT, TIGHT = 0.3, 0.7, 1e-12
STICKY = ms.Wall(slip="no-slip")


def wave_number(k: float, h: float) -> float:
    """Square of the discrete wave number: what the three-point Laplacian makes of exp(i k x)."""
    return (2 - 2 * np.cos(k * h)) / h**2


def largest_difference(a: Any, b: Any) -> float:
    return max(float(np.abs(x - y).max()) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("mode", [(1, 0, 0), (2, 3, 1), (0, 5, 0), (8, 8, 8)])
@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e3])
def test_fourier_modes_decay_as_backward_euler_says(mode: tuple[int, ...], strength: float, dimension: int) -> None:
    n = 16
    grid = ms.Grid((n,) * dimension, 2 * np.pi / n, periodic=True)
    h, k = grid.spacing, mode[:dimension]
    v = set_faces(ms.MacField(grid), lambda *x: (np.cos(sum(a * b for a, b in zip(k, x, strict=True)) + 0.4),) * dimension)
    before = components(v)
    infos = diffuse(v, DT, strength * h**2 / DT, tolerance=TIGHT)
    factor = 1 / (1 + strength * h**2 * sum(wave_number(a, h) for a in k))
    assert len(infos) == dimension
    assert all(i.converged and i.residual <= TIGHT for i in infos)
    assert largest_difference(components(v), [factor * c for c in before]) < 1e-11


@pytest.mark.parametrize("slip", ["free", "no-slip"])
def test_modes_of_a_box(slip: str, dimension: int) -> None:
    """Sine along the component; across it cosine where walls slip and sine where they do not: eigenvectors of the discrete operator."""
    n, m = 12, 2
    grid = ms.Grid((n,) * dimension, 1 / n)
    h, across = grid.spacing, np.cos if slip == "free" else np.sin

    def mode(*x: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(
            np.prod([np.sin(np.pi * c) if a == d else across(m * np.pi * c) for a, c in enumerate(x)], axis=0) for d in range(len(x))
        )

    v = set_faces(ms.MacField(grid, boundary=ms.Wall(slip=slip)), mode)  # type: ignore[arg-type]
    v.enforce_boundary()
    before = components(v)
    diffuse(v, DT, NU, tolerance=TIGHT)
    factor = 1 / (1 + DT * NU * (wave_number(np.pi, h) + (dimension - 1) * wave_number(m * np.pi, h)))
    assert largest_difference(components(v), [factor * c for c in before]) < 1e-11


def test_taylor_green_decay_is_first_order_in_time() -> None:
    n, nu, seconds = 64, 0.05, 2.0
    grid = ms.Grid((n, n), 2 * np.pi / n, periodic=True)
    errors = []
    for steps in (4, 8, 16, 32):
        v = set_faces(ms.MacField(grid), lambda x, y: (np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)))
        start = components(v)
        for _ in range(steps):
            diffuse(v, seconds / steps, nu, tolerance=TIGHT)
        decay = np.exp(-2 * nu * wave_number(1, grid.spacing) * seconds)
        errors.append(largest_difference(components(v), [decay * c for c in start]))
        # Backward Euler is late by (nu k^2)^2 T dt / 2, k^2 = 2; the discrete wave number by much less.
        assert errors[-1] < decay * (2 * nu) ** 2 * seconds**2 / steps / 2
        assert abs(decay - np.exp(-2 * nu * seconds)) < 2e-4
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert ((orders > 0.9) & (orders < 1.1)).all()


def channel(n: int, dtype: Any = np.float64, lower: Any = STICKY, upper: Any = STICKY, dimension: int = 2) -> ms.MacField:
    """Periodic along x (and z), walls at y = 0 and y = 1."""
    grid = ms.Grid((4, n, 4)[:dimension], 1 / n, periodic=(True, False, True)[:dimension])
    return ms.MacField(grid, dtype, {"y-": lower, "y+": upper})


@pytest.mark.parametrize("start", ["linear", "rest"])
def test_couette_flow(start: str, dimension: int, dtype: type) -> None:
    """Between walls that move along themselves: linear, exactly, and a fixed point."""
    low, high = (-0.5, 0.0, 0.25)[:dimension], (1.0, 0.0, -1.0)[:dimension]
    v = channel(10, dtype, ms.Wall(low, "no-slip"), ms.Wall(high, "no-slip"), dimension)

    def linear(*x: np.ndarray) -> tuple[np.ndarray, ...]:
        return tuple(low[d] + (high[d] - low[d]) * x[1] for d in range(dimension))

    exact = components(set_faces(v.copy(), linear))
    if start == "linear":
        set_faces(v, linear)
        diffuse(v, DT, NU, tolerance=TIGHT)
    else:
        for _ in range(2):
            diffuse(v, 1e6, 1.0, tolerance=TIGHT)
    assert largest_difference(components(v), exact) < (1e-10 if dtype is np.float64 else 3e-7)


@pytest.mark.parametrize("side", [ms.Wall((9.0, 0.0), "free"), ms.Open(), ms.ZeroGradient()], ids=lambda s: type(s).__name__)
def test_sides_without_shear(side: Any) -> None:
    """A free-slip wall that moves along itself, and open sides, leave a uniform flow alone and its momentum unchanged."""
    v = channel(12, lower=side, upper=side)
    v.u = 3.0
    diffuse(v, 1e3, 1.0, tolerance=TIGHT)
    assert np.abs(v.u - 3.0).max() < 1e-11
    v.u[...] = np.random.default_rng(3).random(v.u.shape)
    v.u[0] = v.u[-1]
    before = v.u[1:].sum()
    diffuse(v, 0.1, 1.0, tolerance=TIGHT)
    assert v.u[1:].sum() == pytest.approx(before, rel=1e-11)
    assert np.ptp(v.u) < 0.5


def test_normal_component_at_an_open_side() -> None:
    """It may change there, without a gradient: the lowest mode between a wall and an open side is a quarter of a wave."""
    n = 16
    h = 1 / n
    v = ms.MacField(ms.Grid((n, 3), h, periodic=(False, True)), boundary={"x+": ms.Open()})
    k = np.pi / (2 * (1 + h / 2))  # even about half a cell beyond the last face
    set_faces(v, lambda x, y: (np.sin(k * x), 0 * y))
    before = v.u.copy()
    diffuse(v, DT, NU, tolerance=TIGHT)
    assert np.abs(v.u - before / (1 + DT * NU * wave_number(k, h))).max() < 1e-11


def test_poiseuille_flow_is_second_order() -> None:
    """Under a body force the parabola, too fast by f h^2 / (8 nu) everywhere: the wall is met half-way between two samples."""
    force, errors = 0.8, []
    for n in (8, 16, 32):
        v = channel(n)
        y = (np.arange(n) + 0.5) / n
        for _ in range(4):
            v.u[...] += 1e5 * force
            diffuse(v, 1e5, NU, tolerance=1e-13)
        exact = force / (2 * NU) * y * (1 - y)
        errors.append(np.abs(v.u - exact).max())
        assert np.abs(v.u - exact - force / (8 * NU * n**2)).max() < 1e-8
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.01)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.01)


def test_prescribed_sides_act_where_their_samples_are() -> None:
    """A linear flow given on all sides, as a function, stays as it is; normal faces on the sides keep what they have."""

    def flow(x: np.ndarray, t: float) -> np.ndarray:
        return np.stack([1 + 2 * x[:, 1] - x[:, 0], 0.5 - x[:, 0] + x[:, 1]], axis=1)

    grid = grid_of(2, shape=(9, 11))
    v = ms.MacField(grid, np.float64, ms.Prescribed(flow))
    set_faces(v, lambda x, y: (1 + 2 * y - x, 0.5 - x + y))
    exact = components(v)
    diffuse(v, DT, NU, tolerance=TIGHT)
    assert largest_difference(components(v), exact) < 64 * np.finfo(np.float64).eps
    v.u[3, 4] += 1
    diffuse(v, 1e6, 1.0, tolerance=TIGHT)
    assert largest_difference(components(v), exact) < 1e-4
    assert same_bits(v.u[[0, -1]], exact[0][[0, -1]])


def test_functions_are_asked_at_the_given_time() -> None:
    v = channel(8, upper=ms.Wall(lambda x, t: np.stack([t + 0 * x[:, 0], 0 * x[:, 0]], axis=1), "no-slip"))
    diffuse(v, 1e8, 1.0, time=2.5, tolerance=TIGHT)
    assert np.abs(v.u - 2.5 * (np.arange(8) + 0.5) / 8).max() < 1e-6


@pytest.mark.parametrize("speed", [0.0, -1.5])
def test_solids_stick(speed: float, dimension: int, dtype: type) -> None:
    """A slab below y = 0.3: faces whose centre is in it have its velocity, and the flow above is linear from its surface on."""
    v = channel(10, dtype, upper=ms.Wall((1.0, 0.0, 0.0)[:dimension], "no-slip"), dimension=dimension)
    v.u[...] = 0.7
    solid: Any = HalfSpace((0.0, 0.3, 0.0)[:dimension], (0.0, 1.0, 0.0)[:dimension]) if speed == 0 else SolidSample(v.grid, dtype)
    if speed:
        solid.levelset.array = nodes(v.grid, lambda x, y, *z: y - 0.3 + 0 * x).array
        solid.velocity.u[...] = speed
    for _ in range(2):
        diffuse(v, 1e6, 1.0, solid=solid, tolerance=TIGHT)
    y = (np.arange(10) + 0.5) / 10
    expected = np.where(y < 0.3, speed, speed + (1 - speed) * (y - 0.3) / 0.7)
    error = np.abs(np.moveaxis(v.u, 1, -1) - expected).max()
    assert error < (1e-5 if dtype is np.float64 else 2e-5)
    assert all((np.moveaxis(v.component(0), 1, 0)[:3] == dtype(speed)).ravel())


def test_solids_with_free_slip_carry_no_shear(dimension: int, dtype: type) -> None:
    """Above the same slab a uniform flow stays uniform, as does what is in it; without walls the momentum of the fluid is kept."""
    v = channel(10, dtype, lower=ms.Wall(), upper=ms.Wall(), dimension=dimension)
    slab = HalfSpace((0.0, 0.3, 0.0)[:dimension], (0.0, 1.0, 0.0)[:dimension])
    rows = np.moveaxis(v.u, 1, 0)
    rows[:3], rows[3:] = -2.0, 0.75
    diffuse(v, 100.0, 1.0, solid=slab, slip="free", tolerance=1e-10)
    assert np.abs(rows[:3] + 2.0).max() == 0
    assert np.abs(rows[3:] - 0.75).max() < (1e-9 if dtype is np.float64 else 1e-6)
    rows[3:5] = 3.0
    for _ in range(2):
        diffuse(v, 100.0, 1.0, solid=slab, slip="free", tolerance=1e-10)
    assert np.abs(rows[3:] - (2 * 3.0 + 5 * 0.75) / 7).max() < 1e-4


def test_periodic_faces_are_one_unknown(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = grid_of(dimension, periodic=True)
    v = random_velocity(grid, dtype, rng)
    diffuse(v, DT, NU)
    for d in range(dimension):
        faces = np.moveaxis(v.component(d), d, 0)
        assert same_bits(faces[0], faces[-1])


@pytest.mark.parametrize("dimension", [3])
def test_single_precision_is_double_precision_rounded(dimension: int, rng: np.random.Generator) -> None:
    boundary = {"x-": ms.Wall((0.5,) * dimension, "no-slip"), "y+": ms.Open()}
    single = random_velocity(grid_of(dimension), np.float32, rng, boundary)
    double = ms.MacField(single.grid, np.float64, boundary)
    for d in range(dimension):
        double.component(d)[...] = single.component(d)
    for v in (single, double):
        diffuse(v, DT, NU, tolerance=TIGHT)
    assert largest_difference(components(single), components(double)) < 1e-7


@pytest.mark.parametrize("shape", [(1, 6), (5, 1), (2, 2), (1, 1)])
@pytest.mark.parametrize("periodic", [False, True])
def test_thin_grids(shape: tuple[int, int], periodic: bool, rng: np.random.Generator) -> None:
    """Against the dense matrix of the three-point Laplacian, built from its definition."""
    grid = ms.Grid(shape, 0.5, periodic=periodic)
    v = random_velocity(grid, np.float64, rng)
    u = v.u.copy()
    diffuse(v, DT, NU, tolerance=TIGHT)
    along = second_difference(shape[0] if periodic else shape[0] + 1, periodic, fixed=not periodic)
    across = second_difference(shape[1], periodic, fixed=False)
    unknown = u[1:] if periodic else u
    laplacian = np.kron(along, np.eye(shape[1])) + np.kron(np.eye(len(unknown)), across)
    if not periodic:
        laplacian.reshape(len(unknown), shape[1], -1)[[0, -1]] = 0.0
    expected = np.linalg.solve(np.eye(unknown.size) - DT * NU / 0.25 * laplacian, unknown.ravel()).reshape(unknown.shape)
    assert np.abs((v.u[1:] if periodic else v.u) - expected).max() < 1e-11


def second_difference(n: int, periodic: bool, fixed: bool) -> np.ndarray:
    a = np.zeros((n, n))
    for i in range(n):
        for j in (i - 1, i + 1):
            if periodic:
                j %= n
            elif not 0 <= j < n:
                continue
            a[i, j] += 1
            a[i, i] -= 1
    if fixed:
        a[[0, -1]] = 0
    return a


@pytest.mark.parametrize(("strength", "most"), [(1e-3, 1), (1e-1, 3), (1.0, 6), (1e1, 8), (1e2, 10), (1e4, 12)])
@pytest.mark.parametrize("kind", ["periodic", "free", "no-slip", "ball"])
def test_iterations_stay_few(kind: str, strength: float, most: int, dimension: int, rng: np.random.Generator) -> None:
    """Far fewer than without the mass on coarse grids, where a strength of one took 30."""
    n = 64 if dimension == 2 else 32
    grid = ms.Grid((n,) * dimension, 1 / n, periodic=kind == "periodic")
    v = random_velocity(grid, np.float64, rng, ms.Wall(slip="free" if kind == "free" else "no-slip"))
    solid = nodes(grid, lambda *x: np.sqrt(sum((c - 0.4) ** 2 for c in x)) - 0.2) if kind == "ball" else None
    counts = [i.iterations for i in diffuse(v, 1.0, strength / n**2, solid=solid, tolerance=1e-8)]
    assert max(counts) <= most


def problems(dimension: int) -> list[tuple[float, Any]]:
    """Steps and solids that follow each other."""

    def ball(c: float) -> Callable[..., np.ndarray]:
        return lambda *x: np.sqrt(sum((a - c) ** 2 for a in x)) - 0.4

    grid = ms.Grid((9, 8, 7)[:dimension], 0.25)
    return [(0.1, None), (0.1, None), (0.5, None), (0.5, nodes(grid, ball(1.0))), (0.5, nodes(grid, ball(1.2))), (0.1, None)]


def test_a_cached_solver_changes_no_bit(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(ms.Grid((9, 8, 7)[:dimension], 0.25), dtype, rng, STICKY)
    w, kept = v.copy(), ViscositySolver(v.grid)
    for dt, solid in problems(dimension):
        diffuse(v, dt, NU, solid=solid, solver=kept)
        diffuse(w, dt, NU, solid=solid)
        assert same_bits(components(v), components(w))


def test_repeated_calls_allocate_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(ms.Grid((9, 8, 7)[:dimension], 0.25), dtype, rng, STICKY)
    solver = ViscositySolver(v.grid)
    calls = problems(dimension)
    for dt, solid in calls:
        diffuse(v, dt, NU, solid=solid, solver=solver)
    before, held = ms.core.block_allocations(), solver.nbytes
    for dt, solid in calls:
        diffuse(v, dt, NU, solid=solid, solver=solver)
    assert ms.core.block_allocations() == before
    assert solver.nbytes == held > dimension * 8 * v.u.size


def test_no_viscosity_does_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension), dtype, rng, STICKY)
    before = components(v)
    infos = diffuse(v, DT, 0.0, solid=nodes(v.grid, lambda x, *y: x - 1.0))
    assert same_bits(components(v), before)
    assert all(i.converged and i.iterations == 0 for i in infos)


@pytest.mark.parametrize("hard", [0, 1])
def test_failing_to_converge_changes_nothing(hard: int, rng: np.random.Generator) -> None:
    """Whichever component it is that fails; the error carries its information."""
    v = ms.MacField(ms.Grid((24, 24), 0.1), np.float64, STICKY)
    v.component(hard)[1:-1, 1:-1] = rng.uniform(-1, 1, v.component(hard)[1:-1, 1:-1].shape)
    before = components(v)
    with pytest.raises(ConvergenceError, match=r"viscosity did not converge: the residual is .* after 1 iterations") as error:
        diffuse(v, DT, NU, tolerance=1e-14, max_iterations=1)
    assert same_bits(components(v), before)
    assert error.value.info.iterations == 1
    diffuse(v, DT, NU)
    assert not same_bits(components(v), before)


@pytest.mark.parametrize("axis", [0, 1])
def test_film_that_flows_down_a_wall(axis: int) -> None:
    """Gravity against viscosity below a free surface: u = g/(2 nu) y (2 H - y), of second order although the air next to it is wild."""
    nu, g, height = 0.3, 2.0, 0.625
    errors = []
    for n in (16, 32, 64):
        shape, periodic = [n, n], [False, False]
        shape[axis], periodic[axis] = 4, True
        grid = ms.Grid(tuple(shape), 1 / n, periodic=tuple(periodic))
        across = 1 - axis
        v = ms.MacField(grid, boundary={"xy"[across] + "-": ms.Wall(slip="no-slip")})
        liquid = ms.CellField(grid)
        y = np.moveaxis((np.arange(n) + 0.5)[None, :].repeat(4, 0) / n, 0, axis)
        liquid.array = y - height
        rng = np.random.default_rng(1)
        solver = ViscositySolver(grid)
        u = v.component(axis)
        in_liquid = np.arange(n) + 0.5 < height * n
        along = np.moveaxis(u, axis, 0)
        along[:, ~in_liquid] = rng.normal(size=(5, int((~in_liquid).sum())))
        along[-1] = along[0]
        air = along[:, ~in_liquid].copy()
        for _ in range(6):
            along[:, in_liquid] += 4.0 * g
            diffuse(v, 4.0, nu, liquid=liquid, solver=solver, tolerance=1e-12)
        assert np.array_equal(along[:, ~in_liquid], air)
        centres = (np.arange(n)[in_liquid] + 0.5) / n
        exact = g / (2 * nu) * centres * (2 * height - centres)
        errors.append(np.abs(along[:, in_liquid] - exact).max())
    assert errors[0] < 0.25 * g / (2 * nu) / 16**2 * 1.2
    assert errors[0] > 3.8 * errors[1] > 3.8**2 * errors[2]


def test_errors(rng: np.random.Generator) -> None:
    grid = grid_of(2)
    v = random_velocity(grid, np.float64, rng)
    before = components(v)
    other = ms.Grid((7, 5), 0.5)
    cases: list[tuple[type[Exception], str, dict]] = [
        (ValueError, "dt must be positive", {"dt": 0.0}),
        (ValueError, "viscosity must not be negative, not -1", {"viscosity": -1.0}),
        (ValueError, "viscosity must be finite", {"viscosity": np.nan}),
        (TypeError, "solver must be a ViscositySolver", {"solver": ms.fluids.PressureSolver(grid)}),
        (ValueError, "solver must have the grid of the velocity", {"solver": ViscositySolver(other)}),
        (ValueError, "solid must have the grid of the velocity", {"solid": ms.NodeField(other)}),
        (TypeError, "solid must be a Solid", {"solid": ms.CellField(grid)}),
        (TypeError, "liquid must be a CellField", {"liquid": ms.NodeField(grid)}),
        (ValueError, "liquid must have the grid", {"liquid": ms.CellField(other)}),
        (ValueError, "slip must be one of 'free', 'no-slip'", {"slip": "sticky"}),
        (ValueError, "tolerance must be below 1", {"tolerance": 2.0}),
        (ValueError, "max_iterations must be at least 1", {"max_iterations": 0}),
    ]
    for kind, message, options in cases:
        with pytest.raises(kind, match=message):
            diffuse(**{"velocity": v, "dt": 0.1, "viscosity": 1.0, **options})
    assert same_bits(components(v), before)
    v.u[2, 3] = np.nan
    with pytest.raises(ValueError, match=r"must be finite.*\[2, 3\]"):
        diffuse(v, 0.1, 1.0)
    with pytest.raises(TypeError, match="velocity must be a MacField"):
        diffuse(ms.CellField(grid), 0.1, 1.0)  # type: ignore[arg-type]

"""The system of pressure and solids: symmetry, null spaces, energy, momentum, and the same step taken by the solids themselves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from support.fluids.sheets import closed_line, faces_of, full_box, patch, polyline, within_walls
from support.same_bits import everywhere

from meniscus.coupling.shell_pressure import SheetFaces, SheetSolid, ShellPressure, face_masses, side_masses
from meniscus.grid import Grid
from meniscus.mesh import TriangleMesh, icosphere
from meniscus.solids import DeformableBody, EdgeSprings, MassProperties, PointLoads, RigidBody, SpringOptions

ALL_SIDES = ("x-", "x+", "y-", "y+", "z-", "z+")


def noise(grid: Grid, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=f.shape) for f in faces_of(grid))


def cloth(stiffness: float = 100.0, sigma: float = 0.15, pinned: bool = True) -> tuple[DeformableBody, np.ndarray]:
    x, triangles, corners = patch(16)
    mesh = TriangleMesh(x, triangles)
    body = DeformableBody(mesh, density=sigma, gravity=(0.0, 0.0, -9.81))
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=stiffness, damping=0.1)))
    if pinned:
        body.pin(corners)
    return body, triangles


def stiffness_matrix(n: int, seed: int = 1) -> sp.csr_matrix:
    """A random symmetric positive semi-definite matrix, kg."""
    a = sp.random(3 * n, 3 * n, density=0.1, random_state=seed)
    return (a.T @ a).tocsr()


def random_setting() -> tuple[Grid, SheetFaces, list[SheetSolid], tuple[np.ndarray, ...]]:
    """A rigid and an elastic sheet in a closed 2-D box, with velocities of all."""
    grid = Grid((12, 10), 0.1)
    x, e = polyline((0.15, 0.33), (1.01, 0.61), 6)
    y, f = polyline((0.35, 0.72), (0.81, 0.83), 4)
    rng = np.random.default_rng(3)
    elastic = SheetSolid.elastic(
        rng.uniform(0.5, 2.0, len(x)), stiffness_matrix(len(x)), rng.normal(size=x.shape), held=[0], directions=(True, True, False)
    )
    body = RigidBody(properties=MassProperties(3.0, y.mean(axis=0), 0.2 * np.eye(3)))
    rigid = SheetSolid.rigid(body, y, 0.01, plane=True)
    sides = SheetFaces.of_mesh(grid, np.concatenate([x, y]), np.concatenate([e, f + len(x)]))
    return grid, sides, [elastic, rigid], noise(grid)


def test_matrix_is_symmetric_and_semi_definite_with_the_null_space_that_is_found() -> None:
    grid, sides, solids, _ = random_setting()
    pressure, _ = full_box(grid, 20.0, sides, solids)
    n = int(np.prod(grid.shape))
    matrix = np.empty((n, n))
    for k, unit in enumerate(np.eye(n)):
        pressure._core.product(unit.reshape(grid.shape).copy(), matrix[k].reshape(grid.shape))
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12 * abs(matrix).max())
    values = np.linalg.eigvalsh(matrix)
    assert values[0] > -1e-12 * values[-1]
    assert (values < 1e-11 * values[-1]).sum() == pressure.null_vectors == 1


def test_velocities_are_those_of_the_whole_system_solved_at_once() -> None:
    """Against a dense matrix of all velocities with the volumes of cells as constraints."""
    grid, sides, (elastic, _), u = random_setting()
    on = (sides.nodes < len(elastic)).all(axis=1)
    sides = SheetFaces(*(getattr(sides, name)[on] for name in ("axis", "face", "upper", "nodes", "weights", "distance", "normal", "open")))
    density = 20.0
    pressure, masses = full_box(grid, density, sides, [elastic])
    u = within_walls(u, masses)
    result = pressure.solve(u, tolerance=1e-13, raise_on_failure=False)
    # Unknowns: free faces, then nodes along x and y.
    cut = [np.zeros(m.shape, bool) for m in masses]
    for axis, face in zip(sides.axis, sides.face, strict=True):
        cut[axis][tuple(face)] = True
    free = [np.isfinite(m) & ~c for m, c in zip(masses, cut, strict=True)]
    number, count = [], 0
    for f in free:
        number.append(np.where(f, count + np.cumsum(f).reshape(f.shape) - 1, -1))
        count += int(f.sum())
    nodes = 3 * len(elastic)
    held = np.zeros(nodes, bool)
    held[2::3] = True
    held[:3] = True
    mass = np.zeros((count + nodes, count + nodes))
    right = np.zeros(count + nodes)
    divergence = np.zeros((int(np.prod(grid.shape)), count + nodes))
    h = grid.spacing
    for axis in range(2):
        for index in zip(*np.nonzero(free[axis]), strict=True):
            k = number[axis][index]
            mass[k, k] = masses[axis][index]
            right[k] = mass[k, k] * u[axis][index]
            for upper in (0, 1):
                cell = list(index)
                cell[axis] -= 1 - upper
                divergence[np.ravel_multi_index(tuple(cell), grid.shape), k] += h * (-1 if upper else 1)
    own = np.zeros((nodes, nodes))
    for k in range(nodes):
        unit = np.zeros(nodes)
        unit[k] = 1.0
        out = np.zeros((len(elastic), 3))
        elastic._core.multiply(unit.reshape(-1, 3).copy(), out)
        own[:, k] = out.ravel()
    mass[count:, count:] = own
    right[count:] = own @ elastic.free.ravel()
    extra = side_masses(grid, density, sides)
    for s, cell in enumerate(sides.cells(grid)):
        row = np.zeros(nodes)
        np.add.at(row, 3 * sides.nodes[s] + sides.axis[s], sides.weights[s])
        mass[count:, count:] += extra[s] * np.outer(row, row)
        right[count:] += extra[s] * row * u[sides.axis[s]][tuple(sides.face[s])]
        divergence[cell, count:] += sides.sign[s] * h * row
    moves = np.concatenate([np.ones(count, bool), ~held])
    fixed = np.concatenate([np.zeros(count), np.where(held, elastic.free.ravel(), 0.0)])
    a, d = mass[np.ix_(moves, moves)], divergence[:, moves]
    b = (right - mass @ fixed)[moves]
    inverse = np.linalg.inv(a)
    p = np.linalg.lstsq(d @ inverse @ d.T, -(divergence @ fixed) - d @ inverse @ b, rcond=1e-13)[0]
    velocity = fixed.copy()
    velocity[moves] = inverse @ (b + d.T @ p)
    for axis in range(2):
        np.testing.assert_allclose(result.faces[axis][free[axis]], velocity[number[axis][free[axis]]], atol=1e-9)
    np.testing.assert_allclose(result.velocities.ravel(), velocity[count:], atol=1e-9)


def energy_of(u: tuple[np.ndarray, ...], masses: tuple[np.ndarray, ...], cut: list[np.ndarray]) -> float:
    return sum(0.5 * float((m[k] * v[k] ** 2).sum()) for v, m, c in zip(u, masses, cut, strict=True) for k in [np.isfinite(m) & ~c])


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_energy_is_never_raised_and_its_budget_closes(scale: float) -> None:
    """What is lost is half of the masses times the squares of all changes of velocity, and of implicit Euler v^T dt^2 K v / 2."""
    grid = Grid((12, 10), 0.1, periodic=(True, False))
    n = 9
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sides = closed_line(grid, 0.1 * rng.uniform(3, 7), n)
        mass, matrix = rng.uniform(0.01, 2.0, n), scale * stiffness_matrix(n, seed)
        way, v = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
        # Displacements in units of dt: the elastic energy is way^T matrix way / 2.
        pulled = (matrix @ (way + v).ravel()).reshape(n, 3)
        solid = SheetSolid.elastic(mass, matrix, v, -pulled)
        pressure, masses = full_box(grid, 20.0, sides, [solid])
        u = within_walls(noise(grid, seed), masses)
        u[0][-1] = u[0][0]
        near = rng.normal(size=len(sides))
        result = pressure.solve(u, side_velocities=near, tolerance=1e-12, raise_on_failure=False)
        assert result.info.residual < 1e-11
        cut = [np.zeros(m.shape, bool) for m in masses]
        for axis, face in zip(sides.axis, sides.face, strict=True):
            cut[axis][tuple(face)] = True
        # On the axis that closes, the last face is the first one.
        cut[0][-1] = True
        carried = side_masses(grid, 20.0, sides)
        after = np.einsum("sk,sk->s", sides.weights, result.velocities[sides.nodes, sides.axis[:, None]])

        def stored(x: np.ndarray, matrix: sp.csr_matrix = matrix) -> float:
            return 0.5 * float(x.ravel() @ (matrix @ x.ravel()))

        def moving(w: np.ndarray, mass: np.ndarray = mass) -> float:
            return 0.5 * float((mass[:, None] * w**2).sum())

        before = energy_of(u, masses, cut) + 0.5 * float(carried @ near**2) + moving(v) + stored(way)
        later = (
            energy_of(result.faces, masses, cut)
            + 0.5 * float(carried @ after**2)
            + moving(result.velocities)
            + stored(way + result.velocities)
        )
        changed = tuple(a - b for a, b in zip(result.faces, u, strict=True))
        lost = (
            energy_of(changed, masses, cut)
            + 0.5 * float(carried @ (after - near) ** 2)
            + moving(result.velocities - v)
            + stored(result.velocities)
        )
        assert later <= before * (1 + 1e-12)
        assert before - later == pytest.approx(lost, rel=1e-9, abs=1e-9 * before)


def test_impulses_and_torques_on_fluid_and_sheets_are_opposite() -> None:
    grid = Grid((14, 12, 13), 1 / 12)
    body, triangles = cloth(pinned=False)
    sides = SheetFaces.of_mesh(grid, body.positions, triangles)
    solid = SheetSolid.deformable(body, 0.01)
    pressure, masses = full_box(grid, 1.2, sides, [solid], open_sides=ALL_SIDES)
    u = noise(grid)
    near = np.random.default_rng(5).normal(size=len(sides))
    result = pressure.solve(u, side_velocities=near, tolerance=1e-8)
    carried = side_masses(grid, 1.2, sides)
    impulse, torque, size = np.zeros(3), np.zeros(3), 0.0
    cut = [np.zeros(m.shape, bool) for m in masses]
    for axis, face in zip(sides.axis, sides.face, strict=True):
        cut[axis][tuple(face)] = True
    for axis in range(3):
        given = np.where(cut[axis], 0.0, masses[axis] * (result.faces[axis] - u[axis]))
        where = np.stack(np.broadcast_arrays(*grid.face_centers(axis)), axis=-1)
        along = np.eye(3)[axis]
        impulse += given.sum() * along
        torque += np.cross(where, given[..., None] * along).sum(axis=(0, 1, 2))
        size += np.abs(given).sum()
    x = body.positions
    hits = np.einsum("sk,skd->sd", sides.weights, x[sides.nodes])
    after = np.einsum("sk,sk->s", sides.weights, result.velocities[sides.nodes, sides.axis[:, None]])
    given = (carried * (after - near))[:, None] * np.eye(3)[sides.axis]
    impulse += given.sum(axis=0)
    torque += np.cross(hits, given).sum(axis=0)
    np.testing.assert_allclose(impulse + result.impulses.sum(axis=0), 0.0, atol=1e-12 * size)
    np.testing.assert_allclose(torque + np.cross(x, result.impulses).sum(axis=0), 0.0, atol=1e-12 * size)


def test_bodies_take_the_step_that_the_solve_says() -> None:
    """The predicted velocity is that of a step of implicit Euler; with the impulses of the fluid it is that of the result."""
    body, triangles = cloth()
    body.velocities[...] = np.random.default_rng(2).normal(size=body.velocities.shape) * 0.1
    body.velocities[patch(16)[2]] = 0.0
    dt = 0.005
    free = SheetSolid.deformable(body, dt).free
    other = body.copy()
    other.step(dt, "implicit-euler", newton=False, tangent="definite", tolerance=1e-12)
    np.testing.assert_allclose(free, other.velocities, atol=1e-9)
    grid = Grid((12, 12, 12), 1 / 12)
    sides = SheetFaces.of_mesh(grid, body.positions, triangles)
    solid = SheetSolid.deformable(body, dt)
    pressure, masses = full_box(grid, 1.2, sides, [solid])
    result = pressure.solve(within_walls(noise(grid), masses), tolerance=1e-11)
    again = SheetSolid.deformable(body, dt, forces=result.impulses / dt)
    np.testing.assert_allclose(again.free, result.velocities, atol=1e-8)


def test_rigid_bodies_take_the_impulses_that_the_solve_says() -> None:
    ball = icosphere(3)
    x = 0.3 * np.asarray(ball.vertices) + 0.5
    body = RigidBody(TriangleMesh(x, np.asarray(ball.triangles)), density=2.0, shell=True, gravity=(0.0, 0.0, -9.81))
    dt = 0.01
    grid = Grid((12, 12, 12), 1 / 12)
    sides = SheetFaces.of_mesh(grid, x, np.asarray(ball.triangles))
    solid = SheetSolid.rigid(body, x, dt)
    pressure, masses = full_box(grid, 1.2, sides, [solid])
    # The pocket inside keeps its volume however the shell moves.
    assert len(pressure.closed_regions) == pressure.null_vectors == 2
    result = pressure.solve(within_walls(noise(grid), masses), tolerance=1e-10)
    assert result.incompatible < 1e-14
    body.apply_impulses(x, result.impulses)
    np.testing.assert_allclose(body.velocities(x) + dt * np.array(body.gravity), result.velocities, atol=1e-10)
    check_divergence(grid, result.faces, 1e-8)


def check_divergence(grid: Grid, faces: tuple[np.ndarray, ...], tolerance: float) -> None:
    total = sum(np.diff(f, axis=k) for k, f in enumerate(faces))
    assert np.abs(total).max() < tolerance


def test_a_pocket_in_cloth_keeps_its_volume() -> None:
    """Water in a closed elastic skin, in a box: two closed regions, whose pressures differ by what the skin holds."""
    ball = icosphere(3)
    x = 0.3 * np.asarray(ball.vertices) + np.array([0.54, 0.53, 0.51])
    mesh = TriangleMesh(x, np.asarray(ball.triangles))
    body = DeformableBody(mesh, density=0.2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=1.0)))
    body.velocities[...] = (x - x.mean(axis=0)) * 0.3  # swells
    grid = Grid((12, 12, 12), 1 / 12)
    sides = SheetFaces.of_mesh(grid, x, np.asarray(ball.triangles))
    pressure, masses = full_box(grid, 1000.0, sides, [SheetSolid.deformable(body, 1e-3)])
    assert len(pressure.closed_regions) == 2
    assert pressure.null_vectors == 1
    result = pressure.solve(within_walls(noise(grid), masses), tolerance=1e-10)
    assert result.info.iterations <= 30
    check_divergence(grid, result.faces, 1e-7)
    flux = sides.sign * np.einsum("sk,sk->s", sides.weights, result.velocities[sides.nodes, sides.axis[:, None]])
    assert abs(flux[~sides.upper].sum() + flux[sides.upper].sum()) < 1e-9


def test_a_pocket_that_is_pressed_together_loses_only_what_cannot_be_kept() -> None:
    grid = Grid((12, 12), 0.1)
    corners = np.array([[0.31, 0.33], [0.87, 0.35], [0.85, 0.89], [0.33, 0.86]])
    x = np.zeros((4, 3))
    x[:, :2] = corners
    e = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    sides = SheetFaces.of_mesh(grid, x, e)
    squeeze = SheetSolid.kinematic(-0.1 * (x - x.mean(axis=0)))
    pressure, masses = full_box(grid, 1000.0, sides, [squeeze], open_sides=("x-",))
    assert pressure.null_vectors == 1
    result = pressure.solve(within_walls(noise(grid), masses), tolerance=1e-10)
    assert result.info.converged
    assert result.incompatible > 0
    total = sum(np.diff(f, axis=k) for k, f in enumerate(result.faces)) / grid.spacing
    # The same rate everywhere in the pocket, nothing outside of it.
    rates = total[np.abs(total) > 1e-7]
    assert len(rates) == pressure.closed_regions[0]
    assert np.ptp(rates) < 1e-7


def test_factor_and_iteration_have_the_same_answer() -> None:
    """A body whose elements are not known is solved for without a factor."""
    body, triangles = cloth()
    loose = DeformableBody(body.positions.copy(), masses=body.masses.copy(), gravity=(0.0, 0.0, -9.81))
    loose.add(EdgeSprings(TriangleMesh(body.positions, triangles), SpringOptions(stiffness=100.0, damping=0.1)))
    loose.pin(patch(16)[2])
    grid = Grid((12, 12, 12), 1 / 12)
    sides = SheetFaces.of_mesh(grid, body.positions, triangles)
    found = []
    for one in (body, loose):
        solid = SheetSolid.deformable(one, 0.01)
        pressure, masses = full_box(grid, 1.2, sides, [solid])
        assert solid._core.factored == (one is body)
        found.append(pressure.solve(within_walls(noise(grid), masses), tolerance=1e-11))
    np.testing.assert_allclose(found[0].velocities, found[1].velocities, atol=1e-8)
    assert found[0].inner_iterations <= 3 * (found[0].info.iterations + 5)
    assert found[1].inner_iterations > 10 * found[0].inner_iterations


@pytest.mark.parametrize("density", [1.2, 1000.0])
@pytest.mark.parametrize("stiffness", [1.0, 1e4])
def test_iterations_stay_few(density: float, stiffness: float) -> None:
    body, triangles = cloth(stiffness)
    counts = []
    for n in (12, 24):
        grid = Grid((n, n, n), 1 / n)
        sides = SheetFaces.of_mesh(grid, body.positions, triangles)
        for dt, outlet in ((1e-3, ()), (1e-2, ("z+", "z-"))):
            pressure, masses = full_box(grid, density, sides, [SheetSolid.deformable(body, dt)], open_sides=outlet)
            result = pressure.solve(within_walls(noise(grid), masses), tolerance=1e-8)
            counts.append(result.info.iterations)
            assert result.inner_iterations > 0
            assert result.inner_residual < 1e-10
    assert max(counts) <= 25


def test_iterations_of_light_rigid_shells_stay_few() -> None:
    """Whatever the grid: a rigid shell has six velocities."""
    ball = icosphere(3)
    x = 0.3 * np.asarray(ball.vertices) + np.array([0.51, 0.5, 0.48])
    for n in (16, 32):
        for sigma in (0.2, 20.0):
            body = RigidBody(TriangleMesh(x, np.asarray(ball.triangles)), density=sigma, shell=True)
            grid = Grid((n, n, n), 1 / n)
            sides = SheetFaces.of_mesh(grid, x, np.asarray(ball.triangles))
            pressure, masses = full_box(grid, 1000.0, sides, [SheetSolid.rigid(body, x, 0.01)], open_sides=("z+",))
            assert pressure.solve(within_walls(noise(grid), masses)).info.iterations <= 18


def test_same_bits_on_any_number_of_threads() -> None:
    body, triangles = cloth()
    grid = Grid((30, 31, 33), 1 / 30)
    sides = SheetFaces.of_mesh(grid, body.positions, triangles)

    def run() -> list[np.ndarray]:
        pressure, masses = full_box(grid, 1.2, sides, [SheetSolid.deformable(body, 0.01)])
        result = pressure.solve(within_walls(noise(grid), masses), tolerance=1e-8)
        return [*result.faces, result.pressure, result.velocities, result.impulses]

    everywhere(run)


def test_a_sheet_far_away_changes_nothing_and_none_is_a_plain_projection() -> None:
    grid = Grid((12, 10), 0.1)
    areas, masses = face_masses(grid, 2.0, open_sides=("y+",))
    none = SheetFaces.of_mesh(grid, np.zeros((0, 3)), np.zeros((0, 2)))
    pressure = ShellPressure(grid)
    pressure.prepare(areas, masses, np.ones(grid.shape, bool), none, [], np.zeros(0))
    result = pressure.solve(within_walls(noise(grid), masses), tolerance=1e-12)
    check_divergence(grid, result.faces, 1e-10)
    assert result.velocities.shape == (0, 3)


def test_what_is_wrong_is_refused() -> None:
    grid, sides, solids, u = random_setting()
    pressure = ShellPressure(grid)
    with pytest.raises(ValueError, match="prepare must come before solve"):
        pressure.solve(u)
    areas, masses = face_masses(grid, 1.0)
    active = np.ones(grid.shape, bool)
    with pytest.raises(ValueError, match="nodes must be"):
        pressure.prepare(areas, masses, active, sides, solids[:1], side_masses(grid, 1.0, sides))
    with pytest.raises(ValueError, match="mode"):
        pressure.prepare(areas, masses, active, sides, solids, side_masses(grid, 1.0, sides), "weak")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="open_sides"):
        face_masses(grid, 1.0, open_sides=("z-",))
    with pytest.raises(ValueError, match="above zero"):
        SheetSolid.elastic([1.0, 0.0], None, np.zeros((2, 3)))


def test_hits_are_found_at_shared_corners() -> None:
    """A sheet whose corners lie exactly on lines of cell centres is closed."""
    grid = Grid((16, 8), 0.125)
    x, e = polyline((1.0, -0.0625), (1.0, 1.0625), 9)
    sides = SheetFaces.of_mesh(grid, x, e)
    assert sorted(sides.face[~sides.upper][:, 1]) == list(range(8))
    np.testing.assert_allclose(sides.distance[::2] + sides.distance[1::2], grid.spacing)
    assert all(a <= b for a, b in pairwise(sides.face[:, 1]))


def test_cloth_in_water_steps_with_the_forces_of_the_fluid() -> None:
    """A body that takes its own steps, with what the fluid gives as loads, goes where the solve says."""
    body, triangles = cloth(10.0)
    loads = body.add(PointLoads(np.arange(len(body)), np.zeros((len(body), 3))))
    body.gravity = (0.0, 0.0, 0.0)
    grid, dt = Grid((12, 12, 12), 1 / 12), 0.01
    u = within_walls(noise(grid), face_masses(grid, 1000.0)[1])
    energies = []
    for _ in range(5):
        loads.loads[...] = 0.0
        sides = SheetFaces.of_mesh(grid, body.positions, triangles)
        pressure, _ = full_box(grid, 1000.0, sides, [SheetSolid.deformable(body, dt)])
        body.forces_at_nodes()  # linearises the forces anew, which must not matter
        result = pressure.solve(u, tolerance=1e-10)
        loads.loads[...] = result.impulses / dt
        body.step(dt, "implicit-euler", newton=False, tangent="definite", tolerance=1e-12)
        np.testing.assert_allclose(body.velocities, result.velocities, atol=1e-7)
        u = result.faces
        energies.append(body.energy()["kinetic"])
    assert energies[-1] < energies[0]

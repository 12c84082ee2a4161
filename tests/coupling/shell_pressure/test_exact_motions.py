"""Thin shells and fluid against exact solutions: inertia, weight, added mass, waves, buoyancy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from support.fluids.sheets import closed_line, faces_of, full_box, polyline, within_walls

from meniscus.coupling.shell_pressure import (
    SheetFaces,
    SheetSolid,
    ShellMode,
    ShellPressure,
    face_masses,
    open_at_rims,
    printed_impulses,
    side_masses,
)
from meniscus.grid import Grid
from meniscus.mesh import icosphere
from meniscus.solids import MassProperties, RigidBody

GRAVITY = 9.81
WATER = 1000.0


@pytest.mark.parametrize("place", [0.5, 0.513, 0.53])
@pytest.mark.parametrize("density", [0.15, 1000.0])
def test_piston_on_a_spring_moves_all_water_of_the_duct(place: float, density: float) -> None:
    """omega^2 = k / (sigma + rho L), at any place within a cell."""
    n, k, dt = 32, 3e5, 1e-3
    grid = Grid((n, 4), 1 / n)
    width = 4 / n
    x, e = polyline((place, -0.001), (place, width + 0.001), 3)
    sides = SheetFaces.of_mesh(grid, x, e)
    body = RigidBody(properties=MassProperties(density * width, np.array([place, width / 2, 0.0]), 1e-3 * np.eye(3)))
    u, v, ways = faces_of(grid), 0.0, [1e-3]
    for _ in range(20):
        solid = SheetSolid.rigid(body, x, dt, plane=True)
        solid.velocities[:, 0] = v
        solid.free[:, 0] = v - dt * k / density * ways[-1]
        pressure, _ = full_box(grid, WATER, sides, [solid], open_sides=("x-", "x+"))
        result = pressure.solve(u, tolerance=1e-12)
        u, v = result.faces, float(result.velocities[0, 0])
        ways.append(ways[-1] + dt * v)
    x = np.array(ways)
    squared = -(x[2:] - 2 * x[1:-1] + x[:-2]) / (dt**2 * x[1:-1])
    np.testing.assert_allclose(squared, k / (density + WATER), rtol=1e-7)


def supported_column(mode: ShellMode, dt: float, place: float, steps: int) -> tuple[float, float]:
    """Load (Pa) and sag (m) of a light sheet on springs below 1 cm of water, critically damped. The geometry stays as it was."""
    sigma, stiffness, high, n, across = 0.15, 5000.0, 0.01, 40, 4
    h = high / 8
    grid = Grid((across, n), h, periodic=(True, False))
    level = h * (20 + place)
    centers = (np.arange(n) + 0.5) * h
    wet = np.broadcast_to((centers > level) & (centers < level + high), grid.shape)
    areas, masses = face_masses(grid, WATER * wet)
    last = np.flatnonzero(wet[0])[-1]
    masses[1][:, last + 1] = WATER * h * (level + high - centers[last])
    for m in masses:
        m[m == 0] = np.inf
    sides = closed_line(grid, level, across)
    share, spring = sigma * h, stiffness * h
    damping = 2 * np.sqrt(spring * (share + WATER * high * h))
    upright = np.arange(3 * across) % 3 == 1
    matrix = sp.diags(np.where(upright, dt * dt * spring + dt * damping, 0.0))
    pressure = ShellPressure(grid)
    way, v, u = np.zeros(across), np.zeros((across, 3)), faces_of(grid)
    for _ in range(steps):
        push = np.zeros((across, 3))
        push[:, 1] = dt * (-spring * way - share * GRAVITY) - (dt * dt * spring + dt * damping) * v[:, 1]
        solid = SheetSolid.elastic(np.full(across, share), matrix, v, push, directions=(False, True, False))
        pressure.prepare(areas, masses, np.array(wet), sides, [solid], side_masses(grid, WATER * wet, sides), mode)
        falling = within_walls((u[0], u[1] - dt * GRAVITY), masses)
        result = pressure.solve(falling, side_velocities=v[sides.nodes[:, 0], 1] - dt * GRAVITY, tolerance=1e-12)
        u, v = result.faces, result.velocities
        way = way + dt * v[:, 1]
    return -result.impulses[:, 1].sum() / dt / grid.extent[0], float(way.mean())


@pytest.mark.parametrize(("dt", "steps"), [(1e-3, 600), pytest.param(2e-4, 2500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", ["monolithic", "lumped"])
def test_supported_column_weighs_what_it_weighs(mode: ShellMode, dt: float, steps: int) -> None:
    load, sag = supported_column(mode, dt, 0.3, steps)
    assert load == pytest.approx(WATER * GRAVITY * 0.01, rel=0.01)
    assert sag == pytest.approx(-(0.15 + 10.0) * GRAVITY / 5000.0, rel=0.01)


def test_column_weighs_the_same_at_any_height_in_a_cell() -> None:
    loads = [supported_column("monolithic", 1e-3, place, 300)[0] for place in (0.1, 0.5, 0.9)]
    assert np.ptp(loads) < 1e-9 * loads[0]


def test_printed_column_weighs_nearly_nothing() -> None:
    """As the document prints it, a held light sheet feels sigma g rho H / (rho H + sigma) of its water: 68 times too little."""
    load, sag = supported_column("printed", 1e-3, 0.5, 600)
    assert load == pytest.approx(1.45, abs=0.01)
    assert sag == pytest.approx(-0.58e-3, rel=0.01)


def plate_across_a_duct(angle: float, n: int, mode: ShellMode) -> tuple[float, float, float]:
    """Force along the normal over pressure difference times length: by the adjoint and as printed; the largest velocity."""
    h, dt, long = 1 / n, 1e-3, 3.0
    grid = Grid((int(long * n), n), h)
    turn = np.deg2rad(angle)
    along, normal = np.array([np.sin(turn), np.cos(turn)]), np.array([np.cos(turn), -np.sin(turn)])
    middle, half = np.array([1.513, 0.5071]), 0.5 / np.cos(turn) + 0.02
    x, e = polyline(middle - half * along, middle + half * along, 60)
    sides = SheetFaces.of_mesh(grid, x, e)
    pressure, masses = full_box(grid, WATER, sides, [SheetSolid.kinematic(np.zeros_like(x))], open_sides=("x-", "x+"), mode=mode)
    result = pressure.solve(within_walls(faces_of(grid, (dt, 0.0)), masses), tolerance=1e-10)
    difference = WATER * long
    right = result.impulses[:, :2].sum(axis=0) @ normal / dt / (difference / np.cos(turn))
    printed = printed_impulses(grid, sides, result.jumps, x, e)[:, :2].sum(axis=0) @ normal / dt / (difference * 2 * half)
    return float(right), float(printed), max(float(np.abs(f).max()) for f in result.faces)


@pytest.mark.parametrize(("angle", "literal"), [(0, 1.0), (20, 1.28), (30, 1.37), (45, 1.41)])
def test_plate_across_a_duct_has_the_difference_of_pressures(angle: float, literal: float) -> None:
    right, _, speed = plate_across_a_duct(angle, 32, "monolithic")
    assert right == pytest.approx(1.0, abs=0.02)
    assert speed < 1e-9
    _, printed, _ = plate_across_a_duct(angle, 32, "printed")
    assert printed == pytest.approx(literal, abs=0.05)


def added_mass_of_plate(n: int, half: float, rims: bool) -> float:
    """Over the exact one, of a plate across a closed channel of pitch 1."""
    h = 1 / n
    grid = Grid((3 * n, n), h)
    x, e = polyline((1.5 + 0.3 * h, 0.5 - half), (1.5 + 0.3 * h, 0.5 + half), n)
    sides = SheetFaces.of_mesh(grid, x, e)
    if rims:
        sides = open_at_rims(grid, sides, x, e)
    pressure, _ = full_box(grid, 1.0, sides, [SheetSolid.kinematic(np.tile([1.0, 0.0, 0.0], (len(x), 1)))])
    result = pressure.solve(faces_of(grid), tolerance=1e-10)
    exact = 2 / np.pi * np.log(1 / np.cos(np.pi * half))
    return -float(result.impulses[:, 0].sum()) / exact


def test_plate_in_a_channel_has_its_added_mass() -> None:
    """(2 rho b^2 / pi) ln sec(pi / 4), for rims on corners of cells and between them."""
    for n, tolerance in ((16, 0.006), (32, 0.002), (64, 0.001)):
        for shift in (0.0, 0.13, 0.31, -0.2, -0.47):
            assert added_mass_of_plate(n, 0.25 + shift / n, True) == pytest.approx(1.0, abs=tolerance)
    # Rims that should close a part of a face which the plate does not reach.
    assert added_mass_of_plate(64, 0.25 + 0.48 / 64, True) == pytest.approx(1.0, abs=0.02)


def test_plate_of_whole_faces_is_too_wide() -> None:
    """By sqrt(2) / 4 of a cell at each end, which is what `open_at_rims` takes away."""
    beyond = []
    for n in (32, 64, 128):
        mass = added_mass_of_plate(n, 0.25, False) * 2 / np.pi * np.log(1 / np.cos(np.pi / 4))
        beyond.append((np.arccos(np.exp(-mass * np.pi / 2)) / np.pi - 0.25) * n)
    assert 2 * beyond[2] - beyond[1] == pytest.approx(np.sqrt(2) / 4, abs=1e-3)
    assert np.diff(beyond)[0] == pytest.approx(2 * np.diff(beyond)[1], rel=0.05)


def membrane(n: int, sigma: float, place: float) -> float:
    """The squared frequency of a wave over the exact one, from the acceleration at rest."""
    deep, tension = 0.5, 10.0
    grid = Grid((n, n), 1 / n, periodic=(True, False))
    sides = closed_line(grid, deep + place / n, n)
    stretched = sp.diags([np.full(n, 2.0), *[np.full(n - 1, -1.0)] * 2, [-1.0], [-1.0]], [0, 1, -1, n - 1, 1 - n]) * (tension * n)
    k = 2 * np.pi
    exact = tension * k**2 / (sigma + 2 * WATER / np.tanh(k * deep) / k)
    dt = 1e-3 / np.sqrt(exact)
    wave = np.cos(k * np.arange(n) / n)
    push = np.zeros((n, 3))
    push[:, 1] = -dt * (stretched @ wave)
    matrix = sp.kron(stretched, np.diag([0.0, dt * dt, 0.0]))
    solid = SheetSolid.elastic(np.full(n, sigma / n), matrix, np.zeros((n, 3)), push, directions=(False, True, False))
    pressure, _ = full_box(grid, WATER, sides, [solid])
    result = pressure.solve(faces_of(grid), tolerance=1e-10)
    assert pressure.closed_regions == (n * n // 2, n * n // 2)
    assert pressure.null_vectors == 1
    assert result.info.iterations <= 25
    answer = -(result.velocities[:, 1] @ wave) / (wave @ wave) / dt
    return float(answer / (1 - dt * dt * answer) / exact)


@pytest.mark.parametrize("sigma", [0.15, 5.0, 1000.0])
def test_membrane_between_liquids_swings_at_its_frequency(sigma: float) -> None:
    """omega^2 (sigma + 2 rho coth(k H) / k) = T k^2."""
    errors = [membrane(n, sigma, 0.0) - 1 for n in (16, 32, 64)]
    assert abs(errors[0]) < 0.025
    assert abs(errors[1]) < 0.007
    if sigma == 1000.0:
        assert errors[0] / errors[1] > 3.5
        assert errors[1] / errors[2] > 3.5


def swinging(mode: ShellMode, dt: float, steps: int) -> list[float]:
    """The largest displacement of a light stretched membrane in water, over that at the start."""
    n, sigma, tension = 16, 0.15, 10.0
    grid = Grid((n, n), 1 / n, periodic=(True, False))
    sides = closed_line(grid, 0.5, n)
    stretched = (sp.diags([np.full(n, 2.0), *[np.full(n - 1, -1.0)] * 2, [-1.0], [-1.0]], [0, 1, -1, n - 1, 1 - n]) * (tension * n)).tocsr()
    matrix = sp.kron(stretched, np.diag([0.0, dt * dt, 0.0]))
    way, v, u, highest = np.cos(2 * np.pi * np.arange(n) / n), np.zeros((n, 3)), faces_of(grid), []
    for _ in range(steps):
        push = np.zeros((n, 3))
        push[:, 1] = -dt * (stretched @ (way + dt * v[:, 1]))
        solid = SheetSolid.elastic(np.full(n, sigma / n), matrix, v, push, directions=(False, True, False))
        pressure, _ = full_box(grid, WATER, sides, [solid], mode=mode)
        result = pressure.solve(u, tolerance=1e-9)
        u, v = result.faces, result.velocities
        way = way + dt * v[:, 1]
        highest.append(float(np.abs(way).max()))
        if highest[-1] > 1e4:
            break
    return highest


@pytest.mark.parametrize("dt", [0.01, 0.05, 0.2])
def test_lumped_coupling_blows_up_for_a_light_membrane_and_the_monolithic_one_does_not(dt: float) -> None:
    assert max(swinging("monolithic", dt, 40)) <= 1.0
    assert swinging("lumped", dt, 40)[-1] > 1e4


def submerged_sphere(center: tuple[float, float, float], filled: bool) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Force and torque over buoyancy (times radius) of a shell 20 cells wide that holds still in water; velocity; null vectors."""
    n, dt = 32, 1e-2
    grid = Grid((n, n, n), 1 / n)
    radius = 10 / n
    ball = icosphere(4)
    arms = radius * np.asarray(ball.vertices) / np.linalg.norm(ball.vertices, axis=1, keepdims=True)
    triangles = np.asarray(ball.triangles)
    x = arms + np.array(center)
    sides = SheetFaces.of_mesh(grid, x, triangles)
    corners = arms[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    volume = np.einsum("ij,ij->", corners[:, 0], normals) / 6
    cells = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) / n] * 3, indexing="ij"), axis=-1).reshape(-1, 3) - np.array(center)
    away = np.linalg.norm(cells, axis=1)
    inside, near = away < radius, abs(away - radius) < 1 / n
    inside[near] = (cells[near] @ normals.T < np.einsum("ij,ij->i", normals, corners[:, 0])).all(axis=1)
    density = np.where(inside.reshape(grid.shape) & (not filled), 0.0, WATER)
    areas, masses = face_masses(grid, density, open_sides=("z+",))
    for m in masses:
        m[m == 0] = np.inf
    pressure = ShellPressure(grid)
    pressure.prepare(areas, masses, density > 0, sides, [SheetSolid.kinematic(np.zeros_like(x))], side_masses(grid, density, sides))
    falling = within_walls(faces_of(grid, (0.0, 0.0, -dt * GRAVITY)), masses)
    result = pressure.solve(falling, side_velocities=np.where(sides.axis == 2, -dt * GRAVITY, 0.0), tolerance=1e-10)
    buoyancy = dt * WATER * GRAVITY * volume
    speed = max(float(np.abs(f).max()) for f in result.faces)
    return (
        result.impulses.sum(axis=0) / buoyancy,
        np.cross(arms, result.impulses).sum(axis=0) / (buoyancy * radius),
        speed,
        pressure.null_vectors,
    )


def test_sphere_under_water_has_its_buoyancy() -> None:
    for center in ((0.5, 0.5, 0.5), (0.507, 0.513, 0.491)):
        force, torque, speed, _ = submerged_sphere(center, False)
        np.testing.assert_allclose(force, [0.0, 0.0, 1.0], atol=0.01)
        np.testing.assert_allclose(torque, 0.0, atol=2e-3)
        assert speed < 1e-9


def test_sphere_with_water_inside_feels_nothing() -> None:
    force, torque, speed, null = submerged_sphere((0.507, 0.513, 0.491), True)
    np.testing.assert_allclose(force, 0.0, atol=1e-9)
    np.testing.assert_allclose(torque, 0.0, atol=1e-9)
    assert speed < 1e-9
    assert null == 1


@pytest.mark.parametrize("place", [0.02, 0.3, 0.5, 0.77, 0.98])
@pytest.mark.parametrize("level", [0.1, 0.45, 0.9])
def test_boat_is_carried_by_the_water_that_it_displaces(place: float, level: float) -> None:
    """A box hull whose sides lie on faces, empty inside, its bottom and the surface of the water anywhere within cells."""
    n, dt = 16, 1e-2
    h = 1 / n
    grid = Grid((n, n), h)
    bottom, surface, left, right = (5 + place) * h, (10 + level) * h, 5 * h, 11 * h
    x = np.zeros((4, 3))
    x[:, :2] = [[left, 0.95], [left, bottom], [right, bottom], [right, 0.95]]
    sides = SheetFaces.of_mesh(grid, x, np.array([[0, 1], [1, 2], [2, 3]]))
    X, Y = np.meshgrid((np.arange(n) + 0.5) * h, (np.arange(n) + 0.5) * h, indexing="ij")
    wet = (surface > Y) & ~((left < X) & (right > X) & (bottom < Y))
    areas, masses = face_masses(grid, WATER * wet)
    top = np.flatnonzero(Y[0] < surface)[-1]
    masses[1][wet[:, top], top + 1] = WATER * h * (surface - Y[0, top])
    for m in masses:
        m[m == 0] = np.inf
    pressure = ShellPressure(grid)
    pressure.prepare(areas, masses, wet, sides, [SheetSolid.kinematic(np.zeros_like(x))], side_masses(grid, WATER * wet, sides))
    falling = within_walls(faces_of(grid, (0.0, -dt * GRAVITY)), masses)
    result = pressure.solve(falling, side_velocities=np.where(sides.axis == 1, -dt * GRAVITY, 0.0), tolerance=1e-12)
    force = result.impulses.sum(axis=0) / dt
    assert force[1] == pytest.approx(WATER * GRAVITY * (right - left) * (surface - bottom), rel=1e-6)
    assert abs(force[0]) < 1e-6 * force[1]


def test_layers_of_a_fold_each_move_their_own_side() -> None:
    """Two sheets between the same cell centres: the lower cell sees the first, the upper one the second."""
    grid = Grid((8, 2), 0.125)
    sheets = [polyline((0.5 + shift, -0.01), (0.5 + shift, 0.26), 2) for shift in (-0.02, 0.03)]
    x = np.concatenate([s[0] for s in sheets])
    sides = SheetFaces.of_mesh(grid, x, np.concatenate([sheets[0][1], sheets[1][1] + 3]))
    assert (sides.nodes[~sides.upper, :2] < 3).all()
    assert (sides.nodes[sides.upper, :2] >= 3).all()
    first, second = (SheetSolid.kinematic(np.tile([speed, 0.0, 0.0], (3, 1))) for speed in (-0.5, 0.25))
    pressure, _ = full_box(grid, WATER, sides, [first, second], open_sides=("x-", "x+"))
    result = pressure.solve(faces_of(grid), tolerance=1e-12)
    np.testing.assert_allclose(result.faces[0][:4], -0.5, atol=1e-12)
    np.testing.assert_allclose(result.faces[0][5:], 0.25, atol=1e-12)

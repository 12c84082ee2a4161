"""Velocities carried at nodes beside shells: what faces take, nothing from beyond, and far from shells nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.build import components
from support.same_bits import everywhere
from support.shells import ball, ring, sheet
from support.shells.stirred_smoke import orbit
from support.shells.water import beyond, pool

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, ShellMode, Shells
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.fluids import TransportOptions
from meniscus.grid import Visibility, advect_at_nodes


def random_velocity(grid: ms.Grid, dtype: Any = np.float64) -> ms.MacField:
    rng = np.random.default_rng(3)
    velocity = ms.MacField(grid, dtype)
    for d in range(grid.dimension):
        u = velocity.component(d)
        u[...] = rng.random(u.shape) - 0.5
    return velocity


@pytest.mark.parametrize("method", ["semi-lagrangian", "maccormack"])
def test_far_from_shells_all_bits_are_those_without(method: Any) -> None:
    grid = ms.Grid((40, 20, 20), 0.05)
    walls = Shells(grid, [KinematicShell(ball((0.3, 0.5, 0.5), 0.2, 2))]).walls()
    plain, guarded = random_velocity(grid), random_velocity(grid)
    advect_at_nodes(plain, 0.2, method=method)
    advect_at_nodes(guarded, 0.2, method=method, visibility=Visibility(walls=walls))
    far = walls.clearance() > 10
    for d in range(3):
        upper = tuple(slice(1, None) if a == d else slice(None) for a in range(3))
        differs = (plain.component(d) != guarded.component(d))[upper]
        assert not differs[far].any()
        assert differs[walls.clearance() <= 2].any()


def test_a_face_that_sees_no_node_moves_as_the_shell_and_a_node_that_sees_no_face_too() -> None:
    """A closed shell around the face alone, and one around the node alone; the other faces there go on."""
    grid = ms.Grid((8, 8), 1.0)
    moving = np.array([0.25, -0.5])
    for centre, face in (((3.0, 4.5), (3, 4)), ((3.0, 4.0), None)):
        x, e = ring(centre, 0.2, 12)
        walls = ShellWalls(grid, x, e, 1e-3)
        walls.set_velocities(np.tile(moving, (len(x), 1)))
        velocity = random_velocity(grid)
        without = velocity.copy()
        advect_at_nodes(velocity, 0.1, visibility=Visibility(walls=walls))
        advect_at_nodes(without, 0.1, method="semi-lagrangian")
        if face is not None:
            assert velocity.u[face] == moving[0]
            assert without.u[face] != moving[0]
            continue
        # The faces on both sides of the hidden node take what their other node gains.
        for hidden, seen in (((3, 4), (3, 5)), ((3, 3), (3, 3))):
            gained = node_gain(velocity_before := random_velocity(grid), walls, seen)
            assert velocity.u[hidden] == pytest.approx(velocity_before.u[hidden] + gained, abs=1e-14)


def node_gain(velocity: ms.MacField, walls: ShellWalls, node: tuple[int, int]) -> float:
    """What a node gains in u, from a walk of its own: the mean of its faces, a straight way, and a bilinear interpolation of nodes."""
    nodes = np.zeros((2, 9, 9))
    moving = np.array([0.25, -0.5])
    u, v = np.pad(velocity.u, ((0, 0), (1, 1)), "edge"), np.pad(velocity.v, ((1, 1), (0, 0)), "edge")
    nodes[0], nodes[1] = (u[:, :-1] + u[:, 1:]) / 2, (v[:-1] + v[1:]) / 2
    nodes[:, 3, 4] = moving

    def at(place: np.ndarray) -> np.ndarray:
        cell = np.floor(place).astype(int)
        f = place - cell
        total = np.zeros(2)
        for i in (0, 1):
            for j in (0, 1):
                corner = cell + np.array([i, j])
                hidden = walls.hidden(place, corner[None].astype(float))[0]
                total += (f[0] if i else 1 - f[0]) * (f[1] if j else 1 - f[1]) * (moving if hidden else nodes[:, corner[0], corner[1]])
        return total

    own = nodes[:, node[0], node[1]]
    middle = at(np.array(node) - 0.05 * own)
    return float(at(np.array(node) - 0.1 * middle)[0] - own[0])


@pytest.mark.parametrize("dimension", [2, 3])
def test_fluid_and_shell_that_move_alike_keep_their_velocity(dimension: int) -> None:
    grid = ms.Grid((12, 10, 9)[:dimension], 0.1)
    mesh = ring((0.61, 0.48), 0.23) if dimension == 2 else ball((0.61, 0.48, 0.43), 0.23, 1)
    walls = Shells(grid, [KinematicShell(mesh)]).walls()
    moving = np.array([0.375, -0.25, 0.125])[:dimension]
    walls.set_velocities(np.tile(moving, (len(mesh[0]), 1)))
    velocity = ms.MacField(grid, np.float64, ms.Open())
    for d in range(dimension):
        velocity.component(d)[...] = moving[d]
    advect_at_nodes(velocity, 0.7, visibility=Visibility(walls=walls))
    for d in range(dimension):
        assert velocity.component(d) == pytest.approx(np.full(velocity.component(d).shape, moving[d]), abs=1e-15)


def test_the_same_bits_on_all_threads_beside_a_shell(default_parallelism: None) -> None:
    grid = ms.Grid((37, 29, 41), 0.1)
    walls = Shells(grid, [KinematicShell(ball((1.8, 1.4, 2.0), 0.9, 2))]).walls()

    def run() -> list[np.ndarray]:
        velocity = random_velocity(grid, np.float32)
        advect_at_nodes(velocity, 0.5, visibility=Visibility(walls=walls))
        return components(velocity)

    everywhere(run)


@pytest.mark.parametrize("mode", ["one-way", "monolithic"])
def test_cloth_across_a_duct_holds_smoke_that_a_jet_carries(mode: ShellMode) -> None:
    ends = {"x-": ms.Open(), "x+": ms.Open()}
    options = ms.fluids.SmokeOptions(
        transport=ms.fluids.TransportOptions(velocity_samples="nodes"),
        vorticity=ms.fluids.VorticityOptions(confinement=0.2),
        temperature_weight=1.0,
    )
    solver = ms.fluids.SmokeSolver(ms.Grid((12, 8, 8), 1 / 8), options, boundary=ends)
    solver.density.array[:3] = solver.temperature.array[:3] = 1.0
    solver.velocity.u[:3, 2:6, 2:6] = 1.0
    x, t = sheet((0.42, -0.02, -0.02), (0.0, 1.04, 0.0), (0.0, 0.0, 1.04), 6)
    mesh = ms.mesh.TriangleMesh(x, t)
    body = ms.solids.DeformableBody(mesh, density=0.2)
    body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=2.0, damping_fraction=0.1, masses=body.masses)))
    body.pin(np.flatnonzero((x[:, 1:] < 0).any(axis=1) | (x[:, 1:] > 1).any(axis=1)))
    sim = ShellCoupling(solver, Shells(solver.grid, [body]), mode)
    for _ in range(10):
        sim.step(0.04)
        beyond_it = int(np.ceil(body.positions[:, 0].max() * 8 + 0.5))
        assert not solver.density.array[beyond_it:].any()
    assert (body.positions[:, 0].max() > 0.4205) == (mode != "one-way")
    assert solver.density.array.sum() > 100


@pytest.mark.parametrize("inside", [True, False])
def test_a_ring_on_its_way_keeps_water_on_its_side(inside: bool) -> None:
    level, point = (0.57, (0.5, 0.45)) if inside else (0.42, (0.03, 0.03))
    motion = orbit((0.5, 0.46), 0.12, 4.0)
    sim = pool((32, 30), ring((0.0, 0.0), 0.22), motion, [(level, point)], transport=TransportOptions(velocity_samples="nodes"))
    for _ in range(8):
        sim.step(0.03)
        assert beyond(sim, inside) == 0

"""Steps of smoke with thin shells: projection, pockets, bodies that move by themselves, transactions, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shells import ball, box, line, ring, sheet

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.fluids import TransportOptions, VorticityOptions
from meniscus.surface import Pose


def coupling(shape: tuple[int, ...], body: Any, dtype: Any = np.float64, **options: Any) -> ShellCoupling:
    solver = ms.fluids.SmokeSolver(ms.Grid(shape, 1 / shape[0]), ms.fluids.SmokeOptions(**{"tolerance": 1e-10, **options}), dtype=dtype)
    return ShellCoupling(solver, Shells(solver.grid, [body]), "one-way")


def divergence(solver: ms.fluids.SmokeSolver) -> np.ndarray:
    return ms.fluids.divergence(solver.velocity).array


def test_faces_beside_a_shell_move_as_it_will_in_the_next_step() -> None:
    accelerating = KinematicShell(ring((0.0, 0.0), 0.2), lambda t: Pose((0.4 + 0.5 * t * t, 0.5)))
    sim = coupling((24, 24), accelerating)
    sim.step(0.1)
    expected = 0.5 * (0.2**2 - 0.1**2) / 0.1
    u = sim.solver.velocity.u[sim.walls.blocked_faces[0]]
    assert len(u) > 10
    assert u == pytest.approx(expected, abs=1e-13)
    assert sim.solver.velocity.v[sim.walls.blocked_faces[1]] == pytest.approx(0.0, abs=1e-13)
    sim.step(0.1, next_dt=0.3)
    expected = 0.5 * (0.5**2 - 0.2**2) / 0.3
    assert sim.solver.velocity.u[sim.walls.blocked_faces[0]] == pytest.approx(expected, abs=1e-13)


def test_air_is_free_of_divergence_on_both_sides_of_a_moving_shell() -> None:
    body = KinematicShell(ball((0.0, 0.0, 0.0), 0.27, 2), lambda t: Pose((0.5 + 0.3 * np.sin(t), 0.5, 0.45)))
    sim = coupling((16, 16, 14), body)
    for _ in range(3):
        sim.step(0.05)
    assert sim.report is not None
    assert sim.report.closed_regions == 2
    # On the staircase a closed shell that keeps its volume still pushes a little: its excess leaves at its walls.
    flux = max(abs(r.flux) for r in sim.report.fluid.projection.regions)
    assert flux < 1e-12
    assert np.abs(divergence(sim.solver)).max() < 1e-8


def test_a_pocket_that_collapses_is_solved_for_and_its_net_flux_is_spread_over_its_walls() -> None:
    x, e = ring((0.0, 0.0), 0.3, 48)
    sim = coupling((32, 32), KinematicShell((x + 0.5, e), lambda t: 0.5 + x * (1 - 0.5 * t)))
    sim.step(0.1)
    assert sim.report is not None
    closed = [r for r in sim.report.fluid.projection.regions if r.closed]
    assert len(closed) == 2
    assert all(abs(r.flux) > 0.05 for r in closed), "the shell shrinks: it pushes air out of the one and leaves room in the other"
    left = divergence(sim.solver)
    inside = ms.coupling.shells.parity.inside_cells(sim.shells.positions, e, np.zeros(2), 1 / 32, (32, 32))
    for part in (inside, ~inside):
        beside = np.zeros((32, 32), bool)
        for d, mask in enumerate(sim.walls.blocked_faces):
            beside |= np.take(mask, range(1, 33), axis=d) | np.take(mask, range(32), axis=d)
        edge = np.zeros((32, 32), bool)
        edge[[0, -1]] = edge[:, [0, -1]] = True
        assert np.abs(left[part & ~beside & ~edge]).max() < 1e-8


def test_air_that_moves_with_a_sheet_is_not_changed_by_it() -> None:
    grid = ms.Grid((24, 24), 1 / 24, periodic=(True, True))
    solver = ms.fluids.SmokeSolver(grid, ms.fluids.SmokeOptions(tolerance=1e-12), dtype=np.float64)
    x, e = line([(0.3, 0.2), (0.5, 0.6), (0.45, 0.8)], 4)
    sim = ShellCoupling(solver, Shells(grid, [KinematicShell((x, e), lambda t: x + t * np.array([0.7, -0.4]))]))
    solver.velocity.u, solver.velocity.v = np.full((25, 24), 0.7), np.full((24, 25), -0.4)
    for _ in range(12):
        sim.step(0.08)
    assert solver.velocity.u == pytest.approx(0.7, abs=1e-12)
    assert solver.velocity.v == pytest.approx(-0.4, abs=1e-12)


def test_air_at_rest_beside_a_shell_at_rest_stays_so() -> None:
    sim = coupling(
        (16, 16, 16), KinematicShell(sheet((0.3, 0.1, 0.2), (0.3, 0.5, 0.1), (0.1, 0.0, 0.5))), vorticity=VorticityOptions(confinement=0.5)
    )
    sim.solver.temperature.array[...] = 0.0
    for _ in range(3):
        sim.step(0.1)
    assert all((sim.solver.velocity.component(d) == 0).all() for d in range(3))


def test_smoke_keeps_within_the_values_that_there_were() -> None:
    sim = coupling((24, 24), KinematicShell(ring((0.0, 0.0), 0.25), lambda t: Pose((0.5 + 0.2 * np.sin(3 * t), 0.5), 2 * t)))
    rng = np.random.default_rng(4)
    sim.solver.density.array[...] = 0.5 + 0.5 * rng.random((24, 24))
    sim.solver.velocity.u = rng.random((25, 24)) - 0.5
    for _ in range(10):
        sim.step(0.05)
        assert sim.solver.density.array.max() <= 1.0
        assert sim.solver.density.array.min() >= 0.0


def cloth() -> ms.solids.DeformableBody:
    """A curtain that fills a duct, held all around."""
    x, t = sheet((0.5, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), 8)
    mesh = ms.mesh.TriangleMesh(x, t)
    body = ms.solids.DeformableBody(mesh, density=0.2, gravity=(3.0, 0.0, 0.0))
    body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=2.0, damping_fraction=0.1, masses=body.masses)))
    body.pin(np.flatnonzero((x[:, 1:] == 0).any(axis=1) | (x[:, 1:] == 1).any(axis=1)))
    return body


def test_cloth_across_a_duct_bulges_and_holds_smoke() -> None:
    body = cloth()
    sim = coupling((16, 16, 16), body, np.float32, tolerance=1e-5)
    sim.solver.density.array[:7] = 1.0
    sim.solver.velocity.u[...] = 0.5
    for _ in range(10):
        sim.step(0.03)
        far = body.positions[:, 0].max()
        beyond = int(np.ceil(far * 16)) + 1
        assert not sim.solver.density.array[beyond:].any()
    assert far > 0.55
    assert sim.report is not None
    assert sim.report.swept["density"] > 0


def test_a_rigid_shell_moves_by_itself() -> None:
    x, t = box((0.0, 0.0, 0.0), 0.15)
    body = ms.solids.RigidBody(ms.mesh.TriangleMesh(x, t), density=1.0, shell=True, pose=Pose((0.5, 0.5, 0.6)), gravity=(0.0, 0.0, -2.0))
    sim = coupling((14, 14, 14), body)
    start = body.center[2]
    sim.step(0.1)
    sim.step(0.1)
    assert body.center[2] < start
    w = sim.solver.velocity.w[sim.walls.blocked_faces[2]]
    assert w == pytest.approx(w[0], abs=1e-12)
    assert w[0] < -0.3


def state_bytes(sim: ShellCoupling) -> bytes:
    solver = sim.solver
    fields = [solver.density.array, solver.temperature.array, *(solver.velocity.component(d) for d in range(solver.grid.dimension))]
    return b"".join(np.ascontiguousarray(a).tobytes() for a in (*fields, sim.shells.positions))


def busy() -> ShellCoupling:
    sim = coupling((16, 16, 16), cloth(), np.float32, tolerance=1e-5, vorticity=VorticityOptions(confinement=0.3), density_weight=1.0)
    rng = np.random.default_rng(8)
    sim.solver.density.array[...] = rng.random((16, 16, 16))
    for d in range(3):
        u = sim.solver.velocity.component(d)
        u[...] = rng.random(u.shape) - 0.5
    return sim


def test_a_restored_coupling_goes_on_as_before_to_the_bit() -> None:
    sim = busy()
    sim.step(0.03)
    saved = sim.snapshot()
    for _ in range(2):
        sim.step(0.03)
    first = state_bytes(sim)
    sim.restore(saved)
    for _ in range(2):
        sim.step(0.03)
    assert state_bytes(sim) == first
    other = busy()
    other.restore(saved)
    for _ in range(2):
        other.step(0.03)
    assert state_bytes(other) == first


def test_an_error_in_a_step_leaves_fluid_and_shells_as_they_were() -> None:
    sim = busy()
    before = state_bytes(sim)
    for stage in sim.stages:

        def fail(name: str, _: Any, at: str = stage) -> None:
            if name == at:
                raise RuntimeError("stop")

        with pytest.raises(RuntimeError, match="stop"):
            sim.step(0.03, fail)
        assert state_bytes(sim) == before
        assert sim.time == 0.0


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    results = []
    threads = ms.num_threads()
    try:
        for n in (1, 2, 3, 5, 8):
            ms.set_num_threads(n)
            sim = busy()
            for _ in range(2):
                sim.step(0.03)
            results.append(state_bytes(sim))
    finally:
        ms.set_num_threads(threads)
    assert len(set(results)) == 1


class Mine:
    """A body of one's own: a box that falls, in a class that knows nothing of the package."""

    def __init__(self) -> None:
        self.x, self.elements = box((0.5, 0.5, 0.6), 0.15)
        self.speed = 0.0

    @property
    def positions(self) -> np.ndarray:
        return self.x

    def advance(self, dt: float) -> None:
        self.speed -= 2.0 * dt
        self.x = self.x + np.array([0.0, 0.0, dt * self.speed])

    def snapshot(self) -> Any:
        return {"x": self.x.copy(), "speed": self.speed}

    def restore(self, snapshot: Any) -> None:
        self.x, self.speed = snapshot["x"].copy(), snapshot["speed"]


def test_a_body_of_ones_own_gives_positions_and_rewinds() -> None:
    body = Mine()
    sim = coupling((12, 12, 12), body)
    sim.step(0.1)
    assert body.speed == pytest.approx(-0.2)
    w = sim.solver.velocity.w[sim.walls.blocked_faces[2]]
    assert w == pytest.approx(-0.4, abs=1e-12)


def test_bodies_of_a_world_are_advanced_by_it_once() -> None:
    def make(world: bool) -> ShellCoupling:
        body = cloth()
        owner = None
        if world:
            owner = ms.solids.World(steps_per_loop=1)
            owner.add(body)
        solver = ms.fluids.SmokeSolver(ms.Grid((12, 12, 12), 1 / 12), dtype=np.float64)
        return ShellCoupling(solver, Shells(solver.grid, [body], world=owner), "one-way")

    sims = make(True), make(False)
    for _ in range(3):
        for sim in sims:
            sim.step(0.02)
    moved = [sim.shells.positions - cloth().positions for sim in sims]
    assert np.abs(moved[1]).max() > 5e-3
    assert moved[0] == pytest.approx(moved[1], abs=5e-4)
    assert sims[0].shells.bodies[0].time == pytest.approx(0.06)


def test_a_copy_has_bodies_of_its_own() -> None:
    sim = busy()
    sim.step(0.03)
    before = state_bytes(sim)
    other = sim.copy()
    assert state_bytes(other) == before
    other.step(0.03)
    assert state_bytes(sim) == before
    sim.step(0.03)
    assert state_bytes(sim) == state_bytes(other)


class Forgetful(KinematicShell):
    def restore(self, snapshot: Any) -> None:
        self.time = snapshot["time"]
        self._positions = self._positions + 1e-15


def test_what_does_not_go_together_is_refused_in_one_sentence() -> None:
    grid = ms.Grid((8, 8), 0.125)
    shells = Shells(grid, [KinematicShell(ring((0.5, 0.5), 0.2))])
    with pytest.raises(ValueError, match="shells must have the grid of the solver"):
        ShellCoupling(ms.fluids.SmokeSolver(ms.Grid((8, 8), 0.25)), shells)
    for options, what in (({"viscosity": 0.1}, "viscosity"), ({"transport": TransportOptions(method="upwind")}, "upwind transport")):
        with pytest.raises(ValueError, match=what):
            ShellCoupling(ms.fluids.SmokeSolver(grid, ms.fluids.SmokeOptions(**options)), shells)
    with pytest.raises(ValueError, match="mode must be"):
        ShellCoupling(ms.fluids.SmokeSolver(grid), shells, "both")  # type: ignore[arg-type]
    bad = Shells(grid, [Forgetful(ring((0.0, 0.0), 0.2), lambda t: Pose((0.5 + t, 0.5)))])
    with pytest.raises(RuntimeError, match="does not return"):
        ShellCoupling(ms.fluids.SmokeSolver(grid), bad).step(0.1)


def test_max_dt_counts_shells() -> None:
    sim = coupling((10, 10), KinematicShell(ring((0.0, 0.0), 0.2), lambda t: Pose((0.5 + 2.0 * t, 0.5))), cfl=3.0)
    assert sim.max_dt() == pytest.approx(3.0 * 0.1 / 2.0, rel=1e-6)

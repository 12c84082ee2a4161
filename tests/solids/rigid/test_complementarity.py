"""Velocities of contact against a quadratic program, and the linear complementarity problem.

Source: Müller, Stam, James and Thürey 2008, section 6.4.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.motion import random_rotation
from support.variants import slow

from meniscus.solids import RigidBody, RigidOptions, RigidSystem, solve_lcp
from meniscus.surface import HalfSpace, Pose, Sphere, Twist


def random_stack(seed, options, friction=0.0, heaviest=3000.0, speed=0.3):
    """Boxes, spheres and capsules on each other, off their centres, with velocities."""
    rng = np.random.default_rng(seed)
    system = RigidSystem(options, gravity=(0, 0, -9.81))
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=friction)
    height = 0.0

    def density():
        return rng.uniform(100, 3000) if heaviest == 3000 else np.exp(rng.uniform(np.log(100), np.log(heaviest)))

    for k in range(int(rng.integers(2, 7))):
        size = rng.uniform(0.4, 1.2, 3)
        place = rng.uniform(-0.15, 0.15, 2)
        twist = Twist(tuple(rng.normal(0, speed, 3)), tuple(rng.normal(0, speed, 3)))
        if k and rng.random() < 0.25:
            r = 0.5 * size[2]
            body = RigidBody.sphere(r, density(), pose=Pose((*place, height + r - 1e-3)), twist=twist)
        else:
            turn = random_rotation(rng, axis=(0, 0, 1))
            body = RigidBody.box(size, density(), pose=Pose((*place, height + 0.5 * size[2] - 1e-3), turn), twist=twist)
        system.add(body, friction=friction)
        height += size[2] - 1e-3
    return system


def stages(system, dt=0.01):
    """Velocities before and after contact, and rows of the contacts: relative normal velocity = rows @ velocities."""
    system.begin(dt)
    system.find_contacts(dt)
    system.bounce(dt)
    system.predict(dt)
    before = system.velocities
    system.solve(dt)
    # Normals of balls are those of when they meet, with the velocities that they have now.
    contacts = system.contacts_now
    rows = np.zeros((len(contacts), *before.shape))
    centers = np.array([np.zeros(3) if p.body is None else p.body.center for p in system.parts])
    balls = [p.body is not None and isinstance(p.body.shape, Sphere) for p in system.parts]
    for k in range(len(contacts)):
        # Each ball is touched where the normal through its centre leaves it.
        turns = not all(balls[b] for b in contacts.bodies[k])
        for b, sign in zip(contacts.bodies[k], (1, -1), strict=True):
            rows[k, b, :3] = sign * contacts.normals[k]
            rows[k, b, 3:] = sign * turns * np.cross(contacts.points[k] - centers[b], contacts.normals[k])
    return before, system.velocities, rows, -np.maximum(contacts.gaps, 0) / dt


def quadratic_program(system, before, rows, least):
    """min (v - before) M (v - before) / 2 with rows v >= least."""
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    bodies = [i for i, p in enumerate(system.parts) if p.body is not None]
    n = 6 * len(bodies)
    roots = np.zeros((n, n))
    for k, i in enumerate(bodies):
        body = system.parts[i].body
        r = body.rotation
        m = np.zeros((6, 6))
        m[:3, :3], m[3:, 3:] = body.mass * np.eye(3), r @ body.properties.inertia @ r.T
        # In units in which all masses are one.
        roots[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.linalg.inv(np.linalg.cholesky(m)).T
    j = rows[:, bodies].reshape(len(rows), n)
    v0 = before[bodies].ravel()
    a = -(j @ roots)
    size = np.linalg.norm(a, axis=1)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    # As exact as it can: with the smallest tolerances it sometimes gives up.
    for tolerance in (1e-13, 1e-12, 1e-11):
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        cones = [clarabel.NonnegativeConeT(len(rows))]
        quadratic, bounds = sparse.csc_matrix(np.eye(n)), sparse.csc_matrix(a / size[:, None])
        solver = clarabel.DefaultSolver(quadratic, np.zeros(n), bounds, (j @ v0 - least) / size, cones, settings)
        found = solver.solve()
        if str(found.status) == "Solved":
            return (v0 + roots @ np.array(found.x)).reshape(-1, 6), bodies
    raise AssertionError(f"the quadratic program ended with {found.status}")


@pytest.mark.parametrize("count", [40, slow(200)])
@pytest.mark.parametrize("solver", ["exact", "sweeps", "auto"])
def test_velocities_of_random_stacks_are_those_of_the_quadratic_program(solver, count):
    options = {
        "exact": RigidOptions(solver="exact", iterations=1),
        "sweeps": RigidOptions(solver="sweeps", iterations=100_000, tolerance=1e-13),
        # What errors of a direct solve may be is a part of the slop.
        "auto": RigidOptions(iterations=2, slop=1e-6),
    }[solver]
    worst, pressed = 0.0, 0
    for seed in range(count):
        system = random_stack(seed, options)
        before, after, rows, least = stages(system)
        assert len(rows) >= 4
        found, bodies = quadratic_program(system, before, rows, least)
        worst = max(worst, float(np.abs(found - after[bodies]).max()))
        pressed += np.abs(before[bodies] - after[bodies]).max() > 1e-3
    assert worst < 1e-8
    assert pressed > 0.75 * count


def cones(system, mu):
    """What velocities and impulses after a solve lack of Coulomb's law with the coefficient mu: m/s."""
    contacts, v = system.contacts_now, system.velocities
    worst = 0.0
    for k, (a, b) in enumerate(contacts.bodies):
        if all(part.body is not None and isinstance(part.body.shape, Sphere) for part in (system.parts[a], system.parts[b])):
            continue  # touched at two points, one on each
        n, x = contacts.normals[k], contacts.points[k]
        u, masses = np.zeros(3), []
        for body, sign in ((a, 1), (b, -1)):
            rigid = system.parts[body].body
            if rigid is not None:
                u += sign * (v[body, :3] + np.cross(v[body, 3:], x - rigid.center))
                masses.append(rigid.mass)
        p, light = contacts.impulses[k], min(masses)
        normal, least = float(p @ n), -max(contacts.gaps[k], 0.0) / 0.01
        slide, push = u - (u @ n) * n, p - normal * n
        # Nothing pulls; what presses does not part; friction is inside of its cone, and against what slides at its side.
        worst = max(worst, -normal / light, least - u @ n, min(normal / light, u @ n - least))
        worst = max(worst, (np.linalg.norm(push) - mu * normal) / light)
        speed = np.linalg.norm(slide)
        if speed > 0:
            worst = max(worst, min(speed, float(np.linalg.norm(push + mu * normal * slide / speed)) / light))
    return worst


@pytest.mark.parametrize(
    ("speed", "mu", "most"), [(0.0, 0.5, 1), (0.0, 1.0, 0), (0.3, 0.0, 0), (0.3, 0.2, 2), (0.3, 0.6, 7), (0.3, 1.0, 9)]
)
def test_direct_solves_are_in_the_cone_of_coulomb(speed, mu, most):
    """Few sweeps and a direct solve of bodies of masses to 1 : 10,000, by the law itself at each contact, which sweeps alone are far from.

    Of 40, mainly of those that slide fast with much friction, at most `most` are left unfinished; they lack no more than with sweeps alone.
    """
    lacks = []
    for seed in range(40):
        found = []
        for solver in ("auto", "sweeps"):
            system = random_stack(seed, RigidOptions(iterations=5, slop=1e-6, solver=solver), mu, 1e6, speed)
            stages(system)
            found.append(cones(system, mu))
        lacks.append(found)
    auto, sweeps = np.array(lacks).T
    assert (auto > 1e-6).sum() <= most
    assert (auto <= 1.01 * sweeps + 1e-9).all()
    assert sweeps.max() > 0.1
    assert np.median(sweeps) > 1e4 * np.median(auto)


def test_lcp_of_redundant_contacts():
    """A box on four corners: impulses are not unique, their sum is."""
    corners = np.array([(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    rows = np.column_stack([np.ones(4), corners])
    a = rows @ np.diag([1 / 2.0, 3.0, 3.0]) @ rows.T
    u = rows @ np.array([-0.1, 0.02, 0.01])
    p = solve_lcp(a, u)
    w = a @ p + u
    assert (p >= 0).all()
    assert (w >= -1e-14).all()
    assert abs(p @ w) < 1e-14
    p = solve_lcp(a, rows @ np.array([-0.1, 0, 0]))
    assert p.sum() == pytest.approx(0.1 * 2.0, rel=1e-14)


def test_printed_bound_leaves_nothing():
    """A p + u <= |u|, as printed, cannot be met by any p >= 0 here; the complementarity problem has a solution (erratum 28)."""
    optimize = pytest.importorskip("scipy.optimize")
    a, u = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-1.0, 1.0])
    printed = optimize.linprog(np.zeros(2), A_ub=np.vstack([-a, a]), b_ub=np.concatenate([u, np.abs(np.minimum(u, 0)) - u]))
    assert printed.status == 2
    p = solve_lcp(a, u)
    np.testing.assert_allclose(p, [0.5, 0], atol=1e-15)
    np.testing.assert_allclose(a @ p + u, [0, 1.5], atol=1e-15)


def test_random_lcps_and_errors():
    rng = np.random.default_rng(5)
    for n in (1, 3, 10, 40):
        for rank in (n, (n + 1) // 2):
            g = rng.normal(size=(n, rank))
            a = g @ g.T
            # In the range of A plus what is not negative: then there is a solution.
            u = g @ rng.normal(size=rank) + rng.random(n)
            p = solve_lcp(a, u)
            w = a @ p + u
            assert p.min() >= 0
            assert w.min() > -1e-9
            assert abs(p * w).max() < 1e-8
    with pytest.raises(ValueError, match="no solution"):
        solve_lcp(np.zeros((1, 1)), np.array([-1.0]))
    with pytest.raises(ValueError, match="square"):
        solve_lcp(np.zeros((2, 3)), np.zeros(2))


def test_lcps_without_full_rank_are_solved():
    """A = B B^T with u in its range: a solution exists, whatever the rank."""
    rng = np.random.default_rng(3)
    for _ in range(600):
        n = int(rng.integers(2, 13))
        b = rng.normal(size=(n, int(rng.integers(1, n + 1))))
        a, u = b @ b.T, b @ rng.normal(size=b.shape[1])
        p = solve_lcp(a, u)
        w = a @ p + u
        size = np.abs(a) @ p + np.abs(u)
        assert p.min() >= 0
        assert (w >= -1e-8 * size.max()).all()
        assert np.abs(np.minimum(w, a.diagonal().max() * p)).max() < 1e-8 * size.max()

"""Steps of reduced bodies, held and flying: the full body, energy, momenta, impulses, bits. Source: Müller et al. 2008, chapter 7."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import meniscus as ms
from meniscus.mesh import tet_block
from meniscus.numerics.solve import ConvergenceError
from meniscus.solids import Cubature, DeformableBody, ReducedBody, ReducedModel, TetElements
from meniscus.surface import Pose, Twist

ELASTIC = {"youngs_modulus": 1e5, "poissons_ratio": 0.3}


def held_model(material="st-venant-kirchhoff", **options):
    mesh = tet_block(3, 1, 1, (3.0, 1.0, 1.0), pattern="five")
    end = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return ReducedModel(mesh, fixed=end, material=material, **{**ELASTIC, **options})


def flying_model(**options):
    mesh = tet_block(4, 2, 2, (2.0, 1.0, 0.7), pattern="five")
    return ReducedModel(mesh, youngs_modulus=2e5, **{"modes": 8, "size": 20, **options})


def spinning(model):
    omega = (0.5, 3.0, 2.0)
    return ReducedBody(model, pose=Pose((1, 2, 3), (0.8, 0, 0.6, 0)), twist=Twist((1, 2, 3), omega))


@pytest.mark.parametrize("material", ["st-venant-kirchhoff", "neo-hookean"])
def test_all_modes_are_the_full_body(material):
    """With all modes, the reduced steps of implicit Euler are those of the full body, far into the nonlinear range."""
    model = held_model(material, modes=36, cubature=Cubature(size=0))
    body = ReducedBody(model, gravity=(0, -9.81, 0))
    full = DeformableBody(model.rest_positions, masses=model.masses, gravity=(0, -9.81, 0))
    full.add(TetElements(model.tets, model.rest_positions, material=material, **ELASTIC))
    full.pin(model.fixed)
    for _ in range(20):
        body.step(0.02, method="implicit-euler", tolerance=1e-14)
        full.step(0.02, "implicit-euler", tolerance=1e-13, newton_tolerance=1e-13, max_iterations=2000)
        np.testing.assert_allclose(body.positions, full.positions, atol=1e-10)
        np.testing.assert_allclose(body.velocities, full.velocities, atol=1e-10)
    assert np.abs(body.positions - model.rest_positions).max() > 0.5


@pytest.mark.parametrize("method", ["newmark", "recurrence"])
def test_energy_of_undamped_modes_is_constant(method):
    body = ReducedBody(held_model("linear", modes=10))
    body.rates[:] = np.random.default_rng(0).normal(size=10)
    before = body.energy()["total"]
    for _ in range(500):
        body.step(0.05, method=method)
        assert body.energy()["total"] == pytest.approx(before, rel=1e-11)
    assert body.energy()["elastic"] > 0.05 * before


def test_the_recurrence_is_exact_for_any_step():
    """Damped oscillations towards the static displacement, light and overdamped; the printed recurrence has another static gain."""
    model = held_model("linear", modes=6)
    tip = int(np.argmax(model.rest_positions[:, 0]))
    load = np.array([[0.0, -50.0, 20.0]])
    right = model.vectors.reshape(6, -1, 3)[:, tip] @ load[0]
    w2 = model.eigenvalues
    for a, b in ((0.3, 0.002), (0.0, 0.2)):
        body = ReducedBody(model, mass_damping=a, stiffness_damping=b)
        for k in range(1, 8):
            body.step(0.37, method="recurrence", loads=([tip], load))
            s = 0.5 * (a + b * w2)
            roots = np.sqrt((s * s - w2).astype(complex))
            t = 0.37 * k
            shape = np.exp(-s * t) * (np.cosh(roots * t) + s * np.sinh(roots * t) / roots)
            np.testing.assert_allclose(body.coordinates, right / w2 * (1 - shape.real), atol=1e-10 * np.abs(right / w2).max())
    # Printed: q_n = 2 e cos(th) q_{n-1} - e^2 q_{n-2} + 2 f [e cos(th + g) - e^2 cos(2 th + g)] / (3 w w_d).
    gain = 2 * (np.cos(1.0) - np.cos(2.0)) / 3 / (2 - 2 * np.cos(1.0))
    assert gain == pytest.approx(0.694, abs=0.001)


def test_damped_steps_agree_with_each_other():
    """Newmark's method and implicit Euler tend to the exact solution with second and first order."""
    model = held_model("linear", modes=6)

    def end(method, steps):
        body = ReducedBody(model, mass_damping=0.4, stiffness_damping=0.003, gravity=(0, -1, 0))
        for _ in range(steps):
            body.step(1.0 / steps, method=method)
        return body.coordinates.copy()

    exact = end("recurrence", 1)
    for method, order in (("newmark", 2), ("implicit-euler", 1)):
        coarse, fine = (np.linalg.norm(end(method, n) - exact) for n in (400, 800))
        assert np.log2(coarse / fine) == pytest.approx(order, abs=0.15)


def test_momenta_of_a_flying_body():
    """Tumbling and vibrating far beyond small strains, momentum and angular momentum of the nodes stay to round-off."""
    model = flying_model()
    body = spinning(model)
    body.rates[:] = 0.5 * np.random.default_rng(0).normal(size=20)
    m = model.masses[:, None]

    def momenta():
        v = body.velocities
        return (m * v).sum(0), (m * np.cross(body.positions, v)).sum(0)

    first, second = momenta()
    np.testing.assert_allclose(first, body.momentum, rtol=1e-12)
    before = body.energy()["total"]
    for _ in range(200):
        body.step(0.005)
        p, angular = momenta()
        np.testing.assert_allclose(p, first, rtol=1e-12)
        np.testing.assert_allclose(angular, second, atol=1e-11 * np.linalg.norm(second))
        assert body.energy()["total"] == pytest.approx(before, rel=1e-5)
    assert np.abs(model.displacements(body.coordinates)).max() > 0.03
    assert body.energy()["kinetic"] == pytest.approx(0.5 * (m * body.velocities**2).sum(), rel=1e-12)


def test_a_flying_body_with_all_modes_is_the_full_one():
    """Frame and coordinates together tend to the full motion with second order."""
    mesh = tet_block(2, 1, 1, (2.0, 1.0, 1.0), pattern="five")
    model = ReducedModel(mesh, modes=3 * len(mesh.vertices) - 6, youngs_modulus=2e5)
    omega = np.array([0.5, 3.0, 2.0])
    full = DeformableBody(mesh, masses=model.masses)
    full.add(TetElements(mesh, material="st-venant-kirchhoff", youngs_modulus=2e5))
    full.velocities = np.cross(omega, mesh.vertices - model.center)
    for _ in range(300):
        full.step(0.3 / 300, "rk4")
    errors = []
    for steps in (30, 60):
        body = ReducedBody(model)
        body.twist = Twist(tuple(np.cross(omega, -model.center)), tuple(omega))
        for _ in range(steps):
            body.step(0.3 / steps)
        errors.append(np.abs(body.positions - full.positions).max())
    assert errors[1] < 5e-4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.25)


def test_a_stiff_body_flies_as_a_rigid_one():
    """Without deformation, the frame moves as `RigidBody` does, to second order: its step takes the angular velocity of the middle, and not
    the mean of both ends."""
    model = flying_model(modes=4, size=4)
    body = spinning(model)
    x = model.rest_positions - model.center
    inertia = np.einsum("n,nij->ij", model.masses, np.einsum("nk,nk->n", x, x)[:, None, None] * np.eye(3) - np.einsum("ni,nj->nij", x, x))
    properties = ms.solids.MassProperties(model.mass, model.center, inertia)
    rigid = ms.solids.RigidBody(properties=properties, pose=body.pose, twist=body.twist)
    np.testing.assert_allclose(body.angular_momentum, rigid.angular_momentum, rtol=1e-12)
    stiff = ReducedModel(model.tets, model.rest_positions, modes=4, youngs_modulus=2e13)
    apart = []
    for parts in (1, 2, 4):
        other = ReducedBody(stiff, pose=body.pose, twist=body.twist)
        rigid = ms.solids.RigidBody(properties=properties, pose=body.pose, twist=body.twist)
        for _ in range(50 * parts):
            other.step(0.01 / parts, method="implicit-euler")
            rigid.step(0.01 / parts)
        apart.append(np.abs(other.positions - rigid.positions(model.rest_positions)).max())
    assert apart[0] < 2e-4
    assert apart[1] < 0.27 * apart[0]
    assert apart[2] < 0.27 * apart[1]


@pytest.mark.parametrize("make", [lambda: ReducedBody(held_model(modes=6)), lambda: spinning(flying_model())])
def test_impulses_change_velocities_by_the_inverse_mass(make):
    """At once and within a step; a point between nodes too; the mass of a free body is that of its nodes."""
    rng = np.random.default_rng(3)
    body = make()
    body.coordinates[:] = body.model.sample_poses(1)[0]
    nodes, weights = np.array([[10, 13, 7]], np.int32), np.array([[0.2, 0.5, 0.3]])
    impulse = rng.normal(size=(1, 3)) * 20

    def velocity():
        return weights @ body.velocities[nodes[0]]

    w = body.inverse_mass(nodes, weights)
    np.testing.assert_allclose(w[0], w[0].T, atol=1e-13 * np.abs(w).max())
    assert np.linalg.eigvalsh(w[0]).min() > 0
    v, energy = velocity(), body.energy()["kinetic"]
    body.apply_impulses(nodes, impulse, weights)
    np.testing.assert_allclose(velocity() - v, impulse @ w[0], rtol=1e-9)
    work = float((impulse @ (v + velocity()).T)[0, 0]) / 2
    assert body.energy()["kinetic"] - energy == pytest.approx(work, rel=1e-9)
    # In a step: less than at once, for stiffness resists as well; and the same end as with that impulse as a load.
    body.predict(0.02, method="implicit-euler", tolerance=1e-13)
    inside = body.inverse_mass(nodes, weights)[0]
    assert np.trace(inside) < np.trace(w[0])
    v = velocity()
    body.apply_impulses(nodes, impulse, weights)
    np.testing.assert_allclose(velocity() - v, impulse @ inside, rtol=1e-9)
    before = body.positions.copy()
    body.finish()
    assert np.abs(body.positions - before).max() > 1e-4


def test_impulses_on_a_flying_body_conserve_momenta():
    body = spinning(flying_model())
    m = body.model.masses[:, None]
    impulse = np.array([[3.0, -20.0, 11.0]])
    at = body.positions[[7]].copy()
    v = body.velocities
    p, angular = (m * v).sum(0), (m * np.cross(body.positions, v)).sum(0)
    body.predict(0.01, method="implicit-euler")
    body.apply_impulses(np.array([7], np.int32), impulse)
    body.finish()
    v = body.velocities
    np.testing.assert_allclose((m * v).sum(0), p + impulse[0], rtol=1e-12)
    np.testing.assert_allclose((m * np.cross(body.positions, v)).sum(0), angular + np.cross(at, impulse)[0], rtol=1e-11)


def test_loads_are_static_forces():
    """A heavy damped body comes to rest where its elastic forces balance the loads."""
    model = held_model(modes=6, size=12)
    tip = np.flatnonzero(np.isclose(model.rest_positions[:, 0], 3.0)).astype(np.int32)
    loads = np.tile([0.0, -300.0, 0.0], (len(tip), 1))
    body = ReducedBody(model, mass_damping=4.0, pose=Pose((0, 0, 0), (0.8, 0.6, 0, 0)))
    for _ in range(400):
        body.step(0.1, method="implicit-euler", loads=(tip, loads))
    right = np.einsum("rki,ki->r", model.vectors.reshape(12, -1, 3)[:, tip], loads @ body.rotation)
    np.testing.assert_allclose(model.forces_at(body.coordinates).gradient, right, atol=1e-6 * np.abs(right).max())


def test_the_same_bits():
    """On any number of threads and after any way of resuming."""
    models = [flying_model(), flying_model(material="neo-hookean", cubature=Cubature(error=0.05)), held_model(modes=8, size=20)]
    for model in models:
        ends = []
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            body = ReducedBody(model, gravity=(0, 0, -9.81)) if model.clamped else spinning(model)
            for _ in range(10):
                body.step(0.01)
            ends.append(body.positions.copy())
        for other in ends[1:]:
            np.testing.assert_array_equal(other, ends[0])
        others = [body.copy(), pickle.loads(pickle.dumps(body))]
        saved = body.snapshot()
        body.step(0.01)
        for other in others:
            np.testing.assert_array_equal(other.positions, ends[0])
            other.step(0.01)
            np.testing.assert_array_equal(other.positions, body.positions)
        body.restore(saved)
        np.testing.assert_array_equal(body.positions, ends[0])
        assert others[0].model is model


def test_positions_are_one_array():
    body = spinning(flying_model())
    x = body.positions
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 0
    before = x.copy()
    body.step(0.01)
    assert np.abs(x - before).max() > 0.01
    assert np.shares_memory(x, body.positions)


def test_what_steps_refuse():
    body = ReducedBody(held_model(modes=6))
    with pytest.raises(ValueError, match="finish must follow predict"):
        body.finish()
    with pytest.raises(ValueError, match='needs the material "linear"'):
        body.step(0.1, method="recurrence")
    with pytest.raises(ValueError, match="only a body that flies"):
        body.twist = Twist((0, 0, 0), (0, 0, 0))
    with pytest.raises(ValueError, match="nodes must be those of the body"):
        body.step(0.1, loads=([999], [[0, 0, 1]]))
    with pytest.raises(ValueError, match="must be finite"):
        body.step(0.1, loads=([1], [[0, 0, np.nan]]))
    before = body.snapshot()
    body.rates[:] = 50
    hit = body.snapshot()
    with pytest.raises(ConvergenceError, match="nothing has changed"):
        body.step(1.0, max_iterations=1)
    for name, value in hit.items():
        np.testing.assert_array_equal(body.snapshot()[name], value)
    assert before["time"] == body.time

"""Neo-Hookean tetrahedra, averaged corrections, fast projection, sleep, torture of position based dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import (
    AttachmentConstraints,
    BendingConstraints,
    DistanceConstraints,
    NeoHookeanConstraints,
    PositionBody,
    ShapeMatching,
    VolumeConstraints,
)


def chain(n, **options):
    x = np.zeros((n + 1, 3))
    x[:, 0] = np.linspace(0, 1, n + 1)
    body = PositionBody(x, masses=1.0, gravity=(0, -9.81, 0))
    edges = np.stack([np.arange(n), np.arange(1, n + 1)], axis=1).astype(np.int32)
    body.add(DistanceConstraints(x, edges=edges, **options))
    body.pin([0])
    return body


def link_lengths(body):
    return np.linalg.norm(np.diff(body.positions, axis=0), axis=1)


def block(dtype=np.float64, young=1e5, poisson=0.4, gravity=(0, 0, 0), n=3):
    mesh = ms.mesh.tet_block(n, n, n)
    body = PositionBody(mesh, density=1000.0, gravity=gravity, dtype=dtype)
    body.add(NeoHookeanConstraints(mesh, youngs_modulus=young, poissons_ratio=poisson))
    return mesh, body


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neo_hookean_tets_at_rest_stay_there(dtype):
    """Though neither constraint is zero: both are solved at once. One after the other would shrink or swell the block."""
    mesh, body = block(dtype)
    for _ in range(5):
        body.step(1 / 60)
    tolerance = 1e-12 if dtype == np.float64 else 3e-5
    np.testing.assert_allclose(body.positions, mesh.vertices, atol=tolerance)


def test_a_neo_hookean_beam_sags_as_finite_elements_do():
    """Settled, both are at the minimum of the same potential: steps of position based dynamics are not exactly those of implicit Euler,
    since corrections keep the directions of the gradients when they were made, but the less the smaller the step."""
    mesh = ms.mesh.tet_block(4, 1, 1, (0.4, 0.1, 0.1))
    held = np.flatnonzero(mesh.vertices[:, 0] < 1e-9)
    other = ms.solids.DeformableBody(mesh, density=1000.0, gravity=(0, 0, -9.81))
    other.add(ms.solids.TetElements(mesh, youngs_modulus=2e5, poissons_ratio=0.3, material="neo-hookean"))
    other.pin(held)
    for _ in range(20):
        other.step(0.5, "implicit-euler", tolerance=1e-10, max_iterations=500)
    errors = []
    for substeps in (20, 80):
        body = PositionBody(mesh, density=1000.0, gravity=(0, 0, -9.81))
        body.add(NeoHookeanConstraints(mesh, youngs_modulus=2e5, poissons_ratio=0.3))
        body.pin(held)
        for _ in range(60):
            body.step(1 / 30, substeps=substeps, damping=8.0)
        errors.append(np.abs(body.positions - other.positions).max())
    sag = np.abs(other.positions - mesh.vertices).max()
    assert sag > 0.01
    assert errors[0] < 0.03 * sag
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("how", ["mirror", "scramble", "flat", "crushed"])
def test_neo_hookean_blocks_come_back(how):
    mesh, body = block(young=1e5, n=2)
    x = body.positions
    rng = np.random.default_rng(0)
    if how == "mirror":
        x[:, 2] *= -1
    elif how == "scramble":
        x[...] = rng.uniform(0, 1, x.shape)
    elif how == "flat":
        x[:, 2] = 0
    else:
        x *= 0.02
    start = body.masses @ x
    for _ in range(300):
        body.step(1 / 60, substeps=5, damping=5.0)
    p = x[mesh.tets]
    assert (np.linalg.det(p[:, 1:] - p[:, :1]) > 0).all()
    e = mesh.edges
    lengths = [np.linalg.norm(y[e[:, 0]] - y[e[:, 1]], axis=1) for y in (x, mesh.vertices)]
    np.testing.assert_allclose(lengths[0], lengths[1], rtol=0.02)
    np.testing.assert_allclose(body.masses @ x, start, atol=1e-8)


def test_stretch_of_a_neo_hookean_bar_is_its_modulus():
    """A bar under a small axial pull: strain is stress over Young's modulus."""
    mesh = ms.mesh.tet_block(6, 2, 2, (0.6, 0.2, 0.2))
    body = PositionBody(mesh, density=1000.0, gravity=(9.81, 0, 0))
    body.add(NeoHookeanConstraints(mesh, youngs_modulus=1e6, poissons_ratio=0.0))
    body.pin(np.flatnonzero(mesh.vertices[:, 0] < 1e-9))
    for _ in range(60):
        body.step(1 / 60, substeps=20, damping=20.0)
    end = mesh.vertices[:, 0] > 0.6 - 1e-9
    stretch = body.positions[end, 0].mean() - 0.6
    assert stretch == pytest.approx(1000 * 9.81 * 0.6**2 / 2 / 1e6, rel=0.02)


def test_averaged_corrections_converge_to_the_same_and_keep_momentum():
    mesh = ms.mesh.tet_block(2, 2, 2)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=mesh.vertices.shape)
    masses = rng.random(len(noise)) + 0.3
    apart = []
    for size in (0.0025, 0.00125):
        start, ends = mesh.vertices + size * noise, []
        for method in ("compliant", "averaged"):
            body = PositionBody(mesh, masses=masses)
            body.positions[...] = start
            body.add(DistanceConstraints(mesh, compliance=1e-3))
            body.add(VolumeConstraints(mesh, compliance=1e-3))
            body.step(0.1, substeps=1, iterations=1500, method=method)
            ends.append(body.positions.copy())
            np.testing.assert_allclose(masses @ body.positions, masses @ start, atol=1e-12)
        apart.append(np.abs(ends[0] - ends[1]).max())
    # The directions of gradients change on the way, which matters at second order.
    assert apart[0] < 1e-5
    assert apart[1] < 0.3 * apart[0]
    assert np.abs(ends[1] - start).max() > 0.0007
    # From the same positions: one averaged round does not depend on the order of the constraints.
    rounds = []
    for order in (slice(None), slice(None, None, -1)):
        body = PositionBody(mesh, masses=masses)
        body.positions[...] = start
        body.add(DistanceConstraints(mesh, edges=np.ascontiguousarray(mesh.edges[order])))
        body.step(0.1, substeps=1, method="averaged")
        rounds.append(body.positions.copy())
    np.testing.assert_allclose(rounds[0], rounds[1], atol=1e-14)


def test_fast_projection_is_exact_where_sweeps_need_many():
    """A handful of rounds; sweeps of Gauss-Seidel are still off by far more after ten times as many."""
    body, slow = chain(60), chain(60)
    body.step(1 / 30, substeps=1, iterations=10, method="fast-projection")
    slow.step(1 / 30, substeps=1, iterations=100)
    np.testing.assert_allclose(link_lengths(body), 1 / 60, rtol=1e-10)
    assert np.abs(link_lengths(slow) * 60 - 1).max() > 1e-4


def test_fast_projection_moves_least():
    """One round on one curved set: what it moves is in the span of W G^T, so any other way to the linearised constraints is longer."""
    mesh = ms.mesh.tet_block(1, 1, 1)
    rng = np.random.default_rng(4)
    masses = rng.random(len(mesh.vertices)) + 0.5
    start = mesh.vertices + 0.05 * rng.normal(size=mesh.vertices.shape)
    body = PositionBody(mesh, masses=masses)
    body.positions[...] = start
    # Fewer than the nodes' 18 degrees of freedom.
    e = np.ascontiguousarray(mesh.edges[:15])
    body.add(DistanceConstraints(mesh, edges=e))
    body.step(1.0, substeps=1, method="fast-projection")
    d = start[e[:, 0]] - start[e[:, 1]]
    lengths = np.linalg.norm(d, axis=1)
    gradient = np.zeros((len(e), *start.shape))
    for k, (a, b) in enumerate(e):
        gradient[k, a], gradient[k, b] = d[k] / lengths[k], -d[k] / lengths[k]
    g = gradient.reshape(len(e), -1) / np.sqrt(np.repeat(masses, 3))
    rest = np.linalg.norm(mesh.vertices[e[:, 0]] - mesh.vertices[e[:, 1]], axis=1)
    least = np.linalg.pinv(g) @ (rest - lengths) / np.sqrt(np.repeat(masses, 3))
    np.testing.assert_allclose((body.positions - start).ravel(), least, atol=1e-9)


def test_fast_projection_and_sweeps_agree():
    mesh = ms.mesh.cloth_mesh(6, 6, (0.3, 0.3))
    ends = []
    for method, iterations in (("compliant", 4000), ("fast-projection", 12)):
        body = PositionBody(mesh, density=0.2, gravity=(0, 0, -9.81))
        body.add(DistanceConstraints(mesh, compliance=1e-4))
        body.add(BendingConstraints(mesh, compliance=1.0))
        body.pin([0, 6])
        body.step(1 / 600, substeps=1, iterations=iterations, method=method)
        ends.append(body.positions.copy())
    assert np.abs(ends[0] - mesh.vertices).max() > 1e-5
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-8)


@pytest.mark.parametrize("method", ["averaged", "fast-projection"])
def test_methods_give_the_same_bits_on_any_threads(method):
    mesh = ms.mesh.tet_block(6, 5, 5)
    found, before = [], ms.num_threads()
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            body = PositionBody(mesh, density=1000.0, gravity=(0, 0, -9.81))
            body.add(NeoHookeanConstraints(mesh, youngs_modulus=1e5))
            body.add(DistanceConstraints(mesh, compliance=1e-4))
            body.pin([0, 1, 2])
            body.step(1 / 60, substeps=2, iterations=2, method=method)
            found.append(body.nodes.tobytes())
    finally:
        ms.set_num_threads(before)
    assert len(set(found)) == 1


def test_the_printed_method_has_no_neo_hookean_tets():
    _, body = block()
    with pytest.raises(ValueError, match="the printed method has no compliance"):
        body.step(0.1, method="printed")
    with pytest.raises(ValueError, match="poissons_ratio must be above -1 and below 1/2"):
        NeoHookeanConstraints(ms.mesh.tet_block(1, 1, 1), youngs_modulus=1e5, poissons_ratio=0.5)
    with pytest.raises(ValueError, match="youngs_modulus must be one positive number"):
        NeoHookeanConstraints(ms.mesh.tet_block(1, 1, 1), youngs_modulus=0.0)


def test_energy_of_a_free_cloth_does_not_grow():
    mesh = ms.mesh.cloth_mesh(6, 6)
    body = PositionBody(mesh, density=0.2)
    body.add(DistanceConstraints(mesh, stiffness=0.9))
    rng = np.random.default_rng(0)
    body.velocities[...] = rng.normal(size=body.velocities.shape)
    m = body.masses[:, None]
    before = np.inf
    for k in range(300):
        body.step(1 / 60, substeps=1, iterations=3, method="printed")
        energy = 0.5 * (m * body.velocities**2).sum()
        if k % 100 == 99:
            assert energy < before
            before = energy


def test_sleep():
    body = chain(4, compliance=1e-5)
    body.sleep = (0.02, 0.3)
    body.gravity = (9.81, 0, 0)
    for _ in range(400):
        body.step(1 / 60, damping=8.0)
        if body.asleep:
            break
    assert body.asleep
    still, time = body.positions.copy(), body.time
    body.step(1 / 60)
    np.testing.assert_array_equal(body.positions, still)
    assert body.time == pytest.approx(time + 1 / 60)
    copy = body.copy()
    assert copy.asleep
    for wake in (
        lambda b: b.velocities.__setitem__((2, 1), 1.0),
        lambda b: b.positions.__setitem__((2, 1), 0.01),
        lambda b: setattr(b, "gravity", (0, -9.81, 0)),
        lambda b: b.release([0]),
    ):
        other = body.copy()
        other.step(1 / 60)
        assert other.asleep
        wake(other)
        other.step(1 / 60)
        assert not other.asleep
        assert np.abs(other.positions - still).max() > 1e-4
    with pytest.raises(ValueError, match="the speed of sleep must be"):
        body.sleep = (0.0, 1.0)


def torture(body, steps, rng, any_steps):
    """Random forces, held nodes that jump, random places, steps and numbers of iterations; returns the longest way of a step."""
    longest, dt = 0.0, 0.01
    target = body.add(AttachmentConstraints([0], [[0.0, 0, 0]], compliance=1e-6))
    for k in range(steps):
        if k % 10 == 0:
            body.gravity = 981 * rng.normal(size=3) * (rng.random() < 0.2)
            target.targets[...] = rng.uniform(-1, 1, 3)
        if k % 50 == 0:
            body.positions[...] = rng.uniform(-1, 1, body.positions.shape) * rng.choice([0.0, 1.0])
        if any_steps or k % 50 == 0:
            dt = 10.0 ** rng.uniform(-4, -1.3)
        before = body.positions.copy()
        body.step(dt, substeps=1, iterations=int(rng.integers(1, 4)), damping=float(rng.choice([0.0, 5.0])))
        assert np.isfinite(body.nodes).all()
        longest = max(longest, float(np.abs(body.positions - before).max()))
    return longest


def tortured(kind, dtype, **options):
    mesh = ms.mesh.tet_block(1, 1, 1)
    body = PositionBody(mesh, density=1000.0, dtype=dtype, **options)
    if kind == "links":
        body.add(DistanceConstraints(mesh, compliance=1e-7))
        body.add(VolumeConstraints(mesh))
    elif kind == "tets":
        body.add(NeoHookeanConstraints(mesh, youngs_modulus=1e5, poissons_ratio=0.45))
    else:
        body.add(ShapeMatching(mesh, motion="quadratic", softness=0.9))
    return body


@pytest.mark.parametrize("dtype", slow_but([np.float32, np.float64], np.float64))
@pytest.mark.parametrize("kind", slow_but(["links", "tets", "shape"], "tets", "shape"))
def test_torture(kind, dtype):
    """Finite and bounded, and at rest soon after where no constraints contradict each other."""
    body = tortured(kind, dtype, max_speed=100.0)
    # 5 m is what the fastest node moves freely in the longest step.
    assert torture(body, 1700, np.random.default_rng(1), any_steps=True) < 20
    assert torture(body, 1700, np.random.default_rng(2), any_steps=False) < 20
    body.gravity = np.zeros(3)
    for _ in range(200):
        body.step(1 / 60, substeps=5, damping=20.0)
    # Links and volumes that are tangled cannot all hold, and go on shaking.
    assert np.abs(body.velocities).max() < (100 if kind == "links" else 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["links", "tets", "shape"])
def test_long_torture(kind):
    """10^4 steps without a bound of the speed where steps of a kind follow each other."""
    body = tortured(kind, np.float64)
    assert torture(body, 10_000, np.random.default_rng(3), any_steps=False) < 1e4


def test_stiff_cloth_without_bending_hangs_still():
    """Orders of sweeps that change in every substep throw such a cloth about at 100 m/s; it must not be faster than when it swings down."""
    n = 12
    mesh = ms.mesh.cloth_mesh(n, n)
    body = PositionBody(mesh, density=0.2, gravity=(0, 0, -9.81))
    body.add(ms.solids.DistanceConstraints(mesh))
    body.pin([0, n])
    fastest = 0.0
    for _ in range(60):
        body.step(1 / 60, substeps=20)
        fastest = max(fastest, float(np.linalg.norm(body.velocities, axis=1).max()))
    assert fastest < 2 * np.sqrt(2 * 9.81 * np.sqrt(2))
    assert np.linalg.norm(body.velocities, axis=1).max() < 3

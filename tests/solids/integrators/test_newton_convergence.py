"""Newton's method at its defaults: it converges for every force, quadratically near the solution, and creates no energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.implicit import SOLIDS, Make, Motion, altitudes, bad_starts, block, cloth, motions, twisted
from support.variants import slow

import meniscus as ms
from meniscus.mesh import cloth_mesh
from meniscus.solids import DeformableBody, Drag, StepInfo, WindDrag

MOTIONS, BAD_STARTS = motions(), bad_starts()


def steps_of(motion: Motion, count: int, dt: float = 0.0) -> list[StepInfo]:
    """Steps that must converge; without anything that drives the body, its energy must not grow."""
    body = motion.make()
    infos = []
    before = body.energy()["total"]
    # What rounding errors of positions make of the stiffest energies.
    noise = 1e-9 * max(abs(e) for e in body.energy().values()) + 1e-10
    for _ in range(count):
        infos.append(body.step(dt or motion.dt, "implicit-euler"))
        now = body.energy()["total"]
        assert motion.driven or now <= before + noise
        before = now
    return infos


def newton_iterations(infos: list[StepInfo]) -> list[int]:
    return [info.newton.iterations for info in infos if info.newton is not None]


@pytest.mark.parametrize("name", [slow(n) if n in ("cloth/stiff", "cloth/biphasic") else n for n in MOTIONS])
def test_steps_converge_at_the_defaults(name: str) -> None:
    motion = MOTIONS[name]
    iterations = newton_iterations(steps_of(motion, 20))
    assert len(iterations) == 20
    assert max(iterations) <= motion.most


@pytest.mark.slow
@pytest.mark.parametrize("name", MOTIONS)
def test_ten_thousand_steps_converge_at_the_defaults(name: str) -> None:
    """190 steps of each motion: 160 of its own length, and 30 that are short."""
    motion = MOTIONS[name]
    iterations = newton_iterations(steps_of(motion, 160)) + newton_iterations(steps_of(motion, 30, 1 / 1000))
    assert len(iterations) * len(MOTIONS) >= 10_000
    assert max(iterations) <= motion.most


@pytest.mark.parametrize("name", BAD_STARTS)
def test_bodies_recover_from_bad_starts(name: str) -> None:
    """All of the steps converge; but for the first few, which look for the state of rest, in as few iterations as usual."""
    body = BAD_STARTS[name].make()
    iterations = newton_iterations([body.step(BAD_STARTS[name].dt, "implicit-euler") for _ in range(12)])
    assert np.isfinite(body.positions).all()
    assert np.median(iterations) <= BAD_STARTS[name].most


def residuals_of(make: Make, dt: float, warm_up: int) -> list[float]:
    """Relative residuals before the first and after each iteration."""
    found = []
    for most in range(1, 16):
        body = make()
        for _ in range(warm_up):
            body.step(dt, "implicit-euler")
        info = body.step(dt, "implicit-euler", max_newton=most, newton_tolerance=1e-30, tolerance=1e-14, raise_on_failure=False)
        assert info.newton is not None
        found.append(info.newton.residual)
        if info.newton.iterations < most or info.newton.round_off:
            break
    return found


QUADRATIC: dict[str, tuple[Make, float]] = {
    **{f"solid/{m}": (block(m, modulus=1e4, speed=1.0, pinned=True), 0.03) for m in SOLIDS[1:]},
    **{f"damped solid/{m}": (block(m, modulus=1e4, speed=1.0, damping=0.02), 0.03) for m in SOLIDS[1:]},
    **{f"matrix-free/{m}": (block(m, speed=1.0, damping=0.02, stiffness="matrix-free"), 0.03) for m in SOLIDS[1:]},
    **{f"membrane/{m}": (cloth(boxes=5, membrane=m, damping=1e-3, wind="quadratic"), 1 / 60) for m in SOLIDS[1:]},
    **{f"cloth/{law}": (cloth(boxes=6, bending=law, damping=1e-3, wind="quadratic"), 1 / 60) for law in ("shell", "sine", "bridson")},
    "isotropic drag": (cloth(boxes=6, wind="isotropic"), 1 / 60),
    "altitude springs": (altitudes(damping=2.0), 1 / 20),
    "twist": (twisted("neo-hookean"), 1 / 40),
}


@pytest.mark.parametrize("name", QUADRATIC)
def test_residuals_are_squared_near_the_solution(name: str) -> None:
    """e -> C e^2 with a modest C, down to rounding errors."""
    residuals = np.array(residuals_of(*QUADRATIC[name], warm_up=2))
    near = np.flatnonzero((residuals[:-1] < 0.1) & (residuals[:-1] > 1e-8))
    assert len(near) > 0
    assert (residuals[near + 1] <= np.maximum(100 * residuals[near] ** 2, 1e-10)).all()
    assert residuals.min() < 1e-10


def test_quadratic_drag_is_implicit() -> None:
    """v1 = v0 + dt c |w - v1| (w - v1) / m has a solution in closed form; |w - v1| is no longer that of the start."""
    c, m, dt, wind = 0.7, 0.2, 0.5, np.array([3.0, -1.0, 2.0])
    body = DeformableBody(np.zeros((1, 3)), masses=m)
    body.add(Drag(np.array([c]), wind=tuple(wind), quadratic=True))
    body.velocities[0] = (-2.0, 5.0, 1.0)
    u0 = wind - body.velocities[0]
    for _ in range(4):
        body.step(dt, "implicit-euler", newton_tolerance=1e-13)
        k = dt * c / m
        size = (np.sqrt(1 + 4 * k * np.linalg.norm(u0)) - 1) / (2 * k)
        u0 = u0 / np.linalg.norm(u0) * size
        np.testing.assert_allclose(body.velocities[0], wind - u0, rtol=1e-11)


@pytest.mark.parametrize("quadratic", [False, True])
def test_the_wind_pushes_a_sheet_as_at_the_end_of_the_step(quadratic: bool) -> None:
    """A sheet turned in space, with wind across and along it: its nodes keep their normals, and are driven along these only."""
    mesh, dt, per_area, density = cloth_mesh(3, 4), 0.3, 0.8, 0.5
    q = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    turned = np.ascontiguousarray(mesh.vertices @ q.T)
    body = DeformableBody(mesh, density=density)
    body.add(WindDrag(mesh, per_area=per_area, wind=(4.0, -3.0, 2.0), quadratic=quadratic))
    body.positions, body.velocities[:] = turned, (0.3, 0.2, -0.1)
    normal, v0 = q[:, 2] * np.linalg.det(q), body.velocities[0].copy()
    body.step(dt, "implicit-euler", newton_tolerance=1e-13)
    u0, k = (np.array([4.0, -3.0, 2.0]) - v0) @ normal, dt * per_area / density
    size = (np.sqrt(1 + 4 * k * abs(u0)) - 1) / (2 * k) if quadratic else abs(u0) / (1 + k)
    expected = v0 + (u0 - np.sign(u0) * size) * normal
    np.testing.assert_allclose(body.velocities, np.tile(expected, (len(body), 1)), rtol=0, atol=1e-11)


@pytest.mark.parametrize("material", SOLIDS[1:])
def test_momentum_is_exact_at_the_defaults(material: Any) -> None:
    body = block(material, speed=1.0, gravity=None, damping=0.01)()
    before, scale = body.momentum(), float((body.masses[:, None] * np.abs(body.velocities)).sum())
    for _ in range(20):
        body.step(1 / 30, "implicit-euler")
    np.testing.assert_allclose(body.momentum(), before, rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize(
    "name", ["twist/neo-hookean", "cloth/bridson/quadratic", "altitude springs, damped", "membrane, damped/corotational"]
)
def test_steps_have_the_same_bits_on_any_number_of_threads(name: str) -> None:
    found = []
    for threads in (1, 2, 3, 5, 8):
        ms.set_num_threads(threads)
        body = MOTIONS[name].make()
        for _ in range(3):
            body.step(MOTIONS[name].dt, "implicit-euler")
        found.append((body.positions.tobytes(), body.velocities.tobytes()))
    assert len(set(found)) == 1


@pytest.mark.parametrize("material", SOLIDS)
def test_matrices_and_products_take_the_same_steps(material: Any) -> None:
    """The matrix of a step contains damping at its start; matrix-free elements keep that apart."""
    found = []
    for stiffness in ("assembled", "matrix-free"):
        body = block(material, speed=1.0, pinned=True, damping=0.02, stiffness=stiffness)()
        for _ in range(5):
            body.step(0.03, "implicit-euler", newton_tolerance=1e-12, tolerance=1e-14)
        found.append(body.positions.copy())
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10)

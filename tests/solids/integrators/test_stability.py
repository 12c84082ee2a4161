"""Limits of explicit integrators on damped systems: against amplification matrices, and in long runs just below them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.forces.checks import matrix as matrix_of
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import (
    AltitudeSprings,
    BendingSprings,
    DeformableBody,
    DihedralBending,
    Drag,
    EdgeSprings,
    QuadraticTetElements,
    SpringOptions,
    TetElements,
    TriangleMembrane,
)

EXPLICIT: list[tuple[str, dict[str, Any]]] = [
    ("explicit-euler", {}),
    ("symplectic-euler", {}),
    ("rk2", {}),
    ("rk4", {}),
    ("verlet", {}),
    ("verlet", {"form": "velocities"}),
    ("velocity-verlet", {}),
    ("newmark", {}),
]
RATIOS = [0.0, 0.1, 0.5, 1.0, 3.0, 30.0]


def amplification(integrator: str, k: np.ndarray, d: np.ndarray, h: float) -> np.ndarray:
    """The matrix that takes (x, v) over a step of x'' = -k x - d x', for matrices k and d that need not commute."""
    n = len(k)
    one, zero = np.eye(n), np.zeros((n, n))
    a = np.block([[zero, one], [-k, -d]])
    whole = np.eye(2 * n)
    x, v = whole[:n], whole[n:]
    if integrator in ("explicit-euler", "rk2", "rk4"):
        term = total = whole
        for order in range(1, {"explicit-euler": 1, "rk2": 2, "rk4": 4}[integrator] + 1):
            term = h * a @ term / order
            total = total + term
        return total
    acceleration = -k @ x - d @ v
    if integrator in ("symplectic-euler", "verlet"):
        v1 = v + h * acceleration
        return np.vstack([x + h * v1, v1])
    if integrator == "velocity-verlet":
        x1 = x + h * v + 0.5 * h * h * acceleration
        return np.vstack([x1, v + 0.5 * h * (acceleration - k @ x1 - d @ (v + h * acceleration))])
    assert integrator == "newmark"
    implicit = np.linalg.inv(one + 0.5 * h * d)
    x1 = x + h * implicit @ (v - 0.5 * h * k @ x)
    return np.vstack([x1, 2 * implicit @ (v - 0.25 * h * k @ (x + x1)) - v])


def radius(integrator: str, k: Any, d: Any, h: float) -> float:
    return float(np.abs(np.linalg.eigvals(amplification(integrator, np.atleast_2d(k), np.atleast_2d(d), h))).max())


def free_pair(frequency: float, ratio: float) -> DeformableBody:
    """Two masses on a spring, along a direction that is nothing special: one oscillation, with the given damping ratio."""
    x = np.array([[0.1, 0.2, 0.3], [0.5, -0.3, 1.0]])
    m = 0.7
    k = 0.5 * m * frequency**2
    body = DeformableBody(x, masses=m)
    body.add(EdgeSprings(np.array([[0, 1]], np.int32), SpringOptions(spring_constant=k, damping=ratio * m * frequency), x))
    return body


@pytest.mark.parametrize("ratio", [0.0, 0.03, 0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 3.0, 30.0])
@pytest.mark.parametrize("frequency", [0.3, 50.0])
@pytest.mark.parametrize("integrator", dict(EXPLICIT))
def test_limit_of_a_damped_oscillator(integrator: Any, frequency: float, ratio: float) -> None:
    """Exact, but for velocity Verlet, where it may be a little smaller, and Newmark's, which damping would let grow."""
    limit = free_pair(frequency, ratio).max_dt(integrator, cfl=1.0)
    k, d = frequency**2, 2 * ratio * frequency
    if integrator in ("explicit-euler", "rk2") and ratio == 0:
        assert limit == 0.0
        assert all(radius(integrator, k, d, h / frequency) > 1 for h in (0.2, 0.5, 1.0))
        return
    for part in (0.01, 0.1, 0.5, 0.9, 0.9999):
        assert radius(integrator, k, d, part * limit) <= 1 + 1e-12
    slack = {"velocity-verlet": 1.65, "newmark": (1 + 2 * ratio) * 1.01 + 2 * ratio**2}.get(integrator, 1.001)
    assert radius(integrator, k, d, slack * limit) > 1


def semidefinite(rng: np.random.Generator, n: int, rank: int) -> np.ndarray:
    a = rng.normal(size=(n, rank)) * np.exp(rng.normal(size=rank))
    return a @ a.T


@pytest.mark.parametrize("seed", range(25))
def test_limits_hold_for_stiffness_and_damping_that_do_not_commute(seed: int) -> None:
    """Springs of any stiffness and damping between any nodes of any mass: the matrices of the body itself, and its own limits."""
    rng = np.random.default_rng(seed)
    n = 6
    x = rng.normal(size=(n, 3))
    pairs = np.array([(i, j) for i in range(n) for j in range(i)], np.int32)
    stiffness, damping = np.exp(2 * rng.normal(size=len(pairs))), 10.0 ** rng.uniform(-2, 1) * np.exp(2 * rng.normal(size=len(pairs)))
    damping[rng.random(len(pairs)) < 0.3] = 0.0
    body = DeformableBody(x, masses=np.exp(rng.normal(size=n)))
    body.add(EdgeSprings(pairs, SpringOptions(spring_constant=stiffness, damping=damping), x))
    if seed % 3 == 0:
        body.add(Drag(np.exp(rng.normal(size=n))))
    body.pin([0])
    root = np.repeat(body.masses[1:] ** -0.5, 3)

    def reduced(apply: Callable[[Any, np.ndarray], np.ndarray]) -> np.ndarray:
        whole = -sum(matrix_of(lambda u, f=f: apply(f, u), n) for f in body.forces)
        found: np.ndarray = root[:, None] * whole[3:, 3:] * root
        return found

    k = reduced(lambda f, u: f.differentials(x, u, "definite"))
    d = reduced(lambda f, u: f.damping_forces(x, u))
    for integrator in dict(EXPLICIT):
        limit = body.max_dt(integrator, cfl=1.0, max_strain=1e30)  # type: ignore[arg-type]
        if limit == 0:
            assert integrator in ("explicit-euler", "rk2")
            continue
        for part in (0.1, 0.5, 0.99):
            # Rigid motions about the pin have the eigenvalue 1.
            assert radius(integrator, k, d, part * limit) <= 1 + 1e-7
        # Not absurdly small: bounds by rows are within a factor of a few, whatever the network.
        assert radius(integrator, k, d, 6 * limit) > 1 or integrator in ("newmark", "explicit-euler", "rk2")


def turned(x: np.ndarray, seed: int) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return np.ascontiguousarray(x @ (q * np.sign(np.linalg.det(q))).T)


def chain(ratio: float, nodes: int = 9, k: float = 300.0, m: float = 0.02) -> DeformableBody:
    x = np.zeros((nodes, 3))
    x[:, 0] = 0.1 * np.arange(nodes)
    x = turned(x, 5)
    body = DeformableBody(x, masses=m)
    edges = np.stack([np.arange(nodes - 1), np.arange(1, nodes)], 1).astype(np.int32)
    body.add(EdgeSprings(edges, SpringOptions(spring_constant=k, damping_fraction=ratio, masses=body.masses), x))
    body.pin([0])
    return body


def cloth(ratio: float, hinges: bool = False) -> DeformableBody:
    flat = ms.mesh.cloth_mesh(4, 5)
    mesh = ms.mesh.TriangleMesh(turned(flat.vertices, 6), flat.triangles)
    body = DeformableBody(mesh, density=0.2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=30.0, damping_fraction=ratio, masses=body.masses)))
    soft = SpringOptions(stiffness=0.01 if hinges else 1.0, damping_fraction=ratio, masses=body.masses)
    body.add(DihedralBending(mesh, soft) if hinges else BendingSprings(mesh, soft))
    body.pin([0, 5])
    return body


def membrane(ratio: float) -> DeformableBody:
    flat = ms.mesh.cloth_mesh(4, 4)
    mesh = ms.mesh.TriangleMesh(turned(flat.vertices, 7), flat.triangles)
    body = DeformableBody(mesh, density=0.2)
    bound = TriangleMembrane(mesh, youngs_modulus=1e4, thickness=1e-3).stiffness_bounds(mesh.vertices)
    highest = np.sqrt(2 * (bound / body.masses).max())
    body.add(TriangleMembrane(mesh, youngs_modulus=1e4, thickness=1e-3, damping=2 * ratio / highest))
    return body


def block(ratio: float, material: str = "corotational") -> DeformableBody:
    lattice = ms.mesh.tet_block(2, 2, 1)
    mesh = ms.mesh.TetMesh(turned(lattice.vertices, 8), lattice.tets)
    body = DeformableBody(mesh, density=100.0)
    if material == "springs":
        options = SpringOptions(stiffness=300.0, damping_fraction=ratio, masses=body.masses)
        body.add(EdgeSprings(mesh, options))
        body.add(AltitudeSprings(mesh, options))
    else:
        bound = TetElements(mesh, youngs_modulus=1e4, material=material).stiffness_bounds(mesh.vertices)  # type: ignore[arg-type]
        damping = 2 * ratio / np.sqrt(2 * (bound / body.masses).max())
        body.add(TetElements(mesh, youngs_modulus=1e4, material=material, damping=damping))  # type: ignore[arg-type]
    body.pin([0])
    return body


BODIES: dict[str, Callable[[float], DeformableBody]] = {
    "chain": chain,
    "cloth": cloth,
    "cloth with hinges": lambda ratio: cloth(ratio, True),
    "membrane": membrane,
    "corotational": block,
    "neo-hookean": lambda ratio: block(ratio, "neo-hookean"),
    "altitudes": lambda ratio: block(ratio, "springs"),
}


def run(name: str, integrator: Any, options: dict[str, Any], ratio: float, steps: int) -> None:
    """Small random velocities stay small at 0.9 of the limit, from beginning to end."""
    body = BODIES[name](ratio)
    dt = body.max_dt(integrator, cfl=0.9, max_strain=1e30)
    if dt == 0.0:
        assert integrator in ("explicit-euler", "rk2")
        assert ratio == 0
        return
    free = np.setdiff1d(np.arange(len(body)), body.constrained)
    body.velocities[free] = 1e-4 * np.random.default_rng(1).normal(size=(len(free), 3))
    start = float(np.abs(body.velocities).max())
    for _ in range(steps):
        speed = body.step(dt, integrator, **options).max_speed
        assert speed < 30 * start


@pytest.mark.parametrize("ratio", slow_but(RATIOS, 0.1, 30.0))
@pytest.mark.parametrize(("integrator", "options"), EXPLICIT)
def test_damped_bodies_stay_bounded_below_the_limit(integrator: str, options: dict[str, Any], ratio: float) -> None:
    for name in BODIES:
        run(name, integrator, options, ratio, 300)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize(("integrator", "options"), EXPLICIT)
def test_damped_bodies_stay_bounded_for_very_many_steps(name: str, integrator: str, options: dict[str, Any], ratio: float) -> None:
    run(name, integrator, options, ratio, 100_000)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("integrator", ["symplectic-euler", "rk4", "verlet", "velocity-verlet", "explicit-euler", "rk2"])
def test_limits_of_a_long_chain_are_near_the_true_ones(integrator: Any, ratio: float) -> None:
    n, k, m = 40, 300.0, 0.02
    limit = chain(ratio, n, k, m).max_dt(integrator, cfl=1.0)
    difference = np.eye(n - 1) - np.eye(n - 1, k=-1)
    laplace = difference.T @ difference
    b = 2 * ratio * np.sqrt(k * m / 2)
    if limit == 0:
        assert ratio == 0
        return
    stiffness, damping = k / m * laplace, b / m * laplace
    assert radius(integrator, stiffness, damping, 0.999 * limit) <= 1 + 1e-9
    assert radius(integrator, stiffness, damping, (1.65 if integrator == "velocity-verlet" else 1.05) * limit) > 1


def test_what_makes_a_step_impossible_is_said() -> None:
    body = chain(0.0)
    for integrator in ("explicit-euler", "rk2"):
        limits = body.limits(integrator)  # type: ignore[arg-type]
        assert (limits.dt, limits.cause) == (0.0, "frequency")
    # Tension is not damped; nor is anything that springs do not hold.
    body = chain(0.5)
    assert body.max_dt("explicit-euler") > 0
    body.positions *= 1.001
    assert body.max_dt("explicit-euler") == body.max_dt("rk2") == 0.0
    # Drag alone: |1 - c dt| <= 1, and so on.
    body = DeformableBody(np.zeros((3, 3)), masses=2.0)
    body.add(Drag(6.0, nodes=3))
    assert body.max_dt("explicit-euler", cfl=1.0) == pytest.approx(2.0 / 3.0, rel=1e-9)
    assert body.max_dt("rk4", cfl=1.0) == pytest.approx(2.785293563405282 / 3.0, rel=1e-9)
    assert body.max_dt("verlet", cfl=1.0) == pytest.approx(2.0 / 3.0, rel=1e-12)
    assert body.max_dt("newmark", cfl=1.0) == np.inf


@pytest.mark.parametrize("material", ["corotational", "st-venant-kirchhoff", "neo-hookean"])
@pytest.mark.parametrize("kind", ["linear", "quadratic", "membrane"])
@pytest.mark.parametrize("stiffness", ["assembled", "matrix-free"])
def test_damping_of_elements_turns_no_body(kind: str, material: Any, stiffness: Any) -> None:
    """It acts on no rotation and has no torque: a strained body keeps its angular momentum to round-off, however strong its damping."""
    options: dict[str, Any] = {"youngs_modulus": 1e4, "material": material, "damping": 0.5, "stiffness": stiffness}
    mesh: Any
    force: Any
    if kind == "membrane":
        if material == "st-venant-kirchhoff":
            material = options["material"] = "corotational"
        flat = ms.mesh.cloth_mesh(3, 4)
        mesh = ms.mesh.TriangleMesh(turned(flat.vertices, 9), flat.triangles)
        force = TriangleMembrane(mesh, thickness=0.01, **options)
    else:
        lattice = ms.mesh.tet_block(3, 2, 2)
        mesh = ms.mesh.TetMesh(turned(lattice.vertices, 9), lattice.tets)
        if kind == "quadratic":
            mesh = ms.mesh.quadratic_mesh(mesh)
        force = (QuadraticTetElements if kind == "quadratic" else TetElements)(mesh, **options)
    x = np.ascontiguousarray(mesh.vertices @ np.array([[1.3, 0.2, 0.0], [0.0, 0.8, -0.1], [0.1, 0.0, 1.1]]))
    spin = np.cross([3.0, -5.0, 2.0], x)
    other = np.random.default_rng(2).normal(size=x.shape) * np.abs(spin).max()
    for tangent in ("frozen", "definite", "exact"):
        force.differentials(x, other, tangent)
        damping = force.damping_forces(x, other)
        assert np.abs(force.damping_forces(x, spin)).max() <= 1e-13 * np.abs(damping).max()
        assert np.abs(np.cross(x, damping).sum(axis=0)).max() <= 1e-12 * np.abs(damping).max() * len(x)
    body = DeformableBody(mesh, density=10.0)
    body.add(force)
    body.positions, body.velocities = x, spin + 0.1 * other
    before = body.angular_momentum()
    dt = body.max_dt("symplectic-euler", cfl=0.5, max_strain=1e30)
    for _ in range(100):
        body.step(dt, "symplectic-euler")
    np.testing.assert_allclose(body.angular_momentum(), before, rtol=0, atol=1e-11 * np.linalg.norm(before))


@pytest.mark.parametrize("kind", ["linear", "quadratic", "membrane"])
def test_the_damping_that_a_step_holds_is_that_of_its_start(kind: str) -> None:
    """Assembled and matrix-free elements take the same step of implicit Euler, with damping that is not in proportion to a tangent."""
    bodies = []
    for stiffness in ("assembled", "matrix-free"):
        options: dict[str, Any] = {"youngs_modulus": 1e4, "damping": 0.05, "stiffness": stiffness}
        mesh: Any = ms.mesh.cloth_mesh(3, 4) if kind == "membrane" else ms.mesh.tet_block(2, 1, 1)
        if kind == "quadratic":
            mesh = ms.mesh.quadratic_mesh(mesh)
        body = DeformableBody(mesh, density=10.0)
        elements: dict[str, Any] = {"linear": TetElements, "quadratic": QuadraticTetElements, "membrane": TriangleMembrane}
        body.add(elements[kind](mesh, **options, **({"thickness": 0.01} if kind == "membrane" else {})))
        x = body.positions.copy()
        body.positions = 1.2 * x + 0.02 * np.random.default_rng(3).normal(size=x.shape)
        body.velocities = np.cross([3.0, -5.0, 2.0], x) + np.random.default_rng(4).normal(size=x.shape)
        for _ in range(3):
            body.step(0.02, "implicit-euler", newton_tolerance=1e-10, tolerance=1e-10)
        bodies.append(body)
    np.testing.assert_allclose(bodies[0].positions, bodies[1].positions, rtol=0, atol=1e-7)
    np.testing.assert_allclose(bodies[0].velocities, bodies[1].velocities, rtol=0, atol=1e-5)

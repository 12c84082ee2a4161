"""Edge springs and soft bindings against exact solutions and a plain sum over springs."""

from fractions import Fraction

import numpy as np
import pytest
from support.forces.checks import matrix
from support.motion import symplectic

import meniscus as ms
from meniscus.solids import DeformableBody, EdgeSprings, SoftBindings, SpringOptions

ONE = np.array([[0, 1]], np.int32)
PAIR = np.array([(0.0, 0, 0), (2.0, 0, 0)])


def frequencies(force: EdgeSprings, x: np.ndarray, mass: np.ndarray, free: list[int]) -> np.ndarray:
    """Angular frequencies of small motions along x of the free nodes."""
    k = -matrix(lambda d: force.differentials(x, d), len(x))
    index = [3 * i for i in free]
    root = np.sqrt(mass[free])
    square = np.linalg.eigvalsh(k[np.ix_(index, index)] / root[:, None] / root[None, :])
    return np.sqrt(np.maximum(square, 0))


def random_springs(nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Springs of every count per node: chains, a node with hundreds of springs, two springs between the same nodes, unused nodes."""
    chain = np.stack([np.arange(1, nodes - 40), np.arange(nodes - 41)], axis=1)
    hub = np.stack([np.full(700, 17), rng.choice(np.arange(100, nodes - 40), 700, replace=False)], axis=1)
    loose = rng.integers(0, nodes - 40, (3 * nodes, 2))
    every = np.concatenate([chain, hub, loose[loose[:, 0] != loose[:, 1]], chain[:5], chain[:5, ::-1]])
    return np.ascontiguousarray(rng.permutation(every), np.int32)


def test_forces_are_those_of_a_plain_sum_over_springs(rng: np.random.Generator) -> None:
    n = 2600
    e = random_springs(n, rng)
    rest, x, v = rng.random((n, 3)), rng.random((n, 3)), rng.standard_normal((n, 3))
    modulus, b = rng.uniform(1, 9, len(e)), rng.uniform(0, 3, len(e))
    springs = EdgeSprings(e, SpringOptions(stiffness=modulus, damping=b), rest)
    l0 = np.linalg.norm(rest[e[:, 1]] - rest[e[:, 0]], axis=1)
    d = x[e[:, 1]] - x[e[:, 0]]
    length = np.linalg.norm(d, axis=1)
    d /= length[:, None]
    pull = (modulus * (length / l0 - 1))[:, None] * d
    damp = (b * ((v[e[:, 1]] - v[e[:, 0]]) * d).sum(axis=1))[:, None] * d
    for found, per_spring in ((springs.forces(x), pull), (springs.damping_forces(x, v), damp)):
        expected = np.zeros_like(x)
        np.add.at(expected, e[:, 0], per_spring)
        np.add.at(expected, e[:, 1], -per_spring)
        assert np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max()
    assert springs.energy(x) == pytest.approx((0.5 * modulus / l0 * (length - l0) ** 2).sum(), rel=1e-12)
    assert springs.strain_rate(x, v) == pytest.approx(np.abs(((v[e[:, 1]] - v[e[:, 0]]) * d).sum(axis=1) / l0).max(), rel=1e-12)
    assert np.array_equal(springs.rest_lengths, l0)
    assert np.abs(springs.spring_constants - modulus / l0).max() <= 1e-14 * (modulus / l0).max()
    # Ends in the other order are the same springs.
    swapped = EdgeSprings(np.ascontiguousarray(e[:, ::-1]), SpringOptions(stiffness=modulus, damping=b), rest)
    assert np.array_equal(swapped.forces(x), springs.forces(x))


@pytest.mark.parametrize("masses", [(1.0, 1.0), (0.5, 3.0), (2.0, np.inf)])
def test_two_masses_swing_at_the_frequency_of_their_reduced_mass(masses: tuple[float, float]) -> None:
    modulus, l0 = 7.0, 2.0
    springs = EdgeSprings(ONE, SpringOptions(stiffness=modulus), PAIR)
    m = np.array(masses)
    reduced = 1 / (1 / m).sum()
    w = np.sqrt(modulus / (l0 * reduced))
    free = [i for i in (0, 1) if np.isfinite(m[i])]
    assert frequencies(springs, PAIR, m, free)[-1] == pytest.approx(w, rel=1e-14)
    # The bound of the frequency that time steps take: stable, and not absurdly small.
    bound = np.sqrt(2 * (springs.stiffness_bounds(PAIR) / m).max())
    assert w <= bound * (1 + 1e-14)
    assert bound <= 2 * w


def test_a_chain_between_walls_has_its_known_frequencies() -> None:
    n, k, m = 11, 13.0, 0.7
    x = np.zeros((n + 2, 3))
    x[:, 0] = np.arange(n + 2)
    e = np.stack([np.arange(n + 1), np.arange(1, n + 2)], axis=1).astype(np.int32)
    found = frequencies(EdgeSprings(e, SpringOptions(spring_constant=k), x), x, np.full(n + 2, m), list(range(1, n + 1)))
    exact = 2 * np.sqrt(k / m) * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1)))
    assert np.abs(found - exact).max() <= 1e-12
    # With a relative stiffness, dividing the chain twice as finely doubles the spring constants: the whole stays as stiff.
    fine = EdgeSprings(e, SpringOptions(stiffness=k), 0.5 * x)
    assert np.allclose(fine.spring_constants, 2 * k, rtol=1e-15)


@pytest.mark.parametrize("fraction", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("masses", [(1.0, 1.0), (0.5, 3.0), (2.0, np.inf)])
def test_damping_is_critical_at_the_fraction_one(fraction: float, masses: tuple[float, float]) -> None:
    m = np.array(masses)
    springs = EdgeSprings(ONE, SpringOptions(stiffness=8.0, damping_fraction=fraction, masses=m), PAIR)
    reduced = 1 / (1 / m).sum()
    w = np.sqrt(4.0 / reduced)
    assert springs.damping[0] == pytest.approx(2 * fraction * np.sqrt(4.0 * reduced), rel=1e-15)
    # Runge-Kutta of fourth order, from a stretched spring at rest, against the exact elongation.
    start = 0.3
    x, v = PAIR + np.array([(0, 0, 0), (start, 0, 0)]), np.zeros((2, 3))
    inverse = (1 / m)[:, None]

    def rate(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return q, inverse * (springs.forces(p) + springs.damping_forces(p, q))

    dt, longest = 5.0 / w / 800, []
    for step in range(1, 801):
        k1 = rate(x, v)
        k2 = rate(x + 0.5 * dt * k1[0], v + 0.5 * dt * k1[1])
        k3 = rate(x + 0.5 * dt * k2[0], v + 0.5 * dt * k2[1])
        k4 = rate(x + dt * k3[0], v + dt * k3[1])
        x = x + dt / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        v = v + dt / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
        longest.append((step * dt, x[1, 0] - x[0, 0] - 2.0))
    t, found = np.array(longest).T
    if fraction == 1:
        exact = start * (1 + w * t) * np.exp(-w * t)
    else:
        root = np.sqrt(complex(fraction**2 - 1)) * w
        a, b = -fraction * w + root, -fraction * w - root
        exact = (start * (a * np.exp(b * t) - b * np.exp(a * t)) / (a - b)).real
    assert np.abs(found - exact).max() <= 1e-8
    assert (found.min() >= 0) == (fraction >= 1)


def test_springs_between_immovable_nodes_have_no_critical_damping() -> None:
    assert EdgeSprings(ONE, SpringOptions(stiffness=8.0, damping_fraction=1.0, masses=np.inf), PAIR).damping[0] == 0


def test_a_weight_hangs_at_its_static_elongation() -> None:
    down = np.array([(0.0, 0, 0), (0, 0, -2.0)])
    springs = EdgeSprings(ONE, SpringOptions(spring_constant=50.0, damping_fraction=1.0, masses=1.5), down)
    x = symplectic([springs], down, 1.5, 0.01, 3000, gravity=9.81, fixed=[0])
    assert x[1, 2] == pytest.approx(-2.0 - 1.5 * 9.81 / 50.0, rel=1e-12)


def test_stiffness_across_a_compressed_spring_is_negative_and_the_definite_one_is_not() -> None:
    springs = EdgeSprings(ONE, SpringOptions(spring_constant=2.0), PAIR)
    half = np.array([(0.0, 0, 0), (1.0, 0, 0)])
    for tangent, across in (("exact", 2.0), ("definite", 0.0), ("frozen", 0.0)):
        block = springs.diagonal(half, tangent=tangent)[0]
        assert np.array_equal(block, np.diag([-2.0, across, across]))
    stretched = springs.diagonal(2 * PAIR, tangent="definite")[0]
    assert np.array_equal(stretched, np.diag([-2.0, -1.0, -1.0]))
    assert np.array_equal(springs.diagonal(2 * PAIR, tangent="frozen")[0], np.diag([-2.0, 0, 0]))
    # At rest, a turn of the spring costs nothing.
    turn = np.array([(0.0, -1, 0), (0, 1, 0)])
    assert np.array_equal(springs.differentials(PAIR, turn), np.zeros((2, 3)))


def test_pieces_are_integrated_from_the_state_of_rest() -> None:
    pieces = [(-0.5, 4.0), (-0.25, 0.5), (0.125, 3.0), (0.5, 0.0)]
    springs = EdgeSprings(ONE, SpringOptions(stiffness=6.0, pieces=pieces), PAIR)

    def exact(strain: Fraction) -> tuple[Fraction, Fraction]:
        """Stress and energy density, by summing up the pieces between 0 and the strain."""
        knots = [Fraction(-(10**6))] + [Fraction(p[0]) for p in pieces[1:]] + [Fraction(10**6)]
        stress = energy = Fraction(0)
        spans = [(max(a, Fraction(0)), min(b, strain), Fraction(p[1])) for a, b, p in zip(knots, knots[1:], pieces, strict=False)]
        if strain < 0:
            spans = [(min(b, Fraction(0)), max(a, strain), Fraction(p[1])) for a, b, p in zip(knots, knots[1:], pieces, strict=False)][::-1]
        for a, b, slope in spans:
            if (b - a) * (1 if strain >= 0 else -1) <= 0:
                continue
            energy += stress * (b - a) + slope * (b - a) ** 2 / 2
            stress += slope * (b - a)
        return stress, energy

    for strain in (-0.875, -0.5, -0.375, -0.25, -0.125, 0.0, 0.0625, 0.125, 0.25, 0.5, 1.5):
        x = np.array([(0.0, 0, 0), (2.0 * (1 + strain), 0, 0)])
        stress, energy = exact(Fraction(strain))
        assert springs.forces(x)[0, 0] == pytest.approx(6.0 * float(stress), rel=1e-15)
        assert springs.energy(x) == pytest.approx(6.0 * 2.0 * float(energy), rel=1e-15)


def test_two_pieces_are_soft_at_first_and_then_stiff() -> None:
    springs = EdgeSprings(ONE, SpringOptions(stiffness=10.0, pieces=[(-1, 1), (0.1, 20)]), PAIR)
    for length, force in ((2.2, 1.0), (2.4, 1.0 + 20.0), (1.0, -5.0)):
        assert springs.forces(np.array([(0.0, 0, 0), (0, length, 0)]))[0, 1] == pytest.approx(force, rel=1e-14)
    assert springs.stiffness_bounds(PAIR)[0] == 20 * 10.0 / 2.0


def test_springs_without_length() -> None:
    together = np.ones((2, 3))
    v = np.array([(0.0, 0, 0), (1.0, 2.0, 0)])
    nothing = EdgeSprings(ONE, SpringOptions(spring_constant=3.0, damping=0.5), PAIR)
    for answer in (nothing.forces(together), nothing.damping_forces(together, v), nothing.differentials(together, v)):
        assert np.array_equal(answer, np.zeros((2, 3)))
    # With the last direction it pushes its ends apart along the direction that it had at rest ...
    last = EdgeSprings(ONE, SpringOptions(spring_constant=3.0, damping=0.5), PAIR, zero_length="last")
    assert np.array_equal(last.forces(together), [(-6.0, 0, 0), (6.0, 0, 0)])
    assert np.array_equal(last.damping_forces(together, v), [(0.5, 0, 0), (-0.5, 0, 0)])
    # ... or where the last step of a body began, seen from either end; questions about other positions change nothing.
    turned = np.array([(0.0, 0, 0), (0.0, 0, -1.5)])
    last.differentials(turned, v)
    assert np.array_equal(last.forces(together), [(-6.0, 0, 0), (6.0, 0, 0)])
    body = DeformableBody(turned, masses=1.0)
    body.add(last)
    body.step(1e-6)
    assert np.array_equal(last.forces(together), [(0, 0, 6.0), (0, 0, -6.0)])
    # A spring without rest length is linear and needs no direction.
    zero = EdgeSprings(ONE, SpringOptions(spring_constant=3.0), rest_lengths=0.0)
    for tangent in ("exact", "definite", "frozen"):
        assert np.array_equal(zero.differentials(together, v, tangent=tangent), [(3.0, 6.0, 0), (-3.0, -6.0, 0)])
    assert np.array_equal(zero.forces(v), [(3.0, 6.0, 0), (-3.0, -6.0, 0)])
    raised = EdgeSprings(ONE, SpringOptions(stiffness=3.0), together, shortest=1e-4)
    assert np.array_equal(raised.rest_lengths, [1e-4])


def test_parameters_may_change(rng: np.random.Generator) -> None:
    e = random_springs(900, rng)
    x, v = rng.random((900, 3)), rng.random((900, 3))
    k, l0, b = rng.random((3, len(e)))
    changed = EdgeSprings(e, SpringOptions(spring_constant=0.0), x)
    assert not changed.forces(2 * x).any()
    changed.change(spring_constant=k)
    changed.change(rest_lengths=l0, damping=b)
    made = EdgeSprings(e, SpringOptions(spring_constant=k, damping=b), rest_lengths=l0)
    for answer in ("forces", "stiffness_bounds"):
        assert np.array_equal(getattr(changed, answer)(2 * x), getattr(made, answer)(2 * x))
    assert np.array_equal(changed.damping_forces(x, v), made.damping_forces(x, v))
    assert np.array_equal(changed.differentials(x, v), made.differentials(x, v))
    with pytest.raises(ValueError, match=r"damping must be finite and at least 0, but \[0\] is -1"):
        changed.change(damping=-1.0)


def test_no_springs() -> None:
    springs = EdgeSprings(np.zeros((0, 2), np.int32), SpringOptions(stiffness=1.0), np.zeros((0, 3)))
    assert springs.nodes == 0
    assert np.array_equal(springs.forces(PAIR), np.zeros((2, 3)))
    assert springs.energy(PAIR) == springs.strain_rate(PAIR, PAIR) == 0


def test_springs_that_are_refused() -> None:
    for error, message, call in [
        (ValueError, "stiffness .N. or spring_constant", lambda: EdgeSprings(ONE, SpringOptions(), PAIR)),
        (ValueError, "stiffness .N. or spring_constant", lambda: EdgeSprings(ONE, SpringOptions(stiffness=1, spring_constant=1), PAIR)),
        (
            ValueError,
            r"stiffness must be finite and at least 0, but \[0\] is -1",
            lambda: EdgeSprings(ONE, SpringOptions(stiffness=-1), PAIR),
        ),
        (ValueError, r"shape \(1,\), not \(2,\)", lambda: EdgeSprings(ONE, SpringOptions(stiffness=np.ones(2)), PAIR)),
        (ValueError, "spring 0 has no rest length", lambda: EdgeSprings(ONE, SpringOptions(stiffness=1), np.ones((2, 3)))),
        (
            ValueError,
            "spring 0 joins node 1 to itself",
            lambda: EdgeSprings(np.array([[1, 1]], np.int32), SpringOptions(spring_constant=1), PAIR),
        ),
        (ValueError, r"below the 2 rest positions, but \[0, 1\] is 5", lambda: EdgeSprings(ONE * 5, SpringOptions(stiffness=1), PAIR)),
        (
            ValueError,
            r"rest_positions must be finite, but \[0, 0\] is nan",
            lambda: EdgeSprings(ONE, SpringOptions(stiffness=1), PAIR * np.nan),
        ),
        (ValueError, "rest positions must be given", lambda: EdgeSprings(ONE, SpringOptions(stiffness=1))),
        (
            ValueError,
            "damping or damping_fraction, not both",
            lambda: EdgeSprings(ONE, SpringOptions(stiffness=1, damping=1, damping_fraction=1), PAIR),
        ),
        (ValueError, "needs the masses", lambda: EdgeSprings(ONE, SpringOptions(stiffness=1, damping_fraction=1), PAIR)),
        (
            ValueError,
            r"masses must be positive, but \[0\] is 0",
            lambda: EdgeSprings(ONE, SpringOptions(stiffness=1, damping_fraction=1, masses=0), PAIR),
        ),
        (
            ValueError,
            "strains of the pieces must ascend",
            lambda: EdgeSprings(ONE, SpringOptions(stiffness=1, pieces=[(0, 1), (0, 2)]), PAIR),
        ),
        (ValueError, "factor of piece 1", lambda: EdgeSprings(ONE, SpringOptions(stiffness=1, pieces=[(0, 1), (1, -2)]), PAIR)),
        (ValueError, "zero_length must be one of", lambda: EdgeSprings(ONE, SpringOptions(stiffness=1), PAIR, zero_length="first")),  # type: ignore[arg-type]
        (TypeError, "must hold integers, not float64", lambda: EdgeSprings(ONE.astype(float), SpringOptions(stiffness=1), PAIR)),
        (TypeError, "rest_positions must hold numbers", lambda: EdgeSprings(ONE, SpringOptions(stiffness=1), PAIR.astype(str))),
    ]:
        with pytest.raises(error, match=message):
            call()


# --- soft bindings -----------------------------------------------------------------------------------------------------------------


def test_a_stiff_binding_becomes_a_hard_one() -> None:
    # Node 3 is bound to the middle of a triangle that springs hold; gravity pulls at node 3.
    x = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0.2, 0.3, 0)])
    target = SoftBindings(np.arange(3, dtype=np.int32), SpringOptions(spring_constant=10.0), targets=x[:3].copy())
    load = np.zeros((4, 3))
    load[3, 2] = -1.0
    weights = np.array([(0.5, 0.2, 0.3)])
    expected = -(weights[0] ** 2).sum() / 10.0
    gaps = []
    for k in (1e2, 1e4, 1e6, 1e8):
        binding = SoftBindings(
            np.array([3], np.int32), SpringOptions(spring_constant=k), np.array([[0, 1, 2]], np.int32), second_weights=weights
        )
        stiffness = -matrix(lambda d, b=binding: b.differentials(x, d) + target.differentials(x, d), 4)
        # One linear solve is exact: the forces are linear.
        moved = x + np.linalg.solve(stiffness, (load + binding.forces(x) + target.forces(x)).ravel()).reshape(4, 3)
        residual = load + binding.forces(moved) + target.forces(moved)
        assert np.abs(residual).max() <= 1e-15 * k + 1e-12
        gap = binding.gaps(moved)[0]
        gaps.append(abs(gap[2]))
        assert gap[2] == pytest.approx(-1.0 / k, rel=1e-6)
        assert moved[3, 2] == pytest.approx(expected - 1.0 / k, rel=1e-6)
    assert gaps[-1] <= 1e-7


@pytest.mark.parametrize("dt", [1e-3, 0.1, 10.0, 1e3])
def test_implicit_steps_of_bindings_never_gain_energy(dt: float, rng: np.random.Generator) -> None:
    parents = np.array([[0, 1, 2, 3], [1, 4, -1, -1]], np.int32)
    weights = np.array([(0.1, 0.2, 0.3, 0.4), (0.5, 0.5, 0, 0)])
    m = rng.uniform(0.5, 2, 5)
    b = SoftBindings(
        parents, SpringOptions(spring_constant=40.0, damping_fraction=0.1, masses=m), np.array([4, 0], np.int32), first_weights=weights
    )
    x, v = rng.standard_normal((5, 3)), rng.standard_normal((5, 3))
    k = -matrix(lambda d: b.differentials(x, d), 5)
    c = -matrix(lambda d: b.damping_forces(x, d), 5)
    mass = np.diag(np.repeat(m, 3))
    start = energy = b.energy(x) + 0.5 * (m[:, None] * v**2).sum()
    for _ in range(20):
        dv = np.linalg.solve(mass + dt * c + dt * dt * k, dt * (b.forces(x).ravel() - (c + dt * k) @ v.ravel()))
        v = v + dv.reshape(5, 3)
        x = x + dt * v
        now = b.energy(x) + 0.5 * (m[:, None] * v**2).sum()
        assert now <= energy * (1 + 1e-6)
        energy = now
    assert energy < 0.999 * start


def test_the_damping_of_a_binding_is_critical_for_the_masses_of_its_ends() -> None:
    weights, m = np.array([(0.25, 0.75)]), np.array([1.0, 3.0, 2.0])
    b = SoftBindings(
        np.array([[0, 1]], np.int32),
        SpringOptions(spring_constant=5.0, damping_fraction=1.0, masses=m),
        np.array([2], np.int32),
        first_weights=weights,
    )
    effective = 1 / (0.25**2 / 1 + 0.75**2 / 3 + 1 / 2)
    assert b.damping[0] == pytest.approx(2 * np.sqrt(5.0 * effective), rel=1e-15)


def test_bindings_take_embedded_points() -> None:
    embedding = ms.mesh.Embedding(np.array([[0, 1, 2]], np.int32), np.array([(0.5, 0.2, 0.3)]))
    a = SoftBindings(np.array([3], np.int32), SpringOptions(spring_constant=2.0), embedding)
    b = SoftBindings(
        np.array([3], np.int32), SpringOptions(spring_constant=2.0), embedding.parents, second_weights=np.asarray(embedding.weights)
    )
    x = np.random.default_rng(1).random((4, 3))
    assert np.array_equal(a.forces(x), b.forces(x))
    assert np.array_equal(a.forces(x)[:3], -a.forces(x)[3] * [(0.5,), (0.2,), (0.3,)])


def test_targets_move_what_is_bound_to_them() -> None:
    b = SoftBindings(np.array([0], np.int32), SpringOptions(spring_constant=2.0, damping=0.5), targets=np.zeros((1, 3)))
    b.set_targets(np.array([(1.0, 0, 0)]), np.array([(0.0, 4.0, 0)]))
    x, v = np.array([(0.0, 0, 3.0)]), np.array([(0.0, 1.0, 0)])
    assert np.array_equal(b.forces(x) + b.damping_forces(x, v), [(2.0, 0.5 * (4 - 1), -6.0)])
    assert np.array_equal(b.gaps(x), [(-1.0, 0, 3.0)])


def test_bindings_that_are_refused() -> None:
    a, p = np.array([0], np.int32), np.array([[1, 2]], np.int32)
    for message, call in [
        ("second or targets", lambda: SoftBindings(a, SpringOptions(spring_constant=1))),
        (
            r"sum 1, but those of second\[0\] have 0.9",
            lambda: SoftBindings(a, SpringOptions(spring_constant=1), p, second_weights=np.array([[0.5, 0.4]])),
        ),
        (r"shape \(1, 2\)", lambda: SoftBindings(a, SpringOptions(spring_constant=1), p, second_weights=np.ones((1, 3)))),
        ("equally many", lambda: SoftBindings(a, SpringOptions(spring_constant=1), np.array([1, 2], np.int32))),
        ("must not be negative", lambda: SoftBindings(a, SpringOptions(spring_constant=1), np.array([-2], np.int32))),
        ("no targets", lambda: SoftBindings(a, SpringOptions(spring_constant=1), np.array([1], np.int32)).set_targets(np.zeros((1, 3)))),
    ]:
        with pytest.raises(ValueError, match=message):
            call()

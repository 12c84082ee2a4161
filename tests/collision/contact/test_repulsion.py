"""Impulses of repulsion: what one pair does, what is conserved, and the printed rule beside the corrected one."""

import numpy as np
import pytest
from support.contact.repulsion import VERTEX_FACE, Reference, single_pair, vertex_above_face, weights_of

from meniscus.collision import CollisionMesh, ContactNodes, Repulsion

KINDS = ("vertex-face", "edge-edge")
Z = np.array([0.0, 0, 1])
MASSES = (0.3, 2.0, 1.5, 0.7)


def relative(kind: str, v: np.ndarray) -> np.ndarray:
    return weights_of(kind) @ v


def some_velocities(kind: str, wanted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random velocities with a given relative one."""
    v = rng.standard_normal((4, 3))
    a = weights_of(kind)
    return v + np.outer(a, wanted - a @ v) / (a @ a)


def energy(masses: np.ndarray, v: np.ndarray) -> float:
    return 0.5 * float(masses @ (v**2).sum(axis=1))


@pytest.mark.parametrize("kind", KINDS)
def test_approaching_elements_stop_along_the_normal_and_keep_their_momentum(kind: str, rng: np.random.Generator) -> None:
    repulsion, x = single_pair(kind, 0.05, MASSES, friction=0.0)
    v = some_velocities(kind, np.array([0.4, -0.3, -2.0]), rng)
    before = v.copy()
    report = repulsion.rub(x, v)
    assert report[:4] == (1, 1, 0, 1)
    assert report.largest_overlap == pytest.approx(0.05, rel=1e-12)
    assert relative(kind, v) == pytest.approx([0.4, -0.3, 0], abs=1e-14)
    assert MASSES @ v == pytest.approx(MASSES @ before, rel=1e-14)
    # Minimal in the norm of the masses: along the weights.
    change = np.array(MASSES) * (v - before)[:, 2]
    assert change / weights_of(kind) == pytest.approx(np.full(4, change[0] / weights_of(kind)[0]), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_separating_elements_and_those_apart_are_left_alone(kind: str, rng: np.random.Generator) -> None:
    repulsion, x = single_pair(kind, 0.05, friction=0.7)
    for wanted in (0.0, 1.0):
        v = some_velocities(kind, np.array([1, 2, wanted]), rng)
        v[:, 2] = v[:, 2] if wanted else 0
        before = v.copy()
        assert repulsion.rub(x, v).impulses == 0
        assert np.array_equal(v, before)
    x[: 2 if kind == "edge-edge" else 1, 2] += 0.06
    v = some_velocities(kind, -Z, rng)
    before = v.copy()
    assert repulsion.push(x, v, 0.01)[:4] == (1, 0, 0, 0)
    assert np.array_equal(v, before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("approach", [-3.0, -0.1, 0.02])
def test_a_tenth_of_the_overlap_goes_in_a_step_at_most(kind: str, approach: float, rng: np.random.Generator) -> None:
    overlap, dt = 0.04, 0.01
    for masses in ((1, 1, 1, 1), MASSES):
        repulsion, x = single_pair(kind, 0.1 - overlap, masses, stiffness=1e6)
        v = some_velocities(kind, approach * Z, rng)
        before = v.copy()
        repulsion.push(x, v, dt)
        assert relative(kind, v)[2] == pytest.approx(0.1 * overlap / dt, rel=1e-12)
        assert masses @ v == pytest.approx(masses @ before, rel=1e-13, abs=1e-13)
        assert relative(kind, v)[:2] == pytest.approx(relative(kind, before)[:2], abs=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_the_spring_limits_the_elastic_impulse(kind: str) -> None:
    overlap, dt, k = 0.04, 0.01, 30.0
    a = weights_of(kind)
    repulsion, x = single_pair(kind, 0.1 - overlap, MASSES, stiffness=k)
    v = np.zeros((4, 3))
    repulsion.push(x, v, dt)
    impulse = 2 * dt * k * overlap / (a @ a)
    assert v[:, 2] == pytest.approx(a * impulse / MASSES, rel=1e-12)
    assert relative(kind, v)[2] < 0.1 * overlap / dt


@pytest.mark.parametrize("kind", KINDS)
def test_elements_that_separate_fast_enough_are_not_pushed(kind: str, rng: np.random.Generator) -> None:
    repulsion, x = single_pair(kind, 0.06)
    v = some_velocities(kind, 0.41 * Z, rng)  # 0.1 of 0.04 m in 0.01 s are 0.4 m/s
    before = v.copy()
    assert repulsion.push(x, v, 0.01)[1::2] == (1, 0)
    assert np.array_equal(v, before)


@pytest.mark.parametrize("kind", KINDS)
def test_the_overlap_decays_by_a_tenth_in_a_step(kind: str) -> None:
    repulsion, x = single_pair(kind, 0.02, MASSES, stiffness=1e6)
    overlap = 0.08
    for _ in range(10):
        v = np.zeros((4, 3))
        # Elements tilt, since their vertices have different masses.
        assert repulsion.push(x, v, 0.01).largest_overlap == pytest.approx(overlap, rel=5e-3)
        x += 0.01 * v
        overlap *= 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_the_printed_rule_is_wrong_by_a_factor_of_two_and_for_unequal_masses(kind: str) -> None:
    """The inelastic impulse is exact for equal masses; the limit of the elastic one leaves 0.2 d/dt - v in place of 0.1 d/dt."""
    overlap, dt = 0.04, 0.01
    wanted = 0.1 * overlap / dt
    literal, x = single_pair(kind, 0.1 - overlap, elastic="literal", stiffness=1e6)
    for approach in (0.0, 0.1):
        v = np.zeros((4, 3))
        v[: 2 if kind == "edge-edge" else 1, 2] = approach
        literal.push(x, v, dt)
        assert relative(kind, v)[2] == pytest.approx(2 * wanted - approach, rel=1e-12)
    v = np.zeros((4, 3))
    v[0, 2] = -1
    literal.rub(x, v)
    assert relative(kind, v)[2] == pytest.approx(0, abs=1e-14)
    unequal, _ = single_pair(kind, 0.1 - overlap, MASSES, elastic="literal", stiffness=1e6)
    v = np.zeros((4, 3))
    unequal.push(x, v, dt)
    assert abs(MASSES @ v[:, 2]) > 0.01 * wanted
    # The spring is that of the corrected rule for equal masses.
    rules = {}
    for rule in ("literal", "corrected"):
        v = np.zeros((4, 3))
        single_pair(kind, 0.1 - overlap, elastic=rule, stiffness=1.0)[0].push(x, v, dt)
        rules[rule] = v
    assert rules["literal"] == pytest.approx(rules["corrected"], rel=1e-12)


def test_the_common_mass_of_the_printed_rule() -> None:
    for given, mass in ((None, np.mean(MASSES)), (0.25, 0.25)):
        repulsion, x = single_pair("vertex-face", 0.06, MASSES, elastic="literal", common_mass=given, stiffness=1.0)
        v = np.zeros((4, 3))
        repulsion.push(x, v, 0.01)
        a = weights_of("vertex-face")
        assert v[:, 2] == pytest.approx(a * 2 * 0.01 * 0.04 / (a @ a) / mass, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_gap_opens_in_one_step(kind: str, rng: np.random.Generator) -> None:
    """BRO-11: the gap of an isolated pair at the end of the step is at least the thickness; a solid vertex does not move."""
    dt = 0.01
    for masses in (MASSES, (np.inf, 2.0, 1.5, 0.7), (1.0, np.inf, 1.0, np.inf)):
        repulsion, x = single_pair(kind, 0.03, masses, elastic="full-gap")
        for approach in (-5.0, 0.0, 3.0):
            v = some_velocities(kind, approach * Z, rng)
            before = v.copy()
            repulsion.push(x, v, dt)
            assert relative(kind, v)[2] == pytest.approx(0.07 / dt, rel=1e-12)
            assert relative(kind, x + dt * v)[2] == pytest.approx(0.1, rel=1e-12)
            fixed = np.isinf(masses)
            assert np.array_equal(v[fixed], before[fixed])
            if not fixed.any():
                assert masses @ v == pytest.approx(masses @ before, rel=1e-13)
        v = some_velocities(kind, 7.1 * Z, rng)
        assert repulsion.push(x, v, dt).impulses == 0


@pytest.mark.parametrize("kind", KINDS)
def test_friction_stays_in_the_cone(kind: str, rng: np.random.Generator) -> None:
    slip = np.array([0.6, -0.8, 0.0])
    for mu, normal in ((0.3, 1.0), (0.99, 1.0), (1.01, 1.0), (0.5, 4.0)):
        repulsion, x = single_pair(kind, 0.05, MASSES, friction=mu)
        v = some_velocities(kind, slip - normal * Z, rng)
        before = v.copy()
        repulsion.rub(x, v)
        left = max(1 - mu * normal, 0)  # of |slip| = 1
        assert relative(kind, v) == pytest.approx(left * slip, abs=1e-13)
        assert MASSES @ v == pytest.approx(MASSES @ before, rel=1e-13)
        assert energy(np.array(MASSES), v) < energy(np.array(MASSES), before)


def test_the_friction_of_a_pair_is_the_geometric_mean() -> None:
    x = vertex_above_face(0.05)
    repulsion = Repulsion(VERTEX_FACE, x, np.ones(4), thickness=0.1, friction=[0.9, 0.1, 0.2, 0.3])
    repulsion.find(x)
    assert repulsion.pairs("vertex-face").friction == pytest.approx(np.sqrt(0.9 * 0.2))


def test_push_has_no_friction_and_rub_no_spring() -> None:
    repulsion, x = single_pair("vertex-face", 0.05, friction=2.0)
    v = np.zeros((4, 3))
    assert repulsion.rub(x, v).impulses == 0
    v[0] = [1, 0, -1]
    repulsion.push(x, v, 0.01)
    assert relative("vertex-face", v)[0] == pytest.approx(1, rel=1e-14)


def soup_of_pairs(n: int, rng: np.random.Generator) -> tuple[CollisionMesh, np.ndarray]:
    """Triangles at random places in a unit box, close enough that many are near each other."""
    corners = rng.random((n, 1, 3)) + rng.uniform(-0.1, 0.1, (n, 3, 3))
    return CollisionMesh(None, np.arange(3 * n).reshape(-1, 3)), corners.reshape(-1, 3)


@pytest.mark.parametrize("friction", [0.0, 0.4, 5.0])
def test_inelastic_impulses_and_friction_never_raise_kinetic_energy(friction: float, rng: np.random.Generator) -> None:
    mesh, x = soup_of_pairs(150, rng)
    masses = 10.0 ** rng.uniform(-2, 2, len(x))
    masses[rng.random(len(x)) < 0.1] = np.inf
    repulsion = Repulsion(mesh, x, 1 / masses, thickness=0.05, friction=friction)
    assert repulsion.find(x) > 200
    for _ in range(20):
        v = rng.standard_normal(x.shape)
        moving = np.isfinite(masses)
        before = energy(masses[moving], v[moving])
        v[~moving] = 0
        assert repulsion.rub(x, v).impulses > 50
        assert energy(masses[moving], v[moving]) <= before * (1 + 1e-14)
        assert not v[~moving].any()


@pytest.mark.parametrize("elastic", ["corrected", "full-gap"])
def test_many_pairs_conserve_momentum(elastic: str, rng: np.random.Generator) -> None:
    mesh, x = soup_of_pairs(150, rng)
    masses = 10.0 ** rng.uniform(-3, 3, len(x))
    repulsion = Repulsion(mesh, x, 1 / masses, thickness=0.05, elastic=elastic)
    assert repulsion.find(x) > 200
    v = rng.standard_normal(x.shape)
    before, scale = masses @ v, masses @ np.abs(v)
    assert repulsion.push(x, v, 0.01).impulses > 100
    assert repulsion.rub(x, v).impulses > 20
    assert np.abs(masses @ v - before) == pytest.approx(0, abs=1e-12 * scale.max())


def test_embedded_vertices_move_their_nodes(rng: np.random.Generator) -> None:
    """A vertex in the middle of two nodes: the relative velocity vanishes, momentum of the nodes stays."""
    x = vertex_above_face(0.05)
    masses = np.array([1.0, 3.0, 0.5, 2.0, 1.0])
    nodes = ContactNodes(1 / masses, first=[0, 2, 3, 4, 5], node=[0, 4, 1, 2, 3], weight=[0.25, 0.75, 1, 1, 1])
    repulsion = Repulsion(VERTEX_FACE, x, nodes, thickness=0.1, friction=0.2)
    assert repulsion.find(x) == 1
    v = rng.standard_normal((5, 3))
    v[[0, 4], 2] = -4
    v[[0, 4], 0] = 7
    before = v.copy()

    def at_vertices(w: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.25 * w[0] + 0.75 * w[4]], w[1:4]])

    normal = relative("vertex-face", at_vertices(v))[2]
    slip = relative("vertex-face", at_vertices(v))[:2]
    repulsion.rub(x, v)
    after = relative("vertex-face", at_vertices(v))
    assert after[2] == pytest.approx(0, abs=1e-13)
    assert after[:2] == pytest.approx(slip * (1 + 0.2 * normal / np.linalg.norm(slip)), rel=1e-12)
    assert masses @ v == pytest.approx(masses @ before, rel=1e-13)
    change = masses * (v - before)[:, 2]
    assert change[4] == pytest.approx(3 * change[0], rel=1e-12)


def test_plain_nodes_by_shares_give_the_same(rng: np.random.Generator) -> None:
    """Nodes in another order: the general way agrees with the fast one."""
    mesh, x = soup_of_pairs(100, rng)
    w = rng.uniform(0.5, 2, len(x))
    order = rng.permutation(len(x))
    inverse = np.empty_like(w)
    inverse[order] = w
    shares = ContactNodes(inverse, first=np.arange(len(x) + 1), node=order, weight=np.ones(len(x)))
    plain = Repulsion(mesh, x, w, thickness=0.05)
    general = Repulsion(mesh, x, shares, thickness=0.05)
    assert plain.find(x) == general.find(x) > 100
    v = rng.standard_normal(x.shape)
    u = np.empty_like(v)
    u[order] = v
    for sweep in ("push", "rub"):
        step = (0.01,) if sweep == "push" else ()
        first, second = getattr(plain, sweep)(x, v, *step), getattr(general, sweep)(x, u, *step)
        assert first[:3] == second[:3]  # round-off decides about impulses of nothing
        assert first.largest_overlap == second.largest_overlap
        assert u[order] == pytest.approx(v, rel=1e-10, abs=1e-12)


def test_guided_nodes_move_in_their_directions_only(rng: np.random.Generator) -> None:
    n = np.array([1.0, 0, 1]) / np.sqrt(2)
    nodes = ContactNodes(np.ones(4), guided=[0], free=[np.eye(3) - np.outer(n, n)])
    x = vertex_above_face(0.05)
    repulsion = Repulsion(VERTEX_FACE, x, nodes, thickness=0.1, friction=0.3)
    repulsion.find(x)
    v = rng.standard_normal((4, 3))
    v[0] = [9, 0, -9]
    before = v.copy()
    repulsion.rub(x, v)
    assert (v - before)[0] @ n == pytest.approx(0, abs=1e-13)
    assert np.linalg.norm((v - before)[0]) > 1
    assert energy(np.ones(4), v) < energy(np.ones(4), before)


def test_a_pair_without_leverage_is_left_alone() -> None:
    """Only a corner with a weight of 0.001 could move: it would take a thousand times the relative velocity."""
    x = vertex_above_face(0.05, (0.001, 0.3))
    repulsion = Repulsion(VERTEX_FACE, x, [0, 0, 1, 0], thickness=0.1)
    assert repulsion.find(x) == 1
    v = np.zeros((4, 3))
    v[0, 2] = -1
    assert repulsion.push(x, v, 0.01)[1::2] == (1, 0)
    assert not v[2].any()


def test_errors_say_what_is_wrong_and_change_nothing() -> None:
    repulsion, x = single_pair("vertex-face", 0.05)
    v = np.zeros((4, 3))
    v[0, 2] = -1
    before = v.copy()
    bad = x.copy()
    bad[2, 1] = np.nan
    for call, message in (
        (lambda: repulsion.push(bad, v, 0.01), r"positions must be finite, but \[2, 1\]"),
        (lambda: repulsion.push(x, v, 0.0), "dt must be positive"),
        (lambda: repulsion.push(x[:3], v, 0.01), "4 vertices, not 3"),
        (lambda: repulsion.push(x, v[:3], 0.01), "4 nodes, but 3 velocities"),
        (lambda: Repulsion(VERTEX_FACE, x, np.ones(4), part=0.0), "part must be in"),
        (lambda: Repulsion(VERTEX_FACE, x, np.ones(4), thickness=[1, 1, 1, -1]), "vertex 3 is -1"),
        (lambda: Repulsion(VERTEX_FACE, x[:3], np.ones(3)), "the mesh has vertex 3"),
        (lambda: Repulsion(VERTEX_FACE, x, np.ones(3)), "nodes must have 4 vertices"),
        (lambda: ContactNodes([1.0, -1.0]), "that of node 1 is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert np.array_equal(v, before)
    with pytest.raises(ValueError, match="positions must be finite"):
        repulsion.find(bad)
    assert repulsion.push(x, v, 0.01).pairs == 0


def test_a_node_must_not_begin_to_yield_between_finds() -> None:
    """Pairs of one colour share nodes that do not yield."""
    nodes = ContactNodes([0, 1, 1, 1])
    x = vertex_above_face(0.05)
    repulsion = Repulsion(VERTEX_FACE, x, nodes, thickness=0.1)
    repulsion.find(x)
    v = np.zeros((4, 3))
    nodes.inverse_masses = [0, 2, 1, 0]
    repulsion.push(x, v, 0.01)
    assert v[1].any()
    assert not v[3].any()
    nodes.inverse_masses = [1, 2, 1, 1]
    with pytest.raises(ValueError, match="node 0 yields, but did not"):
        repulsion.push(x, v, 0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_agrees_on_one_pair(kind: str, rng: np.random.Generator) -> None:
    repulsion, x = single_pair(kind, 0.05, MASSES)
    v = rng.standard_normal((4, 3))
    u = v.copy()
    repulsion.push(x, v, 0.01)
    Reference(1 / np.array(MASSES)).sweep([repulsion.pairs(kind)], x, u, 0.01)
    assert np.array_equal(u, v)

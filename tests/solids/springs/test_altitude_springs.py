"""Altitude springs: the theorem that chooses the altitude, its signed length, and recovery of flattened and inverted elements."""

import numpy as np
import pytest
from support.forces.meshes import edges_of, herring_bone, hinges, sphere, tet_block
from support.motion import symplectic, volumes

from meniscus.solids import (
    AltitudeSprings,
    BendingSprings,
    DihedralBending,
    EdgeSprings,
    ShellAltitudeSprings,
    SpringOptions,
    dihedral_angles,
)

TET = np.array([[0, 1, 2, 3]], np.int32)
CORNER = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
#: Both ends of the seven altitudes: a vertex and a face, or two edges.
ENDS = [((0,), (1, 2, 3)), ((1,), (0, 2, 3)), ((2,), (0, 1, 3)), ((3,), (0, 1, 2)), ((0, 1), (2, 3)), ((1, 2), (0, 3)), ((0, 2), (3, 1))]


def altitudes(p: np.ndarray) -> np.ndarray:
    """The lengths (7, m) of all altitudes of tetrahedra (m, 4, 3), by the distance of points, planes and lines."""
    lengths = []
    for a, b in ENDS:
        u, v = (p[:, b[1]] - p[:, b[0]], p[:, b[2]] - p[:, b[0]]) if len(a) == 1 else (p[:, a[1]] - p[:, a[0]], p[:, b[1]] - p[:, b[0]])
        n = np.cross(u, v)
        lengths.append(np.abs((n * (p[:, a[0]] - p[:, b[0]])).sum(axis=1)) / np.linalg.norm(n, axis=1))
    return np.array(lengths)


def separate(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tetrahedra (m, 4, 3) without common nodes as positions and elements."""
    return np.ascontiguousarray(p.reshape(-1, 3)), np.arange(4 * len(p), dtype=np.int32).reshape(-1, 4)


def test_the_shortest_altitude_of_any_tetrahedron_ends_inside_its_base(rng: np.random.Generator) -> None:
    count = 100_000
    p = rng.uniform(-1, 1, (count, 4, 3))
    # Half of them are flattened by 1 to 1e-6 in a direction of their own.
    n = rng.standard_normal((count // 2, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    keep = 10.0 ** rng.uniform(-6, 0, count // 2)
    p[: count // 2] -= (1 - keep)[:, None, None] * (p[: count // 2] @ n[:, :, None]) * n[:, None, :]
    x, t = separate(p)
    rest = np.ascontiguousarray(np.tile(CORNER, (count, 1)))
    found = AltitudeSprings(t, SpringOptions(stiffness=1.0), rest, collapsed_edge=1e-12, line_angle=1e-12).selection(x)
    assert found.candidates.min() >= 0
    assert found.candidates.max() <= 6
    assert set(found.candidates.tolist()) == set(range(7))
    lengths = altitudes(p)
    assert np.abs(np.abs(found.lengths) - lengths.min(axis=0)).max() <= 1e-9
    assert np.array_equal(found.lengths < 0, volumes(x, t) < 0)
    # The two ends: no weight of the wrong sign, with sum 1 and -1.
    first = np.zeros((count, 4), bool)
    for c, (a, _) in enumerate(ENDS):
        first[np.ix_(found.candidates == c, a)] = True
    signed = np.where(first, found.weights, -found.weights)
    assert signed.min() >= 0
    assert np.abs(np.where(first, found.weights, 0).sum(axis=1) - 1).max() <= 1e-9
    assert np.abs(found.weights.sum(axis=1)).max() <= 1e-9
    # Length times direction is the vector between the two ends, and orthogonal to both bases.
    between = (found.weights[:, :, None] * p).sum(axis=1)
    assert np.abs(between - found.lengths[:, None] * found.directions).max() <= 1e-9
    # Neither kind of altitude is enough alone: most have none from a vertex that ends inside, and many none between edges.
    assert np.mean(found.candidates < 4) > 0.2
    assert np.mean(found.candidates >= 4) > 0.5


def test_altitudes_of_the_corner_of_a_cube() -> None:
    springs = AltitudeSprings(TET, SpringOptions(stiffness=1.0), CORNER)
    root = [1 / np.sqrt(3), 1, 1, 1, np.sqrt(0.5), np.sqrt(0.5), np.sqrt(0.5)]
    assert springs.rest_lengths[0] == pytest.approx(root, rel=1e-15)


@pytest.mark.parametrize("h", [0.5, 0.1, 1e-3, -0.1])
def test_known_configurations(h: float) -> None:
    crossed = np.array([(-1, 0, h), (1, 0, h), (0, -1, -h), (0, 1, -h)])
    rest = crossed * np.sign(volumes(crossed, TET)[0])  # a mirror image where the volume would be negative
    found = AltitudeSprings(TET, SpringOptions(stiffness=1.0), np.ascontiguousarray(rest)).selection(crossed)
    assert found.candidates[0] == 4
    assert found.weights[0] == pytest.approx([0.5, 0.5, -0.5, -0.5], rel=1e-15)
    assert abs(found.lengths[0]) == pytest.approx(2 * abs(h), rel=1e-14)
    above = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.3, 0.3, h)])
    if abs(h) < 0.3:
        found = AltitudeSprings(TET, SpringOptions(stiffness=1.0), CORNER).selection(above)
        assert found.candidates[0] == 3
        assert found.weights[0] == pytest.approx([-0.4, -0.3, -0.3, 1], rel=1e-14)
        assert found.lengths[0] == pytest.approx(h, rel=1e-14)


def test_equal_altitudes_are_chosen_among_by_their_order_and_not_by_round_off(rng: np.random.Generator) -> None:
    """Three altitudes of a regular tetrahedron are the shortest. Anywhere and turned in any way, it is the same one."""
    regular = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    springs = AltitudeSprings(np.array([[0, 2, 1, 3]], np.int32), SpringOptions(stiffness=1.0), regular)
    chosen = set()
    for _ in range(200):
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        turn[:, 0] *= np.sign(np.linalg.det(turn))
        at = regular @ turn.T * rng.uniform(0.1, 10.0) + rng.uniform(-5.0, 5.0, 3)
        chosen.add(int(springs.selection(np.ascontiguousarray(at)).candidates[0]))
    assert len(chosen) == 1
    assert chosen.pop() >= 4  # between edges


def test_the_force_follows_the_signed_length() -> None:
    springs = AltitudeSprings(TET, SpringOptions(stiffness=6.0), CORNER)
    for h in (0.2, 1e-6, 0.0, -1e-6, -0.2):
        f = springs.forces(np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.3, 0.3, h)]))
        pull = 6.0 / 1.0 * (h - 1.0)
        assert np.abs(f - np.outer([-0.4, -0.3, -0.3, 1], (0, 0, -pull))).max() <= 1e-14 * abs(pull)


def test_damping_is_that_of_the_two_ends() -> None:
    x = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.3, 0.3, 0.1)])
    v = np.array([(0, 0, 1.0), (5, 0, 0), (0, 0, 2), (3, 3, 1)])
    rate = 1.0 - 0.4 * 1 - 0.3 * 2
    w = np.array([-0.4, -0.3, -0.3, 1])
    for fraction, b in ((None, 0.7), (0.9, 2 * 0.9 * np.sqrt(6.0 / (w**2 / [1, 2, 3, 4]).sum()))):
        springs = (
            AltitudeSprings(TET, SpringOptions(stiffness=6.0, damping=0.7), CORNER)
            if fraction is None
            else AltitudeSprings(TET, SpringOptions(stiffness=6.0, damping_fraction=fraction, masses=np.array([1.0, 2, 3, 4])), CORNER)
        )
        assert np.abs(springs.damping_forces(x, v) - np.outer(w, (0, 0, -b * rate))).max() <= 1e-14
        assert springs.strain_rate(x, v) == pytest.approx(abs(rate), rel=1e-13, abs=1e-16)


def test_nodes_on_a_line_are_pushed_apart_from_the_middle_between_them() -> None:
    springs = AltitudeSprings(TET, SpringOptions(stiffness=6.0), CORNER)
    for order, candidate in [((0, 2, 3, 1), 8), ((0, 1, 2, 3), 9), ((1, 3, 0, 2), 7), ((3, 2, 0, 1), 8), ((2, 0, 3, 1), 7)]:
        x = np.zeros((4, 3))
        x[list(order), 1] = (0.0, 0.5, 0.75, 2.0)
        found = springs.selection(x)
        i, k, far, j = order
        expected = np.zeros(4)
        middle = 0.625
        expected[[i, far]] = 1 - middle / 0.75, middle / 0.75
        expected[[k, j]] = -(2.0 - middle) / 1.5, -(middle - 0.5) / 1.5
        assert found.candidates[0] == candidate
        # Which of the two edges comes first depends on the numbers of the nodes.
        assert found.weights[0] * np.sign(found.weights[0, i]) == pytest.approx(expected, abs=1e-15)
        assert found.lengths[0] == 0
        assert abs(found.directions[0, 1]) <= 1e-15
        f = springs.forces(x)
        assert np.isfinite(f).all()
        assert np.abs(f).max() > 1
        assert np.abs(f.sum(axis=0)).max() <= 1e-14
        assert np.abs(np.cross(x, f).sum(axis=0)).max() <= 1e-14


@pytest.mark.parametrize("offset", [1e-14, 1e-10, 1e-6, 1e-3, 1e-2])
def test_nearly_on_a_line_there_is_no_torque(offset: float, rng: np.random.Generator) -> None:
    springs = AltitudeSprings(TET, SpringOptions(stiffness=6.0), CORNER)
    for _ in range(50):
        x = np.zeros((4, 3))
        x[:, 0] = rng.permutation([0.0, 0.4, 0.9, 1.5])
        x += offset * rng.uniform(-1, 1, x.shape)
        x = np.ascontiguousarray(x @ np.linalg.qr(rng.standard_normal((3, 3)))[0])
        f = springs.forces(x)
        assert np.isfinite(f).all()
        assert np.abs(f).max() <= 100
        assert np.abs(f.sum(axis=0)).max() <= 1e-13
        assert np.abs(np.cross(x, f).sum(axis=0)).max() <= 1e-12


def test_a_collapsed_edge_leaves_the_element_to_the_edge_springs() -> None:
    springs = AltitudeSprings(TET, SpringOptions(stiffness=6.0), CORNER)
    for x in (np.zeros((4, 3)), np.ones((4, 3)), 1e-4 * CORNER):
        assert springs.selection(np.ascontiguousarray(x)).candidates[0] == -1
        assert np.array_equal(springs.forces(np.ascontiguousarray(x)), np.zeros((4, 3)))
    assert springs.selection(2e-3 * CORNER).candidates[0] == 0


def test_springs_that_act_only_when_compressed() -> None:
    # So wide that the altitude on its base is the shortest.
    low = np.array([(0, 0, 0), (4, 0, 0), (0, 4, 0), (1.2, 1.2, 1.0)])
    for h, printed, continuous in ((0.95, 0.0, 0.0), (0.85, -0.15, -0.05), (-0.5, -1.5, -1.4)):
        low[3, 2] = h
        rest = np.ascontiguousarray(low * [1, 1, 0] + [0, 0, 1.0] * np.eye(4)[3][:, None])
        for springs, expected in (
            (AltitudeSprings(TET, SpringOptions(stiffness=6.0), rest, only_beyond=0.1), printed),
            (AltitudeSprings(TET, SpringOptions(stiffness=6.0, pieces=[(-1, 1), (-0.1, 0)]), rest), continuous),
        ):
            assert springs.selection(low).candidates[0] == 3
            assert springs.forces(low)[3, 2] == pytest.approx(-6.0 * expected, abs=1e-13)


@pytest.mark.slow
def test_scrambled_tetrahedra_recover_and_with_edge_springs_alone_half_of_them_end_mirrored(rng: np.random.Generator) -> None:
    count = 200
    rest, t = separate(np.tile(CORNER, (count, 1, 1)))
    x = np.ascontiguousarray(rng.uniform(-1, 1, rest.shape))
    assert 80 <= (volumes(x, t) < 0).sum() <= 120
    e = edges_of(t)
    edges = EdgeSprings(e, SpringOptions(stiffness=1.0, damping=0.5), rest)
    altitude = AltitudeSprings(t, SpringOptions(stiffness=1.0, damping=0.5), rest)
    both = symplectic([edges, altitude], x, 1.0, 0.02, 6000)
    lengths = np.linalg.norm(both[e[:, 1]] - both[e[:, 0]], axis=1)
    assert (volumes(both, t) > 0).all()
    assert np.abs(lengths / edges.rest_lengths - 1).max() <= 1e-2
    alone = volumes(symplectic([edges], x, 1.0, 0.02, 6000), t)
    right = np.abs(alone - 1 / 6) < 1e-2
    mirrored = np.abs(alone + 1 / 6) < 1e-2
    assert 70 <= right.sum() <= 125
    assert mirrored.sum() >= 60


@pytest.mark.parametrize("squashed", ["plane", "inverted"])
def test_a_squashed_block_recovers_its_height(squashed: str) -> None:
    rest, t = tet_block(2)
    forces = [
        EdgeSprings(edges_of(t), SpringOptions(stiffness=1.0, damping=0.3), rest),
        AltitudeSprings(t, SpringOptions(stiffness=1.0, damping=0.3), rest),
    ]
    x = rest * [1, 1, 0.0 if squashed == "plane" else -0.2]
    assert np.abs(volumes(x, t)).max() == 0 or (volumes(x, t) < 0).all()
    x = symplectic(forces, np.ascontiguousarray(x), 1.0, 0.05, 4000)
    assert (volumes(x, t) > 0.9 / 6).all()
    size = np.linalg.norm(x[:, None] - x[None, :], axis=2).max()
    assert size == pytest.approx(np.sqrt(12), rel=0.05)


@pytest.mark.slow
def test_a_block_whose_nodes_are_scattered_at_random_recovers_its_shape(rng: np.random.Generator) -> None:
    rest, t = tet_block(3)
    e = edges_of(t)
    edges = EdgeSprings(e, SpringOptions(stiffness=1.0, damping=0.3), rest)
    x = rng.uniform(0, 3, rest.shape)
    assert (volumes(x, t) < 0).mean() > 0.4
    x = symplectic([edges, AltitudeSprings(t, SpringOptions(stiffness=1.0, damping=0.3), rest)], x, 1.0, 0.05, 6000)
    assert (volumes(x, t) > 0).all()
    assert np.abs(np.linalg.norm(x[e[:, 1]] - x[e[:, 0]], axis=1) / edges.rest_lengths - 1).max() <= 1e-2


def test_volumes_must_be_positive_at_rest() -> None:
    for x, message in (
        (CORNER[[1, 0, 2, 3]], "positive volume at rest, not -0.16"),
        (CORNER * [1, 1, 0], "positive volume at rest, not 0"),
    ):
        with pytest.raises(ValueError, match=f"tetrahedron 0 must have {message}"):
            AltitudeSprings(TET, SpringOptions(stiffness=1.0), np.ascontiguousarray(x))
    with pytest.raises(ValueError, match="tetrahedron 0 has the node 1 twice"):
        AltitudeSprings(np.array([[0, 1, 1, 3]], np.int32), SpringOptions(stiffness=1.0), CORNER)
    assert AltitudeSprings(np.zeros((0, 4), np.int32), SpringOptions(stiffness=1.0), CORNER).energy(CORNER) == 0


# --- shells ------------------------------------------------------------------------------------------------------------------------


def folded_strip(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Two squares, each of two triangles, at an angle along their common edge."""
    v, t = herring_bone(2, 1)
    beyond = v[:, 0] > 1
    v[beyond, 2] = np.sin(angle)
    v[beyond, 0] = 1 + np.cos(angle)
    return v, t


def fold(x: np.ndarray) -> float:
    """The angle between the two triangles on both sides of the fold, which joins the nodes 2 and 3."""
    pairs = hinges(herring_bone(2, 1)[1])
    return float(dihedral_angles(pairs[(pairs[:, :2] == (2, 3)).all(axis=1)], x)[0])


@pytest.mark.slow
def test_a_folded_strip_recovers_its_angle_with_altitude_springs_and_dihedral_bending_but_not_with_bending_springs() -> None:
    rest, t = folded_strip(0.5 * np.pi)
    pairs = hinges(t)
    flat = np.ascontiguousarray(folded_strip(0.0)[0])
    edges = EdgeSprings(edges_of(t), SpringOptions(stiffness=10.0, damping=1.0), rest)
    bending = BendingSprings(pairs, SpringOptions(stiffness=10.0, damping=1.0), rest)
    angle = abs(fold(rest))
    assert angle == pytest.approx(0.5 * np.pi, rel=1e-14)
    results = {}
    for name, force in {
        "none": [bending],
        "altitude": [bending, ShellAltitudeSprings(pairs, SpringOptions(stiffness=2.0, damping=0.3), rest)],
        "shell": [DihedralBending(pairs, SpringOptions(stiffness=2.0, damping=0.3), rest)],
        "bridson": [DihedralBending(pairs, SpringOptions(stiffness=2.0, damping=0.3), rest, law="bridson")],
    }.items():
        x = symplectic([edges, *force], flat, 1.0, 0.02, 6000)
        results[name] = fold(x)
    assert results["none"] == 0
    for name in ("altitude", "shell", "bridson"):
        assert results[name] == pytest.approx(fold(rest), rel=0.02), name


def test_pairs_that_are_flat_at_rest_have_no_altitude_spring() -> None:
    v, t = herring_bone(3, 3)
    springs = ShellAltitudeSprings(hinges(t), SpringOptions(stiffness=1.0), v)
    assert not springs.rest_lengths.any()
    rough = np.random.default_rng(1).standard_normal(v.shape)
    assert not springs.forces(rough).any()
    assert not springs.stiffness_bounds(rough).any()
    # One raised vertex: the pairs around it are not flat, and the others still are.
    v[5, 2] = 0.5
    some = ShellAltitudeSprings(hinges(t), SpringOptions(stiffness=1.0), v)
    assert 0 < (some.rest_lengths[:, 0] > 0).sum() < len(some.tets)
    assert (volumes(v, some.tets) >= 0).all()


@pytest.mark.slow
def test_a_shell_squashed_to_a_disk_recovers() -> None:
    rest, t = sphere()
    forces = [
        EdgeSprings(edges_of(t), SpringOptions(stiffness=10.0, damping=1.0), rest),
        BendingSprings(hinges(t), SpringOptions(stiffness=2.0, damping=0.3), rest),
        ShellAltitudeSprings(hinges(t), SpringOptions(stiffness=10.0, damping=1.0), rest),
    ]
    x = symplectic(forces, np.ascontiguousarray(rest * [1, 1, 0]), 1.0, 0.02, 8000)
    pairs = hinges(t)
    assert np.abs(dihedral_angles(pairs, x) - dihedral_angles(pairs, rest)).max() <= 0.02
    assert np.linalg.norm(x[:, None] - x[None, :], axis=2).max() == pytest.approx(2.0, rel=0.01)

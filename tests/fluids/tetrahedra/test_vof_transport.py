"""Transport of water on tetrahedra: comoving meshes, drift on still ones, shared volumes, smearing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.tet_vof.meshes import about, centre, centroids, lattice, momentum, rounded, sizes, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF

REST = (0.0, 0.0, 0.0)
ALL = ("random", "independent", "fixed", "exact", "adaptive")
TRANSPORT = ("move", "request", "deliver", "forward")


def advect(vof: TetVOF, dt: float) -> None:
    for stage in TRANSPORT:
        getattr(vof, stage)(dt)


def alone(mesh: ms.mesh.MovingTetMesh, **options: Any) -> TetVOF:
    """Water without forces."""
    return TetVOF(mesh, **{"gravity": REST, "debris": 0.0, **options})


def requests(vof: TetVOF, dt: float) -> dict[tuple[int, int], float]:
    """Requested volumes by receiver and donor."""
    vof.move(dt)
    vof.request(dt)
    found: dict[tuple[int, int], float] = {}
    for r, d, v in zip(*vof.requests(), strict=True):
        found[int(r), int(d)] = found.get((int(r), int(d)), 0.0) + v
    return found


# --- comoving meshes -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trace", ["per_tet", "per_node"])
@pytest.mark.parametrize("samples", ALL)
@pytest.mark.parametrize("edges", [0.01, 0.3, 1.0, 10.0])
def test_water_that_moves_with_the_mesh_is_not_touched(samples: Any, trace: Any, edges: float) -> None:
    rest = lattice(0.25, (5, 4, 4), 11, shear=0.3, stir=0.15)
    u = turned(3) @ np.array([0.7, -0.3, 0.2])
    mesh = ms.mesh.MovingTetMesh(rest, lambda t: rest.vertices + t * u)
    vof = alone(mesh, samples=samples, trace=trace)
    rng = np.random.default_rng(2)
    # A blob well inside: what is near the boundary may leave the mesh by rounding alone.
    blob = np.linalg.norm(centroids(vof), axis=1) < 0.4
    vof.volume[:] = rounded(vof, vof.capacity * rng.random(len(blob)) * blob)
    vof.velocity[vof.volume > 0] = u
    before, largest = vof.volume.copy(), sizes(rest.vertices, rest.tets).max()
    dt = edges * 0.25 / np.linalg.norm(u)
    for _ in range(3):
        vof.step(dt)
        assert np.abs(vof.volume - before).max() <= 1e-13 * largest
        assert np.abs(vof.velocity[vof.volume > 1e-12 * largest] - u).max() <= 1e-13
        assert math.fsum(vof.volume) == math.fsum(before)


def exchanged(trace: Any, samples: Any, angle: float, seed: int, everywhere: bool = False) -> float:
    """Part of the water that is elsewhere after a turn of the mesh, which the water takes part in, by an angle in one step.

    Of a full blob; with `everywhere` of water in all tetrahedra, more and less of it, without a layer at the boundary.
    """
    rest = lattice(0.25, (6, 6, 6), seed)
    axis, middle = turned(seed + 1)[0], np.array([0.05, -0.03, 0.02])
    mesh = ms.mesh.MovingTetMesh(rest, lambda t: (rest.vertices - middle) @ about(axis, t).T + middle)
    vof = alone(mesh, samples=samples, trace=trace)
    blob = np.linalg.norm(centroids(vof), axis=1) < 0.5
    wet = np.ones(len(blob), bool) if everywhere else blob
    vof.volume[:] = rounded(vof, vof.capacity * (np.random.default_rng(seed).uniform(0.2, 1, len(wet)) if everywhere else wet))
    vof.velocity[wet] = np.cross(axis, centroids(vof)[wet] - middle)
    before = vof.volume.copy()
    advect(vof, angle)
    change = np.abs(vof.volume - before)
    return float((change[blob] if everywhere else change).sum() / 2 / before[blob].sum())


ANGLES = (0.02, 0.04, 0.08, 0.16)


@pytest.mark.parametrize(("trace", "order"), [("per_tet", 1), ("per_node", 2)])
def test_order_of_the_exchange_in_a_turn_with_the_mesh(trace: Any, order: int) -> None:
    found = np.array([exchanged(trace, "exact", a, 4, everywhere=True) for a in ANGLES])
    measured = np.polyfit(np.log(ANGLES), np.log(found), 1)[0]
    assert order - 0.1 <= measured, (found, measured)
    assert found[0] <= {1: 0.3 * ANGLES[0], 2: 2 * ANGLES[0] ** 2}[order]


def test_order_of_the_exchange_of_a_blob_in_a_turn_with_the_mesh() -> None:
    per_tet, per_node = (np.array([exchanged(trace, "exact", a, 4) for a in ANGLES]) for trace in ("per_tet", "per_node"))
    assert np.polyfit(np.log(ANGLES), np.log(per_tet), 1)[0] >= 0.9
    assert per_node[0] <= 0.35 * per_tet[0], (per_tet, per_node)


def test_fixed_points_exchange_nothing_in_a_small_turn_with_the_mesh() -> None:
    assert exchanged("per_tet", "fixed", 0.02, 4) == 0


@pytest.mark.parametrize("samples", ALL)
def test_rest_on_a_still_mesh_is_the_identity(samples: Any) -> None:
    vof = alone(still(lattice(0.25, (4, 4, 4), 5, shear=0.3, stir=0.15)), samples=samples)
    vof.volume[:] = rounded(vof, vof.capacity * np.random.default_rng(1).random(len(vof.volume)))
    before = vof.volume.copy()
    for _ in range(3):
        vof.step(0.1)
    assert np.abs(vof.volume - before).max() <= 1e-13 * vof.capacity.max()


# --- drift on a still mesh -----------------------------------------------------------------------------------------------------------

EDGE = 0.25


def drift(samples: Any, count: int, edges: float, steps: int, seed: int = 0) -> float:
    """Displacement of the centre of a blob six edges wide along a uniform oblique flow, over the true one, in `steps` steps."""
    u = np.array([0.8, 0.35, 0.2]) / np.linalg.norm([0.8, 0.35, 0.2])
    way = u * edges * steps
    counts = tuple(math.ceil(n) + 15 for n in way)
    vof = alone(still(lattice(EDGE, (counts[0], counts[1], counts[2]))), samples=samples, count=count, seed=seed)
    start = -0.5 * EDGE * way
    blob = np.linalg.norm(centroids(vof) - start, axis=1) < 3 * EDGE
    vof.volume[:] = rounded(vof, vof.capacity * blob)
    vof.velocity[blob] = u
    before = centre(vof)
    for _ in range(steps):
        advect(vof, edges * EDGE)
        vof.time, vof.steps, vof._moved_by = vof.time + edges * EDGE, vof.steps + 1, None
    book = vof.ledger()
    assert abs(book.volume_error) <= 1e-15 * book.filled
    assert book.waiting <= 1e-4 * book.filled  # the mesh is long enough
    return float((centre(vof) - before) @ u / (steps * edges * EDGE))


@pytest.mark.fast_cases("0.2-6", "0.5-4", "2.0-2")
@pytest.mark.parametrize(("edges", "steps"), [(0.02, 25), (0.05, 12), (0.2, 6), (0.5, 4), (2.0, 2)])
def test_a_blob_drifts_as_fast_as_it_flows_with_exact_overlaps(edges: float, steps: int) -> None:
    assert drift("exact", 1, edges, steps) == pytest.approx(1, abs=0.005)


STEPS = ((0.02, 100), (0.05, 40), (0.2, 20), (0.5, 8), (2.0, 3))


@pytest.mark.fast_cases("0.5-8-35-0.025", "2.0-3-35-0.025", "0.2-20-10-0.06", "0.5-8-10-0.06", "2.0-3-10-0.06")
@pytest.mark.parametrize(("count", "bar"), [(10, 0.06), (35, 0.025)])
@pytest.mark.parametrize(("edges", "steps"), STEPS)
def test_random_points_have_no_dead_band(count: int, bar: float, edges: float, steps: int) -> None:
    """They are not free of bias: min(1, w / Q) at the donors shortens small displacements by about half an edge per 1 / N points."""
    assert drift("random", count, edges, steps) == pytest.approx(1, abs=bar)


@pytest.mark.slow
@pytest.mark.parametrize(("edges", "steps"), STEPS)
def test_adaptive_points_drift_nearly_as_exact_overlaps_do(edges: float, steps: int) -> None:
    assert drift("adaptive", 10, edges, steps) == pytest.approx(1, abs=0.015)


@pytest.mark.parametrize(
    ("count", "edges", "least", "most"),
    [(4, 0.02, 0, 0), (4, 0.08, 0, 0), (4, 0.5, 0.8, 1.2), (10, 0.02, 0, 0), (10, 0.5, 0.9, 1.1), (35, 0.02, 0, 0), (35, 0.5, 0.9, 1.1)],
)
def test_fixed_points_have_a_dead_band(count: int, edges: float, least: float, most: float) -> None:
    assert least <= drift("fixed", count, edges, 8) <= most


@pytest.mark.parametrize(
    ("count", "edges", "least", "most"), [(14, 0.02, 0, 0), (14, 0.5, 0.9, 1.1), (35, 0.005, 0, 0), (35, 0.5, 0.9, 1.1)]
)
def test_points_of_quadrature_have_one_too(count: int, edges: float, least: float, most: float) -> None:
    """A shorter one: those of 35 lie closer to the faces than those of the lattice, and move water by 0.02 of an edge already."""
    assert least <= drift("quadrature", count, edges, 8) <= most
    assert drift("quadrature", 35, 0.02, 8) > 0 == drift("fixed", 35, 0.02, 8)


# --- shared volumes ------------------------------------------------------------------------------------------------------------------


def shifted(samples: Any, count: int, edges: float = 0.2, seed: int = 0, mesh_seed: int = 3) -> TetVOF:
    """Full water in a mesh that it flows across, by part of an edge in one step of 1 s."""
    vof = alone(still(lattice(EDGE, (4, 4, 4), mesh_seed, shear=0.2, stir=0.1)), samples=samples, count=count, seed=seed)
    vof.volume[:] = rounded(vof, vof.capacity)
    vof.velocity[:] = edges * EDGE * turned(9)[0]
    return vof


def exact_shares(vof: TetVOF, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Volumes that traced tetrahedra share with those of the mesh."""
    x = vof.positions[vof.tets]
    a = np.array([x[r] - vof.velocity[r] for r, _ in pairs])
    b = np.array([x[d] for _, d in pairs])
    return ms.mesh.overlap_volumes(a, b)


@pytest.mark.parametrize("edges", [0.02, 0.2, 1.3])
def test_exact_requests_are_overlaps(edges: float) -> None:
    vof = shifted("exact", 1, edges)
    found = requests(vof, 1.0)
    pairs = list(found)
    got = np.array([found[p] for p in pairs])
    np.testing.assert_allclose(got, exact_shares(vof, pairs), rtol=0, atol=1e-12 * vof.capacity.max())
    # None is missing: the shares of a traced tetrahedron inside of the mesh add up to its volume.
    sums = np.zeros(len(vof.tets))
    np.add.at(sums, [r for r, _ in pairs], got)
    inside = np.linalg.norm(centroids(vof) - vof.velocity, axis=1) < 0.15
    assert inside.any()
    np.testing.assert_allclose(sums[inside], vof.capacity[inside], rtol=1e-12)


def test_requests_may_be_read_from_a_hook() -> None:
    vof, seen = shifted("random", 10), {}

    def read(stage: str, at: TetVOF) -> None:
        if stage != "move":
            seen[stage] = at.requests()
            return
        with pytest.raises(RuntimeError, match="requests needs"):
            at.requests()

    room = vof.capacity.copy()
    vof.step(1.0, read)
    with pytest.raises(RuntimeError, match="requests needs"):
        vof.requests()
    assert len(seen) == 10
    first = seen["request"]
    assert first.receiver.dtype == first.donor.dtype == np.int32
    for other in seen.values():
        assert all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    # Nobody asks for more than its own volume.
    asked = np.bincount(first.receiver, first.volume, len(room))
    assert (asked <= room * (1 + 1e-12)).all()
    assert asked.sum() > 0.5 * room.sum()


def share_error(samples: Any, count: int, seeds: int) -> float:
    """Root of the mean squared error of the shared volumes of a tetrahedron, over its volume."""
    exact = requests(shifted("exact", 1), 1.0)
    total = 0.0
    for seed in range(seeds):
        vof = shifted(samples, count, seed=seed)
        found = requests(vof, 1.0)
        keys = set(exact) | set(found)
        total += sum((found.get(k, 0.0) - exact.get(k, 0.0)) ** 2 for k in keys) / len(vof.tets) / vof.capacity.mean() ** 2
    return math.sqrt(total / seeds)


@pytest.mark.parametrize(("samples", "slope"), [("independent", -0.45), ("random", -0.55)])
def test_order_of_shared_volumes(samples: Any, slope: float) -> None:
    counts = (8, 32, 128, 512)
    errors = [share_error(samples, n, 3) for n in counts]
    assert np.polyfit(np.log(counts), np.log(errors), 1)[0] <= slope, errors


def test_fixed_points_do_not_converge() -> None:
    errors = [share_error("fixed", n, 1) for n in (4, 10, 20, 35)]
    assert max(errors) <= 2.5 * min(errors), errors
    assert min(errors) > 0.05, errors


@pytest.mark.parametrize("samples", ALL)
def test_what_donors_give_and_keep_is_what_they_had(samples: Any) -> None:
    vof = shifted(samples, 10, 0.3)
    rng = np.random.default_rng(4)
    vof.volume[:] = rounded(vof, vof.capacity * rng.random(len(vof.volume)))
    vof.velocity[:] += 0.05 * rng.normal(size=vof.velocity.shape)
    before, old = vof.volume.copy(), momentum(vof)
    vof.move(1.0)
    vof.request(1.0)
    assert np.array_equal(vof.volume, before)
    vof.deliver(1.0)
    rest, rest_momentum = vof._stages.remainder()
    assert rest >= 0
    assert math.fsum([*vof.volume, rest]) == math.fsum(before)
    scale = (before[:, None] * np.abs(vof.velocity)).sum()
    np.testing.assert_allclose(momentum(vof) + rest_momentum, old, rtol=0, atol=1e-14 * scale)
    # The remainders alone: those of donors from which more was asked than they had are exactly nothing.
    vof.forward(1.0)
    out = [v for part in vof._left for v in part[2]]
    assert math.fsum([*vof.volume, *out]) == math.fsum(before)


# --- backward and forward together ---------------------------------------------------------------------------------------------------


@pytest.mark.fast_cases("exact")
@pytest.mark.parametrize("samples", ["random", "exact"])
def test_a_lone_wet_tetrahedron_travels_at_its_speed(samples: Any) -> None:
    found = []
    for seed in range(1 if samples == "exact" else 120):
        vof = alone(still(lattice(EDGE, (8, 8, 8), 2)), samples=samples, seed=seed)
        t = int(np.argmin(np.linalg.norm(centroids(vof), axis=1)))
        u = turned(5)[1]
        vof.volume[t], vof.velocity[t] = rounded(vof, vof.capacity[t : t + 1])[0], u
        start = centre(vof)
        for _ in range(4):
            vof.step(0.5 * EDGE)
        found.append((centre(vof) - start) @ u / (2 * EDGE))
    assert np.mean(found) == pytest.approx(1, abs=0.02)


def test_diverging_flow_leaves_nothing_behind() -> None:
    vof = alone(still(lattice(EDGE, (10, 6, 6), 2)), samples="random", outside=None)
    c = centroids(vof)
    axis = turned(2)[:, 0]
    along = c @ axis
    vof.volume[:] = rounded(vof, vof.capacity * (np.linalg.norm(c, axis=1) < 0.5))
    middle = np.abs(along) < 0.15
    before = vof.volume[middle].sum()
    for _ in range(8):
        wet = vof.volume > 0
        vof.velocity[wet] = along[wet, None] * axis
        advect(vof, 0.5)
        vof.time, vof.steps, vof._moved_by = vof.time + 0.5, vof.steps + 1, None
    assert vof.volume[middle].sum() <= 2 * math.exp(-4) * before


# --- smearing ------------------------------------------------------------------------------------------------------------------------


def smeared(steps: int, **options: Any) -> tuple[float, float, int]:
    """A blob after one turn about an axis beside it, on a still mesh.

    Returns the part of it that is not where the blob was, the growth of its radius of gyration, and how many points and overlaps it took.
    """
    vof = alone(still(lattice(0.25, (14, 14, 7))), **options)
    c = centroids(vof)
    start = np.array([0.85, 0.0, 0.0])
    blob = np.linalg.norm(c - start, axis=1) < 0.55
    vof.volume[:] = rounded(vof, vof.capacity * blob)
    before = vof.volume.copy()
    dt = 2 * math.pi / steps
    used = 0
    for _ in range(steps):
        wet = vof.volume > 0
        middle = np.cross([0.0, 0.0, 1.0], c)
        # The chord, so that one turn comes back to the begin.
        vof.velocity[wet] = middle[wet] @ about([0, 0, 1], -0.5 * dt).T * (2 * math.sin(0.5 * dt) / dt)
        advect(vof, dt)
        used += vof.running_report.points + vof.running_report.overlaps
        vof.time, vof.steps, vof._moved_by = vof.time + dt, vof.steps + 1, None

    def spread(w: np.ndarray) -> float:
        m = (w[:, None] * c).sum(axis=0) / w.sum()
        return math.sqrt((w * ((c - m) ** 2).sum(axis=1)).sum() / w.sum())

    return float(np.maximum(before - vof.volume, 0).sum() / before.sum()), spread(vof.volume) / spread(before), used


@pytest.mark.slow
def test_adaptive_is_as_good_as_random_with_half_its_samples() -> None:
    """In a turn of a blob; overlaps of two tetrahedra count as samples, too."""
    random, adaptive = (smeared(60, samples=s, count=10) for s in ("random", "adaptive"))
    print(random, adaptive)
    assert adaptive[0] <= random[0] * 1.005
    assert adaptive[1] <= random[1] * 1.005
    assert adaptive[2] <= 0.5 * random[2]


def test_points_and_overlaps_are_counted() -> None:
    vof = shifted("random", 7)
    report = vof.step(1.0)
    assert report.overlaps == 0
    # Every tetrahedron requests; those with a remainder trace it forward.
    assert 7 * len(vof.tets) <= report.points <= 14 * len(vof.tets)
    assert report.points % 7 == 0
    exact = shifted("exact", 7)
    report = exact.step(1.0)
    assert report.points == 0
    assert report.overlaps >= len(exact.tets)
    mixed = shifted("adaptive", 9)
    report = mixed.step(1.0)
    assert report.points > 0
    assert report.points % 3 == 0
    assert report.overlaps > 0
    still_water = shifted("random", 7)
    still_water.volume[:] = 0
    report = still_water.step(1.0)
    assert report.points == report.overlaps == 0


@pytest.mark.slow
def test_smearing_in_one_turn() -> None:
    table = {
        name: smeared(60, **options)
        for name, options in {
            "random 10": {"samples": "random"},
            "random 35": {"samples": "random", "count": 35},
            "adaptive 10": {"samples": "adaptive"},
            "exact": {"samples": "exact"},
            "exact, planes": {"samples": "exact", "planes": True},
            "adaptive, planes": {"samples": "adaptive", "planes": True},
        }.items()
    }
    for name, row in table.items():
        print(f"{name:18s} {row[0]:.3f} {row[1]:.3f} {row[2]}")
    for i in (0, 1):
        base = i  # the growth of the radius begins at 1
        assert table["exact, planes"][i] - base <= 0.5 * (table["exact"][i] - base), table
    assert table["adaptive 10"][0] <= 1.02 * table["random 10"][0], table

"""Tracked surfaces as they move: ends, data that follow, state, bits, arguments."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from support.build import same_bits
from support.meshes import box, join
from support.same_bits import everywhere

import meniscus as ms
from meniscus.fluids import rotation
from meniscus.surface import TrackedSurface, TrackingOptions


def ball(level: int = 2, radius: float = 1.0, center: tuple[float, ...] = (0.0, 0.0, 0.0)) -> ms.mesh.TriangleMesh:
    return ms.mesh.icosphere(level, radius, center)


def two_balls(gap: float = 0.1, level: int = 2) -> tuple[np.ndarray, np.ndarray]:
    a, b = ball(level), ball(level, 1.0, (2.0 + gap, 0.1, 0.2))
    return join((np.array(a.vertices), np.array(a.triangles)), (np.array(b.vertices), np.array(b.triangles)))


def stretch(points: np.ndarray, time: float) -> np.ndarray:
    """Draws a ball out along x and presses it together along the others."""
    return points * [1.0, -0.5, -0.5]


def test_ends_with_nothing_in_the_way_come_back_bit_for_bit(rng: np.random.Generator) -> None:
    surface = TrackedSurface(two_balls())
    ends = np.asarray(surface.vertices) + np.array([3.0, -2.0, 1.0])
    ends = ends * 1.1
    report = surface.move(ends, 0.3)
    assert np.array_equal(surface.vertices, ends)
    assert report.fraction == 1.0
    assert report.contacts == report.repelled == report.pushed == 0


def test_balls_that_fly_at_each_other_do_not_meet() -> None:
    mesh = two_balls()
    n = len(mesh[0]) // 2
    surface = TrackedSurface(mesh, merge="none")
    ways = np.where(np.arange(2 * n)[:, None] < n, [0.3, 0, 0], [-0.3, 0, 0])
    before = np.asarray(surface.vertices) @ np.array([1.0, 0, 0])
    total = before.sum()
    for _ in range(4):
        report = surface.move(np.asarray(surface.vertices) + ways, 0.1)
        assert report.fraction == 1.0
        assert surface.audit().sound
    assert report.contacts > 0
    assert report.pushed > 0
    # Impulses act between the two: their sum is nothing, and far vertices go where they were sent.
    assert (np.asarray(surface.vertices)[:, 0]).sum() == pytest.approx(total, abs=1e-9)
    left = np.argmin(mesh[0][:, 0])
    assert surface.vertices[left, 0] == pytest.approx(mesh[0][left, 0] + 1.2, abs=1e-12)


def test_without_safety_they_pass_through_each_other() -> None:
    mesh = two_balls()
    n = len(mesh[0]) // 2
    surface = TrackedSurface(mesh, safety=False)
    ends = mesh[0] + np.where(np.arange(2 * n)[:, None] < n, [0.3, 0, 0], [-0.3, 0, 0])
    surface.move(ends, 0.1)
    assert np.array_equal(surface.vertices, ends)
    assert surface.audit().intersections > 0


def test_fixed_vertices_stay() -> None:
    mesh = ball(2)
    fixed = np.asarray(mesh.vertices)[:, 0] < -0.5
    surface = TrackedSurface(mesh, fixed=fixed)
    for _ in range(5):
        surface.step(stretch, 0.1)
    left = np.asarray(surface.vertices)
    for x in np.asarray(mesh.vertices)[fixed]:
        assert (left == x).all(axis=1).any()
    assert surface.fixed.sum() == fixed.sum()
    assert surface.audit().sound


def test_a_stretched_ball_keeps_its_triangles_good() -> None:
    """A motion without divergence: volume is kept, edges stay within their bounds, and the shape is the ellipsoid."""
    surface = TrackedSurface(ball(3), topology=False)
    before = surface.volume()
    for _ in range(40):
        surface.step(stretch, 0.025)
        assert surface.audit().sound
    surface.improve()
    audit = surface.audit()
    assert audit.edges_within >= 0.99
    assert audit.small_angles <= 0.01
    assert (audit.euler, audit.components) == (2, 1)
    assert surface.volume() == pytest.approx(before, rel=3e-3)
    a, b = np.e, np.exp(-0.5)
    x = np.asarray(surface.vertices) / [a, b, b]
    assert np.abs(np.linalg.norm(x, axis=1) - 1).max() < 0.02
    assert surface.time == pytest.approx(1.0)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("midpoint", 2), ("rk4", 4)])
def test_orders_of_the_ways(method: Any, order: int) -> None:
    """A turn of one radian about an axis; without improvement nothing else is an error."""
    flow = rotation((0.3, 0.1, 0.0), (0.2, -0.5, 1.0))
    mesh = ball(1)
    errors = []
    for steps in (4, 8):
        quiet = TrackingOptions(operations=())
        surface = TrackedSurface(mesh, merge="none", options=quiet)
        for _ in range(steps):
            surface.step(flow, 1.0 / steps, method)
        exact = np.array(mesh.vertices)
        for _ in range(1000):
            flow.trace(exact, 0.0, 1e-3)
        errors.append(np.abs(surface.vertices - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


def test_velocities_of_all_kinds() -> None:
    grid = ms.Grid((8, 8, 8), 0.5, (-2.0, -2.0, -2.0))
    field = ms.MacField(grid, np.float64)
    field.component(0)[...] = 0.5
    quiet = TrackingOptions(operations=())
    for velocity in (field, np.tile([0.5, 0, 0], (len(ball(1).vertices), 1)), lambda x, t: np.tile([0.5, 0.0, 0.0], (len(x), 1))):
        surface = TrackedSurface(ball(1), options=quiet)
        surface.step(velocity, 0.25)
        assert np.allclose(surface.vertices, np.asarray(ball(1).vertices) + np.array([0.125, 0, 0]), atol=1e-14)
    with pytest.raises(ValueError, match="velocity must return an array of shape"):
        surface.step(lambda x, t: np.zeros(3), 0.1)


RULES = ["interpolate", "inherit", "sum", "largest"]


def test_data_follow_by_their_rules(rng: np.random.Generator) -> None:
    """Sums are kept to rounding on vertices and triangles, constants by the rest; linear functions follow splits exactly."""
    mesh = ball(2)
    surface = TrackedSurface(mesh, topology=False)
    edges = surface.edges
    sizes = {"vertices": len(surface.vertices), "triangles": len(surface.triangles), "edges": len(edges)}
    carried = {}
    for on, n in sizes.items():
        for rule in RULES:
            values = rng.uniform(1, 2, (n, 2)) if rule in ("sum", "largest") else np.full((n, 2), 0.7)
            carried[on, rule] = (surface.carry(values, on=on, rule=rule), values)  # type: ignore[arg-type]
    mean = surface.carry(np.full(sizes["vertices"], 0.7), rule=lambda values, weights: weights @ values)
    for _ in range(8):
        surface.step(stretch, 0.1)
    assert surface.generation > 3
    assert np.allclose(mean.array, 0.7)
    for (on, rule), (data, values) in carried.items():
        n = {"vertices": len(surface.vertices), "triangles": len(surface.triangles), "edges": len(surface.edges)}[on]
        assert data.array.shape == (n, 2)
        if rule == "sum":
            assert np.allclose(data.array.sum(axis=0), values.sum(axis=0), rtol=1e-13), (on, rule)
        elif rule == "largest":
            assert data.array.max() == values.max()
            assert data.array.min() >= values.min()
        else:
            assert np.allclose(data.array, 0.7, rtol=1e-13), (on, rule)


def test_a_function_gives_what_the_rule_gives(rng: np.random.Generator) -> None:
    surface = TrackedSurface(ball(2), 0.25)
    pairs = []
    for on in ("vertices", "triangles", "edges"):
        n = {"vertices": len(surface.vertices), "triangles": len(surface.triangles), "edges": len(surface.edges)}[on]
        values = rng.uniform(size=n)
        plain = surface.carry(values, on=on, rule="interpolate")  # type: ignore[arg-type]
        own = surface.carry(values, on=on, rule=lambda v, w: (v * w[:, None]).sum(axis=0))  # type: ignore[arg-type]
        pairs.append((plain, own))
    for _ in range(3):
        surface.step(stretch, 0.1)
    for plain, own in pairs:
        assert np.allclose(plain.array, own.array, rtol=1e-12)


def test_old_views_stay_what_they_are() -> None:
    surface = TrackedSurface(ball(2), 0.2)
    x, t, generation = surface.vertices, surface.triangles, surface.generation
    kept = np.array(x), np.array(t)
    surface.improve()
    assert surface.generation > generation
    assert len(surface.triangles) > len(t)
    assert np.array_equal(x, kept[0])
    assert np.array_equal(t, kept[1])
    with pytest.raises(ValueError, match="read-only"):
        surface.vertices[0] = 0.0


def run_of(surface: TrackedSurface, steps: int) -> tuple[np.ndarray, ...]:
    for _ in range(steps):
        surface.step(stretch, 0.05)
    return np.array(surface.vertices), np.array(surface.triangles), *(np.array(data.array) for data in surface._carried)


def made() -> TrackedSurface:
    mesh = two_balls(0.02)
    surface = TrackedSurface(mesh)
    surface.carry(np.asarray(mesh[0])[:, 0])
    surface.carry(np.ones(len(mesh[1])), on="triangles", rule="sum")
    surface.add_obstacle(ball(1, 0.2, (0.0, 3.0, 0.0)))
    return surface


def test_same_bits_on_any_threads() -> None:
    everywhere(lambda: run_of(made(), 6))


def test_snapshots_copies_and_pickles_go_on_with_the_same_bits() -> None:
    surface = made()
    run_of(surface, 3)
    state = surface.snapshot()
    twins = [copy.deepcopy(surface), pickle.loads(pickle.dumps(surface))]
    straight = run_of(surface, 4)
    surface.restore(state)
    assert surface.time == pytest.approx(0.15)
    assert same_bits(run_of(surface, 4), straight)
    for twin in twins:
        assert same_bits(run_of(twin, 4), straight)
    with pytest.raises(ValueError, match="0 kinds"):
        surface.restore({**state, "carried": []})


def flipped(t: np.ndarray) -> np.ndarray:
    t = t.copy()
    t[0] = t[0][::-1]
    return t


def test_what_is_refused_in_one_sentence() -> None:
    mesh = ball(1)
    x, t = np.array(mesh.vertices), np.array(mesh.triangles)
    other = join((x, t), (x + np.array([0.5, 0.1, 0.2]), t))
    with pytest.raises(ValueError, match=r"intersects itself at \d+ pairs .* edge \(\d+, \d+\) and triangle"):
        TrackedSurface(other)
    assert TrackedSurface(other, safety=False).audit().intersections > 0
    with pytest.raises(ValueError, match="opposed orientation"):
        TrackedSurface((x, flipped(t)))
    with pytest.raises(ValueError, match="odd number of triangles"):
        TrackedSurface((np.concatenate([x, [[3.0, 3.0, 3.0]]]), np.concatenate([t, [[t[0, 0], t[0, 1], len(x)]]]).astype(np.int32)))
    with pytest.raises(ValueError, match="corners of another one"):
        TrackedSurface((x, np.concatenate([t, t[:1]])))
    with pytest.raises(ValueError, match="finite"):
        TrackedSurface((np.where(np.arange(len(x))[:, None] == 3, np.nan, x), t))
    block = ms.mesh.tet_block(2, 2, 2).boundary
    with pytest.raises(ValueError, match=r"mesh has 1 vertices that no triangle uses; `TriangleMesh.compacted` leaves them out"):
        TrackedSurface(block)
    assert TrackedSurface(block.compacted()[0]).volume() == pytest.approx(1.0, abs=1e-12)
    assert len(ms.surface.remesh(block, 0.5).triangles) > 12
    with pytest.raises(ValueError, match="must have a triangle"):
        TrackedSurface((x, t[:0]))
    with pytest.raises(ValueError, match="edge_length must be positive"):
        TrackedSurface(mesh, -1.0)
    with pytest.raises(ValueError, match="less than half of longest"):
        TrackedSurface(mesh, options=TrackingOptions(lengths=(0.9, 1.5)))
    with pytest.raises(ValueError, match="must exceed proximity"):
        TrackedSurface(mesh, options=TrackingOptions(gaps=(0.1, 0.05)))
    surface = TrackedSurface(mesh)
    with pytest.raises(ValueError, match="one per vertex"):
        surface.move(x[:-1])
    with pytest.raises(ValueError, match="finite"):
        surface.move(np.full_like(x, np.nan))
    with pytest.raises(ValueError, match="dt must be positive"):
        surface.move(x, 0.0)
    with pytest.raises(ValueError, match="vertex 99 does not exist"):
        surface.apply("split", [[0, 99]])
    with pytest.raises(ValueError, match="values must have shape"):
        surface.carry(np.zeros(3))
    assert np.array_equal(surface.vertices, x)


def test_open_surfaces() -> None:
    """A rim that is frozen keeps its vertices; else it is split and collapsed along itself, corners and straight sides stay."""
    n = 9
    x, y = (a.ravel() for a in np.meshgrid(np.arange(n) / (n - 1), np.arange(n) / (n - 1), indexing="ij"))
    a = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    t = np.concatenate([np.stack([a, a + n, a + n + 1], 1), np.stack([a, a + n + 1, a + 1], 1)]).astype(np.int32)
    v = np.stack([x, y, 0 * x], 1)

    def pull(points: np.ndarray, time: float) -> np.ndarray:
        return points * [1.0, 0.0, 0.0]

    for frozen in (True, False):
        surface = TrackedSurface((v, t), options=TrackingOptions(frozen_boundary=frozen))
        for _ in range(10):
            surface.step(pull, 0.1)
        audit = surface.audit()
        assert audit.sound
        assert audit.euler == 1
        rim = np.asarray(surface.vertices)
        assert surface.area() == pytest.approx(np.e, rel=1e-5)
        assert (audit.boundary_edges == 4 * (n - 1)) == frozen
        for corner in ([0, 0, 0], [np.e, 0, 0], [0, 1, 0], [np.e, 1, 0]):
            assert np.abs(rim - corner).max(axis=1).min() < 1e-5


def test_a_box_of_one_edge_length_everywhere() -> None:
    """Two triangles a side become many that fit the bounds."""
    surface = TrackedSurface(box(), 0.2)
    for _ in range(6):
        surface.improve()
    audit = surface.audit()
    assert audit.sound
    assert audit.edges_within >= 0.99
    assert audit.small_angles <= 0.01
    assert surface.volume() == pytest.approx(1.0, abs=1e-12)
    assert surface.area() == pytest.approx(6.0, abs=1e-11)


def test_a_collapse_turns_nothing_inside_out() -> None:
    """Five vertices: the other half of the part has all of its corners on the rim of what the collapse moves."""
    x = np.array([[0.04, -0.04, 0.7], [0.33, -0.04, 0.22], [-0.01, -0.16, 0.09], [-0.01, -0.18, 0], [0.09, 0.04, -0.65]])
    t = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [4, 2, 1], [4, 3, 2], [4, 1, 3]], np.int32)
    for edge in [[3, 4], [0, 1], [0, 3], [1, 4], [2, 4], [2, 3]]:
        surface = TrackedSurface((x, t), 1.0, options=TrackingOptions(angles=(0.0, 180.0)))
        surface.apply("collapse", [edge])
        assert surface.volume() >= 0


def test_a_plate_that_shrinks_vanishes() -> None:
    x, t = box((0.0, 0.0, 0.0), (1.0, 1.0, 0.1))
    surface = TrackedSurface((x, t), 0.1)
    surface.improve()
    for _ in range(12):
        ms.surface.normal_motion(surface, -0.25, 0.05)
        assert surface.volume() > -1e-6
    assert len(surface.triangles) == 0
    # Obstacles go on, with nothing left to meet them.
    surface.add_obstacle(ball(1))
    ends = surface.obstacle_vertices + 1.0
    surface.move_obstacles(ends)
    surface.move(np.zeros((0, 3)))
    assert np.array_equal(surface.obstacle_vertices, ends)
    assert surface.volume() == surface.area() == 0.0
    assert len(surface.components()) == 0
    assert surface.audit().sound


def test_sums_are_kept_where_triangles_go_back_to_back() -> None:
    """A vertex with three triangles on one of a sphere: a collapse leaves two of them back to back."""
    mesh = ball(2, 0.5)
    done = 0
    for i in range(40):
        x, t = np.array(mesh.vertices), np.array(mesh.triangles)
        a, b, c = (int(v) for v in t[i])
        tip = len(x)
        x = np.concatenate([x, [x[[a, b, c]].mean(axis=0) * 1.01]])
        t = np.concatenate([np.delete(t, i, 0), [[a, b, tip], [b, c, tip], [c, a, tip]]]).astype(np.int32)
        surface = TrackedSurface((x, t), 0.15, volume_change=10.0, options=TrackingOptions(angles=(0.0, 180.0)))
        sizes = {"vertices": len(x), "triangles": len(t), "edges": len(surface.edges)}
        kept = {on: surface.carry(np.ones(n), on=on, rule="sum") for on, n in sizes.items()}  # type: ignore[arg-type]
        ends, events = surface.apply("collapse", [[a, b]])
        if ends[0] != 0:
            continue
        done += 1
        assert len(surface.triangles) == len(t) - 4
        for on, data in kept.items():
            assert data.array.sum() == pytest.approx(sizes[on], rel=1e-13), on
        with pytest.raises(ValueError, match="the events are of"):
            events.replay(x[:-1], t)
    assert done > 0


def test_open_tubes_are_not_closed() -> None:
    """The area vectors of a tube add up to zero like those of a closed surface: its rims stay where they are all the same."""
    n, m = 24, 12
    u, z = (q.ravel() for q in np.meshgrid(2 * np.pi * np.arange(n) / n, np.linspace(0, 2, m), indexing="ij"))
    x = np.stack([np.cos(u), np.sin(u), z], 1)
    i, j = (q.ravel() for q in np.meshgrid(np.arange(n), np.arange(m - 1), indexing="ij"))
    a, b = i * m + j, (i + 1) % n * m + j
    t = np.concatenate([np.stack([a, b, b + 1], 1), np.stack([a, b + 1, a + 1], 1)]).astype(np.int32)
    surface = TrackedSurface((x, t), options=TrackingOptions(frozen_boundary=True))
    for _ in range(5):
        surface.improve()
    left = np.asarray(surface.vertices)
    for vertex in x[(z == 0) | (z == 2)]:
        assert (left == vertex).all(axis=1).any()


def test_observers_and_rules_leave_the_surface_alone() -> None:
    surface = TrackedSurface(ball(2), 0.2)

    def meddle(kind: str, vertices: np.ndarray) -> bool:
        surface.improve()
        return True

    surface.observer = meddle
    before = surface.snapshot()
    with pytest.raises(RuntimeError, match="observers and rules must not change it"):
        surface.improve()
    assert same_bits(surface.snapshot()["vertices"], before["vertices"])
    surface.observer = None

    def fail(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        raise KeyError("stop")

    surface.carry(np.zeros(len(surface.vertices)), rule=fail)
    with pytest.raises(KeyError, match="stop"):
        surface.improve()
    assert same_bits(surface.snapshot()["triangles"], before["triangles"])


def test_snapshots_of_other_surfaces_are_refused() -> None:
    surface = made()
    state = surface.snapshot()
    for change, message in (
        ({"triangles": np.full_like(state["triangles"], 10**8)}, "indices of the"),
        ({"vertices": np.full_like(state["vertices"], np.nan)}, "finite"),
        ({"carried": [c[:-1] for c in state["carried"]]}, "rows"),
    ):
        with pytest.raises(ValueError, match=message):
            surface.restore({**state, **change})
        assert same_bits(surface.snapshot()["vertices"], state["vertices"])
    with pytest.raises(ValueError, match="the snapshot has no carried"):
        surface.restore({})
    ends = surface.obstacle_vertices + 0.1
    surface.move_obstacles(ends)
    twin = copy.deepcopy(surface)
    twin.move(twin.vertices)
    assert np.array_equal(twin.obstacle_vertices, ends)
    with pytest.raises(ValueError, match="must have a column"):
        surface.carry(np.zeros((len(surface.vertices), 0)))
    with pytest.raises(ValueError, match="finite"):
        ms.surface.normal_motion(surface, np.full(len(surface.triangles), np.nan), 0.1)


def test_memory_does_not_pile_up() -> None:
    """A surface that grows and changes for a while holds what its triangles need, not what every step has asked for."""
    from meniscus.scenes.library.tracking.enright import enright_flow

    surface = TrackedSurface(ms.mesh.icosphere(3, 0.15, (0.35, 0.35, 0.35)), 0.025, topology=False)
    sizes = []
    for _ in range(60):
        surface.step(enright_flow, 0.02)
        sizes.append(surface.nbytes / len(surface.triangles))
    assert len(surface.triangles) > 2000
    assert max(sizes[30:]) < 1.5 * sizes[0]
    assert surface.nbytes < 1200 * len(surface.triangles)

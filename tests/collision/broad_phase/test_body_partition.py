"""Points near each of many bodies, against brute force; each body is found once."""

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus.collision import points_of_bodies


def brute_force(boxes: np.ndarray, points: np.ndarray, displacement: np.ndarray) -> list[np.ndarray]:
    low, high = boxes[:, 0] - displacement[:, None], boxes[:, 1] + displacement[:, None]
    return [np.flatnonzero(((a <= points) & (points <= b)).all(axis=1)) for a, b in zip(low, high, strict=True)]


def check(boxes: np.ndarray, points: np.ndarray, displacement: float | np.ndarray) -> int:
    found = points_of_bodies(boxes, points, displacement)
    expected = brute_force(boxes, points, np.broadcast_to(displacement, len(boxes)))
    assert found.starts.tolist() == np.concatenate([[0], np.cumsum([len(e) for e in expected])]).tolist()
    assert found.points.tolist() == [int(i) for e in expected for i in e]
    return len(found.points)


@pytest.mark.parametrize("kind", ["scattered", "nested", "touching", "sizes", "flat"])
def test_against_brute_force(kind: str, rng: np.random.Generator) -> None:
    contacts = 0
    for _ in range(25):
        n, k = int(rng.integers(1, 60)), int(rng.integers(0, 800))
        low = rng.uniform(-5, 5, (n, 3))
        side = rng.uniform(0, 2, (n, 3))
        points = rng.uniform(-6, 6, (k, 3))
        if kind == "nested":
            low, side = -0.1 - 0.1 * np.arange(n)[:, None] * np.ones(3), 0.2 + 0.2 * np.arange(n)[:, None] * np.ones(3)
        if kind == "touching":
            low, side, points = np.round(low), np.round(side), np.round(points)
        if kind == "sizes":
            side *= 10.0 ** rng.uniform(-3, 1, (n, 1))
        if kind == "flat":
            side[:, 1], points[:, 1], low[:, 1] = 0, 0.5, 0.5
        boxes = np.ascontiguousarray(np.stack([low, low + side], axis=1))
        for displacement in (0.0, 0.5, rng.uniform(0, 1, n)):
            contacts += check(boxes, points, displacement)
    assert contacts > 1000


def test_contacts_of_moving_spheres_are_those_of_all_pairs(rng: np.random.Generator) -> None:
    """Each body tests only its own points, visited once, and misses no contact of the step."""
    centers, radii = rng.uniform(0, 4, (40, 3)), rng.uniform(0.05, 0.5, 40)
    body_step, point_step = rng.uniform(-0.1, 0.1, (40, 3)), rng.uniform(-0.1, 0.1, (3000, 3))
    points = rng.uniform(0, 4, (3000, 3))
    boxes = np.ascontiguousarray(np.stack([centers - radii[:, None], centers + radii[:, None]], axis=1))
    reach = np.linalg.norm(body_step, axis=1) + np.linalg.norm(point_step, axis=1).max()
    partition = points_of_bodies(boxes, points, reach)
    ends = points + point_step
    found = []
    for b in range(40):
        mine = partition.points[partition.starts[b] : partition.starts[b + 1]]
        touching = np.linalg.norm(ends[mine] - centers[b] - body_step[b], axis=1) <= radii[b]
        found += [(b, int(i)) for i in mine[touching]]
    everything = np.linalg.norm(ends[None] - (centers + body_step)[:, None], axis=2) <= radii[:, None]
    assert found == [(int(b), int(i)) for b, i in np.argwhere(everything)]
    assert len(found) > 200
    assert len(partition.points) < 0.3 * everything.size


def test_threads_do_not_matter(rng: np.random.Generator) -> None:
    low = rng.uniform(-5, 5, (500, 3))
    boxes = np.ascontiguousarray(np.stack([low, low + rng.uniform(0, 1, (500, 3))], axis=1))
    points = rng.uniform(-5, 5, (20000, 3))
    before = ms.core.num_threads()
    results = []
    try:
        for n in (1, 2, 3, 5, 8):
            ms.core.set_num_threads(n)
            results.append(list(points_of_bodies(boxes, points, 0.1)))
    finally:
        ms.core.set_num_threads(before)
    assert all(same_bits(r, results[0]) for r in results[1:])


def test_no_bodies_no_points() -> None:
    none = points_of_bodies(np.zeros((0, 2, 3)), np.zeros((5, 3)))
    assert none.starts.tolist() == [0]
    assert none.points.shape == (0,)
    assert points_of_bodies(np.zeros((3, 2, 3)), np.zeros((0, 3))).starts.tolist() == [0, 0, 0, 0]


def test_what_is_refused() -> None:
    boxes, points = np.zeros((2, 2, 3)), np.zeros((2, 3))
    with pytest.raises(ValueError, match="displacement must not be negative, but the least is -1"):
        points_of_bodies(boxes, points, -1.0)
    with pytest.raises(ValueError, match=r"displacement must have shape \(2,\)"):
        points_of_bodies(boxes, points, np.zeros(3))
    with pytest.raises(ValueError, match=r"points must be finite, but \[0, 0\] is nan"):
        points_of_bodies(boxes, points + np.nan)
    with pytest.raises(TypeError, match="boxes must be of dtype float64, not float32"):
        points_of_bodies(boxes.astype(np.float32), points)  # type: ignore[arg-type]

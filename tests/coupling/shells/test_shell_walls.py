"""Walls of thin shells: marked cells, blocked faces, what hides what, and one-sided interpolation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.shells import ball, box, line, ring, sheet

import meniscus as ms
from meniscus.collision import ThickSurface
from meniscus.coupling import KinematicShell, Shells


def shields(dimension: int, mask: int, eye: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Small elements, each across the way from an eye to one corner of the unit cell, for the corners of a mask."""
    x, e = [], []
    rng = np.random.default_rng(mask)
    for q in range(1 << dimension):
        corner = np.array([q >> d & 1 for d in range(dimension)], float)
        if not mask >> q & 1:
            continue
        way = corner - eye
        middle = eye + (0.55 + 0.2 * rng.random()) * way
        across = np.linalg.svd(way[None])[2][1:]
        n = len(x)
        if dimension == 2:
            x += [middle - 0.05 * across[0], middle + 0.06 * across[0] + 0.02 * way]
        else:
            x += [middle + 0.08 * (np.cos(a) * across[0] + np.sin(a) * across[1]) for a in (0.1, 2.2, 4.3)]
        e.append(range(n, n + dimension))
    return np.array(x).reshape(-1, dimension), np.array(e, np.int32).reshape(-1, dimension)


@pytest.mark.parametrize("dimension", [2, 3])
def test_all_masks_of_corners_hide_as_built_and_are_replaced(dimension: int) -> None:
    h = 0.5
    grid = ms.Grid((6,) * dimension, h)
    field = ms.CellField(grid, np.float64)
    rng = np.random.default_rng(1)
    field.array[...] = rng.random(field.array.shape)
    low = np.array([2.5] * dimension) * h  # centre of the cell at 2
    eye = np.array([0.45, 0.52, 0.49][:dimension])
    corners = list(itertools.product((0, 1), repeat=dimension))
    for mask in range(1, 1 << (1 << dimension)):
        x, e = shields(dimension, mask, eye)
        walls = ms.coupling.ShellWalls(grid, low + h * x, e, 1e-3 * h)
        targets = np.array([[q >> d & 1 for d in range(dimension)] for q in range(1 << dimension)], float)
        hidden = walls.hidden(low + h * eye, low + h * targets)
        assert sum(int(b) << i for i, b in enumerate(hidden)) == mask
        expected = 0.0
        for c in corners:
            q = sum(b << d for d, b in enumerate(c))
            weight = np.prod([f if b else 1 - f for f, b in zip(eye, c, strict=True)])
            expected += weight * (-3.0 if mask >> q & 1 else field.array[tuple(2 + b for b in c)])
        got = walls.sample(field, (low + h * eye)[None], -3.0)[0]
        assert got == pytest.approx(expected, abs=1e-13)


def test_fans_of_rays_agree_with_single_ones() -> None:
    grid = ms.Grid((12, 12, 12), 1 / 12)
    x, t = ball((0.5, 0.48, 0.52), 0.3, 3)
    walls = ms.coupling.ShellWalls(grid, x, t, 1e-4)
    surface = ThickSurface(x, t, 1e-4)
    rng = np.random.default_rng(2)
    for _ in range(300):
        origin = rng.random(3)
        targets = origin + 0.2 * (rng.random((8, 3)) - 0.5)
        classes = surface.classify(np.repeat(origin[None], 8, axis=0), targets)
        assert np.array_equal(walls.hidden(origin, targets), classes != ms.collision.VISIBLE)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("closes", [False, True])
def test_cells_of_samples_know_all_that_hides_their_corners(dimension: int, closes: bool) -> None:
    """Rays within such cells ask lists; those that reach beyond them, as here by a longer one, search."""
    h, n = 0.1, 9
    grid = ms.Grid((n,) * dimension, h, origin=(-0.2, 0.3, 5.0)[:dimension], periodic=(closes,) * dimension)
    low = np.array(grid.origin)
    center = low + 0.5 * n * h
    x, e = (ring if dimension == 2 else ball)(tuple(center), 0.31, 23 if dimension == 2 else 2)
    walls = ms.coupling.ShellWalls(grid, x, e, 1e-4)
    # Around sides that close, or with parts beyond those that do not.
    x = x + 0.17 if closes else center + 1.6 * (x - center)
    walls.place(x, np.zeros_like(x))
    rng = np.random.default_rng(5)
    corners = np.array(list(itertools.product((0, 1), repeat=dimension)), float)
    seen = 0
    for _ in range(1200):
        stagger = rng.integers(dimension + 1)
        offset = np.array([0.0 if a == stagger else 0.5 for a in range(dimension)])
        cell = rng.integers(*((-1, n) if closes else (-2, n + 2)), dimension)  # also beyond sides that do not close
        lowest = low + (cell + offset) * h
        part = rng.random(dimension)
        part[rng.random(dimension) < 0.2] = 0.0
        origin, targets = lowest + part * h, lowest + corners * h
        longer = np.concatenate([targets, [origin + 3 * h * (rng.random(dimension) - 0.5)]])[-8:]
        few = rng.permutation(len(targets))[: rng.integers(1, len(targets) + 1)]
        hidden = walls.hidden(origin, targets)
        assert np.array_equal(hidden[few], walls.hidden(origin, targets[few]))
        assert np.array_equal(hidden[-7:], walls.hidden(origin, longer)[:-1][-7:])
        assert hidden.tolist() == [bool(walls.hidden(origin, np.array([t, origin + 2.5 * h]))[0]) for t in targets]
        seen += int(0 < hidden.sum() < len(targets))
    assert seen > 100


def test_blocked_faces_are_those_between_centres_on_two_sides() -> None:
    grid = ms.Grid((20, 18, 22), 0.05)
    x, t = ball((0.52, 0.44, 0.57), 0.31, 3)
    walls = Shells(grid, [KinematicShell((x, t))]).walls()
    inside = ms.coupling.shells.parity.inside_cells(x, t, np.zeros(3), 0.05, (20, 18, 22))
    for d in range(3):
        across = np.diff(inside.astype(np.int8), axis=d) != 0
        blocked = walls.blocked_faces[d][tuple(slice(1, -1) if a == d else slice(None) for a in range(3))]
        assert np.array_equal(across & ~blocked, np.zeros_like(across)), "nothing between two sides is open"
        assert (blocked & ~across).sum() <= 2 + 0.02 * blocked.sum(), "two crossings or a graze are rare"


def test_clearance_is_the_distance_to_marked_cells() -> None:
    grid = ms.Grid((30, 25), 0.1, periodic=(True, False))
    walls = Shells(grid, [KinematicShell(line([(0.31, 0.7), (0.52, 1.13), (0.9, 1.2)]))]).walls()
    clearance = walls.clearance().astype(int)
    marked = np.argwhere(clearance == 0)
    assert len(marked) == walls.marked_cells > 0
    for c in np.ndindex(clearance.shape):
        away = np.abs(marked - np.array(c))
        away[:, 0] = np.minimum(away[:, 0], 30 - away[:, 0])
        assert clearance[c] == min(away.max(axis=1).min(), 16)


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-9])
def test_sheets_through_centres_and_a_rounding_beside_them_leave_no_way(gap: float) -> None:
    grid = ms.Grid((8, 8, 8), 1.0)
    first = sheet((3.5 + gap, -1.0, -1.0), (0.0, 10.0, 0.0), (0.0, 0.0, 10.0))
    walls = Shells(grid, [KinematicShell(first)]).walls()
    u = walls.blocked_faces[0]
    assert u[3].all() != u[4].all(), "centres inside of the wall count as beside it"
    assert u.sum() == 64
    assert not any(mask.any() for mask in walls.blocked_faces[1:]), "what is in the wall is not shut off along it"


def test_images_of_shells_stand_beyond_periodic_sides() -> None:
    grid = ms.Grid((10, 10), 1.0, periodic=(True, True))
    walls = Shells(grid, [KinematicShell(line([(0.02, -0.5), (0.02, 10.5)]))]).walls()
    assert walls.blocked_faces[0][[0, 10]].all()
    assert walls.hidden((9.9, 5.0), [(10.1, 5.0)])[0]


def test_swept_samples_are_those_between_the_two_positions() -> None:
    grid = ms.Grid((12, 12), 1.0)
    for way in (0.01, 0.5, 1.0, 3.7):
        body = KinematicShell(line([(4.2, -1.0), (4.2, 13.0)]))
        start = Shells(grid, [body]).walls()
        end = Shells(grid, [KinematicShell((body.positions + np.array([way, 0.0]), body.elements))]).walls()
        swept = start.swept(end, (0, 0))
        x = np.arange(12) + 0.5
        assert np.array_equal(swept.all(axis=1), (x >= 4.2) & (x <= 4.2 + way))
        assert np.array_equal(swept.any(axis=1), swept.all(axis=1))


def test_what_is_no_shell_is_refused_in_one_sentence() -> None:
    grid = ms.Grid((8, 8, 8), 0.125)
    plane = ms.Grid((8, 8), 0.125)
    good = KinematicShell(box((0.5, 0.5, 0.5), 0.2))
    with pytest.raises(ValueError, match="thickness must be at most a tenth"):
        Shells(grid, [good], 0.02)
    with pytest.raises(ValueError, match="grid is 2-D"):
        Shells(plane, [good])
    with pytest.raises(TypeError, match="bodies must be a sequence"):
        Shells(grid, [])
    with pytest.raises(TypeError, match="a shell must be"):
        Shells(grid, [3])
    x, t = box((0.5, 0.5, 0.5), 0.2)
    x[0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        KinematicShell((x, t))
    y, s = box((0.6, 0.5, 0.5), 0.2)
    both = np.concatenate([box((0.5, 0.5, 0.5), 0.2)[0], y]), np.concatenate([t, s + 8])
    with pytest.raises(ValueError, match="body 0 intersects itself"):
        Shells(grid, [KinematicShell(both)])
    eight = line([(0.2, 0.2), (0.8, 0.8), (0.8, 0.2), (0.2, 0.8)])
    with pytest.raises(ValueError, match="body 0 intersects itself: segments 0 and 2 meet"):
        Shells(plane, [KinematicShell(eight)])
    Shells(plane, [KinematicShell(ring((0.5, 0.5), 0.3))])

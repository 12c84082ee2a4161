"""Surfaces of level sets: manifold for any samples, oriented, second order, closed or open on request."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.build import same_bits
from support.surfaces import (
    LOCATIONS,
    ball,
    check_curves,
    check_manifold,
    enclosed,
    euler,
    level_set,
    measures,
    noise,
    open_edges,
    parts,
)
from support.variants import SLOW_IN_SINGLE, slow_but

import meniscus as ms
from meniscus.surface import LevelSet, Torus, extract


def every_sign(samples: int) -> np.ndarray:
    """All choices of signs of n samples, (2^n, n)."""
    return 1.0 - 2.0 * (np.arange(1 << samples)[:, None] >> np.arange(samples) & 1)


@pytest.mark.slow
def test_every_pair_of_neighbouring_cubes(rng: np.random.Generator) -> None:
    # 12 samples in two cubes, along each axis: every case beside every case that can be its neighbour.
    for axis, signs in product(range(3), every_sign(12)):
        shape = [2, 2, 2]
        shape[axis] = 3
        values = (signs * rng.uniform(0.1, 1.0, 12)).reshape(shape)
        phi = level_set(values)
        v, t = phi.to_mesh()
        if len(t):
            check_manifold(v, t)
        assert abs(enclosed(v, t) - phi.volume()) < 1e-14
        inner, outer = phi.to_mesh(sides="open")
        if len(outer):
            check_manifold(inner, outer, closed=False)


def test_every_square_of_squares() -> None:
    for signs in every_sign(9):
        phi = level_set(signs.reshape(3, 3))
        v, s = phi.to_mesh()
        check_curves(s, len(v))
        assert abs(enclosed(v, s) - phi.volume()) < 1e-14


@SLOW_IN_SINGLE
@pytest.mark.parametrize("location", slow_but(LOCATIONS, "nodes"))
def test_noise_in_space(location: str, dtype: type, rng: np.random.Generator) -> None:
    for trial in range(600):
        shape = rng.integers(1, 5, 3) + (location == "nodes")
        periodic = tuple(bool(p) for p in rng.random(3) < 0.4) if trial % 2 else False
        values = noise(rng, tuple(shape), dtype) if trial % 3 else np.sign(rng.integers(-1, 2, shape)).astype(dtype)
        phi = level_set(values, location, periodic)
        v, t = phi.to_mesh(periods="closed")
        assert t.shape[1] == v.shape[1] == 3
        if len(t):
            check_manifold(v, t)
            assert measures(v, t).min() > 0
            low = np.array(phi.grid.origin)
            assert (v >= low).all()
            assert (v <= low + np.array(phi.grid.extent) * (1 + 1e-15)).all()
        volume = phi.volume()
        assert abs(enclosed(v, t) - volume) < 1e-13 * max(1.0, volume)
        v, t = phi.to_mesh(sides="open")
        if len(t):
            check_manifold(v, t, closed=False)
            rim = v[open_edges(t)]
            on_side = [(rim[..., d] == side).all(axis=1) for d in range(3) for side in (low[d], low[d] + phi.grid.extent[d])]
            assert np.any(on_side, axis=0).all()


@pytest.mark.parametrize("location", LOCATIONS)
def test_noise_in_the_plane(location: str, rng: np.random.Generator) -> None:
    for trial in range(400):
        shape = rng.integers(1, 7, 2) + (location == "nodes")
        periodic = tuple(bool(p) for p in rng.random(2) < 0.4) if trial % 2 else False
        phi = level_set(noise(rng, tuple(shape), np.float64), location, periodic)
        v, s = phi.to_mesh(periods="closed")
        check_curves(s, len(v))
        if len(s):
            assert measures(v, s).min() > 0
        assert abs(enclosed(v, s) - phi.volume()) < 1e-13


def test_vertices_are_the_zeros_on_the_edges(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    # Long rows, so that words of bits are crossed.
    shape = (5, 4, 140)[3 - dimension :]
    phi = level_set(rng.standard_normal(shape).astype(dtype))
    x = np.stack(np.broadcast_arrays(*phi.field.coordinates()), axis=-1)
    a = phi.array.astype(np.float64)
    expected = []
    for d in range(dimension):
        low, high = a.take(range(shape[d] - 1), d), a.take(range(1, shape[d]), d)
        cut = (low <= 0) != (high <= 0)
        place = x.take(range(shape[d] - 1), d)[cut]
        place[:, d] += 0.5 * (low / (low - high))[cut]
        expected.append(place)
    v, _ = phi.to_mesh(sides="open")
    wanted = np.concatenate(expected)
    assert len(v) == len(wanted)
    assert np.abs(v[np.lexsort(v.T)] - wanted[np.lexsort(wanted.T)]).max() < 1e-12
    # A closed mesh has also the samples inside on the sides.
    closed, _ = phi.to_mesh()
    on_sides = np.any([(x[..., d] == x[..., d].min()) | (x[..., d] == x[..., d].max()) for d in range(dimension)], axis=0)
    corners = x[on_sides & (a <= 0)]
    assert {tuple(p) for p in closed} == {tuple(p) for p in v} | {tuple(p) for p in corners}


def test_the_mesh_is_connected_where_samples_are(dimension: int, rng: np.random.Generator) -> None:
    for _ in range(30):
        phi = level_set(rng.standard_normal((5, 6, 7)[:dimension]))
        labels = phi.components().labels
        v, elements = phi.to_mesh()
        part = parts(elements, len(v))
        # The sample inside that a vertex belongs to is the one at the lower or at the upper end of its edge.
        at = (v - np.array(phi.grid.origin)) / phi.grid.spacing
        low, high = np.floor(at).astype(int), np.ceil(at).astype(int)
        label = np.maximum(labels[tuple(low.T)], labels[tuple(high.T)])
        assert (label > 0).all()
        for p in np.unique(part):
            assert len(np.unique(label[part == p])) == 1
        assert set(label) == set(range(1, labels.max() + 1))


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("positions", ["linear", "cubic"])
def test_order_of_positions(location: str, positions: Any, dimension: int) -> None:
    errors = []
    for n in (16, 32, 64):
        phi, center = ball(n, location, dimension=dimension)
        v, _ = phi.to_mesh(positions=positions)
        errors.append(np.abs(np.linalg.norm(v - center, axis=1) - 0.31).max() * n**2)
        # The second derivative of the distance is at most 1 / R, so linear interpolation is wrong by h^2 / (8 R), a little more on the
        # coarsest grid, where phi at the ends of the edge is curved more than at the surface.
        assert errors[-1] < 1.05 / (8 * 0.31)
    # From the coarsest to the finest: which edges are cut in their middle differs from grid to grid.
    order = 2 + np.log2(errors[0] / errors[-1]) / 2
    assert (order > 3.5) if positions == "cubic" else (abs(order - 2) < 0.2)


def test_normals_and_orientation(dimension: int, dtype: type) -> None:
    errors = []
    for n in (16, 32, 64):
        phi, center = ball(n, "cells", dtype, dimension)
        v, elements, normals = phi.to_mesh(normals=True)
        outward = (v - center) / np.linalg.norm(v - center, axis=1, keepdims=True)
        assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() < 1e-14
        errors.append(np.abs(normals - outward).max())
        x = v[elements]
        if dimension == 3:
            across = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        else:
            across = (x[:, 1] - x[:, 0]) @ np.array([[0.0, -1.0], [1.0, 0.0]])
        assert (np.einsum("ij,ij->i", across, outward[elements[:, 0]]) > 0).all()
    assert errors[-1] < 1.2e-3
    if dtype == np.float64:
        assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.8).all(), errors


def test_normals_on_sides_and_without_a_gradient() -> None:
    phi = LevelSet(ms.Grid((3, 3, 3), 1.0))
    phi.array = -1.0
    v, _, normals = phi.to_mesh(normals=True)
    expected = (v == 3).astype(float) - (v == 0)
    assert np.abs(normals - expected / np.linalg.norm(expected, axis=1, keepdims=True)).max() < 1e-15
    # Symmetric about both ends of the crossed edges along x: the mean of the gradients vanishes, the edge decides.
    lonely = level_set(np.array([1.0, -1.0, -1.0, 1.0])[:, None] * np.ones((1, 2)))
    lonely.array[...] = np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    v, _, normals = lonely.to_mesh(sides="open", normals=True)
    assert np.abs(normals[:, 1]).max() == 0
    assert same_bits(np.abs(normals[:, 0]), np.ones(len(v)))


@pytest.mark.parametrize("location", LOCATIONS)
def test_topology(location: Any) -> None:
    grid = ms.Grid((24, 24, 24), 1 / 24)
    phi, _ = ball(24, location)
    assert euler(phi.to_mesh()[1]) == 2
    torus = LevelSet(grid, location)
    Torus((0.5, 0.5, 0.5), (0.2, 0.5, 1.0), 0.27, 0.11).sample(torus.field)
    assert euler(torus.to_mesh()[1]) == 0
    shell = LevelSet(grid, location)
    shell.array = np.abs(phi.array + 0.07) - 0.05
    v, t = shell.to_mesh()
    assert euler(t) == 4
    assert len(np.unique(parts(t, len(v)))) == 2
    # The complement, which fills the domain but for a ball.
    phi.array = -phi.array
    v, t = phi.to_mesh()
    check_manifold(v, t)
    assert euler(t) == 4
    assert abs(enclosed(v, t) - (1 - 4 / 3 * np.pi * 0.31**3)) < 5e-3


@pytest.mark.parametrize("location", LOCATIONS)
def test_degenerate_samples(location: Any, dimension: int) -> None:
    grid = ms.Grid((4, 3, 5)[:dimension], 0.25)
    whole = float(np.prod(grid.extent))
    phi = LevelSet(grid, location)
    v, e = phi.to_mesh()  # all zero: all inside
    assert enclosed(v, e) == pytest.approx(whole, abs=1e-15)
    assert (phi.volume(), phi.area()) == (pytest.approx(whole, abs=1e-15), 0.0)
    assert phi.to_mesh(sides="open")[1].shape == (0, dimension)
    phi.array = 1.0
    v, e = phi.to_mesh()
    assert (v.shape, e.shape) == ((0, dimension), (0, dimension))
    assert (phi.volume(), phi.area()) == (0.0, 0.0)
    # A plane through samples lies a margin of an edge away from them.
    phi.array = np.broadcast_to(phi.field.coordinates()[0] - phi.field.coordinates()[0].ravel()[2], phi.array.shape)
    v, e = phi.to_mesh(sides="open")
    plane = phi.field.coordinates()[0].ravel()[2]
    assert np.abs(v[:, 0] - plane).max() <= 1.0001e-6 * 0.25
    assert measures(v, e).min() > 0
    assert phi.area() == pytest.approx(whole / grid.extent[0], rel=1e-12)


def test_periods_match(dimension: int, rng: np.random.Generator) -> None:
    for location in LOCATIONS:
        for axis in range(dimension):
            periodic = tuple(d == axis for d in range(dimension))
            values = rng.standard_normal((9, 8, 7)[:dimension])
            phi = level_set(values, location, periodic)
            v, _ = phi.to_mesh()
            low = phi.grid.origin[axis]
            ends = [np.delete(v[v[:, axis] == x], axis, axis=1) for x in (low, low + phi.grid.extent[axis])]
            assert len(ends[0]) > 0
            assert same_bits(*(x[np.lexsort(x.T)] for x in ends))
            if location == "nodes":
                # The first node of a period is the last one, whatever its memory holds.
                phi.array[(slice(None),) * axis + (0,)] = 7.0
                assert same_bits(phi.to_mesh()[0], v)


def test_cells_and_nodes_agree_inside(dimension: int) -> None:
    # The centres of n cells are the nodes of a grid of n - 1 cells.
    rng = np.random.default_rng(4)
    values = rng.standard_normal((6, 5, 7)[:dimension])
    values[(0, -1), ...] = values[:, (0, -1)] = 1.0
    values[..., (0, -1)] = 1.0
    cells, nodes = level_set(values, "cells"), level_set(values, "nodes")
    (v, e), (w, f) = cells.to_mesh(), nodes.to_mesh()
    assert len(v) == len(w)
    order_v, order_w = np.lexsort(np.round(v, 9).T), np.lexsort(np.round(w, 9).T)
    assert np.abs(v[order_v] - w[order_w] - 0.25).max() < 1e-14
    assert len(e) == len(f)
    assert cells.volume() == pytest.approx(nodes.volume(), abs=1e-13)


def test_functions_take_fields_too() -> None:
    phi, _ = ball(12, "cells")
    assert same_bits(list(extract(phi.field)), list(phi.to_mesh()))
    assert same_bits(list(extract(phi)), list(phi.to_mesh(workspace=ms.Workspace())))


def test_repeated_calls_allocate_nothing() -> None:
    phi, _ = ball(24, "cells")
    space = ms.Workspace()
    out = np.empty(phi.array.shape, np.int32)

    def use() -> None:
        phi.to_mesh(workspace=space)
        phi.volume(workspace=space)
        phi.components(out=out, both=True, workspace=space)

    use()
    before = ms.core.block_allocations()
    use()
    assert ms.core.block_allocations() == before


def test_what_is_refused(dtype: type) -> None:
    phi = LevelSet(ms.Grid((4, 4, 4), 0.5), dtype=dtype)
    phi.array = 1.0
    phi.array[1, 2, 3] = np.nan
    for call in (phi.to_mesh, phi.volume, phi.area, phi.components, phi.curvature, phi.volume_fractions):
        with pytest.raises(ValueError, match=r"phi must be finite, but .*1, 2, 3"):
            call()
    phi.array[1, 2, 3] = -np.inf
    with pytest.raises(ValueError, match="phi must be finite"):
        phi.to_mesh()
    phi.array[1, 2, 3] = 1
    with pytest.raises(ValueError, match="sides must be one of 'closed', 'open'"):
        phi.to_mesh(sides="shut")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="positions must be one of"):
        phi.to_mesh(positions="quintic")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="phi must be a ScalarField"):
        extract(np.zeros((4, 4, 4)))
    with pytest.raises(TypeError, match="workspace must be a Workspace"):
        phi.to_mesh(workspace=3)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="phi must have its samples on the cells or on the nodes"):
        extract(ms.grid.ScalarField(phi.grid, (1, 0, 0), np.float64, None))

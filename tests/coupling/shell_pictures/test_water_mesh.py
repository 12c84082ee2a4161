"""The mesh of water beside shells: the ordinary one far from them, closed, and on its side everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import Floats, Ints, ball, box, line, ring, sheet
from support.shells.exact_ways import ways_that_meet
from support.shells.water import pool

import meniscus as ms
from meniscus.coupling import KinematicShell, Shells, ShellWalls
from meniscus.coupling.shell_pictures.smooth_shells import smooth_shells
from meniscus.coupling.shell_pictures.water_mesh import ShellWaterMesh, water_surface
from meniscus.coupling.shells.parity import inside_points
from meniscus.surface import LevelSet, Pose


def blob(n: int, dimension: int = 3, dtype: type = np.float64) -> LevelSet:
    grid = ms.Grid((n,) * dimension, 1 / n)
    return LevelSet.from_function(
        grid, lambda *x: np.sqrt(sum((c - 0.5) ** 2 for c in x)) - 0.31 + 0.02 * np.sin(19 * x[0]), "cells", dtype=dtype
    )


def measure(mesh: ShellWaterMesh) -> float:
    x = mesh.vertices[mesh.elements]
    return float(np.linalg.det(x).sum() / (2 if x.shape[1] == 2 else 6))


def require_closed(elements: Ints, count: int) -> None:
    """Every side goes as often one way as the other."""
    if elements.shape[1] == 2:
        assert np.array_equal(np.bincount(elements[:, 0], minlength=count), np.bincount(elements[:, 1], minlength=count))
        return
    sides = np.concatenate([elements[:, [0, 1]], elements[:, [1, 2]], elements[:, [2, 0]]]).astype(np.int64)
    assert np.array_equal(np.sort(sides @ [count, 1]), np.sort(sides @ [1, count]))


def sorted_rows(x: Floats) -> Floats:
    return x[np.lexsort(x.round(9).T)]


@pytest.mark.parametrize("dimension", [2, 3])
def test_far_from_shells_it_is_the_ordinary_mesh(dimension: int) -> None:
    phi = blob(18, dimension)
    corner = np.eye(3, dimension)[:dimension] * 0.03 + 0.01
    walls = Shells(phi.grid, [KinematicShell((corner, np.arange(dimension, dtype=np.int32)[None]), None)]).walls()
    made, (vertices, elements, normals) = water_surface(phi, walls), phi.to_mesh(normals=True)
    assert len(made.elements) == len(elements)
    assert not made.wetted.any()
    assert np.abs(sorted_rows(made.vertices) - sorted_rows(vertices)).max() < 1e-15
    assert np.abs(sorted_rows(made.vertices[made.elements].mean(axis=1)) - sorted_rows(vertices[elements].mean(axis=1))).max() < 1e-15
    order, other = np.lexsort(made.vertices.round(9).T), np.lexsort(vertices.round(9).T)
    assert (np.einsum("nd,nd->n", made.normals[order], normals[other]) > 0.99).all()


@pytest.mark.parametrize(("inside", "dimension", "refine"), [(True, 2, 1), (False, 2, 2), (True, 3, 2), (False, 3, 1)])
def test_beside_a_closed_shell_every_vertex_is_on_the_side_of_the_water(inside: bool, dimension: int, refine: int) -> None:
    """And the level of water at rest is flat up to the shell: no cell bevels it there."""
    level, place = 0.52, (0.5, 0.46, 0.48)[-dimension:]
    mesh = ring((0.0, 0.0), 0.26) if dimension == 2 else ball((0.0, 0.0, 0.0), 0.26)
    point = (*place[:-1], 0.4) if inside else (0.05,) * dimension
    sim = pool((18,) * dimension, mesh, lambda t: Pose(place), [(level, point)])
    made = sim.surface(refine)
    assert (inside_points(sim.shells.positions, sim.shells.elements, made.vertices) == inside).all()
    require_closed(made.elements, len(made.vertices))
    assert np.abs(np.linalg.norm(made.normals, axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize(("dimension", "refine"), [(2, 1), (2, 3), (3, 1), (3, 2)])
def test_level_water_is_level_up_to_slanted_shells(dimension: int, refine: int) -> None:
    """No cell bevels it at the line of contact; in 3-D some do that lie in a corner between a shell and itself."""
    n = 14
    x, t = ring((0.5, 0.46), 0.3) if dimension == 2 else ball((0.5, 0.46, 0.48), 0.31)
    phi = LevelSet(ms.Grid((n,) * dimension, 1 / n), "cells")
    phi.array[...] = phi.field.coordinates()[-1] - 0.513
    made = water_surface(phi, Shells(phi.grid, [KinematicShell((x, t), None)]).walls(), refine)
    free = made.vertices[made.elements[~made.wetted]]
    inner = inside_points(x, t, free.reshape(-1, dimension)).reshape(free.shape[:2]).all(axis=1)
    bevelled = (np.abs(free[inner][..., -1] - 0.513) > 1e-12).any(axis=1)
    assert bevelled.mean() <= (0.0 if dimension == 2 else 0.02)
    assert (free[inner][..., -1] - 0.513).max() < 1e-12


def test_its_volume_is_that_of_the_water() -> None:
    """In a box with sides across no cell centre: up to the corners, of less than a cell, and the thickness of the sides."""
    sim = pool((20, 20), line([(0.213, 0.183), (0.777, 0.183), (0.777, 0.9), (0.213, 0.9), (0.213, 0.183)]), None, [(0.5, (0.5, 0.3))])
    exact = (0.777 - 0.213) * (0.5 - 0.183)
    for refine in (1, 2, 4):
        missing = exact - measure(sim.surface(refine))
        assert 0 < missing < 2e-3 / 20 + 1.0 / (20 * refine) ** 2
    x, t = box((0.5, 0.5, 0.5), 0.283, turned=False)
    assert abs(measure(pool((16,) * 3, (x, t), None, [(0.52, (0.5, 0.5, 0.3))]).surface()) / (0.566**2 * (0.52 - 0.217)) - 1) < 0.01


def test_beside_an_open_sheet_every_vertex_is_seen_from_its_water() -> None:
    """Exact: no straight way from a vertex to its sample meets the sheet, and that sample sees water of the grid."""
    phi = blob(16)
    for x, t in (
        sheet((0.2, 0.23, 0.21), (0.6, 0.05, 0.03), (0.02, 0.5, 0.33)),
        sheet((0.1, 0.5, 0.1), (0.8, 0.0, 0.0), (0.0, 0.0, 0.8), 1),
    ):
        walls = Shells(phi.grid, [KinematicShell((x, t), None)]).walls()
        for refine in (1, 2):
            made = water_surface(phi, walls, refine)
            assert made.wetted.sum() > 100
            assert len(ways_that_meet(x, t, made.vertices, made.way)) == 0
            assert len(ways_that_meet(x, t, made.way, made.samples)) == 0
            require_closed(made.elements, len(made.vertices))
            # Beyond the rim of a sheet that ends in the water, the surface closes around it: nothing is missing but its thickness.
            assert (
                abs(
                    measure(made)
                    / measure(water_surface(phi, walls.__class__(phi.grid, x[:3] * 1e-3, np.array([[0, 1, 2]], np.int32), 1e-6), refine))
                    - 1
                )
                < 0.01
            )


def test_a_sample_between_cells_is_wet_only_if_it_sees_water() -> None:
    phi, (x, t) = blob(12, 2), line([(0.3, 0.1), (0.47, 0.93)], 2)
    half = phi.field.coordinates()[0] - (0.3 + (phi.field.coordinates()[1] - 0.1) * 0.17 / 0.83) < 0
    phi.array[half] = 0.4
    made = water_surface(phi, Shells(phi.grid, [KinematicShell((x, t), None)]).walls(), 3)
    centers = np.stack(np.broadcast_arrays(*phi.field.coordinates()), axis=-1)[phi.array <= 0]
    for sample in made.samples:
        near = centers[np.abs(centers - sample).max(axis=1) < 1.01 * phi.grid.spacing]
        assert len(ways_that_meet(x, t, np.repeat(sample[None], len(near), axis=0), near)) < len(near)


def test_bits_do_not_depend_on_threads_and_float32_is_taken() -> None:
    x, t = ball((0.5, 0.55, 0.42), 0.3, 1)
    results, threads = [], ms.num_threads()
    try:
        for n in (1, 3):
            ms.set_num_threads(n)
            phi = blob(14, dtype=np.float32)
            made = water_surface(phi, Shells(phi.grid, [KinematicShell((x, t), None)]).walls(), 2)
            results.append((made.vertices, made.elements, made.normals, made.way, made.samples))
    finally:
        ms.set_num_threads(threads)
    for a, b in zip(*results, strict=True):
        assert np.array_equal(a, b)


def test_what_is_refused() -> None:
    phi = blob(8, 2)
    walls = Shells(phi.grid, [KinematicShell(ring((0.5, 0.5), 0.2), None)]).walls()
    for wrong in (0, 9):
        with pytest.raises(ValueError, match="refine"):
            water_surface(phi, walls, wrong)
    with pytest.raises(ValueError, match="the cells of the grid of the walls"):
        water_surface(blob(9, 2), walls)
    smoke = ms.fluids.SmokeSolver(phi.grid, ms.fluids.SmokeOptions())
    with pytest.raises(TypeError, match="surface needs a solver of water"):
        ms.coupling.ShellCoupling(smoke, Shells(phi.grid, [KinematicShell(ring((0.5, 0.5), 0.2), None)])).surface()


def test_smooth_shells_take_the_water_with_them() -> None:
    """A coarse ball half full: its smooth surface is smaller, and no vertex of the water's mesh and no drop is beyond that either."""
    x, t = ball((0.5, 0.46, 0.48), 0.33, 1)
    sim = pool((16,) * 3, (x, t), None, [(0.52, (0.5, 0.46, 0.4))])
    drops = np.ascontiguousarray(np.array([0.5, 0.46, 0.48]) + 0.999 * (x[t].mean(axis=1)[::5] - [0.5, 0.46, 0.48]))
    walls, water = smooth_shells(sim.walls, sim.solver.levelset, 2, points=[drops])
    vertices, triangles = walls.mesh
    assert len(triangles) == 16 * len(t)
    assert inside_points(vertices, triangles, drops).all()
    made = water_surface(water, walls, 2)
    assert inside_points(vertices, triangles, made.vertices).all()
    require_closed(made.elements, len(made.vertices))
    assert not np.array_equal(water.array, sim.solver.levelset.array)
    same, still = smooth_shells(sim.walls, sim.solver.levelset, 0)
    assert np.array_equal(same.mesh[0], x)
    assert (still.array <= 0).sum() == (sim.solver.levelset.array <= 0).sum()


@pytest.mark.parametrize("dimension", [2, 3])
def test_random_water_and_crumpled_sheets(dimension: int) -> None:
    """Noise in all cells, and folds within them: whatever is cut, the mesh is closed and on its side."""
    rng = np.random.default_rng(dimension)
    n = 24 if dimension == 2 else 9
    phi = LevelSet(ms.Grid((n,) * dimension, 1 / n), "cells")
    for _ in range(3):
        phi.array[...] = rng.normal(size=phi.array.shape) / n
        x, t = line(list(rng.random((14, 2)))) if dimension == 2 else sheet((0.1, 0.1, 0.5), (0.8, 0.0, 0.0), (0.0, 0.8, 0.0), 7)
        x = x + rng.normal(size=x.shape) * 0.7 / n
        for refine in (1, 2):
            made = water_surface(phi, ShellWalls(phi.grid, x, t, 1e-3 / n), refine)
            require_closed(made.elements, len(made.vertices))
            assert len(ways_that_meet(x, t, made.vertices, made.way)) == len(ways_that_meet(x, t, made.way, made.samples)) == 0
            assert np.isfinite(made.vertices).all()
            assert np.abs(np.linalg.norm(made.normals, axis=1) - 1).max() < 1e-12

"""Parts of solids that are thinner than cells, and surfaces that overlap: told in one sentence, never lost in silence."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from support.wild_meshes import ball, box, moved, together, torus

import meniscus as ms

PLATE = box((-0.15, -0.15, -0.01), (0.15, 0.15, 0.01))


def ring() -> tuple[np.ndarray, np.ndarray]:
    """A torus of radii 1 and 0.05 m."""
    t = torus(60, 12)[1]
    u, v = np.meshgrid(2 * np.pi * np.arange(60) / 60, 2 * np.pi * np.arange(12) / 12, indexing="ij")
    r = 1.0 + 0.05 * np.cos(v)
    return np.stack([r * np.cos(u), r * np.sin(u), 0.05 * np.sin(v)], axis=2).reshape(-1, 3), t


@pytest.mark.parametrize(
    ("surface", "cell", "thickness", "lost"),
    [
        (PLATE, 0.07, 0.02, "the mesh is empty"),
        (ring(), 0.31, 0.1, "the mesh is empty"),
        (ring(), 0.1, 0.1, r"\d+ % of the volume of the solid, in \d+ pieces"),
    ],
    ids=["plate", "ring", "ring in pieces"],
)
def test_what_is_too_thin_is_told_and_the_cells_that_would_do_do(surface, cell: float, thickness: float, lost: str) -> None:
    with pytest.warns(ms.surface.DeviationWarning, match=lost) as caught:
        ms.surface.bcc_mesh(surface, cell, compress=True)
    (said,) = [str(w.message) for w in caught]
    told = re.search(r"the solid is ([\d.e-]+) m thick there, .*; use cells of at most ([\d.e-]+) m \(refine=(\d+)\)", said)
    assert told, said
    assert float(told[1]) == pytest.approx(thickness, rel=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mesh = ms.surface.bcc_mesh(surface, cell, compress=True, refine=int(told[3]))
    assert mesh.components == 1
    assert mesh.volume() == pytest.approx(ms.mesh.TriangleMesh(*surface).volume(), rel=0.15)


def test_a_lost_part_is_told_with_its_place() -> None:
    """A wire beside a ball."""
    wire = box((2.0, -0.5, -0.02), (2.04, 0.5, 0.02))
    with pytest.warns(ms.surface.DeviationWarning, match=r"has lost a part of the solid, at \(2\.?\d*, .*\): the solid is 0.04\d* m thick"):
        ms.surface.bcc_mesh(together(ball(), wire), 0.3, compress=True)


def test_solids_that_cells_resolve_are_silent() -> None:
    for surface in (ball(), box(), torus(40, 20)):
        for compress in (False, True):
            ms.surface.bcc_mesh(surface, 0.2, compress=compress)


def test_functions_and_shapes_without_a_cell_are_told() -> None:
    for solid, bounds in (
        (ms.surface.Sphere((0.03, 0.04, 0.02), 0.001), None),
        (lambda p: np.linalg.norm(p - 0.05, axis=1) - 0.001, ((-1.0,) * 3, (1.0,) * 3)),
    ):
        with pytest.warns(ms.surface.DeviationWarning, match="the mesh is empty"):
            ms.surface.bcc_mesh(solid, 0.3, compress=True, bounds=bounds)


@pytest.mark.slow
def test_sharp_edges_of_surfaces_that_overlap() -> None:
    """The boundary follows what bounds the union; before, it was drawn to what lies inside, 11.6 cells away."""
    pair = together(box(), moved(box(), (0.7, 0.4, 0.2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mesh = ms.surface.bcc_mesh(pair, 0.2, compress=True, sharp_angle=0.6)
    common = (1.4 - 0.7) * (1.2 - 0.4) * (1.0 - 0.2)
    assert mesh.volume() == pytest.approx(2 * 1.4 * 1.2 * 1.0 - common, rel=2e-3)
    assert mesh.components == 1

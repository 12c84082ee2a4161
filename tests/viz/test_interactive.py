"""Interactive views: what is drawn is what was given."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.viz import view3d

pyvista = pytest.importorskip("pyvista")


def test_every_kind_of_object_is_drawn(rng: np.random.Generator) -> None:
    grid = ms.Grid((6, 5, 4), 0.25, (1.0, 2.0, 3.0))
    ball = ms.surface.LevelSet.from_function(grid, lambda x, y, z: np.sqrt((x - 1.7) ** 2 + (y - 2.6) ** 2 + (z - 3.5) ** 2) - 0.4)
    block = ms.mesh.tet_block(2, 1, 1)
    items = {
        "level set": (ball, len(ball.to_mesh()[1])),
        "field": (ms.CellField.from_function(grid, lambda x, y, z: x + y + z), 6 * 5 * 4),
        "triangles": (ms.mesh.icosphere(1), 80),
        "arrays": ((np.eye(3, dtype=np.float32), [(0, 1, 2)]), 1),
        "tetrahedra": (block, len(block.tets)),
        "quadratic": (ms.mesh.quadratic_mesh(block), 8 * len(block.tets)),
        "segments": (ms.mesh.SegmentMesh(np.eye(3), [(0, 1), (1, 2)]), 2),
        "particles": (ms.Particles(rng.random((7, 3))), 7),
        "flat points": (rng.random((4, 2)), 4),
    }
    for name, (item, cells) in items.items():
        ((data, _),) = view3d(item)._parts
        assert data.n_cells == cells, name
    flow = ms.MacField.from_function(grid, lambda x, t: np.broadcast_to((0.0, 0.0, 2.0), x.shape), boundary=ms.Open())
    ((arrows, _),) = view3d(flow)._parts
    np.testing.assert_allclose(arrows.bounds[5] - arrows.bounds[4], 0.25 * 3 + 0.5, atol=0.26)


def test_a_notebook_shows_it() -> None:
    view = view3d(ms.mesh.icosphere(2), size=(160, 120), color="red")
    picture = view.picture()
    assert picture.shape == (120, 160, 3)
    middle, corner = picture[60, 80].astype(int), picture[5, 80].astype(int)
    assert middle[0] > 2 * middle[1]
    assert abs(corner[0] - corner[1]) < 20
    assert view._repr_png_().startswith(b"\x89PNG")
    assert repr(picture) == str(picture) == "<Picture 160x120>"


@pytest.mark.parametrize("display", slow_but([None, ":987"], ":987"))
def test_a_picture_without_a_display_says_nothing(display: str | None) -> None:
    code = "import meniscus as ms; print(ms.viz.view3d(ms.mesh.icosphere(1), size=(64, 48)).picture().shape)"
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    if display is not None:
        environment["DISPLAY"] = display
    done = subprocess.run([sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("(48, 64, 3)\n", "")


def test_fields_of_two_dimensions_are_seen_from_above() -> None:
    field = ms.CellField.from_function(ms.Grid((8, 4), 0.5), lambda x, y: x + 0 * y)
    picture = view3d(field, size=(200, 200), cmap="gray", show_scalar_bar=False).picture().astype(int)
    row = picture[100, 40:160, 0]
    assert (np.diff(row) >= 0).all()
    assert row[-1] > row[0] + 100


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="a view shows fields, level sets, meshes, particles and points \\(n, 3\\), not a str"):
        view3d("ball")
    with pytest.raises(ValueError, match=r"size\[0\] must be at least 1"):
        view3d(size=(0, 5))

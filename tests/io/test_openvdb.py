"""OpenVDB files: what an independent reader finds in them. Blender 5.0's own library (OpenVDB 12) has read the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.files.openvdb_reader import read_vdb

import meniscus as ms


def test_fields_come_back_where_they_are(tmp_path: Path) -> None:
    """Sizes that are no multiples of leaves, and more than one node of the second level along z."""
    grid = ms.Grid((11, 19, 140), 0.05, (-1, 2, 0.3))
    smoke = ms.CellField.from_function(grid, lambda x, y, z: np.where((x + 0.8) ** 2 + (y - 2.4) ** 2 < 0.03, 1 + x * y + z, 0))
    heat = ms.NodeField.from_function(grid, lambda x, y, z: x + 2 * y - z)
    flow = ms.MacField(grid)
    flow.u[...], flow.w[...] = 1.5, -2.0
    grids, about = read_vdb(ms.io.write_vdb(tmp_path / "all.vdb", smoke=smoke, heat=heat, flow=flow))
    assert about == {"creator": "meniscus", "time": 0.0}
    assert list(grids) == ["smoke", "flow", "heat"]
    found = grids["smoke"]
    assert found.metadata["class"] == "fog volume"
    assert found.metadata["file_voxel_count"] == len(found.active) == np.count_nonzero(smoke.array)
    assert {at: float(v[0]) for at, v in found.active.items()} == {
        tuple(int(i) for i in at): float(np.float32(smoke.array[tuple(at)])) for at in np.argwhere(smoke.array != 0)
    }
    np.testing.assert_allclose(found.transform[0], (-0.975, 2.025, 0.325), rtol=1e-15)
    np.testing.assert_allclose(found.transform[1:], np.array([0.05, 0.05, 20, 400, 10])[:, None] * np.ones(3), rtol=1e-14)
    np.testing.assert_allclose(grids["heat"].transform[0], grid.origin, rtol=1e-15)
    box = np.argwhere(smoke.array != 0)
    assert found.metadata["file_bbox_min"] == tuple(box.min(axis=0))
    assert found.metadata["file_bbox_max"] == tuple(box.max(axis=0))
    assert len(grids["heat"].active) == np.count_nonzero(heat.array)
    assert len(grids["flow"].active) == 11 * 19 * 140
    assert all((v == (1.5, 0, -2)).all() for v in grids["flow"].active.values())


def test_level_sets_are_bands_with_signs(tmp_path: Path) -> None:
    grid = ms.Grid((40, 40, 40), 0.05)
    ball = ms.surface.LevelSet.from_shape(grid, ms.surface.Sphere((1, 1, 0.95), 0.7))
    (found,) = read_vdb(ms.io.write_vdb(tmp_path / "ball.vdb", ball=ball))[0].values()
    assert found.metadata["class"] == "level set"
    assert found.background == np.float32(0.15)
    phi, shift = ball.array, 0.0 if ball.array.shape[0] == 41 else 0.5
    np.testing.assert_allclose(found.transform[0], shift * 0.05)
    assert set(found.active) == {tuple(int(i) for i in at) for at in np.argwhere(np.abs(np.float32(phi)) < np.float32(0.15))}
    assert all(value[0] == np.float32(phi[at]) for at, value in found.active.items())
    inside = {at for at, value in found.inactive.items() if value < 0}
    assert inside == {tuple(int(i) for i in at) for at in np.argwhere(np.float32(phi) <= -np.float32(0.15))}


def test_two_dimensions_are_a_layer(tmp_path: Path) -> None:
    grid = ms.Grid((10, 6), 0.5, (1, 2))
    flow = ms.MacField(grid)
    flow.v[...] = 3.0
    (found,) = read_vdb(ms.io.write_vdb(tmp_path / "flat.vdb", flow=flow))[0].values()
    assert set(found.active) == {(i, j, 0) for i in range(10) for j in range(6)}
    assert all((v == (0, 3, 0)).all() for v in found.active.values())
    np.testing.assert_allclose(found.transform[0], (1.25, 2.25, 0))


def test_an_empty_field_is_a_grid_without_voxels(tmp_path: Path) -> None:
    (found,) = read_vdb(ms.io.write_vdb(tmp_path / "none.vdb", none=ms.CellField(ms.Grid((4, 4, 4), 1.0))))[0].values()
    assert found.active == {}
    assert found.metadata["file_voxel_count"] == 0


def test_the_writer_makes_a_file_per_frame(tmp_path: Path) -> None:
    smoke = ms.CellField(ms.Grid((4, 4, 4), 1.0))
    with ms.io.FrameWriter(tmp_path, "vdb") as frames:
        for k in range(2):
            smoke[k, 0, 0] = 2.0
            (file,) = frames.write(0.25 * k, smoke=smoke, ball=ms.mesh.icosphere(1))
        assert frames.write(0.5, ball=ms.mesh.icosphere(1)) == []
    grids, about = read_vdb(file)
    assert (file.name, about["time"], len(grids["smoke"].active)) == ("frame-0001.vdb", 0.25, 2)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs at least one field or level set"):
        ms.io.write_vdb(tmp_path / "none.vdb", ball=ms.mesh.icosphere(1))
    with pytest.raises(OSError, match=r"none\.vdb"):
        ms.io.write_vdb(tmp_path / "missing" / "none.vdb", none=ms.CellField(ms.Grid((4, 4, 4), 1.0)))

"""Frames of a run in the formats of films."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.files.openvdb_reader import read_vdb

import meniscus as ms
from meniscus.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of three frames with a field, a level set and a mesh."""
    pytest.importorskip("vtk")
    out = tmp_path_factory.mktemp("run")
    grid = ms.Grid((8, 8, 8), 0.125)
    ball = ms.mesh.icosphere(1, 0.2)
    with ms.io.FrameWriter(out) as frames:
        for k in range(3):
            liquid = ms.surface.LevelSet.from_shape(grid, ms.surface.Sphere((0.5,) * 3, 0.25 + 0.05 * k))
            heat = ms.CellField.from_function(grid, lambda x, y, z, k=k: x + y + z + k)
            frames.write(k / 24, heat=heat, liquid=liquid, ball=ball.moved(ball.vertices + k))
    return out


def test_level_sets_are_known_in_files(run: Path) -> None:
    assert [ms.io.read_frame(files, 0).levelsets for _, files in ms.io.read_series(run / "frames.pvd")] == [("liquid",)] * 3


def test_usd_has_meshes_surfaces_and_volumes(run: Path, tmp_path: Path) -> None:
    usd, geometry, volumes = (pytest.importorskip(f"pxr.{name}") for name in ("Usd", "UsdGeom", "UsdVol"))
    seen: list[tuple[int, int]] = []
    written = ms.io.convert(run, "usd", tmp_path / "usd", on_frame=lambda n, last: seen.append((n, last)))
    assert seen == [(0, 2), (1, 2), (2, 2)]
    assert written[-1] == tmp_path / "usd" / "frames.usda"
    assert all(file.exists() for file in written)
    stage = usd.Stage.Open(str(written[-1]))
    assert stage.GetTimeCodesPerSecond() == pytest.approx(24)
    ball = geometry.Mesh(stage.GetPrimAtPath("/frame/ball"))
    np.testing.assert_allclose(np.mean(ball.GetPointsAttr().Get(2), axis=0), (2, 2, 2), atol=1e-6)
    assert len(geometry.Mesh(stage.GetPrimAtPath("/frame/liquid")).GetPointsAttr().Get(1)) > 100
    volume = volumes.Volume(stage.GetPrimAtPath("/frame/fields"))
    assert {str(name): str(path) for name, path in volume.GetFieldPaths().items()} == {"heat": "/frame/fields/heat"}
    asset = volumes.OpenVDBAsset(stage.GetPrimAtPath("/frame/fields/heat"))
    assert (asset.GetFieldNameAttr().Get(), asset.GetFieldDataTypeAttr().Get()) == ("heat", "float")
    for k in range(3):
        file = Path(asset.GetFilePathAttr().Get(k).resolvedPath)
        assert file == tmp_path / "usd" / f"frame-{k:04d}.vdb"
        assert read_vdb(file)[0]["heat"].active[0, 0, 0] == np.float32(0.1875 + k)


def test_frames_of_an_earlier_run_are_not_played(run: Path, tmp_path: Path) -> None:
    usd = pytest.importorskip("pxr.Usd")
    ms.io.convert(run, "usd", tmp_path)
    stage = usd.Stage.Open(str(ms.io.convert(run, "usd", tmp_path, frames=[0, 1])[-1]))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, 1)
    assert stage.GetPrimAtPath("/frame/ball").GetAttribute("points").GetTimeSamples() == [0, 1]


def test_vdb_keeps_level_sets_as_such(run: Path) -> None:
    files = ms.io.convert(run, "vdb", frames=[0, 2])
    assert [file.relative_to(run).as_posix() for file in files] == ["vdb/frame-0000.vdb", "vdb/frame-0002.vdb"]
    grids, about = read_vdb(files[1])
    assert about["time"] == 2 / 24
    assert {name: grid.metadata["class"] for name, grid in grids.items()} == {"heat": "fog volume", "liquid": "level set"}


def test_alembic_holds_all_frames(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("alembic3d")
    from alembic3d import Abc, AbcGeom

    (file,) = ms.io.convert(run, "abc", tmp_path)
    top = Abc.IArchive(str(file)).getTop()
    for name in ("ball", "liquid"):
        schema = AbcGeom.IPolyMesh(top, name).getSchema()
        assert schema.getNumSamples() == 3
        assert schema.getTimeSampling().getSampleTime(2) == pytest.approx(2 / 24)


def test_the_command_says_what_to_open(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("meshio")
    assert main(["convert", str(run), "--to", "ply", "--out", str(tmp_path), "--frames", "1-2"]) == 0
    assert capsys.readouterr().out == f"4 files in {tmp_path}; open frame-0002-liquid.ply\n"
    assert main(["convert", str(tmp_path / "nothing"), "--to", "vdb"]) == 2
    assert "holds no frames" in capsys.readouterr().err
    assert main(["convert", str(run), "--to", "vdb", "--frames", "7"]) == 2
    assert capsys.readouterr().err == f"meniscus: {run} holds frames 0 to 2, not 7\n"


def test_what_is_refused(run: Path) -> None:
    with pytest.raises(ValueError, match="to must be one of 'usd', 'vdb', 'abc', 'ply', not 'fbx'"):
        ms.io.convert(run, "fbx")  # type: ignore[arg-type]

"""Frames from scripts: every format gives back what was written, and a folder has one writer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus import io, mesh
from meniscus.io import FrameMesh, FrameWriter


def items(rng: np.random.Generator) -> dict[str, object]:
    grid = ms.Grid((8, 8, 8), 0.125)
    ball = ms.surface.LevelSet.from_function(grid, lambda x, y, z: np.sqrt((x - 0.5) ** 2 + (y - 0.5) ** 2 + (z - 0.5) ** 2) - 0.3)
    block = mesh.tet_block(2, 1, 1)
    sheet = mesh.icosphere(1)
    hair = mesh.SegmentMesh(rng.random((4, 3)), [(0, 1), (1, 2), (2, 3)])
    return {
        "smoke": ms.CellField.from_function(grid, lambda x, y, z: x * y + z),
        "liquid": ball,
        "jelly": block.moved(block.vertices + 1),
        "soft": mesh.quadratic_mesh(block),
        "sheet": FrameMesh(
            sheet.vertices,
            sheet.triangles,
            {"velocity": rng.random((len(sheet.vertices), 3))},
            {"area": sheet.areas, "layer": np.arange(len(sheet.triangles), dtype=np.int32)},
        ),
        "hair": hair,
        "drops": ms.Particles(rng.random((5, 3)), radius=rng.random(5)),
    }


def test_vtk_files_hold_meshes_as_they_were(tmp_path: Path, rng: np.random.Generator) -> None:
    pytest.importorskip("vtk")
    given = items(rng)
    with FrameWriter(str(tmp_path / "deep" / "out")) as frames:
        for k in range(3):
            files = frames.write(k / 3, **given)
    assert [f.name for f in files] == ["frame-0002.vti", *(f"frame-0002-{n}.{e}" for n, e in NAMES)]
    listed = io.read_series(tmp_path / "deep" / "out" / "frames.pvd")
    assert [t for t, _ in listed] == [0.0, 1 / 3, 2 / 3]
    back = io.read_frame(listed[1][1], 1)
    assert back.time == 1 / 3
    for name in ("jelly", "soft", "hair"):
        np.testing.assert_array_equal(back.meshes[name].vertices, given[name].vertices)
        np.testing.assert_array_equal(back.meshes[name].elements, given[name].elements)
    sheet, velocity = given["sheet"], given["sheet"].columns["velocity"]
    np.testing.assert_array_equal(back.meshes["sheet"].vertices, sheet.vertices)
    np.testing.assert_array_equal(back.meshes["sheet"].elements, sheet.elements)
    np.testing.assert_array_equal(back.meshes["sheet"].columns["velocity"], velocity)
    for name, values in sheet.element_columns.items():
        np.testing.assert_array_equal(back.meshes["sheet"].element_columns[name], values)
    np.testing.assert_array_equal(back["smoke"], given["smoke"].array)


NAMES = (("drops", "vtp"), ("jelly", "vtu"), ("soft", "vtu"), ("sheet", "vtu"), ("hair", "vtu"))


def test_a_mesh_without_elements_comes_back(tmp_path: Path) -> None:
    pytest.importorskip("vtk")
    with FrameWriter(tmp_path) as frames:
        files = frames.write(0.0, nothing=mesh.TriangleMesh(np.empty((0, 3)), np.empty((0, 3), np.int32)))
    back = io.read_frame(files, 0).meshes["nothing"]
    assert back.vertices.shape == (0, 3)
    assert back.elements.shape == (0, 3)


def test_volumes_of_quadratic_tetrahedra_agree_with_vtk(tmp_path: Path) -> None:
    pyvista = pytest.importorskip("pyvista")
    block = mesh.quadratic_mesh(mesh.tet_block(2, 1, 1))
    with FrameWriter(tmp_path) as frames:
        (file,) = frames.write(0.0, block=block)
    assert abs(pyvista.read(file).compute_cell_sizes()["Volume"].sum() - block.volume()) < 1e-12


def test_ply_files_are_the_surfaces(tmp_path: Path, rng: np.random.Generator) -> None:
    trimesh = pytest.importorskip("trimesh")
    given = items(rng)
    with FrameWriter(tmp_path, "ply") as frames:
        files = {f.stem.split("-", 2)[2]: f for f in frames.write(0.0, **given)}
    assert set(files) == {"jelly", "soft", "sheet", "liquid", "drops"}
    jelly = mesh.read(files["jelly"])
    np.testing.assert_array_equal(jelly.triangles, given["jelly"].boundary.triangles)
    np.testing.assert_array_equal(jelly.vertices, given["jelly"].vertices)
    ball = trimesh.load(files["liquid"])
    assert ball.is_watertight
    np.testing.assert_array_equal(mesh.read(files["liquid"]).vertices, given["liquid"].to_mesh()[0])
    np.testing.assert_array_equal(trimesh.load(files["drops"]).vertices, given["drops"].positions)


def test_usd_stages_hold_meshes_and_points(tmp_path: Path, rng: np.random.Generator) -> None:
    usd, geometry = pytest.importorskip("pxr.Usd"), pytest.importorskip("pxr.UsdGeom")
    given = items(rng)
    with FrameWriter(tmp_path, ["ply", "usd"]) as frames:
        file, volumes = frames.write(0.0, **given, **{"1st ball": mesh.icosphere(1)})[-2:]
    assert (file.name, volumes.name) == ("frame-0000.usd", "frame-0000.vdb")
    stage = usd.Stage.Open(str(file))
    assert geometry.GetStageMetersPerUnit(stage) == 1
    jelly = geometry.Mesh(stage.GetPrimAtPath("/frame/jelly"))
    np.testing.assert_array_equal(np.array(jelly.GetPointsAttr().Get(0)), given["jelly"].vertices.astype(np.float32))
    np.testing.assert_array_equal(np.array(jelly.GetFaceVertexIndicesAttr().Get(0)), given["jelly"].boundary.triangles.ravel())
    drops = geometry.Points(stage.GetPrimAtPath("/frame/drops"))
    np.testing.assert_allclose(np.array(drops.GetWidthsAttr().Get(0)), 2 * given["drops"]["radius"], rtol=1e-6)
    hair = geometry.BasisCurves(stage.GetPrimAtPath("/frame/hair"))
    assert list(hair.GetCurveVertexCountsAttr().Get(0)) == [2, 2, 2]
    assert stage.GetPrimAtPath("/frame/_1st_ball")
    assert not list(tmp_path.glob(".*.part*"))


def test_usd_frames_are_one_animation(tmp_path: Path, rng: np.random.Generator) -> None:
    """Positions, topology that changes, velocities and columns at their times; a mesh that comes later; frames written twice."""
    usd, geometry = pytest.importorskip("pxr.Usd"), pytest.importorskip("pxr.UsdGeom")
    written: dict[int, FrameMesh] = {}

    def write(frames: FrameWriter, k: int) -> None:
        ball = mesh.icosphere(1 + k % 2, 0.3 + k)
        speed = rng.normal(size=ball.vertices.shape)
        written[k] = FrameMesh(ball.vertices, ball.triangles, {"velocity": speed, "heat": speed[:, 0]})
        late = {"late": mesh.icosphere(0)} if k > 1 else {}
        frames.write(k / 30, ball=written[k], drops=ms.Particles(rng.normal(size=(k + 1, 3))), **late)

    with FrameWriter(tmp_path, "usd") as frames:
        for k in range(3):
            write(frames, k)
    with FrameWriter(tmp_path, "usd") as frames:
        for k in range(4):
            write(frames, k)
    stage = usd.Stage.Open(str(tmp_path / "frames.usda"))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, 3)
    assert stage.GetTimeCodesPerSecond() == pytest.approx(30)
    assert geometry.GetStageUpAxis(stage) == geometry.Tokens.z
    ball = geometry.Mesh(stage.GetPrimAtPath("/frame/ball"))
    for k, given in written.items():
        np.testing.assert_array_equal(np.array(ball.GetPointsAttr().Get(k)), given.vertices.astype(np.float32))
        np.testing.assert_array_equal(np.array(ball.GetFaceVertexIndicesAttr().Get(k)), given.elements.ravel())
        np.testing.assert_array_equal(np.array(ball.GetVelocitiesAttr().Get(k)), given.columns["velocity"].astype(np.float32))
        heat = ball.GetPrim().GetAttribute("primvars:heat")
        np.testing.assert_array_equal(np.array(heat.Get(k)), given.columns["heat"].astype(np.float32))
        assert len(geometry.Points(stage.GetPrimAtPath("/frame/drops")).GetPointsAttr().Get(k)) == k + 1
        late = geometry.Mesh(stage.GetPrimAtPath("/frame/late")).GetPointsAttr().Get(k)
        assert (late is None) == (k < 2)
    assert ball.GetPointsAttr().GetTimeSamples() == [0, 1, 2, 3]


def test_a_mesh_may_have_the_name_of_the_volume(tmp_path: Path, rng: np.random.Generator) -> None:
    usd = pytest.importorskip("pxr.Usd")
    with FrameWriter(tmp_path, "usd") as frames:
        frames.write(0.0, fields=mesh.icosphere(1), smoke=items(rng)["smoke"])
    stage = usd.Stage.Open(str(tmp_path / "frames.usda"))
    kinds = {str(prim.GetPath()): str(prim.GetTypeName()) for prim in stage.Traverse()}
    assert kinds["/frame/fields"] == "Mesh"
    assert kinds["/frame/fields_"] == "Volume"
    assert kinds["/frame/fields_/smoke"] == "OpenVDBAsset"


HOLD = """
import sys
from meniscus.io import FrameWriter
frames = FrameWriter(sys.argv[1], "ply")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError, match=f"process {other.pid} writes to this folder"):
            FrameWriter(tmp_path, "ply")
        other.kill()
    with FrameWriter(tmp_path, "ply") as frames:
        with pytest.raises(BlockingIOError, match="writes to this folder"):
            FrameWriter(tmp_path, "ply")
        frames.write(0.0, ball=mesh.icosphere(1))
    with pytest.raises(ValueError, match="is closed"):
        frames.write(1.0, ball=mesh.icosphere(1))
    FrameWriter(tmp_path, "ply").close()


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="formats must be one of 'vtk', 'ply', 'usd', 'vdb', not 'obj'"):
        FrameWriter(tmp_path, "obj")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one"):
        FrameWriter(tmp_path, [])
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        FrameWriter(tmp_path / "file", "ply")
    with FrameWriter(tmp_path, "ply") as frames:
        with pytest.raises(TypeError, match="a frame takes fields, level sets, particles, meshes and arrays, but 'ball' is a Sphere"):
            frames.write(0.0, ball=ms.surface.Sphere((0, 0, 0), 1.0))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="time must be finite"):
            frames.write(float("nan"), ball=mesh.icosphere(1))
        assert len(frames) == 0

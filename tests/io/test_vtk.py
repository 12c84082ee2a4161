"""Frames in VTK files: other programs open them and find the values in the right places."""

from __future__ import annotations

import contextlib
import re
import struct
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import meniscus as ms
from meniscus import io

pytest.importorskip("vtk")


def fields(dimension, dtype, rng):
    shape = (5, 4, 3)[:dimension]
    periodic = (True, False, False)[:dimension]
    grid = ms.Grid(shape, 0.1, (1.0, 2.0, 1 / 3)[:dimension], periodic)
    smoke, velocity, phi = ms.CellField(grid, dtype), ms.MacField(grid, dtype), ms.NodeField(grid)
    smoke.array[...] = rng.random(shape)
    phi.array[...] = rng.random(phi.shape)
    for d in range(dimension):
        u = velocity.component(d)
        u[...] = rng.random(u.shape)
    dust = ms.Particles(rng.random((7, dimension)).astype(dtype), mass=rng.random(7), kind=np.arange(7, dtype=np.uint8))
    return {"smoke": smoke, "velocity": velocity, "phi": phi, "dust": dust, "marked": smoke.array > 0.5}


def test_frame_comes_back_as_it_was(tmp_path, dimension, dtype, rng):
    items = fields(dimension, dtype, rng)
    frame = io.collect(items, number=3, time=1 / 3)
    paths = io.write_frame(tmp_path, frame, frames=12345)
    assert [p.name for p in paths] == ["frame-00003.vti", "frame-00003-dust.vtp"]
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in paths}
    back = io.read_frame(paths, 3)
    assert back.grid == items["smoke"].grid
    assert back.time == 1 / 3
    assert set(back.cells) == {"smoke", "velocity", "marked"}
    for name in ("smoke", "velocity", "phi"):
        np.testing.assert_array_equal(back[name], frame[name])
        assert back[name].dtype == frame[name].dtype
    np.testing.assert_array_equal(back["marked"], frame["marked"])
    for name, column in frame.particles["dust"].items():
        np.testing.assert_array_equal(back.particles["dust"][name], column)
        assert back.particles["dust"][name].dtype == column.dtype


def test_face_velocity_is_averaged_to_the_cells(dtype):
    grid = ms.Grid((4, 3, 2), 0.5)
    velocity = ms.MacField(grid, dtype)
    for d in range(3):
        velocity.component(d)[...] = (d + 1) * grid.face_centers(d)[d]
    mean = io.collect({"u": velocity}, 0, 0.0)["u"]
    assert mean.dtype == dtype
    for d, center in enumerate(grid.cell_centers()):
        np.testing.assert_allclose(mean[..., d], np.broadcast_to((d + 1) * center, grid.shape), rtol=1e-6)


def test_pyvista_finds_values_at_their_places(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    grid = ms.Grid((5, 4, 3), 0.1, (1.0, 2.0, 3.0))
    x, y, z = grid.cell_centers()
    smoke = ms.CellField(grid)
    smoke.array = x + 10 * y + 100 * z
    dust = ms.Particles(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), mass=np.array([7.0, 8.0]))
    volume, points = (pyvista.read(p) for p in io.write_frame(tmp_path, io.collect({"smoke": smoke, "dust": dust}, 0, 0.5)))
    centers = volume.cell_centers().points
    np.testing.assert_allclose(volume.cell_data["smoke"], centers @ [1, 10, 100], rtol=1e-6)
    np.testing.assert_array_equal(points.points, dust.positions)
    np.testing.assert_array_equal(points.point_data["mass"], [7, 8])
    assert points.n_verts == 2


def test_the_bytes_of_the_file_are_the_values(tmp_path):
    grid = ms.Grid((3, 2, 2), 1.0)
    smoke = ms.CellField(grid, np.float32)
    smoke.array[...] = np.arange(12).reshape(3, 2, 2)
    (path,) = io.write_frame(tmp_path, io.collect({"smoke": smoke}, 0, 0.0))
    content = path.read_bytes()
    start = content.index(b"_", content.index(b"<AppendedData")) + 1
    tag = re.search(rb'<DataArray[^>]*Name="smoke"[^>]*>', content)[0].decode()
    offset = start + int(re.search(r'offset="(\d+)', tag)[1])
    (size,) = struct.unpack_from("<Q", content, offset)
    assert size == 48
    values = np.frombuffer(content, "<f4", 12, offset + 8)
    np.testing.assert_array_equal(values, smoke.array.transpose(2, 1, 0).ravel())  # x runs fastest


def test_collection_lists_files_with_their_times(tmp_path):
    frames = [(0.0, [tmp_path / "a.vti", tmp_path / "a & b.vtp"]), (1 / 3, [tmp_path / "b.vti"])]
    io.write_series(tmp_path / "frames.pvd", frames)
    assert io.read_series(tmp_path / "frames.pvd") == frames
    entries = ElementTree.parse(tmp_path / "frames.pvd").getroot().findall("Collection/DataSet")
    assert [(e.attrib["file"], e.attrib["part"]) for e in entries] == [("a.vti", "0"), ("a & b.vtp", "1"), ("b.vti", "0")]
    (tmp_path / "frames.pvd").write_text("<VTKFile>")
    with pytest.raises(ValueError, match="no collection of frames"):
        io.read_series(tmp_path / "frames.pvd")


def test_what_cannot_be_a_frame_is_said(tmp_path, rng):
    items = fields(2, np.float64, rng)
    other = ms.CellField(ms.Grid((3, 3), 0.1))
    with pytest.raises(ValueError, match="all fields of a frame must be on one grid, but 'b' is on"):
        io.collect({"a": items["smoke"], "b": other}, 0, 0.0)
    with pytest.raises(ValueError, match=r"'c' must have one value per cell \(5, 4\) or per node \(6, 5\), not the shape \(4, 5\)"):
        io.collect({"a": items["smoke"], "c": np.zeros((4, 5))}, 0, 0.0)
    with pytest.raises(ValueError, match="'c' needs a field in the same frame"):
        io.collect({"c": np.zeros((4, 5))}, 0, 0.0)
    with pytest.raises(TypeError, match="'c' is a str"):
        io.collect({"c": "smoke"}, 0, 0.0)
    with pytest.raises(KeyError, match="has no field 'fog'; it has smoke, velocity, marked, phi"):
        io.collect(items, 0, 0.0)["fog"]
    with pytest.raises(FileNotFoundError):
        io.read_frame([tmp_path / "frame-0000.vti"], 0)


def test_frame_that_was_cut_short_is_refused_in_one_sentence(tmp_path, capfd):
    smoke = ms.CellField(ms.Grid((8, 8, 8), 0.1))
    (path,) = io.write_frame(tmp_path, io.collect({"smoke": smoke}, 0, 0.0))
    content = path.read_bytes()
    for length in (0, 8, 500, len(content) - 1000):
        path.write_bytes(content[:length])
        with pytest.raises(OSError, match="damaged") as error:
            io.read_frame([path], 0)
        assert error.value.filename == str(path)
    assert capfd.readouterr().err == ""


def written(folder, rng):
    """Return the files of a frame with an image, particles and meshes."""
    ball = ms.mesh.icosphere(0)
    items = {**fields(3, np.float64, rng), "ball": ball, "block": ms.mesh.tet_block(1, 1, 2)}
    return io.write_frame(folder, io.collect(items, 0, 0.5))


@pytest.mark.parametrize("count", [2**31, 2**40, 2**62, 2**63 - 1, 2**64 - 1])
def test_counts_that_cannot_be_are_refused(count, tmp_path, rng):
    """Of points, cells and bytes, in the head and before the values: a reader that reserves memory for them ends the process."""
    for path in written(tmp_path, rng):
        content = path.read_bytes()
        start = content.index(b"_", content.index(b"<AppendedData")) + 1
        offsets = [start + int(n) for n in re.findall(rb'offset="(\d+)', content[:start])]
        damaged = [content[:at] + struct.pack("<Q", count) + content[at + 8 :] for at in offsets]
        number = str(count).encode()
        damaged += [re.sub(rb'NumberOf(Points|Cells|Verts)="\d+"', rb'NumberOf\1="' + number + b'"', content)]
        damaged += [re.sub(rb'(Whole)?Extent="0 \d+', rb'\1Extent="0 ' + number, content)]
        damaged += [re.sub(rb'offset="\d+"', b'offset="' + number + b'"', content)]
        refused = [reads(path, d) is None for d in damaged]
        assert refused[0]
        assert refused[-1]
        assert refused[-2] == (path.suffix == ".vti")  # the head of other files has nothing that the values do not say themselves


def reads(path, content):
    """Return the frame of a file with this content, or None if it is refused."""
    path.write_bytes(content)
    with contextlib.suppress(OSError):
        return io.read_frame([path], 0)
    with pytest.raises(OSError, match="damaged") as error:
        io.read_frame([path], 0)
    assert error.value.filename == str(path)
    return None


def test_random_damage_is_refused_or_harmless(tmp_path, rng):
    paths = written(tmp_path, rng)
    originals = [p.read_bytes() for p in paths]
    for number in range(600):
        path, content = paths[number % len(paths)], bytearray(originals[number % len(paths)])
        kind, at = number % 3, int(rng.integers(len(content)))
        if kind == 0:
            content[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del content[at : at + int(rng.integers(1, 50))]
        else:
            content[at : at + 8] = struct.pack("<q", int(rng.choice([-1, 0, 2**31, 2**62])))
        frame = reads(path, content)
        if frame is None:
            continue
        for mesh in frame.meshes.values():
            assert ((mesh.elements >= 0) & (mesh.elements < len(mesh.vertices))).all()
        for columns in frame.particles.values():
            assert len({len(c) for c in columns.values()}) == 1

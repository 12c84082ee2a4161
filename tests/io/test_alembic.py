"""Alembic files: positions, triangles, velocities and times as its own reader finds them. Blender 5.0 has opened the same files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus.io import FrameData, FrameMesh, collect

TIMES = np.arange(4) / 30


def frames() -> Iterator[FrameData]:
    ball = ms.mesh.icosphere(1, 0.3)
    for k, time in enumerate(TIMES):
        speed = np.full(ball.vertices.shape, (0.3, 0.6, 0.9))
        late = {"late": ms.mesh.icosphere(k - 1)} if k > 1 else {}
        rope = ms.mesh.SegmentMesh(np.array([(0, 0, 0), (1, 0, 0), (1, 1, k)], float), [(0, 1), (1, 2)])
        drops = ms.Particles(np.full((k + 1, 3), (1.0, 2.0, 3.0)), radius=np.full(k + 1, 0.25))
        moved = FrameMesh(ball.vertices + np.array([0.01 * k, 0, 0.02 * k]), ball.triangles, {"velocity": speed})
        yield collect({"ball": moved, "rope": rope, "drops": drops, **late}, k, float(time))


def back(points: object) -> np.ndarray:
    """Return points of a file with z upwards again."""
    x, y, z = np.array([(p.x, p.y, p.z) for p in points]).reshape(-1, 3).T
    return np.stack([x, -z, y], axis=1)


def test_a_run_comes_back(tmp_path: Path) -> None:
    pytest.importorskip("alembic3d")
    from alembic3d import Abc, AbcGeom

    path = ms.io.write_alembic(tmp_path / "run.abc", frames(), TIMES)
    assert list(tmp_path.iterdir()) == [path]
    top = Abc.IArchive(str(path)).getTop()

    def selected(k: int) -> object:
        """Return what selects the sample nearest to the time of a frame."""
        return Abc.ISampleSelector(float(TIMES[k]))

    ball = AbcGeom.IPolyMesh(top, "ball").getSchema()
    late = AbcGeom.IPolyMesh(top, "late").getSchema()
    rope = AbcGeom.ICurves(top, "rope").getSchema()
    drops = AbcGeom.IPoints(top, "drops").getSchema()
    for k, given in enumerate(frames()):
        for schema in (ball, late, rope, drops):
            assert schema.getTimeSampling().getSampleTime(k) == pytest.approx(TIMES[k], abs=1e-12)
        here = ball.getValue(selected(k))
        np.testing.assert_allclose(back(here.getPositions()), given.meshes["ball"].vertices, atol=1e-7)
        np.testing.assert_allclose(back(here.getVelocities()), given.meshes["ball"].columns["velocity"], atol=1e-7)
        corners = np.array(list(here.getFaceIndices())).reshape(-1, 3)
        np.testing.assert_array_equal(corners[:, ::-1], given.meshes["ball"].elements)
        assert len(late.getValue(selected(k)).getPositions()) == (len(given.meshes["late"].vertices) if k > 1 else 0)
        np.testing.assert_allclose(back(rope.getValue(selected(k)).getPositions())[-1], (1, 1, k), atol=1e-7)
        assert list(rope.getValue(selected(k)).getCurvesNumVertices()) == [2, 2]
        np.testing.assert_allclose(back(drops.getValue(selected(k)).getPositions()), np.tile([1.0, 2.0, 3.0], (k + 1, 1)))


def test_velocities_may_come_late(tmp_path: Path) -> None:
    pytest.importorskip("alembic3d")
    from alembic3d import Abc, AbcGeom

    ball = ms.mesh.icosphere(1)
    speed = np.full(ball.vertices.shape, (1.0, 2.0, 3.0))
    still, moving = FrameMesh(ball.vertices, ball.triangles), FrameMesh(ball.vertices, ball.triangles, {"velocity": speed})
    path = ms.io.write_alembic(tmp_path / "late.abc", [collect({"a": m}, k, float(k)) for k, m in enumerate((still, moving))], [0.0, 1.0])
    schema = AbcGeom.IPolyMesh(Abc.IArchive(str(path)).getTop(), "a").getSchema()
    np.testing.assert_array_equal(back(schema.getValue(Abc.ISampleSelector(1.0)).getVelocities()), speed)
    assert len(schema.getValue(Abc.ISampleSelector(0.0)).getVelocities() or ()) == 0


def test_times_need_not_be_regular(tmp_path: Path) -> None:
    pytest.importorskip("alembic3d")
    from alembic3d import Abc, AbcGeom

    times = [0.0, 0.1, 0.4, 0.5]
    path = ms.io.write_alembic(tmp_path / "run.abc", frames(), times)
    sampling = AbcGeom.IPolyMesh(Abc.IArchive(str(path)).getTop(), "ball").getSchema().getTimeSampling()
    assert [sampling.getSampleTime(k) for k in range(4)] == pytest.approx(times, abs=1e-12)


def test_what_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("alembic3d")
    path = tmp_path / "run.abc"
    path.write_text("older")
    for times, sentence in (
        ([0.0, 0.2, 0.1, 0.3], "rise"),
        ([0.0, np.nan], "finite"),
        ([], "finite and rise"),
        (TIMES[:2], "more frames than the 2 times"),
        (np.arange(5), "4 frames for 5 times"),
    ):
        with pytest.raises(ValueError, match=sentence):
            ms.io.write_alembic(path, frames(), times)
    with pytest.raises(ValueError, match="at least one mesh"):
        ms.io.write_alembic(path, [collect({"heat": ms.CellField(ms.Grid((2, 2, 2), 1.0))}, 0, 0.0)], [0.0])
    changed = [collect({"a": ms.mesh.icosphere(1)}, 0, 0.0), collect({"a": ms.Particles(np.zeros((1, 3)))}, 1, 1.0)]
    with pytest.raises(ValueError, match="'a' has other elements in one frame than in another"):
        ms.io.write_alembic(path, changed, [0.0, 1.0])
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]

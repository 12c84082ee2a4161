"""Repair of meshes as they are found in the wild, against the sum of all solid angles, and what it reports."""

from __future__ import annotations

import numpy as np
import pytest
from support.wild_meshes import MESHES, Wild, ball, flipped, hopeless, junction, probes, together, volume, winding

import meniscus as ms


@pytest.mark.parametrize("mesh", MESHES, ids=lambda m: m.name)
def test_wild_meshes_are_repaired(mesh: Wild) -> None:
    """The inside is that of the clean mesh; where nothing crosses, the result is watertight, oriented outward, with its volume."""
    repaired, report = ms.mesh.repair(mesh.surface)
    assert str(report).count("\n") == 0
    assert report.remaining.boundary_edges == 0
    assert not len(report.remaining.flipped_edges)
    points = probes(mesh)
    assert len(points) > 20
    inside = winding((np.array(repaired.vertices), np.array(repaired.triangles)), points) > 0.5
    # A hole of a few triangles is closed by flat ones, which is no matter at this distance, but for boxes of twelve triangles.
    wrong = inside != mesh.contains(points)
    assert not wrong.any()
    if mesh.repairable:
        assert report.clean, report
        assert repaired.volume() == pytest.approx(mesh.volume(), rel=0.05)
    assert np.array_equal(repaired.vertices, mesh.surface[0][report.sources])


def test_reports_count_what_was_done() -> None:
    """Each defect is counted, and a clean mesh comes back as it was."""
    x, t = ball()
    same, report = ms.mesh.repair(x, t)
    assert (report.welded, report.degenerate, report.doubled, report.turned, report.filled) == (0, 0, 0, 0, 0)
    assert np.array_equal(same.vertices, x)
    assert np.array_equal(same.triangles, t)
    assert str(report).startswith("nothing to do; what remains: 320 triangles in 1 component, watertight")
    rows = np.concatenate([t[2:, ::-1], t[40:44], [[0, 0, 1]]]).astype(np.int32)
    _, report = ms.mesh.repair(x[t].reshape(-1, 3), np.arange(3 * len(t), dtype=np.int32).reshape(-1, 3))
    assert report.welded == 3 * len(t) - len(x)
    _, report = ms.mesh.repair(x, rows)
    assert (report.degenerate, report.doubled, report.turned, report.filled, report.added) == (1, 4, 318, 2, 2)
    assert report.clean
    _, report = ms.mesh.repair(together(ball(), (ball()[0] + 0.5, ball()[1])))
    assert report.crossings > 20
    assert not report.clean
    assert "pairs of triangles that cross or touch" in str(report)
    assert repr(report).startswith("<RepairReport: nothing to do; what remains: 640")


def test_options_leave_things_as_they_are() -> None:
    """Holes stay open and triangles as they are where that is wanted; near vertices are one where that is wanted."""
    x, t = ball()
    opened, report = ms.mesh.repair(x, t[1:, ::-1], fill=False, orient=False)
    assert (report.filled, report.turned, report.remaining.boundary_edges) == (0, 0, 3)
    assert np.array_equal(opened.triangles, t[1:, ::-1])
    own = x[t].reshape(-1, 3) + np.random.default_rng(0).uniform(-1e-4, 1e-4, (3 * len(t), 3))
    rows = np.arange(3 * len(t), dtype=np.int32).reshape(-1, 3)
    assert not ms.mesh.repair(own, rows, fill=False)[1].remaining.watertight
    welded, report = ms.mesh.repair(own, rows, weld=1e-3)
    assert report.clean
    assert len(welded.vertices) == len(x)
    with pytest.raises(ValueError, match="weld must not be negative"):
        ms.mesh.repair(x, t, weld=-1.0)


def test_cracks_at_junctions_are_closed_without_moving_anything() -> None:
    """A vertex on an edge that one triangle does not have: the triangle gets it."""
    surface = junction(ball(), 12)
    assert ms.mesh.check_watertight(*surface).boundary_edges > 0
    mesh, report = ms.mesh.repair(surface)
    assert report.clean
    assert not len(report.remaining.degenerate)
    assert len(mesh.vertices) == len(surface[0])
    assert mesh.volume() == pytest.approx(volume(ball()), rel=1e-12)


def test_sheets_and_one_sided_surfaces_stay_what_they_are() -> None:
    """The rim of a sheet is not closed; a Moebius strip has an edge where no orientation fits."""
    sheet = ms.mesh.cloth_mesh(4, 4, (1.0, 1.0))
    mesh, report = ms.mesh.repair(sheet)
    assert np.array_equal(mesh.triangles, sheet.triangles)
    assert len(report.remaining.holes) == 1
    n = 12
    u = 2 * np.pi * np.arange(n) / n
    rim = [np.stack([(1 + s * np.cos(u / 2)) * np.cos(u), (1 + s * np.cos(u / 2)) * np.sin(u), s * np.sin(u / 2)], 1) for s in (-0.3, 0.3)]
    rows = []
    for i in range(n):
        a, b, c, d = i, n + i, i + 1, n + i + 1
        if i == n - 1:
            c, d = n, 0
        rows += [[a, c, b], [b, c, d]]
    _, report = ms.mesh.repair(np.concatenate(rim), np.array(rows, np.int32), fill=False)
    assert report.one_sided == 1
    assert len(report.remaining.flipped_edges) == 1


def test_results_do_not_depend_on_threads() -> None:
    """The same bits."""
    surface = together(flipped(ball(3)), (ball(3)[0] + 0.4, ball(3)[1]))
    threads, seen = ms.num_threads(), []
    try:
        for n in (1, 2, 5):
            ms.set_num_threads(n)
            mesh, report = ms.mesh.repair(surface)
            seen.append((mesh.triangles.tobytes(), report.crossings, report.turned))
    finally:
        ms.set_num_threads(threads)
    assert len(set(seen)) == 1


@pytest.mark.parametrize("name", [n for n, _ in hopeless()])
def test_hopeless_meshes_are_refused_or_reported(name: str) -> None:
    """One sentence, or a report that says that the result is open."""
    surface = dict(hopeless())[name]
    if name.startswith("cloth"):
        assert not ms.mesh.repair(surface)[1].clean
        with pytest.warns(ms.surface.NotWatertightWarning, match="not watertight"):
            ms.surface.MeshDistance(surface)
        with pytest.raises(ValueError, match=r"surface must be watertight, but has .*; mesh.repair"):
            ms.surface.bcc_mesh(surface, 0.2)
        return
    with pytest.raises((ValueError, IndexError)) as refused:
        ms.mesh.repair(surface)
    assert "\n" not in str(refused.value)
    if name.startswith("all"):
        with pytest.warns(ms.surface.NotWatertightWarning, match="encloses nothing: none of its triangles has an area"):
            ms.surface.MeshDistance(surface)
        return
    with pytest.raises((ValueError, IndexError)):
        ms.surface.MeshDistance(surface)


def test_points_that_no_triangle_uses_say_nothing_of_its_size() -> None:
    x, t = ball()
    far = np.concatenate([1e-3 * x, [(1e6, 0.0, 0.0)]])
    repaired, report = ms.mesh.repair(far, t)
    assert report.clean
    assert len(repaired.triangles) == len(t)

"""Scenes with contact: nothing intersects at the end of any frame, loops are certified, and nothing freezes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs.resumed import run_whole_and_resumed

from meniscus import scenes
from meniscus.scenes.library.contact.reef_knot import reef_line

# Each long enough for many contacts.
SMALL: dict[str, dict[str, Any]] = {
    "drape": {"resolution": 10, "end": 1.0, "frames": 6},
    "flag": {"resolution": 8, "end": 1.0, "frames": 6},
    "twisting": {"triangles": 300, "start": 0.2, "speed": 8.0, "end": 1.5, "frames": 6},
    "spinning-ball": {"triangles": 300, "start": 0.4, "end": 0.8, "frames": 5},
    "curtain": {"triangles": 400, "lowering": 0.4, "begin": 0.3, "period": 1.5, "end": 1.0, "frames": 5},
    "pile": {"triangles": 400, "length": 1.0, "end": 0.8, "frames": 6},
    "funnel": {"triangles": 300, "start": 0.1, "speed": 1.0, "end": 0.8, "frames": 5},
    "stack": {"triangles": 500, "sheets": 4, "end": 0.4, "frames": 4},
    "tray": {"triangles": 300, "resolution": 2, "end": 0.5, "frames": 4},
    "reef-knot": {"around": 6, "dt": 1 / 800, "start": 0.0, "ramp": 0.5, "end": 0.7, "frames": 4},
    "leaves": {"triangles": 600, "pieces": 12, "end": 0.8, "frames": 4},
    "wardrobe": {"triangles": 400, "released": 0.3, "end": 1.0, "frames": 5},
    "playground": {"triangles": 300, "resolution": 1, "bodies": 5, "end": 0.8, "frames": 4},
    "roll": {"triangles": 400, "end": 0.7, "frames": 5},
}
# In these, repulsion alone keeps everything apart, or nothing meets.
QUIET = {"drape", "flag", "spinning-ball", "curtain", "wardrobe", "roll"}


def require_sound(frame: scenes.Frame) -> None:
    """Check what every frame has to satisfy."""
    d = frame.diagnostics
    assert all(math.isfinite(value) for value in d.values())
    assert d["intersections"] == 0, frame.number
    assert d["uncertified"] == 0
    assert d["deactivated"] == 0


def require_free(last: scenes.Frame) -> None:
    """Check that a run did not freeze."""
    d = last.diagnostics
    assert d["loops"] > 0
    assert d["rigid share"] <= 0.05
    assert d["cuts"] <= max(1.0, 0.01 * d["loops"])


# The others are found sound by tests below, which look at more of them.
@pytest.mark.fast_cases("drape", "flag", "twisting", "spinning-ball", "pile", "tray", "leaves", "wardrobe", "playground", "roll")
@pytest.mark.parametrize("name", [name for name in SMALL if name != "reef-knot"])
def test_nothing_intersects_and_nothing_freezes(name: str) -> None:
    pairs = contacts = 0.0
    for frame in scenes.frames(scenes.SCENES[name](**SMALL[name])):
        require_sound(frame)
        pairs = max(pairs, frame.diagnostics["pairs"])
        contacts += frame.diagnostics["contacts"]
    require_free(frame)
    if name not in QUIET:
        assert pairs > 0
        assert pairs + contacts > 100


@pytest.mark.fast_cases("stack")
@pytest.mark.parametrize("name", ["stack", "pile"])
def test_what_falls_comes_to_rest(name: str) -> None:
    scene = scenes.SCENES[name](**{**SMALL[name], "end": {"stack": 0.8, "pile": 2.0}[name], "frames": 12})
    history = []
    for frame in scenes.frames(scene):
        require_sound(frame)
        history.append(frame.diagnostics)
    require_free(frame)
    mass = sum(body.masses.sum() for body in scene.world.bodies)
    # What is left is of the size of gravity times a step, which repulsion takes back in the next step.
    assert np.sqrt(2.0 * history[-1]["kinetic"] / mass) < 0.1
    assert history[-1]["mean y"] < 0.5 * history[0]["mean y"]


@pytest.mark.slow
def test_repulsion_does_not_strain_sheets_at_rest() -> None:
    """Pushes along the sheets, as of edges that meet at their ends, would stretch and squeeze them."""
    scene = scenes.SCENES["stack"](triangles=900, sheets=3, end=0.8, frames=4)
    scenes.run(scene)
    for body, mesh in zip(scene.world.bodies, scene.meshes, strict=True):
        a, b = mesh.edges.T
        strain = (
            np.linalg.norm(body.positions[a] - body.positions[b], axis=1) / np.linalg.norm(mesh.vertices[a] - mesh.vertices[b], axis=1) - 1
        )
        assert np.sqrt(np.mean(strain**2)) < 0.02


@pytest.mark.slow
def test_a_cover_slides_off_only_without_friction() -> None:
    heights = {}
    for friction in (0.6, 0.02):
        small = {**SMALL["wardrobe"], "friction_after": friction, "end": 2.2}
        heights[friction] = scenes.run(scenes.SCENES["wardrobe"](**small)).diagnostics["mean y"]
    assert heights[0.02] < heights[0.6] - 0.02


def downhill(response: str, triangles: int) -> tuple[float, float, float]:
    """Return the mean slip while the cloth touches the slope, the greatest turn of its edge, and the way down the slope."""
    scene = scenes.SCENES["roll"](triangles=triangles, solid_response=response, end=0.75, frames=18)
    slips = []
    for frame in scenes.frames(scene):
        require_sound(frame)
        if frame.number == 0:
            start = scene.body.positions @ np.array(scene.down)
        elif len(scene.world.solver.contacts.nodes) > 0.02 * len(scene.body) and frame.time > 0.2:
            slips.append(frame.diagnostics["slip"] / max(frame.diagnostics["downhill"], 0.1))
    end = scene.body.positions @ np.array(scene.down)
    # Rolled over: what was ahead at the start is behind.
    edge = np.argsort(scene.mesh.vertices[:, 1])
    low, high = edge[: len(edge) // 10], edge[-len(edge) // 10 :]
    return float(np.mean(slips)), float(end[high].mean() - end[low].mean()), float((end - start).mean())


def require_rolling(triangles: int) -> None:
    """Check figure 6.8: with friction what touches the slope rests and the rest rolls over it; the older method slips and is faster."""
    slip, ahead, way = downhill("path", triangles)
    older_slip, older_ahead, older_way = downhill("projection", triangles)
    assert slip < 0.5
    assert older_slip > 0.8
    assert ahead > 0.1
    assert older_ahead < ahead
    assert way < 0.8 * older_way


@pytest.mark.slow
def test_a_cloth_rolls_and_slips_with_the_older_method() -> None:
    require_rolling(400)


@pytest.mark.slow
def test_a_cloth_of_80_000_triangles_rolls() -> None:
    """Selle 2008, figure 6.8."""
    require_rolling(80_000)


def test_parameters_of_the_thesis_are_those_of_table_6_1() -> None:
    scene = scenes.SCENES["leaves"](parameters="thesis", triangles=300, pieces=3, thickness=0.3)
    found = {name: getattr(scene, name) for name in ("stiffness", "damping", "bending", "bending_damping", "tolerance", "node_mass")}
    assert found == {"stiffness": 4.14, "damping": 15.0, "bending": 0.41, "bending_damping": 8.0, "tolerance": 1e-3, "node_mass": 1e-6}
    assert (scene.thickness, scene.gravity, 4 <= scene.steps_per_loop <= 16) == (0.01, (0.0, -9.8, 0.0), True)
    scene.setup()
    np.testing.assert_array_equal(scene.body.masses, 1e-6)


def area(mesh: Any, positions: Any) -> float:
    """Return twice the area of the triangles of a mesh at positions, m^2."""
    a, b, c = (positions[mesh.triangles[:, k]] for k in range(3))
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


@pytest.mark.fast_cases("curtain")
@pytest.mark.parametrize("name", ["twisting", "curtain", "leaves", "wardrobe"])
def test_a_folded_state_is_split_flat(name: str) -> None:
    kind, small = scenes.SCENES[name], SMALL[name]
    coarse = kind(**small)
    for frame in scenes.frames(coarse):
        require_sound(frame)
    require_free(frame)
    bodies, time = coarse.world.bodies, coarse.world.time
    positions = np.concatenate([body.positions for body in bodies])
    velocities = np.concatenate([body.velocities for body in bodies])
    fine = kind(**small, splits=2)
    fine.setup()
    fine.start_from(time, positions, velocities)
    assert sum(len(m.triangles) for m in fine.meshes) == 16 * sum(len(m.triangles) for m in coarse.meshes)
    assert len(fine.world.audit()) == 0
    for a, b, meshes in zip(bodies, fine.world.bodies, zip(coarse.meshes, fine.meshes, strict=True), strict=True):
        # The same surface, the same mass, the same rest state, and at rest in itself where the coarse one is.
        assert b.masses.sum() == pytest.approx(a.masses.sum())
        coarse_mesh, fine_mesh = meshes
        assert area(fine_mesh, b.positions) == pytest.approx(area(coarse_mesh, a.positions))
        assert area(fine_mesh, fine_mesh.vertices) == pytest.approx(area(coarse_mesh, coarse_mesh.vertices))
        np.testing.assert_array_equal(b.positions[: len(a)], a.positions)
        np.testing.assert_array_equal(b.velocities[: len(a)], a.velocities)
    fine.advance(time, fine.max_dt())
    for a, b in zip(bodies, fine.world.bodies, strict=True):
        assert np.linalg.norm(b.positions[: len(a)] - a.positions, axis=1).max() < 0.2
    assert len(fine.world.audit()) == 0
    with pytest.raises(ValueError, match="nodes, not"):
        fine.start_from(time, positions[1:], velocities[1:])


def test_a_reef_knot_tightens_and_holds() -> None:
    scene = scenes.SCENES["reef-knot"](**SMALL["reef-knot"])
    ring = scene.around + 1
    middles: list[list[np.ndarray]] = []
    for frame in scenes.frames(scene):
        require_sound(frame)
        middles.append([body.positions[::ring].copy() for body in scene.world.bodies])
    # The tips of the bights pass each other still, by more than the thickness of the ropes: without the knot they would be apart.
    left, right = middles[-1]
    loose = middles[0][0][:, 0].max() - middles[0][1][:, 0].min()
    held = left[:, 0].max() - right[:, 0].min()
    assert 2.0 * scene.radius < held < 0.9 * loose
    # The bights are narrower, and the ropes are stretched between their ends and the knot.
    assert all(np.ptp(now[:, 1]) < 0.9 * np.ptp(then[:, 1]) for now, then in zip(middles[-1], middles[0], strict=True))
    assert frame.diagnostics["elastic"] > 0.05
    assert middles[0][0][0, 0] - left[0, 0] == pytest.approx(scene.pull)
    mass = sum(body.masses.sum() for body in scene.world.bodies)
    assert np.sqrt(2.0 * frame.diagnostics["kinetic"] / mass) < 0.2
    assert frame.diagnostics["pairs"] > 100
    require_free(frame)


def test_ropes_of_the_knot_go_over_and_under_as_in_a_reef_knot() -> None:
    """Along the left rope: over, under, over, over, under, over. A granny would have other signs in one half."""
    line = reef_line()
    other = line * [-1.0, 1.0, -1.0]
    a, b = line[:-1, None, :2], np.diff(line[:, None, :2], axis=0)
    c, d = other[None, :-1, :2], np.diff(other[None, :, :2], axis=1)
    turn = b[..., 0] * d[..., 1] - b[..., 1] * d[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        s = ((c - a)[..., 0] * d[..., 1] - (c - a)[..., 1] * d[..., 0]) / turn
        t = ((c - a)[..., 0] * b[..., 1] - (c - a)[..., 1] * b[..., 0]) / turn
    i, j = np.nonzero((s >= 0) & (s < 1) & (t >= 0) & (t < 1))
    order = np.argsort(i)
    assert (line[i[order], 2] > other[j[order], 2]).tolist() == [True, False, True, True, False, True]
    assert np.linalg.norm(line[::4, None] - other[None, ::4], axis=2).min() > 2.2


def test_ropes_are_filled_without_gaps() -> None:
    for mesh in scenes.SCENES["reef-knot"](around=7).make_meshes():
        x = mesh.vertices[mesh.elements]
        volumes = np.linalg.det(x[:, 1:] - x[:, :1]) / 6.0
        assert volumes.min() > 0
        boundary = mesh.boundary
        y = mesh.vertices[boundary.triangles] if boundary.vertices.shape == mesh.vertices.shape else boundary.vertices[boundary.triangles]
        assert volumes.sum() == pytest.approx(np.linalg.det(y).sum() / 6.0, rel=1e-12)
        # Each edge of the boundary is in two triangles.
        edges = np.sort(np.concatenate([boundary.triangles[:, k] for k in ([0, 1], [1, 2], [2, 0])]), axis=1)
        assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


@pytest.mark.slow
def test_the_ball_takes_the_cloth_through_the_funnel() -> None:
    last = scenes.run("funnel", triangles=300, start=0.1, speed=1.0, end=1.4, frames=7)
    assert last.diagnostics["mean y"] < 0.0


def test_a_barrier_keeps_the_funnel_sound_at_one_step_per_frame() -> None:
    scene = scenes.SCENES["funnel"](triangles=300, start=0.1, speed=1.0, end=0.5, frames=12, response="barrier", dt=1 / 24)
    pairs = 0.0
    for frame in scenes.frames(scene):
        require_sound(frame)
        pairs = max(pairs, frame.diagnostics["pairs"])
    assert frame.diagnostics["loops"] == 12
    assert frame.diagnostics["cuts"] == 0
    assert pairs > 100


@pytest.mark.slow
def test_a_barrier_takes_finer_cloth_through_the_funnel_at_one_step_per_frame() -> None:
    scene = scenes.SCENES["funnel"](triangles=1000, end=2.25, frames=54, response="barrier", dt=1 / 24)
    for frame in scenes.frames(scene):
        require_sound(frame)
    assert frame.diagnostics["mean y"] < -0.2


@pytest.mark.fast_cases("tray")
@pytest.mark.parametrize("name", ["twisting", "tray", "wardrobe"])
def test_runs_resume_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole, resumed, _ = run_whole_and_resumed(lambda: scenes.SCENES[name](**SMALL[name]), tmp_path, 2)
    for a, b in zip(resumed.world.bodies, whole.world.bodies, strict=True):
        np.testing.assert_array_equal(a.positions, b.positions)
        np.testing.assert_array_equal(a.velocities, b.velocities)


@pytest.mark.parametrize("name", ["tray", "stack"])
def test_frames_show_all_bodies_and_obstacles(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("vtk")
    scene = scenes.SCENES[name](**{**SMALL[name], "end": 0.02, "frames": 1})
    scenes.run(scene, tmp_path)
    pictures = {p: p.read_bytes() for p in tmp_path.glob("frame-*.png")}
    assert len(pictures) == 2
    for p in pictures:
        p.unlink()
    scenes.render(tmp_path)
    assert {p: p.read_bytes() for p in tmp_path.glob("frame-*.png")} == pictures
    assert len(scene.drawn_triangles()) == sum(len((m if hasattr(m, "triangles") else m.boundary).triangles) for m in scene.meshes)


@pytest.mark.slow
def test_a_hundred_sheets_settle_without_crossing() -> None:
    """Selle 2008, section 6.3: the stack on which impulses between layers must end."""
    scene = scenes.SCENES["stack"](sheets=100, triangles=4_000, gap=0.0045, end=0.8, frames=8)
    history = []
    for frame in scenes.frames(scene):
        require_sound(frame)
        history.append(frame.diagnostics)
    require_free(frame)
    assert frame.diagnostics["pairs"] > 50_000
    # It stands where it stood before, and shivers: what is left of its speed is a tenth of what it fell with.
    mass = sum(body.masses.sum() for body in scene.world.bodies)
    speeds = [math.sqrt(2.0 * d["kinetic"] / mass) for d in history]
    assert max(speeds) > 1.2
    assert speeds[-1] < 0.2 * max(speeds)
    assert history[-1]["mean y"] == pytest.approx(history[-3]["mean y"], rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["twisting", "spinning-ball", "curtain", "leaves", "wardrobe", pytest.param("pile", marks=pytest.mark.long), "funnel", "stack"],
)
def test_ten_thousand_triangles(name: str) -> None:
    """Selle 2008, table 6.2, at 10,000 triangles."""
    for frame in scenes.frames(scenes.SCENES[name](triangles=10_000)):
        require_sound(frame)
    d = frame.diagnostics
    assert d["rigid share"] <= 0.05
    assert d["cuts"] <= 0.01 * d["loops"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["twisting", "spinning-ball", "curtain", "leaves", "wardrobe"])
def test_ten_thousand_triangles_with_the_parameters_of_the_thesis(name: str) -> None:
    """Selle 2008, table 6.1: nodes of 1e-6 kg."""
    for frame in scenes.frames(scenes.SCENES[name](triangles=10_000, parameters="thesis")):
        require_sound(frame)
    d = frame.diagnostics
    assert d["rigid share"] <= 0.05
    assert d["cuts"] <= 0.01 * d["loops"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["twisting", "curtain"])
def test_fifty_thousand_triangles(name: str) -> None:
    for frame in scenes.frames(scenes.SCENES[name](triangles=50_000)):
        require_sound(frame)
    d = frame.diagnostics
    assert d["rigid share"] <= 0.05
    assert d["cuts"] <= 0.01 * d["loops"]

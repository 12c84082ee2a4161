"""The live view: its events as plain methods, and its widget with the modules of notebooks in name only."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import Recorder, replay
from meniscus.solids.interaction.recorder import digest
from tests.support.interaction.playground import DT, empty_world, playground

pytest.importorskip("PIL")


def test_what_is_seen_is_what_is_picked() -> None:
    world = playground()
    view = ms.viz.live(world, size=(200, 150))
    frame = np.asarray(view.frame()).astype(int)
    assert frame.shape == (150, 200, 3)
    assert not view.world.interaction.pulls
    background = frame[0, 0]
    colors: dict[str, list[Any]] = {}
    for x, y in np.random.default_rng(1).uniform((5, 5), (195, 145), (150, 2)):
        handle = view.press(x, y)
        pixel = frame[int(y), int(x)]
        if handle is None:
            continue
        assert (pixel != background).any()
        np.testing.assert_allclose(view.pixel(handle.position), (x, y), atol=1e-6)
        colors.setdefault(handle.name, []).append(pixel / np.linalg.norm(pixel))
        view.release()
    assert set(colors) == {"bodies[0]", "bodies[1]", "rigid[0]", "rigid[1]"}
    # All bodies have colours of their own: what most pixels of a body look like, in any light.
    hues = [np.median(found, axis=0) for found in colors.values()]
    assert min(np.abs(hues[i] - hues[j]).max() for i in range(4) for j in range(i)) > 0.05


def test_a_drag_moves_what_is_held_and_replays() -> None:
    world = playground()
    start = pickle.dumps(world)
    view = ms.viz.live(world, size=(200, 150), rate=1 / (4 * DT))
    with Recorder(world) as recorder:
        x, y = view.pixel((0.12, 0.0, 0.3))
        assert view.press(x, y) is view.handle
        assert view.handle is not None
        before = view.handle.position
        for k in range(10):
            view.drag(x, y - 5 * k)
            frame = view.step()
        assert view.handle.position[2] > before[2] + 0.015
        np.testing.assert_allclose(view.pixel(view.handle.target), (x, y - 45), atol=1e-9)
        held = view.handle
        view.release()
        view.release()
        assert not held.active
        view.drag(0, 0)
        after = view.step()
    assert (np.asarray(frame) != np.asarray(after)).any()
    copy = pickle.loads(start)
    replay(copy, recorder)
    assert digest(copy) == digest(world)


def test_the_hand_drags_in_the_plane_of_the_picture() -> None:
    box = ms.solids.RigidBody.box((0.4, 0.4, 0.4))
    view = ms.viz.live(empty_world(box), size=(100, 100), eye=(1, 0, 0), up=(0, 0, 1))
    assert view.press(2, 2) is None
    handle = view.press(50, 50)
    assert handle is not None
    np.testing.assert_allclose(handle.target, (0.2, 0, 0), atol=1e-12)
    view.drag(60, 30)
    meter = np.array(view.pixel((0.2, 1, 0))) - view.pixel((0.2, 0, 0))
    np.testing.assert_allclose(handle.target, (0.2, 10 / meter[0], 20 / meter[0]), atol=1e-12)
    view.release()
    view.turn(90)
    again = view.press(50, 50)
    assert again is not None
    assert abs(abs(again.target[1]) - 0.2) < 1e-12
    view.turn(0, 90)
    view.release()
    above = view.press(50, 50)
    assert above is not None
    assert abs(above.target[2] - 0.2) < 1e-12
    assert "N>" in repr(view)


def test_what_cannot_be_seen() -> None:
    with pytest.raises(ValueError, match="nothing to see"):
        ms.viz.live(ms.solids.World())
    with pytest.raises(TypeError):
        ms.viz.live(3)
    world = empty_world(ms.solids.DeformableBody(np.zeros((1, 3)), masses=1.0))
    floor = ms.mesh.cloth_mesh(1, 1)
    view = ms.viz.live(world, still=[floor], size=(64, 64), eye=(0, 0, 1), up=(0, 1, 0))
    assert len(np.unique(np.asarray(view.frame()).reshape(-1, 3), axis=0)) > 1
    assert view._repr_png_().startswith(b"\x89PNG")


class Widget(SimpleNamespace):
    """A widget that remembers what it is made of and who watches it."""

    def __init__(self, children: Any = (), **named: Any) -> None:
        super().__init__(children=children, watchers=[], **named)

    def observe(self, call: Any, names: str) -> None:
        self.watchers.append(call)

    on_click = on_dom_event = lambda self, call: self.watchers.append(call)


FAKE = SimpleNamespace(**dict.fromkeys(("Image", "Play", "IntSlider", "Button", "VBox", "HBox"), Widget))


def view_of(monkeypatch: pytest.MonkeyPatch, **modules: Any) -> tuple[Any, Any]:
    for name in ("ipywidgets", "ipyevents"):
        monkeypatch.setitem(sys.modules, name, modules.get(name))
    view = ms.viz.live(playground(), size=(120, 90), rate=1 / (4 * DT))
    return view, view.widget()


def test_the_mouse_drags_where_ipyevents_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def event(**named: Any) -> Any:
        made.append(Widget(**named))
        return made[-1]

    view, box = view_of(monkeypatch, ipywidgets=FAKE, ipyevents=SimpleNamespace(Event=event))
    (mouse,) = made[0].watchers
    image, controls = box.children
    before = image.value
    x, y = view.pixel((0.0, 0.0, 0.3))
    mouse({"type": "mousedown", "relativeX": x, "relativeY": y})
    assert view.handle is not None
    mouse({"type": "mousemove", "relativeX": x, "relativeY": y - 20})
    np.testing.assert_allclose(view.pixel(view.handle.target), (x, y - 20), atol=1e-9)
    time = view.world.time
    controls.children[0].watchers[0]({})
    assert view.world.time == pytest.approx(time + 4 * DT)
    assert image.value != before
    mouse({"type": "mouseleave"})
    assert view.handle is None


def test_sliders_drag_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    view, box = view_of(monkeypatch, ipywidgets=FAKE)
    _, x, y, take, leave = box.children[1].children
    x.value, y.value = (round(v) for v in view.pixel((0.0, 0.0, 0.3)))
    take.watchers[0](None)
    assert view.handle is not None
    y.value -= 10
    y.watchers[0]({})
    assert view.pixel(view.handle.target)[1] == pytest.approx(y.value)
    leave.watchers[0](None)
    assert view.handle is None


def test_without_ipywidgets_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImportError, match=r"meniscus-sim\[live\]"):
        view_of(monkeypatch)

"""The widget of a live view, through ipywidgets; with ipyevents the mouse drags."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from meniscus._extras import require
from meniscus.viz.live import LiveView
from meniscus.viz.picture import png


def widget_of(view: LiveView) -> Any:
    """Return the widget of a view. Raises ImportError with the way to install ipywidgets."""
    widgets = require("ipywidgets", "live views need")
    try:
        events: Any = importlib.import_module("ipyevents")
    except ImportError:
        events = None
    return LiveWidget(view, widgets, events).box


class LiveWidget:
    """What connects a view with widgets: each event calls a method of the view.

    Args:
        view: the view.
        widgets, events: the modules ipywidgets, and ipyevents or None.

    Attributes:
        box: the widget to show.
    """

    def __init__(self, view: LiveView, widgets: Any, events: Any) -> None:
        self.view = view
        width, height = view._size
        self.image = widgets.Image(value=self._png(), format="png", width=width, height=height)
        self.play = widgets.Play(min=0, max=10**9, interval=max(1, round(1000 / view.rate)), description="run")
        self.play.observe(self.on_tick, names="value")
        controls = [self.play]
        if events is None:
            self.x = widgets.IntSlider(value=width // 2, min=0, max=width - 1, description="x")
            self.y = widgets.IntSlider(value=height // 2, min=0, max=height - 1, description="y")
            take, leave = widgets.Button(description="take hold"), widgets.Button(description="let go")
            take.on_click(lambda _: self.on_mouse({"type": "mousedown", "relativeX": self.x.value, "relativeY": self.y.value}))
            leave.on_click(lambda _: self.on_mouse({"type": "mouseup"}))
            for slider in (self.x, self.y):
                slider.observe(lambda _: self.on_mouse(self._at_sliders()), names="value")
            controls += [self.x, self.y, take, leave]
        else:
            watched = ["mousedown", "mousemove", "mouseup", "mouseleave"]
            self.events = events.Event(source=self.image, watched_events=watched, prevent_default_action=True, wait=16)
            self.events.on_dom_event(self.on_mouse)
        self.box = widgets.VBox([self.image, widgets.HBox(controls)])

    def _at_sliders(self) -> dict[str, Any]:
        return {"type": "mousemove", "relativeX": self.x.value, "relativeY": self.y.value}

    def on_mouse(self, event: dict[str, Any]) -> None:
        """Do what the mouse, or a slider in its place, has done."""
        kind = event.get("type")
        x, y = event.get("relativeX", 0), event.get("relativeY", 0)
        if kind == "mousedown":
            self.view.press(x, y)
        elif kind == "mousemove":
            self.view.drag(x, y)
        elif kind in ("mouseup", "mouseleave"):
            self.view.release()
        self.image.value = self._png()

    def on_tick(self, _: Any) -> None:
        """Show the next frame."""
        self.view.step()
        self.image.value = self._png()

    def _png(self) -> bytes:
        return png(np.asarray(self.view.frame()))

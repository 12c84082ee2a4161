"""Progress of runs in notebooks, and what objects show there."""

from __future__ import annotations

import re
from typing import Any

import pytest

import meniscus as ms
from meniscus import scenes


class Handle:
    def __init__(self, shown: list[str]) -> None:
        self._shown = shown

    def update(self, html: Any) -> None:
        self._shown.append(html.data)


def test_a_notebook_sees_a_bar_that_ends_full(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    shown: list[str] = []

    def show(html: Any, display_id: bool) -> Handle:
        assert display_id
        shown.append(html.data)
        return Handle(shown)

    monkeypatch.setattr(display, "display", show)
    monkeypatch.setattr(scenes, "in_notebook", lambda: True)
    steps: list[int] = []
    scenes.run("swirl", resolution=16, frames=2, on_step=lambda s: steps.append(s.number))
    parts = [float(m[1]) for line in shown if (m := re.search(r'value="([\d.]+)"', line))]
    assert parts[0] == 0.0
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    assert "frame 2 of 2" in shown[-1]
    assert steps == list(range(1, len(steps) + 1))
    before = len(shown)
    scenes.run("swirl", resolution=16, frames=1, progress=False)
    assert len(shown) == before


def test_objects_show_their_parts() -> None:
    solver = ms.fluids.SmokeSolver(ms.Grid((4, 4), 0.25))
    html = solver._repr_html_()
    assert html.startswith("<code>&lt;SmokeSolver 4x4 cells")
    assert '<th style="text-align:left">density</th>' in html
    assert "None" in html  # no vortices
    field = ms.CellField(ms.Grid((4, 4), 0.25))._repr_html_()
    assert field.startswith("<code>&lt;CellField 4x4 cells")

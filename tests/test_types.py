"""Types that editors and mypy see in a script: pictures, bodies, forces, fields, reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.runs.types import mypy

SCRIPT = """
import numpy as np

import meniscus as ms

grid = ms.Grid((8, 8), 0.125)
field = ms.CellField(grid)
velocity = ms.MacField(grid)
mesh = ms.mesh.tet_block(2, 2, 2)
body = ms.solids.DeformableBody(mesh, gravity=(0, 0, -9.81))
elements = body.add(ms.solids.TetElements(mesh, youngs_modulus=1e4))
cloth = ms.mesh.TriangleMesh.read("cloth.obj")
springs = ms.solids.EdgeSprings(cloth, ms.solids.SpringOptions(stiffness=1.0))
smoke = ms.fluids.SmokeSolver(grid)
figure = ms.viz.image(field)
picture = ms.viz.smoke(np.zeros((4, 4, 4)))
reveal_type(figure)  # Figure
reveal_type(figure.savefig("a.png"))  # None
reveal_type(ms.viz.streamlines(velocity, solid=ms.surface.Sphere((0.5, 0.5), 0.1)))  # Figure
reveal_type(ms.viz.surface(mesh.moved(body.positions)))  # Figure
reveal_type(ms.viz.lines([0, 1], {"a": [0, 1]}))  # Figure
reveal_type(ms.viz.contours([0, 1], [0, 1], {"a": field}))  # Figure
reveal_type(ms.viz.liquid2d(ms.surface.LevelSet(grid)))  # Figure
reveal_type(picture)  # Picture
reveal_type(picture.save("a.png"))  # Path
reveal_type(ms.viz.view3d(mesh))  # View
reveal_type(ms.viz.view3d(mesh).picture())  # Picture
reveal_type(body)  # DeformableBody
reveal_type(elements)  # TetElements
reveal_type(elements.stresses(body.positions))  # ndarray
reveal_type(body.forces)  # Force
reveal_type(body.forces[0].energy(body.positions))  # float
reveal_type(springs)  # EdgeSprings
reveal_type(body.step(0.01))  # StepInfo
reveal_type(body.energy()["kinetic"])  # float
reveal_type(body.positions)  # ndarray
reveal_type(body.copy())  # DeformableBody
reveal_type(smoke.density)  # CellField
reveal_type(smoke.step(0.01))  # SmokeReport
reveal_type(smoke.step(0.01).projection.iterations)  # int
reveal_type(cloth.scaled(2.0).check_watertight())  # WatertightReport
"""
MISTAKES = {
    "body.add(mesh)": "type-var",
    'body.step(0.01, "implict-euler")': "arg-type",
    'ms.fluids.TransportOptions(method="macormack")': "arg-type",
    "figure.savfig()": "attr-defined",
    "picture.save(3)": "arg-type",
}


def checked(code: str, folder: Path) -> dict[int, list[str]]:
    """Return what mypy says about the lines of a script."""
    script = folder / "typed_script.py"
    script.write_text(code, encoding="utf-8")
    out = mypy([script], folder, "--strict", "--no-error-summary")
    said: dict[int, list[str]] = {}
    for number, text in re.findall(r"^.*typed_script\.py:(\d+): (.*)$", out, re.MULTILINE):
        said.setdefault(int(number), []).append(text)
    return said


@pytest.mark.slow
def test_a_script_has_types_and_its_mistakes_are_found(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lines = [*SCRIPT.splitlines(), *MISTAKES]
    said = checked("\n".join(lines) + "\n", tmp_path)
    for number, line in enumerate(lines, 1):
        if line.startswith("reveal_type"):
            expected = line.rsplit("# ", 1)[1]
            (revealed,) = said[number]
            assert re.search(rf'Revealed type is ".*\b{expected}\b', revealed), (line, revealed)
            assert "Any" not in revealed or expected == "ndarray", (line, revealed)
    wrong = {lines[n - 1]: texts for n, texts in said.items() if any("error:" in text for text in texts)}
    assert set(wrong) == set(MISTAKES)
    for line, kind in MISTAKES.items():
        assert any(f"[{kind}]" in text for text in wrong[line])

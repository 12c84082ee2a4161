"""The worked examples of CONTRIBUTING: each touches at most five files, and a toy of each does what the example promises.

`tests/cpp/solids/worked_example_test.cpp` follows the compiled part of a force.
"""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pytest
from support.build import same_bits
from support.forces.cases import CASES
from support.forces.checks import CHECKS, Case

import meniscus as ms
from meniscus import scenes
from meniscus._meniscus import grid as _grid
from meniscus._meniscus import solids as _solids
from meniscus.core.state import Arguments
from meniscus.core.stateful import Stateful
from meniscus.grid.fields import ScalarField
from meniscus.grid.transport import advection
from meniscus.scenes import Scene, parameter
from meniscus.scenes.scene import choices_of
from meniscus.solids.force import FLOAT64, Floats, Force

ROOT = Path(__file__).resolve().parents[2]
NEW = {"heat.py", "anchor_springs.hpp", "anchor_springs.cpp", "my_scheme.cpp", "my_scene.py"}
"""Files that the examples add."""


def examples() -> dict[str, list[str]]:
    """The files that each worked example touches."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Five worked examples")[1]
    parts = re.split(r"\n### ", text)[1:]
    return {part.splitlines()[0]: re.findall(r"^- `([^`]+)`", part, re.MULTILINE) for part in parts}


def test_there_are_five() -> None:
    assert list(examples()) == ["A new force", "A new solver", "A new advection scheme", "A new scene", "A new kind of field"]


@pytest.mark.parametrize("name", ["A new force", "A new solver", "A new advection scheme", "A new scene", "A new kind of field"])
def test_an_example_touches_five_files_at_most_and_they_are_there(name: str) -> None:
    files = examples()[name]
    assert 1 <= len(files) <= 5
    for file in files:
        path = ROOT / file
        assert path.parent.is_dir() if path.name in NEW else path.is_file(), file


# --- a force -----------------------------------------------------------------------------------------------------------------


class Push(Force):
    """A toy: the same force on the first nodes of a body."""

    def __init__(self, count: int, push: Floats) -> None:
        nodes = np.arange(count, dtype=np.int32)
        self._make(_solids.PointLoads, nodes, np.ascontiguousarray(np.broadcast_to(np.asarray(push, FLOAT64), (count, 3))))


PUSH = Case(
    "push", lambda: Push(4, np.array([1.0, -2.0, 3.0])), np.random.default_rng(1).normal(size=(6, 3)), internal=False, free_of_drag=False
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__.removeprefix("check_"))
def test_a_force_goes_through_the_battery(check: Any, default_parallelism: None) -> None:
    if check.__name__ in ("check_rotations_turn_the_forces", "check_differential_is_the_derivative_of_forces"):
        pytest.skip("a force that is the same everywhere has no differential and is not turned")
    check(PUSH)


def test_every_force_of_the_package_is_in_the_battery() -> None:
    built = {type(case.build()).__name__ for case in CASES}
    # Those that have modules of tests of their own.
    apart = {
        "FiniteElements",
        "SolidElements",
        "TetElements",
        "TriangleMembrane",
        "RodForce",
        "StripForce",
        "Stiction",
    }
    assert ms.solids.FORCES.keys() - apart <= built


def test_a_force_moves_a_body_and_is_copied_with_it() -> None:
    body = ms.solids.DeformableBody(np.zeros((5, 3)), masses=2.0)
    push = body.add(Push(3, np.array([4.0, 0.0, 0.0])))
    body.step(0.1)
    np.testing.assert_allclose(body.velocities[:, 0], [0.2, 0.2, 0.2, 0.0, 0.0], rtol=1e-12)
    for other in (body.copy(), copy.deepcopy(body), pickle.loads(pickle.dumps(body))):
        other.step(0.1)
        np.testing.assert_allclose(other.velocities[:, 0], [0.4, 0.4, 0.4, 0.0, 0.0], rtol=1e-12)
        assert isinstance(other.forces[0], Push)
        assert other.forces[0] is not push


# --- an advection scheme -----------------------------------------------------------------------------------------------------


def test_a_scheme_is_known_everywhere_once_it_has_a_name() -> None:
    """The choices of solvers, scenes and the command line are those of the `Literal` type, which has the names of the core."""
    names = get_args(advection.Method)
    assert set(names) == set(_grid.advection_schemes())
    for kind in (scenes.Swirl, scenes.Zalesak, scenes.DamBreak):
        assert choices_of(kind)["method"] == names


def test_a_scheme_composes_first_order_passes() -> None:
    """A toy, in Python: the mean of MacCormack's predictor and a pass with half of the correction."""
    grid = ms.Grid((40, 4), 1 / 40, periodic=True)
    velocity = ms.MacField(grid)
    velocity.u = 1.0
    exact = np.sin(2 * np.pi * (np.arange(40) + 0.5) / 40)[:, None] * np.ones((1, 4))

    def carry(field: ms.CellField, dt: float, weight: float) -> ms.CellField:
        forward, back = ms.CellField(grid), ms.CellField(grid)
        ms.grid.semi_lagrangian(field, velocity, dt, out=forward)
        ms.grid.semi_lagrangian(forward, velocity, -dt, out=back)
        forward.array[...] += weight * (field.array - back.array)
        return forward

    errors = {}
    for weight in (0.0, 0.25, 0.5):
        field = ms.CellField(grid)
        field.array = exact
        for _ in range(80):
            field = carry(field, 0.5 / 40, weight)
        errors[weight] = float(np.abs(field.array - exact).mean())
    assert errors[0.5] < 0.2 * errors[0.25] < 0.2 * errors[0.0]
    library = ms.CellField(grid)
    library.array = exact
    for _ in range(80):
        ms.fluids.advect(library, velocity, 0.5 / 40, method="maccormack", limiter="none")
    assert errors[0.5] == pytest.approx(float(np.abs(library.array - exact).mean()), rel=1e-9)


# --- a scene -----------------------------------------------------------------------------------------------------------------

Shade = Literal["pale", "strong"]


@dataclass(kw_only=True)
class Drift(Scene):
    """A toy: dye that drifts through a box."""

    name: ClassVar[str] = "drift"
    summary: ClassVar[str] = "dye that drifts"
    shows: ClassVar[dict[str, str]] = {"dye": "dye"}

    cells: int = parameter(12, "cells per axis")
    shade: Shade = parameter("pale", "of the dye")  # noqa: RUF009
    end: float = parameter(0.5, "length of the run, s")
    frames: int = parameter(3, "frames to write")

    def setup(self) -> None:
        grid = ms.Grid((self.cells, self.cells), 1 / self.cells, periodic=True)
        self.velocity = ms.MacField(grid)
        self.velocity.u = 1.0
        self.dye = self.declare("dye", ms.CellField(grid))
        self.dye.array[2:5, 2:5] = 1.0 if self.shade == "strong" else 0.5
        self.steps = self.declare("steps", 0)

    def max_dt(self) -> float:
        return 0.05

    def advance(self, time: float, dt: float) -> None:
        ms.fluids.advect(self.dye, self.velocity, dt)
        self.steps += 1

    def report(self, time: float) -> dict[str, float]:
        return {"dye": float(self.dye.array.sum()), "steps": float(self.steps)}


def test_a_scene_registers_itself_runs_and_resumes(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    assert scenes.scene.registered[__name__, "drift"] is Drift
    assert "drift" not in scenes.SCENES, "that of a test is none of the package"
    assert choices_of(Drift) == {"shade": ("pale", "strong")}
    whole = scenes.run(Drift(shade="strong"), tmp_path / "whole")
    for frame in scenes.frames(Drift(shade="strong"), tmp_path / "part"):
        if frame.number == 1:
            break
    resumed = scenes.run(Drift(shade="strong"), tmp_path / "part", resume=True)
    assert resumed.diagnostics == whole.diagnostics
    assert whole.diagnostics["steps"] == 12


def test_a_scene_is_copied_and_pickled_with_its_state() -> None:
    scene = Drift(shade="strong")
    assert scene.copy().state == {}
    scene.setup()
    for k in range(3):
        scene.advance(0.05 * k, 0.05)
    for other in (scene.copy(), copy.deepcopy(scene), pickle.loads(pickle.dumps(scene))):
        assert (other.shade, other.steps) == ("strong", 3)
        assert same_bits(other.dye.array, scene.dye.array)
        other.advance(0.15, 0.05)
        assert scene.steps == 3
    assert scene.nbytes > scene.dye.nbytes


def test_the_library_of_scenes_is_whole() -> None:
    files = {p.stem for p in (ROOT / "python/meniscus/scenes/library").rglob("*.py")} - {"__init__", "ghia"}
    assert {name.replace("-", "_") for name in scenes.SCENES} == files
    for kind in scenes.SCENES.values():
        assert getattr(scenes, kind.__name__) is kind
        assert kind.__name__ in scenes.__all__


# --- a kind of field ---------------------------------------------------------------------------------------------------------


class EdgeField(ScalarField):
    """A toy: a scalar at the middles of the edges along an axis."""

    def __init__(self, grid: ms.Grid, axis: int = 0, dtype: Any = np.float64, boundary: Any = None) -> None:
        super().__init__(grid, tuple(int(d != axis) for d in range(grid.dimension)), dtype, boundary)
        self.axis = axis

    def _arguments(self) -> Arguments:
        return (), {**super()._arguments()[1], "axis": self.axis}


def test_a_kind_of_field_has_all_that_fields_have(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = ms.Grid((6, 5, 4)[:dimension], 0.1)
    field = EdgeField(grid, 1, dtype)
    field.array = rng.random(field.shape).astype(dtype)
    assert field.shape == tuple(n + (d != 1) for d, n in enumerate(grid.shape))
    assert field.nbytes >= field.array.nbytes
    before = field.snapshot()
    for other in (field.copy(), copy.deepcopy(field), pickle.loads(pickle.dumps(field))):
        assert same_bits(other.snapshot(), before)
        assert (other.axis, other.dtype) == (1, field.dtype)
        other.array[...] = 0.0
        assert same_bits(field.snapshot(), before)
        other.assign(field)
        assert same_bits(other.snapshot(), before)
    velocity = ms.MacField(grid, dtype)
    velocity.u[1:-1] = 0.5
    ms.fluids.advect(field, velocity, 0.1)
    assert not same_bits(field.snapshot(), before)
    assert np.isfinite(field.array).all()
    field.restore(before)
    assert same_bits(field.snapshot(), before)


def test_a_kind_of_field_is_state_of_a_solver() -> None:
    class Holder(Stateful):
        def __init__(self, grid: ms.Grid) -> None:
            self.current = self.declare("current", EdgeField(grid))

    holder = Holder(ms.Grid((4, 4), 0.25))
    with pytest.raises(ZeroDivisionError), holder.transaction():
        holder.current.array[...] = 1 / 0
    holder.current.array[...] = 2.0
    assert float(holder.copy().current.array.max()) == 2.0

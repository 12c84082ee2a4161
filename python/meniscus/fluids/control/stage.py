"""Controls of a solver, as they act in its step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.control.control import Control, ControlledFluid, GridControl
from meniscus.fluids.particles.faces import mark_open_faces
from meniscus.fluids.pressure.sampled_solid import SampledSolid
from meniscus.grid.fields import CellField, MacField, component_shapes
from meniscus.surface import LevelSet

Bools = npt.NDArray[np.bool_]


class HasControls(Protocol):
    """Solvers with controls."""

    control_stage: ControlStage


class Controls:
    """Attribute of a solver that holds its controls; checked when it is set."""

    def __get__(self, solver: HasControls, owner: type) -> tuple[Control, ...]:
        """Return the controls."""
        return solver.control_stage.controls

    def __set__(self, solver: HasControls, value: Sequence[Control]) -> None:
        """Set the controls. Raises TypeError or ValueError for what is none, and for those that do not fit the grid."""
        solver.control_stage.set_controls(value)


class ControlStage(MemoryOwner):
    """The controls of one velocity; each acts after those before it."""

    borrowed = ("_velocity",)

    def __init__(self, velocity: MacField) -> None:
        self._velocity = velocity
        self._controls: tuple[Control, ...] = ()
        self._on_grid: list[GridControl] = []
        self._masks: list[Bools] = []

    @property
    def controls(self) -> tuple[Control, ...]:
        """The controls."""
        return self._controls

    def set_controls(self, value: Sequence[Control]) -> None:
        """Set the controls. Raises TypeError or ValueError for what is none, and for those that do not fit the grid; nothing changes."""
        grid, controls = self._velocity.grid, tuple(_checks.items("controls", value, Control))  # type: ignore[type-abstract]
        for control in controls:
            if control.dimension != grid.dimension:
                raise ValueError(f"controls must be {grid.dimension}-D like the grid, not {control.dimension}-D")
        self._on_grid = [c._on(grid, self._velocity.dtype) for c in controls]
        self._controls = controls
        self._masks = []

    def count(self, time: float) -> int:
        """Return how many are on at a time, s."""
        return sum(c.force.is_on(time) for c in self._controls)

    def limits(self, time: float) -> tuple[float, float]:
        """Return the largest acceleration, m/s^2, and the largest velocity component, m/s, that those which are on may give."""
        limits = [c.limits(time) for c in self._controls if c.force.is_on(time)]
        return sum(a for a, _ in limits), max((v for _, v in limits), default=0.0)

    def act(
        self,
        dt: float,
        time: float,
        sampled_solid: SampledSolid,
        workspace: Workspace,
        *,
        density: float,
        liquid: LevelSet | None = None,
        smoke: CellField | None = None,
    ) -> tuple[float, ...]:
        """Let those which are on act in the step of dt that begins at a time (s).

        Args:
            dt: s.
            time: s.
            sampled_solid: faces in it keep their velocity.
            workspace: scratch memory.
            density: of the fluid, kg/m^3.
            liquid: that is controlled, or None for a gas.
            smoke: density of that in a gas, or None for a liquid.

        Returns:
            The momentum that the fluid gains on its faces, N s (N s/m in 2-D), one number per axis; nothing without controls.
        """
        if not self._controls:
            return ()
        gained = [0.0] * self._velocity.grid.dimension
        times = [(control, *control.force.while_on(time, dt)) for control in self._on_grid]
        active = [(control, length, end) for control, length, end in times if length > 0.0]
        if not active:
            return tuple(gained)
        solid = sampled_solid.at(time)
        nodes = None if solid is None else solid.levelset
        if liquid is None:
            fluid = ControlledFluid(density=smoke, solid=nodes, faces=None if solid is None else solid.open_faces)
        else:
            if not self._masks:
                self._masks = [np.zeros(s, bool) for s in component_shapes(self._velocity.grid)]
            faces = mark_open_faces(liquid, solid, self._masks)
            field = liquid.field
            assert isinstance(field, CellField)
            fluid = ControlledFluid(levelset=field, solid=nodes, faces=faces)
        for control, length, end in active:
            change = control.act(self._velocity, length, end, fluid, workspace)
            gained = [a + density * b for a, b in zip(gained, change, strict=True)]
        return tuple(gained)

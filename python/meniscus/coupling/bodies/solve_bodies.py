"""Bodies as one solve of a fluid sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.coupling.bodies.soft_forms import NodeForm, SoftSteps
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


def bodies_of_solve(
    fluid: SmokeSolver | LiquidSolver,
    forms: Sequence[PushedForm],
    dt: float,
    motions: Floats,
    carried: Floats,
    held: tuple[Ints, Floats],
    soft: SoftSteps,
    predicted: Floats | None = None,
    added: Floats | None = None,
    given: Floats | None = None,
) -> Any:
    """Return the bodies as a solve over dt seconds sees them.

    Args:
        fluid: that moves them.
        forms: the bodies; those that deform come last.
        dt: s.
        motions, carried: (n, 6) velocities of the bodies and of the fluid that moves with them.
        held: pairs and rows of constraints.
        soft: steps of the bodies that deform.
        predicted: (n, 6), what the pressure is expected to change of the motions, in another solve.
        added: (n, 6, 6), inertia beside that of the bodies.
        given: (n, 6), impulses beside those of gravity.
    """
    n = len(forms)
    impulses, hydrostatic = np.zeros((n, 6)) if given is None else given.copy(), np.zeros((n, 3))
    for i, form in enumerate(forms):
        if form.is_dynamic:
            # Steps of deformable bodies have it themselves.
            impulses[i, :3] += 0.0 if isinstance(form, NodeForm) else dt * form.mass * form.gravity
            if isinstance(fluid, SmokeSolver):
                hydrostatic[i] = form.gravity
    faces = [form.planes() for form in forms]
    free = np.ones(6) if fluid.grid.dimension == 3 else np.array([1.0, 1, 0, 0, 0, 1])
    return _fluids.MovingBodies(
        np.array([form.center for form in forms]).reshape(n, 3),
        np.array([form.mass for form in forms]),
        np.array([form.inertia for form in forms]).reshape(n, 3, 3),
        np.ascontiguousarray(motions),
        np.ascontiguousarray(carried),
        impulses,
        hydrostatic,
        np.concatenate([np.zeros((0, 4)), *faces]),
        np.repeat(np.arange(n, dtype=np.int32), [len(f) for f in faces]),
        *held,
        free,
        np.zeros((n, 6)) if predicted is None else predicted,
        np.zeros((n, 6, 6)) if added is None else added,
        soft.cores,
    )

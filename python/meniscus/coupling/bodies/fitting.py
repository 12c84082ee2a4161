"""Requirements on a fluid and a world whose bodies it moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from meniscus.coupling.bodies.body_forms import BodyForm
from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.coupling.bodies.soft_forms import ReducedForm, SoftForm
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.grid.face_arrays import closing_axes
from meniscus.grid.uniform import Grid
from meniscus.solids import DeformableBody, ReducedBody, RigidBody, World
from meniscus.solids.contact.impulse_solver import ImpulseSolver

_OFF_PLANE = 1e-6  # cells: bodies of a 2-D grid that are farther from its plane are not in it
_ROOM = 4  # cells: what an axis that closes leaves between a body and its image, as their level sets reach so far
_BEYOND = 0.5  # of its length: how much of a body may lie beyond a side of the domain


def fitting_forms(fluid: SmokeSolver | LiquidSolver, world: World, known: Sequence[PushedForm]) -> list[PushedForm]:
    """Return the forms of the bodies of a world in their order, those that are known again. Raises ValueError for what does not fit."""
    if fluid.grid.comm.size > 1:
        raise ValueError("a fluid that moves bodies needs a grid that is not cut among ranks")
    if isinstance(fluid, LiquidSolver) and fluid.options.viscosity:
        raise ValueError("the viscosity of a liquid has no traction on bodies that it moves: it must be 0; that of a SmokeSolver has")
    if isinstance(fluid, LiquidSolver) and fluid.options.air == "fluid":
        raise ValueError('air="fluid" does not go with bodies that the liquid moves: take "open" or "pockets"')
    others = [getattr(other, "body", None) for other in world.others]
    if not all(isinstance(body, ReducedBody) for body in others):
        raise ValueError("a fluid moves rigid, deformable and reduced bodies: the world has some of position based dynamics")
    if (world.bodies or others) and fluid.grid.dimension != 3:
        raise ValueError("a fluid moves deformable bodies in three dimensions only")
    if (world.bodies or others) and fluid.options.viscosity:
        raise ValueError("viscosity has no traction on deformable bodies that a fluid moves: it must be 0")
    if (world.bodies or others) and (not isinstance(world.solver, ImpulseSolver) or world.loop.rewinds):
        raise ValueError('deformable bodies that a fluid moves need a world with response="impulses" and loop="fixed"')
    of_body = {id(form.body): form for form in known}
    forms: list[PushedForm] = []
    for i, body in enumerate([*world.rigid.bodies, *world.bodies, *others]):
        name = f"body {i}"
        made = of_body.get(id(body))
        if made is None and isinstance(body, RigidBody):
            made = BodyForm(body, fluid.grid.dimension, name)
        elif made is None:
            made = ReducedForm(body, name) if isinstance(body, ReducedBody) else SoftForm(cast(DeformableBody, body), name)
        forms.append(made)
    for i, form in enumerate(forms):
        if fluid.grid.dimension == 2:
            _require_in_plane(i, form, fluid.grid)
        _require_inside(i, form, fluid.grid)
    return forms


def _require_in_plane(number: int, form: PushedForm, grid: Grid) -> None:
    if form.is_dynamic and (form.gravity[2] or abs(form.center[2]) > _OFF_PLANE * grid.spacing):
        raise ValueError(f"body {number} must be in the plane z = 0 of the grid, move and fall in it")


def _require_inside(number: int, form: PushedForm, grid: Grid) -> None:
    lower, upper = form.bounds()
    for d in range(grid.dimension):
        length = grid.spacing * grid.shape[d]
        if d in closing_axes(grid):
            if upper[d] - lower[d] > length - _ROOM * grid.spacing:
                raise ValueError(f"body {number} must be shorter than the domain, less four cells, along an axis that closes")
            continue
        beyond = max(grid.origin[d] - lower[d], upper[d] - grid.origin[d] - length)
        if beyond > _BEYOND * (upper[d] - lower[d]):
            raise ValueError(f"body {number} must be in the domain, but lies {beyond:.3g} m beyond a side of axis {d}")

"""Transport of a velocity at nodes, between which its faces persist."""

from __future__ import annotations

from typing import Any, Literal

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._meniscus.grid import AdvectInfo
from meniscus._options import CoreOption
from meniscus.core import Workspace
from meniscus.grid.fields import MacField
from meniscus.grid.transport.advection import (
    FIRST_ORDER_NEAR,
    HIDDEN_VALUE,
    INTERPOLATION,
    LIMITER,
    TRACE,
    TRANSPORT_BLOCK,
    FirstOrderNear,
    Interpolation,
    Limiter,
    Masks,
    Trace,
    component_masks,
    workspace_or_new,
)
from meniscus.grid.transport.walls import ThinWalls

NodeMethod = Literal["semi-lagrangian", "maccormack"]
HiddenNodes = Literal["walls", "mean"]
HIDDEN_NODES = CoreOption(HiddenNodes, _grid.HiddenNodes)


def advect_at_nodes(
    velocity: MacField,
    dt: float,
    *,
    method: NodeMethod = "maccormack",
    trace: Trace = "midpoint",
    interpolation: Interpolation = "linear",
    limiter: Limiter = "reversion",
    first_order_near: FirstOrderNear = "objects",
    active: Masks = None,
    first_order: Masks = None,
    walls: ThinWalls | None = None,
    hidden_nodes: HiddenNodes = "walls",
    time: float = 0.0,
    workspace: Workspace | None = None,
) -> AdvectInfo:
    """Advect a velocity along itself for dt seconds, in place: at the nodes of its grid, whose increments its faces take.

    Nodes have the mean of the faces around them. They are advected, all components along one path where faces have one each, and faces
    take the mean of what the nodes around them gain. So increments alone are smoothed, and a step without motion changes no bit. Afterwards
    faces on walls and on prescribed sides have their given values. The velocity is unchanged if anything is raised.

    Args:
        velocity: m/s.
        dt: seconds, positive, of any size.
        method: 'semi-lagrangian', first order, or 'maccormack', second order; the mean over nodes is of second order.
        trace, interpolation, limiter, first_order_near: as in `advect`.
        active: bool masks of the faces to advect, one per component; the others keep their value.
        first_order: bool masks of faces; nodes beside them leave out the correction.
        walls: thin walls, where they are at the start of the step. Nodes near them have the mean of the faces that they see, else of the
            velocities of the walls between; they come from where two straight ways lead, first order; faces take what nodes gain that they
            see, and where they see none, the velocity of the walls between replaces theirs.
        hidden_nodes: what nodes behind a wall count as in the interpolation: 'walls', the velocity of the wall, or the 'mean' of the
            visible ones.
        time: at the start of the step, s; passed to boundary functions.
        workspace: scratch memory to reuse from call to call.

    Returns:
        AdvectInfo with `cfl` (largest |component| dt / spacing).

    Raises:
        TypeError, ValueError: as `advect`; another method.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.2; MacCormack's correction and the limiters are of Selle 2008, chapter 2.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    options = _grid.AdvectOptions(
        _checks.choice("method", method, NodeMethod),
        _grid.PassOptions(
            TRANSPORT_BLOCK("block", "semi-lagrangian"), TRACE("trace", trace), INTERPOLATION("interpolation", interpolation)
        ),
        LIMITER("limiter", limiter),
        FIRST_ORDER_NEAR("first_order_near", first_order_near),
        HIDDEN_VALUE("hidden_value", "mean"),
        _checks.number("time", time),
    )
    given = {"active": active, "first_order": first_order}
    by_name = {name: component_masks(name, m, velocity) for name, m in given.items()}
    masks = [_grid.ScalarMasks(**{n: m[d] for n, m in by_name.items() if m is not None}) for d in range(velocity.grid.dimension)]
    core: Any = _grid  # overloaded over dimension and scalar
    return core.advect_at_nodes(  # type: ignore[no-any-return]
        velocity._core,
        _checks.positive("dt", dt),
        options,
        masks,
        workspace_or_new(workspace),
        None if walls is None else _checks.one_of_type("walls", walls, ThinWalls)._core,
        HIDDEN_NODES("hidden_nodes", hidden_nodes),
    )

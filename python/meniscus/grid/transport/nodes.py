"""Transport of a velocity at nodes, between which its faces persist."""

from __future__ import annotations

from typing import Literal

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._meniscus.grid import AdvectInfo
from meniscus._options import CoreOption
from meniscus.core import Workspace
from meniscus.grid.fields import MacField
from meniscus.grid.transport.advection import (
    FIRST_ORDER_NEAR,
    INTERPOLATION,
    LIMITER,
    TRACE,
    TRANSPORT_BLOCK,
    FirstOrderNear,
    Interpolation,
    Limiter,
    Trace,
    workspace_or_new,
)
from meniscus.grid.transport.visibility import HIDDEN_VALUE, Visibility

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
    visibility: Visibility | None = None,
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
        visibility: `active` faces are advected, the others keep their value; nodes beside `first_order` faces leave out the correction.
            Nodes near `walls` have the mean of the faces that they see, else of the velocities of the walls between; they come from where
            two straight ways lead, first order; faces take what nodes gain that they see, and where they see none, the velocity of the
            walls between replaces theirs. Nodes have no other visibility.
        hidden_nodes: what nodes behind a wall count as in the interpolation: 'walls', the velocity of the wall, or the 'mean' of the
            visible ones.
        time: at the start of the step, s; passed to boundary functions.
        workspace: scratch memory to reuse from call to call.

    Returns:
        AdvectInfo with `cfl` (largest |component| dt / spacing).

    Raises:
        TypeError, ValueError: as `advect`; another method; `visible`, `hidden_value` or `replacement` of the visibility.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 4.2; MacCormack's correction and the limiters are of Selle 2008, chapter 2.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    seen = Visibility() if visibility is None else _checks.one_of_type("visibility", visibility, Visibility)
    if seen.visible is not None or seen.hidden_value != "mean" or seen.replacement is not None:
        raise ValueError("transport at nodes goes with active, first_order and walls of a visibility only")
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
    return _grid.advect_at_nodes(
        velocity._core,
        _checks.positive("dt", dt),
        options,
        seen.masks_of(velocity),
        workspace_or_new(workspace),
        seen.core_walls(),
        HIDDEN_NODES("hidden_nodes", hidden_nodes),
    )

"""Schemes of transport that options of solvers name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.grid.fields import MacField
from meniscus.grid.transport.advection import FirstOrderNear, Interpolation, Limiter, Trace, advect
from meniscus.grid.transport.nodes import HiddenNodes, NodeMethod, advect_at_nodes
from meniscus.grid.transport.visibility import Visibility

TransportMethod = Literal["upwind", "semi-lagrangian", "bfecc", "maccormack", "flow-map"]
"""Those of `advect`, and 'flow-map', which carries a velocity along the paths of several steps; see `flows.flow_map.FlowMap`."""
VelocitySamples = Literal["faces", "nodes"]
"""Where a velocity is carried along itself."""


@dataclass(frozen=True, kw_only=True)
class TransportOptions:
    """Schemes by which a solver carries its fields.

    Attributes:
        method, trace, interpolation, limiter, first_order_near: as in `advect`; or method='flow-map', for smoke on one rank and
            without shells: the velocity is interpolated once in `map_steps` steps, by Catmull and Rom's cubics, along paths of its own;
            smoke and heat are carried by 'maccormack'.
        map_steps: length of a flow map.
        velocity_samples: where the velocity is carried along itself: on its 'faces', each component by itself, or at 'nodes', all along one
            path, whose increments the faces then take ('semi-lagrangian' and 'maccormack' only; see `advect_at_nodes`).
    """

    method: TransportMethod = "maccormack"
    trace: Trace = "midpoint"
    interpolation: Interpolation = "linear"
    limiter: Limiter = "reversion"
    first_order_near: FirstOrderNear = "objects"
    velocity_samples: VelocitySamples = "faces"
    map_steps: int = 2

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        _checks.integer("map_steps", self.map_steps, 1)
        if self.velocity_samples == "nodes" and self.method not in get_args(NodeMethod):
            raise ValueError(f"velocity_samples='nodes' goes with the methods {', '.join(get_args(NodeMethod))}, not with {self.method!r}")


def transport_schemes(options: TransportOptions) -> dict[str, Any]:
    """Return the schemes as arguments of `advect`."""
    return {
        "method": "maccormack" if options.method == "flow-map" else options.method,
        "trace": options.trace,
        "interpolation": options.interpolation,
        "limiter": options.limiter,
        "first_order_near": options.first_order_near,
    }


def carry_velocity(
    velocity: MacField,
    dt: float,
    options: TransportOptions,
    *,
    visibility: Visibility | None = None,
    hidden_nodes: HiddenNodes = "walls",
    time: float,
    workspace: Workspace,
    by: MacField | None = None,
) -> None:
    """Let a velocity carry itself for dt seconds at the samples that the options name, in place; other arguments as for `advect`.

    With `by`, that velocity carries it, on its faces.
    """
    schemes = {**transport_schemes(options), "visibility": visibility, "time": time, "workspace": workspace}
    if options.velocity_samples == "nodes":
        advect_at_nodes(velocity, dt, hidden_nodes=hidden_nodes, **schemes)
    else:
        advect(velocity, velocity if by is None else by, dt, **schemes)

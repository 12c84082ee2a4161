"""Schemes of transport that options of solvers name."""

from __future__ import annotations

from typing import Any, Literal, Protocol, get_args

from meniscus.core import Workspace
from meniscus.grid.fields import MacField
from meniscus.grid.transport.advection import FirstOrderNear, Interpolation, Limiter, Method, Trace, advect
from meniscus.grid.transport.nodes import HiddenNodes, NodeMethod, advect_at_nodes
from meniscus.grid.transport.visibility import Visibility

VelocitySamples = Literal["faces", "nodes"]
"""Where a velocity is carried along itself."""


class TransportOptions(Protocol):
    """Options of a solver that advects fields."""

    @property
    def method(self) -> Method: ...  # noqa: D102
    @property
    def trace(self) -> Trace: ...  # noqa: D102
    @property
    def interpolation(self) -> Interpolation: ...  # noqa: D102
    @property
    def limiter(self) -> Limiter: ...  # noqa: D102
    @property
    def first_order_near(self) -> FirstOrderNear: ...  # noqa: D102
    @property
    def velocity_samples(self) -> VelocitySamples: ...  # noqa: D102


def transport_schemes(options: TransportOptions) -> dict[str, Any]:
    """Return the schemes as arguments of `advect`."""
    return {
        "method": options.method,
        "trace": options.trace,
        "interpolation": options.interpolation,
        "limiter": options.limiter,
        "first_order_near": options.first_order_near,
    }


def require_node_method(options: TransportOptions) -> None:
    """Raise ValueError where velocities are carried at nodes by a method that does not go with them."""
    if options.velocity_samples == "nodes" and options.method not in get_args(NodeMethod):
        raise ValueError(f"velocity_samples='nodes' goes with the methods {', '.join(get_args(NodeMethod))}, not with {options.method!r}")


def carry_velocity(
    velocity: MacField,
    dt: float,
    options: TransportOptions,
    *,
    visibility: Visibility | None = None,
    hidden_nodes: HiddenNodes = "walls",
    time: float,
    workspace: Workspace,
) -> None:
    """Let a velocity carry itself for dt seconds at the samples that the options name, in place; other arguments as for `advect`."""
    schemes = {**transport_schemes(options), "visibility": visibility, "time": time, "workspace": workspace}
    if options.velocity_samples == "nodes":
        advect_at_nodes(velocity, dt, hidden_nodes=hidden_nodes, **schemes)
    else:
        advect(velocity, velocity, dt, **schemes)

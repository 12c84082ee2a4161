"""Schemes of transport that options of solvers name."""

from __future__ import annotations

from typing import Any, Protocol

from meniscus.grid.transport.advection import FirstOrderNear, Interpolation, Limiter, Method, Trace


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


def transport_schemes(options: TransportOptions) -> dict[str, Any]:
    """Return the schemes as arguments of `advect`."""
    return {
        "method": options.method,
        "trace": options.trace,
        "interpolation": options.interpolation,
        "limiter": options.limiter,
        "first_order_near": options.first_order_near,
    }

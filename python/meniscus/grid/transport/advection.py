"""Transport of fields along a velocity."""

from __future__ import annotations

from typing import Literal

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._meniscus.grid import AdvectInfo
from meniscus._options import CoreOption, require_same_names
from meniscus.core import Workspace
from meniscus.grid.fields import MacField, ScalarField
from meniscus.grid.transport.visibility import HIDDEN_VALUE, Visibility

TransportBlock = Literal["semi-lagrangian", "upwind"]
Method = Literal["upwind", "semi-lagrangian", "bfecc", "maccormack"]
Trace = Literal["euler", "midpoint", "rk3"]
Interpolation = Literal["linear", "cubic", "catmull-rom"]
Limiter = Literal["none", "clamp", "reversion"]
FirstOrderNear = Literal["nothing", "objects", "walls"]

require_same_names(Method, _grid.advection_schemes(), "the schemes of advection")
TRANSPORT_BLOCK = CoreOption(TransportBlock, _grid.TransportBlock)
TRACE = CoreOption(Trace, _grid.Trace)
INTERPOLATION = CoreOption(Interpolation, _grid.Interpolation)
LIMITER = CoreOption(Limiter, _grid.Limiter)
FIRST_ORDER_NEAR = CoreOption(FirstOrderNear, _grid.FirstOrderNear)


def advect(
    field: ScalarField | MacField,
    velocity: MacField,
    dt: float,
    *,
    method: Method = "maccormack",
    block: TransportBlock = "semi-lagrangian",
    trace: Trace = "midpoint",
    interpolation: Interpolation = "linear",
    limiter: Limiter = "reversion",
    first_order_near: FirstOrderNear = "objects",
    visibility: Visibility | None = None,
    time: float = 0.0,
    workspace: Workspace | None = None,
) -> AdvectInfo:
    """Advect a field along a velocity for dt seconds, in place: d(field)/dt + velocity . grad(field) = 0.

    `field` may be the velocity itself. It is unchanged if anything is raised. After the advection of a velocity, its faces on walls and on
    prescribed sides have their given values.

    Args:
        field: any scalar field, or a velocity, each component of which is advected from its own faces.
        velocity: same grid and dtype. It is frozen during the step.
        dt: seconds, positive; of any size for semi-Lagrangian blocks. Upwind blocks take substeps beyond their limit.
        method: 'semi-lagrangian' or 'upwind', first order; 'bfecc' or 'maccormack', second order, built on a `block`.
        block: the first-order scheme inside 'bfecc' and 'maccormack'.
        trace: integration of semi-Lagrangian characteristics: 'euler' (straight), 'midpoint' or 'rk3'.
        interpolation: 'linear'; 'cubic' (monotone); or 'catmull-rom', of third order, also at extremes, which it may exceed.
        limiter: treatment of corrected values outside of the range of the samples that the first pass used: 'none', 'clamp', or 'reversion'
            to the first-order value.
        first_order_near: places where the correction is left out: 'nothing', 'objects' (within CFL * spacing of hidden samples), or 'walls'
            (also of sides of the domain that are neither periodic nor prescribed).
        visibility: masks of samples, and thin walls: samples whose ways or stencils may meet them are traced and interpolated on their own
            side, first order; for semi-Lagrangian blocks. None: all samples see each other.
        time: at the start of the step, s; passed to boundary functions.
        workspace: scratch memory to reuse from call to call.

    Returns:
        AdvectInfo with `cfl` (largest |component| dt / spacing) and `substeps`.

    Raises:
        TypeError: wrong type or dtype of an argument.
        ValueError: unknown option, wrong shape, different grids, dt not positive and finite, samples that are NaN or infinite.

    Source: Selle 2008, sections 2.2 to 2.4 (schemes), 2.7 and 2.9 (limiters, first order near walls), 4.4.1 (thin walls).
    """
    _require_pair(field, velocity)
    seen = Visibility() if visibility is None else _checks.one_of_type("visibility", visibility, Visibility)
    options = _grid.AdvectOptions(
        _checks.choice("method", method, Method),
        _pass_options(block, trace, interpolation),
        LIMITER("limiter", limiter),
        FIRST_ORDER_NEAR("first_order_near", first_order_near),
        HIDDEN_VALUE("hidden_value", seen.hidden_value),
        _checks.number("time", time),
    )
    return _grid.advect(
        field._core,
        velocity._core,
        _checks.positive("dt", dt),
        options,
        seen.masks_of(field),
        workspace_or_new(workspace),
        seen.core_walls(),
        None if seen.replacement is None else _checks.number("replacement", seen.replacement),
    )


def semi_lagrangian(
    field: ScalarField,
    velocity: MacField,
    dt: float,
    *,
    out: ScalarField,
    lower: ScalarField | None = None,
    upper: ScalarField | None = None,
    trace: Trace = "midpoint",
    interpolation: Interpolation = "linear",
    time: float = 0.0,
) -> None:
    """Run a single semi-Lagrangian pass into `out`, the block that `advect` is built on; dt may be zero or negative.

    Args:
        field: source.
        velocity: same grid and dtype.
        dt: seconds; a negative one is the reverse of the pass.
        out: gets the result; same grid, kind and dtype as `field`, but not `field` itself.
        lower: gets the smallest of the samples that each value was interpolated from, if given.
        upper: gets the largest of them, if given.
        trace: as in `advect`.
        interpolation: as in `advect`.
        time: as in `advect`.

    Raises:
        TypeError, ValueError: as `advect`.

    Source: Selle 2008, section 2.3.
    """
    _first_order_pass(field, velocity, dt, _pass_options("semi-lagrangian", trace, interpolation), time, out, lower, upper)


def upwind(
    field: ScalarField,
    velocity: MacField,
    dt: float,
    *,
    out: ScalarField,
    lower: ScalarField | None = None,
    upper: ScalarField | None = None,
    time: float = 0.0,
) -> None:
    """Run a single first-order upwind pass into `out`; |dt| sum |V_d| <= spacing, else ValueError. Arguments as `semi_lagrangian`.

    Source: Selle 2008, section 2.2; its equation (2.3) has the two differences swapped, this is the stable form.
    """
    _first_order_pass(field, velocity, dt, _pass_options("upwind", "euler", "linear"), time, out, lower, upper)


def max_speed(velocity: MacField) -> float:
    """Return the largest magnitude of any component on its faces, m/s; infinite if one is NaN or infinite."""
    return float(_grid.max_component_speed(_checks.one_of_type("velocity", velocity, MacField)._core))


def workspace_or_new(workspace: Workspace | None) -> Workspace:
    """Return the caller's scratch memory, or some for one call."""
    return Workspace() if workspace is None else _checks.one_of_type("workspace", workspace, Workspace)


def _require_pair(field: ScalarField | MacField, velocity: MacField) -> None:
    _checks.one_of_type("field", field, (ScalarField, MacField))
    _checks.one_of_type("velocity", velocity, MacField)
    if field.grid != velocity.grid:
        raise ValueError(f"field and velocity must have the same grid, not {field.grid} and {velocity.grid}")
    if field.dtype != velocity.dtype:
        raise TypeError(f"field and velocity must have the same dtype, not {field.dtype} and {velocity.dtype}")


def _pass_options(block: TransportBlock, trace: Trace, interpolation: Interpolation) -> _grid.PassOptions:
    return _grid.PassOptions(
        TRANSPORT_BLOCK("block", block),
        TRACE("trace", trace),
        INTERPOLATION("interpolation", interpolation),
    )


def _first_order_pass(
    field: ScalarField,
    velocity: MacField,
    dt: float,
    options: _grid.PassOptions,
    time: float,
    out: ScalarField,
    lower: ScalarField | None,
    upper: ScalarField | None,
) -> None:
    _checks.one_of_type("field", field, ScalarField)
    _require_pair(field, velocity)
    targets = {"out": out} | {n: f for n, f in (("lower", lower), ("upper", upper)) if f is not None}
    for name, target in targets.items():
        _checks.one_of_type(name, target, ScalarField)
        if target.dtype != field.dtype:
            raise TypeError(f"{name} must have the dtype of the field, {field.dtype}, not {target.dtype}")
        if target.grid != field.grid or target.on_side != field.on_side:
            raise ValueError(f"{name} must have the grid and the sample location of the field")
        if target is field:
            raise ValueError(f"{name} must not be the field itself")
    if len({id(t) for t in targets.values()}) != len(targets):
        raise ValueError("out, lower and upper must be different fields")
    _grid.first_order_pass(
        field._core,
        velocity._core,
        _checks.number("dt", dt),
        options,
        _checks.number("time", time),
        out._core,
        lower._core if lower is not None else None,
        upper._core if upper is not None else None,
    )

"""Plain references for boundary continuation, interpolation and transport, in NumPy and double precision.

There are no ghost layers here: fields are widened by as many samples as a test needs, layer by layer, from the boundary conditions, and
then everything is ordinary indexing.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import meniscus as ms

Given = Callable[[np.ndarray, float], np.ndarray]


@dataclass(frozen=True)
class Rule:
    """Continuation of one scalar beyond one side: 'clamp', 'even', 'odd' (around given values on the side) or 'value'."""

    kind: str
    given: Given | None = None


def rule_of(condition: Any, component: int | None, axis: int, dimension: int) -> Rule:
    """Return the rule of a condition for a scalar (component None) or for a velocity component, at a side across `axis`."""
    if isinstance(condition, (ms.Open, ms.ZeroGradient)):
        return Rule("clamp")
    if isinstance(condition, ms.Wall):
        if component is None or (component != axis and condition.slip == "free"):
            return Rule("even")
        velocity = (0.0,) * dimension if condition.velocity is None else condition.velocity
        return Rule("odd", _given(velocity, component))
    return Rule("value", _given(condition.value, component))


def _given(value: Any, component: int | None) -> Given:
    if callable(value):
        if component is None:
            return lambda x, t: np.broadcast_to(value(x, t), (len(x),))
        return lambda x, t: np.broadcast_to(value(x, t), x.shape)[:, component]
    constant = value if component is None else value[component]
    return lambda x, t: np.full(len(x), float(constant))


@dataclass(frozen=True)
class Wide:
    """Samples around an owned block: `samples[pad + i, ...]` is sample i."""

    samples: np.ndarray
    pad: int
    on_side: tuple[int, ...]

    def window(self, start: Sequence[int], shape: Sequence[int]) -> np.ndarray:
        """Samples start[d] <= i < start[d] + shape[d]."""
        return self.samples[tuple(slice(self.pad + s, self.pad + s + n) for s, n in zip(start, shape, strict=True))]


def widen(samples: np.ndarray, grid: ms.Grid, on_side: Sequence[int], rules: dict[tuple[int, int], Rule], time: float, pad: int) -> Wide:
    """Continue samples by `pad` layers on every side. `rules` by (axis, upper). First the first axis, corners from it by the next."""
    a = np.asarray(samples)
    if a.dtype != bool:
        a = a.astype(np.float64)
    for axis in range(grid.dimension):
        n, cells = a.shape[axis], grid.shape[axis]
        if grid.periodic[axis]:
            index = np.arange(-pad, n + pad) % cells
            if on_side[axis]:
                index[index == 0] = cells
            a = np.take(a, index, axis=axis)
            continue
        layers: dict[int, np.ndarray] = {i: np.take(a, i, axis=axis) for i in range(n)}
        for depth in range(1, pad + 1):
            for upper in (0, 1):
                i = n - 1 + depth if upper else -depth
                layers[i] = _layer(layers, i, n, axis, upper, grid, on_side, rules[axis, upper], time, pad)
        a = np.stack([layers[i] for i in range(-pad, n + pad)], axis=axis)
    return Wide(a, pad, tuple(on_side))


def _layer(
    layers: dict[int, np.ndarray],
    i: int,
    n: int,
    axis: int,
    upper: int,
    grid: ms.Grid,
    on_side: Sequence[int],
    rule: Rule,
    time: float,
    pad: int,
) -> np.ndarray:
    if rule.kind == "clamp":
        return layers[n - 1 if upper else 0]
    half = 0.5 * (1 - on_side[axis])
    side = grid.shape[axis] if upper else 0.0
    image = layers[round(2 * (side - half) - i)]
    if rule.kind == "even":
        return image
    at = []
    for d in range(grid.dimension):
        if d == axis:
            q = np.array([side if rule.kind == "odd" else i + half])
        else:
            m = grid.shape[d] + on_side[d]
            q = np.arange(-pad, m + pad) if d < axis else np.arange(m)
            q = q + 0.5 * (1 - on_side[d])
        at.append(grid.origin[d] + grid.spacing * q)
    x = np.stack([c.ravel() for c in np.meshgrid(*at, indexing="ij")], axis=1)
    given = rule.given(x, time).reshape(image.shape)  # type: ignore[misc]
    return given if rule.kind == "value" else 2 * given - image


def rules_for(field: Any, component: int | None = None) -> dict[tuple[int, int], Rule]:
    """The rules of a scalar field, or of a component of a velocity."""
    dimension = field.grid.dimension
    return {
        (axis, upper): rule_of(field.boundary["xyz"[axis] + "-+"[upper]], component, axis, dimension)
        for axis in range(dimension)
        for upper in (0, 1)
    }


def wide_scalar(field: Any, time: float, pad: int, samples: np.ndarray | None = None) -> Wide:
    """A scalar field (or other samples in its place), continued."""
    return widen(field.array if samples is None else samples, field.grid, field.on_side, rules_for(field), time, pad)


def wide_component(velocity: ms.MacField, d: int, time: float, pad: int, samples: np.ndarray | None = None) -> Wide:
    """One component of a velocity (or other samples in its place), continued."""
    on_side = tuple(int(a == d) for a in range(velocity.grid.dimension))
    return widen(velocity.component(d) if samples is None else samples, velocity.grid, on_side, rules_for(velocity, d), time, pad)


def wide_mask(mask: np.ndarray, grid: ms.Grid, on_side: Sequence[int], rules: dict[tuple[int, int], Rule], pad: int) -> Wide:
    """A visibility mask continues as its field does; there is nothing to hide beyond sides with given values."""
    plain = {
        key: Rule("even") if rule.kind == "odd" else Rule("value", lambda x, t: np.ones(len(x))) if rule.kind == "value" else rule
        for key, rule in rules.items()
    }
    return widen(mask, grid, on_side, plain, 0.0, pad)


def stencil(wide: Wide, shape: Sequence[int], moved: Sequence[np.ndarray], reach: range) -> tuple[dict, list[np.ndarray]]:
    """Samples around sample + moved (in cells), by offset from the cell's lowest corner, and the position in the cell."""
    cell = [np.floor(m).astype(int) for m in moved]
    fraction = [m - c for m, c in zip(moved, cell, strict=True)]
    base = np.meshgrid(*[np.arange(n) for n in shape], indexing="ij")
    values = {}
    for q in itertools.product(reach, repeat=len(shape)):
        index = tuple(b + c + o + wide.pad for b, c, o in zip(base, cell, q, strict=True))
        for d, i in enumerate(index):
            assert i.min() >= 0, "the reference was not widened enough"
            assert i.max() < wide.samples.shape[d], "the reference was not widened enough"
        values[q] = wide.samples[index]
    return values, fraction


def linear(corners: dict, fraction: Sequence[np.ndarray]) -> np.ndarray:
    """Multilinear interpolation as a weighted sum."""
    return sum(weight(q, fraction) * v for q, v in corners.items())


def weight(q: Sequence[int], fraction: Sequence[np.ndarray]) -> np.ndarray:
    """Weight of corner q."""
    return np.prod([f if o else 1 - f for o, f in zip(q, fraction, strict=True)], axis=0)


def cubic_1d(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, t: np.ndarray, monotone: bool = True) -> np.ndarray:
    """Hermite cubic between b and c with central slopes; monotone: these are cut to [0, 3] differences."""
    delta = c - b

    def slope(s: np.ndarray) -> np.ndarray:
        return np.where(s * delta > 0, np.sign(delta) * np.minimum(np.abs(s), 3 * np.abs(delta)), 0.0) if monotone else s

    left, right = slope((c - a) / 2), slope((d - b) / 2)
    hermite = (1 + 2 * t) * (1 - t) ** 2 * b + t * (1 - t) ** 2 * left + t**2 * (3 - 2 * t) * c - t**2 * (1 - t) * right
    return np.clip(hermite, np.minimum(b, c), np.maximum(b, c)) if monotone else hermite


def cubic(values: dict, fraction: Sequence[np.ndarray], monotone: bool = True) -> np.ndarray:
    """Cubic along the last axis first."""
    while len(next(iter(values))) > 0:
        axis = len(next(iter(values))) - 1
        rest = {q[:-1] for q in values}
        values = {q: cubic_1d(*[values[(*q, o)] for o in (-1, 0, 1, 2)], fraction[axis], monotone) for q in rest}
    return values[()]


def interpolate(
    wide: Wide, shape: Sequence[int], moved: Sequence[np.ndarray], interpolation: str = "linear"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values at sample + moved, and the extremes of the corners of their cells."""
    corners, fraction = stencil(wide, shape, moved, range(2))
    low, high = np.minimum.reduce(list(corners.values())), np.maximum.reduce(list(corners.values()))
    if interpolation == "linear":
        return linear(corners, fraction), low, high
    return cubic(stencil(wide, shape, moved, range(-1, 3))[0], fraction, interpolation == "cubic"), low, high


def interpolate_hidden(
    wide: Wide,
    visible: Wide,
    own: np.ndarray,
    moved: Sequence[np.ndarray],
    interpolation: str,
    hidden_value: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `interpolate`, with hidden corners replaced."""
    corners, fraction = stencil(wide, own.shape, moved, range(2))
    seen, _ = stencil(visible, own.shape, moved, range(2))
    total = sum(np.where(seen[q], weight(q, fraction), 0.0) for q in corners)
    weighted = sum(np.where(seen[q], weight(q, fraction) * corners[q], 0.0) for q in corners)
    count = sum(seen[q].astype(int) for q in corners)
    plain = sum(np.where(seen[q], corners[q], 0.0) for q in corners)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(total > 0, weighted / total, plain / count)
    stand_in = np.where(count > 0, mean, own) if hidden_value == "mean" else own
    filled = {q: np.where(seen[q], corners[q], stand_in) for q in corners}
    low, high = np.minimum.reduce(list(filled.values())), np.maximum.reduce(list(filled.values()))
    value = linear(filled, fraction)
    if interpolation == "cubic":
        clear = np.logical_and.reduce(list(stencil(visible, own.shape, moved, range(-1, 3))[0].values()))
        value = np.where(clear, cubic(stencil(wide, own.shape, moved, range(-1, 3))[0], fraction), value)
    return value, low, high


def backtrace(velocity: Sequence[Wide], on_side: Sequence[int], shape: Sequence[int], dt_over_h: float, trace: str) -> list[np.ndarray]:
    """Displacements, in cells, from samples to where they were dt ago."""

    def at(moved: Sequence[Any]) -> list[np.ndarray]:
        result = []
        for component in velocity:
            shift = [0.5 * (component.on_side[d] - on_side[d]) for d in range(len(shape))]
            full = [np.broadcast_to(m + s, shape) for m, s in zip(moved, shift, strict=True)]
            result.append(interpolate(component, shape, full)[0])
        return result

    k1 = at([0.0] * len(shape))
    if trace == "euler":
        return [-dt_over_h * v for v in k1]
    k2 = at([-0.5 * dt_over_h * v for v in k1])
    if trace == "midpoint":
        return [-dt_over_h * v for v in k2]
    k3 = at([-0.75 * dt_over_h * v for v in k2])
    return [-dt_over_h * (2 * a + 3 * b + 4 * c) / 9 for a, b, c in zip(k1, k2, k3, strict=True)]


@dataclass
class Transport:
    """The passes of one scalar along a frozen velocity."""

    samples: np.ndarray
    on_side: tuple[int, ...]
    rules: dict[tuple[int, int], Rule]
    velocity: ms.MacField
    dt: float
    time: float = 0.0
    trace: str = "midpoint"
    interpolation: str = "linear"
    pad: int = 8
    visible: np.ndarray | None = None
    hidden_value: str = "mean"

    def _pass(self, samples: np.ndarray, time: float, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        grid = self.velocity.grid
        wide = widen(samples, grid, self.on_side, self.rules, time, self.pad)
        speeds = [wide_component(self.velocity, d, self.time, self.pad) for d in range(grid.dimension)]
        moved = backtrace(speeds, self.on_side, samples.shape, dt / grid.spacing, self.trace)
        if self.visible is None:
            return interpolate(wide, samples.shape, moved, self.interpolation)
        mask = wide_mask(self.visible, grid, self.on_side, self.rules, self.pad)
        return interpolate_hidden(wide, mask, samples, moved, self.interpolation, self.hidden_value)

    def first_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Semi-Lagrangian result and the extremes of its sources."""
        return self._pass(np.asarray(self.samples, np.float64), self.time, self.dt)

    def corrected(self, method: str, limiter: str) -> np.ndarray:
        """BFECC or MacCormack (Selle 2008, section 2.4) with a limiter (2.7)."""
        phi = np.asarray(self.samples, np.float64)
        forward, low, high = self._pass(phi, self.time, self.dt)
        back = self._pass(forward, self.time + self.dt, -self.dt)[0]
        change = (phi - back) / 2
        value = forward + change if method == "maccormack" else self._pass(phi + change, self.time, self.dt)[0]
        if limiter == "clamp":
            return np.clip(value, low, high)
        if limiter == "reversion":
            return np.where((value >= low) & (value <= high), value, forward)
        return value


def transport_of(field: Any, velocity: ms.MacField, dt: float, component: int | None = None, **options: Any) -> Transport:
    """The reference for carrying a scalar field, or one component of a velocity."""
    if component is None:
        samples, on_side = field.array, field.on_side
    else:
        samples = field.component(component)
        on_side = tuple(int(a == component) for a in range(field.grid.dimension))
    return Transport(samples.copy(), on_side, rules_for(field, component), velocity, dt, **options)


def upwind(wide: Wide, speeds: Sequence[np.ndarray], dt_over_h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One-sided differences (Selle 2008, section 2.2, in the stable form), and the extremes of the samples that have a part in it."""
    shape = speeds[0].shape
    own = wide.window([0] * len(shape), shape)
    value, low, high = own.copy(), own.copy(), own.copy()
    for d, v in enumerate(speeds):
        behind = wide.window([-int(a == d) for a in range(len(shape))], shape)
        ahead = wide.window([int(a == d) for a in range(len(shape))], shape)
        backward = dt_over_h * v > 0
        value -= dt_over_h * np.where(backward, v * (own - behind), v * (ahead - own))
        used = np.where(v == 0, own, np.where(backward, behind, ahead))
        low, high = np.minimum(low, used), np.maximum(high, used)
    return value, low, high

"""Masks of transport: samples that are carried, samples that are hidden, and samples without correction."""

from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, random_scalar, random_velocity, same_bits
from support.reference import transport_of
from support.variants import SLOW_IN_SINGLE, slow

import meniscus as ms
from meniscus.grid import Visibility, advect

METHODS = ["upwind", "semi-lagrangian", "bfecc", "maccormack"]
SHAPES = {2: (13, 11), 3: (9, 8, 7)}
DOMAINS: dict[str, Any] = {
    "walls": (False, None),
    "periodic": (True, None),
    "open": (False, ms.Open()),
    "prescribed": (False, ms.Prescribed(0.5)),
    "mixed": ((True, False, False), {"y-": ms.Prescribed(lambda x, t: x[:, 0]), "y+": ms.Wall()}),
}


def problem(domain: str, dimension: int, dtype: type, seed: int, shape: Any = None) -> tuple[Any, ms.MacField]:
    periodic, boundary = DOMAINS[domain]
    rng = np.random.default_rng(seed)
    g = grid_of(dimension, shape=shape or SHAPES[dimension], periodic=periodic if isinstance(periodic, bool) else periodic[:dimension])
    return random_scalar("cell", g, dtype, rng, boundary), random_velocity(g, dtype, rng, ms.Open())


def block_mask(shape: tuple[int, ...], part: float = 0.3, seed: int = 3) -> np.ndarray:
    """Random hidden samples, and a solid block in the middle."""
    mask = np.random.default_rng(seed).random(shape) >= part
    mask[tuple(slice(n // 3, n // 3 + 3) for n in shape)] = False
    return mask


@pytest.mark.parametrize("method", METHODS)
def test_inactive_samples_keep_their_bits(method: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for domain in ("walls", "periodic"):
        f, v = problem(domain, dimension, dtype, 1)
        active = rng.random(f.shape) < 0.5
        full, before = f.copy(), f.array.copy()
        advect(full, v, 0.4 * f.grid.spacing, method=method)
        advect(f, v, 0.4 * f.grid.spacing, method=method, visibility=Visibility(active=active))
        assert same_bits(f.array, np.where(active, full.array, before))
        nothing = f.copy()
        advect(nothing, v, 0.4 * f.grid.spacing, method=method, visibility=Visibility(active=np.zeros(f.shape, bool)))
        assert same_bits(nothing.array, f.array)


@pytest.mark.parametrize("method", METHODS)
def test_active_faces_of_velocities(method: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True)
    v = random_velocity(g, dtype, rng)
    full, before = v.copy(), components(v)
    masks = [rng.random(c.shape) < 0.5 for c in before]
    for d, m in enumerate(masks):
        np.moveaxis(m, d, 0)[0] = np.moveaxis(m, d, 0)[-1]
    advect(full, v, 0.3 * g.spacing, method=method)
    advect(v, v, 0.3 * g.spacing, method=method, visibility=Visibility(active=masks))
    for d in range(dimension):
        assert same_bits(v.component(d), np.where(masks[d], full.component(d), before[d]))


@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
@pytest.mark.parametrize("block", ["semi-lagrangian", "upwind"])
def test_first_order_samples(method: str, block: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for domain in DOMAINS:
        f, v = problem(domain, dimension, dtype, 2)
        mask = rng.random(f.shape) < 0.5
        low, high, both = f.copy(), f.copy(), f.copy()
        dt = 0.4 * f.grid.spacing
        advect(low, v, dt, method=block)
        advect(high, v, dt, method=method, block=block, limiter="none")
        advect(both, v, dt, method=method, block=block, limiter="none", visibility=Visibility(first_order=mask))
        assert same_bits(both.array, np.where(mask, low.array, high.array))
        assert not same_bits(low.array, high.array)


@pytest.mark.parametrize(("cfl", "dimension"), [(0.4, 2), (0.4, 3), (2.5, 2), (2.5, 3), (9.0, 2), slow(9.0, 3)])
@pytest.mark.parametrize("hidden_value", ["mean", "own"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_hidden_sources_against_reference(domain: str, interpolation: str, hidden_value: str, cfl: float, dimension: int) -> None:
    f, v = problem(domain, dimension, np.float64, 4)
    visible = block_mask(f.shape, 0.1)
    dt = cfl * f.grid.spacing
    seen = Visibility(visible=visible, hidden_value=hidden_value)
    plain = transport_of(f, v, dt, pad=int(2 * cfl) + 6, visible=visible, interpolation=interpolation, hidden_value=hidden_value)
    for method in ("semi-lagrangian", "maccormack", "bfecc"):
        carried = f.copy()
        advect(carried, v, dt, method=method, visibility=seen, first_order_near="nothing", limiter="clamp", interpolation=interpolation)
        expected = plain.first_order()[0] if method == "semi-lagrangian" else plain.corrected(method, "clamp")
        np.testing.assert_allclose(carried.array, expected, rtol=0, atol=1e-12 * (1 + cfl) ** 2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cfl", [0.4, 2.5, 9.0])
@pytest.mark.parametrize("domain", DOMAINS)
@SLOW_IN_SINGLE
def test_hidden_values_never_matter(domain: str, cfl: float, method: str, dimension: int, dtype: type) -> None:
    for seed in (5, 6):
        f, v = problem(domain, dimension, dtype, seed)
        visible = block_mask(f.shape, 0.1, seed)
        mean, own = (Visibility(visible=visible, hidden_value=value) for value in ("mean", "own"))
        for seen, options in (
            (mean, {}),
            (own, {}),
            (mean, {"interpolation": "cubic"}),
            (mean, {"first_order_near": "nothing", "limiter": "none"}),
        ):
            a, b = f.copy(), f.copy()
            b.array[~visible] = 1e3 * np.random.default_rng(seed).random((~visible).sum())
            for _ in range(2):
                for each in (a, b):
                    advect(each, v, cfl * f.grid.spacing, method=method, visibility=seen, **options)
            assert same_bits(a.array[visible], b.array[visible])


def test_hidden_values_never_matter_for_velocities(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic in (False, True):
        g = grid_of(dimension, shape=SHAPES[dimension], periodic=periodic)
        f, v = random_velocity(g, dtype, rng), random_velocity(g, dtype, rng)
        masks = [block_mask(c.shape, 0.1, 7) for c in components(f)]
        for d, m in enumerate(masks):
            if periodic:
                np.moveaxis(m, d, 0)[0] = np.moveaxis(m, d, 0)[-1]
        other = f.copy()
        for d, m in enumerate(masks):
            other.component(d)[~m] = 1e3
        for each in (f, other):
            advect(each, v, 3.3 * g.spacing, visibility=Visibility(visible=masks))
        for d, m in enumerate(masks):
            assert same_bits(f.component(d)[m], other.component(d)[m])


def test_everything_visible_is_no_mask(dimension: int, dtype: type) -> None:
    for domain in DOMAINS:
        f, v = problem(domain, dimension, dtype, 8)
        a, b = f.copy(), f.copy()
        advect(a, v, 2.5 * f.grid.spacing)
        advect(b, v, 2.5 * f.grid.spacing, visibility=Visibility(visible=np.ones(f.shape, bool)))
        assert same_bits(a.array, b.array)


def test_where_nothing_is_visible_nothing_changes(dimension: int, dtype: type) -> None:
    f, v = problem("walls", dimension, dtype, 9)
    before = f.array.copy()
    for method in METHODS:
        for hidden_value in ("mean", "own"):
            advect(
                f, v, 0.9 * f.grid.spacing, method=method, visibility=Visibility(visible=np.zeros(f.shape, bool), hidden_value=hidden_value)
            )
            np.testing.assert_array_equal(f.array, before)


def distance_to(mask: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
    """Largest coordinate difference, in cells, to the nearest True."""
    best = np.full(mask.shape, np.inf)
    for at in np.argwhere(mask):
        far = np.zeros(mask.shape)
        for d, n in enumerate(mask.shape):
            gap = np.abs(np.arange(n) - at[d])
            if periodic[d]:
                gap = np.minimum(gap, n - gap)
            shape = [1] * mask.ndim
            shape[d] = n
            far = np.maximum(far, gap.reshape(shape))
        best = np.minimum(best, far)
    return best


@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
@pytest.mark.parametrize("cfl", [0.8, 2.5, 5.5])
@pytest.mark.parametrize("domain", DOMAINS)
def test_no_correction_within_cfl_of_hidden_samples(domain: str, cfl: float, method: str, dimension: int, dtype: type) -> None:
    shape = {2: (23, 19), 3: (17, 12, 14)}[dimension]
    f, v = problem(domain, dimension, dtype, 10, shape)
    hidden = np.zeros(f.shape, bool)
    hidden[(1, -2, 12)[:dimension]] = True
    dt = cfl * f.grid.spacing / ms.grid.max_speed(v)
    first, both, none = f.copy(), f.copy(), f.copy()
    advect(first, v, dt, method="semi-lagrangian", visibility=Visibility(visible=~hidden))
    advect(both, v, dt, method=method, visibility=Visibility(visible=~hidden), limiter="none")
    advect(none, v, dt, method=method, visibility=Visibility(visible=~hidden), limiter="none", first_order_near="nothing")
    distance = distance_to(hidden, f.grid.periodic)
    assert same_bits(both.array[distance <= cfl], first.array[distance <= cfl])
    far = distance > np.ceil(cfl) + 1
    assert far.any()
    assert same_bits(both.array[far], none.array[far])
    assert not (both.array[far] == first.array[far]).all()
    assert not same_bits(none.array[distance <= cfl], first.array[distance <= cfl])


@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
@pytest.mark.parametrize("cfl", [0.3, 0.8, 2.5])
def test_no_correction_within_cfl_of_walls(method: str, cfl: float, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, shape=(16, 14, 13)[:dimension], periodic=(False, True, False)[:dimension])
    boundary = {"x-": ms.Wall(), "x+": ms.Open(), "z-": ms.Prescribed(0.5), "z+": ms.ZeroGradient()}
    boundary = {s: b for s, b in boundary.items() if s[0] in "xyz"[:dimension]}
    v = random_velocity(g, dtype, rng, ms.Open())
    dt = cfl * g.spacing / ms.grid.max_speed(v)
    for kind in ("cell", "node"):
        f = random_scalar(kind, g, dtype, rng, boundary)
        first, both, free = f.copy(), f.copy(), f.copy()
        advect(first, v, dt, method="semi-lagrangian")
        advect(both, v, dt, method=method, limiter="none", first_order_near="walls")
        advect(free, v, dt, method=method, limiter="none", first_order_near="objects")
        half = 0.5 * (1 - f.on_side[0])
        near = np.zeros(f.shape)
        for axis, lower, upper in [(0, True, True)] + ([(2, False, True)] if dimension == 3 else []):
            x = np.arange(f.shape[axis]) + half
            gap = np.minimum(x if lower else np.inf, g.shape[axis] - x if upper else np.inf)
            shape = [1] * dimension
            shape[axis] = -1
            near = np.maximum(near, np.where(gap <= cfl, 2, np.where(gap <= cfl + 1.5, 1, 0)).reshape(shape))
        assert same_bits(both.array[near == 2], first.array[near == 2])
        assert same_bits(both.array[near == 0], free.array[near == 0])
        assert (near == 0).any()
        assert not (free.array[near == 0] == first.array[near == 0]).all()


def test_masks_need_not_be_contiguous(dimension: int) -> None:
    f, v = problem("walls", dimension, np.float64, 11)
    mask = block_mask(f.shape)
    a, b = f.copy(), f.copy()
    advect(a, v, 0.3, visibility=Visibility(visible=mask, active=mask, first_order=mask))
    strided = np.zeros((*mask.shape[:-1], 2 * mask.shape[-1]), bool)[..., ::2]
    strided[...] = mask
    advect(b, v, 0.3, visibility=Visibility(visible=strided, active=np.asfortranarray(mask), first_order=mask.tolist()))
    assert same_bits(a.array, b.array)

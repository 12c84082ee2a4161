"""Removed particles: removal, ballistic flight, contact with solids and sides, and reincorporation."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.surface import Box, EscapedMarkers, HalfSpace, KinematicSolid, ParticleLevelSet, ParticleOptions, Sphere


def pool(dimension: int, dtype: Any = np.float64, cells: int = 20, level: float = 0.3, **options: Any) -> ParticleLevelSet:
    """Water below y = level (z in 3-D) in the unit box, without markers."""
    options = {"escaped": EscapedMarkers(spray=True), **options}
    p = ParticleLevelSet(ms.Grid((cells,) * dimension, 1 / cells), dtype=dtype, options=ParticleOptions(**options))
    height = p.levelset.field.coordinates()[-1]
    p.levelset.array = np.broadcast_to(height - level, p.levelset.array.shape).astype(dtype)
    return p


def drops(p: ParticleLevelSet, positions: Any, velocities: Any, radius: float = 0.01) -> None:
    x, v = (np.asarray(a, p.dtype).reshape(-1, p.grid.dimension) for a in (positions, velocities))
    p.spray.append(x, velocity=v, radius=np.full(len(x), radius, p.dtype))


def down(dimension: int, g: float = 9.81) -> tuple[float, ...]:
    return (*(0.0,) * (dimension - 1), -g)


# --- removal --------------------------------------------------------------------------------------------------------------------


def test_removal_takes_who_is_too_far_out(dimension, dtype):
    p = pool(dimension, dtype, escaped=EscapedMarkers(spray=True, escaped_outside="bubbles", removal_distance=1.5))
    r = 0.02
    heights = np.array([0.29, 0.3 + 1.4 * r, 0.3 + 1.6 * r, 0.6, 0.3 - 1.4 * r, 0.3 - 1.6 * r, 0.1])
    signs = np.array([-1, -1, -1, -1, 1, 1, 1], np.int8)
    x = np.full((7, dimension), 0.45, dtype)
    x[:, -1] = heights
    p.particles.append(x, sign=signs, radius=np.full(7, r, dtype))
    velocity = ms.MacField(p.grid, dtype)
    velocity.component(0)[...] = np.arange(p.grid.shape[0] + 1).reshape((-1,) + (1,) * (dimension - 1)) / p.grid.shape[0]
    removal = p.remove_escaped(velocity)
    assert removal.spray.count == 2
    assert removal.outside.count == 2
    assert len(p.particles) == 3
    np.testing.assert_array_equal(p.spray.positions, x[[2, 3]])
    np.testing.assert_array_equal(p.bubbles.positions, x[[6, 5]])  # by cell
    np.testing.assert_allclose(p.spray["velocity"][:, 0], 0.45, rtol=1e-6)
    np.testing.assert_allclose(p.spray["velocity"][:, 1:], 0.0, atol=1e-7)
    # The ball of a particle's share of a cell.
    share = p.grid.spacing**dimension / 4**dimension
    assert removal.spray.volume == pytest.approx(2 * share, rel=1e-5)
    assert p.spray_volume == pytest.approx(2 * share, rel=1e-5)


@pytest.mark.parametrize("escaped_outside", ["keep", "delete", "bubbles"])
def test_what_becomes_of_the_outside(escaped_outside):
    p = pool(2, escaped=EscapedMarkers(escaped_outside=escaped_outside, spray=False, removed_radii_from="marker"))
    p.particles.append(np.array([[0.5, 0.1], [0.5, 0.9]]), sign=np.array([1, -1], np.int8), radius=np.full(2, 0.01))
    p.remove_escaped(ms.MacField(p.grid))
    assert (len(p.particles), len(p.bubbles), len(p.spray)) == {"keep": (2, 0, 0), "delete": (1, 0, 0), "bubbles": (1, 1, 0)}[
        escaped_outside
    ]
    if escaped_outside == "bubbles":
        assert p.bubbles["radius"][0] == 0.01


def test_bubbles_ride_with_the_flow_and_surface():
    p = pool(2, escaped=EscapedMarkers(spray=True, escaped_outside="bubbles"))
    p.particles.append(np.array([[0.5, 0.2]]), sign=np.array([1], np.int8), radius=np.array([0.01]))
    velocity = ms.MacField(p.grid, boundary=ms.ZeroGradient())
    velocity.v[...] = 0.5
    p.remove_escaped(velocity)
    p.levelset.array += 0.0
    p.advect(velocity, 0.1)
    np.testing.assert_allclose(p.bubbles.positions, [[0.5, 0.25]], rtol=1e-12)
    p.levelset.array = p.levelset.array + 0.12
    back = p.reincorporate()
    assert back.bubbles.count == 1
    assert back.spray.count == 0
    assert p.particles["sign"].tolist() == [1]
    assert len(p.bubbles) == 0


# --- flight ---------------------------------------------------------------------------------------------------------------------


def test_parabola(dimension):
    p = pool(dimension)
    g, v0 = np.array(down(dimension)), np.linspace(0.3, 1.7, dimension)
    x0 = np.full(dimension, 0.31)
    drops(p, x0, v0)
    n, t = 37, 0.3
    for _ in range(n):
        flight = p.advance_spray(t / n, down(dimension))
        assert flight.hits == flight.left.count == 0
    np.testing.assert_allclose(p.spray.positions[0], x0 + t * v0 + 0.5 * t * t * g, rtol=1e-13)
    np.testing.assert_allclose(p.spray["velocity"][0], v0 + t * g, rtol=1e-13, atol=1e-14)


def test_drag_is_exact():
    p = pool(2)
    k, g, v0, t = 3.0, np.array((0.0, -9.81)), np.array((1.0, 2.0)), 0.2
    drops(p, (0.3, 0.5), v0)
    for _ in range(8):
        p.advance_spray(t / 8, g, drag=k)
    end = g / k + (v0 - g / k) * np.exp(-k * t)
    np.testing.assert_allclose(p.spray["velocity"][0], end, rtol=1e-12)
    way = g / k * t + (v0 - g / k) * (1 - np.exp(-k * t)) / k
    np.testing.assert_allclose(p.spray.positions[0], np.array((0.3, 0.5)) + way, rtol=1e-12)


def test_periodic_axes_and_open_sides(dimension, dtype):
    grid = ms.Grid((10,) * dimension, 0.1, periodic=(True, *(False,) * (dimension - 1)))
    p = ParticleLevelSet(grid, dtype=dtype)
    x = np.full((3, dimension), 0.5)
    v = np.zeros((3, dimension))
    v[0, 0], v[1, -1], v[2, -1] = 20.7, 9.0, -9.0
    drops(p, x, v)
    top = "xyz"[dimension - 1] + "+"
    flight = p.advance_spray(0.1, (0.0,) * dimension, open_sides=[top])
    assert (flight.left.count, flight.hits, len(p.spray)) == (1, 1, 2)
    assert flight.left.volume == pytest.approx(np.pi * 1e-4 if dimension == 2 else 4 / 3 * np.pi * 1e-6, rel=1e-5)
    np.testing.assert_allclose(p.spray.positions[0, 0], 0.57, rtol=1e-5)
    assert p.spray.positions[1, -1] == 0.0
    assert p.spray["velocity"][1, -1] == 0.0


# --- contact --------------------------------------------------------------------------------------------------------------------


def test_a_plane_stops_what_goes_across_and_keeps_what_goes_along():
    """Restitution 0: the tangential velocity stays exactly; 1 without gravity: a mirror."""
    normal = np.array((0.6, 0.8))
    plane = HalfSpace((0.5, 0.5), tuple(-normal))
    along = np.array((0.8, -0.6))
    for restitution in (0.0, 0.5, 1.0):
        p = pool(2, cells=40)
        v = -2.0 * normal + 0.7 * along
        start = np.array((0.5, 0.5)) + 0.1 * normal - 0.1 * along
        drops(p, start, v)
        solid = KinematicSolid(ms.surface.Complement(plane)) if plane.signed_distance(start[None])[0] < 0 else KinematicSolid(plane)
        flight = p.advance_spray(0.1, (0.0, 0.0), solid, restitution=restitution)
        assert flight.hits == 1
        end = p.spray["velocity"][0]
        np.testing.assert_allclose(end @ along, 0.7, rtol=1e-9)
        np.testing.assert_allclose(end @ normal, 2.0 * restitution, atol=1e-9)
        away = (p.spray.positions[0] - 0.5) @ normal
        np.testing.assert_allclose(away, 2.0 * restitution * 0.05, atol=2e-3 / 40)


@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_nothing_is_passed_through(restitution, dimension, dtype):
    """Ten cells and more a step, against a ball and a plate two cells thick: nobody is ever inside, or behind the plate."""
    rng = np.random.default_rng(7)
    p = pool(dimension, dtype, cells=32)
    h = p.grid.spacing
    middle = (0.5,) * (dimension - 1)
    corner, far = (-0.2,) * (dimension - 1), (1.2,) * (dimension - 1)
    solid = KinematicSolid(Sphere((0.3, *middle), 0.15) | Box((0.7, *corner), (0.7 + 2 * h, *far)))
    x = rng.uniform(0.02, 0.98, (3000, dimension))
    x = x[(solid.signed_distance(x) > 2 * h) & (x[:, 0] < 0.7)].astype(dtype)
    v = rng.normal(size=x.shape)
    v *= 15 / np.linalg.norm(v, axis=1, keepdims=True)
    drops(p, x, v)
    hits = 0
    for _ in range(6):
        flight = p.advance_spray(h, down(dimension), solid, restitution=restitution)
        hits += flight.hits
        assert flight.in_solid.count == flight.left.count == 0
        assert p.spray.positions[:, 0].max() < 0.7 + 0.1 * h
        inside = ms.grid.sample(solid.sample(p.grid).levelset, p.spray.positions.astype(np.float64))
        assert inside.min() > 0
        assert ((p.spray.positions >= 0) & (p.spray.positions <= 1)).all()
    assert hits > 1000
    assert np.isfinite(p.spray["velocity"]).all()


def test_drops_come_to_rest_in_a_bowl(dimension):
    """Without friction nothing is slowed along the surface; with drag, all end at the lowest point, and stay there."""
    p = pool(dimension, cells=24)
    bowl = KinematicSolid(ms.surface.Complement(Sphere((0.5,) * dimension, 0.4)))
    rng = np.random.default_rng(8)
    x = 0.5 + rng.uniform(-0.2, 0.2, (50, dimension))
    drops(p, x, np.zeros_like(x))
    for _ in range(400):
        p.advance_spray(0.02, down(dimension), bowl, drag=4.0)
    bottom = np.full(dimension, 0.5)
    bottom[-1] = 0.1
    assert np.abs(p.spray.positions - bottom).max() < 1.5 * p.grid.spacing
    assert np.abs(p.spray["velocity"]).max() < 0.05


def test_a_corner_of_walls_holds_a_drop(dimension, dtype):
    p = pool(dimension, dtype)
    drops(p, np.full(dimension, 0.05), np.full(dimension, -30.0))
    for _ in range(3):
        p.advance_spray(0.05, down(dimension))
    assert (p.spray.positions == 0).all()
    assert (p.spray["velocity"] == 0).all()


def test_a_moving_solid_takes_drops_along():
    """A ball that comes in from the left: droplets in its way end outside of it, no slower than its surface moves outwards."""
    p = pool(2, cells=32)
    solid = KinematicSolid(Sphere((0.3, 0.5), 0.15), lambda t: (2.0 * t, 0.0))
    rng = np.random.default_rng(9)
    x = np.column_stack([np.full(40, 0.47), rng.uniform(0.45, 0.55, 40)])
    drops(p, x, np.zeros_like(x))
    sampled = solid.sample(p.grid, 0.02)
    flight = p.advance_spray(0.02, (0.0, 0.0), sampled)
    assert flight.hits > 20
    outside = ms.grid.sample(sampled.levelset, p.spray.positions)
    assert outside.min() > 0
    touched = outside < 0.01 * p.grid.spacing
    normal = (p.spray.positions - (0.34, 0.5)) / np.linalg.norm(p.spray.positions - (0.34, 0.5), axis=1, keepdims=True)
    faster = ((p.spray["velocity"] - (2.0, 0.0)) * normal).sum(axis=1)
    assert faster[touched].min() > -0.1


def test_what_is_deep_in_a_solid_is_given_up():
    p = pool(2)
    field = ms.NodeField(p.grid)
    field.array = np.full(field.shape, -1.0)
    drops(p, (0.5, 0.5), (0.0, 0.0))
    flight = p.advance_spray(0.1, (0.0, 0.0), field)
    assert flight.in_solid.count == 1
    assert flight.in_solid.volume == pytest.approx(np.pi * 1e-4)
    assert len(p.spray) == 0


# --- reincorporation ------------------------------------------------------------------------------------------------------------


def momentum(velocity: ms.MacField) -> np.ndarray:
    """Sum over the faces times the volume of a cell; a shared face counts once."""
    h = velocity.grid.spacing**velocity.grid.dimension
    total = []
    for d in range(velocity.grid.dimension):
        c = velocity.component(d)
        if velocity.grid.periodic[d]:
            c = np.delete(c, 0, axis=d)
        total.append(c.sum() * h)
    return np.array(total)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_momentum_is_deposited_to_the_last_bit_that_counts(scale, dimension):
    grid = ms.Grid((8,) * dimension, 0.125, periodic=(True, *(False,) * (dimension - 1)))
    p = ParticleLevelSet(grid)
    p.levelset.array = np.broadcast_to(p.levelset.field.coordinates()[-1] - 0.5, grid.shape).copy()
    rng = np.random.default_rng(10)
    n = 200
    x, v, r = rng.random((n, dimension)), rng.normal(size=(n, dimension)), rng.uniform(0.005, 0.08, n)
    p.spray.append(x, velocity=v, radius=r)
    velocity = ms.MacField(grid)
    phi = p.levelset.sample(x)
    rejoin = phi <= r
    back = p.reincorporate(velocity, scale=scale)
    volume = np.pi * r**2 if dimension == 2 else 4 / 3 * np.pi * r**3
    expected = scale * (volume[:, None] * v)[rejoin].sum(axis=0)
    assert back.spray.count == rejoin.sum()
    assert back.spray.volume == pytest.approx(volume[rejoin].sum(), rel=1e-13)
    np.testing.assert_allclose(back.momentum, expected, rtol=1e-12)
    np.testing.assert_allclose(momentum(velocity), expected, rtol=1e-12, atol=1e-15)
    assert len(p.spray) == n - rejoin.sum()
    # In the order of cells, and of ids in each of them.
    cells = np.ravel_multi_index(tuple(np.floor(x[rejoin] / 0.125).astype(int).T), grid.shape)
    order = np.flatnonzero(rejoin)[np.argsort(cells, kind="stable")]
    np.testing.assert_array_equal(p.particles.positions, x[order])
    assert (p.particles["sign"] == -1).all()
    np.testing.assert_allclose(p.particles["radius"], np.clip(r[order], 0.1 * 0.125, 0.5 * 0.125))
    # Both faces of the cell get the same, and no other.
    p.spray.remove(np.ones(len(p.spray), bool))
    one, at = ms.MacField(grid), np.full(dimension, 0.3)
    p.spray.append(at[None], velocity=np.full((1, dimension), 2.0), radius=np.array([0.05]))
    p.reincorporate(one, scale=scale)
    for d in range(dimension):
        c = one.component(d)
        low = np.array((2,) * dimension)
        high = low.copy()
        high[d] += 1
        ball = np.pi * 0.05**2 if dimension == 2 else 4 / 3 * np.pi * 0.05**3
        part = 0.5 * scale * 2.0 * ball / 0.125**dimension
        assert c[tuple(low)] == pytest.approx(part, rel=1e-13)
        assert c[tuple(high)] == pytest.approx(part, rel=1e-13)
        assert np.count_nonzero(c) == 2


def test_droplets_cannot_make_the_liquid_faster_than_they_are(dimension):
    """With their mass: droplets as fast as the liquid leave it alone, others draw it towards their velocity, however many there are."""
    grid = ms.Grid((8,) * dimension, 0.125)
    rng = np.random.default_rng(11)
    for speed in (1.0, 3.0):
        p = ParticleLevelSet(grid)
        p.levelset.array = np.broadcast_to(p.levelset.field.coordinates()[-1] - 2.0, grid.shape).copy()
        velocity = ms.MacField(grid)
        for d in range(dimension):
            velocity.component(d)[...] = 1.0
        n = 2000
        p.spray.append(rng.random((n, dimension)), velocity=np.full((n, dimension), speed), radius=np.full(n, 0.03))
        assert p.reincorporate(velocity, deposit="mean").spray.count == n
        for d in range(dimension):
            c = velocity.component(d)
            if speed == 1.0:
                np.testing.assert_allclose(c, 1.0, rtol=1e-13)
            else:
                assert (c <= speed).all()
                assert c.max() > 1.5
    one, at = ms.MacField(grid), np.full(dimension, 0.3)
    one.component(0)[...] = 1.0
    p.spray.append(at[None], velocity=np.full((1, dimension), 2.0), radius=np.array([0.05]))
    p.reincorporate(one, deposit="mean")
    ball = np.pi * 0.05**2 if dimension == 2 else 4 / 3 * np.pi * 0.05**3
    w = 0.5 * ball / 0.125**dimension
    assert one.component(0)[(2,) * dimension] == pytest.approx((1 + w * 2) / (1 + w), rel=1e-13)
    with pytest.raises(ValueError, match="scale must be finite and not negative"):
        p.reincorporate(one, scale=-1.0)


def test_counts_are_conserved():
    """A splash: every droplet that was removed flies, has left, or is back."""
    p = pool(2, cells=32, level=0.5, escaped=EscapedMarkers(spray=True, removal_distance=0.3), reseed_every=4)
    p.seed()
    velocity = ms.MacField(p.grid)
    x, y = (c.ravel() for c in np.meshgrid((np.arange(32) + 0.5) / 32, np.arange(33) / 32, indexing="ij"))
    velocity.v[...] = (3.0 * np.exp(-(((x - 0.5) / 0.05) ** 2)) * np.sign(y)).reshape(32, 33)
    removed = rejoined = left = 0
    for k in range(60):
        report = p.advance(velocity, 0.01)
        removed += report.removal.spray.count
        flight = p.advance_spray(0.01, (0.0, -9.81), open_sides=["y+"])
        left += flight.left.count + flight.in_solid.count
        rejoined += p.reincorporate().spray.count
        assert removed == len(p.spray) + rejoined + left, f"step {k}"
        velocity.v[...] *= 0.9
    assert removed > 50
    assert rejoined > 0


def test_spray_errors():
    p = pool(2)
    drops(p, (0.5, 0.5), (1.0, 1.0))
    x = p.spray.positions.copy()
    with pytest.raises(ValueError, match="dt must be positive"):
        p.advance_spray(-1.0, (0.0, 0.0))
    with pytest.raises(ValueError, match="gravity must hold 2 numbers"):
        p.advance_spray(0.1, (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="drag must not be negative"):
        p.advance_spray(0.1, (0.0, 0.0), drag=-1.0)
    with pytest.raises(ValueError, match="restitution must be between 0 and 1"):
        p.advance_spray(0.1, (0.0, 0.0), restitution=1.5)
    with pytest.raises(ValueError, match="open_sides"):
        p.advance_spray(0.1, (0.0, 0.0), open_sides=["top"])
    with pytest.raises(ValueError, match="grid"):
        p.reincorporate(ms.MacField(ms.Grid((3, 3), 1.0)))
    np.testing.assert_array_equal(p.spray.positions, x)

"""Marker particles: seeding, correction, radii, reseeding, motion, and the state of a particle level set."""

import pickle
from typing import Any

import numpy as np
import pytest
from support.build import random_velocity, same_bits
from support.particle_levelset import ball, state, swirl
from support.variants import SLOW_IN_SINGLE, SLOW_IN_SPACE

import meniscus as ms
from meniscus.fluids import single_vortex
from meniscus.grid import Visibility, advect
from meniscus.surface import EscapedMarkers, MarkerTransport, ParticleLevelSet, ParticleOptions


def test_rotation_of_markers_is_second_order(dimension):
    """A staggered velocity represents a rigid rotation exactly, so RK2 alone is seen."""
    errors = []
    for steps in (40, 80, 160):
        p = ball(dimension, per_cell=2, radii_from="levelset")
        velocity = swirl(p.grid, np.float64)
        start = p.particles.positions.copy()
        turn = 2 * np.pi / (1.5 if dimension == 2 else np.sqrt(0.25 + 1.0 + 2.25))
        inside = np.linalg.norm(start - 0.5, axis=1) < 0.45
        for _ in range(steps):
            ms._meniscus.surface.advance_markers(
                p.particles._core, velocity._core, turn / steps, ms._meniscus.grid.Trace.midpoint, None, 0.0, 0.0, ms.core.Workspace()
            )
        errors.append(np.abs(p.particles.positions - start)[inside].max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 1.9).all()
    assert (orders < 2.2).all()


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
@pytest.mark.parametrize("location", ["cells", "nodes"])
@SLOW_IN_SINGLE
def test_the_band_is_carried_like_the_whole(interpolation, location, dimension, dtype):
    p = ball(dimension, dtype, location=location, transport=MarkerTransport(interpolation=interpolation), radii_from="levelset")
    velocity = random_velocity(p.grid, dtype, np.random.default_rng(6), speed=0.5)
    whole = p.levelset.field.copy()
    advect(whole, velocity, 0.1, method="semi-lagrangian", interpolation=interpolation)
    before = p.levelset.array.copy()
    advected, _ = p.advect(velocity, 0.1)
    changed = p.levelset.array != before
    reach = (3 + np.sqrt(dimension) * 0.1 * ms.grid.max_speed(velocity) / p.grid.spacing + 1) * p.grid.spacing
    assert not changed[np.abs(before) >= reach].any()
    assert advected == (np.abs(before) < dtype(reach)).sum()
    inside = np.abs(before) < 0.99 * reach
    np.testing.assert_allclose(p.levelset.array[inside], whole.array[inside], atol=(1e-12 if dtype == np.float64 else 2e-6))


@pytest.mark.parametrize("method", ["maccormack", "bfecc"])
def test_other_transport(method):
    """The band is carried as `advect` does, by the method that was chosen, and no other sample changes."""
    p = ball(2, transport=MarkerTransport(method=method))
    velocity = random_velocity(p.grid, np.float64, np.random.default_rng(6), speed=0.5)
    before = p.levelset.array.copy()
    reach = p.band + np.sqrt(2) * 0.1 * ms.grid.max_speed(velocity) + p.grid.spacing
    active = np.abs(before) < reach
    fields, options = {}, ParticleOptions()
    for name in (method, "semi-lagrangian"):
        fields[name] = p.levelset.field.copy()
        advect(
            fields[name],
            velocity,
            0.1,
            method=name,
            trace=options.transport.trace,
            interpolation=options.transport.interpolation,
            visibility=Visibility(active=active),
        )
    advected, _ = p.advect(velocity, 0.1)
    assert advected == active.sum() < active.size
    assert same_bits(p.levelset.array, fields[method].array)
    assert same_bits(p.levelset.array[~active], before[~active])
    assert np.abs(p.levelset.array - before).max() > 0.1 * p.grid.spacing
    assert np.abs(p.levelset.array - fields["semi-lagrangian"].array).max() > 0.01 * p.grid.spacing


def test_sides_of_the_domain():
    """Markers stop at walls, leave through open sides, and come back on periodic axes."""
    out = ms.Grid((16, 16), 1 / 16, periodic=(False, True))
    p = ParticleLevelSet(out)
    p.levelset.array = np.full((16, 16), 1.0)
    velocity = ms.MacField(out, boundary={"x+": ms.Open(), "x-": ms.Wall((-1.0, 0.0))})
    velocity.u[...] = np.linspace(-1, 1, 17)[:, None]
    velocity.v[...] = 1.0
    x = np.array([[0.97, 0.5], [0.01, 0.5], [0.5, 0.99]])
    p.particles.append(x, sign=np.ones(3, np.int8), radius=np.full(3, 0.01))
    _, motion = p.advect(velocity, 0.1)
    assert (motion.left, motion.in_solid, motion.pushed) == (1, 0, 0)
    np.testing.assert_allclose(p.particles.positions[0, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(p.particles.positions[1, 1], 0.09, atol=1e-12)


@SLOW_IN_SPACE
def test_markers_of_both_signs_stay_out_of_solids(dimension, dtype):
    p = ball(dimension, dtype, cells=32)
    # A plate that the flow blows the ball against.
    plate = ms.surface.HalfSpace((0.8, *(0.5,) * (dimension - 1)), (-1.0, *(0.0,) * (dimension - 1)))
    velocity = ms.MacField(p.grid, dtype)
    velocity.u[...] = 1.0
    pushed = 0
    for _ in range(6):
        report = p.advance(velocity, 0.02, solid=plate)
        pushed += report.markers.pushed
        assert p.particles.positions[:, 0].max() <= 0.8
        assert report.markers.in_solid == 0
    assert pushed > 100
    close = p.particles.positions[:, 0] > 0.79
    assert set(np.unique(p.particles["sign"][close])) == {-1, 1}


def steps(p: ParticleLevelSet, n: int, velocity: ms.MacField) -> None:
    for _ in range(n):
        p.advance(velocity, 0.4 * p.grid.spacing)


def vortex(grid: ms.Grid, dtype: Any) -> ms.MacField:
    velocity = ms.MacField(grid, dtype)
    single_vortex().sample(velocity)
    # Noise, so that markers get lost.
    velocity.u[...] += np.random.default_rng(2).uniform(-0.7, 0.7, velocity.u.shape)
    return velocity


@pytest.mark.parametrize("way", ["restore", "copy", "pickle"])
def test_continuing_gives_the_same_bits(way):
    options: dict[str, Any] = {
        "reseed_every": 3,
        "escaped": EscapedMarkers(spray=True, escaped_outside="bubbles", removal_distance=0.1),
    }
    p = ball(2, np.float64, **options)
    velocity = vortex(p.grid, np.float64)
    steps(p, 4, velocity)
    if way == "restore":
        q = ball(2, np.float64, **options)
        q.restore(p.snapshot())
    else:
        q = p.copy() if way == "copy" else pickle.loads(pickle.dumps(p))
    assert same_bits(state(p), state(q))
    steps(p, 5, velocity)
    steps(q, 5, velocity)
    assert same_bits(state(p), state(q))
    assert len(p.spray) + len(p.bubbles) > 0


def test_memory():
    widths = {(2, np.float64): 33, (3, np.float32): 25, (3, np.float64): 41}
    for (dimension, dtype), width in widths.items():
        p = ball(dimension, dtype, cells=12)
        assert p.bytes_per_particle == width
        assert p.nbytes >= width * len(p.particles) + p.levelset.field.with_ghosts.nbytes
    p = ball(2, reseed_every=None)
    velocity = vortex(p.grid, np.float64)
    steps(p, 3, velocity)
    held = p._workspace.nbytes
    steps(p, 3, velocity)
    assert p._workspace.nbytes == held, "a repeated step finds its scratch memory"


def test_nothing_to_do():
    """No surface, no particles: all stages run."""
    p = ParticleLevelSet(
        ms.Grid((5, 4), 0.1), options=ParticleOptions(escaped=EscapedMarkers(spray=True, escaped_outside="bubbles"), reseed_every=1)
    )
    p.levelset.array = np.full((5, 4), 0.3)
    p.seed()
    p.levelset.array = np.full((5, 4), 1.0)
    assert p.seed().added == 0
    p.advance(ms.MacField(p.grid), 0.1)
    assert p.reincorporate().spray.count == 0
    assert p.advance_spray(0.1, (0.0, -9.8)).hits == 0
    assert "0 markers" in repr(p)


def test_errors():
    p = ball(3, cells=12)
    velocity = swirl(p.grid, np.float64)
    before = state(p)
    other = ms.MacField(ms.Grid((5, 5, 5), 0.1))
    with pytest.raises(ValueError, match="velocity must have the grid"):
        p.advance(other, 0.1)
    with pytest.raises(TypeError, match="dtype"):
        p.advance(ms.MacField(p.grid, np.float32), 0.1)
    with pytest.raises(ValueError, match="dt must be positive"):
        p.advance(velocity, 0.0)
    with pytest.raises(TypeError, match="solid must be"):
        p.advance(velocity, 0.1, solid=3)
    with pytest.raises(TypeError, match="level set of the solid must be of dtype float64, not float32"):
        p.advance(velocity, 0.1, solid=ms.NodeField(p.grid, np.float32))
    with pytest.raises(ValueError, match="solid must have the grid"):
        p.advance(velocity, 0.1, solid=ms.NodeField(other.grid))
    velocity.u[3, 3] = np.nan
    with pytest.raises(ValueError, match="finite"):
        p.advance(velocity, 0.1)
    assert same_bits(state(p), before)
    p.levelset.array[1, 2] = np.inf
    for stage in (p.seed, p.reseed):
        with pytest.raises(ValueError, match=r"finite"):
            stage()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"per_cell": 0}, "per_cell"),
        ({"band": 0.4}, "band must be wider"),
        ({"radii": (0.5, 0.1)}, "radii must be"),
        ({"escape_distance": -2.0}, "escape_distance must be at least -1"),
        ({"escape_distance": -0.5, "radii_from": "levelset"}, "escape_distance must be at least 0"),
        ({"radii_from": "guess"}, "radii_from must be one of"),
        ({"reseed_every": 0}, "reseed_every"),
        ({"seed": -1}, "seed"),
        ({"escaped_outside": "pop"}, "escaped_outside must be one of"),
        ({"removed_radii_from": "big"}, "removed_radii_from must be one of"),
        ({"method": "magic"}, "method must be one of"),
        ({"marker_trace": "rk4"}, "marker_trace must be one of"),
        ({"removal_distance": 0.0}, "removal_distance must be positive"),
    ],
)
def test_wrong_options(wrong, message):
    kinds = (ParticleOptions, MarkerTransport, EscapedMarkers)
    kind = next(k for k in kinds if wrong.keys() <= k.__dataclass_fields__.keys())
    with pytest.raises(ValueError, match=message):
        kind(**wrong)

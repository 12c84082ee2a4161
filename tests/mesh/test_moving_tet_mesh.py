"""Moving tetrahedral meshes: path and velocity agree, levels follow affine motion, frames, flags, sources of one's own, errors."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from support.build import same_bits
from support.simplices import THREADS, affine, bcc, delaunay

import meniscus as ms
from meniscus.core import Workspace
from meniscus.mesh import MovingTetMesh, SubdivisionHierarchy, TetMesh, VertexMotion, tet_block
from meniscus.mesh.arrays import sealed

TIMES = np.array([0.5, 0.75, 1.5, 1.625, 3.0])


def random_frames(mesh: TetMesh, rng: np.random.Generator, offset: float = 0.0) -> np.ndarray:
    return mesh.vertices + offset + rng.normal(scale=0.2, size=(len(TIMES), *mesh.vertices.shape))


class Waves:
    """A motion that can be pickled."""

    def __init__(self, rest: np.ndarray) -> None:
        self.rest = rest

    def __call__(self, t: float) -> np.ndarray:
        return self.rest + 0.1 * np.sin(3 * self.rest[:, [1, 2, 0]] + 5 * t)


class AffineMotion:
    """Positions (a + t s) x + b + t c."""

    def __init__(self, x: np.ndarray, a: np.ndarray, s: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        self.x, self.a, self.s, self.b, self.c = x, a, s, b, c

    def __call__(self, t: float) -> np.ndarray:
        return self.x @ (self.a + t * self.s).T + self.b + t * self.c


class Stored:
    """Frames of which two are in memory: what a file of frames does."""

    def __init__(self, frames: np.ndarray, times: np.ndarray) -> None:
        self._frames, self._times = frames, times
        self.reads = 0
        self.start, self.end = float(times[0]), float(times[-1])

    def coarse_positions(self, t: float, out: np.ndarray) -> None:
        i = min(int(np.searchsorted(self._times, t, side="right")) - 1, len(self._times) - 2)
        part = (t - self._times[i]) / (self._times[i + 1] - self._times[i])
        out[:] = (1 - part) * self._frames[i] + part * self._frames[i + 1]
        self.reads += 1


def meshes(rng: np.random.Generator) -> list[TetMesh]:
    return [delaunay(30, rng), tet_block(2, 1, 3), bcc(2, 0.3)]


def test_counts_of_all_levels(rng: np.random.Generator) -> None:
    for rest in meshes(rng):
        m = MovingTetMesh(rest, Waves(rest.vertices), levels=3)
        v, e, f, t = len(rest.vertices), len(rest.edges), len(rest.faces), len(rest.tets)
        for level in range(4):
            fine = TetMesh(m.positions(0.25, level), m.tets(level))
            assert (m.vertex_count(level), m.tet_count(level)) == (v, t) == (len(fine.vertices), len(fine.tets))
            assert (len(fine.edges), len(fine.faces)) == (e, f)
            assert fine.boundary.check_watertight().watertight  # conforming: no vertex hangs
            v, e, f, t = v + e, 2 * e + 3 * f + t, 4 * f + 8 * t, 8 * t
        assert m.vertex_count() == m.vertex_count(3)
        assert m.tet_count() == len(m.tets()) == len(m.tets(3))
        assert m.rest is rest
        assert m.levels == 3


def test_affine_motion_is_reproduced_on_every_level(rng: np.random.Generator) -> None:
    for rest in meshes(rng):
        a, b = affine(rng)
        shear, shift = rng.normal(size=(3, 3)), rng.normal(size=3)
        m = MovingTetMesh(rest, AffineMotion(rest.vertices, a, shear, b, shift), levels=3)
        h = SubdivisionHierarchy(rest, 3)
        for level in range(4):
            x = h.mesh(level).vertices
            size = np.abs(x @ a.T + b).max()
            for t in (0.0, 0.7):
                assert np.abs(m.positions(t, level) - (x @ (a + t * shear).T + b + t * shift)).max() <= 1e-13 * size
            # An affine motion that is linear in time has the affine velocity.
            assert np.abs(m.velocities(0.2, 0.5, level) - (x @ shear.T + shift)).max() <= 1e-13 * size / 0.5


def test_path_and_velocity_agree_across_frames(rng: np.random.Generator) -> None:
    # x(t + dt) - x(t) = dt v to 4 units in the last place of the largest coordinate, for steps within a frame and over several.
    for rest in meshes(rng):
        for offset in (0.0, 7.0, -300.0):
            frames = random_frames(rest, rng, offset)
            m = MovingTetMesh(rest, frames, TIMES, levels=3)
            unit = np.spacing(np.abs(frames).max())
            for level in range(4):
                for _ in range(20):
                    t, later = np.sort(rng.uniform(0.5, 3.0, 2))
                    dt = float(later - t) if rng.random() < 0.5 else 1 / 96
                    if t + dt > 3:
                        continue
                    start, end = m.positions(t, level), m.positions(t + dt, level)
                    v = m.velocities(t, dt, level)
                    assert np.abs((end - start) - dt * v).max() <= 4 * unit
                    assert same_bits(m.displacements(t, dt, level), end - start)


def test_velocities_are_the_combinations_of_coarse_ones(rng: np.random.Generator) -> None:
    rest = delaunay(40, rng)
    m = MovingTetMesh(rest, random_frames(rest, rng), TIMES, levels=3)
    for level in range(1, 4):
        coarse = m.velocities(0.8, 0.3, 0)
        expected = m.hierarchy.velocities(coarse, level)
        assert m.velocities(0.8, 0.3, level) == pytest.approx(expected, abs=1e-13)
        assert m.hierarchy.embedding(level).evaluate(m.positions(0.8, 0)) == pytest.approx(m.positions(0.8, level), abs=1e-14)


def test_frames_are_hit_and_joined_by_lines(rng: np.random.Generator) -> None:
    rest = tet_block(2, 2, 1)
    frames = random_frames(rest, rng)
    for scalar in (np.float64, np.float32):
        stored = frames.astype(scalar)
        m = MovingTetMesh(rest, stored, TIMES)
        assert (m.start, m.end, m.duration) == (0.5, 3.0, 2.5)
        for frame, t in zip(stored, TIMES, strict=True):
            assert same_bits(m.positions(t), frame.astype(np.float64))
        for k in range(len(TIMES) - 1):
            for s in rng.random(5):
                expected = (1 - s) * stored[k].astype(float) + s * stored[k + 1].astype(float)
                assert m.positions((1 - s) * TIMES[k] + s * TIMES[k + 1]) == pytest.approx(expected, abs=1e-14)
    assert same_bits(MovingTetMesh(rest, frames[2:3], TIMES[2:3]).positions(1.5), frames[2])
    # Times that added steps miss by their round-off are those of the ends.
    assert same_bits(m.positions(3.0 + 4e-16 * 3), m.positions(3.0))
    assert same_bits(m.positions(0.5 - 1e-16), m.positions(0.5))


def test_frames_are_the_users_only_if_nobody_can_change_them(rng: np.random.Generator) -> None:
    rest = tet_block(1, 1, 1)
    frames = random_frames(rest, rng)
    m = MovingTetMesh(rest, frames, TIMES)
    expected = m.positions(1.0)
    frames[:] = 0
    assert same_bits(m.positions(1.0), expected)
    reopened = random_frames(rest, rng)
    reopened.flags.writeable = False
    m = MovingTetMesh(rest, reopened, TIMES)
    expected = m.positions(1.0)
    reopened.flags.writeable = True
    reopened[:] = 0
    assert same_bits(m.positions(1.0), expected)
    fixed = sealed(random_frames(rest, rng))
    assert np.shares_memory(MovingTetMesh(rest, fixed, TIMES)._motion.frames, fixed)  # type: ignore[attr-defined]


def test_a_source_that_holds_two_frames(rng: np.random.Generator) -> None:
    rest = delaunay(20, rng)
    frames = random_frames(rest, rng)
    source = Stored(frames, TIMES)
    assert isinstance(source, VertexMotion)
    stored, plain = MovingTetMesh(rest, source, levels=2), MovingTetMesh(rest, frames, TIMES, levels=2)
    assert stored.duration == 2.5
    for t in rng.uniform(0.5, 2.9, 10):
        assert stored.positions(t) == pytest.approx(plain.positions(t), abs=1e-14)
        assert stored.velocities(t, 0.1) == pytest.approx(plain.velocities(t, 0.1), abs=1e-13)
    assert source.reads == 30
    assert stored.nbytes < plain.nbytes


def test_disabled_elements_and_their_children(rng: np.random.Generator) -> None:
    rest = tet_block(2, 1, 1)
    flags = rng.random((len(TIMES), len(rest.tets))) < 0.3
    m = MovingTetMesh(rest, random_frames(rest, rng), TIMES, levels=2, disabled=flags)
    for k, t in enumerate(TIMES):
        assert same_bits(m.disabled(t), flags[k])
    for k in range(len(TIMES) - 1):
        for t in rng.uniform(TIMES[k], TIMES[k + 1], 3):
            either = flags[k] | flags[k + 1]
            assert same_bits(m.disabled(t), either)
            for level in range(3):
                enabled = m.enabled(t, level)
                assert len(enabled) == m.tet_count(level)
                assert (enabled.reshape(len(rest.tets), -1) == ~either[:, None]).all()
    function = MovingTetMesh(rest, Waves(rest.vertices), levels=1, disabled=lambda t: np.arange(len(rest.tets)) < t)
    assert function.disabled(2.5).sum() == 3
    assert (~function.enabled(2.5)).sum() == 24
    assert not MovingTetMesh(rest, Waves(rest.vertices)).disabled(0.0).any()


def test_an_affine_child_is_inverted_when_its_parent_is(rng: np.random.Generator) -> None:
    rest = delaunay(40, rng)
    x = rest.vertices + rng.normal(scale=0.15, size=rest.vertices.shape)
    m = MovingTetMesh(rest, x[None], [0.0], levels=3)
    coarse = rest.measures(x)
    assert 0.1 < (coarse < 0).mean() < 0.9
    fine = m.hierarchy.mesh(3).measures(m.positions(0.0)).reshape(len(coarse), -1)
    certain = np.abs(coarse) > 1e-12
    assert ((fine[certain] < 0) == (coarse[certain] < 0)[:, None]).all()


def test_out_arrays_and_scratch_memory(rng: np.random.Generator) -> None:
    rest = tet_block(2, 2, 2)
    m = MovingTetMesh(rest, random_frames(rest, rng), TIMES, levels=3)
    scratch = Workspace()
    for level in range(4):
        out = np.full((m.vertex_count(level), 3), np.nan)
        assert m.positions(1.0, level, out) is out
        assert same_bits(out, m.positions(1.0, level))
        assert m.displacements(1.0, 0.5, level, out, workspace=scratch) is out
        assert same_bits(out, m.displacements(1.0, 0.5, level))
        assert m.velocities(1.0, 0.5, level, out, workspace=scratch) is out
        assert same_bits(out, m.velocities(1.0, 0.5, level))
    held = scratch.nbytes
    m.velocities(1.0, 0.5, out=out, workspace=scratch)
    assert scratch.nbytes == held
    with pytest.raises(ValueError, match=r"out must have shape \(27, 3\), not"):
        m.positions(1.0, 0, out)
    with pytest.raises(TypeError, match="workspace must be a Workspace, not str"):
        m.velocities(1.0, 0.5, workspace="memory")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="out must not overlap start or end"):
        m.hierarchy.displacements(out[:27], out[:27], 3, out)


def test_pickles_and_copies(rng: np.random.Generator) -> None:
    rest = tet_block(1, 2, 1)
    flags = rng.random((len(TIMES), len(rest.tets))) < 0.3
    for m in (
        MovingTetMesh(rest, random_frames(rest, rng), TIMES, levels=2, disabled=flags),
        MovingTetMesh(rest, Waves(rest.vertices), (0.5, 3.0), levels=1),
        MovingTetMesh(rest, Waves(rest.vertices)),
    ):
        again = pickle.loads(pickle.dumps(m))
        assert repr(again) == repr(m)
        assert same_bits(again.positions(1.2), m.positions(1.2))
        assert same_bits(again.disabled(1.2), m.disabled(1.2))
        assert m.copy() is copy.copy(m) is copy.deepcopy(m) is m
    assert repr(m) == "<MovingTetMesh: 12 vertices, 12 tets, at all times>"
    assert repr(MovingTetMesh(rest, Waves(rest.vertices), (0.5, 3.0), levels=1)) == (
        "<MovingTetMesh: 12 vertices, 12, 96 tets, from 0.5 to 3 s>"
    )
    assert m.duration == math.inf


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda r, x: MovingTetMesh("mesh", x, TIMES), TypeError, "rest must be a TetMesh, not str"),
        (lambda r, x: MovingTetMesh(r, x), ValueError, "times must be given with frames, one of each frame"),
        (lambda r, x: MovingTetMesh(r, x[:, 1:], TIMES), ValueError, r"frames must have shape \(f, 8, 3\), not \(5, 7, 3\)"),
        (lambda r, x: MovingTetMesh(r, x, TIMES[1:]), ValueError, r"times must have shape \(5,\), one of each frame, not \(4,\)"),
        (lambda r, x: MovingTetMesh(r, x[:0], []), ValueError, "there must be at least one frame"),
        (lambda r, x: MovingTetMesh(r, x, TIMES[[0, 1, 1, 3, 4]]), ValueError, "times must increase, but 0.75 s is followed by 0.75 s"),
        (lambda r, x: MovingTetMesh(r, x, ["a"] * 5), TypeError, "times must hold numbers"),
        (lambda r, x: MovingTetMesh(r, x > 0, TIMES), TypeError, "frames must hold numbers, not bool"),
        (lambda r, x: MovingTetMesh(r, Waves(x[0]), (1.0, 1.0)), ValueError, "the start 1 s is not before the end 1 s"),
        (lambda r, x: MovingTetMesh(r, Waves(x[0]), TIMES), ValueError, "times of a function must be two numbers"),
        (lambda r, x: MovingTetMesh(r, Stored(x, TIMES), TIMES), ValueError, "times must not be given beside a motion"),
        (lambda r, x: MovingTetMesh(r, x, TIMES, levels=-1), ValueError, "levels must be at least 0"),
        (lambda r, x: MovingTetMesh(r, x, TIMES, disabled=np.zeros((5, 7), bool)), ValueError, r"disabled must have shape \(5, 6\)"),
        (lambda r, x: MovingTetMesh(r, x, TIMES, disabled=np.zeros((5, 6))), TypeError, "disabled must be of dtype bool"),
        (
            lambda r, x: MovingTetMesh(r, Waves(x[0]), disabled=np.zeros((5, 6), bool)),
            TypeError,
            "disabled must be a function of the time",
        ),
    ],
)
def test_what_is_refused(make: Callable[[TetMesh, np.ndarray], MovingTetMesh], error: type[Exception], sentence: str) -> None:
    rest = tet_block(1, 1, 1)
    with pytest.raises(error, match=sentence):
        make(rest, np.repeat(rest.vertices[None], 5, axis=0))


def test_times_levels_and_positions_that_are_refused(rng: np.random.Generator) -> None:
    rest = tet_block(1, 1, 1)
    m = MovingTetMesh(rest, random_frames(rest, rng), TIMES, levels=1)
    sentence = r"t must lie in the motion from 0.5 s to 3 s, but is 0.25 s"
    for call in (m.positions, m.disabled, m.enabled, lambda t: m.velocities(t, 0.1), lambda t: m.locate(np.zeros((1, 3)), t)):
        with pytest.raises(ValueError, match=sentence):
            call(0.25)
    with pytest.raises(ValueError, match=r"t \+ dt must lie in the motion from 0.5 s to 3 s, but is 3.5 s"):
        m.displacements(2.5, 1.0)
    for dt in (0.0, -0.1):
        with pytest.raises(ValueError, match="dt must be positive"):
            m.velocities(1.0, dt)
    with pytest.raises(ValueError, match="t must be finite, not nan"):
        m.positions(math.nan)
    with pytest.raises(ValueError, match="level must be below 2, not 2"):
        m.positions(1.0, 2)
    with pytest.raises(ValueError, match="level must be at least -1, not -2"):
        m.tets(-2)
    frames = random_frames(rest, rng)
    frames[3, 5, 1] = np.nan
    with pytest.raises(ValueError, match=r"positions must be finite, but that of vertex 5 at time 1.625 s has the value nan"):
        MovingTetMesh(rest, frames, TIMES)
    bad = MovingTetMesh(rest, lambda t: np.where(np.arange(8)[:, None] == 2, 1 / np.float64(t - 1 or np.inf), 1.0) * [[1, 1, np.inf]])
    with pytest.raises(ValueError, match=r"that of vertex 0 at time 2 s has the value inf"):
        bad.positions(2.0)
    with pytest.raises(ValueError, match=r"motion must return an array of shape \(8, 3\), not \(7, 3\), as at time 1 s"):
        MovingTetMesh(rest, lambda t: rest.vertices[1:]).positions(1.0)
    with pytest.raises(TypeError, match="motion must return numbers, not <U4, as at time 1 s"):
        MovingTetMesh(rest, lambda t: "here").positions(1.0)
    with pytest.raises(ValueError, match=r"disabled must have shape \(6,\), not \(5,\)"):
        MovingTetMesh(rest, Waves(rest.vertices), disabled=lambda t: np.zeros(5, bool)).enabled(0.0)
    # Large coordinates overflow a sum, and are finite.
    assert np.isfinite(MovingTetMesh(rest, lambda t: np.full((8, 3), 1e308)).positions(0.0)).all()


def test_a_mesh_without_elements() -> None:
    rest = TetMesh(np.eye(3), np.empty((0, 4), np.int32))
    m = MovingTetMesh(rest, Waves(rest.vertices), levels=2)
    assert m.tet_count() == 0
    assert m.velocities(0.0, 1.0).shape == (3, 3)
    assert m.enabled(0.0).shape == (0,)
    assert m.locate(np.eye(3), 0.0).tets.tolist() == [-1] * 3


def test_the_same_on_any_number_of_threads(default_parallelism: None, rng: np.random.Generator) -> None:
    block = tet_block(9, 8, 7)
    m = MovingTetMesh(block, Waves(block.vertices), levels=2)
    points = rng.uniform(-0.1, 9.1, (5000, 3))

    def run() -> list[np.ndarray]:
        found = m.locate(points, 0.3)
        return [m.positions(0.3), m.displacements(0.3, 0.1), m.velocities(0.3, 0.1), *found, *m.locate(points, 0.4, found.tets)]

    ms.set_num_threads(1)
    plain = run()
    for n in THREADS:
        ms.set_num_threads(n)
        assert same_bits(run(), plain), f"{n} threads"


@pytest.mark.slow
def test_memory_of_eight_million_tetrahedra() -> None:
    """As many as the bear of Lee 2018 has: 16,170 coarse ones, three levels. At most 40 bytes per fine tetrahedron are held, with location
    in use, by the sizes of the arrays and by what the process grows."""
    code = """
import os
import numpy as np
import meniscus as ms

def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

block = ms.mesh.tet_block(35, 77, 1)
before = resident()
m = ms.mesh.MovingTetMesh(block, lambda t: block.vertices * (1 + t), levels=3)
m.locate(np.full((1, 3), 0.3), 0.5)
assert m.tet_count() == 8279040, m
grown = resident() - before
print(m.nbytes / m.tet_count(), grown / m.tet_count())
assert m.nbytes <= 40 * m.tet_count()
assert grown <= 40 * m.tet_count()
"""
    subprocess.run([sys.executable, "-c", code], check=True)

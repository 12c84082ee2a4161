"""Battery of checks for all forces of bodies: derivatives, symmetry, conservation, damping, threads, degenerate input.

A force takes part by a `Case`. Those of all forces are in `support.forces.cases`; other test modules make their own and run `CHECKS`
over them.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import meniscus as ms
from support.build import same_bits

Positions = np.ndarray


@dataclass
class Case:
    """A force, where to ask it, and what it promises.

    Attributes:
        name: shown by pytest.
        build: makes the force anew.
        positions: positions that are nothing special, deformed but not near a kink of the force.
        rest: positions without elastic force, or None.
        conservative: the force is minus the derivative of `energy`.
        symmetric: so is its differential.
        internal: no resultant force and no torque from positions.
        free_of_drag: rigid motions are not damped.
        damping_torque: damping may turn the body: it is not along the line between its ends.
        diagonal: `diagonal` holds all of the exact tangent; else it is something like that of the definite one, for preconditioners.
        definite: what the definite tangent is: "clamped", the exact one without what is negative; "gauss-newton", the part with the squares
            of first derivatives, which has most of the stiffness; "none", 0.
        large: the same with thousands of nodes, so that several threads have work.
        bound: `stiffness_bounds` bounds the frequencies at `positions`.
    """

    name: str
    build: Callable[[], ms.solids.Force]
    positions: Positions
    rest: Positions | None = None
    conservative: bool = True
    symmetric: bool = True
    internal: bool = True
    free_of_drag: bool = True
    damping_torque: bool = False
    diagonal: bool = True
    definite: str = "clamped"
    bound: bool = True
    large: Callable[[], Case] | None = None


def directions(case: Case, count: int = 3, seed: int = 5) -> np.ndarray:
    """Random unit displacements of all nodes."""
    d = np.random.default_rng(seed).standard_normal((count, *case.positions.shape))
    return d / np.linalg.norm(d, axis=(1, 2), keepdims=True)


def rigid_motions(x: Positions) -> list[np.ndarray]:
    """The velocities of three translations and three rotations."""
    return [np.ascontiguousarray(np.broadcast_to(e, x.shape)) for e in np.eye(3)] + [np.cross(e, x) for e in np.eye(3)]


def size_of_forces(case: Case, force: ms.solids.Force) -> float:
    return float(np.abs(force.forces(case.positions)).max())


def matrix(apply: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """The matrix (3n, 3n) of a linear function of (n, 3) arrays."""
    columns = []
    for k in range(3 * n):
        unit = np.zeros((n, 3))
        unit.flat[k] = 1
        columns.append(apply(unit).ravel())
    return np.array(columns).T


def check_force_is_minus_the_derivative_of_energy(case: Case) -> None:
    if not case.conservative:
        pytest.skip("there is no energy")
    force, x = case.build(), case.positions
    f = force.forces(x)
    assert np.abs(f).max() > 0
    for d in directions(case):
        h = 1e-5
        # Fourth-order central differences.
        slope = (8 * (force.energy(x + h * d) - force.energy(x - h * d)) - force.energy(x + 2 * h * d) + force.energy(x - 2 * h * d)) / (
            12 * h
        )
        assert abs(np.vdot(f, d) + slope) <= 1e-7 * np.linalg.norm(f) + 1e-9 * abs(force.energy(x)) / h * 1e-2


def check_differential_is_the_derivative_of_forces(case: Case) -> None:
    force, x = case.build(), case.positions
    for d in directions(case):
        h = 1e-5
        numeric = (8 * (force.forces(x + h * d) - force.forces(x - h * d)) - force.forces(x + 2 * h * d) + force.forces(x - 2 * h * d)) / (
            12 * h
        )
        exact = force.differentials(x, d)
        scale = max(np.abs(exact).max(), np.abs(numeric).max(), 1e-3 * size_of_forces(case, force))
        assert np.abs(exact - numeric).max() <= 1e-7 * scale


def check_differentials_are_linear_and_scaled(case: Case) -> None:
    force, x = case.build(), case.positions
    d, e = directions(case, 2)
    together = force.differentials(x, 2 * d - 3 * e)
    apart = 2 * force.differentials(x, d) - 3 * force.differentials(x, e)
    assert np.abs(together - apart).max() <= 1e-12 * max(np.abs(apart).max(), 1e-300)
    f = np.ones_like(x)
    force.core.linearise(x, ms.solids.force.TANGENT("tangent", "exact"))
    force.core.add_differentials(d, -2.5, f)
    expected = 1 - 2.5 * force.differentials(x, d)
    assert np.abs(f - expected).max() <= 1e-13 * np.abs(expected).max()


def check_differentials_and_damping_are_symmetric(case: Case) -> None:
    force, x = case.build(), case.positions
    for d, e in product(directions(case, 2, 5), directions(case, 2, 6)):
        for tangent in ("exact", "definite", "frozen"):
            if tangent == "exact" and not case.symmetric:
                continue
            a, b = force.differentials(x, d, tangent=tangent), force.differentials(x, e, tangent=tangent)
            assert abs(np.vdot(a, e) - np.vdot(b, d)) <= 1e-12 * max(np.linalg.norm(a), np.linalg.norm(b), 1e-300)
        a, b = force.damping_forces(x, d), force.damping_forces(x, e)
        assert abs(np.vdot(a, e) - np.vdot(b, d)) <= 1e-12 * max(np.linalg.norm(a), np.linalg.norm(b), 1e-300)


def check_definite_tangent_and_damping_take_no_energy_out_of_nothing(case: Case) -> None:
    force, x = case.build(), case.positions
    rough = x + np.random.default_rng(8).standard_normal(x.shape)
    for p in (x, rough):
        for d in directions(case, 8):
            for tangent in ("definite", "frozen"):
                a = force.differentials(p, d, tangent=tangent)
                assert np.vdot(a, d) <= 1e-12 * max(np.linalg.norm(a), 1e-300)
            assert np.vdot(force.damping_forces(p, d), d) <= 0


def check_definite_tangent_leaves_out_nothing_else(case: Case) -> None:
    if not case.symmetric:
        pytest.skip("the exact one is not symmetric")
    force, x = case.build(), case.positions
    n = len(x)
    exact, definite = (-matrix(lambda d, t=t: force.differentials(x, d, tangent=t), n) for t in ("exact", "definite"))
    largest, most = (np.linalg.eigvalsh(0.5 * (k + k.T)).max() for k in (exact, definite))
    if case.definite == "none":
        assert not definite.any()
        return
    assert 0.9 * largest <= most <= 1.3 * largest + 1e-300
    if case.definite == "clamped":
        assert np.linalg.eigvalsh(definite - 0.5 * (exact + exact.T)).min() >= -1e-12 * max(largest, 1e-300)


def check_no_resultant_force_and_torque(case: Case) -> None:
    if not case.internal:
        pytest.skip("an external force")
    force, x = case.build(), case.positions
    d = directions(case, 1)[0]
    for f, turns in ((force.forces(x), False), (force.damping_forces(x, d), case.damping_torque)):
        scale = max(np.abs(f).max(), 1e-300) * len(x)
        assert np.abs(f.sum(axis=0)).max() <= 1e-13 * scale
        assert turns or np.abs(np.cross(x, f).sum(axis=0)).max() <= 1e-13 * scale * max(1.0, np.abs(x).max())


def check_rigid_motions_are_not_damped(case: Case) -> None:
    if not case.free_of_drag:
        pytest.skip("drag acts on rigid motions")
    force, x = case.build(), case.positions
    scale = max(np.abs(force.damping_forces(x, d)).max() for d in directions(case)) * len(x)
    for v in rigid_motions(x):
        assert np.abs(force.damping_forces(x, v)).max() <= 1e-12 * max(scale, 1e-300) * max(1.0, np.abs(v).max())


def check_translations_do_not_change_forces(case: Case) -> None:
    if not case.internal:
        pytest.skip("an external force")
    force, x = case.build(), case.positions
    scale = max(np.abs(force.differentials(x, d)).max() for d in directions(case))
    for shift in rigid_motions(x)[:3]:
        for tangent in ("exact", "definite", "frozen"):
            assert np.abs(force.differentials(x, shift, tangent=tangent)).max() <= 1e-11 * max(scale, 1e-300) * np.sqrt(x.size)


def check_rotations_turn_the_forces(case: Case) -> None:
    if not case.internal:
        pytest.skip("an external force")
    force, x = case.build(), case.positions
    q = np.linalg.qr(np.random.default_rng(4).standard_normal((3, 3)))[0]
    q *= np.sign(np.linalg.det(q))
    f = force.forces(x)
    turned = force.forces(np.ascontiguousarray(x @ q.T + [3.0, -1.0, 2.0]))
    assert np.abs(turned - f @ q.T).max() <= 1e-11 * max(np.abs(f).max(), 1e-300)
    # The derivative of this along a rotation: at constant forces, the differential of a rotation is the rotation of the forces.
    for e in np.eye(3):
        turn = force.differentials(x, np.cross(e, x))
        scale = max(np.abs(turn).max(), np.abs(f).max(), max(np.abs(force.differentials(x, d)).max() for d in directions(case)))
        assert np.abs(turn - np.cross(e, f)).max() <= 1e-11 * scale * np.sqrt(x.size)


def check_diagonal_blocks_are_those_of_the_differentials(case: Case) -> None:
    force, x = case.build(), case.positions
    n = len(x)
    damping = matrix(lambda v: force.damping_forces(x, v), n).reshape(n, 3, n, 3)
    for tangent in ("exact", "definite", "frozen"):
        if tangent == "exact" and not (case.symmetric and case.diagonal):
            continue
        stiffness = matrix(lambda d, t=tangent: force.differentials(x, d, tangent=t), n).reshape(n, 3, n, 3)
        whole = 0.7 * stiffness - 1.3 * damping
        expected = np.array([whole[i, :, i, :] for i in range(n)])
        blocks = force.diagonal(x, 0.7, -1.3, tangent=tangent)
        if not case.diagonal:
            # Only for preconditioners: of the same size, and with no sign of its own.
            assert 0.1 < np.trace(blocks.sum(axis=0)) / np.trace(expected.sum(axis=0)) < 3
            assert np.linalg.eigvalsh(blocks).max() <= 1e-12 * np.abs(whole).max()
            continue
        assert np.abs(blocks - expected).max() <= 1e-12 * max(np.abs(whole).max(), 1e-300)
        assert (
            np.array_equal(blocks, blocks.transpose(0, 2, 1))
            or np.abs(blocks - blocks.transpose(0, 2, 1)).max() <= 1e-12 * np.abs(whole).max()
        )


def check_bits_do_not_depend_on_threads(case: Case) -> None:
    if case.large is not None:
        case = case.large()
        assert len(case.positions) > 1000
    x, d = case.positions, directions(case, 1)[0]

    def answers() -> list[np.ndarray]:
        force = case.build()
        return [
            np.array([force.energy(x), force.strain_rate(x, d)]),
            force.forces(x),
            *(force.differentials(x, d, tangent=t) for t in ("exact", "definite", "frozen")),
            force.damping_forces(x, d),
            force.diagonal(x, 1.0, 1.0),
            force.stiffness_bounds(x),
        ]

    first = None
    for threads in (1, 2, 3, 5, 8):
        ms.set_num_threads(threads)
        for level in ("baseline", "avx2", "avx512"):
            try:
                ms.core.set_simd_level(level)
            except ValueError:
                continue
            found = answers()
            first = first if first is not None else found
            assert same_bits(found, first)


def check_answers_are_finite_whatever_the_positions(case: Case) -> None:
    x = case.positions
    rng = np.random.default_rng(3)
    flat, line = x.copy(), np.zeros_like(x)
    flat[:, 2] = 0
    line[:, 0] = x[:, 0]
    some = x.copy()
    some[1::2] = some[: len(some[1::2])]
    for bad in (
        flat,
        line,
        np.zeros_like(x),
        np.ones_like(x),
        some,
        -x,
        1e-200 * x,
        1e-9 * x,
        1e6 * rng.standard_normal(x.shape),
        np.round(x),
    ):
        force = case.build()
        p = np.ascontiguousarray(bad)
        d = rng.standard_normal(x.shape)
        values = [
            np.array([force.energy(p), force.strain_rate(p, d)]),
            force.forces(p),
            force.damping_forces(p, d),
            force.stiffness_bounds(p),
        ]
        for tangent in ("definite", "frozen"):
            values += [force.differentials(p, d, tangent=tangent), force.diagonal(p, 1.0, 1.0, tangent=tangent)]
        for v in values:
            assert np.isfinite(v).all()
        assert (
            np.vdot(force.differentials(p, d, tangent="definite"), d)
            <= 1e-12 * np.abs(force.differentials(p, d, tangent="definite")).max() * x.size
        )
        if case.internal:
            f = values[1]
            assert np.abs(f.sum(axis=0)).max() <= 1e-12 * max(np.abs(f).max(), 1e-300) * len(x)
            lever = max(np.abs(p).max(), 1.0) * np.abs(f).max() * len(x)
            assert np.abs(np.cross(p, f).sum(axis=0)).max() <= 1e-12 * max(lever, 1e-300)


def check_no_force_at_rest(case: Case) -> None:
    if case.rest is None:
        pytest.skip("there is no state of rest")
    force = case.build()
    at_rest, typical = force.forces(case.rest), size_of_forces(case, force)
    assert np.abs(at_rest).max() <= 1e-12 * typical
    assert force.energy(case.rest) <= 1e-20 * max(force.energy(case.positions), 1.0)


def check_stiffness_bounds_bound_the_frequencies(case: Case) -> None:
    if not case.bound:
        pytest.skip("no bound is promised")
    force, x = case.build(), case.positions
    n = len(x)
    mass = np.random.default_rng(2).uniform(0.3, 3.0, n)
    bound = force.stiffness_bounds(x)
    assert (bound >= 0).all()
    root = np.repeat(np.sqrt(mass), 3)
    stiffness = -matrix(lambda d: force.differentials(x, d, tangent="definite"), n)
    square = np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T) / root[:, None] / root[None, :]).max()
    assert square <= 2 * (bound / mass).max() * (1 + 1e-12)


def check_damping_bounds_bound_the_rates(case: Case) -> None:
    """And so do the ratios of damping to stiffness."""
    force = case.build()
    n = len(case.positions)
    mass = np.random.default_rng(2).uniform(0.3, 3.0, n)
    root = np.repeat(np.sqrt(mass), 3)
    for x in (case.positions,) if case.rest is None else (case.positions, case.rest):
        bound = force.damping_bounds(x)
        assert (bound >= 0).all()
        damping = -matrix(lambda v, x=x: force.damping_forces(x, v), n)
        rate = np.linalg.eigvalsh(0.5 * (damping + damping.T) / root[:, None] / root[None, :]).max()
        assert rate <= 2 * (bound / mass).max() * (1 + 1e-12)
        if not (case.symmetric and case.diagonal):
            continue
        least, most = force.damping_ratios(x)
        assert least <= most or least == np.inf
        stiffness = -matrix(lambda d, x=x: force.differentials(x, d, tangent="definite"), n)
        for ratio, sign in ((least, -1.0), (most, 1.0)):
            if 0 < ratio < np.inf:
                size = max(np.abs(damping).max(), ratio * np.abs(stiffness).max())
                assert np.linalg.eigvalsh(sign * (ratio * stiffness - damping)).min() >= -1e-6 * size


def check_only_conservative_forces_are_said_to_be(case: Case) -> None:
    """A force that says that it is one passes the check of its energy: `conservative` of a case is that of the force."""
    assert not case.build().conservative or case.conservative


def check_forces_are_added_and_input_is_checked(case: Case) -> None:
    force, x = case.build(), case.positions
    f = np.ones_like(x)
    assert force.forces(x, out=f) is f
    assert np.abs(f - 1 - force.forces(x)).max() <= 1e-14 * (1 + np.abs(f).max())
    longer = np.concatenate([x, [[7.0, 8.0, 9.0]]])
    assert np.array_equal(force.forces(longer)[:-1], force.forces(x))
    assert force.nodes <= len(x)
    assert force.nbytes > 0
    with pytest.raises(TypeError, match="float64"):
        force.forces(x.astype(np.float32))
    with pytest.raises(ValueError, match="shape"):
        force.forces(np.zeros((len(x), 2)))
    with pytest.raises(ValueError, match="row for each of the"):
        force.forces(np.zeros((force.nodes - 1, 3)))
    bad = x.copy()
    bad[1, 2] = np.nan
    for call in (
        force.forces,
        force.energy,
        force.stiffness_bounds,
        lambda p: force.differentials(p, x),
        lambda p: force.damping_forces(p, x),
    ):
        with pytest.raises(ValueError, match=r"\[1, 2\] is nan"):
            call(bad)
    with pytest.raises(ValueError, match="tangent must be one of"):
        force.differentials(x, x, tangent="numeric")  # type: ignore[arg-type]


def check_pickles_and_copies_answer_with_the_same_bits(case: Case) -> None:
    """Also after a linearisation elsewhere, which some forces remember; and so do the steps of bodies."""
    force, x = case.build(), case.positions
    v = np.random.default_rng(11).standard_normal(x.shape)
    force.prepare(x, v, 0.5)
    force.differentials(x, v)
    coincident = np.zeros_like(x)
    for other in (pickle.loads(pickle.dumps(force)), copy.deepcopy(force), copy.copy(force)):
        assert type(other) is type(force)
        assert other.nodes == force.nodes
        assert other.core is not force.core
        for p in (x, coincident):
            for tangent in ("exact", "definite", "frozen"):
                assert same_bits(other.differentials(p, v, tangent=tangent), force.differentials(p, v, tangent=tangent))
            assert same_bits(other.forces(p), force.forces(p))
            assert same_bits(other.damping_forces(p, v), force.damping_forces(p, v))
            assert np.array_equal(other.energy(p), force.energy(p), equal_nan=True)
    body = ms.solids.DeformableBody(x, masses=np.random.default_rng(12).uniform(0.5, 2, len(x)))
    body.add(case.build())
    body.velocities[...] = 0.1 * v
    body.step(1e-3, "symplectic-euler")
    others = [pickle.loads(pickle.dumps(body)), copy.deepcopy(body)]
    for b in (body, *others):
        b.step(1e-3, "symplectic-euler")
    for b in others:
        assert same_bits(b.positions, body.positions)
        assert same_bits(b.velocities, body.velocities)


CHECKS: list[Callable[[Case], None]] = [f for name, f in list(globals().items()) if name.startswith("check_")]

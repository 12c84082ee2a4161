"""Air around a core that stops swings as the matrices of the run say."""

from __future__ import annotations

import numpy as np
import pytest
from support.creatures import BALL

from meniscus.coupling import AirSprings
from meniscus.coupling.follower import Follower
from meniscus.coupling.kdsm_parts import Plan, make_parts
from meniscus.coupling.skinning import Skinning


def matrices(run, free: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stiffness, damping and mass of the free nodes, by central differences of the forces at rest."""
    body, n = run.body, 3 * len(free)
    x, v = np.array(body.positions), np.array(body.velocities)
    stiffness, damping = np.empty((n, n)), np.empty((n, n))
    for j, (node, axis) in enumerate((node, axis) for node in free for axis in range(3)):
        for matrix, state, h in ((stiffness, body.positions, 1e-6), (damping, body.velocities, 1e-4)):
            sides = []
            for sign in (1.0, -1.0):
                state[node, axis] += sign * h
                sides.append(body.forces_at_nodes()[free].ravel())
                body.positions, body.velocities = x, v
            matrix[:, j] = -(sides[0] - sides[1]) / (2.0 * h)
    return stiffness, damping, np.repeat(np.asarray(body.masses)[free], 3)


@pytest.mark.fast_cases("springs-0.3")
@pytest.mark.parametrize(("material", "damping"), [("springs", 0.3), ("neo-hookean", 0.2)])
def test_the_lowest_mode_has_its_frequency_and_decay(material: str, damping: float) -> None:
    # Without altitude springs, whose choice at rest is a tie.
    options = Skinning(
        material=material, damping=damping, springs=AirSprings(altitude_stiffness=0.0), density=2.0, push_out=False, substeps=400
    )
    parts, morph = make_parts(BALL, Plan(cell_size=0.3, layers=1))
    follower = Follower(parts, morph, Plan(cell_size=0.3, layers=1), options)
    free = np.setdiff1d(np.arange(len(parts.mesh.vertices)), parts.given)
    k, c, m = matrices(follower.run, free)
    n = len(m)
    state = np.block([[np.zeros((n, n)), np.eye(n)], [-k / m[:, None], -c / m[:, None]]])
    values, left = np.linalg.eig(state.T)
    swinging = np.flatnonzero(values.imag > 1e-3)
    lowest = swinging[np.argmin(np.abs(values[swinging]))]
    expected, w = values[lowest], left[:, lowest]

    frame = 0.5 / abs(expected)
    follower.first(BALL.vertices)
    speed = 1e-3 / frame
    shift = np.array([1.0, 0.4, -0.3]) * 1e-3
    follower.next(1, (0.0, frame), BALL.vertices + shift)
    still = BALL.vertices + shift
    target = parts.mesh.vertices + shift
    samples = []
    for step in range(2, 10):
        follower.next(step, ((step - 1) * frame, step * frame), still)
        body = follower.run.body
        samples.append(w @ np.concatenate([(body.positions - target)[free].ravel(), body.velocities[free].ravel()]))
    assert abs(samples[0]) > 1e-6 * speed
    rates = np.log(np.array(samples[1:]) / np.array(samples[:-1])) / frame
    np.testing.assert_allclose(rates.imag, expected.imag, rtol=0.02)
    np.testing.assert_allclose(rates.real, expected.real, rtol=0.02)

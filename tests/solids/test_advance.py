"""`advance` of bodies: the same steps as by hand, that end exactly at the duration."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms


def jelly() -> ms.solids.DeformableBody:
    mesh = ms.mesh.tet_block(1, 1, 1)
    body = ms.solids.DeformableBody(mesh, density=100.0, gravity=(0, 0, -9.81))
    body.add(ms.solids.TetElements(mesh, youngs_modulus=1e4, poissons_ratio=0.3))
    body.velocities = 0.1
    return body


def position_body() -> ms.solids.PositionBody:
    body = ms.solids.PositionBody(ms.mesh.SegmentMesh([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], [(0, 1)]), gravity=(0.0, 0.0, -9.81))
    body.add(ms.solids.DistanceConstraints(body.positions.copy(), edges=np.array([[0, 1]], np.int32)))
    return body


def rigid() -> ms.solids.RigidBody:
    return ms.solids.RigidBody.box((1.0, 2.0, 3.0), 10.0, gravity=(0.0, 0.0, -9.81))


def where(body: Any) -> Any:
    return np.array(body.center if isinstance(body, ms.solids.RigidBody) else body.positions)


@pytest.mark.parametrize(
    ("make", "options", "longest"),
    [
        (jelly, {"integrator": "implicit-euler"}, 1 / 60),
        (jelly, {"integrator": "implicit-euler"}, 0.003),
        (position_body, {"substeps": 4}, 1 / 60),
        (rigid, {}, 1 / 60),
        (rigid, {"method": "fourth-order"}, 0.01),
    ],
)
def test_advance_takes_equal_steps_that_end_at_the_duration(make: Any, options: dict[str, Any], longest: float) -> None:
    body, by_hand = make(), make()
    seen: list[float] = []
    reports = body.advance(0.1, lambda b: seen.append(b.time), longest=longest, **options)
    count = int(np.ceil(0.1 / longest - 1e-9))
    assert len(reports) == len(seen) == count
    assert body.time == pytest.approx(0.1, abs=1e-15)
    np.testing.assert_allclose(np.diff([0.0, *seen]), 0.1 / count, rtol=1e-12)
    for _ in range(count):
        by_hand.step(0.1 / count, **options)
    np.testing.assert_allclose(where(body), where(by_hand), rtol=0, atol=1e-13)


def test_steps_keep_the_limit_of_their_integrator() -> None:
    body = jelly()
    limits = []
    body.advance(0.05, lambda b: limits.append(b.max_dt("symplectic-euler")), integrator="symplectic-euler")
    assert len(limits) >= 0.05 / max(limits)
    assert np.abs(body.velocities).max() < 2


def test_mistakes_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="duration must be positive"):
        rigid().advance(0.0)
    with pytest.raises(ValueError, match="longest must be positive"):
        rigid().advance(1.0, longest=0.0)
    with pytest.raises(ValueError, match="too short to advance by 1 s"):
        rigid().advance(1.0, longest=1e-12)

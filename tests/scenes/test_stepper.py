"""Control of time steps: frames, remainders, snapshots of the clock and errors."""

import math
import pickle

import numpy as np
import pytest

from meniscus.scenes import TimeStepper


def test_steps_end_exactly_on_frames():
    stepper = TimeStepper(end=1.0, frames=3)
    times, completed = [], []
    while not stepper.finished:
        dt = stepper.next_dt(0.1)
        assert 0 < dt <= 0.1 * (1 + 1e-9)
        completed.append(stepper.advance(dt))
        times.append(stepper.time)
    frame_times = [t for t, c in zip(times, completed, strict=True) if c]
    assert frame_times == [1 / 3, 2 / 3, 1.0]
    assert stepper.frame == 3
    assert stepper.step == len(times) == 12


def test_remainder_of_rounding_size_is_no_step_of_its_own():
    stepper = TimeStepper(end=0.3)
    steps = 0
    while not stepper.finished:
        stepper.advance(stepper.next_dt(0.1))
        steps += 1
    assert steps == 3
    assert stepper.time == 0.3


@pytest.mark.parametrize("seed", range(4))
def test_no_step_is_a_sliver(seed):
    """Also where the limit changes from step to step: none is shorter than half of the limit, or than a frame needs."""
    rng = np.random.default_rng(seed)
    frame = float(rng.uniform(0.01, 10.0))
    for part in (0.1, 0.37, 0.4999, 0.5, 0.50001, 0.9, 0.99999, 1.0 - 1e-8, 1 / 3 + 1e-12, 1 / 7 - 1e-12, *rng.uniform(0.01, 1.0, 20)):
        stepper = TimeStepper(end=5 * frame, frames=5)
        while not stepper.finished:
            limit = part * frame
            dt = stepper.next_dt(limit)
            assert 0.5 * limit * (1 - 1e-6) <= dt <= limit * (1 + 1e-9)
            stepper.advance(dt)
        assert stepper.step <= 5 * math.ceil(1 / part + 1e-6)
        changing = TimeStepper(end=5 * frame, frames=5)
        before = math.inf
        while not changing.finished:
            limit = part * frame * float(rng.uniform(0.9, 1.1))
            dt = changing.next_dt(limit)
            assert dt >= 0.4 * limit or dt >= 0.4 * before
            before = dt
            changing.advance(dt)


def test_large_limit_gives_one_step_per_frame():
    stepper = TimeStepper(end=2.0, frames=4)
    assert stepper.next_dt(100.0) == 0.5
    assert stepper.next_dt(math.inf) == 0.5


def test_clock_goes_on_where_a_snapshot_saw_it():
    whole, other = TimeStepper(end=1.0, frames=3), TimeStepper(end=1.0, frames=3)
    for _ in range(5):
        whole.advance(whole.next_dt(0.07))
    other.restore(whole.snapshot())
    while not whole.finished:
        assert other.next_dt(0.07) == whole.next_dt(0.07)
        assert other.advance(other.next_dt(0.07)) == whole.advance(whole.next_dt(0.07))
        assert (other.time, other.step, other.frame) == (whole.time, whole.step, whole.frame)
    assert pickle.loads(pickle.dumps(other)).snapshot() == whole.copy().snapshot() == whole.snapshot()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"frame": 4}, ValueError, "frame must be below 4, not 4"),
        ({"frame": -1}, ValueError, "frame must be at least 0, not -1"),
        ({"frame": 1.0}, TypeError, "frame in the snapshot must be an integer, not 1.0"),
        ({"frame": "1"}, TypeError, "frame in the snapshot must be an integer, not '1'"),
        ({"frame": True}, TypeError, "frame in the snapshot must be an integer, not True"),
        ({"step": -1}, ValueError, "step must be at least 0, not -1"),
        ({"step": 2.5}, TypeError, "step in the snapshot must be an integer, not 2.5"),
        ({"step": None}, TypeError, "step in the snapshot must be an integer, not None"),
        ({"time": "0.5"}, TypeError, "time in the snapshot must be a number, not '0.5'"),
        ({"time": [0.5]}, TypeError, "time in the snapshot must be a number, not [0.5]"),
        ({"time": -0.5}, ValueError, "time must not be negative, not -0.5"),
        ({"time": 0.95}, ValueError, "time must be between frames 1 and 2, 0.333333 to 0.666667 s, not 0.95"),
        ({"time": math.nan}, ValueError, "time in the snapshot must be finite, not nan"),
        ({"time": math.inf}, ValueError, "time in the snapshot must be finite, not inf"),
        ({"dt": 0.1}, ValueError, "a snapshot of TimeStepper must hold time, frame, step, not time, frame, step, dt"),
        ({0: 0.1}, ValueError, "a snapshot of TimeStepper must hold time, frame, step, not time, frame, step, 0"),
    ],
)
def test_a_bad_snapshot_is_refused_and_changes_nothing(changes, error, message):
    check_refusal({"time": 0.5, "frame": 1, "step": 9, **changes}, error, message)


@pytest.mark.parametrize(
    ("snapshot", "error", "message"),
    [
        ({}, ValueError, "a snapshot of TimeStepper must hold time, frame, step, not nothing"),
        ({"time": 0.5, "frame": 1}, ValueError, "a snapshot of TimeStepper must hold time, frame, step, not time, frame"),
        ([0.5, 1, 9], TypeError, "a snapshot of TimeStepper must be a dict of parts by name, not a list"),
        (None, TypeError, "a snapshot of TimeStepper must be a dict of parts by name, not a NoneType"),
    ],
)
def test_what_is_no_snapshot_is_refused_and_changes_nothing(snapshot, error, message):
    check_refusal(snapshot, error, message)


def check_refusal(snapshot, error, message):
    stepper, same = (TimeStepper(end=1.0, frames=3) for _ in range(2))
    for clock in (stepper, same):
        for _ in range(5):
            clock.advance(clock.next_dt(0.07))
    with pytest.raises(error) as refused:
        stepper.restore(snapshot)
    assert str(refused.value) == message
    assert refused.value.__context__ is None, "one error"
    assert repr(stepper.snapshot()) == repr(same.snapshot())
    assert stepper.next_dt(0.07) == same.next_dt(0.07)


@pytest.mark.parametrize(("end", "frames"), [(0.0, 1), (-1.0, 1), (float("nan"), 1), (1.0, 0)])
def test_bad_clocks_are_refused(end, frames):
    with pytest.raises(ValueError, match=r"end|frames"):
        TimeStepper(end, frames)
    with pytest.raises(ValueError, match="max_dt"):
        TimeStepper(1.0).next_dt(0.0)


def test_runs_that_would_not_end_are_refused():
    stepper = TimeStepper(4.0, 2)
    for dt in (1e-300, 1e-15):
        with pytest.raises(ValueError, match=f"steps of {dt:g} s are too short to reach 4 s"):
            stepper.next_dt(dt)
    assert stepper.next_dt(1e-9) == 1e-9
    for frames in (2**63, 10**9, 10**400):
        with pytest.raises(ValueError, match="frames must be below 1000000000"):
            TimeStepper(1.0, frames)


def test_full_steps_and_a_rest_where_that_is_wanted():
    stepper, steps = TimeStepper(1.0, even=False), []
    while not stepper.finished:
        steps.append(stepper.next_dt(0.3))
        stepper.advance(steps[-1])
    np.testing.assert_allclose(steps, [0.3, 0.3, 0.3, 0.1])
    copied = stepper.copy()
    copied.restore({"time": 0.0, "frame": 0, "step": 0})
    copied.advance(0.6)
    assert copied.next_dt(0.3) == 0.3

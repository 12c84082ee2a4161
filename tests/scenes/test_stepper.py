"""Control of time steps: frames, remainders, snapshots of the clock and errors."""

import math

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
    with pytest.raises(ValueError, match="frame must be below 4, not 4"):
        other.restore({"time": 1.0, "frame": 4, "step": 9})
    before = other.snapshot()
    bad = [
        ({**before, "time": "0.5"}, "time must be a number, not '0.5'"),
        ({**before, "time": 0.5, "step": -1}, "step must be"),
        ({"time": 0.5}, "must hold time, frame, step, not time"),
        (None, "must hold time, frame, step, not nothing"),
    ]
    for snapshot, message in bad:
        with pytest.raises((TypeError, ValueError), match=message):
            other.restore(snapshot)
        assert other.snapshot() == before


@pytest.mark.parametrize(("end", "frames"), [(0.0, 1), (-1.0, 1), (float("nan"), 1), (1.0, 0)])
def test_bad_clocks_are_refused(end, frames):
    with pytest.raises(ValueError, match=r"end|frames"):
        TimeStepper(end, frames)
    with pytest.raises(ValueError, match="max_dt"):
        TimeStepper(1.0).next_dt(0.0)

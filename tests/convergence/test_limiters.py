"""New extrema of the corrected schemes, and limiters that prevent them (Selle 2008, section 2.7, Figure 2.5)."""

import pytest

from meniscus import scenes

# Square wave on [1/4, 3/4] after one period: scheme, limiter, n, CFL -> extremes and mean error.
UNLIMITED = [
    ("bfecc", 101, 0.75, -0.1462, 1.1462, 3.67e-2),
    ("maccormack", 101, 0.75, -0.1878, 1.1878, 5.79e-2),
    ("bfecc", 201, 0.75, -0.157, 1.157, 2.33e-2),
    ("maccormack", 201, 0.75, -0.198, 1.198, 3.85e-2),
    ("bfecc", 201, 1.75, -0.142, 1.142, 1.73e-2),
    ("maccormack", 201, 1.75, -0.165, 1.165, 3.59e-2),
]
LIMITED = [
    ("maccormack", "clamp", 4.55e-2),
    ("maccormack", "reversion", 4.68e-2),
    ("bfecc", "clamp", 3.21e-2),
    ("bfecc", "reversion", 3.24e-2),
]


def square_wave(**parameters):
    return scenes.run("wave", profile="square", end=1.0, **parameters).diagnostics


@pytest.mark.parametrize(("method", "n", "cfl", "low", "high", "error"), UNLIMITED)
def test_unlimited_schemes_overshoot(method, n, cfl, low, high, error):
    d = square_wave(nodes=n, method=method, cfl=cfl)
    assert d["min"] == pytest.approx(low, abs=6e-4)
    assert d["max"] == pytest.approx(high, abs=6e-4)
    assert d["error"] == pytest.approx(error, rel=3e-3)
    assert 2.75 < d["variation"] < 3.35


@pytest.mark.parametrize(("method", "limiter", "error"), LIMITED)
def test_limited_schemes_stay_in_range(method, limiter, error):
    d = square_wave(nodes=101, method=method, limiter=limiter, cfl=0.75)
    assert d["min"] >= 0.0
    assert d["max"] <= 1.0
    assert d["variation"] == pytest.approx(2.0, abs=1e-10)
    assert d["error"] == pytest.approx(error, rel=3e-3)


@pytest.mark.parametrize("cfl", [0.3, 0.75, 1.75, 4.6])
@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
@pytest.mark.parametrize("limiter", ["clamp", "reversion"])
def test_total_variation_stays_two_at_any_cfl(method, limiter, cfl):
    d = square_wave(nodes=201, method=method, limiter=limiter, cfl=cfl)
    assert d["min"] >= 0.0
    assert d["max"] <= 1.0
    assert d["variation"] == pytest.approx(2.0, abs=1e-10)


@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
def test_clamp_and_reversion_differ_by_a_few_percent(method):
    clamp = square_wave(nodes=201, method=method, limiter="clamp", cfl=0.75)["error"]
    reversion = square_wave(nodes=201, method=method, limiter="reversion", cfl=0.75)["error"]
    assert clamp == pytest.approx(reversion, rel=0.05)

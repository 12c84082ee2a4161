"""Temporal accuracy and stability of the schemes on y' = lambda y (Selle 2008, section 2.5)."""

import numpy as np
import pytest

from meniscus.numerics import amplification, observed_orders

# Table 2.1, verbatim: y' = -y/2, y(0) = 1.3. The final time is not printed; t = 5 reproduces every entry.
STEPS = [1.0, 0.5, 0.25, 0.125]
TABLE_2_1 = {
    "forward-euler": (["-6.61e-02", "-3.35e-02", "-1.67e-02", "-8.36e-03"], ["1.0", "1.0", "1.0"]),
    "bfecc": (["-3.35e-02", "-7.13e-03", "-1.59e-03", "-3.72e-04"], ["2.2", "2.2", "2.1"]),
    "maccormack": (["1.73e-02", "3.40e-03", "7.66e-04", "1.82e-04"], ["2.3", "2.2", "2.1"]),
}


def final_error(scheme, dt, end=5.0, rate=-0.5, start=1.3):
    y = start
    for _ in range(round(end / dt)):
        y = amplification(scheme, dt * rate).real * y
    return y - start * np.exp(rate * end)


@pytest.mark.parametrize("scheme", TABLE_2_1)
def test_table_2_1_to_the_printed_digits(scheme):
    printed, orders = TABLE_2_1[scheme]
    errors = [final_error(scheme, dt) for dt in STEPS]
    assert [f"{e:.2e}" for e in errors] == printed
    assert [f"{o:.1f}" for o in observed_orders(STEPS, errors)] == orders


def test_one_step_multiplies_by_the_closed_forms():
    rng = np.random.default_rng(1)
    z = rng.normal(size=1000) + 1j * rng.normal(size=1000)
    closed = {"forward-euler": 1 + z, "bfecc": 1 + z + z**2 / 2 + z**3 / 2, "maccormack": 1 + z + z**2 / 2}
    for scheme, g in closed.items():
        np.testing.assert_allclose(amplification(scheme, z), g, rtol=0, atol=1e-13 * np.abs(z).max() ** 3)


@pytest.mark.parametrize(("scheme", "constant", "power"), [("forward-euler", 1 / 2, 2), ("bfecc", -1 / 3, 3), ("maccormack", 1 / 6, 3)])
def test_leading_error_constant(scheme, constant, power):
    # exact - numeric = c z^p + O(z^(p+1))
    for z in (1e-3, -1e-3, 1e-3j):
        error = np.exp(z) - amplification(scheme, z)
        assert abs(error / z**power - constant) < 3e-3


def test_stability_on_the_axes():
    eps = 1e-9
    # BFECC is stable on the imaginary axis up to sqrt(3), where |G|^2 = 1 - 3 y^4 / 4 + y^6 / 4.
    y = np.linspace(0, 2, 401)
    g2 = np.abs(amplification("bfecc", 1j * y)) ** 2
    np.testing.assert_allclose(g2, 1 - 0.75 * y**4 + 0.25 * y**6, atol=1e-12)
    assert np.abs(amplification("bfecc", 1j * (np.sqrt(3) - eps))) < 1 < np.abs(amplification("bfecc", 1j * (np.sqrt(3) + eps)))
    # Real limits: the root of x^3/2 + x^2/2 + x + 2 = 0, and -2 for the other two.
    limit = -1.47796724
    assert np.abs(amplification("bfecc", limit + 1e-7)) < 1 < np.abs(amplification("bfecc", limit - 1e-7))
    for scheme in ("forward-euler", "maccormack"):
        assert np.abs(amplification(scheme, -2 + eps)) < 1 < np.abs(amplification(scheme, -2 - eps))
    # Runge-Kutta 2 contains nothing of the imaginary axis.
    assert (np.abs(amplification("maccormack", 1j * y[1:])) > 1).all()


def test_unknown_scheme_is_named():
    with pytest.raises(ValueError, match="'forward-euler', 'bfecc', 'maccormack'"):
        amplification("leapfrog", 0.1)

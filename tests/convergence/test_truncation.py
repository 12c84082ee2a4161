"""Local truncation errors and Fourier symbols at any CFL number (Selle 2008, section 2.6, Figure 2.4, equations 2.4 and 2.5)."""

import numpy as np
import pytest

import meniscus as ms
from meniscus import scenes


def one_step_error(method, cfl, n=400):
    return scenes.run("wave", nodes=n + 1, method=method, cfl=cfl, end=cfl / n).diagnostics["error"]


def coefficient(method, cfl):
    """Closed forms valid for every CFL number m + f, m = ceil(cfl) - 1, 0 < f <= 1."""
    m = np.ceil(cfl) - 1
    f = cfl - m
    return f * (1 - f) * (1 - 2 * f if method == "bfecc" else f + 3 * m + 1) / cfl**3


def piecewise(method, cfl):
    """The printed polynomials (2.4) and (2.5), for cfl <= 3."""
    branch = int(np.ceil(cfl)) - 1
    if method == "bfecc":
        c3, c2, c1, c0 = [(0, 1, -3, 2), (-6, 13, -9, 2), (-30, 37, -15, 2)][branch]
    else:
        c3, c2, c1, c0 = [(0, 1, 0, -1), (-6, 7, 0, -1), (-30, 19, 0, -1)][branch]
    return c3 / cfl**3 + c2 / cfl**2 + c1 / cfl + c0


def analytic_error(method, cfl, n=400):
    x = np.arange(n) / n
    third_derivative = (4 * np.pi) ** 3 * np.cos(4 * np.pi * x)
    return float(np.mean(np.abs((cfl / n) ** 3 * third_derivative * coefficient(method, cfl) / 6)))


@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
def test_closed_form_equals_the_printed_polynomials(method):
    for cfl in np.linspace(0.01, 3.0, 300):
        assert coefficient(method, cfl) == pytest.approx(piecewise(method, cfl), abs=1e-9 / cfl**3)


@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
@pytest.mark.parametrize("cfl", [0.1, 0.25, 0.5, 0.75, 0.9, 1.25, 1.5, 1.75, 2.25, 2.5, 2.75, 5.3, 17.7])
def test_one_step_error_is_the_closed_form(method, cfl):
    # The closed form is the leading term in 4 pi cfl / n: large CFL numbers need a finer line.
    n = 400 if cfl < 10 else 4000
    expected = analytic_error(method, cfl, n)
    vanishes = method == "bfecc" and cfl % 1 == 0.5
    tolerance = {"abs": 2e-8} if vanishes else {"rel": 0.01}
    assert one_step_error(method, cfl, n) == pytest.approx(expected, **tolerance)


# Figure 2.4, values at n = 400.
@pytest.mark.parametrize(
    ("method", "cfl", "value"),
    [
        ("bfecc", 0.25, 3.086e-07),
        ("bfecc", 0.5, 1.453e-08),
        ("bfecc", 1.75, 3.086e-07),
        ("bfecc", 2.5, 1.453e-08),
        ("maccormack", 0.25, 7.710e-07),
        ("maccormack", 0.5, 1.234e-06),
        ("maccormack", 0.75, 1.079e-06),
        ("maccormack", 1.25, 2.621e-06),
        ("maccormack", 1.5, 3.701e-06),
        ("maccormack", 1.75, 2.930e-06),
        ("maccormack", 2.25, 4.471e-06),
        ("maccormack", 2.5, 6.167e-06),
        ("maccormack", 2.75, 4.779e-06),
    ],
)
def test_figure_2_4(method, cfl, value):
    assert one_step_error(method, cfl) == pytest.approx(value, rel=2e-3)


@pytest.mark.parametrize(("fraction", "value"), [(0.25, 5.891e-05), (0.5, 7.854e-05), (0.75, 5.891e-05)])
@pytest.mark.parametrize("whole", [0, 1, 2, 6])
def test_semi_lagrangian_error_depends_on_the_fraction_alone(fraction, value, whole):
    # (f (1 - f) / 2) dx^2 u_xx
    assert one_step_error("semi-lagrangian", whole + fraction) == pytest.approx(value, rel=2e-3)


def measured_symbol(method, cfl, modes, n=64, block="semi-lagrangian"):
    """Factor by which one step of the grid operator multiplies each Fourier mode."""
    grid = ms.Grid((n, 1), 1 / n, periodic=True)
    velocity = ms.MacField(grid)
    velocity.u = 1.0
    field = ms.CellField(grid)
    result = np.empty(len(modes), complex)
    j = np.arange(n)
    for i, k in enumerate(modes):
        parts = []
        for part in (np.cos, np.sin):
            field.array[...] = part(2 * np.pi * k * j / n)[:, None]
            ms.fluids.advect(field, velocity, cfl / n, method=method, block=block, trace="euler", limiter="none")
            parts.append(field.array[0, 0])
        result[i] = parts[0] + 1j * parts[1]
    return result


@pytest.mark.parametrize("method", ["semi-lagrangian", "bfecc", "maccormack"])
def test_symbol_at_any_cfl(method):
    rng = np.random.default_rng(3)
    modes = np.arange(33)
    theta = 2 * np.pi * modes / 64
    for m in range(6):
        for f in [0.0, 0.5, 1.0, *rng.random(4)]:
            if m + f == 0:
                continue
            a = np.exp(-1j * m * theta) * (1 - f + f * np.exp(-1j * theta))
            q = f * (1 - f) * (1 - np.cos(theta))
            expected = {"semi-lagrangian": a, "bfecc": a * (1 + q), "maccormack": a + q}[method]
            g = measured_symbol(method, m + f, modes)
            np.testing.assert_allclose(g, expected, atol=3e-14)
            assert np.abs(g).max() <= 1 + 1e-14


@pytest.mark.parametrize("method", ["bfecc", "maccormack"])
def test_symbol_in_two_dimensions_is_at_most_one(method):
    # The general argument: with |A| <= 1, |G_mac| <= 1 - (1 - |A|)^2 / 2 and |G_bfecc| <= |A| (3 - |A|^2) / 2.
    n = 16
    grid = ms.Grid((n, n), 1 / n, periodic=True)
    rng = np.random.default_rng(4)
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    for _ in range(40):
        cfl = rng.uniform(-3, 3, 2)
        k = rng.integers(0, n, 2)
        phase = 2 * np.pi * (k[0] * i + k[1] * j) / n
        velocity = ms.MacField(grid)
        velocity.u, velocity.v = cfl
        parts = []
        first = []
        for part in (np.cos, np.sin):
            for scheme, results in ((method, parts), ("semi-lagrangian", first)):
                field = ms.CellField(grid)
                field.array[...] = part(phase)
                ms.fluids.advect(field, velocity, 1 / n, method=scheme, trace="euler", limiter="none")
                results.append(field.array[0, 0])
        g, a = abs(complex(*parts)), abs(complex(*first))
        bound = 1 - (1 - a) ** 2 / 2 if method == "maccormack" else a * (3 - a * a) / 2
        assert g <= bound + 1e-13
        assert g <= 1 + 1e-14

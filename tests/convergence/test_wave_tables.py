"""Spatial convergence on the periodic line (Selle 2008, section 2.6, Tables 2.2 and 2.3)."""

import numpy as np
import pytest

from meniscus import scenes
from meniscus.numerics import ConvergenceStudy

SIZES = [101, 201, 401, 801]
# Printed, and with four digits as recomputed from the settings dx = 1 / (n - 1), last step shortened to land on t = 1/2.
TABLE_2_2 = {
    "upwind": (["6.0e-2", "3.1e-2", "1.6e-2", "7.8e-3"], [6.041e-2, 3.080e-2, 1.555e-2, 7.815e-3], 1.0),
    "bfecc": (["1.3e-3", "3.3e-4", "8.2e-5", "2.1e-5"], [1.312e-3, 3.262e-4, 8.207e-5, 2.051e-5], 2.0),
    "maccormack": (["4.7e-3", "1.2e-3", "2.9e-4", "7.2e-5"], [4.630e-3, 1.155e-3, 2.884e-4, 7.202e-5], 2.0),
}
TABLE_2_3 = {
    "semi-lagrangian": (["2.6e-2", "1.3e-2", "6.7e-3", "3.3e-3"], [2.585e-2, 1.352e-2, 6.758e-3, 3.349e-3], 1.0),
    "bfecc": (["5.6e-4", "1.4e-4", "3.5e-5", "8.8e-6"], [5.566e-4, 1.384e-4, 3.517e-5, 8.791e-6], 2.0),
    "maccormack": (["5.3e-3", "1.3e-3", "3.4e-4", "8.4e-5"], [5.238e-3, 1.341e-3, 3.352e-4, 8.350e-5], 2.0),
}
CASES = [(m, "upwind", 0.75, row) for m, row in TABLE_2_2.items()] + [(m, "semi-lagrangian", 1.75, row) for m, row in TABLE_2_3.items()]


def unit_of_last_digit(text):
    mantissa, exponent = text.split("e")
    return 10.0 ** (int(exponent) - len(mantissa.split(".")[1]))


def wave_error(n, **parameters):
    return scenes.run("wave", nodes=n, **parameters).diagnostics["error"]


@pytest.mark.parametrize(("method", "block", "cfl", "row"), CASES)
def test_errors_and_orders_of_the_tables(method, block, cfl, row):
    printed, digits, order = row
    study = ConvergenceStudy("wave", SIZES, [1 / (n - 1) for n in SIZES])
    errors = study.run(method, lambda n: wave_error(n, method=method, block=block, cfl=cfl))
    for error, text, value in zip(errors, printed, digits, strict=True):
        assert abs(error - float(text)) <= unit_of_last_digit(text)
        assert error == pytest.approx(value, rel=5e-3)
    for observed in study.orders(method):
        assert observed == pytest.approx(order, abs=0.07)


def test_below_cfl_1_semi_lagrangian_and_upwind_blocks_are_the_same_scheme():
    for method, first_order in (("bfecc", None), ("maccormack", None), ("semi-lagrangian", "upwind")):
        a = scenes.Wave(nodes=101, method=method, block="semi-lagrangian", cfl=0.75)
        b = scenes.Wave(nodes=101, method=first_order or method, block="upwind", cfl=0.75)
        for scene in (a, b):
            for _ in scenes.frames(scene):
                pass
        np.testing.assert_allclose(a.wave.array, b.wave.array, rtol=0, atol=1e-13)


def test_integer_cfl_is_an_exact_shift():
    for cfl in (1.0, 2.0, 7.0):
        for method in ("semi-lagrangian", "bfecc", "maccormack"):
            scene = scenes.Wave(nodes=65, method=method, cfl=cfl, end=cfl / 64, profile="square")
            for _ in scenes.frames(scene):
                pass
            before = scene.exact(0.0)
            np.testing.assert_array_equal(scene.wave.array, np.roll(before, int(cfl), axis=0))


def test_study_reports_tables_and_json():
    study = ConvergenceStudy("t", [10, 20], [0.1, 0.05])
    study.run("a", lambda n: 1.0 / n**2)
    assert study.orders("a") == [pytest.approx(2.0)]
    assert "| 20 | 2.500e-03 | 2.00 |" in str(study)
    assert '"orders"' in study.to_json()

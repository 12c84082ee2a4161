"""Reports of solves, and the error that contains one."""

import copy
import dataclasses
import pickle

import pytest

import meniscus as ms

INFO = ms.SolveInfo(3, 1e-3, False, "the limit of iterations was reached", 0.5, 0.25, (1.0, 0.1, 0.01, 0.001))


def test_convergence_errors_carry_their_information() -> None:
    error = ms.ConvergenceError("no", INFO)
    assert isinstance(error, ArithmeticError)
    assert error.info is INFO
    assert str(error) == "no"


@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_convergence_errors_survive_copies(again: object) -> None:
    error = again(ms.ConvergenceError("no", INFO))  # type: ignore[operator]
    assert type(error) is ms.ConvergenceError
    assert error.info == INFO
    assert str(error) == "no"


def test_information_is_fixed_and_readable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        INFO.iterations = 4  # type: ignore[misc]
    assert "iterations=3" in repr(INFO)
    assert "history" not in repr(INFO)

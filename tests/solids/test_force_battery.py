"""Battery of checks that every force passes: see `support.forces`."""

from collections.abc import Callable

import pytest
from support.forces.cases import CASES
from support.forces.checks import CHECKS, Case


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__.removeprefix("check_"))
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_battery(case: Case, check: Callable[[Case], None], default_parallelism: None) -> None:
    check(case)

"""Battery of checks that every force passes: see `support.forces`."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.forces.cases import CASES
from support.forces.checks import CHECKS, Case, check_bits_do_not_depend_on_threads


def variants() -> Iterator[Any]:
    """All checks of all cases. Laws of one force share its loops: its first case tells with the fast tests what threads do."""
    families = set()
    for case in CASES:
        family = case.name.split("-")[0]
        for check in CHECKS:
            again = check is check_bits_do_not_depend_on_threads and family in families
            name = f"{case.name}-{check.__name__.removeprefix('check_')}"
            yield pytest.param(case, check, id=name, marks=pytest.mark.slow if again else ())
        families.add(family)


@pytest.mark.parametrize(("case", "check"), list(variants()))
def test_battery(case: Case, check: Callable[[Case], None], default_parallelism: None) -> None:
    check(case)

"""Convergence studies: errors over resolutions, observed orders, tables and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks


def observed_orders(steps: Sequence[float], errors: Sequence[float]) -> list[float]:
    """Return log(e_i / e_{i+1}) / log(h_i / h_{i+1}) for consecutive step sizes h and errors e (nan where an error is zero)."""
    h, e = _checks.numbers("steps", steps), np.abs(_checks.numbers("errors", errors))
    if h.ndim != 1 or h.shape != e.shape:
        raise ValueError(f"steps and errors must be as many, not of shapes {h.shape} and {e.shape}")
    with np.errstate(divide="ignore", invalid="ignore"):
        return [float(x) for x in np.log(e[:-1] / e[1:]) / np.log(h[:-1] / h[1:])]


def mean_local_order(coarse: npt.NDArray[Any], fine: npt.NDArray[Any]) -> float:
    """Return the mean of log2(coarse / fine) over coincident nodes, for error fields on n and 2 n - 1 nodes an axis.

    This is a mean of local orders, not the order of the mean error. Nodes where either error is zero are left out.

    Source: Selle 2008, section 2.8.
    """
    f, c = np.abs(_checks.numbers("fine", fine)), np.abs(_checks.numbers("coarse", coarse))
    f = f[(slice(None, None, 2),) * f.ndim]
    if c.shape != f.shape:
        raise ValueError(f"fine must have 2 n - 1 nodes where coarse has n, not {np.shape(fine)} for {c.shape}")
    both = (c > 0) & (f > 0)
    return float(np.mean(np.log2(c[both] / f[both])))


@dataclass
class ConvergenceStudy:
    """Errors of named schemes over resolutions.

    Args:
        title: name of the measured quantity.
        sizes: resolutions, for example nodes per axis.
        steps: step size (dx or dt) that belongs to each.
        errors: per scheme one error per resolution.
    """

    title: str
    sizes: list[int]
    steps: list[float]
    errors: dict[str, list[float]] = field(default_factory=dict)

    def run(self, scheme: str, measure: Callable[[int], float]) -> list[float]:
        """Measure the error of a scheme at every resolution and store it."""
        self.errors[scheme] = [float(measure(n)) for n in self.sizes]
        return self.errors[scheme]

    def orders(self, scheme: str) -> list[float]:
        """Return the observed orders between consecutive resolutions."""
        return observed_orders(self.steps, self.errors[scheme])

    def to_json(self) -> str:
        """Return everything as JSON text."""
        orders: Mapping[str, list[float]] = {s: self.orders(s) for s in self.errors}
        return json.dumps(
            {"title": self.title, "sizes": self.sizes, "steps": self.steps, "errors": self.errors, "orders": orders},
            indent=1,
        )

    def __str__(self) -> str:
        """Return a table in Markdown."""
        head = "| n | " + " | ".join(f"{s} | order" for s in self.errors) + " |"
        lines = [f"**{self.title}**", "", head, "|" + "---|" * (1 + 2 * len(self.errors))]
        for i, n in enumerate(self.sizes):
            cells = []
            for s, e in self.errors.items():
                cells += [f"{e[i]:.3e}", "-" if i == 0 else f"{self.orders(s)[i - 1]:.2f}"]
            lines.append(f"| {n} | " + " | ".join(cells) + " |")
        return "\n".join(lines)

    def _repr_markdown_(self) -> str:
        return str(self)

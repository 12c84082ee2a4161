"""Structure of snapshots as JSON, with the places of their arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any] | np.generic

STATE = "state/"
"""What the paths of arrays in a file begin with."""


def flatten(value: Any, path: str, store: Callable[[str, Array], None]) -> Any:
    """Store the arrays of a snapshot by their paths and return its structure as JSON. Python writes and reads floats to the last bit.

    Raises TypeError for something else than arrays, numbers, strings and containers of them.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        store(path, value)
        return {"array" if isinstance(value, np.ndarray) else "scalar": path}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [flatten(v, f"{path}/{i}", store) for i, v in enumerate(value)]}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"dict": {k: flatten(v, f"{path}/{k}", store) for k, v in value.items()}}
    raise TypeError(
        f"{path.removeprefix(STATE)} cannot go into a checkpoint: a snapshot holds arrays, numbers, strings, and tuples, lists and "
        f"dicts of them, not {type(value).__name__}"
    )


def unflatten(tree: Any, path: str, load: Callable[[str], Any], replace: Callable[[str, Any], Any] = lambda path, tree: None) -> Any:
    """Return the snapshot of a structure, whose arrays `load` returns; where `replace` returns something, that is taken instead."""
    given = replace(path, tree)
    if given is not None:
        return given
    ((kind, content),) = tree.items()
    if kind == "array":
        return np.asarray(load(content))
    if kind == "scalar":
        return load(content)
    if kind == "value":
        return content
    if kind == "dict":
        return {k: unflatten(v, f"{path}/{k}", load, replace) for k, v in content.items()}
    items = [unflatten(v, f"{path}/{i}", load, replace) for i, v in enumerate(content)]
    return tuple(items) if kind == "tuple" else items

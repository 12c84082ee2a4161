"""Catalogue of scenes by name: those of the package and those of a user's file."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path

from meniscus.scenes import library
from meniscus.scenes.scene import Scene, registered


def _library() -> dict[str, type[Scene]]:
    """Import every module of the library of scenes; return the scenes that have registered themselves, by name."""
    for module in pkgutil.walk_packages(library.__path__, f"{library.__name__}."):
        importlib.import_module(module.name)
    found: dict[str, type[Scene]] = {}
    for (module_name, name), kind in sorted(registered.items(), key=lambda item: item[0][1]):
        if module_name.startswith(f"{library.__name__}."):
            if name in found:
                raise ValueError(f"the scenes {found[name].__name__} and {kind.__name__} have the same name, {name!r}")
            found[name] = kind
    return found


SCENES: dict[str, type[Scene]] = _library()
"""The scenes of the package, by name."""


def find(name: str) -> type[Scene]:
    """Return the scene of that name, or the one scene that a Python file defines.

    Raises:
        ValueError: no such scene, no such file, a file that fails, or one that defines no scene or several.
    """
    if name in SCENES:
        return SCENES[name]
    path = Path(name)
    if path.suffix != ".py":
        close = difflib.get_close_matches(name, SCENES, n=1)
        meant = f"did you mean {close[0]!r}? `meniscus scenes` lists all" if close else f"choose from {', '.join(SCENES)}"
        raise ValueError(f"there is no scene {name!r}; {meant}, or name a Python file")
    if not path.is_file():
        raise ValueError(f"there is no file {name}")
    spec = importlib.util.spec_from_file_location(f"meniscus_scene_{path.stem}", path)
    assert spec is not None  # the suffix is .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # where dataclasses look for the meaning of annotations
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{name} cannot be loaded: {type(error).__name__}: {error}") from error
    found = [
        v
        for v in vars(module).values()
        if isinstance(v, type) and issubclass(v, Scene) and v is not Scene and v.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise ValueError(f"{name} must define exactly one subclass of meniscus.scenes.Scene, it defines {len(found)}")
    found[0].file = str(path.resolve())
    return found[0]

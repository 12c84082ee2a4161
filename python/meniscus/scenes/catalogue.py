"""Catalogue of scenes by name: those of the package and those of a user's file."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from meniscus.scenes.library.ball_splash import BallSplash
from meniscus.scenes.library.billow import Billow
from meniscus.scenes.library.cantilever import Cantilever
from meniscus.scenes.library.cavity import Cavity
from meniscus.scenes.library.dam_break import DamBreak
from meniscus.scenes.library.drape import Drape
from meniscus.scenes.library.explosion import Explosion
from meniscus.scenes.library.falling_drop import FallingDrop
from meniscus.scenes.library.flag import Flag
from meniscus.scenes.library.plume import Plume
from meniscus.scenes.library.pour import Pour
from meniscus.scenes.library.recovery import Recovery
from meniscus.scenes.library.river import River
from meniscus.scenes.library.swirl import Swirl
from meniscus.scenes.library.twist import Twist
from meniscus.scenes.library.wake import Wake
from meniscus.scenes.library.wave import Wave
from meniscus.scenes.library.zalesak import Zalesak
from meniscus.scenes.scene import Scene

_SCENES = (
    BallSplash,
    Billow,
    Cantilever,
    Cavity,
    DamBreak,
    Drape,
    Explosion,
    FallingDrop,
    Flag,
    Plume,
    Pour,
    Recovery,
    River,
    Swirl,
    Twist,
    Wake,
    Wave,
    Zalesak,
)

SCENES: dict[str, type[Scene]] = {s.name: s for s in _SCENES}
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
        raise ValueError(f"there is no scene {name!r}; choose from {', '.join(SCENES)}, or name a Python file")
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
    found[0].source = str(path.resolve())
    return found[0]

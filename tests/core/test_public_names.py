"""Docstrings and annotations of all public names."""

import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

ROOMS = [
    "meniscus",
    *(
        f"meniscus.{room}"
        for room in ("core", "numerics", "grid", "mesh", "collision", "surface", "fluids", "solids", "scenes", "io", "viz")
    ),
]


def public() -> Iterator[tuple[str, Any]]:
    """Functions, classes and their public methods and properties, by name."""
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isroutine(thing) or inspect.isclass(thing):
                yield f"{room}.{name}", thing
                if inspect.isclass(thing) and not thing.__module__.startswith("meniscus._meniscus"):
                    for attribute, value in vars(thing).items():
                        if not attribute.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                            yield f"{room}.{name}.{attribute}", value


NAMES = dict(public())


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_described_and_their_names_exist(room: str) -> None:
    module = importlib.import_module(room)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_described() -> None:
    assert not [name for name, thing in NAMES.items() if not (inspect.getdoc(thing) or "").split()]


def test_annotated() -> None:
    bare = []
    for name, thing in NAMES.items():
        if inspect.isfunction(thing):
            signature = inspect.signature(thing)
            given = {"return": signature.return_annotation, **{a.name: a.annotation for a in signature.parameters.values()}}
            bare += [f"{name}: {key}" for key, value in given.items() if value is inspect.Signature.empty and key != "self"]
    assert not bare


def test_rooms_are_loaded_when_they_are_first_used() -> None:
    code = """
import sys
import meniscus as ms
late = ("collision", "fluids", "io", "mesh", "scenes", "solids", "surface", "viz")
assert not [room for room in late if f"meniscus.{room}" in sys.modules]
assert not {"matplotlib", "scipy", "pandas", "vtk", "h5py"} & set(sys.modules)
assert set(late) <= set(dir(ms))
for room in late:
    assert getattr(ms, room).__name__ == f"meniscus.{room}"
try:
    ms.fluid
except AttributeError as error:
    assert str(error) == "module 'meniscus' has no attribute 'fluid'"
"""
    subprocess.run([sys.executable, "-c", code], check=True)

"""Options say when they are made what is wrong with them, by the name of the attribute."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import meniscus as ms

KINDS: dict[type, dict[str, Any]] = {
    ms.fluids.SmokeOptions: {},
    ms.fluids.TransportOptions: {},
    ms.fluids.VorticityOptions: {},
    ms.fluids.LiquidOptions: {},
    ms.fluids.ParticleLiquidOptions: {},
    ms.fluids.LiquidParticles: {},
    ms.fluids.PressureOptions: {},
    ms.surface.ParticleOptions: {},
    ms.surface.MarkerTransport: {},
    ms.surface.EscapedMarkers: {},
    ms.viz.WaterLook: {},
    ms.viz.Camera: {},
}


def wrong_values(hint: Any) -> list[Any]:
    kinds = [k for k in (get_args(hint) if type(None) in get_args(hint) else (hint,)) if k is not type(None)]
    if len(kinds) != 1:
        return []
    if get_origin(kinds[0]) is Literal:
        return ["macormack", 3, np.zeros(2), ["linear"]]
    return {
        bool: ["yes", 1.5, np.nan],
        int: [1.5, "2", np.nan, True],
        float: ["1", np.nan, np.inf, [1.0], 10**400, True],
        Sequence[float]: ["up", 1.0, (1.0,), (1.0, np.nan), ("a", "b")],
    }.get(kinds[0], [])


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_every_attribute_is_checked(kind: type) -> None:
    hints, tried = get_type_hints(kind), 0
    for field in dataclasses.fields(kind):
        for value in wrong_values(hints[field.name]):
            with pytest.raises((TypeError, ValueError), match=rf"{field.name}\b.* must|{field.name}\[\d\] must"):
                kind(**KINDS[kind], **{field.name: value})
            tried += 1
    assert tried >= 8


def test_values_of_numpy_are_welcome() -> None:
    options = ms.fluids.LiquidOptions(spray=np.bool_(False), band=np.int32(4), cfl=np.float32(0.5), gravity=np.array((0.0, -1.0)))
    assert options.band == 4
    ms.fluids.SmokeOptions(up=[0, 1], vorticity=ms.fluids.VorticityOptions(confinement=np.float64(0.1)))
    ms.solids.SpringOptions(stiffness=[1.0, 2.0])


def test_springs() -> None:
    for name in ("stiffness", "spring_constant"):
        for value, error in (("soft", TypeError), (np.nan, ValueError), (-1.0, ValueError)):
            with pytest.raises(error, match=f"{name} must"):
                ms.solids.SpringOptions(**{name: value})

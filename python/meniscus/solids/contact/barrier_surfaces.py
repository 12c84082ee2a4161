"""Barriers between the surfaces of a world."""

from __future__ import annotations

from typing import Any

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.collision import Barrier
from meniscus.solids.contact.contact_surface import ContactSurface, Floats


def barrier_of(surface: ContactSurface, thickness: Floats, rest_part: float) -> Barrier:
    """Return the barrier of a surface with the activation distances (v,), m, of its vertices."""
    group = np.searchsorted(surface.vertex_starts, np.arange(len(surface)), side="right").astype(np.int32)
    nodes = surface.contact_nodes
    return Barrier(surface.mesh, surface.rest, thickness, nodes=nodes, normalized=True, rest_part=rest_part, groups=group)


def surfaces_of(surface: ContactSurface, barrier: Barrier) -> Any:
    """Return what a barrier acts between, for a step."""
    return _solids.ContactSurfaces(surface.mesh._core, surface.contact_nodes._core, barrier.core, surface.friction)

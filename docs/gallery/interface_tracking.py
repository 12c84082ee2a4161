"""Picture of a disc that a vortex winds up and back, by a level set alone and with marker particles.

python docs/gallery/interface_tracking.py PICTURE
"""

from __future__ import annotations

import argparse

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

import meniscus as ms
from meniscus.fluids import single_vortex
from meniscus.surface import MarkerTransport, ParticleLevelSet, ParticleOptions

CELLS, PERIOD = 96, 8.0
CENTER, RADIUS = (0.5, 0.75), 0.15
WAYS = {"level set": False, "particle level set": True}


def track(particles: bool) -> tuple[ParticleLevelSet, ParticleLevelSet]:
    """Carry the disc through a vortex that turns back at half its period; return the shape then and at the end."""
    grid = ms.Grid((CELLS, CELLS), 1.0 / CELLS)
    alone = ParticleOptions(reseed_every=None, transport=MarkerTransport(interpolation="linear"))
    shape = ParticleLevelSet(grid, options=ParticleOptions() if particles else alone)
    x, y = shape.levelset.field.coordinates()
    shape.levelset.array = np.hypot(x - CENTER[0], y - CENTER[1]) - RADIUS
    shape.redistance()
    if particles:
        shape.seed()
    flow, steady, velocity = single_vortex(), ms.MacField(grid), ms.MacField(grid)
    flow.sample(steady)
    steps = int(PERIOD * CELLS)
    for k in range(steps):
        for d in range(2):
            np.multiply(steady.component(d), np.cos(np.pi * (k + 0.5) / steps), out=velocity.component(d))
        shape.advance(velocity, PERIOD / steps)
        if 2 * (k + 1) == steps:
            middle = shape.copy()
    return middle, shape


def main() -> None:
    """Make the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture")
    options = parser.parse_args()
    figure = Figure(figsize=(9.0, 5.0), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    angle = np.linspace(0, 2 * np.pi, 200)
    exact = np.stack([CENTER[0] + RADIUS * np.cos(angle), CENTER[1] + RADIUS * np.sin(angle)], axis=1)
    for axes, (name, particles) in zip(figure.subplots(1, 2), WAYS.items(), strict=True):
        middle, end = track(particles)
        axes.add_collection(PolyCollection([exact], facecolors="0.85"))
        if particles:
            x, sign = middle.particles.positions, middle.particles["sign"]
            for s, color in ((1, "tab:orange"), (-1, "tab:cyan")):
                axes.plot(*x[sign == s].T, ".", ms=0.7, color=color)
        for shape, style in ((middle, {"color": "k", "lw": 1.0}), (end, {"color": "tab:red", "lw": 2.0})):
            vertices, segments = shape.levelset.to_mesh()
            axes.add_collection(LineCollection(vertices[segments], **style))
        error = 100 * (end.levelset.volume() / (np.pi * RADIUS**2) - 1)
        axes.set(title=f"{name}: area {error:+.1f} %", aspect="equal", xlim=(0.02, 0.98), ylim=(0.02, 0.98), xticks=[], yticks=[])
    figure.savefig(options.picture)


if __name__ == "__main__":
    main()

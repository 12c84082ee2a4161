"""Tables 3.1 to 3.5 of Brochu's thesis, computed, beside what is printed there.

`python tests/benchmarks/tracking/tracking_tables.py [--edges 0.04 0.02 0.01] [--noise-end 30]`; each edge length takes about eight times as
long as the one before. Tables 3.2 and 3.3 are of other methods, or measured otherwise: they are shown, and are no targets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from meniscus.mesh import TriangleMesh
from meniscus.scenes.bodies.tracked import Tracked
from meniscus.scenes.library.tracking.curl_noise import CurlNoise
from meniscus.scenes.library.tracking.dumbbell import Dumbbell
from meniscus.scenes.library.tracking.enright import CENTER, RADIUS, Enright
from meniscus.scenes.library.tracking.two_spheres import TwoSpheres, exact_distance
from meniscus.surface import TrackedSurface

Floats = npt.NDArray[np.float64]
PRINTED_NORMAL = {0.04: (0.00811073, 0.00114493), 0.02: (0.00236906, 0.00042705), 0.01: (0.00129011, 0.000174606)}
PRINTED_LEVEL_SET = {0.04: 0.0118, 0.02: 0.0053, 0.01: 0.0031}
PRINTED_CURVATURE = {0.04: (6.18499e-4, 2.62302e-4), 0.02: (1.44355e-4, 7.02612e-5), 0.01: (1.47687e-5, 1.54722e-5)}
PRINTED_STEP = {0.04: 0.258, 0.02: 1.204, 0.01: 4.953}
PRINTED_SECONDS = {"two-spheres": 617.0, "dumbbell": 1537.0, "enright": 597.0, "curl-noise": 36480.0}


@dataclass
class Seconds:
    """Where the time of a scene went, s, and the most triangles."""

    whole: float = 0.0
    improve: float = 0.0
    move: float = 0.0
    steps: int = 0
    most: int = 0
    least: int = 10**9
    edges_within: list[float] = field(default_factory=list)
    small_angles: list[float] = field(default_factory=list)


def timed(surface: TrackedSurface, seconds: Seconds) -> None:
    """Add the time of both phases to `seconds` from now on."""

    def clocked(name: str) -> None:
        function: Callable[..., object] = getattr(surface, name)

        def run(*given: object) -> object:
            start = time.perf_counter()
            try:
                return function(*given)
            finally:
                setattr(seconds, name, getattr(seconds, name) + time.perf_counter() - start)

        setattr(surface, name, run)

    clocked("improve")
    clocked("move")


def run(scene: Tracked, end: float, after: Callable[[float], None] | None = None, audits: int = 10) -> Seconds:
    """Step a scene to `end`; every `audits`-th step the surface is tested, after an improvement."""
    scene.setup()
    seconds = Seconds()
    timed(scene.surface, seconds)
    dt = scene.max_dt()
    for k in range(round(end / dt)):
        start = time.perf_counter()
        scene.advance(k * dt, dt)
        seconds.whole += time.perf_counter() - start
        seconds.steps += 1
        n = len(scene.surface.triangles)
        seconds.most, seconds.least = max(seconds.most, n), min(seconds.least, n)
        if k % audits == audits - 1:
            audit = scene.surface.audit()
            if not audit.sound:
                raise RuntimeError(f"{scene.name} at t = {(k + 1) * dt:g}: {audit}")
            seconds.edges_within.append(audit.edges_within)
            seconds.small_angles.append(audit.small_angles)
        if after is not None:
            after((k + 1) * dt)
    return seconds


def weighted(distance: Floats, surface: TrackedSurface) -> tuple[float, float]:
    """Return the largest distance of vertices, and the mean weighted by their areas."""
    t = np.array(surface.triangles)
    areas = np.asarray(TriangleMesh(np.array(surface.vertices), t).areas)
    weights = np.bincount(t.ravel(), np.repeat(areas / 3, 3), len(surface.vertices))
    return float(np.abs(distance).max()), float(np.average(np.abs(distance), weights=weights))


def show(title: str, head: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def normal_motion_tables(edges: list[float]) -> Seconds | None:
    """Tables 3.1, 3.2 and 3.4."""
    errors, speeds, at_two_hundredths = [], [], None
    for edge in edges:
        scene = TwoSpheres(edge=edge)
        spent = run(scene, 2.0)
        at_two_hundredths = spent if edge == 0.02 else at_two_hundredths
        largest, mean = weighted(exact_distance(np.array(scene.surface.vertices)), scene.surface)
        printed = PRINTED_NORMAL.get(edge, (np.nan, np.nan))
        errors.append([f"{v:.6g}" for v in (edge, largest, printed[0], PRINTED_LEVEL_SET.get(edge, np.nan), mean, printed[1])])
        other = spent.whole - spent.improve - spent.move
        step = [spent.improve / spent.steps, other / spent.steps, spent.move / spent.steps, spent.whole / spent.steps]
        speeds.append(
            [
                *(f"{edge:g}", f"{spent.least} to {spent.most}", *(f"{v:.4f}" for v in step)),
                *(f"{PRINTED_STEP.get(edge, np.nan):.4g}", f"{1e6 * step[-1] / spent.most:.2f}"),
            ]
        )
    show(
        "Tables 3.1 and 3.2: two spheres at t = 2, distances from the exact surface",
        ["edge", "largest", "printed", "printed, level set", "mean", "printed"],
        errors,
    )
    head = ["edge", "triangles", "improve", "offset", "move", "whole", "printed, whole", "us a triangle"]
    show("Table 3.4: seconds a step, normal motion", head, speeds)
    return at_two_hundredths


def curvature_table(edges: list[float]) -> Seconds | None:
    """Table 3.3, with the shape of the dumbbell instead of errors against a level set."""
    rows, at_two_hundredths = [], None
    for edge in edges:
        scene = Dumbbell(edge=edge)
        parted: list[float] = []
        shape: list[float] = []

        def look(t: float, scene: Dumbbell = scene, parted: list[float] = parted, shape: list[float] = shape) -> None:
            if not parted and scene.surface.mesh.components > 1:
                parted.append(t)
            if abs(t - 0.0125) < 1e-9:
                x = np.array(scene.surface.vertices)
                shape.extend([scene.report(t)["neck"], x[:, 0].max(), np.hypot(x[:, 1], x[:, 2]).max(), scene.surface.volume()])

        spent = run(scene, 0.025, look)
        at_two_hundredths = spent if edge == 0.02 else at_two_hundredths
        x = np.array(scene.surface.vertices)
        right = x[x[:, 0] > 0]
        late = [right[:, 0].max(), right[:, 0].min(), np.hypot(x[:, 1], x[:, 2]).max(), scene.surface.volume()]
        printed = PRINTED_CURVATURE.get(edge, (np.nan, np.nan))
        rows.append([f"{v:.5g}" for v in (edge, *shape, parted[0] if parted else np.nan, *late, *printed)])
    exact = [f"{v:g}" for v in (0.1279, 0.7, 0.2079, 0.12328, 0.02193, 0.4943, 0.2524, 0.0763, 0.006)]
    show(
        "Table 3.3: the dumbbell at t = 0.0125 (four columns), when it parts, at t = 0.025 (four); printed errors are of signed distances",
        ["edge", "neck", "tip", "bell", "volume", "parts", "tip", "inner end", "bell", "volume", "printed largest", "printed mean"],
        [*rows, ["fine reference", *exact, "", ""]],
    )
    return at_two_hundredths


def enright_table(edges: list[float]) -> Seconds | None:
    """Enright's test: what comes back, and how exactly."""
    rows, at_one_hundredth = [], None
    for edge in edges:
        scene = Enright(edge=edge)
        worst, area = [0.0], [0.0]

        def look(t: float, scene: Enright = scene, worst: list[float] = worst, area: list[float] = area) -> None:
            worst[0] = max(worst[0], abs(scene.surface.volume() / scene.first_volume - 1))
            if abs(t - 1.5) < 1e-9:
                area[0] = scene.surface.area() / (4 * np.pi * RADIUS**2)

        spent = run(scene, 3.0, look)
        at_one_hundredth = spent if edge == 0.01 else at_one_hundredth
        largest, mean = weighted(np.linalg.norm(np.array(scene.surface.vertices) - CENTER, axis=1) - RADIUS, scene.surface)
        end = 100 * (scene.surface.volume() / scene.first_volume - 1)
        rows.append(
            [
                *(f"{edge:g}", f"{end:+.4f}", f"{100 * worst[0]:.4f}", f"{area[0]:.4f}", f"{mean:.3e}", f"{largest:.3e}"),
                *(f"{spent.least} to {spent.most}", f"{spent.whole:.1f}", f"{100 * np.mean(spent.edges_within):.2f}"),
                f"{100 * np.mean(spent.small_angles):.2f}",
            ]
        )
    show(
        "Enright's test (printed at 0.01: volume 0.1764 %, 6614 to 25176 triangles, 597 s; area at t = 1.5: 4.1175)",
        ["edge", "volume, %", "worst, %", "area at 1.5", "mean distance", "largest", "triangles", "s", "edges within, %", "angles < 20, %"],
        rows,
    )
    return at_one_hundredth


def noise_table(end: float) -> Seconds:
    """Curl noise: triangles, volume, time."""
    scene = CurlNoise()
    rows: list[list[str]] = []

    def look(t: float) -> None:
        if abs(t / 5 - round(t / 5)) < 1e-9 or abs(t - end) < 1e-9:
            change = 100 * (scene.surface.volume() / scene.first_volume - 1)
            rows.append([f"{t:g}", str(len(scene.surface.triangles)), f"{change:+.3f}"])

    spent = run(scene, end, look, audits=20)
    show("Curl noise (printed: 8798 to 381092 triangles, 0.9211 % at t = 30)", ["t", "triangles", "volume, %"], rows)
    return spent


def main(given: list[str] | None = None) -> None:
    """Run and print everything."""
    parser = argparse.ArgumentParser(description="Compute Tables 3.1 to 3.5 of Brochu's thesis.")
    parser.add_argument("--edges", type=float, nargs="+", default=[0.04, 0.02, 0.01], help="of two spheres and dumbbell, m")
    parser.add_argument("--enright-edges", type=float, nargs="+", default=[0.02, 0.01, 0.005], help="of Enright's test, m")
    parser.add_argument("--noise-end", type=float, default=30.0, help="end of the noise, s; 0 leaves it out")
    options = parser.parse_args(given)
    spent = {
        "two-spheres": normal_motion_tables(options.edges),
        "dumbbell": curvature_table(options.edges),
        "enright": enright_table(options.enright_edges),
        "curl-noise": noise_table(options.noise_end) if options.noise_end > 0 else None,
    }
    rows = [
        [name, f"{s.least} to {s.most}", f"{s.whole:.0f}", f"{PRINTED_SECONDS[name]:.0f}", f"{PRINTED_SECONDS[name] / s.whole:.0f}"]
        for name, s in spent.items()
        if s is not None
    ]
    show("Table 3.5: whole runs, s", ["example", "triangles", "here", "printed", "ratio"], rows)


if __name__ == "__main__":
    main()

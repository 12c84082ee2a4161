"""Script that makes the pictures of the README and of the gallery page, and the page itself.

    python docs/gallery/make_gallery.py                 # everything; about half an hour on two cores
    python docs/gallery/make_gallery.py flag twist      # some pictures, and the page

Frames of runs go to out/gallery; a run that has its frame already is not repeated.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
PAGE = ROOT / "docs" / "gallery.md"
OUT = Path("out/gallery")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A picture of the gallery: its name, what it shows, and how it is made.

    Attributes:
        scene: options of `meniscus run` for scenes of the package.
        frame: the frame of the scene that is shown.
        samples: per pixel of a path-traced picture; 0: the built-in renderer.
        script: of this folder, that makes the picture instead of a scene.
    """

    name: str
    title: str
    caption: str
    scene: str = ""
    frame: int = 0
    samples: int = 0
    script: str = ""

    def commands(self) -> list[str]:
        """Return the commands that make the picture, as one types them in the checkout."""
        if self.script:
            return [f"python docs/gallery/{self.script} {OUT / self.name}.png"]
        folder = OUT / self.name
        tracing = f" --renderer mitsuba --samples {self.samples}" if self.samples else ""
        return [f"meniscus run {self.scene} --no-pictures --out {folder}", f"meniscus render {folder} --frames {self.frame}{tracing}"]

    def original(self) -> Path:
        """Return the picture that the commands write."""
        if self.script:
            return ROOT / OUT / f"{self.name}.png"
        return ROOT / OUT / self.name / ("mitsuba" if self.samples else "") / f"frame-{self.frame:04d}.png"

    def has_frame(self) -> bool:
        """Return whether the run was made before."""
        return any((ROOT / OUT / self.name).glob(f"frame-{self.frame:04d}*.vt?"))


ENTRIES = (
    Entry(
        name="plume",
        title="Smoke past an obstacle",
        caption="Hot smoke rises past a knotted tube. Vortex particles keep its small eddies alive on 80 by 80 by 120 cells.",
        scene="plume --resolution 80",
        frame=34,
        samples=48,
    ),
    Entry(
        name="explosion",
        title="Explosion",
        caption="Gas comes out of nothing for half a second: a ball of prescribed divergence, with vortex particles that are seeded in it.",
        scene="explosion --end 0.9 --frames 30 --background light",
        frame=26,
        samples=48,
    ),
    Entry(
        name="ball-splash",
        title="Ball splash",
        caption="A ball that was thrown into a pool. A particle level set tracks the surface; markers that escape from it become spray.",
        scene="ball-splash --whitewater --end 0.5 --frames 12",
        frame=3,
    ),
    Entry(
        name="dam-break",
        title="Breaking dam",
        caption="A column of water has collapsed and climbs the opposite wall.",
        scene="dam-break --whitewater --resolution 80 --end 0.36 --frames 24",
        frame=14,
    ),
    Entry(
        name="flag",
        title="Cloth",
        caption="A flag in a wind whose direction sways: springs along and across the edges of its mesh, with implicit elasticity.",
        scene="flag --end 1.5 --frames 36",
        frame=36,
        samples=64,
    ),
    Entry(
        name="twist",
        title="Twisted beam",
        caption="A beam of neo-Hookean tetrahedra whose ends are turned against each other by two whole turns.",
        scene="twist --end 2.2 --frames 44 --resolution 4",
        frame=40,
        samples=64,
    ),
    Entry(
        name="reef-knot",
        title="Reef knot",
        caption="Two ropes of springs, tied in a reef knot whose ends were pulled. It has tightened, and holds by friction; by the exact "
        "test nothing has passed through anything.",
        scene="reef-knot --around 12 --end 1.6 --frames 16",
        frame=16,
    ),
    Entry(
        name="interface-tracking",
        title="Interface tracking",
        caption="A vortex winds a disc up to a spiral (black) and back (red) on 96 by 96 cells. A level set alone loses three quarters "
        "of it; with marker particles inside (cyan) and outside (orange) it finds back to the disc (grey).",
        script="interface_tracking.py",
    ),
    Entry(
        name="collision",
        title="Exact collision detection",
        caption="The tube on the right moves to the left, through the other one, in a single step. Each triangle that is touched is "
        "coloured by the time of its first contact, from yellow (early) to purple (late). The answers are those of exact arithmetic.",
        script="collision.py",
    ),
)


def make(entry: Entry) -> None:
    """Run the commands of a picture and store it, compressed."""
    commands = entry.commands()
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    for command in commands[1:] if entry.scene and entry.has_frame() else commands:
        print(f"$ {command}", flush=True)
        words = shlex.split(command)
        program = [sys.executable, "-m", "meniscus"] if words[0] == "meniscus" else [sys.executable]
        subprocess.run([*program, *words[1:]], cwd=ROOT, check=True)
    IMAGES.mkdir(exist_ok=True)
    with Image.open(entry.original()) as picture:
        picture.convert("RGB").save(IMAGES / f"{entry.name}.jpg", quality=88, optimize=True, progressive=True)


def page() -> str:
    """Return the gallery page."""
    lines = [
        "# Gallery",
        "",
        "`make gallery` makes these pictures and this page. Each one alone is made by the commands below it, in a checkout with meniscus",
        "and its extras `viz`, `vtk` and `render` installed. Pictures of three-dimensional scenes are",
        "[path-traced](running.md#path-traced-pictures).",
        "",
    ]
    for e in ENTRIES:
        lines += [f"## {e.title}", "", f"![{e.title}](images/{e.name}.jpg)", "", e.caption, "", *(f"    {c}" for c in e.commands()), ""]
    return "\n".join(lines)


def main() -> None:
    """Make the pictures that are named, or all, and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: {' '.join(e.name for e in ENTRIES)}")
    names = parser.parse_args().names
    unknown = sorted(set(names) - {e.name for e in ENTRIES})
    if unknown:
        parser.error(f"there is no picture {unknown[0]!r}")
    for e in ENTRIES:
        if not names or e.name in names:
            make(e)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

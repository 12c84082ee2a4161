"""Example of the README: it runs and does what its text says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def example() -> str:
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1, "the README has one example"
    return str(blocks[0])


def printed_error(code: str, folder: Path) -> float:
    script = folder / "example.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"mean error after going there and back: (\d\.\d{4})\n", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


def test_the_example_brings_the_dye_back_as_only_a_second_order_method_does(tmp_path: Path) -> None:
    code = example()
    second_order = printed_error(code, tmp_path)
    first_order = printed_error(code.replace('"maccormack"', '"semi-lagrangian"'), tmp_path)
    assert 0 < second_order < first_order / 3
    assert first_order < 0.03  # the mean of the dye itself


def test_the_example_is_short() -> None:
    lines = [line for line in example().splitlines() if line.strip()]
    assert len(lines) <= 15


def test_the_files_that_the_readme_points_to_exist() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert targets
    for target in targets:
        assert (README.parent / target).exists(), target

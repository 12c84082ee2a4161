"""Environment of a benchmark run: machine, compiler and libraries."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from peers.libraries import version

import meniscus as ms

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def cpu_model() -> str:
    """The processor as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def caches() -> dict[str, str]:
    """Sizes of the data caches that the first processor sees."""
    found = {}
    try:
        for index in sorted(CACHES.glob("index*")):
            kind = (index / "type").read_text(encoding="utf-8").strip()
            if kind != "Instruction":
                level = (index / "level").read_text(encoding="utf-8").strip()
                found[f"L{level}"] = (index / "size").read_text(encoding="utf-8").strip()
    except OSError:
        return {}
    return found


def load_average() -> float | None:
    """Jobs that wanted to run during the last minute, or None where the system does not say."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def environment() -> dict[str, Any]:
    """Machine, versions and build options."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "logical_cpus": os.cpu_count(),
        "caches": caches(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": version("scipy"),
        "phiflow": version("phiflow"),
        "phiml": version("phiml"),
        "pyamg": version("pyamg"),
        "ipctk": version("ipctk"),
        "scikit-image": version("scikit-image"),
        "scikit-fmm": version("scikit-fmm"),
        "scikit-fem": version("scikit-fem"),
        "taichi": version("taichi"),
        "meniscus": ms.__version__,
        "build": {k: v if isinstance(v, bool) else str(v) for k, v in ms.core.build_info().items()},
        "simd": ms.core.simd_level(),
        "simd_supported": ms.core.simd_supported(),
    }

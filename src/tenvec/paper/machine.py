"""On what the results were computed, kept beside them."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

import tenvec

FILE = "machine.json"


def record_machine(out: Path) -> None:
    """Add this machine to the file beside the results, unless it stands there already."""
    known = read_machines(out)
    described = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads a process": 1,
        "system": f"{platform.system()} {platform.machine()}",
        "linear algebra": _linear_algebra(),
        "versions": f"Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
        f"tenvec {tenvec.__version__}",
    }
    if any(
        {**machine, "first used": None} == {**described, "first used": None} for machine in known
    ):
        return
    described["first used"] = datetime.now(UTC).strftime("%Y-%m-%d")
    draft = out / f".{FILE}.tmp"
    draft.write_text(json.dumps([*known, described], indent=2, ensure_ascii=False) + "\n")
    draft.replace(out / FILE)


def read_machines(out: Path) -> list[dict[str, Any]]:
    """All machines that results in the folder come from."""
    path = out / FILE
    machines: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return machines


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def _linear_algebra() -> str:
    found = {
        f"{library['internal_api']} {library['version']}"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return ", ".join(sorted(found))

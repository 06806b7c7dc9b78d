"""Where the real data sets are, and a clean environment for everything else."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
REAL_HOME = Path(os.environ.get("TENVEC_DATA") or SHARED)


@pytest.fixture(autouse=True)
def no_folder_is_named(monkeypatch):
    """Tests name their folder themselves."""
    monkeypatch.delenv("TENVEC_DATA", raising=False)


@pytest.fixture
def real_data():
    """Return the folder of real data after asking for a file in it, or skip."""

    def folder_with(*names: str) -> Path:
        for name in names:
            if not (REAL_HOME / name).exists():
                pytest.skip(f"{name} is not in the folder of real data sets")
        return REAL_HOME

    return folder_with

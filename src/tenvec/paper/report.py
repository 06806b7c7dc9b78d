"""The report on all results: Markdown, figures and one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def write(out: Path, skipped: Sequence[str]) -> None:
    """Write the report."""

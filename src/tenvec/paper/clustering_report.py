"""What the rows of the clustering experiment say."""

from __future__ import annotations

from collections.abc import Sequence

from tenvec.paper.experiment import Row, Section


def report(rows: Sequence[Row]) -> Section:
    """Tables."""
    return Section("Clustering of third-order samples", "")

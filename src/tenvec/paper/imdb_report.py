"""What the rows of the experiment on reviews say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenvec.paper.experiment import Row, Section
from tenvec.paper.reviews_as_matrices import Training

TITLE = "Classification of reviews (Table VIII)"
ONE_STEP = "TBV-DR, one iteration"
MEAN_VECTOR = "mean word vector"


@dataclass(frozen=True)
class Reading:
    """One way to read how the paper made matrices of reviews."""

    corpus: str
    training: Training
    decorrelated: bool
    delete: str = "stop words"
    quick: bool = False


USUAL = Training()
LONGER = Training(epochs=20, sample=1e-4, min_count=10)
PLAIN = "plain"
MAIN = "longer, decorrelated"
READINGS = {
    PLAIN: Reading("train", USUAL, False),
    MAIN: Reading("train", LONGER, True),
    "longer": Reading("train", LONGER, False),
    "plain, decorrelated": Reading("train", USUAL, True),
    "selected, decorrelated": Reading("selected", Training(epochs=20), True, quick=True),
    "longer, decorrelated, cut": Reading("train", LONGER, True, delete="end"),
}


def report(rows: Sequence[Row]) -> Section:
    """Tables."""
    return Section(TITLE, "")

"""Readings of how the paper made matrices of reviews, and the rows beyond the paper's."""

from __future__ import annotations

from dataclasses import dataclass

from tenvec.paper.reviews_as_matrices import Training

ONE_STEP = "TBV-DR, one iteration"
MEAN_VECTOR = "mean word vector"


@dataclass(frozen=True)
class Reading:
    """One way to read how the paper made matrices of reviews.

    Parameters
    ----------
    corpus : {"train", "selected"}
        What word2vec is trained on: the 25,000 training reviews, or all reviews of the right
        length.
    training : Training
        How it is trained.
    decorrelated : bool
        Whether the vectors are made uncorrelated, of mean 0 and variance 1.
    delete : {"stop words", "end"}
        What is taken from reviews that are too long.
    """

    corpus: str
    training: Training
    decorrelated: bool
    delete: str = "stop words"


USUAL = Training()
LONGER = Training(epochs=20, sample=1e-4, min_count=10)

PLAIN = "plain"
MAIN = "longer, decorrelated"
QUICK = "selected, decorrelated"
READINGS = {
    PLAIN: Reading("train", USUAL, False),
    MAIN: Reading("train", LONGER, True),
    "longer": Reading("train", LONGER, False),
    "plain, decorrelated": Reading("train", USUAL, True),
    QUICK: Reading("selected", Training(epochs=20), True),
    "longer, decorrelated, cut": Reading("train", LONGER, True, delete="end"),
}

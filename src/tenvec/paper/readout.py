"""How features are read: their scaling, the distance of nearest neighbours, and one choice of both.

Features of mean square near one are scaled by ``explained_variance ** ((1 - whiten) / 2)``, as
``TBVDR(whiten=…)`` does, so that one fit serves every value of ``whiten``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from tenvec.evaluation import nearest_neighbour_accuracy
from tenvec.paper.experiment import Row

Array = Any

METRICS = ("euclidean", "cosine")
WHITENING = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)


@dataclass(frozen=True)
class Readout:
    """A scaling of the features and a distance."""

    whiten: float
    metric: str

    def __str__(self) -> str:
        return f"whiten = {self.whiten:g}, {self.metric} distance"

    def column(self, prefix: str) -> str:
        """Name of its column in the results."""
        return f"{prefix}_{self.metric}_{self.whiten:g}"

    def scaled(self, features: Array, explained_variance: Array | None) -> Array:
        """Scale posterior means; features that have no variances beside them stay as they are."""
        if explained_variance is None:
            return features
        return features * explained_variance ** ((1 - self.whiten) / 2)


READOUTS = tuple(Readout(whiten, metric) for metric, whiten in product(METRICS, WHITENING))


def recognition_rates(
    train: Array, y_train: Array, test: Array, y_test: Array, variance: Array | None
) -> dict[str, float]:
    """1-NN rates on the test samples by readout; only unscaled ones without variances."""
    rates = {}
    for readout in READOUTS:
        if variance is None and readout.whiten != 1.0:
            continue
        scaled = readout.scaled(train, variance), readout.scaled(test, variance)
        rates[readout.column("rate")] = nearest_neighbour_accuracy(
            scaled[0], y_train, scaled[1], y_test, metric=readout.metric
        )
    return rates


def leave_one_out_rates(train: Array, y_train: Array, variance: Array | None) -> dict[str, float]:
    """1-NN rates among the training samples, each left out in turn, by readout."""
    return {
        readout.column("loo"): leave_one_out_accuracy(
            readout.scaled(train, variance), y_train, readout.metric
        )
        for readout in READOUTS
    }


def leave_one_out_accuracy(features: Array, labels: Array, metric: str) -> float:
    """Share of the samples whose nearest other sample has their label.

    Examples
    --------
    >>> import numpy as np
    >>> from tenvec.paper.readout import leave_one_out_accuracy
    >>> features = np.array([[0.0], [0.1], [5.0], [0.2]])
    >>> leave_one_out_accuracy(features, np.array([1, 1, 1, 2]), "euclidean")
    0.5
    """
    distances = pairwise_distances(features, metric=metric)
    np.fill_diagonal(distances, np.inf)
    return float(np.mean(labels[np.argmin(distances, axis=1)] == labels))


@dataclass(frozen=True)
class Choice:
    """The recommended setting and how it was found.

    Parameters
    ----------
    method : str
        Name of the method, which says R/K.
    readout : Readout
        Scaling and distance.
    rates : mapping
        Mean leave-one-out rate by method and readout.
    sets : sequence of str
        The training sets that it rests on.
    """

    method: str
    readout: Readout
    rates: Mapping[tuple[str, Readout], float]
    sets: Sequence[str]


def choose(rows: Sequence[Row], methods: Sequence[str]) -> Choice | None:
    """Choose R/K, whiten and distance by the leave-one-out rate among training samples.

    Only the columns ``loo_…`` are looked at, which only the first split at 100 features has; the
    rate is the mean over the training sets that all ``methods`` have. Ties go to the smaller model
    and to the readout that comes first.
    """
    measured: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["method"] in methods and row.get(READOUTS[0].column("loo"), "") != "":
            measured.setdefault(f"{row['dataset']} {row['size']}", {})[row["method"]] = row
    complete = {name: found for name, found in measured.items() if len(found) == len(methods)}
    if not complete:
        return None
    rates = {
        (method, readout): float(
            np.mean([found[method][readout.column("loo")] for found in complete.values()])
        )
        for method, readout in product(methods, READOUTS)
    }
    method, readout = max(rates, key=lambda key: rates[key])
    return Choice(method, readout, rates, tuple(complete))

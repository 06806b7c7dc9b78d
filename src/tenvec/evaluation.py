"""How good are features or clusters: recognition by nearest neighbour, agreement of labellings.

Every measure takes plain arrays, so that it judges any method, ours or another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score, pairwise_distances_argmin
from sklearn.metrics.cluster import contingency_matrix

from tenvec.validation import ParameterError, as_array, one_of, positive_integer

Array = Any


def nearest_neighbour_labels(
    train: Array, y_train: Array, test: Array, *, metric: str = "euclidean"
) -> Array:
    """Give each test sample the label of the nearest training sample.

    Parameters
    ----------
    train : array of shape (n_train, …)
        Features, or whole samples of any order, which are compared entry by entry.
    y_train : array of shape (n_train,)
        Labels of any kind: numbers or names.
    test : array of shape (n_test, …)
        Samples of the same shape as those of ``train``.
    metric : {"euclidean", "cosine"}, default="euclidean"
        ``"cosine"`` ignores the length of a feature vector; a zero vector is equally far from all.

    Returns
    -------
    labels : array of shape (n_test,)
        The first of several equally near training samples decides.

    Examples
    --------
    >>> from tenvec.evaluation import nearest_neighbour_labels
    >>> nearest_neighbour_labels([[1.0, 0.0], [0.0, 9.0]], ["x", "y"], [[0.1, 1.0]]).tolist()
    ['x']
    >>> nearest_neighbour_labels(
    ...     [[1.0, 0.0], [0.0, 9.0]], ["x", "y"], [[0.1, 1.0]], metric="cosine"
    ... ).tolist()
    ['y']
    """
    metric = one_of(metric, "metric", ("euclidean", "cosine"))
    train, test = _finite(train, "train"), _finite(test, "test")
    labels = _labels(y_train, "y_train", len(train), "train")
    if train.shape[1:] != test.shape[1:]:
        raise ValueError(
            f"train has samples of shape {train.shape[1:]} and test of {test.shape[1:]}: they can "
            "only be compared where both have the same shape."
        )
    rows, queries = train.reshape(len(train), -1), test.reshape(len(test), -1)
    return labels[pairwise_distances_argmin(queries, rows, metric=metric)]


def nearest_neighbour_accuracy(
    train: Array, y_train: Array, test: Array, y_test: Array, metric: str = "euclidean"
) -> float:
    """Share of the test samples whose nearest training sample has their label.

    The recognition rate of the paper's face experiments.

    Parameters
    ----------
    train, test : arrays of shape (n_train, …) and (n_test, …)
        Features, or whole samples of any order.
    y_train, y_test : arrays of shape (n_train,) and (n_test,)
        Their labels.
    metric : {"euclidean", "cosine"}, default="euclidean"
        See :func:`nearest_neighbour_labels`.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Examples
    --------
    >>> from tenvec.evaluation import nearest_neighbour_accuracy
    >>> nearest_neighbour_accuracy([[0.0], [1.0]], [7, 8], [[0.2], [0.6], [0.4]], [7, 8, 8])
    0.6666666666666666
    """
    expected = _labels(y_test, "y_test", len(_finite(test, "test")), "test")
    found = nearest_neighbour_labels(train, y_train, test, metric=metric)
    return float(np.mean(found == expected))


def clustering_accuracy(y_true: Array, y_pred: Array) -> float:
    """Share of the samples right under the best one-to-one matching of clusters with classes.

    The matching is the optimal assignment (Kuhn's Hungarian method). Where there are more clusters
    than classes, the clusters left over count as wrong.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n_samples,)
        Classes and clusters; their names do not matter.

    Returns
    -------
    accuracy : float
        Between 0 and 1; 1 only where the two partitions are the same.

    Examples
    --------
    >>> from tenvec.evaluation import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    classes, clusters = _two_labellings(y_true, y_pred)
    counts = contingency_matrix(classes, clusters)
    matched = linear_sum_assignment(counts, maximize=True)
    return float(counts[matched].sum() / len(classes))


def normalized_mutual_information(
    y_true: Array, y_pred: Array, *, average: str = "arithmetic"
) -> float:
    """Mutual information of two labellings over a mean of their entropies.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n_samples,)
        Classes and clusters; their names do not matter.
    average : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        The mean of the two entropies to divide by. Papers differ (Strehl and Ghosh 2002:
        geometric; Cai's widely used code: max), so say which one a figure has.

    Returns
    -------
    information : float
        Between 0 (independent) and 1 (the same partition).

    Examples
    --------
    >>> from tenvec.evaluation import normalized_mutual_information
    >>> round(normalized_mutual_information([0, 0, 1, 1], [0, 0, 0, 1]), 4)
    0.3437
    """
    average = one_of(average, "average", ("arithmetic", "geometric", "min", "max"))
    classes, clusters = _two_labellings(y_true, y_pred)
    return float(normalized_mutual_info_score(classes, clusters, average_method=average))


@dataclass(frozen=True)
class RunSummary:
    """Results of repeated runs: mean, sample standard deviation, and what it takes to repeat them.

    Attributes
    ----------
    values : tuple of float
        One result a run.
    seeds : tuple of int
        The seed of each run.
    """

    values: tuple[float, ...]
    seeds: tuple[int, ...]

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.values)

    @property
    def mean(self) -> float:
        """Mean of the results."""
        return float(np.mean(self.values))

    @property
    def std(self) -> float:
        """Sample standard deviation (divisor n - 1); nan after a single run."""
        return float(np.std(self.values, ddof=1)) if self.n_runs > 1 else float("nan")

    def __str__(self) -> str:
        spread = f" ± {self.std:.4f}" if self.n_runs > 1 else ""
        return f"{self.mean:.4f}{spread} ({self.n_runs} run{'s' if self.n_runs > 1 else ''})"


def summarize_runs(
    run: Callable[[int], float] | Iterable[float], seeds: int | Sequence[int] | None = None
) -> RunSummary:
    """Summary of repeated runs: of a function of the seed, or of results at hand.

    Parameters
    ----------
    run : callable or iterable of float
        ``run(seed)`` returns the result of one run; or the results themselves.
    seeds : int or sequence of int, default=None
        The seeds, or their number (0, 1, …). None means ten runs of a function, or as many as there
        are results.

    Returns
    -------
    summary : RunSummary
        ``mean``, ``std``, ``values``, ``seeds`` and ``n_runs``.

    Examples
    --------
    >>> import numpy as np
    >>> from tenvec.evaluation import summarize_runs
    >>> summary = summarize_runs(lambda seed: np.random.default_rng(seed).random(), seeds=[3, 5])
    >>> summary.seeds
    (3, 5)
    >>> print(summarize_runs([0.5, 0.7]))
    0.6000 ± 0.1414 (2 runs)
    """
    results = None if callable(run) else [float(value) for value in run]
    if seeds is None:
        seeds = 10 if results is None else len(results)
    if isinstance(seeds, int | np.integer):
        seeds = range(positive_integer(seeds, "seeds", minimum=0))
    kept = tuple(positive_integer(seed, "every seed", minimum=0) for seed in seeds)
    if callable(run):
        results = [float(run(seed)) for seed in kept]
    if not results or len(results) != len(kept):
        raise ParameterError(
            f"a summary needs one result a seed and at least one of them, got {len(results or ())} "
            f"result(s) and {len(kept)} seed(s)."
        )
    return RunSummary(tuple(results), kept)


def _finite(X: Array, name: str) -> Array:
    array = as_array(X, name)
    if not np.isfinite(array).all():
        raise ValueError(
            f"{name} contains NaN or infinite entries, whose distances are not defined: fill or "
            "drop them first."
        )
    return array


def _labels(y: Array, name: str, n_samples: int, of: str) -> Array:
    labels = np.asarray(y)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"{name} has shape {labels.shape}, but {of} has {n_samples} samples: one label for "
            "each is needed."
        )
    return labels


def _two_labellings(y_true: Array, y_pred: Array) -> tuple[Array, Array]:
    classes, clusters = np.asarray(y_true), np.asarray(y_pred)
    if classes.ndim != 1 or classes.shape != clusters.shape or not classes.size:
        raise ValueError(
            f"y_true and y_pred must be two labellings of the same samples, got shapes "
            f"{classes.shape} and {clusters.shape}."
        )
    return classes, clusters

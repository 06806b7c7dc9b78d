"""Measures against hand-computed cases, brute force and scikit-learn."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import KNeighborsClassifier

from tenvec.evaluation import (
    RunSummary,
    clustering_accuracy,
    nearest_neighbour_accuracy,
    nearest_neighbour_labels,
    normalized_mutual_information,
    summarize_runs,
)

Array = Any


# ------------------------------------------------------------------ nearest neighbour


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_neighbour_is_scikit_learns(metric: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    train, test = rng.standard_normal((60, 7)), rng.standard_normal((40, 7))
    y_train, y_test = rng.integers(4, size=60), rng.integers(4, size=40)
    train, test = train.astype(dtype), test.astype(dtype)
    reference = KNeighborsClassifier(1, metric=metric, algorithm="brute").fit(train, y_train)
    assert nearest_neighbour_accuracy(train, y_train, test, y_test, metric) == pytest.approx(
        reference.score(test, y_test), abs=0
    )


def test_nearest_neighbour_by_hand() -> None:
    train, y_train = [[0.0, 1.0], [4.0, 0.0]], ["up", "right"]
    test, y_test = [[1.0, 0.1], [0.0, 3.0], [-4.0, -0.1]], ["up", "up", "right"]
    # Distances to (0, 1) and (4, 0): 1.35 < 3.00, 2 < 5, 4.15 < 8: "up" three times.
    assert nearest_neighbour_accuracy(train, y_train, test, y_test) == 2 / 3
    # Cosines with (0, 1) and (1, 0): 0.0995 < 0.995, 1 > 0, -0.025 > -0.9997.
    assert nearest_neighbour_labels(train, y_train, test, metric="cosine").tolist() == [
        "right",
        "up",
        "up",
    ]
    assert nearest_neighbour_accuracy(train, y_train, test, y_test, metric="cosine") == 1 / 3


def test_nearest_neighbour_takes_samples_of_any_order() -> None:
    rng = np.random.default_rng(1)
    train, test = rng.standard_normal((20, 3, 4, 2)), rng.standard_normal((9, 3, 4, 2))
    y = np.arange(20) % 5
    np.testing.assert_array_equal(
        nearest_neighbour_labels(train, y, test),
        nearest_neighbour_labels(train.reshape(20, -1), y, test.reshape(9, -1)),
    )


def test_cosine_ignores_length_and_euclidean_does_not_depend_on_a_common_offset() -> None:
    rng = np.random.default_rng(2)
    train, test, y = rng.standard_normal((30, 5)), rng.standard_normal((20, 5)), np.arange(30)
    lengths = rng.uniform(0.01, 100, (20, 1))
    np.testing.assert_array_equal(
        nearest_neighbour_labels(train, y, test, metric="cosine"),
        nearest_neighbour_labels(train, y, lengths * test, metric="cosine"),
    )
    np.testing.assert_array_equal(
        nearest_neighbour_labels(train, y, test),
        nearest_neighbour_labels(train + 1e4, y, test + 1e4),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "manhattan"}, "metric must be one of 'euclidean', 'cosine'"),
        (
            {"train": [[1.0, 2.0, 3.0]] * 2},
            r"train has samples of shape \(3,\) and test of \(2,\)",
        ),
        ({"y_train": [1]}, r"y_train has shape \(1,\), but train has 2 samples"),
        ({"y_test": [1, 2]}, r"y_test has shape \(2,\), but test has 1 samples"),
        ({"test": [[np.nan, 1.0]]}, "test contains NaN or infinite"),
        ({"train": [1.0, 2.0]}, "train has 1 dimension"),
    ],
)
def test_nearest_neighbour_refuses(arguments: dict[str, Any], message: str) -> None:
    valid = {
        "train": [[0.0, 1.0], [1.0, 0.0]],
        "y_train": [0, 1],
        "test": [[0.0, 1.0]],
        "y_test": [0],
    }
    with pytest.raises(ValueError, match=message):
        nearest_neighbour_accuracy(**{**valid, **arguments})


# ------------------------------------------------------------------ clusterings


def best_by_trying_all(y_true: Array, y_pred: Array) -> float:
    """Accuracy by trying every injective renaming of the clusters."""
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    targets = classes + [None] * max(0, len(clusters) - len(classes))
    return max(
        float(np.mean([names[clusters.index(p)] == t for t, p in zip(y_true, y_pred, strict=True)]))
        for names in permutations(targets, len(clusters))
    )


labellings = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
    )
)


@settings(max_examples=60, deadline=None)
@given(labellings)
def test_clustering_accuracy_is_the_best_of_all_renamings(
    pair: tuple[list[int], list[int]],
) -> None:
    assert clustering_accuracy(*pair) == pytest.approx(best_by_trying_all(*pair), abs=1e-12)


def test_clustering_accuracy_by_hand() -> None:
    assert clustering_accuracy([0, 0, 1, 1, 2, 2], [2, 2, 0, 0, 1, 1]) == 1.0
    # Greedy matching would give cluster 0 to class 0 (3 right) and leave 0 for the rest; the best
    # assignment is 0 ↔ 1 (2 right), 1 ↔ 0 (2 right).
    assert clustering_accuracy([0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1]) == 4 / 7
    assert clustering_accuracy([0, 0, 0, 0], [0, 1, 2, 3]) == 1 / 4
    assert clustering_accuracy(["cat", "dog"], [1.5, 1.5]) == 1 / 2


def entropies(y_true: Array, y_pred: Array) -> tuple[float, float, float]:
    """Mutual information and the two entropies by counting pairs of labels."""
    n = len(y_true)
    p, q, joint = {}, {}, {}
    for t, c in zip(y_true, y_pred, strict=True):
        p[t] = p.get(t, 0) + 1 / n
        q[c] = q.get(c, 0) + 1 / n
        joint[t, c] = joint.get((t, c), 0) + 1 / n
    information = sum(w * np.log(w / (p[t] * q[c])) for (t, c), w in joint.items())
    return (
        information,
        -sum(w * np.log(w) for w in p.values()),
        -sum(w * np.log(w) for w in q.values()),
    )


@pytest.mark.parametrize("average", ["arithmetic", "geometric", "min", "max"])
def test_normalized_mutual_information_by_definition_and_scikit_learn(average: str) -> None:
    rng = np.random.default_rng(3)
    y_true = rng.integers(5, size=200)
    y_pred = np.where(rng.random(200) < 0.6, (y_true + 2) % 5, rng.integers(7, size=200))
    information, h_true, h_pred = entropies(y_true, y_pred)
    mean = {
        "arithmetic": (h_true + h_pred) / 2,
        "geometric": np.sqrt(h_true * h_pred),
        "min": min(h_true, h_pred),
        "max": max(h_true, h_pred),
    }[average]
    found = normalized_mutual_information(y_true, y_pred, average=average)
    assert found == pytest.approx(information / mean, abs=1e-12)
    assert found == normalized_mutual_info_score(y_true, y_pred, average_method=average)
    assert normalized_mutual_information([1, 1, 2, 2], ["b", "b", "a", "a"]) == 1.0
    assert normalized_mutual_information([1, 1, 2, 2], [1, 2, 1, 2]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("measure", [clustering_accuracy, normalized_mutual_information])
@pytest.mark.parametrize("pair", [([0, 1], [0]), ([], []), ([[0]], [[0]])])
def test_clustering_measures_refuse(measure: Any, pair: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="two labellings of the same samples"):
        measure(*pair)


def test_unknown_average_is_refused() -> None:
    with pytest.raises(ValueError, match="average must be one of"):
        normalized_mutual_information([0], [0], average="harmonic")


# ------------------------------------------------------------------ repeated runs


def test_summary_of_a_function_and_of_results() -> None:
    seen = []

    def run(seed: int) -> float:
        seen.append(seed)
        return seed**2

    summary = summarize_runs(run, seeds=[1, 2, 6])
    assert seen == [1, 2, 6]
    assert summary == summarize_runs([1, 4, 36], seeds=[1, 2, 6])
    assert summary == RunSummary((1.0, 4.0, 36.0), (1, 2, 6))
    assert summary.n_runs == 3
    assert summary.mean == pytest.approx(41 / 3)
    # Deviations -38/3, -29/3, 67/3: squares sum to 6774/9, divisor 2.
    assert summary.std == pytest.approx(np.sqrt(6774 / 18))
    assert summarize_runs(run, seeds=3).seeds == (0, 1, 2)
    assert summarize_runs(run).n_runs == 10
    assert summarize_runs(iter([0.25, 0.75])).seeds == (0, 1)


def test_summary_in_words() -> None:
    assert str(summarize_runs([0.25, 0.75])) == "0.5000 ± 0.3536 (2 runs)"
    single = summarize_runs([0.25])
    assert np.isnan(single.std)
    assert str(single) == "0.2500 (1 run)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "at least one"),
        (([0.1, 0.2], [1]), r"got 2 result\(s\) and 1 seed\(s\)"),
        ((float, -2), "seeds must be at least 0"),
        ((float, [-1]), "every seed must be at least 0"),
        ((float, []), "at least one"),
    ],
)
def test_summary_refuses(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        summarize_runs(*arguments)

"""The figures of docs/choosing.md: every method on faces and on clips, in one run.

    TENVEC_DATA=… python benchmarks/choosing.py [--part faces clips missing sizes] [--runs 5]

Seconds are CPU seconds of one BLAS thread for one fit, which other work on the machine changes
little. Numbers of a model are those that a transform needs. Errors are relative,
``‖X - X̂‖ / ‖X‖``, on samples that the fit did not see.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from tenvec import TBVDR
from tenvec.baselines import CP, GLRAM, LRR, PCA, SSC, BayesianCP, MixturePPCA, Tucker
from tenvec.datasets import load_ar, load_extended_yale_b, load_feret, load_weizmann
from tenvec.evaluation import (
    clustering_accuracy,
    nearest_neighbour_accuracy,
    normalized_mutual_information,
    summarize_runs,
)

Array = np.ndarray
Split = tuple[Array, Array, Array, Array]


def methods(k: int, order: int, seed: int) -> dict[str, Any]:
    """Every method that transforms new samples, at about ``k`` features."""
    side = round(k ** (1 / order))
    return {
        "PCA": PCA(k, random_state=seed),
        "PCA, whitened": PCA(k, whiten=True, random_state=seed),
        "MixturePPCA, 2 × K/2": MixturePPCA(k // 2, random_state=seed),
        "MixturePPCA, 2 × K": MixturePPCA(k, random_state=seed),
        "GLRAM": GLRAM(side),
        "CP": CP(k),
        "BayesianCP": BayesianCP(k),
        "Tucker": Tucker(k),
        "TBVDR": TBVDR(k, random_state=seed),
        "TBVDR, whiten=0.6, uncentred": TBVDR(k, whiten=0.6, center=False, random_state=seed),
    }


def numbers(model: Any) -> int:
    """How many numbers a transform needs."""
    names = ("mode_factors_", "component_factor_", "core_", "means_", "mean_")
    held = [vars(model)[name] for name in names if name in vars(model)]
    if isinstance(model, PCA | MixturePPCA):
        held.append(model.components_)
    return sum(part.size for item in held for part in (item if isinstance(item, list) else [item]))


def timed(model: Any, X: Array) -> float:
    start = time.process_time()
    model.fit(X)
    return time.process_time() - start


def error(model: Any, X: Array) -> float:
    return float(
        np.linalg.norm(model.inverse_transform(model.transform(X)) - X) / np.linalg.norm(X)
    )


def table(title: str, heads: list[str], rows: dict[str, list[str]]) -> None:
    print(f"\n{title}\n\n| method | " + " | ".join(heads) + " |")
    print("| --- |" + " --- |" * len(heads))
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def face_splits(name: str, seed: int) -> Split:
    """The paper's protocols: random images of Yale, the first ones of random people elsewhere."""
    data = {"Yale": load_extended_yale_b, "AR": load_ar, "FERET": load_feret}[name]()
    rng = np.random.default_rng(seed)
    people, n_train = np.unique(data.target), {"Yale": 20, "AR": 7, "FERET": 5}[name]
    if name != "Yale":
        people = rng.permutation(people)[:30]
    train, test = [], []
    for person in people:
        index = np.flatnonzero(data.target == person)
        index = rng.permutation(index) if name == "Yale" else index
        train.extend(index[:n_train])
        test.extend(index[n_train:])
    X = np.asarray(data.data, dtype=np.float64)
    return X[train], data.target[train], X[test], data.target[test]


def faces(n_runs: int) -> None:
    for name in ("Yale", "AR", "FERET"):
        found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for seed in range(n_runs):
            X, y, X_new, y_new = face_splits(name, seed)
            for method, model in methods(50, 2, seed).items():
                cells = found[method]
                cells["seconds"].append(timed(model, X))
                H, H_new = model.transform(X), model.transform(X_new)
                cells["features"].append(H.shape[1])
                cells["numbers"].append(numbers(model))
                cells["error"].append(error(model, X_new))
                for metric in ("euclidean", "cosine"):
                    rate = nearest_neighbour_accuracy(H, y, H_new, y_new, metric)
                    cells[metric].append(rate)
        table(
            f"{name}: {X.shape[0]} × {X.shape[1]} × {X.shape[2]} to learn from, {len(X_new)} new; "
            f"{n_runs} runs",
            ["features", "1-NN, Euclidean", "1-NN, cosine", "error", "numbers", "seconds"],
            {method: face_row(cells) for method, cells in found.items()},
        )


def face_row(cells: dict[str, list[float]]) -> list[str]:
    means = {key: summarize_runs(values) for key, values in cells.items()}
    return [
        f"{means['features'].mean:.0f}",
        *(f"{means[m].mean:.3f} ± {means[m].std:.3f}" for m in ("euclidean", "cosine")),
        f"{means['error'].mean:.4f}",
        f"{means['numbers'].mean:,.0f}",
        f"{means['seconds'].mean:.2f}",
    ]


def clips(n_runs: int) -> None:
    """Third order: errors on clips of people that the fit did not see, and clusters of actions."""
    data = load_weizmann()
    X, y = np.asarray(data.data, dtype=np.float64), data.target
    n_clusters = len(np.unique(y))
    rows = {}
    for method, model in methods(50, 3, 0).items():
        seen = data.person < 6
        seconds = timed(model, X[seen])
        away, size = error(model, X[~seen]), numbers(model)
        H = model.fit(X).transform(X)
        rows[method] = [
            str(H.shape[1]),
            f"{away:.4f}",
            f"{size:,}",
            f"{seconds:.2f}",
            *clusters(y, n_runs, lambda seed, H=H: kmeans(H, n_clusters, seed)),
        ]
    for name, kind in (("LRR", LRR), ("SSC", SSC)):
        model = kind(n_clusters, random_state=0)
        seconds = timed(model, X)
        rows[name] = [
            "–",
            "–",
            "–",
            f"{seconds:.2f}",
            *clusters(y, 1, lambda _, m=model: m.labels_),
        ]
    flat = X.reshape(len(X), -1)
    pixels = clusters(y, n_runs, lambda seed: kmeans(flat, n_clusters, seed))
    rows["pixels"] = ["10800", "–", "–", "–", *pixels]
    table(
        f"Weizmann: {X.shape[0]} clips of {X.shape[1:]}; error on three people after a fit on six; "
        f"ten actions by k-means on the features, {n_runs} seeds",
        ["features", "error", "numbers", "seconds", "accuracy", "NMI"],
        rows,
    )


def kmeans(H: Array, n_clusters: int, seed: int) -> Array:
    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(H)


def clusters(y: Array, n_runs: int, label: Callable[[int], Array]) -> list[str]:
    found = [label(seed) for seed in range(n_runs)]
    measures = (clustering_accuracy, normalized_mutual_information)
    summaries = [summarize_runs([measure(y, labels) for labels in found]) for measure in measures]
    return [f"{s.mean:.3f}" + (f" ± {s.std:.3f}" if n_runs > 1 else "") for s in summaries]


def fillings(X: Array, hidden: Array, k: int) -> Iterator[tuple[str, Callable[[], Array]]]:
    """Ways to guess hidden entries; X holds NaN there."""
    yield "mean of the entry", lambda: np.where(hidden, np.nanmean(X, axis=0), X)

    def by_projection() -> Array:
        """PCA on filled-in data, filled in anew until that settles: the usual makeshift."""
        filled = np.where(hidden, np.nanmean(X, axis=0), X)
        for _ in range(30):
            model = PCA(k, svd_solver="full").fit(filled)
            filled = np.where(hidden, model.inverse_transform(model.transform(filled)), X)
        return filled

    yield f"PCA({k}), filled in 30 times", by_projection
    yield f"BayesianCP({k})", lambda: BayesianCP(k).fit(X).impute(X)


def missing(_: int) -> None:
    X = np.asarray(load_extended_yale_b().data, dtype=np.float64)[::12]
    truth = X.copy()
    for share in (0.3, 0.6):
        hidden = np.random.default_rng(0).random(X.shape) < share
        holed = np.where(hidden, np.nan, truth)
        rows = {}
        for k in (20, 50):
            for name, fill in fillings(holed, hidden, k):
                start = time.process_time()
                gap = (fill() - truth)[hidden]
                seconds = time.process_time() - start
                away = np.linalg.norm(gap) / np.linalg.norm(truth[hidden])
                rows[name] = [f"{away:.4f}", f"{seconds:.1f}"]
        table(
            f"Yale, {len(X)} images, {share:.0%} of the entries hidden",
            ["error of the hidden entries", "seconds"],
            rows,
        )


def sizes(_: int) -> None:
    """Seconds at the largest size of the paper's face experiments."""
    data = load_extended_yale_b()
    chosen = [np.flatnonzero(data.target == person)[:40] for person in np.unique(data.target)]
    X = np.asarray(data.data, dtype=np.float64)[np.concatenate(chosen)]
    few, many = methods(50, 2, 0), methods(300, 2, 0)
    rows = {}
    for method in few:
        if "whiten" in method:
            continue  # the fit is the same
        rows[method] = []
        for model in (few[method], many[method]):
            seconds, n_iter = timed(model, X), getattr(model, "n_iter_", None)
            rows[method].append(f"{seconds:.2f}" + (f" ({n_iter})" if n_iter else ""))
        print(method, *rows[method], flush=True)
    table(
        f"One fit of {X.shape[0]} × {X.shape[1]} × {X.shape[2]}: seconds (iterations)",
        ["50 features", "300 features"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = {"faces": faces, "clips": clips, "missing": missing, "sizes": sizes}
    parser.add_argument("--part", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for part in arguments.part:
            parts[part](arguments.runs)


if __name__ == "__main__":
    main()

"""Mean 1-NN recognition rates over ten seeds, on the faces that the paper uses.

    TENVEC_DATA=… python benchmarks/recognition_rates.py [--runs 10] [--methods tbvdr pca svd]

FERET: the paper's recipe (em, uniform start, uncentred, raw pixels), first five images of each
person for training and the last two for testing, random sets of people, K = R = 50.
Extended Yale: px-em, uncentred, K = R, random training images of each person.
Beside it, on the same splits and with the same readouts: whitened PCA, and the uncentred singular
value decomposition.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from tenvec import TBVDR
from tenvec.datasets import load_extended_yale_b, load_feret
from tenvec.evaluation import nearest_neighbour_accuracy
from tenvec.paper import SETTINGS

Split = tuple[np.ndarray, np.ndarray]


def feret_split(data, n_people: int, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    people = rng.choice(np.unique(data.target), n_people, replace=False)
    chosen = np.isin(data.target, people)
    return np.flatnonzero(chosen & (data.position < 5)), np.flatnonzero(
        chosen & (data.position >= 5)
    )


def yale_split(data, per_person: int, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    train, test = [], []
    for person in np.unique(data.target):
        index = rng.permutation(np.flatnonzero(data.target == person))
        train.append(index[:per_person])
        test.append(index[per_person:])
    return np.concatenate(train), np.concatenate(test)


class SVD:
    """Whitened scores of the uncentred data."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, X: np.ndarray) -> SVD:
        """Take the leading directions."""
        _, values, directions = np.linalg.svd(X, full_matrices=False)
        self.explained_variance_ = values[: self.n_components] ** 2 / len(X)
        self.components_ = directions[: self.n_components]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Scores of mean square one."""
        return X @ self.components_.T / np.sqrt(self.explained_variance_)


def rates(data, split: Split, model: TBVDR | PCA | SVD) -> tuple[float, float]:
    """Euclidean rate on posterior means, and cosine rate with ``whiten=0.6``."""
    train, test = (np.ascontiguousarray(data.data[index], dtype=np.float64) for index in split)
    labels = [data.target[index] for index in split]
    if not isinstance(model, TBVDR):
        train, test = (samples.reshape(len(samples), -1) for samples in (train, test))
    model.fit(train)
    features = model.transform(train), model.transform(test)
    # The model is the same; whitening only scales its features.
    scale = model.explained_variance_**0.2
    scaled = tuple(f * scale for f in features)
    return tuple(
        nearest_neighbour_accuracy(a, labels[0], b, labels[1], metric=metric)
        for (a, b), metric in ((features, "euclidean"), (scaled, "cosine"))
    )


def show(name: str, values: list[tuple[float, float]]) -> None:
    mean, deviation = np.mean(values, axis=0), np.std(values, axis=0, ddof=1)
    print(
        f"{name}: Euclidean {mean[0]:.3f} ± {deviation[0]:.3f}, "
        f"cosine (whiten 0.6) {mean[1]:.3f} ± {deviation[1]:.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=["tbvdr", "pca", "svd"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    def compare(name: str, data, split: Callable[[int], Split], k: int, ours: Any) -> None:
        models = {
            "tbvdr": lambda seed: TBVDR(k, **ours, random_state=seed),
            "pca": lambda _: PCA(k, whiten=True),
            "svd": lambda _: SVD(k),
        }
        for method in options.methods:
            values = [
                rates(data, split(seed), models[method](seed)) for seed in range(options.runs)
            ]
            show(f"{name}, K = {k}, {method}", values)

    feret = load_feret()
    for n_people in (30, 50, 100):
        split = partial(feret_split, feret, n_people)
        compare(f"FERET, {n_people} people (paper's recipe)", feret, split, 50, SETTINGS)
    yale = load_extended_yale_b()
    for k in (50, 100):
        for per_person in (20, 30, 40):
            split = partial(yale_split, yale, per_person)
            ours = {"rank": "n_components", "center": False}
            compare(f"Yale, {per_person} images (px-em)", yale, split, k, ours)


if __name__ == "__main__":
    main()

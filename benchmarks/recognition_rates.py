"""Mean 1-NN recognition rates over ten seeds, on the faces that the paper uses.

    TENVEC_DATA=… python benchmarks/recognition_rates.py

FERET: the paper's recipe (em, uniform start, uncentred, raw pixels), first five images of each
person for training and the last two for testing, random sets of people, K = R = 50.
Extended Yale: px-em, uncentred, K = R, random training images of each person.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

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


def rates(data, split: Split, model: TBVDR) -> tuple[float, float]:
    """Euclidean rate on posterior means, and cosine rate with ``whiten=0.6``."""
    train, test = (np.ascontiguousarray(data.data[index]) for index in split)
    labels = [data.target[index] for index in split]
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
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore")
    feret = load_feret()
    for n_people in (30, 50, 100):
        values = [
            rates(
                feret, feret_split(feret, n_people, seed), TBVDR(50, **SETTINGS, random_state=seed)
            )
            for seed in range(runs)
        ]
        show(f"FERET, {n_people} people, paper's recipe, K = 50", values)
    yale = load_extended_yale_b()
    for k in (50, 100):
        for per_person in (20, 30, 40):
            values = [
                rates(yale, yale_split(yale, per_person, seed), TBVDR(k, rank=k, center=False))
                for seed in range(runs)
            ]
            show(f"Yale, {per_person} images, px-em, K = {k}", values)


if __name__ == "__main__":
    main()

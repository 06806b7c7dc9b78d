"""Table VIII: classification of reviews, each a matrix of words by word2vec."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenvec import TBVDR
from tenvec.baselines import GLRAM, MixturePPCA, Tucker
from tenvec.datasets import load_imdb
from tenvec.paper import SETTINGS, methods
from tenvec.paper.experiment import Cell, Experiment, Value
from tenvec.paper.imdb_readings import (
    MAIN,
    MEAN_VECTOR,
    ONE_STEP,
    PLAIN,
    QUICK,
    READINGS,
    Reading,
)
from tenvec.paper.imdb_report import TITLE, report
from tenvec.paper.methods import PX_EM, PX_EM_WIDE, RECIPE, UNCENTRED_SVD, Fitted, Problem
from tenvec.paper.readout import recognition_rates
from tenvec.paper.reviews_as_matrices import (
    WordVectors,
    as_matrices,
    decorrelate,
    word_vectors,
    words_of,
)

Array = Any

WORD_LIMITS = 180, 220
CHOSEN = {("train", 0): 1138, ("train", 1): 1327, ("test", 0): 1037, ("test", 1): 1225}
"""The paper's numbers of reviews, by set and class (0: negative)."""
N_FEATURES = 50
REDUCED = (8, 8)
"""Rows and columns of GLRAM, as printed."""
RUNS_OF_OTHER_READINGS = 3


def leading_subspace(train: Array, problem: Problem, center: bool) -> Fitted:
    """PCA or uncentred SVD from the samples' Gram matrix: far more entries than samples here."""
    rows = train.reshape(len(train), -1)
    mean = rows.mean(axis=0) if center else np.zeros(rows.shape[1], rows.dtype)
    rows = rows - mean
    gram = (rows @ rows.T).astype(np.float64)
    first = np.ones(len(rows)) + np.arange(len(rows)) % 2  # a fixed start: the same every time
    values, vectors = eigsh(gram, k=problem.n_features, v0=first)
    values, vectors = values[::-1], vectors[:, ::-1]
    weights = rows.T @ (vectors / values * np.sqrt(len(rows))).astype(rows.dtype)
    return Fitted(
        lambda samples: (samples.reshape(len(samples), -1) - mean) @ weights,
        (problem.n_features + center) * rows.shape[1],
        str(problem.n_features),
        values / len(rows),
    )


def one_step(train: Array, problem: Problem) -> Fitted:
    """The paper's recipe ended after its first iteration."""
    settings = {**SETTINGS, "max_iter": 1, "tol": 0}
    return methods.of_model(TBVDR(problem.n_features, random_state=problem.seed, **settings), train)


def mixture_ppca(train: Array, problem: Problem) -> Fitted:
    """Mixture of two PPCAs of 50 features each."""
    model = MixturePPCA(
        problem.n_features, n_mixtures=2, n_init=1, max_iter=30, random_state=problem.seed
    ).fit(train)
    mixtures = len(model.weights_)
    parameters = model.components_.size + mixtures * (prod(train.shape[1:]) + 2) - 1
    return Fitted(model.transform, parameters, str(problem.n_features), n_iter=model.n_iter_)


def glram(train: Array, problem: Problem) -> Fitted:
    """GLRAM with the paper's (8, 8): 64 features."""
    model = GLRAM(REDUCED, max_iter=20).fit(train)
    parameters = sum(factor.size for factor in model.mode_factors_)
    return Fitted(model.transform, parameters, str(REDUCED), n_iter=model.n_iter_)


def tucker(train: Array, problem: Problem) -> Fitted:
    """Tucker decomposition, 50 columns a mode."""
    model = Tucker(problem.n_features, tol=1e-4, max_iter=3).fit(train)
    parameters = model.core_.size + sum(factor.size for factor in model.mode_factors_)
    return Fitted(model.transform, parameters, str(problem.n_features), n_iter=model.n_iter_)


def mean_vector(train: Array, problem: Problem) -> Fitted:
    """No model: the mean of a review's word vectors, 100 features."""
    return Fitted(lambda samples: samples.mean(axis=1), 0, str(train.shape[2]))


CHEAP: dict[str, Callable[[Array, Problem], Fitted]] = {
    "PCA": lambda train, problem: leading_subspace(train, problem, center=True),
    UNCENTRED_SVD: lambda train, problem: leading_subspace(train, problem, center=False),
    "GLRAM": glram,
    RECIPE: methods.recipe,
    ONE_STEP: one_step,
    PX_EM: methods.METHODS[PX_EM],
    MEAN_VECTOR: mean_vector,
}
METHODS: dict[str, Callable[[Array, Problem], Fitted]] = {
    **CHEAP,
    PX_EM_WIDE: methods.METHODS[PX_EM_WIDE],
    "CP": methods.METHODS["CP"],
    "Tucker": tucker,
    "mixPPCA": mixture_ppca,
}


def cells(runs: int, quick: bool) -> list[Cell]:
    """All methods on two readings, the quick ones on the others, these in a few runs."""
    if quick:
        return [{"run": 0, "reading": QUICK, "method": name} for name in CHEAP if runs]
    return [
        {"run": run, "reading": name, "method": method}
        for run in range(runs)
        for name in READINGS
        if name == MAIN or run < RUNS_OF_OTHER_READINGS
        for method in (METHODS if name in (MAIN, PLAIN) else CHEAP)
    ]


@dataclass(frozen=True)
class Reviews:
    """All reviews of the right length, and those that a draw chooses."""

    words: list[list[str]]
    target: Array
    split: Array

    def drawn(self, seed: int) -> dict[str, Array]:
        """As many reviews of each set and class as the paper has, at random."""
        generator = np.random.default_rng(seed)
        parts: dict[str, list[Array]] = {"train": [], "test": []}
        for (split, label), count in CHOSEN.items():
            candidates = np.flatnonzero((self.split == split) & (self.target == label))
            parts[split].append(np.sort(generator.choice(candidates, count, replace=False)))
        return {split: np.concatenate(chosen) for split, chosen in parts.items()}


@lru_cache(maxsize=1)
def _texts(folder: Path | None) -> Any:
    return load_imdb(folder)


@lru_cache(maxsize=1)
def _reviews(folder: Path | None) -> Reviews:
    texts = _texts(folder)
    lengths = np.array([len(text.split()) for text in texts.data])
    fits = (lengths >= WORD_LIMITS[0]) & (lengths <= WORD_LIMITS[1])
    return Reviews(
        [words_of(text) for text in texts.data[fits]], texts.target[fits], texts.split[fits]
    )


@lru_cache(maxsize=4)
def _vectors(reading: Reading, folder: Path | None) -> WordVectors:
    if reading.corpus == "selected":
        return word_vectors(_reviews(folder).words, reading.training)
    texts = _texts(folder)
    corpus = [words_of(text) for text in texts.data[texts.split == "train"]]
    return word_vectors(corpus, reading.training)


@lru_cache(maxsize=1)
def samples(name: str, seed: int, folder: Path | None) -> tuple[Array, Array, Array, Array]:
    """Training samples and labels, test samples and labels, of one draw."""
    reading = READINGS[name]
    vectors, reviews = _vectors(reading, folder), _reviews(folder)
    chosen = reviews.drawn(seed)
    (train, n_train), (test, n_test) = (
        as_matrices([reviews.words[i] for i in chosen[split]], vectors, reading.delete)
        for split in ("train", "test")
    )
    if reading.decorrelated:
        decorrelate(train, n_train, test, n_test)
    return train, reviews.target[chosen["train"]], test, reviews.target[chosen["test"]]


def run(cell: Cell, folder: Path | None) -> dict[str, Value]:
    """Learn features of one draw and classify by them in every way."""
    seed = int(cell["run"])
    train, y_train, test, y_test = samples(str(cell["reading"]), seed, folder)
    start = time.perf_counter()
    fitted = METHODS[str(cell["method"])](train, Problem("", 0, N_FEATURES, seed))
    seconds = time.perf_counter() - start
    features = [np.asarray(fitted.transform(X), dtype=np.float64) for X in (train, test)]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(features[0], y_train)
    return {
        "used": fitted.size,
        "parameters": fitted.parameters,
        "passes": fitted.n_iter,
        "seconds": round(seconds, 3),
        "logistic": float(classifier.score(features[1], y_test)),
        **recognition_rates(features[0], y_train, features[1], y_test, fitted.variance),
    }


EXPERIMENT = Experiment(
    name="imdb",
    title=TITLE,
    numbers=(8,),
    needs={"imdb": _texts},
    cells=cells,
    run=run,
    report=report,
)

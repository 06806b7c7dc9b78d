"""The methods of the recognition tables, each fitted to training images by one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tenvec import TBVDR
from tenvec.baselines import CP, GLRAM, PCA, BayesianCP, MixturePPCA, Tucker
from tenvec.paper import SETTINGS
from tenvec.paper.published import RECOGNITION

Array = Any

PX_EM = "TBV-DR px-em, R = K"
PX_EM_WIDE = "TBV-DR px-em, R = 2K"
RECIPE = "TBV-DR"
UNCENTRED_SVD = "uncentred SVD"


@dataclass(frozen=True)
class Fitted:
    """A fitted method.

    Parameters
    ----------
    transform : callable
        Features of samples; of mean square near one where there is ``variance``.
    parameters : int
        Numbers that were learned.
    size : str
        The size as printed: K, or ``(r, c)``.
    variance : array, optional
        Explained variance of each feature, for other scalings of them.
    n_iter : int
        Passes over the data.
    """

    transform: Callable[[Array], Array]
    parameters: int
    size: str
    variance: Array | None = None
    n_iter: int = 1


@dataclass(frozen=True)
class Problem:
    """What a method is given beside the samples: the cell of the table, and the seed."""

    dataset: str
    size: int
    n_features: int
    seed: int


def pca(train: Array, problem: Problem) -> Fitted:
    """Whitened principal components; ``whiten=0`` reads them as plain PCA."""
    n_features = min(problem.n_features, len(train) - 1)
    model = PCA(n_features, whiten=True, svd_solver="full").fit(train)
    # The same image twice, as FERET has, leaves directions without variance: whitened, they would
    # be rounding multiplied.
    n_features = _numerical_rank(np.sqrt(model.explained_variance_), train)
    if n_features < len(model.explained_variance_):
        model = PCA(n_features, whiten=True, svd_solver="full").fit(train)
    parameters = (n_features + 1) * prod(train.shape[1:])
    return Fitted(model.transform, parameters, str(n_features), model.explained_variance_)


def uncentred_svd(train: Array, problem: Problem) -> Fitted:
    """Scores of mean square one on the leading right singular vectors of the raw samples."""
    rows = train.reshape(len(train), -1)
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    n_features = min(problem.n_features, _numerical_rank(values, rows))
    variance = values[:n_features] ** 2 / len(rows)
    weights = directions[:n_features].T / np.sqrt(variance)
    return Fitted(
        lambda samples: samples.reshape(len(samples), -1) @ weights,
        n_features * rows.shape[1],
        str(n_features),
        variance,
    )


def _numerical_rank(singular_values: Array, samples: Array) -> int:
    """Number of falling singular values that are not rounding, as ``matrix_rank`` counts them."""
    floor = max(len(samples), prod(samples.shape[1:])) * np.finfo(np.float64).eps
    return int(np.sum(singular_values > floor * singular_values[0]))


def mixture_ppca(train: Array, problem: Problem) -> Fitted:
    """Mixture of two PPCAs, with the feature numbers that the paper prints for it."""
    cell = RECOGNITION[problem.dataset, problem.size]["mixPPCA"][problem.n_features]
    # Where the paper forgot to print the number it stands in the same column of the other tables.
    reduced = cell.reduced or ((40,) if cell.note else (problem.n_features,))
    model = MixturePPCA(
        reduced[0], n_mixtures=2, n_init=2, max_iter=100, random_state=problem.seed
    ).fit(train)
    mixtures, n_pixels = len(model.weights_), prod(train.shape[1:])
    parameters = model.components_.size + mixtures * (n_pixels + 2) - 1
    return Fitted(model.transform, parameters, str(reduced[0]), n_iter=model.n_iter_)


def glram(train: Array, problem: Problem) -> Fitted:
    """GLRAM with the numbers of rows and columns that the paper prints."""
    reduced = _reduced(problem)
    model = GLRAM(reduced, random_state=problem.seed).fit(train)
    parameters = sum(factor.size for factor in model.mode_factors_)
    return Fitted(model.transform, parameters, f"{reduced}", n_iter=model.n_iter_)


def _reduced(problem: Problem) -> tuple[int, ...]:
    reduced = RECOGNITION[problem.dataset, problem.size]["GLRAM"][problem.n_features].reduced
    assert reduced is not None  # printed in every cell
    return reduced


def cp(train: Array, problem: Problem) -> Fitted:
    """CP of all training images together; test features by least squares on its basis.

    Plain alternating least squares from a random start, with the stop that the paper states for
    itself: features of a more exact decomposition recognise fewer faces.
    """
    model = CP(
        problem.n_features,
        init="normal",
        n_sweeps=1,
        tol=1e-4,
        max_iter=200,
        random_state=problem.seed,
    ).fit(train)
    parameters = sum(factor.size for factor in model.mode_factors_)
    return Fitted(model.transform, parameters, str(model.n_components_), n_iter=model.n_iter_)


def bayesian_cp(train: Array, problem: Problem) -> Fitted:
    """Bayesian CP started with the given rank, of which it keeps what the data support."""
    model = BayesianCP(
        problem.n_features, init="normal", max_iter=50, random_state=problem.seed
    ).fit(train)
    parameters = sum(factor.size for factor in model.mode_factors_)
    return Fitted(model.transform, parameters, str(model.n_components_), n_iter=model.n_iter_)


def tucker(train: Array, problem: Problem) -> Fitted:
    """Tucker decomposition: K features, the modes of an image with the ``(r, c)`` of GLRAM."""
    n_features = min(problem.n_features, len(train))
    model = Tucker(n_features, ranks=_reduced(problem), random_state=problem.seed).fit(train)
    parameters = model.core_.size + sum(factor.size for factor in model.mode_factors_)
    return Fitted(model.transform, parameters, str(model.n_components_), n_iter=model.n_iter_)


def recipe(train: Array, problem: Problem) -> Fitted:
    """TBV-DR by the paper's own recipe."""
    return of_model(TBVDR(problem.n_features, **SETTINGS, random_state=problem.seed), train)


def px_em(train: Array, problem: Problem, ratio: int) -> Fitted:
    """TBV-DR by parameter-expanded EM, uncentred as the paper, R = ratio · K."""
    model = TBVDR(
        problem.n_features,
        rank=ratio * problem.n_features,
        center=False,
        **PX_EM_EFFORT,
        random_state=problem.seed,
    )
    return of_model(model, train)


PX_EM_EFFORT: dict[str, Any] = {"max_iter": 20, "n_sweeps": 3}
"""Passes and sweeps of px-em in all tables."""


def of_model(model: TBVDR, train: Array) -> Fitted:
    """Fit a model; its features are posterior means."""
    model.fit(train)
    return Fitted(
        model.transform,
        sum(factor.size for factor in model.mode_factors_) + model.component_factor_.size,
        str(model.n_components_),
        model.explained_variance_,
        model.n_iter_,
    )


METHODS: dict[str, Callable[[Array, Problem], Fitted]] = {
    RECIPE: recipe,
    PX_EM: lambda train, problem: px_em(train, problem, 1),
    PX_EM_WIDE: lambda train, problem: px_em(train, problem, 2),
    "PCA": pca,
    UNCENTRED_SVD: uncentred_svd,
    "GLRAM": glram,
    "mixPPCA": mixture_ppca,
    "CP": cp,
    "Bayesian CP": bayesian_cp,
    "Tucker": tucker,
}
"""Methods by name; those of the paper have its names."""

"""Variational posterior of a CP decomposition whose number of components is found from the data.

    y_i = Σ_r Π_n a^n_{i_n r} + noise        a^n_d ~ N(0, Λ⁻¹)    Λ = diag(λ), λ_r ~ Gamma(c, d)
                                              noise ~ N(0, 1/τ)    τ ~ Gamma(a, b)

Every mode is treated alike, the samples' included; all modes share the precisions λ, which grow
without bound for components that carry nothing. Q. Zhao, L. Zhang and A. Cichocki, "Bayesian CP
factorization of incomplete tensors with automatic rank determination", IEEE TPAMI 37(9), 2015.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from math import log, pi
from typing import Any

import numpy as np

from tenvec.baselines.row_posteriors import (
    PRIOR,
    Factor,
    Gamma,
    count_rows,
    known,
    sum_by,
    unpacked,
)
from tenvec.kruskal import khatri_rao, mode_products

Array = Any

LARGEST_BLOCK = 64 * 2**20
"""Bytes of packed second moments to hold at once where they can be made piece by piece."""

LOG_TWO_PI = log(2 * pi)


@dataclass(frozen=True)
class Posterior:
    """All that is known after a sweep; arrays are in units of the data's root mean square."""

    sample: Factor
    modes: list[Factor]
    shrinkage: Gamma
    """λ, one for each component."""
    noise: Gamma
    """τ."""
    cross: Array
    """``⟨Y, component r⟩`` over the observed entries, shape (R,)."""
    products: Array
    """Expected inner products of the components over the observed entries, shape (R, R)."""

    @property
    def factors(self) -> list[Factor]:
        """The factors of all modes, the samples' first."""
        return [self.sample, *self.modes]


class Observations:
    """The observed entries: their values, and which entries are observed alike."""

    def __init__(self, values: Array, observed: Array | None, unit: float) -> None:
        """``values`` (M, P) are zero where missing; ``observed`` is None where nothing misses."""
        self.values = values
        self.unit = unit
        self.n_samples = len(values)
        self.n_observed = int(values.size if observed is None else np.sum(observed))
        self.sum_of_squares = float(np.vdot(values, values)) / unit**2
        self.patterns = None
        self.pattern_of_row = np.zeros(values.shape[0], dtype=np.intp)
        if observed is not None:
            patterns, of_row = np.unique(observed, axis=0, return_inverse=True)
            self.patterns = patterns.astype(np.float64)
            self.pattern_of_row = of_row.reshape(-1)

    def compressed(self) -> Observations:
        """The same to learn from, in fewer rows where there are more samples than entries.

        Complete data enter through ``YᵀY`` alone: any Q with orthonormal columns and ``Y = Q C``
        leaves C in the place of Y, and ``QᵀA`` in that of the samples' factor A.
        """
        if self.patterns is not None or self.n_samples <= self.values.shape[1]:
            return self
        fewer = copy(self)
        fewer.values = np.linalg.qr(self.values, mode="r")
        fewer.pattern_of_row = np.zeros(len(fewer.values), dtype=np.intp)
        return fewer

    def project(self, weights: Array) -> Array:
        """``Y · weights``."""
        weights = (weights / self.unit).astype(self.values.dtype, copy=False)
        return (self.values @ weights).astype(np.float64, copy=False)

    def with_data(self, features: Array) -> Array:
        """``featuresᵀ · Y``."""
        features = (features / self.unit).astype(self.values.dtype, copy=False)
        return (features.T @ self.values).astype(np.float64, copy=False)

    def sample_normals(self, modes: list[Factor]) -> Array:
        """``Σ_{d observed} E[z_d z_dᵀ]`` for each pattern, shape (m, R, R)."""
        if self.patterns is None:
            normal = modes[0].second_sum
            for factor in modes[1:]:
                normal = normal * factor.second_sum
            return normal[None]
        return unpacked(self.patterns @ khatri_rao([factor.seconds() for factor in modes]))

    def mode_normals(self, sample: Factor, modes: list[Factor]) -> Iterator[Array]:
        """The same for the rows of one mode after the other, with the factors as they stand."""
        if self.patterns is None:
            for mode in range(len(modes)):
                normal = sample.second_sum
                for other, factor in enumerate(modes):
                    if other != mode:
                        normal = normal * factor.second_sum
                yield normal[None]
            return
        by_pattern = sum_by(sample.seconds(), self.pattern_of_row, self.patterns.shape[0])
        seconds = [factor.seconds() for factor in modes]
        for mode, normals in mode_products(by_pattern.T @ self.patterns, seconds):
            yield unpacked(normals)
            seconds[mode] = modes[mode].seconds()


def start(modes: list[Array], n_samples: int, noise_precision: float) -> Posterior:
    """A posterior to sweep from: given means of the sample's modes, everything else open."""
    rank = modes[0].shape[1]
    nothing = np.zeros((1, rank, rank))
    factors = [known(mean, nothing) for mean in modes]
    sample = known(np.zeros((n_samples, rank)), nothing)
    shrinkage, noise = Gamma(1.0, np.ones(rank)), Gamma(noise_precision, np.array(1.0))
    return Posterior(sample, factors, shrinkage, noise, np.zeros(rank), nothing[0])


def sample_posterior(
    observations: Observations, modes: list[Factor], noise: Array | float, shrinkage: Array
) -> Factor:
    """Posterior of the samples' factor, given the factors of all other modes."""
    products = observations.project(khatri_rao([factor.mean for factor in modes]))
    normals = observations.sample_normals(modes)
    of_row, n_rows = observations.pattern_of_row, observations.n_samples
    return rows(products, normals, of_row, n_rows, noise, shrinkage)


def sweep(observations: Observations, q: Posterior) -> Posterior:
    """Update every factor once, then λ, then τ."""
    modes = list(q.modes)
    noise, shrinkage = q.noise.mean, q.shrinkage.mean
    sample = sample_posterior(observations, modes, noise, shrinkage)
    means = [factor.mean for factor in modes]
    data_products = mode_products(observations.with_data(sample.mean), means)
    all_normals = observations.mode_normals(sample, modes)
    for (mode, products), normals in zip(data_products, all_normals, strict=True):
        size = products.shape[0]
        of_row = np.arange(size) if len(normals) > 1 else np.zeros(size, dtype=np.intp)
        modes[mode] = rows(products, normals, of_row, size, noise, shrinkage)
        means[mode] = modes[mode].mean
    last = modes[-1]
    if len(normals) > 1:
        outer = last.mean[:, :, None] * last.mean[:, None, :] + last.covariance
        expected = np.sum(normals * outer, axis=0)
    else:
        expected = normals[0] * last.second_sum
    q = replace(
        q,
        sample=sample,
        modes=modes,
        cross=np.sum(products * last.mean, axis=0),
        products=expected,
    )
    return _with_precisions(observations, _balanced(q))


def rows(
    products: Array,
    normals: Array,
    of_row: Array,
    n_rows: int,
    noise: Array | float,
    shrinkage: Array,
) -> Factor:
    """``V = (τ normal + Λ)⁻¹`` and ``τ V product``, row by row (eqs. 14 to 18 of the paper)."""
    precision = noise * normals + np.diag(shrinkage)
    # Where λ drowns in rounding, the diagonal is kept above it.
    rank = precision.shape[1]
    diagonal = np.diagonal(precision, axis1=1, axis2=2)
    floor = 4 * rank * np.finfo(np.float64).eps * diagonal.max(axis=1)
    precision[:, np.arange(rank), np.arange(rank)] += floor[:, None]
    root = np.linalg.cholesky(precision)
    covariance = np.linalg.inv(precision)
    covariance = (covariance + covariance.transpose(0, 2, 1)) / 2
    if len(normals) == 1:
        mean = noise * (products @ covariance[0])
    else:
        mean = noise * (covariance[of_row] @ products[:, :, None])[:, :, 0]
    counts = count_rows(of_row, len(normals), n_rows)
    log_roots = np.log(np.diagonal(root, axis1=1, axis2=2))
    return Factor(
        mean,
        covariance,
        of_row,
        -2 * float(counts @ log_roots.sum(axis=1)),
        counts @ np.log(diagonal),
        n_rows,
    )


def _balanced(q: Posterior) -> Posterior:
    """Mean squares of each component made equal across the modes, which raises the bound.

    With λ at its best, the bound depends on the scales through ``Σ_n D_n ln x_n − ΣD ln Σ_n x_n``
    of the sums of squares ``x_n``, whose product is fixed: at the maximum ``x_n ∝ D_n``.
    """
    mean_squares = np.array([factor.squares() / factor.n_rows for factor in q.factors])
    level = np.exp(np.mean(np.log(mean_squares), axis=0))
    sample, *modes = [
        factor.rescaled(np.sqrt(level / mean_square))
        for factor, mean_square in zip(q.factors, mean_squares, strict=True)
    ]
    return replace(q, sample=sample, modes=modes)


def _with_precisions(observations: Observations, q: Posterior) -> Posterior:
    """Update λ (eqs. 20, 21) and τ (eqs. 23, 24)."""
    n_rows = sum(factor.n_rows for factor in q.factors)
    squares = np.sum([factor.squares() for factor in q.factors], axis=0)
    error = expected_error(observations, q)
    return replace(
        q,
        shrinkage=Gamma(PRIOR + n_rows / 2, PRIOR + squares / 2),
        noise=Gamma(PRIOR + observations.n_observed / 2, np.asarray(PRIOR + error / 2)),
    )


def expected_error(observations: Observations, q: Posterior) -> float:
    """Expected squared error over the observed entries, in units of their mean square."""
    total = observations.sum_of_squares
    error = total - 2 * float(np.sum(q.cross)) + float(np.sum(q.products))
    return max(error, 4 * float(np.finfo(np.float64).eps) * total)


def component_terms(q: Posterior) -> Array:
    """What each component adds to the bound by its priors and entropies, shape (R,)."""
    terms = q.shrinkage.negative_divergence()
    for factor in q.factors:
        terms = terms + factor.n_rows / 2 * (q.shrinkage.mean_log + 1)
        terms = terms - q.shrinkage.mean * factor.squares() / 2
    return terms


def lower_bound(observations: Observations, q: Posterior) -> float:
    """The variational lower bound on the log evidence, in nats of the data's own units."""
    error = expected_error(observations, q)
    bound = observations.n_observed / 2 * (float(q.noise.mean_log) - LOG_TWO_PI)
    bound -= float(q.noise.mean) * error / 2 + observations.n_observed * log(observations.unit)
    bound += float(q.noise.negative_divergence()) + float(np.sum(component_terms(q)))
    return bound + sum(factor.log_det for factor in q.factors) / 2


def entry_moments(sample: Factor, modes: list[Factor]) -> tuple[Array, Array]:
    """Posterior mean and variance of the noise-free entries, shapes (M, P)."""
    means = sample.mean @ khatri_rao([factor.mean for factor in modes]).T
    rank = sample.mean.shape[1]
    rows_, columns = np.triu_indices(rank)
    # Σ_rs E[h_r h_s] E[z_r z_s], where pairs off the diagonal count twice.
    weights = sample.seconds() * np.where(rows_ == columns, 1.0, 2.0)
    first, *others = [factor.seconds() for factor in modes]
    size = means.shape[1] // first.shape[0]
    step = max(1, LARGEST_BLOCK // (8 * weights.shape[1] * size))
    seconds = np.empty_like(means)
    for begin in range(0, first.shape[0], step):
        block = khatri_rao([first[begin : begin + step], *others])
        seconds[:, begin * size : (begin + step) * size] = weights @ block.T
    return means, np.maximum(seconds - means**2, 0.0)

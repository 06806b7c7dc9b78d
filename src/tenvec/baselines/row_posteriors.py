"""Posteriors of a factor's rows and of precisions, and their second moments in packed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lgamma, log
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

Array = Any

PRIOR = 1e-6
"""``a = b = c = d``, as published; here in units of the data's mean square."""


@dataclass(frozen=True)
class Factor:
    """Gaussian posterior of the rows of one mode's factor."""

    mean: Array
    """Shape (D, R); or (r, R) with the same inner products of its columns."""
    covariance: Array
    """Shape (m, R, R): rows that were observed alike share one."""
    of_row: Array
    """Which covariance each row has, shape (D,)."""
    log_det: float
    """Sum over the rows of ``ln|V|``."""
    log_precision: Array
    """Sum over the rows of the log of the diagonal of ``V⁻¹``, shape (R,)."""
    n_rows: int
    """Size D of the mode."""

    @property
    def counts(self) -> Array:
        """Rows that share each covariance."""
        return count_rows(self.of_row, self.covariance.shape[0], self.n_rows)

    @cached_property
    def second_sum(self) -> Array:
        """``Σ_d E[a_d a_dᵀ]``, shape (R, R)."""
        return self.mean.T @ self.mean + np.tensordot(self.counts, self.covariance, 1)

    def squares(self) -> Array:
        """``Σ_d E[a_dr²]``, shape (R,)."""
        diagonals = np.diagonal(self.covariance, axis1=1, axis2=2)
        return np.sum(self.mean**2, axis=0) + self.counts @ diagonals

    def seconds(self) -> Array:
        """``E[a_d a_dᵀ]`` by row, packed: shape (D, R(R + 1)/2)."""
        return packed_products(self.mean) + packed(self.covariance)[self.of_row]

    def rescaled(self, scale: Array) -> Factor:
        """Columns multiplied by positive numbers."""
        return Factor(
            self.mean * scale,
            self.covariance * (scale[:, None] * scale),
            self.of_row,
            self.log_det + 2 * self.n_rows * float(np.sum(np.log(scale))),
            self.log_precision - 2 * self.n_rows * np.log(scale),
            self.n_rows,
        )

    def kept(self, keep: Array) -> Factor:
        """The marginal posterior of some of the columns."""
        covariance = self.covariance[:, keep][:, :, keep]
        precision = np.linalg.inv(covariance)
        diagonal = np.diagonal(precision, axis1=1, axis2=2)
        return Factor(
            self.mean[:, keep],
            covariance,
            self.of_row,
            float(self.counts @ np.linalg.slogdet(covariance)[1]),
            self.counts @ np.log(diagonal),
            self.n_rows,
        )


@dataclass(frozen=True)
class Gamma:
    """Gamma posteriors of precisions."""

    shape: float
    rate: Array

    @property
    def mean(self) -> Array:
        """Expected precision."""
        return self.shape / self.rate

    @property
    def mean_log(self) -> Array:
        """Expected log-precision."""
        return digamma(self.shape) - np.log(self.rate)

    def negative_divergence(self) -> Array:
        """Prior and entropy terms of the bound, one for each precision."""
        prior = PRIOR * log(PRIOR) - lgamma(PRIOR) + (PRIOR - 1) * self.mean_log
        entropy = self.shape - np.log(self.rate) + gammaln(self.shape)
        entropy = entropy + (1 - self.shape) * digamma(self.shape)
        return prior - PRIOR * self.mean + entropy


def known(mean: Array, covariance: Array) -> Factor:
    """A factor to compute moments with; its log-determinants are left out."""
    shared = len(covariance) == 1
    of_row = np.zeros(len(mean), dtype=np.intp) if shared else np.arange(len(mean))
    return Factor(mean, covariance, of_row, 0.0, np.zeros(mean.shape[1]), len(mean))


def count_rows(of_row: Array, n_covariances: int, n_rows: int) -> Array:
    """Rows that share each of the covariances."""
    if n_covariances == 1:
        return np.array([n_rows])
    return np.bincount(of_row, minlength=n_covariances)


def packed(symmetric: Array) -> Array:
    """Upper triangles of symmetric matrices, shape (m, R(R + 1)/2)."""
    rows, columns = np.triu_indices(symmetric.shape[-1])
    return symmetric[:, rows, columns]


def packed_products(vectors: Array) -> Array:
    """Upper triangles of the outer products of rows with themselves."""
    rows, columns = np.triu_indices(vectors.shape[1])
    return vectors[:, rows] * vectors[:, columns]


def unpacked(triangles: Array) -> Array:
    """Symmetric matrices from their upper triangles."""
    rank = int((np.sqrt(8 * triangles.shape[1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(rank)
    full = np.empty((triangles.shape[0], rank, rank))
    full[:, rows, columns] = triangles
    full[:, columns, rows] = triangles
    return full


def sum_by(values: Array, group_of_row: Array, n_groups: int) -> Array:
    """Sums of the rows of each group."""
    if n_groups == values.shape[0]:
        sums = np.empty_like(values)
        sums[group_of_row] = values
        return sums
    order = np.argsort(group_of_row, kind="stable")
    starts = np.searchsorted(group_of_row[order], np.arange(n_groups))
    return np.add.reduceat(values[order], starts, axis=0)

"""The M-step: factors that lower the expected squared error, without touching the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from tenvec.arrays import identity, solve
from tenvec.arrays import inverse as inverse_of
from tenvec.kruskal import contract_leading, contract_trailing, khatri_rao, normalize_columns
from tenvec.kruskal import gram as gram_of
from tenvec.learning.expectation import Moments

Array = Any

PROXIMITY = 1e-13
"""Weight of the old factor in a solve, relative to the diagonal of its normal matrix.

It keeps the solve legal where the normal matrix is singular (more CP columns than entries, one
mode and R > K, collinear columns). Unlike a ridge it never lowers the bound: the old factor stays
a candidate. Where the matrix is regular the solution moves by about this much.
"""


@dataclass(frozen=True)
class Fit:
    """How well the factors explain the moments they were fitted to."""

    cross: Array
    """``⟨UᵀY, B⟩``."""
    explained: Array
    """``⟨UᵀU, S_W⟩``."""
    expected: Array
    """``⟨S, S_W⟩``."""
    separate: Array
    """The same for each rank-one term alone, summed: far larger where terms cancel."""

    def expected_error(self, moments: Moments) -> Array:
        """``ψ``: expected squared error over ``Q(h)``."""
        return _clamped(moments, self.cross, self.expected)

    def reconstruction_score(self, moments: Moments) -> Array:
        """``e = 1 − ‖Y − Ŷ‖/‖Y‖`` (eq. 11)."""
        error = _clamped(moments, self.cross, self.explained)
        return 1 - (error / moments.sum_of_squares) ** 0.5


def error_floor(moments: Moments) -> float:
    """Squared error that cannot be told from rounding: it is a difference of large sums."""
    return 4 * moments.rounding * moments.sum_of_squares


def _clamped(moments: Moments, cross: Array, squares: Array) -> Array:
    error = moments.sum_of_squares - 2 * cross + squares
    return array_namespace(error).clip(error, min=error_floor(moments))


def sweep(
    with_data: Array, second: Array, inverse: Array, mode_factors: list[Array], wh: Array
) -> tuple[list[Array], Array, Array, Array]:
    """Update ``W¹ … Wᴺ`` and ``Wʰ`` once each, in the paper's order (eqs. 15 and 16).

    Takes ``V``, ``S`` and ``S⁻¹``. Returns the factors, ``V Z`` and ``G`` of the new modes.
    """
    xp = array_namespace(wh)
    rank = wh.shape[1]
    grams = [factor.T @ factor for factor in mode_factors]
    features_gram = wh.T @ second @ wh
    # Σ_i y_i ⊗ (u_iᵀWʰ): one tensor a CP column, contracted mode by mode with fresh factors.
    stack = wh.T @ with_data
    mode_factors = list(mode_factors)
    for mode, factor in enumerate(mode_factors):
        stack = xp.reshape(stack, (rank, factor.shape[0], -1))
        target = contract_trailing(stack, mode_factors[mode + 1 :]).T
        normal = features_gram
        for other, product in enumerate(grams):
            if other != mode:
                normal = normal * product
        factor = _nearest_solution(factor, target, normal)
        mode_factors[mode] = factor
        grams[mode] = factor.T @ factor
        if mode + 1 < len(mode_factors):
            stack = contract_leading(stack, factor)
    del stack  # as large as the Khatri-Rao product that comes next
    normal = grams[0]
    for product in grams[1:]:
        normal = normal * product
    cross = with_data @ khatri_rao(mode_factors)
    wh = _nearest_solution(wh, inverse @ cross, normal)
    return mode_factors, wh, cross, normal


def maximization(
    moments: Moments, mode_factors: tuple[Array, ...], component_factor: Array, n_sweeps: int
) -> tuple[tuple[Array, ...], Array, Fit]:
    """Lower the expected squared error by ``n_sweeps`` sweeps over all factors."""
    second = moments.second
    inverse = inverse_of(second)
    factors, wh = list(mode_factors), component_factor
    for index in range(n_sweeps):
        if index:
            factors, weights = normalize_columns(factors)
            wh = wh * weights
        factors, wh, cross, gram = sweep(moments.with_data, second, inverse, factors, wh)
    return tuple(factors), wh, _fit(moments, wh, gram, cross)


def fit_of(moments: Moments, mode_factors: tuple[Array, ...], wh: Array) -> Fit:
    """How well given factors explain given moments."""
    cross = moments.with_data @ khatri_rao(mode_factors)
    return _fit(moments, wh, gram_of(mode_factors), cross)


def _fit(moments: Moments, wh: Array, gram: Array, cross: Array) -> Fit:
    xp = array_namespace(wh)
    basis_gram = wh @ gram @ wh.T
    strengths = xp.sum(wh * (moments.second @ wh), axis=0)
    return Fit(
        cross=xp.sum(cross * wh),
        explained=xp.sum(moments.of_means * basis_gram),
        expected=xp.sum(moments.second * basis_gram),
        separate=xp.sum(strengths * xp.linalg.diagonal(gram)),
    )


def _nearest_solution(old: Array, target: Array, normal: Array) -> Array:
    """Minimize ``tr(W C Wᵀ) − 2 tr(W targetᵀ)`` near the old factor: ``W C = target``."""
    xp = array_namespace(old)
    diagonal = xp.linalg.diagonal(normal)
    # Per column, so that weak columns are held no tighter than strong ones.
    floor = xp.max(diagonal) * 1e-30
    weights = PROXIMITY * xp.clip(diagonal, min=0.0) + floor + 1e-300
    damped = normal + identity(normal.shape[0], normal) * weights
    return old + solve(damped, (target - old @ normal).T).T

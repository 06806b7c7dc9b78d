"""The M-step: factors that lower the expected squared error, without touching the data."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any

from array_api_compat import array_namespace

from tenvec.arrays import add_to_diagonal, solve
from tenvec.arrays import inverse as inverse_of
from tenvec.kruskal import gram as gram_of
from tenvec.kruskal import mode_products, normalize_columns
from tenvec.learning.expectation import Moments
from tenvec.learning.parameters import Parameters
from tenvec.samples import Samples

Array = Any

PROXIMITY = 1e-13
"""Weight of the old factor in a solve, relative to the diagonal of its normal matrix.

It keeps the solve legal where the normal matrix is singular (more CP columns than entries, one
mode and R > K, collinear columns). Unlike a ridge it never lowers the bound: the old factor stays
a candidate. Where the matrix is regular the solution moves by about this much.
"""


MOMENTUM = 1.0
"""How far a sweep starts beyond the last, in steps between sweeps.

With 1, five sweeps a pass bring faces as far as ten plain ones, and triples of digits ten as far as
thirty. Longer steps gain little more, and multiply rounding: streamed and compressed fits drift
apart.
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

    @property
    def error(self) -> Array:
        """``ψ − ‖Y‖²``, for comparison."""
        return self.expected - 2 * self.cross

    def expected_error(self, moments: Moments) -> Array:
        """``ψ``: expected squared error over ``Q(h)``."""
        return _clamped(moments, self.cross, self.expected)

    def reconstruction_score(self, moments: Moments) -> Array:
        """``e = 1 − ‖Y − Ŷ‖/‖Y‖`` (eq. 11)."""
        error = _clamped(moments, self.cross, self.explained)
        return 1 - (error / moments.sum_of_squares) ** 0.5


def error_floor(source: Moments | Samples) -> float:
    """Squared error that cannot be told from rounding: it is a difference of large sums."""
    return 4 * source.rounding * source.sum_of_squares


def _clamped(moments: Moments, cross: Array, squares: Array) -> Array:
    error = moments.sum_of_squares - 2 * cross + squares
    return array_namespace(error).clip(error, min=error_floor(moments))


def maximization(moments: Moments, parameters: Parameters, n_sweeps: int) -> tuple[Parameters, Fit]:
    """Lower the expected squared error by ``n_sweeps`` sweeps over all factors.

    From the second on, a sweep starts beyond the factors reached, where their last step leads.
    What comes of it counts only where the error is lower than before; else a plain sweep follows.
    """
    inverse = inverse_of(moments.second, moments.root)
    rounding = array_namespace(inverse).finfo(inverse.dtype).eps
    before, (now, fit) = parameters, _sweep(moments, inverse, parameters)
    for _ in range(n_sweeps - 1):
        ahead, ahead_fit = _sweep(moments, inverse, _extrapolated(before, now))
        # Selected, not branched upon: no device has to be waited for. Gains below rounding would
        # select its noise.
        better = ahead_fit.error < fit.error - 4 * rounding * fit.separate
        before, now = now, _selected(better, ahead, now)
        fit = Fit(*map(partial(_where, better), astuple(ahead_fit), astuple(fit)))
    return now, fit


def _sweep(moments: Moments, inverse: Array, parameters: Parameters) -> tuple[Parameters, Fit]:
    """Update ``W¹ … Wᴺ``, whose columns then get unit norm, and ``Wʰ``; ``inverse`` is ``S⁻¹``."""
    second = moments.second
    factors, _ = update_modes(moments.with_data, second, parameters)
    units, weights = normalize_columns(factors)
    wh = parameters.component_factor * weights
    parameters = replace(parameters, mode_factors=tuple(units), component_factor=wh)
    gram = gram_of(units)
    with_terms = moments.with_data @ parameters.terms()
    wh = nearest_solution(wh, inverse @ with_terms, gram)
    parameters = replace(parameters, component_factor=wh)
    return parameters, _fit(moments, second, parameters, gram, with_terms)


def _extrapolated(before: Parameters, now: Parameters) -> Parameters:
    """Further along the step from one to the other."""
    pairs = zip(_factors(before), _factors(now), strict=True)
    *factors, wh = (new + MOMENTUM * (new - old) for old, new in pairs)
    return replace(now, mode_factors=tuple(factors), component_factor=wh)


def _selected(condition: Array, one: Parameters, other: Parameters) -> Parameters:
    """The factors of one of two where a condition holds, else of the other."""
    *factors, wh = map(partial(_where, condition), _factors(one), _factors(other))
    return replace(one, mode_factors=tuple(factors), component_factor=wh)


def _factors(parameters: Parameters) -> tuple[Array, ...]:
    return (*parameters.mode_factors, parameters.component_factor)


def _where(condition: Array, one: Array, other: Array) -> Array:
    return array_namespace(one).where(condition, one, other)


def papers_maximization(moments: Moments, parameters: Parameters) -> tuple[Parameters, Fit]:
    """One sweep as the paper has it: ``W¹ … Wᴺ``, then ``Wʰ`` (eqs. 15 and 16)."""
    second = moments.second
    factors, grams = update_modes(moments.with_data, second, parameters)
    parameters = replace(parameters, mode_factors=tuple(factors))
    gram = _product(grams)
    with_terms = moments.with_data @ parameters.terms()
    wh = nearest_solution(parameters.component_factor, solve(second, with_terms), gram)
    parameters = replace(parameters, component_factor=wh)
    return parameters, _fit(moments, second, parameters, gram, with_terms)


def update_modes(
    with_data: Array, second: Array, parameters: Parameters
) -> tuple[list[Array], list[Array]]:
    """Update ``W¹ … Wᴺ`` once each; returns them and their Gram matrices."""
    factors, wh = list(parameters.mode_factors), parameters.component_factor
    grams = [factor.T @ factor for factor in factors]
    features_gram = wh.T @ second @ wh
    # Σ_i y_i ⊗ (u_iᵀWʰ): one tensor a CP column, contracted mode by mode with fresh factors.
    for mode, target in mode_products(wh.T @ with_data, factors):
        others = [gram for other, gram in enumerate(grams) if other != mode]
        factor = nearest_solution(factors[mode], target, _product([features_gram, *others]))
        factors[mode], grams[mode] = factor, factor.T @ factor
    return factors, grams


def fit_of(moments: Moments, parameters: Parameters) -> Fit:
    """How well given parameters explain given moments."""
    with_terms = moments.with_data @ parameters.terms()
    gram = gram_of(parameters.mode_factors)
    return _fit(moments, moments.second, parameters, gram, with_terms)


def _fit(
    moments: Moments, second: Array, parameters: Parameters, gram: Array, with_terms: Array
) -> Fit:
    wh = parameters.component_factor
    xp = array_namespace(wh)
    if 2 * gram.shape[0] >= moments.n_entries:
        # Many columns on few entries cancel: the basis itself costs no more, and loses no digits.
        basis = parameters.basis()
        basis_gram = basis @ basis.T
        expected = xp.sum(second * basis_gram)
        return Fit(
            cross=xp.sum(moments.with_data * basis),
            explained=xp.sum(moments.of_means * basis_gram),
            expected=expected,
            separate=expected,
        )
    weighted, with_gram = second @ wh, wh @ gram
    strengths = xp.sum(wh * weighted, axis=0)
    return Fit(
        cross=xp.sum(with_terms * wh),
        explained=xp.sum((moments.of_means @ wh) * with_gram),
        expected=xp.sum(weighted * with_gram),
        separate=xp.sum(strengths * xp.linalg.diagonal(gram)),
    )


def _product(matrices: list[Array]) -> Array:
    """Entrywise product."""
    product, *others = matrices
    for matrix in others:
        product = product * matrix
    return product


def nearest_solution(old: Array, target: Array, normal: Array) -> Array:
    """Minimize ``tr(W C Wᵀ) − 2 tr(W targetᵀ)`` near the old factor: ``W C = target``.

    The proximal step ``W + (target − W C)(C + Λ)⁻¹`` is ``(target + W Λ)(C + Λ)⁻¹``.
    """
    xp = array_namespace(old)
    diagonal = xp.linalg.diagonal(normal)
    # Per column, so that weak columns are held no tighter than strong ones.
    floor = xp.max(diagonal) * 1e-30 + 1e-300
    weights = PROXIMITY * xp.clip(diagonal, min=0.0) + floor
    return solve(add_to_diagonal(normal, weights), (target + old * weights).T).T

"""The M-step: factors that lower the expected squared error, without touching the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import mul
from typing import Any

from array_api_compat import array_namespace, is_numpy_array

from tenvec.arrays import cholesky, identity, inverse_lower
from tenvec.kruskal import gram as gram_of
from tenvec.learning.expectation import Moments
from tenvec.learning.parameters import Parameters
from tenvec.learning.sweeps import Factors, Point, sweep, sweeps
from tenvec.samples import Samples

Array = Any


@dataclass(frozen=True)
class Fit:
    """How well the factors explain the moments they were fitted to."""

    cross: Array
    """``⟨UᵀY, B⟩``."""
    expected: Array
    """``⟨S, S_W⟩``."""
    uncertain: Array
    """``M⟨Σ, S_W⟩``, the share of the covariance in it."""

    def expected_error(self, moments: Moments) -> Array:
        """``ψ``: expected squared error over ``Q(h)``."""
        return _clamped(moments, self.cross, self.expected)

    def reconstruction_score(self, moments: Moments) -> Array:
        """``e = 1 − ‖Y − Ŷ‖/‖Y‖`` (eq. 11)."""
        error = _clamped(moments, self.cross, self.expected - self.uncertain)
        return 1 - (error / moments.sum_of_squares) ** 0.5


def error_floor(source: Moments | Samples) -> float:
    """Squared error that cannot be told from rounding: it is a difference of large sums."""
    return 4 * source.rounding * source.sum_of_squares


def _clamped(moments: Moments, cross: Array, squares: Array) -> Array:
    error = moments.sum_of_squares - 2 * cross + squares
    return array_namespace(error).clip(error, min=error_floor(moments))


def whitened(
    moments: Moments, parameters: Parameters, n_sweeps: int
) -> tuple[Moments, Parameters, Array]:
    """Both for features whose second moments ``S`` are the identity, and the way back.

    With ``S = LLᵀ`` these are the features ``L⁻¹h``. The matrix returned is ``L⁻ᵀ``: times the new
    ``Wʰ``, that of the features as they were. ``n_sweeps`` are to follow.
    """
    root = cholesky(moments.second, moments.rounding)
    inverse = inverse_lower(root)
    xp = array_namespace(root)
    momentum = parameters.momentum
    if momentum is not None:
        momentum = (*momentum[:-1], root.T @ momentum[-1])
    log_det = 2 * xp.sum(xp.log(xp.linalg.diagonal(root)))
    wh = parameters.component_factor
    pays = not is_numpy_array(wh) or 2 * n_sweeps * wh.shape[1] > moments.n_entries
    moments = replace(
        moments,
        with_data=inverse @ moments.with_data if pays else moments.with_data,
        transform=None if pays else inverse,
        second=identity(root.shape[0], root),
        spread=inverse if moments.spread is None else inverse @ moments.spread,
        log_det_covariance=moments.log_det_covariance - log_det,
    )
    wh = root.T @ wh
    return moments, replace(parameters, component_factor=wh, momentum=momentum), inverse.T


def maximization(
    moments: Moments, parameters: Parameters, n_sweeps: int, cross: Array = None
) -> tuple[Parameters, Fit]:
    """Lower the expected squared error by sweeps over all factors, for whitened moments.

    From the second on, sweeps start beyond the one before. Where the parameters have a momentum,
    the first one does too: beyond the last of the pass before. It needs ``cross``, ``⟨UᵀY, B⟩`` of
    the given factors. The new factors come balanced.
    """
    core, factors, momentum = moments.core, parameters.factors, parameters.momentum
    if n_sweeps == 1:
        # Nothing would follow a sweep that has led nowhere.
        now, momentum = sweep(core, factors), None
    elif momentum is not None:
        now, momentum = sweeps(core, _start(parameters, cross), momentum, n_sweeps)
    else:
        now = sweep(core, factors)
        momentum = tuple(new - old for new, old in zip(now.factors, factors, strict=True))
        now, momentum = sweeps(core, now, momentum, n_sweeps - 1)
    parameters = _balanced(now.factors, momentum, parameters.precision)
    return parameters, _fit(moments, parameters, now)


def _balanced(factors: Factors, momentum: Factors | None, precision: Array) -> Parameters:
    """Columns are given unit length, and the momentum with them; zero ones are left alone."""
    *modes, wh = factors
    xp = array_namespace(wh)
    lengths = [xp.sqrt(xp.sum(factor * factor, axis=0)) for factor in modes]
    lengths = [xp.where(length == 0, xp.ones_like(length), length) for length in lengths]
    scales = [*(1 / length for length in lengths), reduce(mul, lengths)]
    *modes, wh = (factor * scale for factor, scale in zip(factors, scales, strict=True))
    if momentum is not None:
        momentum = tuple(step * scale for step, scale in zip(momentum, scales, strict=True))
    return Parameters(tuple(modes), wh, precision, momentum)


def _start(parameters: Parameters, cross: Array) -> Point:
    wh = parameters.component_factor
    squares = array_namespace(wh).sum((wh.T @ wh) * gram_of(parameters.mode_factors))
    return Point(parameters.factors, cross, squares, squares)


def papers_maximization(moments: Moments, parameters: Parameters) -> tuple[Parameters, Fit]:
    """One sweep as the paper has it, for whitened moments: ``W¹ … Wᴺ``, then ``Wʰ``."""
    now = sweep(moments.core, parameters.factors)
    *modes, wh = now.factors
    parameters = replace(parameters, mode_factors=tuple(modes), component_factor=wh)
    return parameters, _fit(moments, parameters, now)


def fit_of(moments: Moments, parameters: Parameters) -> Fit:
    """How well given parameters explain given moments, whatever the features' frame."""
    xp = array_namespace(moments.with_data)
    basis = parameters.basis()
    basis_gram = basis @ basis.T
    return Fit(
        cross=xp.sum(moments.core.whole() * basis),
        expected=xp.sum(moments.second * basis_gram),
        uncertain=moments.n_samples * xp.sum(moments.covariance * basis_gram),
    )


def _fit(moments: Moments, parameters: Parameters, reached: Point) -> Fit:
    """The same for whitened moments, and parameters whose sums are known."""
    if _loses_digits(moments, parameters, reached):
        return fit_of(moments, parameters)
    spread = moments.spread.T @ parameters.component_factor
    squares = array_namespace(spread).sum((spread.T @ spread) * gram_of(parameters.mode_factors))
    return Fit(reached.cross, reached.squares, uncertain=moments.n_samples * squares)


def _loses_digits(moments: Moments, parameters: Parameters, reached: Point) -> bool:
    """Whether rank-one terms are so large, and cancel, that their sums say little of their sum."""
    if not is_numpy_array(reached.separate):
        return True  # to look would be to wait for the device, and it has time for the basis
    many = 2 * parameters.component_factor.shape[1] >= moments.n_entries
    return many or bool(reached.separate > 4 * moments.sum_of_squares)

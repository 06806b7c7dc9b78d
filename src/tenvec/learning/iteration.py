"""The driver: passes of expectation and maximization until a rule says stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, Protocol

from array_api_compat import array_namespace

from tenvec.arrays import to_floats
from tenvec.learning.evidence import (
    NoisePrior,
    fitted_prior,
    lower_bound,
    noise_posterior,
    standard_prior,
)
from tenvec.learning.expectation import expectation, in_posterior_frame
from tenvec.learning.maximization import (
    error_floor,
    fit_of,
    maximization,
    papers_maximization,
    whitened,
)
from tenvec.learning.parameters import Parameters
from tenvec.learning.replay import replayed
from tenvec.samples import Samples

Array = Any

DROWNED = 1e-4
"""Nats an entry: where rounding moves the bound by more, it hides the noise."""


@dataclass(frozen=True)
class Update:
    """What one pass over the data brought, still where it was computed."""

    parameters: Parameters
    figures: tuple[Array, ...]
    """The bound, ``e(t)``, ``ψ`` and ``ρ̄``."""


@dataclass(frozen=True)
class Step:
    """What one pass over the data brought."""

    parameters: Parameters
    bound: float
    score: float
    at_rounding: bool
    """The error left cannot be told from rounding."""
    rounding: float
    """What rounding may do to the bound."""


@dataclass(frozen=True)
class Result:
    """A finished fit, in the units of the normalized data."""

    parameters: Parameters
    bounds: list[float]
    scores: list[float]
    converged: bool
    reason: str
    at_rounding: bool


class Algorithm(Protocol):
    """One pass, and the rule that ends the passes."""

    def update(self, samples: Samples, parameters: Parameters) -> Update:
        """One pass over the samples: better parameters."""
        ...

    def verdict(self, bounds: list[float], scores: list[float], n_values: int) -> str | None:
        """Why to stop, or None to go on."""
        ...


@dataclass(frozen=True)
class VariationalEM:
    """The paper's algorithm 2, step for step (``algorithm="em"``)."""

    prior: NoisePrior
    tol: float

    def update(self, samples: Samples, parameters: Parameters) -> Update:
        """E-step: ``Q(h)``, then ``Q(ρ)``; M-step: ``W¹ … Wᴺ``, then ``Wʰ``; e(t)."""
        moments = expectation(samples, parameters)
        error = fit_of(moments, parameters).expected_error(moments)
        noise = noise_posterior(self.prior, moments, error)
        bound = lower_bound(self.prior, noise, standard_prior(moments))
        moments, parameters, back = whitened(moments, parameters, 1)
        parameters, fit = papers_maximization(moments, parameters)
        wh = back @ parameters.component_factor
        parameters = replace(parameters, component_factor=wh, precision=noise.mean)
        score = fit.reconstruction_score(moments)
        return Update(parameters, (bound, score, error, noise.mean))

    def verdict(self, bounds: list[float], scores: list[float], n_values: int) -> str | None:
        """Stop when e(t) moves less than ``tol`` (algorithm 2)."""
        if self.tol and len(scores) > 1 and abs(scores[-1] - scores[-2]) < self.tol:
            return f"the reconstruction score moved by less than tol = {self.tol:g}"
        return None


@dataclass(frozen=True)
class ParameterExpandedEM:
    """EM with a free prior covariance of the features, folded back (``algorithm="px-em"``).

    After the M-step the prior ``h ~ N(0, Φ)`` is fitted, ``Φ = S/M = LLᵀ``, and absorbed by
    ``Wʰ ← LᵀWʰ`` (Liu, Rubin and Wu 1998; Luttinen and Ilin 2010). The bound never falls. As the
    prior is free, so is the frame of the features: the M-step is made where ``S = I``, and there
    the expansion is a division by ``√M``.
    """

    prior: NoisePrior
    tol: float
    n_sweeps: int

    def update(self, samples: Samples, parameters: Parameters) -> Update:
        """``Q(h)``; sweeps over the factors; ``Q(ρ)``; expansion."""
        parameters, q = in_posterior_frame(parameters)
        moments = expectation(samples, parameters, q)
        # In this frame U = ρ̄ Y Bᵀ: ⟨UᵀY, B⟩ needs no product with the data.
        trace = array_namespace(moments.second).linalg.trace(moments.second)
        n_components = parameters.component_factor.shape[0]
        cross = (trace - samples.n_samples * n_components) / parameters.precision
        moments, parameters, _ = whitened(moments, parameters, self.n_sweeps)
        parameters, fit = maximization(moments, parameters, self.n_sweeps, cross)
        error = fit.expected_error(moments)
        noise = noise_posterior(self.prior, moments, error)
        bound = lower_bound(self.prior, noise, fitted_prior(moments))
        parameters = replace(expanded(parameters, moments.n_samples), precision=noise.mean)
        return Update(parameters, (bound, fit.reconstruction_score(moments), error, noise.mean))

    def verdict(self, bounds: list[float], scores: list[float], n_values: int) -> str | None:
        """Stop when two passes running gain fewer than ``tol`` nats an entry."""
        if not self.tol or len(bounds) < 3:
            return None
        limit = self.tol * n_values
        if bounds[-1] - bounds[-2] < limit and bounds[-2] - bounds[-3] < limit:
            return f"two passes running gained fewer than tol = {self.tol:g} nats an entry"
        return None


def expanded(parameters: Parameters, n_samples: int) -> Parameters:
    """The parameters for features whose second moments are those of the prior ``N(0, I)``."""
    scale = n_samples**-0.5
    wh, momentum = parameters.component_factor * scale, parameters.momentum
    if momentum is not None:
        momentum = (*momentum[:-1], momentum[-1] * scale)
    return replace(parameters, component_factor=wh, momentum=momentum)


def finished(samples: Samples, update: Update) -> Step:
    """A finished pass. Only here does learning wait for the device that computes it."""
    bound, score, error, precision = to_floats(update.figures)
    n_values = samples.n_samples * prod(samples.sample_shape)
    return Step(
        parameters=update.parameters,
        bound=bound,
        score=score,
        at_rounding=error <= error_floor(samples),
        # 4 eps · MP · ‖Y‖²/ψ, less where the prior keeps ρ̄ low.
        rounding=4 * samples.rounding * samples.sum_of_squares * min(n_values / error, precision),
    )


def iterate(
    samples: Samples,
    parameters: Parameters,
    algorithm: Algorithm,
    max_iter: int,
    report: Callable[[int, Result], None] | None = None,
) -> Result:
    """Pass over the samples until the algorithm's rule or ``max_iter`` says stop.

    ``report`` is called after every pass with its number and the result so far.
    """
    n_values = samples.n_samples * prod(samples.sample_shape)
    bounds: list[float] = []
    scores: list[float] = []
    result: Result | None = None
    allowed = 0.0
    update: Callable[[Parameters], Update] = partial(algorithm.update, samples)
    if not samples.streamed:
        update = replayed(update, parameters)
    for number in range(1, max_iter + 1):
        step = finished(samples, update(parameters))
        if result is not None and not step.bound >= bounds[-1] - min(step.rounding, allowed):
            # Exact steps never lower the bound: what is left to learn is below rounding.
            drowned = step.at_rounding or allowed > DROWNED * n_values
            what = "the noise left cannot be told" if drowned else "gains of the bound are not told"
            reason = f"{what} from rounding, after {number - 1} passes"
            return replace(result, converged=True, reason=reason, at_rounding=drowned)
        parameters, allowed = step.parameters, step.rounding
        bounds.append(step.bound)
        scores.append(step.score)
        verdict = algorithm.verdict(bounds, scores, n_values)
        reason = verdict or f"made {number} of max_iter = {max_iter} passes"
        result = Result(parameters, bounds, scores, verdict is not None, reason, step.at_rounding)
        if report is not None:
            report(number, result)
        if verdict is not None:
            break
    if result is None:
        raise ValueError("max_iter must be at least 1")
    return result

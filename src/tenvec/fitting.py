"""A fit, from checked settings to fitted attributes: what is learned from, from where, to what."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from sklearn.exceptions import ConvergenceWarning

from tenvec.fitted import moved_to
from tenvec.learning.evidence import NoisePrior
from tenvec.learning.initialization import START_PRECISION, start
from tenvec.learning.iteration import Algorithm, ParameterExpandedEM, Result, VariationalEM
from tenvec.learning.parameters import Parameters, balance, canonical
from tenvec.learning.schedule import balanced_sweeps
from tenvec.samples import Samples
from tenvec.samples.array import ArraySamples
from tenvec.samples.compression import compress_and_measure, compression_pays
from tenvec.samples.normalization import Normalization, measure
from tenvec.settings import Settings
from tenvec.validation import ParameterError
from tenvec.warning import warn

Array = Any


@dataclass(frozen=True)
class Problem:
    """What is to be learned, once the samples are measured."""

    settings: Settings
    samples: Samples
    prior: NoisePrior
    precision: float
    """Of the noise, where every start begins."""

    def start(self, index: int, seed: int) -> Parameters:
        """Where the start of this number begins."""
        settings, unit = self.settings, self.samples.normalization.unit
        factors, wh = start(
            self.samples,
            settings.n_components,
            settings.rank,
            # The leading subspace is one start; further ones have to differ.
            "normal" if settings.init == "svd" and index else settings.init,
            seed,
            # The paper starts from raw draws, whatever the unit of the data.
            raw_unit=unit if settings.algorithm == "em" else None,
            unit=unit,
        )
        parameters = Parameters(factors, wh, self.precision)
        # The paper's algorithm goes on from the factors as they are.
        return parameters if settings.algorithm == "em" else balance(parameters)

    def algorithm(self) -> Algorithm:
        """One pass, and the rule that ends the passes."""
        settings = self.settings
        if settings.algorithm == "em":
            return VariationalEM(self.prior, settings.tol)
        samples = self.samples
        n_sweeps = settings.n_sweeps or balanced_sweeps(
            samples.n_samples, samples.sample_shape, settings.n_components, settings.rank
        )
        return ParameterExpandedEM(self.prior, settings.tol, n_sweeps)

    def attributes(self, result: Result) -> dict[str, Any]:
        """A result as fitted attributes, in the units of the data."""
        settings, normalization = self.settings, self.samples.normalization
        unit = normalization.unit
        parameters, variances = canonical(result.parameters)
        volume = self.samples.n_samples * normalization.log_volume
        bounds = np.asarray(result.bounds) - volume
        fitted = {
            "mode_factors_": list(parameters.mode_factors),
            "component_factor_": parameters.component_factor * unit,
            "mean_": array_namespace(normalization.mean).reshape(
                normalization.mean, normalization.sample_shape
            ),
            "scale_": normalization.scale,
            "noise_variance_": unit**2 / float(result.parameters.precision),
            "explained_variance_": variances * unit**2,
            # The normalized data have mean square one.
            "explained_variance_ratio_": variances / normalization.mean.shape[0],
            "n_components_": settings.n_components,
            "rank_": settings.rank,
            "whiten_": settings.whiten,
            "lower_bound_": float(bounds[-1]),
            "lower_bounds_": bounds,
            "reconstruction_scores_": np.asarray(result.scores),
            "n_iter_": len(result.bounds),
            "converged_": result.converged,
            "stop_reason_": result.reason,
            "noise_prior_": (self.prior.a, self.prior.b * unit**2),
        }
        return fitted | moved_to(fitted, np.empty(0)) if settings.on_device else fitted

    def warn(self, result: Result) -> None:
        """Say what the caller of ``fit`` should know of a result."""
        settings = self.settings
        n_entries = prod(self.samples.sample_shape)
        surplus = settings.n_components - min(settings.rank, n_entries)
        if surplus > 0:
            warn(
                f"{surplus} of {settings.n_components} features are zero: a basis of rank "
                f"{settings.rank} on {n_entries} entries carries no more. "
                "Lower n_components or raise rank.",
            )
        if result.at_rounding:
            warn(
                "The noise left cannot be told from rounding: noise_variance_, likelihoods and "
                "reconstruction scores near 1 are not meaningful. Lower n_components or rank, or "
                "pass float64 data.",
            )
        if not result.converged and settings.tol > 0:
            warn(
                f"Not converged after max_iter={settings.max_iter} passes. Raise max_iter or tol.",
                ConvergenceWarning,
            )


def problem_of(data: Array, settings: Settings) -> Problem:
    """Measure the samples, and choose how learning gets its moments from them."""
    center, axes = settings.center, settings.scale_axes
    samples: Samples
    # The paper's algorithm passes over the data; it runs compressed too, with the same iterates.
    if compression_pays(
        data.shape[0], prod(data.shape[1:]), settings.n_components, settings.max_iter
    ):
        samples = compress_and_measure(data, center=center, scale_axes=axes)
    else:
        samples = ArraySamples(data, measure(data, center=center, scale_axes=axes))
    return Problem(settings, samples, *_noise(settings, samples.normalization))


def _noise(settings: Settings, normalization: Normalization) -> tuple[NoisePrior, float]:
    """The noise's prior and first mean precision, for the normalized data."""
    a, b = settings.noise_prior
    if settings.algorithm == "px-em":
        return NoisePrior(a, b), START_PRECISION
    # The paper counts b, and starts, in the data's own units.
    square = normalization.unit**2
    precision = a / b * square if a > 0 and b > 0 else START_PRECISION
    if not 0 < precision < float("inf"):
        raise ParameterError(
            f"noise_prior=({a:g}, {b:g}) puts the first noise precision, a / b, beyond the range "
            "of float64: choose a and b closer to one another."
        )
    return NoisePrior(a, b / square), precision

"""Learning the variational CP posterior, and finding out how many components it needs.

A component that the data do not support is removed as soon as the bound is no lower without it,
and at a standstill some are taken out on trial. So the rank falls, and the bound never does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenvec.baselines.row_posteriors import Gamma
from tenvec.baselines.variational_cp import (
    Observations,
    Posterior,
    component_terms,
    lower_bound,
    sweep,
)

Array = Any

TRIALS, LAST_TRIALS = 3, 10
"""Components taken out on trial at a standstill, and before the fit ends."""

TRIAL_SWEEPS = 10
"""Most sweeps granted to those that stay."""

STANDSTILL = 1e-3
"""Gain of a sweep, in nats an entry, below which components are taken out on trial …"""

PATIENCE = 10
"""… and the sweeps after a trial in vain until the next; twice as many each time."""


@dataclass(frozen=True)
class Result:
    """A finished fit."""

    posterior: Posterior
    bounds: list[float]
    converged: bool
    reason: str


def learn(observations: Observations, q: Posterior, max_iter: int, tol: float) -> Result:
    """Sweep, and remove what is not needed, until the bound stands still."""
    bounds: list[float] = []
    next_trial, patience = 0, PATIENCE
    for index in range(max_iter):
        q = sweep(observations, q)
        if index:
            # The first sweep's factors still show the start more than the data.
            q = pruned(observations, q)
        bounds.append(lower_bound(observations, q))
        if len(bounds) < 3:
            continue
        nats = bounds[-1] - bounds[-2]
        gain = nats / observations.n_observed
        if gain >= STANDSTILL or (index < next_trial and gain >= tol):
            continue
        smaller = simplified(observations, q, nats, LAST_TRIALS if gain < tol else TRIALS)
        if smaller is not None:
            q = smaller
            bounds[-1] = lower_bound(observations, q)
            continue
        next_trial, patience = index + patience, 2 * patience
        if tol and gain < tol:
            reason = f"a sweep gained less than tol = {tol:g} nats an entry"
            return Result(q, bounds, True, reason)
    return Result(q, bounds, False, f"max_iter = {max_iter} sweeps were made")


def pruned(observations: Observations, q: Posterior) -> Posterior:
    """The posterior without the components whose removal does not lower the bound."""
    keep = removal_gains(q) < 0
    while not keep.all() and q.cross.size > 1:
        if not keep.any():
            keep[np.argmin(removal_gains(q))] = True
        candidate = without(q, keep)
        if lower_bound(observations, candidate) >= lower_bound(observations, q):
            return candidate
        # Together they carry something: remove the emptiest alone.
        if np.sum(~keep) == 1:
            return q
        keep = np.arange(keep.size) != np.argmax(removal_gains(q))
    return q


def removal_gains(q: Posterior) -> Array:
    """By how much the bound rises when one component is taken out, shape (R,)."""
    error = 2 * q.cross - 2 * np.sum(q.products, axis=1) + np.diagonal(q.products)
    # ln|V| without row and column r is ln|V| + ln (V⁻¹)_rr.
    entropies = -np.sum([factor.log_precision for factor in q.factors], axis=0) / 2
    return -(float(q.noise.mean) * error / 2 + component_terms(q) + entropies)


def simplified(
    observations: Observations, q: Posterior, gain: float, n_trials: int
) -> Posterior | None:
    """A posterior with one component fewer and a higher bound, or None where none was found.

    Two components that share the work of one come together only slowly. So the components that
    the others could replace best are taken out on trial, and the rest swept a few times. It has to
    get higher than as many sweeps with the component would, at their present ``gain``.
    """
    if q.cross.size == 1:
        return None
    bound = lower_bound(observations, q)
    for component in np.argsort(replacement_losses(q))[:n_trials]:
        trial = without(q, np.arange(q.cross.size) != component)
        before = -np.inf
        for n_sweeps in range(1, TRIAL_SWEEPS + 1):
            trial = sweep(observations, trial)
            reached = lower_bound(observations, trial)
            if reached > bound + n_sweeps * gain:
                return trial
            in_reach = reached + (TRIAL_SWEEPS - n_sweeps) * (reached - before)
            if in_reach < bound + TRIAL_SWEEPS * gain:
                break
            before = reached
    return None


def replacement_losses(q: Posterior) -> Array:
    """Squared error left where a component's rank-one tensor is replaced by the others'."""
    normal = np.prod([factor.mean.T @ factor.mean for factor in q.modes], axis=0)
    rank = normal.shape[0]
    damped = normal + np.eye(rank) * (1e-10 * np.trace(normal) / rank)
    distances = 1 / np.diagonal(np.linalg.inv(damped))
    return distances * np.sum(q.sample.mean**2, axis=0)


def without(q: Posterior, keep: Array) -> Posterior:
    """The posterior of some of the components alone."""
    return Posterior(
        q.sample.kept(keep),
        [factor.kept(keep) for factor in q.modes],
        Gamma(q.shrinkage.shape, q.shrinkage.rate[keep]),
        q.noise,
        q.cross[keep],
        q.products[np.ix_(keep, keep)],
    )

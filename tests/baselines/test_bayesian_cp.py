"""Bayesian CP against the published updates written out, Monte Carlo, and planted data."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, multivariate_normal

from tenvec.baselines import BayesianCP
from tenvec.baselines.automatic_rank import pruned, removal_gains, without
from tenvec.baselines.row_posteriors import Factor, packed, packed_products, unpacked
from tenvec.baselines.variational_cp import (
    PRIOR,
    Observations,
    Posterior,
    entry_moments,
    lower_bound,
    start,
    sweep,
)

Array = Any


def planted(
    seed: int, missing: float, size: int = 30, rank: int = 5, decibels: float = 20.0
) -> tuple[Array, Array, Array, float]:
    """The published settings: standard normal factors, and noise of the given SNR."""
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((size, rank)) for _ in range(3)]
    truth = np.einsum("ir,jr,kr->ijk", *factors)
    deviation = float(np.sqrt(np.var(truth) * 10 ** (-decibels / 10)))
    X = truth + deviation * rng.standard_normal(truth.shape)
    hidden = rng.random(truth.shape) < missing
    return truth, np.where(hidden, np.nan, X), hidden, deviation


def small_problem(missing: float = 0.3) -> tuple[Array, Array, Observations, Posterior]:
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((7, 4, 3))
    observed = rng.random(Y.shape) >= missing
    observed[1] = observed[2]  # two samples observed alike
    values = np.where(observed, Y, 0.0).reshape(7, -1)
    unit = float(np.sqrt(np.sum(values**2) / np.sum(observed)))
    observations = Observations(values, observed.reshape(7, -1) if missing else None, unit)
    modes = [rng.standard_normal((size, 3)) for size in (4, 3)]
    return Y / unit, observed, observations, start(modes, 7, noise_precision=2.0)


def per_row(factor: Factor) -> tuple[Array, Array]:
    return factor.mean, factor.covariance[factor.of_row]


# ------------------------------------------------------------------- the published algorithm


def literal_sweep(Y: Array, observed: Array, q: Posterior) -> tuple[list[Array], list[Array]]:
    """Equations 14 to 18 of the paper entry by entry; means and covariances of all factors."""
    pairs = [per_row(factor) for factor in q.factors]
    means, covariances = [list(part) for part in zip(*pairs, strict=True)]
    tau, shrinkage = float(q.noise.mean), np.diag(q.shrinkage.mean)
    rank = shrinkage.shape[0]
    for mode in range(3):
        new_means, new_covariances = [], []
        for row in range(Y.shape[mode]):
            precision, linear = shrinkage.copy(), np.zeros(rank)
            for entry in np.ndindex(*Y.shape):
                if entry[mode] != row or not observed[entry]:
                    continue
                second, first = np.ones((rank, rank)), np.ones(rank)
                for other in range(3):
                    if other != mode:
                        mean = means[other][entry[other]]
                        second = second * (np.outer(mean, mean) + covariances[other][entry[other]])
                        first = first * mean
                precision = precision + tau * second
                linear = linear + tau * Y[entry] * first
            covariance = np.linalg.inv(precision)
            new_covariances.append(covariance)
            new_means.append(covariance @ linear)
        means[mode], covariances[mode] = np.array(new_means), np.array(new_covariances)
    return means, covariances


def literal_expected_error(Y: Array, observed: Array, means: Any, covariances: Any) -> float:
    total = 0.0
    for entry in np.ndindex(*Y.shape):
        if observed[entry]:
            first, second = np.ones(means[0].shape[1]), 1.0
            for mode in range(3):
                mean = means[mode][entry[mode]]
                first = first * mean
                second = second * (np.outer(mean, mean) + covariances[mode][entry[mode]])
            total += Y[entry] ** 2 - 2 * Y[entry] * first.sum() + np.sum(second)
    return float(total)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_sweep_is_the_published_one(missing: float) -> None:
    Y, observed, observations, q = small_problem(missing)
    q = sweep(observations, q)
    means, covariances = literal_sweep(Y, observed, q)
    updated = sweep(observations, q)
    # The scales of the components are spread anew over the modes, which their products forget.
    products = np.einsum("ir,jr,kr->ijkr", *means)
    np.testing.assert_allclose(
        np.einsum("ir,jr,kr->ijkr", *(factor.mean for factor in updated.factors)),
        products,
        rtol=1e-9,
        atol=1e-12,
    )
    for factor, mean, covariance in zip(updated.factors, means, covariances, strict=True):
        scale = factor.mean[0] / mean[0]
        np.testing.assert_allclose(factor.mean, mean * scale, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            per_row(factor)[1], covariance * np.outer(scale, scale), rtol=1e-9, atol=1e-12
        )
    error = literal_expected_error(Y, observed, means, covariances)
    assert updated.noise.shape == PRIOR + observed.sum() / 2
    assert float(updated.noise.rate) == pytest.approx(PRIOR + error / 2, rel=1e-9)
    squares = sum(
        np.sum(mean**2 + np.diagonal(covariance, axis1=1, axis2=2), axis=0)
        for mean, covariance in (per_row(factor) for factor in updated.factors)
    )
    np.testing.assert_allclose(updated.shrinkage.rate, PRIOR + squares / 2, rtol=1e-9)
    assert updated.shrinkage.shape == PRIOR + (7 + 4 + 3) / 2


def test_complete_data_are_the_case_of_nothing_missing() -> None:
    _, observed, observations, q = small_problem(missing=0.0)
    masked = Observations(observations.values, observed.reshape(7, -1), observations.unit)
    one, other = q, q
    for _ in range(5):
        one, other = sweep(observations, one), sweep(masked, other)
        assert lower_bound(observations, one) == pytest.approx(lower_bound(masked, other))
    for ours, theirs in zip(one.factors, other.factors, strict=True):
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-8)
        np.testing.assert_allclose(per_row(ours)[1], per_row(theirs)[1], rtol=1e-8)


# --------------------------------------------------------------------------------- the bound


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_bound_is_its_monte_carlo_mean(missing: float, monkeypatch: Any) -> None:
    """E_q[ln p(Y, A, λ, τ) − ln q], from SciPy's densities at draws from q."""
    # Draws under the published prior of 1e-6 would need the tails of its density.
    for module in ("row_posteriors", "variational_cp"):
        monkeypatch.setattr(f"tenvec.baselines.{module}.PRIOR", 0.5)
    Y, observed, observations, q = small_problem(missing)
    for _ in range(3):
        q = sweep(observations, q)
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(4000):
        lam = gamma.rvs(q.shrinkage.shape, scale=1 / q.shrinkage.rate, random_state=rng)
        tau = float(gamma.rvs(q.noise.shape, scale=1 / float(q.noise.rate), random_state=rng))
        total = float(np.sum(gamma.logpdf(lam, 0.5, scale=2)))
        total -= float(np.sum(gamma.logpdf(lam, q.shrinkage.shape, scale=1 / q.shrinkage.rate)))
        total += gamma.logpdf(tau, 0.5, scale=2)
        total -= gamma.logpdf(tau, q.noise.shape, scale=1 / float(q.noise.rate))
        sampled = []
        for mean, covariance in (per_row(factor) for factor in q.factors):
            roots = np.linalg.cholesky(covariance)
            noise = rng.standard_normal(mean.shape)
            rows = mean + np.einsum("drs,ds->dr", roots, noise)
            sampled.append(rows)
            total += np.sum(np.log(lam) / 2 - np.log(2 * np.pi) / 2 - lam * rows**2 / 2)
            log_roots = np.log(np.diagonal(roots, axis1=1, axis2=2))
            total -= np.sum(-np.log(2 * np.pi) / 2 - noise**2 / 2 - log_roots)
        residual = (Y - np.einsum("ir,jr,kr->ijk", *sampled))[observed]
        total += np.sum(np.log(tau / (2 * np.pi)) / 2 - tau * residual**2 / 2)
        draws.append(total)
    expected = np.mean(draws) - observed.sum() * np.log(observations.unit)
    uncertainty = np.std(draws) / np.sqrt(len(draws))
    assert uncertainty < 0.5
    assert abs(lower_bound(observations, q) - expected) < 4 * uncertainty


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("decibels", [0.0, 20.0, 60.0])
def test_the_bound_never_falls(missing: float, decibels: float) -> None:
    _, X, _, _ = planted(1, missing, size=12, rank=3, decibels=decibels)
    model = BayesianCP(12, max_iter=60, tol=0).fit(X)
    slack = 1e-12 * X.size * np.nanmean(X**2) / model.noise_variance_
    assert np.diff(model.lower_bounds_).min() > -max(slack, 1e-6)


def test_every_sweep_without_removals_raises_the_bound() -> None:
    _, X, _, _ = planted(2, 0.3, size=10, rank=3)
    observed = ~np.isnan(X).reshape(10, -1)
    values = np.where(observed, X.reshape(10, -1), 0.0)
    observations = Observations(values, observed, 1.0)
    rng = np.random.default_rng(0)
    q = start([rng.standard_normal((10, 6)) for _ in range(2)], 10, 1.0)
    bounds = []
    for _ in range(60):
        q = sweep(observations, q)
        bounds.append(lower_bound(observations, q))
    assert np.diff(bounds).min() > -1e-8


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_what_a_removal_gains_is_known_beforehand(missing: float) -> None:
    _, _, observations, q = small_problem(missing)
    for _ in range(4):
        q = sweep(observations, q)
    before = lower_bound(observations, q)
    for component, gain in enumerate(removal_gains(q)):
        rest = without(q, np.arange(3) != component)
        assert lower_bound(observations, rest) - before == pytest.approx(gain, rel=1e-8)
    assert lower_bound(observations, pruned(observations, q)) >= before


# ------------------------------------------------------------------------ rank and completion


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.6])
def test_the_planted_rank_is_found(missing: float) -> None:
    for seed in range(10):
        truth, X, hidden, deviation = planted(seed, missing)
        model = BayesianCP(30).fit(X)
        assert model.n_components_ == 5
        assert model.converged_
        assert np.all(np.diff(model.lower_bounds_) >= 0)
        assert np.sqrt(model.noise_variance_) == pytest.approx(deviation, rel=0.02)
        where = hidden if missing else np.ones_like(hidden)
        residual = (model.predict(X) - truth)[where]
        assert np.linalg.norm(residual) <= 0.03 * np.linalg.norm(truth[where])


@pytest.mark.parametrize("start_rank", [10, 60])
@pytest.mark.parametrize("init", ["svd", "normal"])
def test_the_rank_does_not_depend_on_the_start(start_rank: int, init: str) -> None:
    _, X, _, _ = planted(3, 0.3)
    assert BayesianCP(start_rank, init=init, random_state=0).fit(X).n_components_ == 5


def test_noise_alone_leaves_one_component_that_explains_nothing() -> None:
    X = np.random.default_rng(0).standard_normal((20, 10, 10))
    model = BayesianCP(10).fit(X)
    assert model.n_components_ == 1
    assert model.noise_variance_ == pytest.approx(1.0, rel=0.05)


def test_predictive_deviations_are_calibrated() -> None:
    inside, scores, signal = [], [], []
    for seed in range(4):
        truth, X, hidden, deviation = planted(seed, 0.6)
        model = BayesianCP(15).fit(X)
        means, deviations = model.predict(X, return_std=True)
        again = truth + deviation * np.random.default_rng(99 + seed).standard_normal(truth.shape)
        z = ((again - means) / deviations)[hidden]
        inside.append(np.mean(np.abs(z) < 1.96))
        scores.append(np.mean(z**2))
        # The noise dominates there; without it, the uncertainty of features and factors is left.
        own = np.sqrt(deviations**2 - model.noise_variance_)
        signal.append(np.mean(np.abs((truth - means) / own)[hidden] < 1.96))
    assert np.mean(inside) == pytest.approx(0.95, abs=0.005)
    assert np.mean(scores) == pytest.approx(1.0, abs=0.02)
    assert np.mean(signal) == pytest.approx(0.95, abs=0.03)


def test_deviations_grow_where_less_was_observed() -> None:
    _, X, _, _ = planted(0, 0.3, size=20, rank=3)
    X[:, 0, 1:] = np.nan
    model = BayesianCP(8).fit(X)
    _, deviations = model.predict(X, return_std=True)
    assert np.median(deviations[:, 0]) > 1.2 * np.median(deviations[:, 1:])


def test_entry_moments_are_those_of_draws() -> None:
    _, _, observations, q = small_problem()
    q = sweep(observations, q)
    rng = np.random.default_rng(0)
    draws = [
        np.stack(
            [
                multivariate_normal.rvs(mean, covariance, size=20000, random_state=rng)
                for mean, covariance in zip(*per_row(factor), strict=True)
            ],
            axis=1,
        )
        for factor in q.factors
    ]
    entries = np.einsum("nir,njr,nkr->nijk", *draws).reshape(20000, 7, -1)
    means, variances = entry_moments(q.sample, q.modes)
    errors = 5 * entries.std(axis=0) / np.sqrt(20000)
    assert np.all(np.abs(entries.mean(axis=0) - means) < errors)
    np.testing.assert_allclose(entries.var(axis=0), variances, rtol=0.15)


# ------------------------------------------------------------------------------- new samples


def test_new_samples_get_the_posterior_of_a_linear_model() -> None:
    _, X, _, _ = planted(0, 0.3, size=12, rank=2)
    model = BayesianCP(6).fit(X[:8])
    new = X[8:]
    means, covariances = model.posterior(new)
    np.testing.assert_array_equal(means, model.transform(new))
    for sample, mean, covariance in zip(new, means, covariances, strict=True):
        precision, linear = np.diag(model.feature_precision_), 0.0
        for j, k in np.ndindex(12, 12):
            if np.isnan(sample[j, k]):
                continue
            rows = [factor[d] for factor, d in zip(model.mode_factors_, (j, k), strict=True)]
            seconds = [
                np.outer(row, row) + spread[d]
                for row, spread, d in zip(rows, model.mode_covariances_, (j, k), strict=True)
            ]
            precision = precision + seconds[0] * seconds[1] / model.noise_variance_
            linear = linear + rows[0] * rows[1] * sample[j, k] / model.noise_variance_
        np.testing.assert_allclose(covariance, np.linalg.inv(precision), rtol=1e-8)
        np.testing.assert_allclose(mean, np.linalg.solve(precision, linear), rtol=1e-8)


def test_a_sample_of_which_nothing_is_known_gets_the_prior() -> None:
    _, X, _, _ = planted(0, 0.3, size=12, rank=2)
    model = BayesianCP(6).fit(X)
    means, covariances = model.posterior(np.full((1, 12, 12), np.nan))
    np.testing.assert_array_equal(means, 0)
    np.testing.assert_allclose(covariances[0], np.diag(1 / model.feature_precision_))


def test_imputation_fills_only_what_is_missing() -> None:
    _, X, hidden, _ = planted(0, 0.3, size=12, rank=2)
    model = BayesianCP(6).fit(X)
    filled, deviations = model.impute(X, return_std=True)
    np.testing.assert_array_equal(filled[~hidden], X[~hidden])
    np.testing.assert_array_equal(filled[hidden], model.predict(X)[hidden])
    np.testing.assert_array_equal(model.impute(X), filled)
    assert np.all(deviations[~hidden] == 0)
    assert np.all(deviations[hidden] >= np.sqrt(model.noise_variance_))
    assert model.impute(X.astype(np.float32)).dtype == np.float32


def test_the_best_of_several_starts_is_kept() -> None:
    _, X, _, _ = planted(0, 0.3, size=10, rank=3)
    settings: dict[str, Any] = {"init": "normal", "random_state": 0, "max_iter": 5, "tol": 0}
    several = BayesianCP(6, n_init=4, **settings).fit(X)
    assert several.lower_bound_ >= BayesianCP(6, **settings).fit(X).lower_bound_


def test_nothing_observed_is_an_error() -> None:
    with pytest.raises(ValueError, match="no observed entry"):
        BayesianCP(2).fit(np.full((4, 3, 3), np.nan))


def test_packing() -> None:
    vectors = np.random.default_rng(0).standard_normal((4, 3))
    outer = vectors[:, :, None] * vectors[:, None, :]
    np.testing.assert_array_equal(packed_products(vectors), packed(outer))
    np.testing.assert_array_equal(unpacked(packed(outer)), outer)

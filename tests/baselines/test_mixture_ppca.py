"""MixturePPCA: dense Gaussians, PPCA's closed form, planted mixtures, scikit-learn's rules."""

import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tenvec.baselines import mixture_ppca_em as em
from tenvec.baselines.mixture_ppca import MixturePPCA
from tests.literal import gaussian_log_density, gaussian_posterior, ppca_log_likelihood

Array = NDArray[np.float64]

SHAPE = (8, 7)
# A penalty too weak to be seen, so that what remains is the likelihood.
FAINT = (1e-15, 1e-15)


def plant(
    rng: np.random.Generator,
    n_mixtures: int = 3,
    n_components: int = 3,
    n_samples: int = 150,
    distance: float = 0.3,
    noise: float = 0.5,
    shape: tuple[int, ...] = SHAPE,
) -> tuple[Array, NDArray[np.int64], Array, Array]:
    """Samples, labels, means and loadings; loadings of variance 4 an entry, means much closer."""
    size = int(np.prod(shape))
    means = distance * rng.standard_normal((n_mixtures, size))
    loadings = 2 * rng.standard_normal((n_mixtures, n_components, size))
    labels = np.repeat(np.arange(n_mixtures), n_samples)
    h = rng.standard_normal((len(labels), n_components))
    X = means[labels] + np.einsum("mk,mkp->mp", h, loadings[labels])
    X += noise * rng.standard_normal(X.shape)
    return X.reshape(-1, *shape), labels, means, loadings


def random_mixture(rng: np.random.Generator, n_mixtures: int, k: int, size: int) -> em.Mixture:
    weights = rng.dirichlet(np.full(n_mixtures, 5.0))
    means, loadings = (
        rng.standard_normal((n_mixtures, size)),
        rng.standard_normal((n_mixtures, k, size)),
    )
    noise = rng.uniform(0.3, 2.0, n_mixtures)
    return em.Mixture(weights, means, loadings, noise, np.full(n_mixtures, k), size)


def squares(rows: Array) -> Array:
    return np.sum(rows**2, axis=1)


def densities(rows: Array, mixture: em.Mixture) -> Array:
    """log π_g + log N(x | μ_g, W_gᵀW_g + σ_g² I) with the covariance written out."""
    columns = [
        np.log(weight) + multivariate_normal(mean, w.T @ w + noise * np.eye(len(mean))).logpdf(rows)
        for weight, mean, w, noise in zip(
            mixture.weights, mixture.means, mixture.loadings, mixture.noise, strict=True
        )
    ]
    return np.column_stack(columns)


# ------------------------------------------------------------------ the steps of EM


@pytest.mark.parametrize("n_components", [1, 3, 5])
def test_expectation_is_that_of_dense_gaussians(n_components: int) -> None:
    rng = np.random.default_rng(0)
    mixture = random_mixture(rng, 3, n_components, 6)
    rows = 2 * rng.standard_normal((15, 6))
    passed = em.expectation(rows, squares(rows), mixture)
    joint = densities(rows, mixture)
    np.testing.assert_allclose(passed.joint, joint, rtol=1e-10)
    share = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(passed.responsibilities, share, rtol=1e-9)
    for g in range(3):
        for i, row in enumerate(rows):
            mean, covariance = gaussian_posterior(
                row - mixture.means[g], mixture.loadings[g], 1 / mixture.noise[g]
            )
            np.testing.assert_allclose(passed.posterior_means[g, i], mean, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(
            mixture.noise[g] * passed.inverses[g], covariance, rtol=1e-8, atol=1e-10
        )


def test_maximization_is_tipping_and_bishops() -> None:
    """Their update with the P × P covariance written out, and the expansion's K × K turn."""
    rng = np.random.default_rng(1)
    mixture = random_mixture(rng, 2, 2, 5)
    rows = 2 * rng.standard_normal((40, 5)) + 1
    passed = em.expectation(rows, squares(rows), mixture)
    share, (a, b) = passed.responsibilities, (0.7, 0.4)
    step = em.maximization(rows, squares(rows), passed, share, mixture, (a, b))
    for g in range(2):
        r = share[:, g]
        mean = r @ rows / r.sum()
        S = (rows - mean).T @ np.diag(r) @ (rows - mean) / r.sum()
        W, noise = mixture.loadings[g].T, mixture.noise[g]
        M_inverse = np.linalg.inv(noise * np.eye(2) + W.T @ W)
        plain = S @ W @ np.linalg.inv(noise * np.eye(2) + M_inverse @ W.T @ S @ W)
        # E[hhᵀ], averaged: the expansion moves it into the loadings.
        second = noise * M_inverse + M_inverse @ W.T @ S @ W @ M_inverse
        residual = np.trace(S - S @ W @ M_inverse @ plain.T)
        assert step.weights[g] == pytest.approx(r.mean())
        np.testing.assert_allclose(step.means[g], mean, rtol=1e-10)
        assert step.noise[g] == pytest.approx((r.sum() * residual + 2 * b) / (r.sum() * 5 + 2 * a))
        np.testing.assert_allclose(
            step.loadings[g].T @ step.loadings[g], plain @ second @ plain.T, rtol=1e-8, atol=1e-10
        )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_mixtures=st.integers(1, 4),
    n_components=st.integers(1, 6),
    size=st.integers(2, 12),
    unit=st.sampled_from([1e-6, 1.0, 255.0]),
)
@example(seed=3162, n_mixtures=4, n_components=3, size=4, unit=1.0)  # noise near its floor
def test_penalised_likelihood_never_falls(
    seed: int, n_mixtures: int, n_components: int, size: int, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    X = unit * (
        rng.standard_normal((40, size)) @ rng.standard_normal((size, size)) + rng.random(size)
    )
    model = MixturePPCA(n_components, n_mixtures=n_mixtures, max_iter=60, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X)
    path = model.objectives_
    assert np.isfinite(path).all()
    # Squared distances are differences of squares: their rounding counts in units of the noise.
    rounding = (
        np.finfo(float).eps * np.sum((X - X.mean(axis=0)) ** 2) / model.noise_variances_.min()
    )
    assert np.diff(path).min(initial=0.0) >= -max(1e-11 * np.abs(path).max(), rounding)


def test_likelihood_is_bounded_where_samples_repeat() -> None:
    X = np.repeat(np.random.default_rng(2).standard_normal((2, 6)), 10, axis=0)
    with pytest.warns(UserWarning, match="n_components=7 is more than"):
        model = MixturePPCA(7, n_mixtures=2, random_state=0).fit(X)
    assert np.isfinite(model.score(X))
    assert (model.noise_variances_ > 0).all()
    assert adjusted_rand_score(model.predict(X), np.arange(20) // 10) == 1.0


# ------------------------------------------------------------------ one component: PPCA


@pytest.mark.parametrize(("n_samples", "size"), [(60, 12), (15, 40)])
def test_one_component_is_ppca(n_samples: int, size: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_samples, size)) @ rng.standard_normal((size, size)) + 3
    model = MixturePPCA(4, n_mixtures=1, noise_prior=FAINT).fit(X)
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    values, vectors = values[::-1], vectors[:, ::-1]
    assert model.noise_variances_[0] == pytest.approx(values[4:].mean(), rel=1e-9)
    np.testing.assert_allclose(
        model.explained_variance_[0], values[:4] - values[4:].mean(), rtol=1e-8
    )
    span = vectors[:, :4] @ np.diag(model.explained_variance_[0]) @ vectors[:, :4].T
    np.testing.assert_allclose(
        model.components_[0].T @ model.components_[0], span, atol=1e-8 * values[0]
    )
    best = ppca_log_likelihood(values, 4, n_samples, size)
    assert model.score_samples(X).sum() == pytest.approx(best, rel=1e-9)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0), atol=1e-10)
    # The features are PPCA's posterior means.
    features = model.transform(X)
    assert features.shape == (n_samples, 4)
    for x, found in zip(X[:3], features, strict=False):
        mean, _ = gaussian_posterior(
            x - model.means_[0], model.components_[0], 1 / model.noise_variances_[0]
        )
        np.testing.assert_allclose(found, mean, rtol=1e-7, atol=1e-8)


def test_em_finds_the_closed_form_from_anywhere() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 10)) * np.linspace(4, 1, 10)
    X -= X.mean(axis=0)
    values = np.linalg.eigvalsh(X.T @ X / 80)
    for _ in range(3):
        found = em.iterate(X, random_mixture(rng, 1, 3, 10), FAINT, 2000, 1e-13)
        assert found.objectives[-1] == pytest.approx(
            ppca_log_likelihood(values, 3, 80, 10), rel=1e-8
        )


# ------------------------------------------------------------------ planted mixtures


@pytest.mark.parametrize("distance", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_planted_mixtures_are_recovered(seed: int, distance: float) -> None:
    """Even with one mean for all (distance 0), where the subspaces alone tell."""
    X, y, means, loadings = plant(np.random.default_rng(seed), distance=distance)
    model = MixturePPCA(3, n_mixtures=3, random_state=0).fit(X)
    found = model.predict(X)
    assert adjusted_rand_score(y, found) >= 0.98
    np.testing.assert_allclose(model.noise_variances_, 0.25, rtol=0.1)
    np.testing.assert_allclose(model.weights_, 1 / 3, atol=0.02)
    for g in range(3):
        truth = np.bincount(y[found == g]).argmax()
        covariance = loadings[truth].T @ loadings[truth]
        W = model.components_[g].reshape(3, -1)
        assert np.linalg.norm(W.T @ W - covariance) < 0.35 * np.linalg.norm(covariance)
        # The spans, of which the loadings' own sampling error says nothing.
        cosines = np.linalg.svd(
            np.linalg.qr(W.T)[0].T @ np.linalg.qr(loadings[truth].T)[0], compute_uv=False
        )
        assert cosines.min() > 0.99
        distance = np.linalg.norm(model.means_[g].ravel() - means[truth])
        assert distance < 0.5 * np.linalg.norm(loadings[truth])


def test_more_starts_find_more_probable_mixtures() -> None:
    X, _, _, _ = plant(np.random.default_rng(5), n_mixtures=4, distance=0.0)
    one = MixturePPCA(3, n_mixtures=4, n_init=1, random_state=0).fit(X)
    many = MixturePPCA(3, n_mixtures=4, n_init=5, random_state=0).fit(X)
    assert many.objectives_[-1] >= one.objectives_[-1]
    again = MixturePPCA(3, n_mixtures=4, n_init=5, random_state=0).fit(X)
    np.testing.assert_array_equal(many.components_, again.components_)


# ------------------------------------------------------------------ small components


def test_small_component_is_reduced_with_a_warning() -> None:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, 30))
    X[:8] += 40
    with pytest.warns(UserWarning, match=r"n_components=10 is more than .* component \d to 6\b"):
        model = MixturePPCA(10, n_mixtures=2, random_state=0).fit(X)
    assert sorted(model.latent_dimensions_.tolist()) == [6, 10]
    small = int(model.latent_dimensions_.argmin())
    assert (model.components_[small, 6:] == 0).all()
    features = model.transform(X)
    assert (features[:, 10 * small + 6 : 10 * small + 10] == 0).all()
    assert np.diff(model.objectives_).min(initial=0) >= -1e-8
    assert model.predict(X)[:8].tolist() == [small] * 8


def test_single_sample_makes_no_component() -> None:
    X = np.random.default_rng(7).standard_normal((30, 5))
    X[0] += 100
    with pytest.warns(UserWarning, match="1 of n_mixtures=2 components were left with less than"):
        model = MixturePPCA(2, n_mixtures=2, random_state=0).fit(X)
    assert model.n_mixtures_ == len(model.weights_) == 1
    assert model.transform(X).shape == (30, 2)


def test_component_that_shrinks_on_the_way_is_reduced() -> None:
    rng = np.random.default_rng(8)
    rows = np.concatenate([rng.standard_normal((50, 8)), rng.standard_normal((5, 8)) + 30])
    first = em.start(rows, np.repeat([0, 1], [30, 25]), 6, 8, FAINT)
    assert first.latent_dimensions.tolist() == [6, 6]
    found = em.iterate(rows, first, (1e-6, 1e-6), 200, 1e-9)
    sizes = em.expectation(rows, squares(rows), found.mixture).responsibilities.sum(axis=0)
    assert (found.mixture.latent_dimensions <= np.maximum(sizes - 1.9, 0)).all()
    assert found.mixture.latent_dimensions.min() < 6
    assert np.diff(found.objectives).min() >= -1e-8
    assert em.reduce(found.mixture, np.full(2, 50.0)) is None


# ------------------------------------------------------------------ invariances


def test_coordinates_in_the_samples_span_change_nothing() -> None:
    """Fewer samples than entries are fitted in coordinates of their span: the same path."""
    X, _, _, _ = plant(np.random.default_rng(9), n_mixtures=2, n_samples=20)
    rows = X.reshape(40, -1) - X.reshape(40, -1).mean(axis=0)
    model = MixturePPCA(3, n_mixtures=2, n_init=1, tol=0, max_iter=20, random_state=0).fit(X)
    labels = em.seed_by_subspaces(rows, 2, 3, np.random.RandomState(0))
    prior = (1e-6, 1e-6 * np.mean(rows**2))
    direct = em.iterate(rows, em.start(rows, labels, 3, 56, prior), prior, 20, 0.0)
    np.testing.assert_allclose(model.objectives_, direct.objectives, rtol=1e-9)


def test_unit_offset_and_order_do_not_matter() -> None:
    X, _, _, _ = plant(np.random.default_rng(10), distance=1.0)
    model = MixturePPCA(3, n_mixtures=3, random_state=0).fit(X)
    features, log_likelihood = model.transform(X), model.score(X)
    for unit in (1e-6, 255.0):
        scaled = MixturePPCA(3, n_mixtures=3, random_state=0).fit(unit * X + 3 * unit)
        np.testing.assert_allclose(
            scaled.transform(unit * X + 3 * unit), features, rtol=1e-4, atol=1e-4
        )
        assert scaled.score(unit * X + 3 * unit) + 56 * np.log(unit) == pytest.approx(
            log_likelihood, abs=1e-4
        )
    order = np.random.default_rng(0).permutation(len(X))
    turned = MixturePPCA(3, n_mixtures=3, random_state=0).fit(X[order].transpose(0, 2, 1))
    assert adjusted_rand_score(turned.predict(X.transpose(0, 2, 1)), model.predict(X)) == 1.0


# ------------------------------------------------------------------ the estimator


def test_new_samples() -> None:
    X, _, _, _ = plant(np.random.default_rng(11), n_mixtures=2, n_samples=100)
    model = MixturePPCA(3, n_mixtures=2, random_state=0).fit(X)
    new = plant(np.random.default_rng(12), n_mixtures=2, n_samples=4)[0]
    rows, means = new.reshape(8, -1), model.means_.reshape(2, -1)
    loadings = model.components_.reshape(2, 3, -1)
    dense = np.array(
        [
            [
                gaussian_log_density(row, means[g], loadings[g], 1 / model.noise_variances_[g])
                + np.log(model.weights_[g])
                for g in range(2)
            ]
            for row in rows
        ]
    )
    np.testing.assert_allclose(model.score_samples(new), np.logaddexp(*dense.T), rtol=1e-9)
    share = np.exp(dense - np.logaddexp(*dense.T)[:, None])
    np.testing.assert_allclose(model.predict_proba(new), share, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), dense.argmax(axis=1))
    assert model.score(new) == pytest.approx(model.score_samples(new).mean())

    # Features and what they rebuild: Σ_g r_g (μ_g + W_gᵀ E[h | g]).
    features = model.transform(new)
    assert features.shape == (8, 7)
    expected = np.zeros_like(rows)
    for i, row in enumerate(rows):
        for g in range(2):
            h, _ = gaussian_posterior(row - means[g], loadings[g], 1 / model.noise_variances_[g])
            np.testing.assert_allclose(
                features[i, 3 * g : 3 * g + 3], share[i, g] * h, rtol=1e-7, atol=1e-9
            )
            expected[i] += share[i, g] * (means[g] + h @ loadings[g])
    np.testing.assert_allclose(features[:, 6], share[:, 0], atol=1e-9)
    rebuilt = model.inverse_transform(features)
    assert rebuilt.shape == new.shape
    np.testing.assert_allclose(rebuilt.reshape(8, -1), expected, rtol=1e-7, atol=1e-8)


def test_components_are_canonical() -> None:
    X, _, _, _ = plant(np.random.default_rng(13))
    model = MixturePPCA(3, n_mixtures=3, random_state=0).fit(X)
    for g in range(3):
        W = model.components_[g].reshape(3, -1)
        np.testing.assert_allclose(W @ W.T, np.diag(model.explained_variance_[g]), atol=1e-8)
        assert (np.diff(model.explained_variance_[g]) <= 0).all()
        assert (W[np.arange(3), np.abs(W).argmax(axis=1)] > 0).all()
    assert model.components_.shape == (3, 3, *SHAPE)
    assert model.means_.shape == (3, *SHAPE)


def test_two_dimensional_input_single_precision_and_names() -> None:
    X, _, _, _ = plant(np.random.default_rng(14), n_mixtures=2)
    flat = X.reshape(len(X), -1)
    tensor = MixturePPCA(3, n_mixtures=2, random_state=0).fit(X)
    model = MixturePPCA(3, n_mixtures=2, sample_shape=SHAPE, random_state=0).fit(flat)
    assert model.sample_shape_ == SHAPE
    np.testing.assert_array_equal(model.transform(flat), tensor.transform(X))
    assert model.inverse_transform(model.transform(flat)).shape == flat.shape
    single = MixturePPCA(3, n_mixtures=2, random_state=0).fit(X.astype(np.float32))
    features = single.transform(X.astype(np.float32))
    assert features.dtype == np.float32
    assert single.score_samples(X.astype(np.float32)).dtype == np.float64
    assert single.inverse_transform(features).dtype == np.float32
    np.testing.assert_allclose(features, tensor.transform(X), atol=1e-3)
    frame = tensor.set_output(transform="pandas").transform(X)
    assert list(frame.columns[:2]) == ["mixtureppca0", "mixtureppca1"]
    assert frame.shape == (300, 7)


def test_fitted_state_tells_how_it_went() -> None:
    X, _, _, _ = plant(np.random.default_rng(15))
    before = X.copy()
    model = MixturePPCA(3, n_mixtures=3, random_state=0).fit(X)
    np.testing.assert_array_equal(X, before)
    assert model.converged_
    assert model.n_iter_ == len(model.objectives_)
    assert model.stop_reason_.startswith("converged: ")
    with pytest.warns(ConvergenceWarning, match="MixturePPCA reached max_iter=1"):
        brief = MixturePPCA(3, n_mixtures=3, max_iter=1, random_state=0).fit(X)
    assert not brief.converged_
    exact = MixturePPCA(3, n_mixtures=3, max_iter=4, tol=0, random_state=0).fit(X)
    assert exact.n_iter_ == 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"n_components": 2.5}, "n_components must be an integer"),
        ({"n_mixtures": 0}, "n_mixtures must be at least 1"),
        ({"n_mixtures": 31}, "n_samples=30, but MixturePPCA needs at least 31"),
        ({"noise_prior": 1.0}, "noise_prior must be a pair"),
        ({"noise_prior": (1.0, 0.0)}, "b of noise_prior must be finite and at least"),
        ({"noise_prior": (-1.0, 1.0)}, "a of noise_prior must be"),
        ({"tol": -1}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"n_init": 0}, "n_init must be at least 1"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    X = np.random.default_rng(16).standard_normal((30, 10))
    with pytest.raises(ValueError, match=message):
        MixturePPCA(**{"n_components": 2, **parameters}).fit(X)


def test_use_errors() -> None:
    X = plant(np.random.default_rng(17), 2, 2, shape=(4, 3))[0]
    with pytest.raises(NotFittedError):
        MixturePPCA().predict(X)
    model = MixturePPCA(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="5 features a sample are expected"):
        model.inverse_transform(np.ones((2, 4)))
    with pytest.raises(ValueError, match="X contains NaN or infinite"):
        model.transform(np.where(np.arange(3) == 1, np.nan, X))
    with pytest.raises(ValueError, match=r"shape \(4, 3\) is expected"):
        model.score_samples(X.transpose(0, 2, 1))


@pytest.mark.filterwarnings("ignore:.* features are zero:UserWarning")
@pytest.mark.filterwarnings("ignore:.* components were left:UserWarning")
@parametrize_with_checks(
    [MixturePPCA(1, random_state=0), MixturePPCA(3, n_mixtures=3, n_init=2, random_state=0)]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_were_run() -> None:
    results = check_estimator(MixturePPCA(random_state=0), on_skip=None)
    status = Counter(result["status"] for result in results)
    assert status["passed"] >= 46
    assert status["skipped"] <= 1  # array API input, which needs SCIPY_ARRAY_API
    assert not status["xfail"]

"""Samples of any order and size, any type and layout: properties that hold for all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenvec import TBVDR
from tests.literal import gaussian_log_density, gaussian_posterior

DTYPES = ["float64", "float32", "float16", "int64", "uint8", "int8", "bool"]


@st.composite
def samples(draw):
    """A few samples of one to six modes, sizes from one, in any type and memory layout."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=6)))
    n_samples = draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    X = (rng.standard_normal((n_samples, *shape)) * 20).astype(draw(st.sampled_from(DTYPES)))
    layout = draw(st.sampled_from(["C", "F", "reversed", "strided", "read-only"]))
    if layout == "F":
        X = np.asfortranarray(X)
    elif layout == "reversed":
        X = X[::-1]
    elif layout == "strided":
        X = np.repeat(X, 2, axis=0)[::2]
    elif layout == "read-only":
        X.setflags(write=False)
    return X


# Degenerate data end in a refusal that is tested elsewhere, or in warnings that count.
@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    X=samples(),
    k=st.integers(1, 7),
    rank=st.integers(1, 9),
    algorithm=st.sampled_from(["px-em", "em"]),
    center=st.booleans(),
    whiten=st.sampled_from([1.0, 0.6, 0.0]),
)
def test_a_fit_of_any_size(X, k, rank, algorithm, center, whiten):
    raw = X.astype(np.float64)
    varying = raw - raw.mean(0) if center else raw
    model = TBVDR(
        k,
        rank=rank,
        algorithm=algorithm,
        init="normal",
        center=center,
        whiten=whiten,
        noise_prior=(1.0, 1.0),
        max_iter=8,
        tol=0,
        random_state=0,
    )
    before = X.copy()
    if not np.any(varying):
        with pytest.raises(ValueError, match=r"nothing left|zero everywhere"):
            model.fit(X)
        return
    features = model.fit_transform(X)
    assert np.array_equal(X, before)

    single = X.dtype in (np.float16, np.float32)
    close = {"rtol": 2e-3, "atol": 2e-3} if single else {"rtol": 1e-8, "atol": 1e-8}
    assert features.dtype == (np.float32 if single else np.float64)
    assert features.shape == (len(X), k)
    assert [factor.shape for factor in model.mode_factors_] == [(d, rank) for d in X.shape[1:]]
    assert model.component_factor_.shape == (k, rank)
    np.testing.assert_array_equal(features, model.transform(X))

    # The model is the Gaussian that it says it is.
    flat = raw.reshape(len(X), -1)
    basis = model.components_.reshape(k, -1)
    precision = 1 / model.noise_variance_
    scale = model.explained_variance_ ** ((1 - whiten) / 2)
    mean, covariance = gaussian_posterior(flat[0] - model.mean_.reshape(-1), basis, precision)
    means, covariances = model.posterior(X)
    np.testing.assert_allclose(means[0], mean * scale, **close)
    np.testing.assert_allclose(covariances[0], covariance * np.outer(scale, scale), **close)
    expected = gaussian_log_density(flat[0], model.mean_.reshape(-1), basis, precision)
    np.testing.assert_allclose(model.score_samples(X)[0], expected, rtol=1e-7)
    rebuilt = model.inverse_transform(features)
    assert rebuilt.shape == X.shape
    np.testing.assert_allclose(rebuilt[0].reshape(-1), mean @ basis + model.mean_.reshape(-1),
                               **(close | {"atol": 1e-2 if single else 1e-7}))  # fmt: skip

    # Flattened, the samples say the same.
    same = model.transform(flat.astype(X.dtype))
    np.testing.assert_allclose(same, features, **close)
    assert np.all(np.isfinite(model.lower_bounds_))
    eps = np.finfo(np.float32 if X.dtype == np.float32 else np.float64).eps
    rounding = 4 * eps * np.sum(varying**2) / model.noise_variance_
    # And a little more: rank-one terms may be larger than the data, and cancel.
    assert np.min(np.diff(model.lower_bounds_), initial=0) >= -rounding - 1e-6


@pytest.mark.filterwarnings("ignore:.*features are zero:UserWarning")
@pytest.mark.parametrize("algorithm", ["px-em", "em"])
@pytest.mark.parametrize("n_samples", [2, 5, 40])
@pytest.mark.parametrize("rank", [1, 6, 20])
@pytest.mark.parametrize("k", [1, 6, 20])
def test_features_fewer_and_more_than_rank_entries_and_samples(k, rank, n_samples, algorithm):
    """K below, at and above each of R, P = 6 and M."""
    X = np.random.default_rng(0).standard_normal((n_samples, 3, 2))
    model = TBVDR(
        k, rank=rank, algorithm=algorithm, noise_prior=(1.0, 1.0), max_iter=20, tol=0
    ).fit(X)
    features = model.transform(X)
    carried = min(k, rank, 6)
    assert features.shape == (n_samples, k)
    assert np.all(features[:, carried:] == 0)
    assert np.all(model.explained_variance_[carried:] == 0)
    assert np.all(np.diff(model.lower_bounds_) >= -1e-9 * np.abs(model.lower_bounds_[:-1]))
    # What is left out is in no reconstruction, and the prior in every posterior.
    np.testing.assert_allclose(np.diagonal(model.posterior(X)[1][0])[carried:], 1)

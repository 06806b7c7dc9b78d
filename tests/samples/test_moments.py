"""Every way to the moments gives the same moments: blocks, folding, compression, memory maps."""

import numpy as np
import pytest

from tenvec import TBVDR
from tenvec.learning.evidence import NoisePrior
from tenvec.learning.initialization import START_PRECISION, start
from tenvec.learning.iteration import ParameterExpandedEM, iterate
from tenvec.learning.parameters import Parameters
from tenvec.samples import blocks as blocks_module
from tenvec.samples.array import ArraySamples
from tenvec.samples.compression import compress, compression_pays
from tenvec.samples.normalization import measure


def data(n_samples=300, shape=(6, 5), offset=2.0, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_samples, 4))
    basis = rng.standard_normal((4, *shape))
    noise = rng.standard_normal((n_samples, *shape))
    return np.tensordot(features, basis, 1) + 0.3 * noise + offset


def dense_moments(X, projection, *, center=True, scale=None):
    flat = X.reshape(len(X), -1).astype(np.float64)
    flat = flat - flat.mean(0) if center else flat
    if scale is not None:
        flat = flat / np.broadcast_to(scale, X.shape[1:]).reshape(-1)
    flat = flat / np.sqrt(np.mean(flat**2))
    features = flat @ projection
    return features.T @ flat, features.T @ features


def relative(actual, expected):
    return np.abs(actual - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale_axes", [None, (1,), (0, 1)])
@pytest.mark.parametrize("rows", [1, 7, 64, 299, 300, 1000])
def test_any_block_size_gives_the_same_moments(rows, scale_axes, center):
    X = data() * [1.0, 5.0, 0.1, 20.0, 3.0]
    normalization = measure(X, center=center, scale_axes=scale_axes)
    projection = np.random.default_rng(1).standard_normal((30, 3))
    samples = ArraySamples(X, normalization, rows=rows)
    expected = dense_moments(X, projection, center=center, scale=normalization.scale)
    for actual, dense in zip(samples.moments(projection), expected, strict=True):
        assert relative(actual, dense) < 1e-12


@pytest.mark.parametrize("offset", [0.0, 10.0, 1e6])
def test_compressed_moments_are_the_datas(offset):
    X = data(offset=offset)
    normalization = measure(X, center=True, scale_axes=None)
    projection = np.random.default_rng(1).standard_normal((30, 3))
    compressed = compress(ArraySamples(X, normalization))
    expected = dense_moments(X - offset, projection)
    tolerance = 1e-12 if offset < 1e3 else 1e-9  # the data themselves have lost these digits
    for actual, dense in zip(compressed.moments(projection), expected, strict=True):
        assert relative(actual, dense) < tolerance
    streamed = ArraySamples(X, normalization)
    for actual, dense in zip(streamed.moments(projection), expected, strict=True):
        assert relative(actual, dense) < tolerance


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(24,), (6, 5), (4, 3, 2)])
def test_compressed_and_streamed_fits_agree_after_50_passes(shape, center):
    X = data(shape=shape)
    normalization = measure(X, center=center, scale_axes=None)
    streamed = ArraySamples(X, normalization, rows=70)
    factors, wh = start(streamed, 4, 8, "svd", 0, unit=normalization.unit, raw_unit=None)
    results = [
        iterate(
            samples,
            Parameters(factors, wh, START_PRECISION),
            ParameterExpandedEM(NoisePrior(1e-6, 1e-6), tol=0, n_sweeps=10),
            max_iter=50,
        )
        for samples in (streamed, compress(streamed))
    ]
    one, two = results
    np.testing.assert_allclose(one.bounds, two.bounds, rtol=1e-10)
    np.testing.assert_allclose(one.scores, two.scores, rtol=1e-10)
    assert relative(two.parameters.basis(), one.parameters.basis()) < 1e-10


def test_the_estimator_takes_the_cheaper_way_and_both_agree(monkeypatch):
    X = data()
    assert compression_pays(300, 30, 4, 200)
    compressed = TBVDR(4, tol=0, max_iter=50).fit(X)
    monkeypatch.setattr("tenvec.fitting.compression_pays", lambda *_: False)
    streamed = TBVDR(4, tol=0, max_iter=50).fit(X)
    np.testing.assert_allclose(compressed.lower_bounds_, streamed.lower_bounds_, rtol=1e-10)
    np.testing.assert_allclose(compressed.transform(X), streamed.transform(X), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_mean_far_above_the_deviations_costs_no_digits(dtype):
    X = data(seed=2)
    X = X.astype(np.float32).astype(np.float64)
    far = (X + 4096.0).astype(dtype)
    if dtype == np.float32:
        X = far.astype(np.float64) - 4096.0  # what float32 could hold
    near_model, far_model = (TBVDR(3, tol=0, max_iter=30).fit(x) for x in (X, far))
    tolerance = 1e-8 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(far_model.transform(far), near_model.transform(X), atol=tolerance)
    np.testing.assert_allclose(far_model.noise_variance_, near_model.noise_variance_, rtol=1e-4)


@pytest.mark.parametrize("rows", [64, 4096])
def test_float32_loses_only_its_own_digits(rows, monkeypatch):
    monkeypatch.setattr(blocks_module, "block_rows", lambda *_, **__: rows)
    X = data(n_samples=5000, shape=(5, 4))
    single = TBVDR(4, max_iter=30, tol=0).fit(X.astype(np.float32))
    double = TBVDR(4, max_iter=30, tol=0).fit(X)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.transform(X), double.transform(X), atol=2e-4)
    np.testing.assert_allclose(single.noise_variance_, double.noise_variance_, rtol=1e-4)
    np.testing.assert_allclose(single.score(X), double.score(X), rtol=1e-5)


def test_a_memory_map_is_fitted_as_memory_is(tmp_path):
    X = data()
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    one, two = TBVDR(4).fit(X), TBVDR(4).fit(mapped)
    assert np.array_equal(one.transform(X), two.transform(mapped))
    assert np.array_equal(one.lower_bounds_, two.lower_bounds_)


def test_second_moments_are_never_larger_than_the_data():
    assert not compression_pays(1000, 1001, 500, 200)
    assert not compression_pays(10**6, 10**5, 50, 200)
    # One pass over the data does not repay them.
    assert not compression_pays(2000, 1500, 5, 1)

"""CP against planted factors, least squares written out, and tensorly."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from tensorly.decomposition import parafac

import tenvec.baselines.cp
from tenvec.baselines import CP
from tenvec.kruskal import mode_products

IMAGES = load_digits().images[:300]
SHARED = Path(__file__).parents[2].parent / "shared" / "data"
DATA = Path(os.environ.get("TENVEC_DATA") or SHARED)


def planted(
    shape: tuple[int, ...], rank: int, noise: float = 0.0, seed: int = 0
) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((size, rank)) for size in shape]
    X = np.zeros(shape)
    for r in range(rank):
        term = factors[0][:, r]
        for factor in factors[1:]:
            term = np.multiply.outer(term, factor[:, r])
        X = X + term
    return X + noise * rng.standard_normal(shape), factors


def test_mode_products_are_those_of_unfoldings() -> None:
    rng = np.random.default_rng(0)
    stack = rng.standard_normal((3, 4, 5, 6))
    factors = [rng.standard_normal((size, 3)) for size in (4, 5, 6)]
    renewed = [rng.standard_normal((size, 3)) for size in (4, 5, 6)]
    subscripts = ["rjkl,kr,lr->jr", "rjkl,jr,lr->kr", "rjkl,jr,kr->lr"]
    current = list(factors)
    for mode, product in mode_products(stack.reshape(3, -1), current):
        others = [current[other] for other in range(3) if other != mode]
        np.testing.assert_allclose(product, np.einsum(subscripts[mode], stack, *others))
        current[mode] = renewed[mode]


@pytest.mark.parametrize("shape", [(40, 7, 6), (25, 6, 5, 4)])
def test_planted_factors_are_found(shape: tuple[int, ...]) -> None:
    X, factors = planted(shape, rank=3)
    model = CP(3, tol=1e-9, max_iter=1000).fit(X)
    assert model.errors_[-1] < 1e-5
    congruence = np.ones((3, 3))
    for ours, theirs in zip(model.mode_factors_, factors[1:], strict=True):
        congruence *= ours.T @ (theirs / np.linalg.norm(theirs, axis=0))
    matched = np.abs(congruence).max(axis=1)
    np.testing.assert_allclose(matched, 1.0, atol=1e-6)
    order = np.abs(congruence).argmax(axis=1)
    assert sorted(order) == [0, 1, 2]
    new = np.random.default_rng(5).standard_normal((10, 3))
    samples = np.einsum("ir,rp->ip", new, model.components_.reshape(3, -1))
    np.testing.assert_allclose(model.transform(samples), new, atol=1e-8)


def test_new_samples_get_least_squares_weights() -> None:
    model = CP(8).fit(IMAGES[:200])
    basis = model.components_.reshape(8, -1)
    expected = np.linalg.lstsq(basis.T, IMAGES[200:].reshape(100, -1).T, rcond=None)[0].T
    np.testing.assert_allclose(model.transform(IMAGES[200:]), expected, atol=1e-6)


@pytest.mark.parametrize("init", ["svd", "normal", "uniform"])
@pytest.mark.parametrize("n_sweeps", [1, 5])
def test_errors_never_rise_and_are_those_of_the_reconstruction(init: str, n_sweeps: int) -> None:
    model = CP(10, init=init, n_sweeps=n_sweeps, max_iter=40, tol=0, random_state=0).fit(IMAGES)
    assert np.all(np.diff(model.errors_) <= 1e-9)
    residual = model.inverse_transform(model.transform(IMAGES)) - IMAGES
    error = np.linalg.norm(residual) / np.linalg.norm(IMAGES)
    # The features are solved for once more with the last factors.
    assert model.errors_[-1] - 1e-3 < error <= model.errors_[-1] + 1e-9


def test_passes_over_second_moments_equal_passes_over_the_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits = []
    for compressed in (True, False):
        monkeypatch.setattr(tenvec.baselines.cp, "compression_pays", lambda *_, p=compressed: p)
        fits.append(CP(6, max_iter=15, tol=0).fit(IMAGES))
    np.testing.assert_allclose(fits[0].errors_, fits[1].errors_, atol=1e-9)
    np.testing.assert_allclose(fits[0].weights_, fits[1].weights_, rtol=1e-6)


def test_more_columns_than_the_data_carry() -> None:
    X, _ = planted((6, 3, 2), rank=2)
    model = CP(12, max_iter=30, tol=0).fit(X)
    assert np.all(np.isfinite(model.transform(X)))
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-4)


def test_the_best_of_several_starts_is_kept() -> None:
    X, _ = planted((30, 6, 5), rank=4, noise=0.1)
    settings = {"max_iter": 10, "tol": 0, "init": "normal", "random_state": 3}
    several = CP(4, n_init=5, **settings).fit(X)
    assert several.errors_[-1] <= CP(4, n_init=1, **settings).fit(X).errors_[-1]


def test_cp_tensor_of_features() -> None:
    model = CP(4).fit(IMAGES)
    features = model.transform(IMAGES)
    weights, factors = model.to_cp(features)
    full = np.einsum("r,ir,jr,kr->ijk", weights, *factors)
    np.testing.assert_allclose(full, model.inverse_transform(features), atol=1e-10)


def faces(path: str, count: int) -> np.ndarray:
    pixels = scipy.io.loadmat(DATA / path)["fea"]
    chosen = pixels[:: len(pixels) // count][:count]
    return np.asarray(chosen, float).reshape(-1, 32, 32).transpose(0, 2, 1)


def sensors(path: str, count: int) -> np.ndarray:
    readings = scipy.io.loadmat(DATA / path)["T"][:, :, :count]
    return np.ascontiguousarray(readings.transpose(2, 0, 1))


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("read", "path", "rank"),
    [
        (faces, "extended_yale_b/YaleB_32x32.mat", 15),
        (faces, "feret/FERET_32x32.mat", 15),
        (sensors, "berkeley/sensor.mat", 8),
    ],
)
def test_the_fit_is_tensorlys_best_of_five(read: object, path: str, rank: int) -> None:
    if not (DATA / path).exists():
        pytest.skip(f"{path} is not in the folder of real data sets")
    X = read(path, 200)  # type: ignore[operator]
    theirs = []
    for seed in range(5):
        _, errors = parafac(
            X, rank, init="random", random_state=seed, n_iter_max=100, return_errors=True
        )
        theirs.append(float(errors[-1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CP(rank).fit(X)
    assert model.errors_[-1] <= min(theirs) + 1e-3

"""The bound never falls, whatever the sizes, the noise, the dtype and the algorithm."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tenvec import TBVDR
from tenvec.learning import iteration
from tenvec.learning.iteration import ParameterExpandedEM
from tenvec.paper import SETTINGS
from tests.literal import plant

# (sample shape, K, R, M): orders 1 to 4, then R > P, R > K on vectors, M < K, sizes of one.
SIZES = [
    ((6,), 3, 3, 20),
    ((5, 4), 3, 4, 20),
    ((4, 3, 3), 2, 5, 15),
    ((3, 2, 3, 2), 3, 4, 15),
    ((3, 2), 3, 9, 12),
    ((5,), 2, 7, 12),
    ((4, 4), 7, 8, 5),
    ((1, 5, 1), 4, 2, 4),
]


def falls_beyond_rounding(model, samples):
    """Largest fall of the bound, in units of what rounding may cost."""
    centred = samples - model.mean_ if model.center else samples
    squares = float(np.sum(centred.astype(np.float64) ** 2))
    eps = np.finfo(samples.dtype).eps
    # 4 eps · MP · ‖Y‖² / ψ, with ψ = MP / ρ̄
    allowed = 4 * eps * squares / model.noise_variance_ + 1e-9
    return -np.min(np.diff(model.lower_bounds_), initial=0.0) / allowed


@pytest.mark.parametrize("algorithm", ["px-em", "em"])
@pytest.mark.parametrize("seed", range(50))
def test_the_bound_never_falls(seed, algorithm, monkeypatch):
    steps = []
    finished = iteration.finished

    def noted(samples, update):
        steps.append(finished(samples, update))
        return steps[-1]

    monkeypatch.setattr(iteration, "finished", noted)
    rng = np.random.default_rng(seed)
    snr = (0.1, 3, 30, 300)[seed % 4]
    dtype = (np.float64, np.float32)[seed // 4 % 2]
    for shape, k, rank, n_samples in SIZES:
        samples = plant(rng, n_samples, shape, k, rank, snr).samples
        if seed % 7 == 0:
            samples = samples + 9 * samples.std()  # a mean that centring has to take out
        samples = samples.astype(dtype)
        model = TBVDR(
            k,
            rank=rank,
            algorithm=algorithm,
            init=("svd", "normal", "uniform")[seed % 3],
            center=bool(seed % 5),
            n_sweeps=(10, 1)[seed // 8 % 2],
            max_iter=40,
            tol=0,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # Some of these sizes have more features than the basis carries.
            warnings.simplefilter("ignore", UserWarning)
            model.fit(samples)
        assert np.all(np.isfinite(model.lower_bounds_))
        if model.n_iter_ < 40:
            # It may end early where it stands still, and nowhere else: a fall of the bound ends
            # the fit, so an early end could hide one.
            assert model.n_iter_ >= 10
            assert "from rounding" in model.stop_reason_
            # The step that was refused fell by little more than rounding explains.
            *_, before, refused = steps
            still = max(1e-12 * samples.size * max(1, snr) ** 2, 16 * before.rounding)
            assert np.ptp(model.lower_bounds_[-3:]) < still
            assert before.bound - refused.bound <= 4 * max(before.rounding, refused.rounding)
        assert falls_beyond_rounding(model, samples) <= 1, (shape, k, rank, n_samples, snr)


@pytest.mark.parametrize("algorithm", ["px-em", "em"])
def test_two_samples_leave_no_noise_and_it_says_so(algorithm):
    """Centred, they span one dimension: the noise falls until rounding ends the fit."""
    samples = np.random.default_rng(0).standard_normal((2, 1, 5, 1)) * 300
    model = TBVDR(4, rank=4, algorithm=algorithm, noise_prior=(0, 0), tol=0, max_iter=200)
    with pytest.warns(UserWarning, match="cannot be told from rounding"):
        model.fit(samples)
    assert np.all(np.isfinite(model.lower_bounds_))
    assert np.all(np.isfinite(model.transform(samples)))
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(samples)), samples, rtol=1e-5
    )


def test_a_step_that_lowers_the_bound_is_seen(monkeypatch):
    """The driver ends a fit at a fall; it must not pass for a fit that stands still."""
    update = ParameterExpandedEM.update

    def worse(self, samples, parameters):
        done = update(self, samples, parameters)
        spoiled = replace(done.parameters, precision=done.parameters.precision * 0.3)
        return replace(done, parameters=spoiled)

    monkeypatch.setattr(ParameterExpandedEM, "update", worse)
    with pytest.raises(AssertionError):
        test_the_bound_never_falls(1, "px-em", monkeypatch)


def test_the_check_can_fail():
    rng = np.random.default_rng(0)
    samples = plant(rng, 20, (5, 4), 3, 4, 3.0).samples
    model = TBVDR(3, rank=4, tol=0, max_iter=5).fit(samples)
    model.lower_bounds_ = model.lower_bounds_[::-1]
    assert falls_beyond_rounding(model, samples) > 1


def steep_images(rng, n_samples, side):
    """Smooth images: the spectrum of their covariance falls over many orders of magnitude."""
    frequencies = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side)))
    frequencies[0, 0] = 1 / side
    noise = np.fft.fft2(rng.standard_normal((n_samples, side, side)))
    return np.fft.ifft2(noise / frequencies**2).real


def test_the_default_start_loses_no_features_in_float32():
    """Uncentred digits: squared, as the start sees them, variances span seven digits."""
    X = load_digits().images
    double, single = (TBVDR(40, center=False).fit(X.astype(dtype)) for dtype in ("f8", "f4"))
    assert np.all(single.explained_variance_ > 0)
    np.testing.assert_allclose(single.lower_bound_, double.lower_bound_, rtol=1e-3)


def test_second_moments_that_rounding_makes_indefinite():
    """The paper's recipe on single-precision images in raw units, features to spare."""
    X = steep_images(np.random.default_rng(0), 30, 16)
    X = ((X - X.min()) / np.ptp(X) * 65535).astype(np.float32)
    model = TBVDR(50, **SETTINGS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X)
    assert model.reconstruction_scores_[-1] > 0.9
    assert np.all(np.isfinite(model.transform(X)))

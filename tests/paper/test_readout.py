"""Scalings of features, the leave-one-out rate, and the choice between them."""

import numpy as np
import pytest

from tenvec import TBVDR
from tenvec.paper.methods import METHODS, PX_EM, PX_EM_WIDE, RECIPE, Problem
from tenvec.paper.readout import (
    READOUTS,
    Readout,
    choose,
    leave_one_out_accuracy,
    leave_one_out_rates,
    recognition_rates,
)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).uniform(0, 255, (60, 32, 32))


def test_scaled_posterior_means_are_those_of_a_model_with_that_whiten(images):
    model = TBVDR(6, rank=6, center=False, whiten=1.0, max_iter=5, tol=0).fit(images)
    for whiten in (0.8, 0.3, 0.0):
        other = TBVDR(6, rank=6, center=False, whiten=whiten, max_iter=5, tol=0).fit(images)
        scaled = Readout(whiten, "cosine").scaled(
            model.transform(images), model.explained_variance_
        )
        np.testing.assert_allclose(scaled, other.transform(images), rtol=1e-8)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_leave_one_out_by_brute_force(metric):
    rng = np.random.default_rng(1)
    features, labels = rng.standard_normal((25, 3)), rng.integers(0, 3, 25)
    right = 0
    for i, own in enumerate(features):
        distances = []
        for j, other in enumerate(features):
            if metric == "euclidean":
                distance = np.sum((own - other) ** 2)
            else:
                distance = -own @ other / np.sqrt(own @ own * (other @ other))
            distances.append(np.inf if i == j else distance)
        right += labels[int(np.argmin(distances))] == labels[i]
    assert leave_one_out_accuracy(features, labels, metric) == right / 25


def test_methods_without_variances_have_two_rates():
    features, labels = np.eye(3), np.arange(3)
    rates = recognition_rates(features, labels, features, labels, None)
    assert rates == {"rate_euclidean_1": 1.0, "rate_cosine_1": 1.0}
    assert len(recognition_rates(features, labels, features, labels, np.ones(3))) == len(READOUTS)


def made_up(method, size, best):
    """A row whose leave-one-out rates are highest at ``best``, and test rates elsewhere."""
    loo = {readout.column("loo"): 0.9 if readout == best else 0.5 for readout in READOUTS}
    rates = {readout.column("rate"): float(readout.whiten == 0.0) for readout in READOUTS}
    return {"dataset": "ar", "size": size, "method": method, **loo, **rates}


def test_the_choice_rests_on_training_samples_only():
    best = Readout(0.6, "cosine")
    rows = [made_up(PX_EM, 30, best), made_up(PX_EM_WIDE, 30, Readout(0.2, "euclidean"))]
    rows += [made_up(PX_EM, 50, best), made_up(PX_EM_WIDE, 50, Readout(0.0, "euclidean"))]
    choice = choose(rows, (PX_EM, PX_EM_WIDE))
    assert (choice.method, choice.readout) == (PX_EM, best)
    assert choice.rates[PX_EM, best] == pytest.approx(0.9)
    assert choice.rates[PX_EM_WIDE, Readout(0.2, "euclidean")] == pytest.approx(0.7)
    assert choice.sets == ("ar 30", "ar 50")
    # A training set that one of the methods lacks does not count for the other.
    assert choose([*rows, made_up(PX_EM, 70, best)], (PX_EM, PX_EM_WIDE)) == choice


def test_there_is_no_choice_without_its_rows():
    rows = [{"dataset": "ar", "size": 30, "method": PX_EM, READOUTS[0].column("loo"): ""}]
    assert choose(rows, (PX_EM, PX_EM_WIDE)) is None
    assert choose([made_up(PX_EM, 30, READOUTS[0])], (PX_EM, PX_EM_WIDE)) is None


def test_leave_one_out_rates_have_a_column_each():
    rates = leave_one_out_rates(np.eye(4) + 1, np.array([0, 0, 1, 1]), np.ones(4))
    assert list(rates) == [readout.column("loo") for readout in READOUTS]


@pytest.mark.filterwarnings("ignore:.*onverged:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_and_says_its_size(name, images):
    fitted = METHODS[name](images[:40], Problem("feret", 30, 50, seed=3))
    features = fitted.transform(images[40:])
    assert features.shape[0] == 20
    assert np.isfinite(features).all()
    assert fitted.parameters > 0
    if fitted.variance is not None:
        assert fitted.variance.shape == features.shape[1:]
    if name in (RECIPE, PX_EM):
        assert fitted.parameters == 50 * (32 + 32 + 50)


def test_uncentred_svd_is_read_back_exactly_at_whiten_zero(images):
    """Its features are then coordinates in an orthonormal basis of the training samples."""
    train = images[:40]
    fitted = METHODS["uncentred SVD"](train, Problem("feret", 30, 50, seed=0))
    features = Readout(0.0, "euclidean").scaled(fitted.transform(train), fitted.variance)
    rows = train.reshape(40, -1)
    np.testing.assert_allclose(features @ features.T, rows @ rows.T, rtol=1e-9)

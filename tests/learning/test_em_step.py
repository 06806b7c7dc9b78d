"""One pass of ``algorithm="em"`` against a literal transcription of the paper's equations."""

import numpy as np
import pytest

from tenvec import TBVDR
from tenvec.learning.evidence import NoisePrior
from tenvec.learning.expectation import expectation
from tenvec.learning.iteration import VariationalEM, finished
from tenvec.learning.parameters import Parameters
from tenvec.samples.array import ArraySamples
from tenvec.samples.compression import compress
from tenvec.samples.normalization import Normalization
from tests.literal import bound, paper_step

SHAPES = [(6,), (5, 4), (4, 3, 3), (3, 2, 3, 2)]
SIZES = [(4, 3), (3, 3), (3, 5)]


def random_case(seed, shape, k, rank, n_samples=9):
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((n_samples, *shape)) + 0.3
    factors = [rng.standard_normal((size, rank)) for size in shape]
    return samples, factors, rng.standard_normal((k, rank))


class Raw(ArraySamples):
    def __init__(self, samples):
        shape = samples.shape[1:]
        super().__init__(samples, Normalization(shape, np.zeros(int(np.prod(shape))), None, 1.0))
        self.sum_of_squares = float(np.sum(samples**2))


@pytest.mark.parametrize("source", ["array", "moments"])
@pytest.mark.parametrize(("k", "rank"), SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_is_the_papers(shape, k, rank, source):
    if len(shape) == 1 and rank > min(k, shape[0]):
        pytest.skip("the paper's inverse does not exist for vectors with R > K")
    samples, factors, wh = random_case(len(shape), shape, k, rank)
    a, b, rho = 1.5, 0.7, 0.8
    expected = paper_step(samples, factors, wh, rho, a, b)

    data = Raw(samples) if source == "array" else compress(Raw(samples))
    parameters = Parameters(tuple(factors), wh, rho)
    moments = expectation(data, parameters)
    step = finished(data, VariationalEM(NoisePrior(a, b), tol=0).update(data, parameters))

    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(parameters.basis(), expected.basis_before, **close)
    np.testing.assert_allclose(moments.covariance, expected.sigma, **close)
    np.testing.assert_allclose(moments.of_means, expected.u.T @ expected.u, **close)
    np.testing.assert_allclose(step.parameters.precision, expected.rho, **close)
    np.testing.assert_allclose(step.parameters.basis(), expected.basis_after, **close)
    np.testing.assert_allclose(step.score, expected.e, **close)
    for ours, theirs in zip(step.parameters.mode_factors, expected.mode_factors, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        step.bound,
        bound(
            samples,
            expected.basis_before,
            expected.u,
            expected.sigma,
            a_bar=expected.a_bar,
            b_bar=expected.b_bar,
            a=a,
            b=b,
        ),
        rtol=1e-12,
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_several_passes_of_the_estimator_are_the_papers(shape):
    """Through the public door: prior and start in the data's units, whatever those are."""
    k = rank = 3
    samples, factors, wh = random_case(7, shape, k, rank)
    samples = 40 * samples
    a, b = 1.0, 1.0
    model = TBVDR(
        k,
        algorithm="em",
        init=(factors, wh),
        center=False,
        noise_prior=(a, b),
        max_iter=4,
        tol=0,
    ).fit(samples)
    rho, scores = a / b, []
    for _ in range(4):
        step = paper_step(samples, factors, wh, rho, a, b)
        factors, wh, rho = step.mode_factors, step.component_factor, step.rho
        scores.append(step.e)
    basis = model.components_.reshape(k, -1)
    size = np.abs(step.basis_after.T @ step.basis_after).max()
    np.testing.assert_allclose(
        basis.T @ basis, step.basis_after.T @ step.basis_after, rtol=1e-7, atol=1e-9 * size
    )
    np.testing.assert_allclose(model.noise_variance_, 1 / rho, rtol=1e-8)
    np.testing.assert_allclose(model.reconstruction_scores_, scores, rtol=1e-8)
    assert model.noise_prior_ == pytest.approx((a, b))
    assert model.n_iter_ == 4


def test_it_stops_when_the_score_moves_less_than_tol():
    rng = np.random.default_rng(0)
    model = TBVDR(3, algorithm="em", init="uniform", center=False, random_state=0, tol=1e-3)
    model.fit(rng.standard_normal((30, 5, 4)))
    moves = np.abs(np.diff(model.reconstruction_scores_))
    assert moves[-1] < 1e-3
    assert np.all(moves[:-1] >= 1e-3)
    assert model.converged_
    assert "reconstruction score" in model.stop_reason_

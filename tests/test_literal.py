"""The literal reference checked against itself, SciPy's distributions and analytic results."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import dblquad
from scipy.stats import gamma, multivariate_normal, multivariate_t, norm

from tests.literal import (
    PaperStep,
    basis_matrix,
    basis_tensors,
    bound,
    expected_residual,
    gaussian_log_density,
    gaussian_posterior,
    khatri_rao,
    khatri_rao_of_others,
    kl_gamma,
    log_evidence,
    paper_step,
    plant,
    posterior_of_h,
    ppca_log_likelihood,
    unfold,
    update_component_factor,
    update_mode_factor,
)

Array = NDArray[np.float64]

# Sample shape, K, R: every order up to four, K below, at and above R.
CASES = [
    pytest.param((6,), 3, 2, id="1d-K>R"),
    pytest.param((6,), 3, 3, id="1d-K=R"),
    pytest.param((4, 3), 3, 2, id="2d-K>R"),
    pytest.param((4, 3), 2, 4, id="2d-K<R"),
    pytest.param((3, 2, 3), 2, 3, id="3d-K<R"),
    pytest.param((3, 2, 3), 3, 3, id="3d-K=R"),
    pytest.param((2, 3, 2, 2), 3, 2, id="4d-K>R"),
]
A, B = 1.3, 0.7


def start(
    shape: tuple[int, ...], n_components: int, rank: int, n_samples: int = 8, seed: int = 0
) -> tuple[Array, list[Array], Array]:
    """Planted samples, and other random factors to start from."""
    rng = np.random.default_rng(seed)
    samples = plant(rng, n_samples, shape, n_components, rank, 3.0).samples
    factors = [rng.standard_normal((size, rank)) for size in shape]
    return samples, factors, rng.standard_normal((n_components, rank))


def bound_of(step: PaperStep, samples: Array, basis: Array) -> float:
    return bound(samples, basis, step.u, step.sigma, a_bar=step.a_bar, b_bar=step.b_bar, a=A, b=B)


# ------------------------------------------------------------------ tensor algebra


def test_basis_is_the_cp_sum() -> None:
    rng = np.random.default_rng(1)
    w1, w2, w3, wh = (rng.standard_normal((size, 5)) for size in (2, 3, 4, 6))
    expected = np.einsum("ar,br,cr,kr->kabc", w1, w2, w3, wh)
    np.testing.assert_allclose(basis_tensors([w1, w2, w3], wh), expected, rtol=1e-12, atol=1e-12)
    # C order: the last sample axis runs fastest.
    np.testing.assert_allclose(basis_matrix([w1, w2, w3], wh)[4, 4 * 1 + 2], expected[4, 0, 1, 2])


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_unfolding_of_a_cp_tensor_is_factor_times_khatri_rao(mode: int) -> None:
    rng = np.random.default_rng(2)
    factors = [rng.standard_normal((size, 3)) for size in (2, 3, 4, 2)]
    tensor = np.einsum("ar,br,cr,dr->abcd", *factors)
    expected = factors[mode] @ khatri_rao_of_others(factors, mode).T
    np.testing.assert_allclose(unfold(tensor, mode), expected, rtol=1e-12, atol=1e-12)


def test_unfolding_of_kolda_and_bader() -> None:
    # Their example of the 3 × 4 × 2 tensor whose frontal slices count down the columns.
    tensor = np.arange(1.0, 25.0).reshape(2, 4, 3).transpose(2, 1, 0)
    np.testing.assert_array_equal(unfold(tensor, 0)[0], [1, 4, 7, 10, 13, 16, 19, 22])
    np.testing.assert_array_equal(unfold(tensor, 1)[0], [1, 2, 3, 13, 14, 15])
    np.testing.assert_array_equal(unfold(tensor, 2)[1], np.arange(13.0, 25.0))


def test_khatri_rao_of_one_mode_is_a_row_of_ones() -> None:
    np.testing.assert_array_equal(khatri_rao_of_others([np.zeros((5, 3))], 0), np.ones((1, 3)))
    pair = khatri_rao(np.array([[1.0], [2.0]]), np.array([[3.0], [5.0], [7.0]]))
    np.testing.assert_array_equal(pair.ravel(), [3, 5, 7, 6, 10, 14])


# ------------------------------------------------------------------ Algorithm 2


@pytest.mark.parametrize(("shape", "n_components", "rank"), CASES)
def test_bound_never_falls_over_literal_steps(
    shape: tuple[int, ...], n_components: int, rank: int
) -> None:
    samples, factors, component_factor = start(shape, n_components, rank)
    rho, values = A / B, []
    for _ in range(20):
        step = paper_step(samples, factors, component_factor, rho, A, B)
        values += [bound_of(step, samples, step.basis_before)]  # after the update of Q(ρ)
        values += [bound_of(step, samples, step.basis_after)]  # after the M-step
        factors, component_factor, rho = list(step.mode_factors), step.component_factor, step.rho
    assert np.diff(values).min() > -1e-10 * abs(values[-1])
    assert values[-1] > values[0] + 1


@pytest.mark.parametrize(("shape", "n_components", "rank"), CASES)
def test_each_update_maximises_the_bound(
    shape: tuple[int, ...], n_components: int, rank: int
) -> None:
    """The derivative of F vanishes at (16) and (17); without the M of the erratum it does not."""
    samples, factors, component_factor = start(shape, n_components, rank)
    u, sigma = posterior_of_h(samples, basis_matrix(factors, component_factor), 0.8)
    q = {"a_bar": 50.0, "b_bar": 40.0, "a": A, "b": B}

    def slope(evaluate: Callable[[Array], float], at: Array) -> Array:
        out = np.zeros_like(at)
        for entry in np.ndindex(*at.shape):
            nudge = np.zeros_like(at)
            nudge[entry] = 1e-4
            out[entry] = (evaluate(at + nudge) - evaluate(at - nudge)) / 2e-4
        return out

    def bound_with(mode: int, value: Array) -> float:
        changed = [value if n == mode else factor for n, factor in enumerate(factors)]
        wh = value if mode == len(factors) else component_factor
        return bound(samples, basis_matrix(changed, wh), u, sigma, **q)

    for mode in range(len(shape)):
        updated = update_mode_factor(samples, factors, component_factor, u, sigma, mode)
        before = slope(lambda value, mode=mode: bound_with(mode, value), factors[mode])
        after = slope(lambda value, mode=mode: bound_with(mode, value), updated)
        assert np.abs(after).max() < 1e-6 * np.abs(before).max()
        # The printed (16) has no M: then Σ counts once instead of M times.
        printed = update_mode_factor(
            samples, factors, component_factor, u, sigma / len(samples), mode
        )
        wrong = slope(lambda value, mode=mode: bound_with(mode, value), printed)
        assert np.abs(wrong).max() > 1e-4 * np.abs(before).max()

    by_mode = [
        update_component_factor(samples, factors, u, sigma, mode) for mode in range(len(shape))
    ]
    for updated in by_mode:
        np.testing.assert_allclose(updated, by_mode[0], rtol=1e-7)
    before = slope(lambda value: bound_with(len(shape), value), component_factor)
    after = slope(lambda value: bound_with(len(shape), value), by_mode[0])
    assert np.abs(after).max() < 1e-6 * np.abs(before).max()


@pytest.mark.parametrize(("n_components", "rank"), [(3, 2), (2, 4), (3, 3)])
def test_second_order_step_is_algorithm_1(n_components: int, rank: int) -> None:
    """Algorithm 1 transcribed on its own: matrices, traces and diag, equations (4) to (12)."""
    samples, (w1, w2), wh = start((4, 3), n_components, rank, n_samples=5)
    rho, n_samples = 0.9, len(samples)
    step = paper_step(samples, [w1, w2], wh, rho, A, B)

    # W_k = W^(1) Diag(W^(h)_k) W^(2)ᵀ, the slices of (7).
    slices = [w1 @ np.diag(wh[k]) @ w2.T for k in range(n_components)]
    sigma_w = wh @ ((w1.T @ w1) * (w2.T @ w2)) @ wh.T  # Σ_𝒲 below (7)
    sigma = np.linalg.inv(np.eye(n_components) + rho * sigma_w)  # (5)
    a_i = np.array([[np.trace(w.T @ y) for w in slices] for y in samples])
    u = a_i @ np.linalg.inv(sigma_w + np.eye(n_components) / rho)  # (4)
    errors = [y - w1 @ np.diag(u_i @ wh) @ w2.T for y, u_i in zip(samples, u, strict=True)]
    psi = n_samples * np.trace(sigma_w @ sigma) + sum(np.trace(e.T @ e) for e in errors)
    a_bar, b_bar = A + 4 * 3 * n_samples / 2, B + psi / 2  # (6)

    spread = n_samples * sigma + u.T @ u  # with the M that (10) lacks
    pairs = list(zip(samples, u, strict=True))
    new_w1 = sum(y @ w2 @ np.diag(u_i @ wh) for y, u_i in pairs) @ np.linalg.inv(
        (w2.T @ w2) * (wh.T @ spread @ wh)
    )  # (9)
    new_w2 = sum(y.T @ new_w1 @ np.diag(u_i @ wh) for y, u_i in pairs) @ np.linalg.inv(
        (new_w1.T @ new_w1) * (wh.T @ spread @ wh)
    )  # (10)
    new_wh = (
        np.linalg.inv(spread)
        @ sum(np.outer(u_i, np.diag(new_w2.T @ y.T @ new_w1)) for y, u_i in pairs)
        @ np.linalg.inv((new_w1.T @ new_w1) * (new_w2.T @ new_w2))
    )  # (11)
    misfit = np.array([y - new_w1 @ np.diag(u_i @ new_wh) @ new_w2.T for y, u_i in pairs])
    e = 1 - np.linalg.norm(misfit) / np.linalg.norm(samples)  # (12)

    before = np.array([w.ravel() for w in slices])
    after = np.array([(new_w1 @ np.diag(row) @ new_w2.T).ravel() for row in new_wh])
    for found, expected in [
        (step.basis_before, before),
        (step.u, u),
        (step.sigma, sigma),
        (step.psi, psi),
        (step.a_bar, a_bar),
        (step.b_bar, b_bar),
        (step.rho, a_bar / b_bar),
        (step.mode_factors[0], new_w1),
        (step.mode_factors[1], new_w2),
        (step.component_factor, new_wh),
        (step.basis_after, after),
        (step.e, e),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_first_order_step_at_full_rank_is_the_em_of_ppca() -> None:
    """With N = 1 and R = K the basis is unconstrained: B ← (UᵀU + MΣ)⁻¹ UᵀY (Tipping, Bishop)."""
    samples, factors, component_factor = start((6,), 3, 3)
    step = paper_step(samples, factors, component_factor, 0.9, A, B)
    spread = step.u.T @ step.u + len(samples) * step.sigma
    expected = np.linalg.solve(spread, step.u.T @ samples)
    np.testing.assert_allclose(step.basis_after, expected, rtol=1e-9, atol=1e-12)


def test_reconstruction_score_of_noiseless_data_with_the_true_factors_is_near_one() -> None:
    truth = plant(np.random.default_rng(3), 9, (4, 3), 2, 3, 5.0)
    sharp = paper_step(truth.noise_free, truth.mode_factors, truth.component_factor, 1e8, A, B)
    assert sharp.e == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(sharp.u, truth.h, atol=1e-6)
    dull = paper_step(truth.samples, truth.mode_factors, truth.component_factor, 1e8, A, B)
    assert 0.5 < dull.e < 0.95


def test_step_leaves_its_arguments_alone() -> None:
    samples, factors, component_factor = start((4, 3), 2, 3)
    arguments = [samples, *factors, component_factor]
    copies = [argument.copy() for argument in arguments]
    paper_step(samples, factors, component_factor, 0.9, A, B)
    for argument, copy in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(argument, copy)


# ------------------------------------------------------------------ the bound and the evidence


@pytest.mark.parametrize(("shape", "n_components", "rank"), CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_bound_is_below_the_evidence_and_near_it(
    shape: tuple[int, ...], n_components: int, rank: int, seed: int
) -> None:
    samples, factors, component_factor = start(shape, n_components, rank, seed=seed)
    basis = basis_matrix(factors, component_factor)
    evidence = log_evidence(samples, basis, A, B)
    # Any Q at all stays below.
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n_components, n_components))
    anyhow = {
        "u": rng.standard_normal((len(samples), n_components)),
        "sigma": root @ root.T + 0.1 * np.eye(n_components),
    }
    assert bound(samples, basis, **anyhow, a_bar=2.0, b_bar=3.0, a=A, b=B) < evidence
    # The best factorised Q comes near: what is left is the coupling of h and ρ, M·K dimensions of h
    # against M·P entries.
    rho = A / B
    for _ in range(200):
        u, sigma = posterior_of_h(samples, basis, rho)
        a_bar = A + samples.size / 2
        b_bar = B + expected_residual(samples, basis, u, sigma) / 2
        rho = a_bar / b_bar
    best = bound(samples, basis, u, sigma, a_bar=a_bar, b_bar=b_bar, a=A, b=B)
    assert evidence - 0.3 < best < evidence


def test_bound_and_evidence_by_direct_integration() -> None:
    """One sample, one component: F by integrating its definition (3), log p(𝒴) over (h, log ρ)."""
    y, basis = np.array([0.7, -1.1]), np.array([[0.9, 0.4]])
    m, s, a_bar, b_bar = 0.3, 0.6, 2.4, 1.9

    def log_joint(h: float, rho: float) -> float:
        return float(
            norm.logpdf(y, h * basis[0], rho**-0.5).sum()
            + norm.logpdf(h)
            + gamma.logpdf(rho, A, scale=1 / B)
        )

    # F = ∫∫ Q log(p/Q): Gauss's rules for the normal, a dense sum in log ρ for the Gamma.
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / weights.sum()
    log_rho = np.linspace(-16.0, 4.0, 401)
    q_rho = gamma.pdf(np.exp(log_rho), a_bar, scale=1 / b_bar) * np.exp(log_rho)
    expected = 0.0
    for t, q in zip(log_rho, q_rho * (log_rho[1] - log_rho[0]), strict=True):
        for node, weight in zip(nodes, weights, strict=True):
            h = m + s * node
            log_q = norm.logpdf(h, m, s) + gamma.logpdf(np.exp(t), a_bar, scale=1 / b_bar)
            expected += q * weight * (log_joint(h, np.exp(t)) - log_q)
    found = bound(y[None], basis, [[m]], [[s**2]], a_bar=a_bar, b_bar=b_bar, a=A, b=B)
    assert found == pytest.approx(expected, abs=1e-6)

    def joint_density(h: float, t: float) -> float:
        rho = np.exp(t)
        misfit = (y[0] - h * 0.9) ** 2 + (y[1] - h * 0.4) ** 2
        scale = (2 * np.pi) ** -1.5 * gamma.pdf(1.0, A, scale=1 / B) * np.exp(B)
        return float(scale * np.exp((A + 1) * t - rho * (misfit / 2 + B) - h * h / 2))

    evidence = np.log(dblquad(joint_density, -12, 4, -8, 8, epsabs=1e-10)[0])
    assert log_evidence(y[None], basis, A, B) == pytest.approx(evidence, abs=1e-7)


@pytest.mark.parametrize("shape", [(5,), (3, 2), (2, 2, 3)])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (1e-6, 1e-6), (40.0, 0.5)])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 255.0])
def test_without_a_basis_evidence_and_bound_are_student_t(
    shape: tuple[int, ...], prior: tuple[float, float], unit: float
) -> None:
    samples = unit * np.random.default_rng(4).standard_normal((7, *shape))
    a, b = prior[0], prior[1] * unit**2
    basis = np.zeros((2, samples[0].size))
    y = samples.ravel()
    student = multivariate_t(np.zeros(y.size), b / a * np.eye(y.size), df=2 * a).logpdf(y)
    assert log_evidence(samples, basis, a, b) == pytest.approx(student, rel=1e-9, abs=1e-7)
    # Here Q is the exact posterior, so that the bound is the evidence.
    tight = bound(
        samples,
        basis,
        np.zeros((7, 2)),
        np.eye(2),
        a_bar=a + y.size / 2,
        b_bar=b + y @ y / 2,
        a=a,
        b=b,
    )
    assert tight == pytest.approx(student, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("size", [20, 4000])
def test_evidence_with_a_sharp_prior_is_the_gaussian_likelihood(size: int) -> None:
    truth = plant(np.random.default_rng(5), size, (3, 2), 2, 2, 4.0)
    plugged_in = sum(
        gaussian_log_density(y, np.zeros(6), truth.basis, 0.8) for y in truth.samples[:20]
    )
    sharp = log_evidence(truth.samples[:20], truth.basis, 0.8e9, 1e9)
    assert sharp == pytest.approx(plugged_in, abs=1e-4)
    # A broad prior: Laplace's approximation around the likelihood's peak grows exact with M.
    log_rhos = np.linspace(-1.5, 1.5, 3001)
    heights = np.zeros_like(log_rhos)
    variances, directions = np.linalg.eigh(truth.basis.T @ truth.basis)
    energies = ((truth.samples.reshape(size, -1) @ directions) ** 2).sum(axis=0)
    for variance, energy in zip(variances, energies, strict=True):
        tau = variance + np.exp(-log_rhos)
        heights += -size / 2 * np.log(2 * np.pi * tau) - energy / tau / 2
    heights += gamma.logpdf(np.exp(log_rhos), A, scale=1 / B) + log_rhos
    top = int(heights.argmax())
    curvature = -np.diff(heights, 2)[top - 1] / (log_rhos[1] - log_rhos[0]) ** 2
    laplace = heights[top] + np.log(2 * np.pi / curvature) / 2
    assert log_evidence(truth.samples, truth.basis, A, B) == pytest.approx(
        laplace, abs=0.5 / np.sqrt(size)
    )


def test_evidence_integrates_to_one_over_the_data() -> None:
    """A density of one entry: ∫ p(y) dy = 1."""
    ys = np.sinh(np.linspace(-9, 9, 181))
    densities = [np.exp(log_evidence([[y]], [[1.5]], 2.0, 1.0)) for y in ys]
    total = np.trapezoid(np.array(densities) * np.sqrt(1 + ys**2), dx=0.1)
    assert total == pytest.approx(1.0, abs=1e-5)


def test_gamma_divergence_by_integration() -> None:
    t = np.linspace(-20.0, 5.0, 4001)
    q = gamma(2.5, scale=1 / 3.5)
    p = gamma(0.8, scale=1 / 0.4)
    integrand = q.pdf(np.exp(t)) * (q.logpdf(np.exp(t)) - p.logpdf(np.exp(t))) * np.exp(t)
    assert kl_gamma(2.5, 3.5, 0.8, 0.4) == pytest.approx(np.trapezoid(integrand, t), abs=1e-9)
    assert kl_gamma(2.5, 3.5, 2.5, 3.5) == pytest.approx(0.0, abs=1e-14)


# ------------------------------------------------------------------ dense Gaussians


@pytest.mark.parametrize(("shape", "n_components", "rank"), CASES)
def test_conditioning_gives_the_posterior_of_the_paper(
    shape: tuple[int, ...], n_components: int, rank: int
) -> None:
    samples, factors, component_factor = start(shape, n_components, rank)
    step = paper_step(samples, factors, component_factor, 0.6, A, B)
    for y, u in zip(samples, step.u, strict=True):
        mean, covariance = gaussian_posterior(y, step.basis_before, 0.6)
        np.testing.assert_allclose(mean, u, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(covariance, step.sigma, rtol=1e-8, atol=1e-10)


def test_posterior_and_density_of_observed_entries() -> None:
    rng = np.random.default_rng(6)
    truth = plant(rng, 1, (3, 4), 2, 3, 2.0)
    y, basis, rho = truth.samples[0].copy(), truth.basis, 0.6
    observed = rng.random((3, 4)) < 0.6
    y[~observed] = np.nan
    seen = np.flatnonzero(observed)
    assert 0 < seen.size < 12

    # The observed-entries form of (13) and (14): sums over the entries seen.
    precision = np.eye(2)
    projection = np.zeros(2)
    for d in seen:
        precision += rho * np.outer(basis[:, d], basis[:, d])
        projection += rho * basis[:, d] * y.ravel()[d]
    mean, covariance = gaussian_posterior(y, basis, rho, observed)
    np.testing.assert_allclose(covariance, np.linalg.inv(precision), rtol=1e-9)
    np.testing.assert_allclose(mean, np.linalg.solve(precision, projection), rtol=1e-9)

    # Bayes: log p(y) = log p(y | h) + log p(h) − log p(h | y), for every h.
    offset = rng.standard_normal((3, 4))
    h = np.array([0.3, -0.8])
    mean, covariance = gaussian_posterior(y - offset, basis, rho, observed)
    bayes = (
        norm.logpdf((y - offset).ravel()[seen], (h @ basis)[seen], rho**-0.5).sum()
        + norm.logpdf(h).sum()
        - multivariate_normal(mean, covariance).logpdf(h)
    )
    density = gaussian_log_density(y, offset, basis, rho, observed)
    assert density == pytest.approx(bayes, abs=1e-9)

    # All entries observed, and none.
    full = truth.samples[0]
    everything = np.ones((3, 4), dtype=bool)
    assert gaussian_log_density(full, offset, basis, rho, everything) == pytest.approx(
        gaussian_log_density(full, offset, basis, rho), abs=1e-12
    )
    mean, covariance = gaussian_posterior(y, basis, rho, ~everything)
    np.testing.assert_array_equal(mean, np.zeros(2))
    np.testing.assert_array_equal(covariance, np.eye(2))
    assert gaussian_log_density(y, offset, basis, rho, ~everything) == 0.0


def test_ppca_closed_form_is_the_maximum_over_bases_and_noise() -> None:
    rng = np.random.default_rng(7)
    samples = rng.standard_normal((30, 5)) @ rng.standard_normal((5, 5))
    values, vectors = np.linalg.eigh(samples.T @ samples / 30)
    noise = values[:3].mean()
    basis = (vectors[:, 3:] * np.sqrt(values[3:] - noise)).T  # Tipping and Bishop, their eq. 7

    def likelihood(basis: Array, noise: float) -> float:
        covariance = basis.T @ basis + noise * np.eye(5)
        return float(multivariate_normal(np.zeros(5), covariance).logpdf(samples).sum())

    best = ppca_log_likelihood(values, 2, 30, 5)
    assert likelihood(basis, noise) == pytest.approx(best, abs=1e-9)
    for _ in range(20):
        nudge = 0.05 * rng.standard_normal(basis.shape)
        assert likelihood(basis + nudge, noise * np.exp(rng.normal(0, 0.1))) < best
    # Zero eigenvalues may be left out (M < P).
    assert ppca_log_likelihood([3.0, 1.0, 0.5], 1, 4, 6) == pytest.approx(
        ppca_log_likelihood([0.0, 0.0, 0.5, 0.0, 3.0, 1.0], 1, 4, 6)
    )


# ------------------------------------------------------------------ planted data


@pytest.mark.parametrize("shape", [(40,), (8, 5), (4, 5, 2), (2, 5, 2, 2)])
def test_planted_data_have_the_ratio_and_the_noise_asked_for(shape: tuple[int, ...]) -> None:
    truth = plant(np.random.default_rng(8), 200, shape, 3, 4, 7.0)
    assert truth.samples.shape == (200, *shape)
    assert np.sqrt(np.mean(truth.noise_free**2)) == pytest.approx(7.0, rel=1e-12)
    noise = truth.samples - truth.noise_free
    assert noise.std() == pytest.approx(1.0, abs=0.05)
    assert np.abs(truth.h.T @ truth.h / 200 - np.eye(3)).max() < 0.35
    np.testing.assert_allclose(
        truth.basis, basis_matrix(truth.mode_factors, truth.component_factor), rtol=1e-12
    )
    np.testing.assert_allclose(
        truth.noise_free, np.tensordot(truth.h, truth.basis.reshape(3, *shape), axes=1), atol=1e-10
    )

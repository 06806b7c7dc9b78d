"""The paper written out literally: a slow, independent reference for the tests.

Written from the paper's sections III and IV and from textbook formulas, never from tenvec's own
code: nothing here may import it. Plain loops, clarity over speed; for small problems only.
Equation numbers are the printed ones: (3) Exp, (8) ApproxF1, (9) W1, (10) W2, (11) Wh,
(12) define_e, (13) meanh2, (14) variance2, (15) rho2, (16) Wn, (17) Wh2. The misprints are mended
where they occur and named there ("erratum").

Samples have shape (M, D_1, …, D_N) with any N ≥ 1. A basis is a K × P matrix whose row k is the
basis tensor 𝒲_k flattened in C order, P = D_1·…·D_N.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln, logsumexp
from scipy.stats import multivariate_normal

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


# ---------------------------------------------------------------------------------------------
# Tensor algebra of section II
# ---------------------------------------------------------------------------------------------


def basis_tensors(mode_factors: Sequence[Array], component_factor: Array) -> Array:
    """𝒲_k entry by entry from the CP sum (7), for any order as in section IV: (K, D_1, …, D_N)."""
    n_components, rank = component_factor.shape
    shape = tuple(factor.shape[0] for factor in mode_factors)
    basis = np.zeros((n_components, *shape))
    for k in range(n_components):
        for entry in np.ndindex(*shape):
            total = 0.0
            for r in range(rank):
                term = component_factor[k, r]
                for n, d in enumerate(entry):
                    term = term * mode_factors[n][d, r]
                total += term
            basis[(k, *entry)] = total
    return basis


def basis_matrix(mode_factors: Sequence[Array], component_factor: Array) -> Array:
    """Give the basis as a K × P matrix, each 𝒲_k flattened in C order."""
    return basis_tensors(mode_factors, component_factor).reshape(component_factor.shape[0], -1)


def unfold(tensor: Array, mode: int) -> Array:
    """𝒜_(n) of section II (Kolda and Bader): among the columns' modes the first runs fastest."""
    others = [m for m in range(tensor.ndim) if m != mode]
    n_columns = 1
    for m in others:
        n_columns *= tensor.shape[m]
    unfolded = np.zeros((tensor.shape[mode], n_columns))
    for entry in np.ndindex(*tensor.shape):
        column, stride = 0, 1
        for m in others:
            column += entry[m] * stride
            stride *= tensor.shape[m]
        unfolded[entry[mode], column] = tensor[entry]
    return unfolded


def khatri_rao(left: Array, right: Array) -> Array:
    """⊛ of section II: matching columns' Kronecker products."""
    columns = [np.kron(left[:, r], right[:, r]) for r in range(left.shape[1])]
    return np.stack(columns, axis=1)


def khatri_rao_of_others(mode_factors: Sequence[Array], mode: int) -> Array:
    """W̄^(n) = W^(N) ⊛ … ⊛ W^(n+1) ⊛ W^(n−1) ⊛ … ⊛ W^(1) of section IV; a row of ones for N = 1."""
    product = np.ones((1, mode_factors[0].shape[1]))
    for n in reversed(range(len(mode_factors))):
        if n != mode:
            product = khatri_rao(product, mode_factors[n])
    return product


# ---------------------------------------------------------------------------------------------
# Algorithm 2
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PaperStep:
    """What one iteration of Algorithm 2 leaves; u is M × K (the paper's U is its transpose)."""

    mode_factors: tuple[Array, ...]
    component_factor: Array
    rho: float
    a_bar: float
    b_bar: float
    u: Array
    sigma: Array
    basis_before: Array
    basis_after: Array
    psi: float
    e: float


def posterior_of_h(samples: Array, basis: Array, rho: float) -> tuple[Array, Array]:
    """u_i (13) and Σ (14) by trace inner products: (M × K), (K × K)."""
    n_components = basis.shape[0]
    flat = samples.reshape(samples.shape[0], -1)
    sigma_w = np.zeros((n_components, n_components))
    for p in range(n_components):
        for q in range(n_components):
            sigma_w[p, q] = np.sum(basis[p] * basis[q])  # tr(W_pᵀ W_q)
    identity = np.eye(n_components)
    sigma = np.linalg.solve(identity + rho * sigma_w, identity)
    u = np.zeros((flat.shape[0], n_components))
    for i in range(flat.shape[0]):
        a_i = np.zeros(n_components)
        for k in range(n_components):
            a_i[k] = np.sum(basis[k] * flat[i])  # tr(W_kᵀ Y_i)
        u[i] = np.linalg.solve(sigma_w + identity / rho, a_i)
    return u, sigma


def expected_residual(samples: Array, basis: Array, u: Array, sigma: Array) -> float:
    """ψ = M tr(Σ_𝒲 Σ) + Σ_i ‖𝒴_i − 𝒲 ×_(N+1) u_iᵀ‖² (below (15)), residuals built one by one."""
    flat = samples.reshape(samples.shape[0], -1)
    psi = 0.0
    for y, u_i in zip(flat, u, strict=True):
        residual = y.copy()
        for k in range(basis.shape[0]):
            residual -= u_i[k] * basis[k]
        psi += np.sum(residual**2)
        psi += np.trace((basis @ basis.T) @ sigma)
    return float(psi)


def update_mode_factor(
    samples: Array,
    mode_factors: Sequence[Array],
    component_factor: Array,
    u: Array,
    sigma: Array,
    mode: int,
) -> Array:
    """W^(n) by (16). Erratum: M stands before Σ, as it does in (9)."""
    n_samples = samples.shape[0]
    others = khatri_rao_of_others(mode_factors, mode)
    numerator = np.zeros_like(mode_factors[mode])
    for i in range(n_samples):
        diagonal = np.diag(u[i] @ component_factor)  # Diag(u_iᵀ W^(h))
        numerator += unfold(samples[i], mode) @ others @ diagonal
    second_moment = (
        n_samples * component_factor.T @ sigma @ component_factor
        + component_factor.T @ u.T @ u @ component_factor
    )
    denominator = (others.T @ others) * second_moment
    return np.linalg.solve(denominator.T, numerator.T).T


def update_component_factor(
    samples: Array, mode_factors: Sequence[Array], u: Array, sigma: Array, mode: int = 0
) -> Array:
    """W^(h) by (17). The result is the same for every mode n that the formula is written with."""
    n_samples, n_components = u.shape
    factor = mode_factors[mode]
    others = khatri_rao_of_others(mode_factors, mode)
    middle = np.zeros((n_components, factor.shape[1]))
    for i in range(n_samples):
        middle += np.outer(u[i], np.diag(others.T @ unfold(samples[i], mode).T @ factor))
    left = u.T @ u + n_samples * sigma
    right = (factor.T @ factor) * (others.T @ others)
    return np.linalg.solve(right.T, np.linalg.solve(left, middle).T).T


def reconstruction_score(samples: Array, basis: Array, u: Array) -> float:
    """e(t) of (12), every reconstruction built. Erratum: it is one minus the relative error."""
    flat = samples.reshape(samples.shape[0], -1)
    squared_error = 0.0
    for y, u_i in zip(flat, u, strict=True):
        reconstruction = np.zeros_like(y)
        for k in range(basis.shape[0]):
            reconstruction += u_i[k] * basis[k]
        squared_error += np.sum((y - reconstruction) ** 2)
    return float(1.0 - np.sqrt(squared_error) / np.sqrt(np.sum(flat**2)))


def paper_step(
    samples: ArrayLike,
    mode_factors: Sequence[ArrayLike],
    component_factor: ArrayLike,
    rho: float,
    a: float,
    b: float,
) -> PaperStep:
    """One iteration of Algorithm 2 from the factors and E[ρ] given; (a, b) is the prior of ρ.

    The inverses of (16) and (17) must exist: N = 1 needs R ≤ K and R ≤ D_1.
    """
    samples = np.array(samples, dtype=np.float64)
    factors = [np.array(factor, dtype=np.float64) for factor in mode_factors]
    component_factor = np.array(component_factor, dtype=np.float64)
    n_samples, n_entries = samples.shape[0], samples[0].size

    # Variational E-step: Q(h), then Q(ρ).
    basis_before = basis_matrix(factors, component_factor)
    u, sigma = posterior_of_h(samples, basis_before, rho)
    psi = expected_residual(samples, basis_before, u, sigma)
    a_bar = a + n_entries * n_samples / 2  # (15)
    b_bar = b + psi / 2  # (15)

    # Variational M-step: each update uses the factors that are already new.
    for n in range(len(factors)):
        factors[n] = update_mode_factor(samples, factors, component_factor, u, sigma, n)
    component_factor = update_component_factor(samples, factors, u, sigma)

    basis_after = basis_matrix(factors, component_factor)
    return PaperStep(
        mode_factors=tuple(factors),
        component_factor=component_factor,
        rho=a_bar / b_bar,
        a_bar=a_bar,
        b_bar=b_bar,
        u=u,
        sigma=sigma,
        basis_before=basis_before,
        basis_after=basis_after,
        psi=psi,
        e=reconstruction_score(samples, basis_after, u),
    )


# ---------------------------------------------------------------------------------------------
# The variational lower bound, and the evidence that it bounds
# ---------------------------------------------------------------------------------------------


def kl_gaussian(mean: Array, covariance: Array) -> float:
    """KL(N(mean, covariance) ‖ N(0, I)), textbook."""
    log_determinant = np.linalg.slogdet(covariance)[1]
    return float((np.trace(covariance) + mean @ mean - mean.size - log_determinant) / 2)


def kl_gamma(a_q: float, b_q: float, a_p: float, b_p: float) -> float:
    """KL(Gamma(a_q, b_q) ‖ Gamma(a_p, b_p)), shape and rate, textbook; needs a proper prior."""
    return float(
        (a_q - a_p) * digamma(a_q)
        - gammaln(a_q)
        + gammaln(a_p)
        + a_p * (np.log(b_q) - np.log(b_p))
        + a_q * (b_p - b_q) / b_q
    )


def bound(
    samples: ArrayLike,
    basis: ArrayLike,
    u: ArrayLike,
    sigma: ArrayLike,
    *,
    a_bar: float,
    b_bar: float,
    a: float,
    b: float,
) -> float:
    """F(Q(h), Q(ρ), 𝒲) of (3), term by term, for any u (M × K), Σ, Gamma(ā, b̄) and a, b > 0."""
    samples = np.asarray(samples, dtype=np.float64)
    basis = np.asarray(basis, dtype=np.float64)
    u = np.asarray(u, dtype=np.float64)
    sigma = np.asarray(sigma, dtype=np.float64)
    flat = samples.reshape(samples.shape[0], -1)
    mean_rho = a_bar / b_bar
    mean_log_rho = float(digamma(a_bar) - np.log(b_bar))

    # E[(y_d − b_dᵀh)²] = (y_d − b_dᵀu)² + b_dᵀ Σ b_d, with b_d the d-th column of the basis.
    spread = np.array([basis[:, d] @ sigma @ basis[:, d] for d in range(flat.shape[1])])

    total = 0.0
    for y, u_i in zip(flat, u, strict=True):
        for d in range(flat.shape[1]):  # E[log N(y_d | b_dᵀh, 1/ρ)]
            squared = (y[d] - basis[:, d] @ u_i) ** 2 + spread[d]
            total += (mean_log_rho - np.log(2 * np.pi) - mean_rho * squared) / 2
        total -= kl_gaussian(u_i, sigma)
    return float(total - kl_gamma(a_bar, b_bar, a, b))


def log_evidence(samples: ArrayLike, basis: ArrayLike, a: float, b: float) -> float:
    """Log ∫ p(𝒴 | ρ, 𝒲) Gamma(ρ | a, b) dρ by quadrature over log ρ: what (3) bounds from below.

    p(𝒴 | ρ, 𝒲) = ∏_i N(vec 𝒴_i | 0, BᵀB + I/ρ): dense P × P Gaussians, seen in the eigenvectors
    of BᵀB, so that one decomposition serves every ρ.
    """
    samples = np.asarray(samples, dtype=np.float64)
    basis = np.asarray(basis, dtype=np.float64)
    flat = samples.reshape(samples.shape[0], -1)
    n_samples, n_entries = flat.shape
    variances, directions = np.linalg.eigh(basis.T @ basis)
    variances = np.clip(variances, 0.0, None)
    energies = np.sum((flat @ directions) ** 2, axis=0)

    def log_integrand(log_rho: Array) -> Array:
        # Gamma(ρ | a, b) dρ in log ρ: the Jacobian adds one log ρ.
        value = a * np.log(b) - gammaln(a) + a * log_rho - b * np.exp(log_rho)
        for variance, energy in zip(variances, energies, strict=True):
            total_variance = variance + np.exp(-log_rho)
            value = value - n_samples / 2 * np.log(2 * np.pi * total_variance)
            value = value - energy / (2 * total_variance)
        return value

    # The mode: a wide scan, then a search between the neighbours of its best point.
    scan = np.arange(-100.0, 100.0, 0.1)
    scanned = log_integrand(scan)
    best = scan[np.argmax(scanned)]
    search = minimize_scalar(
        lambda t: -log_integrand(np.asarray(t)), bounds=(best - 0.1, best + 0.1), method="bounded"
    )
    peak = max(-float(search.fun), float(scanned.max()))

    # The support: all that lies within 60 nats of the mode, and one scan interval around it. It
    # may hold several modes, or a plateau; it must end inside the scan.
    support = np.append(scan[scanned > peak - 60], float(search.x))
    low, high = support.min() - 0.1, support.max() + 0.1
    if low <= scan[0] or high >= scan[-1]:
        raise ValueError("the posterior of log ρ reaches beyond the quadrature's range")

    # Trapezia converge exponentially for a smooth peak that is wide against the step; no peak is
    # much narrower than (MP/2 + a)^(-1/2) in log ρ.
    step = min(0.01, 0.1 / np.sqrt(n_samples * n_entries / 2 + a))
    grid = np.linspace(low, high, int(np.ceil((high - low) / step)) + 1)
    return float(logsumexp(log_integrand(grid)) + np.log(grid[1] - grid[0]))


# ---------------------------------------------------------------------------------------------
# Dense Gaussians, with ρ known
# ---------------------------------------------------------------------------------------------


def gaussian_posterior(
    x: ArrayLike, basis: ArrayLike, rho: float, observed: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Mean (K) and covariance (K × K) of h given one sample, by conditioning the joint of (h, y).

    ``observed`` is a boolean mask shaped like the sample; the entries it leaves out may be NaN.
    """
    x, seen = _observed_entries(x, observed)
    basis = np.asarray(basis, dtype=np.float64)
    n_components, n_entries = basis.shape
    joint = np.zeros((n_components + n_entries, n_components + n_entries))
    joint[:n_components, :n_components] = np.eye(n_components)
    joint[:n_components, n_components:] = basis
    joint[n_components:, :n_components] = basis.T
    joint[n_components:, n_components:] = basis.T @ basis + np.eye(n_entries) / rho

    hidden = np.arange(n_components)
    seen_rows = n_components + np.flatnonzero(seen)
    cov_hh = joint[np.ix_(hidden, hidden)]
    cov_hy = joint[np.ix_(hidden, seen_rows)]
    cov_yy = joint[np.ix_(seen_rows, seen_rows)]
    mean = cov_hy @ np.linalg.solve(cov_yy, x[seen])
    covariance = cov_hh - cov_hy @ np.linalg.solve(cov_yy, cov_hy.T)
    return mean, covariance


def gaussian_log_density(
    x: ArrayLike,
    mean: ArrayLike,
    basis: ArrayLike,
    rho: float,
    observed: ArrayLike | None = None,
) -> float:
    """Log N(vec 𝒴 | mean, BᵀB + I/ρ) of one sample, in nats; with a mask, of its seen entries."""
    x, seen = _observed_entries(x, observed)
    mean = np.asarray(mean, dtype=np.float64).ravel()
    basis = np.asarray(basis, dtype=np.float64)
    if not seen.any():
        return 0.0
    covariance = basis.T @ basis + np.eye(basis.shape[1]) / rho
    covariance = covariance[np.ix_(seen, seen)]
    return float(multivariate_normal(mean[seen], covariance).logpdf(x[seen]))


def _observed_entries(x: ArrayLike, observed: ArrayLike | None) -> tuple[Array, Mask]:
    """Flatten one sample and its mask; no mask means that everything is observed."""
    x = np.asarray(x, dtype=np.float64).ravel()
    if observed is None:
        return x, np.ones(x.size, dtype=bool)
    return x, np.asarray(observed, dtype=bool).ravel()


def ppca_log_likelihood(eigenvalues: ArrayLike, k: int, n_samples: int, n_features: int) -> float:
    """Maximised log-likelihood of probabilistic PCA, total over the samples (Tipping and Bishop).

    ``eigenvalues`` are those of the covariance with divisor M (of YᵀY/M for a model without a
    mean), in any order; eigenvalues not given are zero. Needs k < P and a discarded one above zero.
    """
    values = np.zeros(n_features)
    given = np.sort(np.asarray(eigenvalues, dtype=np.float64))[::-1][:n_features]
    values[: given.size] = given
    noise_variance = np.mean(values[k:])
    log_determinant = np.sum(np.log(values[:k])) + (n_features - k) * np.log(noise_variance)
    # The maximum has tr(C⁻¹ S) = P.
    return float(-n_samples / 2 * (n_features * np.log(2 * np.pi) + log_determinant + n_features))


# ---------------------------------------------------------------------------------------------
# Data from the model
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planted:
    """Samples drawn from the model, and the truth behind them."""

    samples: Array
    noise_free: Array
    mode_factors: tuple[Array, ...]
    component_factor: Array
    basis: Array
    h: Array


def plant(
    rng: np.random.Generator,
    n_samples: int,
    sample_shape: tuple[int, ...],
    n_components: int,
    rank: int,
    snr: float,
) -> Planted:
    """Draw from (2): normal factors, h ~ N(0, I), noise deviation 1.

    The component factor is scaled so that the root mean square of the noise-free entries drawn,
    over the noise deviation, is ``snr`` (a ratio of amplitudes).
    """
    mode_factors = tuple(rng.standard_normal((size, rank)) for size in sample_shape)
    component_factor = rng.standard_normal((n_components, rank))
    h = rng.standard_normal((n_samples, n_components))
    clean = h @ basis_matrix(mode_factors, component_factor)
    component_factor = component_factor * (snr / np.sqrt(np.mean(clean**2)))
    basis = basis_matrix(mode_factors, component_factor)
    noise_free = (h @ basis).reshape(n_samples, *sample_shape)
    samples = noise_free + rng.standard_normal(noise_free.shape)
    return Planted(samples, noise_free, mode_factors, component_factor, basis, h)

"""EM for a mixture of probabilistic principal component analysers, in its K × K form.

Samples are the rows of an M × P matrix. No P × P matrix and no array of samples × entries ×
components is made: an iteration is two large products, samples with all loadings and back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

Array = Any


@dataclass(frozen=True)
class Mixture:
    """Parameters of G components with K loadings each.

    Attributes
    ----------
    weights, noise : arrays of shape (G,)
        Mixing weights and noise variances.
    means : array of shape (G, P)
        Means.
    loadings : array of shape (G, K, P)
        Component g has covariance ``loadings[g].T @ loadings[g] + noise[g] * I``. The last rows of
        a component that was reduced are zero.
    latent_dimensions : array of int of shape (G,)
        Loadings in use.
    dimension : int
        Number of entries of a sample, which may exceed P where the rows are coordinates in the
        samples' span.
    """

    weights: Array
    means: Array
    loadings: Array
    noise: Array
    latent_dimensions: Array
    dimension: int


@dataclass(frozen=True)
class Expectation:
    """What one pass tells of every sample and component.

    Attributes
    ----------
    joint : array of shape (M, G)
        ``log π_g + log p(x_i | g)``.
    projections : array of shape (M, G, K)
        ``W_g (x_i - μ_g)``.
    inverses : array of shape (G, K, K)
        ``(W_g W_gᵀ + σ_g² I)⁻¹``.
    """

    joint: Array
    projections: Array
    inverses: Array

    @property
    def log_likelihoods(self) -> Array:
        """Log density of every sample under the mixture."""
        return logsumexp(self.joint, axis=1)

    @property
    def responsibilities(self) -> Array:
        """Posterior probability of every component."""
        return np.exp(self.joint - self.log_likelihoods[:, None])

    @property
    def posterior_means(self) -> Array:
        """Posterior means of the latent variables, shape (G, M, K)."""
        return self.projections.transpose(1, 0, 2) @ self.inverses


def expectation(rows: Array, squares: Array, mixture: Mixture) -> Expectation:
    """Log densities and projections of all samples; ``squares`` are the rows' squared lengths."""
    n_mixtures, n_components, size = mixture.loadings.shape
    flat = mixture.loadings.reshape(-1, size)
    projections = (rows @ flat.T).reshape(len(rows), n_mixtures, n_components)
    projections -= (mixture.loadings @ mixture.means[:, :, None])[:, :, 0]
    inner = mixture.loadings @ mixture.loadings.transpose(0, 2, 1)
    inner += mixture.noise[:, None, None] * np.eye(n_components)
    roots = np.linalg.cholesky(inner)
    inverse_roots = np.linalg.inv(roots)
    # Woodbury: (x - μ)ᵀ C⁻¹ (x - μ) = (‖x - μ‖² - ‖L⁻¹ W (x - μ)‖²) / σ².
    explained = projections.transpose(1, 0, 2) @ inverse_roots.transpose(0, 2, 1)
    distances = squares[:, None] - 2 * (rows @ mixture.means.T) + (mixture.means**2).sum(axis=1)
    distances -= np.einsum("gmk,gmk->mg", explained, explained)
    log_determinants = (mixture.dimension - n_components) * np.log(mixture.noise)
    log_determinants += 2 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    joint = np.maximum(distances, 0.0) / mixture.noise + log_determinants
    joint += mixture.dimension * np.log(2 * np.pi)
    return Expectation(
        np.log(mixture.weights) - joint / 2,
        projections,
        inverse_roots.transpose(0, 2, 1) @ inverse_roots,
    )


def log_prior(mixture: Mixture, prior: tuple[float, float]) -> float:
    """Penalty on the noise variances, up to a constant: it keeps the likelihood bounded."""
    a, b = prior
    return -float(np.sum(a * np.log(mixture.noise) + b / mixture.noise))


def maximization(
    rows: Array,
    squares: Array,
    passed: Expectation,
    responsibilities: Array,
    mixture: Mixture,
    prior: tuple[float, float],
) -> Mixture:
    """One step of Tipping and Bishop's two-stage EM, with parameter expansion.

    The weights and means come first; then, the responsibilities kept, the loadings and the noise.
    """
    sizes = responsibilities.sum(axis=0)
    means = responsibilities.T @ rows / sizes[:, None]
    moved = (mixture.loadings @ (mixture.means - means)[:, :, None])[:, :, 0]
    projections = passed.projections + moved
    weighted = (responsibilities[:, :, None] * projections).reshape(len(rows), -1)
    # W_g S_g, where S_g is the covariance under the responsibilities: around the weighted mean the
    # weighted projections sum to zero, so that the rows need no centring.
    spread = (weighted.T @ rows).reshape(mixture.loadings.shape) / sizes[:, None, None]
    traces = responsibilities.T @ squares / sizes - (means**2).sum(axis=1)

    inverses = passed.inverses
    scaled = inverses @ spread
    # Second moment of the latent variables; parameter expansion makes it the identity again.
    moments = scaled @ mixture.loadings.transpose(0, 2, 1) @ inverses
    moments += mixture.noise[:, None, None] * inverses
    roots = np.linalg.cholesky((moments + moments.transpose(0, 2, 1)) / 2)
    loadings = np.linalg.solve(roots, scaled)
    # What the loadings explain of the trace: tr(scaledᵀ A⁻¹ scaled), with A = roots rootsᵀ.
    left_over = np.maximum(traces - np.einsum("gkp,gkp->g", loadings, loadings), 0.0)
    a, b = prior
    noise = (sizes * left_over + 2 * b) / (sizes * mixture.dimension + 2 * a)
    return replace(mixture, weights=sizes / len(rows), means=means, loadings=loadings, noise=noise)


@dataclass(frozen=True)
class Result:
    """A fitted mixture and how EM got there."""

    mixture: Mixture
    objectives: Array
    n_iter: int
    converged: bool
    stop_reason: str


def iterate(
    rows: Array, mixture: Mixture, prior: tuple[float, float], max_iter: int, tol: float
) -> Result:
    """EM until two passes running gain fewer than ``tol`` nats an entry.

    The penalised likelihood never falls. Where a component loses samples and has to be reduced,
    the model changes, and its path starts anew.
    """
    squares = np.einsum("ij,ij->i", rows, rows)
    enough = tol * len(rows) * mixture.dimension
    passed = expectation(rows, squares, mixture)
    objectives: list[float] = []
    n_iter, flat, converged = 0, 0, False
    while n_iter < max_iter and not converged:
        responsibilities = passed.responsibilities
        while (reduced := reduce(mixture, responsibilities.sum(axis=0))) is not None:
            mixture, objectives, flat = reduced, [], 0
            passed = expectation(rows, squares, mixture)
            responsibilities = passed.responsibilities
        mixture = maximization(rows, squares, passed, responsibilities, mixture, prior)
        passed = expectation(rows, squares, mixture)
        objectives.append(float(passed.log_likelihoods.sum()) + log_prior(mixture, prior))
        n_iter += 1
        gain = objectives[-1] - objectives[-2] if len(objectives) > 1 else np.inf
        flat = flat + 1 if tol > 0 and gain < enough else 0
        converged = flat >= 2
    reason = (
        f"converged: two passes running gained fewer than tol={tol:g} nats an entry"
        if converged
        else f"reached max_iter={max_iter} while a pass still gained more than tol={tol:g} nats an "
        "entry"
    )
    return Result(mixture, np.array(objectives), n_iter, converged, reason)


def most_loadings(sizes: Array, n_components: int, dimension: int) -> Array:
    """Loadings that components of these (effective) sizes can carry.

    A component of n samples has a covariance of rank n - 1, and one direction must be left for the
    noise; one of P loadings would leave it none.
    """
    most = np.minimum(np.floor(sizes + 1e-6) - 2, min(n_components, dimension - 1))
    return np.maximum(most, 0).astype(int)


def reduce(mixture: Mixture, sizes: Array) -> Mixture | None:
    """Take loadings from components that became too small for them; None where none did.

    A component with less than two samples is taken out.
    """
    kept = sizes >= 2 - 1e-6
    if not kept.any():
        kept[np.argmax(sizes)] = True
    n_components = mixture.loadings.shape[1]
    most = np.minimum(
        mixture.latent_dimensions, most_loadings(sizes, n_components, mixture.dimension)
    )
    if kept.all() and np.array_equal(most, mixture.latent_dimensions):
        return None
    loadings = canonical(mixture.loadings)
    loadings[np.arange(n_components) >= most[:, None]] = 0.0
    return Mixture(
        mixture.weights[kept] / mixture.weights[kept].sum(),
        mixture.means[kept],
        loadings[kept],
        mixture.noise[kept],
        most[kept],
        mixture.dimension,
    )


def canonical(loadings: Array) -> Array:
    """Rotate loadings, which changes no covariance: orthogonal, falling, of fixed sign."""
    _, rotations = np.linalg.eigh(loadings @ loadings.transpose(0, 2, 1))
    rotated = (rotations.transpose(0, 2, 1) @ loadings)[:, ::-1]
    largest = np.take_along_axis(rotated, np.abs(rotated).argmax(axis=2)[:, :, None], axis=2)
    return rotated * np.where(largest < 0, -1.0, 1.0)


def seed_by_subspaces(
    rows: Array, n_mixtures: int, n_components: int, random_state: np.random.RandomState
) -> Array:
    """A clustering by local subspaces, seeded as k-means++ seeds its centres.

    The neighbours of a drawn sample span an affine subspace; the next sample is drawn by its
    squared distance from those so far; in the end each sample joins the nearest subspace. Unlike
    k-means this tells components apart that overlap around their means.
    """
    n_samples = len(rows)
    squares = np.einsum("ij,ij->i", rows, rows)
    n_neighbours = min(2 * (n_components + 1), max(n_samples // n_mixtures, 2))
    distances = np.empty((n_mixtures, n_samples))
    for g in range(n_mixtures):
        nearest = distances[:g].min(axis=0) if g else np.ones(n_samples)
        total = nearest.sum()
        drawn = random_state.choice(n_samples, p=nearest / total if total > 0 else None)
        to_drawn = squares - 2 * (rows @ rows[drawn])
        neighbours = rows[np.argpartition(to_drawn, n_neighbours - 1)[:n_neighbours]]
        mean = neighbours.mean(axis=0)
        _, _, directions = np.linalg.svd(neighbours - mean, full_matrices=False)
        within = (rows - mean) @ directions[:n_components].T
        away = squares - 2 * (rows @ mean) + mean @ mean
        distances[g] = np.maximum(away - np.einsum("ij,ij->i", within, within), 0.0)
    return distances.argmin(axis=0)


def start(
    rows: Array, labels: Array, n_components: int, dimension: int, prior: tuple[float, float]
) -> Mixture:
    """The mixture that a clustering of the samples gives: PPCA of each cluster in closed form.

    Clusters of less than two samples go to the nearest of the others.
    """
    clusters, sizes = np.unique(labels, return_counts=True)
    kept = clusters[sizes >= 2]
    if len(kept) < len(clusters):
        if not len(kept):
            labels = np.zeros(len(rows), dtype=int)
        else:
            means = np.array([rows[labels == cluster].mean(axis=0) for cluster in kept])
            distances = (means**2).sum(axis=1) - 2 * (rows @ means.T)
            labels = np.where(np.isin(labels, kept), labels, kept[distances.argmin(axis=1)])
    clusters, sizes = np.unique(labels, return_counts=True)
    a, b = prior
    most = most_loadings(sizes, n_components, dimension)
    means = np.array([rows[labels == cluster].mean(axis=0) for cluster in clusters])
    loadings = np.zeros((len(clusters), n_components, rows.shape[1]))
    noise = np.zeros(len(clusters))
    for g, (cluster, size, k) in enumerate(zip(clusters, sizes, most, strict=True)):
        centred = rows[labels == cluster] - means[g]
        squares, directions = _principal(centred, k)
        left_over = max(float(np.vdot(centred, centred)) - squares.sum(), 0.0)
        noise[g] = (left_over + 2 * b) / (size * (dimension - k) + 2 * a)
        carried = np.sqrt(np.maximum(squares / size - noise[g], 0.0))
        loadings[g, :k] = carried[:, None] * directions
    return Mixture(sizes / len(rows), means, loadings, noise, most, dimension)


def _principal(centred: Array, k: int) -> tuple[Array, Array]:
    """Squared leading singular values and right singular vectors, from the smaller Gram matrix."""
    wide = centred.shape[0] < centred.shape[1]
    values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    squares, directions = np.maximum(values[::-1][:k], 0.0), vectors[:, ::-1][:, :k].T
    if wide:
        lengths = np.sqrt(squares)[:, None]
        # A direction without variance carries nothing, whichever it is.
        directions = directions @ centred / np.where(lengths > 0, lengths, 1.0)
    return squares, directions

"""Planted unions of subspaces, written for the tests of the subspace clusterings."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


def independent_subspaces(
    rng: np.random.Generator,
    n_subspaces: int = 5,
    dimension: int = 4,
    n_entries: int = 60,
    n_samples: int = 40,
) -> tuple[Array, Labels]:
    """Samples of random subspaces, ``n_samples`` from each; independent with probability 1."""
    parts = [
        rng.standard_normal((n_samples, dimension))
        @ np.linalg.qr(rng.standard_normal((n_entries, dimension)))[0].T
        for _ in range(n_subspaces)
    ]
    return np.concatenate(parts), np.repeat(np.arange(n_subspaces), n_samples)


def with_gross_samples(
    rng: np.random.Generator, X: Array, share: float, size: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Dense noise of ``size`` times the samples' own length on a share of them; and which."""
    hit = np.zeros(len(X), dtype=bool)
    hit[rng.permutation(len(X))[: round(share * len(X))]] = True
    noise = rng.standard_normal((hit.sum(), X.shape[1]))
    noise *= size * np.sqrt(np.mean(np.sum(X**2, axis=1)) / X.shape[1])
    X = X.copy()
    X[hit] += noise
    return X, hit


def with_gross_entries(
    rng: np.random.Generator, X: Array, share: float, n_entries: int
) -> tuple[Array, NDArray[np.bool_]]:
    """Spikes in ``n_entries`` entries of a share of the samples; and which samples."""
    hit = np.zeros(len(X), dtype=bool)
    hit[rng.permutation(len(X))[: round(share * len(X))]] = True
    X, spike = X.copy(), 3 * np.abs(X).max()
    for i in np.flatnonzero(hit):
        X[i, rng.permutation(X.shape[1])[:n_entries]] += spike * rng.choice([-1, 1], n_entries)
    return X, hit


def rigid_motions(
    rng: np.random.Generator,
    n_motions: int,
    n_frames: int = 30,
    n_points: int = 50,
    noise: float = 0.01,
) -> tuple[Array, Labels]:
    """Tracks (points × frames × 2) of rigid bodies that turn and move, under a parallel camera.

    The tracks of a body lie in an affine subspace of dimension 3. The noise counts in deviations
    of all coordinates.
    """
    tracks = []
    for _ in range(n_motions):
        points = rng.uniform(-1, 1, (n_points, 3))
        turns = Rotation.from_rotvec(_smooth_path(rng, n_frames)).as_matrix()
        places = np.einsum("fij,pj->pfi", turns, points) + _smooth_path(rng, n_frames)
        tracks.append(places[:, :, :2])
    X = np.concatenate(tracks)
    X += noise * X.std() * rng.standard_normal(X.shape)
    return X, np.repeat(np.arange(n_motions), n_points)


def _smooth_path(rng: np.random.Generator, n_frames: int) -> Array:
    times = np.linspace(0, np.pi, n_frames)[:, None]
    return sum(
        rng.standard_normal(3) / k * np.sin(k * times + rng.uniform(0, 2 * np.pi, 3))
        for k in (1, 2, 3)
    )

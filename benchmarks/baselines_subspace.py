"""LRR, SSC and MixturePPCA: seconds, peers measured in the same run, and the choice of features.

    python benchmarks/baselines_subspace.py [--part lrr ssc mixture features] [--threads 1]

Samples: 700 planted in seven subspaces of dimension 8 in R^10800 with noise, and, with TENVEC_DATA
naming the folder of real data, up to 700 silhouette clips (30 × 30 × 12) of Weizmann. Peers:

- LRR: no package is on PyPI. The paper's inexact ALM (Algorithm 1 and its section 4.2), written
  here as the public codes have it: samples of full size, an SVD an iteration, penalty × 1.1.
- SSC: ChongYou/subspace-clustering is not packaged. Its way is written here, scikit-learn's LARS a
  sample with the active support of You et al. 2016; also LARS on the Gram matrix, and ``spams``
  where it is installed. These run on every ``--every``-th sample, and are scaled up.
- MixturePPCA: ``ppca-rs`` (Rust, on PyPI) where it is installed.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import PCA as ScikitPCA
from sklearn.decomposition import sparse_encode
from sklearn.linear_model import lars_path_gram
from threadpoolctl import threadpool_limits

from tenvec.baselines import LRR, SSC, MixturePPCA
from tenvec.evaluation import clustering_accuracy, nearest_neighbour_accuracy, summarize_runs

Array = np.ndarray


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def cases() -> Iterator[tuple[str, Array, Array, int]]:
    rng = np.random.default_rng(0)
    parts = [
        rng.standard_normal((100, 8)) @ np.linalg.qr(rng.standard_normal((10800, 8)))[0].T
        for _ in range(7)
    ]
    X = np.concatenate(parts)
    X += 0.02 * rng.standard_normal(X.shape)
    yield "planted", X, np.repeat(np.arange(7), 100), 7
    if "TENVEC_DATA" in os.environ:
        from tenvec.datasets import load_weizmann

        clips = load_weizmann()
        kept = np.random.default_rng(0).permutation(len(clips.data))[:700]
        X, y = np.asarray(clips.data, dtype=np.float64)[kept], clips.target[kept]
        yield "silhouettes", X.reshape(len(X), -1), y, len(np.unique(y))


def in_own_unit(X: Array) -> Array:
    return X / np.sqrt(np.mean(np.sum(X**2, axis=1)))


# ------------------------------------------------------------------ LRR


def papers_lrr(X: Array, regularization: float, max_iter: int) -> tuple[Array, int]:
    """The paper's inexact ALM with samples of full size, its parameters and its Z = Q Z'."""
    Y = X.T
    Q = np.linalg.svd(X, full_matrices=False)[0]
    A = Y @ Q
    inverse = np.linalg.inv(A.T @ A + np.eye(A.shape[1]))
    Z = np.zeros((A.shape[1], len(X)))
    E, Y1, Y2 = np.zeros_like(Y), np.zeros_like(Y), np.zeros_like(Z)
    mu, n_iter = 1e-6, 0
    while n_iter < max_iter:
        n_iter += 1
        U, s, Vt = np.linalg.svd(Z + Y2 / mu, full_matrices=False)
        J = (U * np.maximum(s - 1 / mu, 0)) @ Vt
        Z = inverse @ (A.T @ (Y - E) + J + (A.T @ Y1 - Y2) / mu)
        left = Y - A @ Z
        W = left + Y1 / mu
        lengths = np.linalg.norm(W, axis=0)
        E = W * np.maximum(1 - regularization / mu / np.maximum(lengths, 1e-300), 0)
        gap1, gap2 = left - E, Z - J
        if max(np.abs(gap1).max(), np.abs(gap2).max()) < 1e-8:
            break
        Y1 += mu * gap1
        Y2 += mu * gap2
        mu = min(1.1 * mu, 1e10)
    return Q @ Z, n_iter


def lrr() -> None:
    print("\nLRR, regularization 1: seconds, iterations, objective, accuracy")
    for name, X, y, n_clusters in cases():
        Y = in_own_unit(X).T

        def objective(Z: Array, Y: Array = Y) -> float:
            return float(np.linalg.norm(Z, "nuc") + np.linalg.norm(Y - Y @ Z, axis=0).sum())

        model = LRR(n_clusters, random_state=0)
        seconds, _ = timed(lambda model=model, X=X: model.fit(X))
        print(
            f"  {name:12} tenvec              {seconds:7.1f} s {model.n_iter_:5d}"
            f"  {objective(model.coefficients_):.4f}  {clustering_accuracy(y, model.labels_):.3f}"
        )
        # The samples in coordinates of their span: the same iterates, and a chance for the peer.
        small = np.linalg.qr(Y)[1].T
        seconds, (Z, n_iter) = timed(lambda small=small: papers_lrr(small, 1.0, 1000))
        print(f"  {name:12} paper, coordinates  {seconds:7.1f} s {n_iter:5d}  {objective(Z):.4f}")
        part = 8
        several, _ = timed(lambda Y=Y, part=part: papers_lrr(Y.T, 1.0, part))
        setup, _ = timed(lambda Y=Y: papers_lrr(Y.T, 1.0, 1))
        whole = setup + (n_iter - 1) * (several - setup) / (part - 1)
        print(
            f"  {name:12} paper, full samples {whole:7.1f} s {n_iter:5d}  (scaled up from {part}"
            " iterations)",
            flush=True,
        )


# ------------------------------------------------------------------ SSC


def active_support(X: Array, i: int, weight: float, size: int = 100) -> Array:
    """One column by LARS on an active support that grows by the samples that violate optimality."""
    correlation = np.abs(X @ X[i])
    correlation[i] = -1
    support = np.argpartition(-correlation, size)[:size]
    c, best = np.zeros((1, size)), np.inf
    for _ in range(40):
        c = sparse_encode(X[i : i + 1], X[support], algorithm="lasso_lars", alpha=weight)
        left = (X[i] - c[0] @ X[support]) / weight
        value = np.abs(c).sum() + weight / 2 * np.sum(left**2)
        pull = np.abs(X @ left)
        pull[support], pull[i] = 0, 0
        added = np.flatnonzero(pull > 1 + 1e-10)
        if best - value < 1e-10 * best or not added.size:
            break
        best, active = value, support[np.abs(c[0]) > 1e-10]
        size = max(size, active.size + 20)
        room = size - active.size
        support = np.concatenate([active, added[np.argsort(-pull[added])[:room]]])
    column = np.zeros(len(X))
    column[support] = c[0]
    return column


def ssc(every: int) -> None:
    print("\nSSC: seconds, iterations, accuracy, largest difference of a coefficient from ours")
    for name, X, y, n_clusters in cases():
        rows = in_own_unit(X)
        gram = rows @ rows.T
        products = np.abs(gram - np.diag(np.diagonal(gram)))
        weight = products.max(axis=0).min() / 20.0
        chosen = range(0, len(X), every)
        ours = np.zeros_like(gram)
        for options in (
            {},
            {"tol": 1e-6, "max_iter": 20000},
            {"affine": True},
            {"alpha_outliers": 20.0},
        ):
            model = SSC(n_clusters, random_state=0, **options)
            seconds, _ = timed(lambda model=model, X=X: model.fit(X))
            note = "" if model.converged_ else "  (not converged)"
            print(
                f"  {name:12} tenvec {options or ''!s:35} {seconds:7.1f} s {model.n_iter_:5d}"
                f"  {clustering_accuracy(y, model.labels_):.3f}{note}",
                flush=True,
            )
            if "tol" in options:
                ours = model.coefficients_

        def by_gram(i: int, gram: Array = gram, weight: float = weight) -> Array:
            others = np.delete(np.arange(len(gram)), i)
            column = np.zeros(len(gram))
            column[others] = lars_path_gram(
                gram[others, i],
                gram[np.ix_(others, others)],
                n_samples=1,
                alpha_min=weight,
                method="lasso",
                return_path=False,
            )[2]
            return column

        peers = {
            "LARS, active support": lambda i, rows=rows, w=weight: active_support(rows, i, w),
            "LARS, Gram matrix": by_gram,
        }
        try:
            import spams
        except ImportError:
            print("  spams is not installed: left out")
        else:
            dictionary = np.asfortranarray(rows.T)

            def by_spams(i: int, D: Array = dictionary, weight: float = weight) -> Array:
                y, kept = D[:, i : i + 1].copy(order="F"), D[:, i].copy()
                D[:, i] = 0
                column = spams.lasso(y, D=D, lambda1=weight, lambda2=0.0).toarray()[:, 0]
                D[:, i] = kept
                return column

            peers["spams"] = by_spams
        for peer, solve in peers.items():
            seconds, columns = timed(lambda solve=solve, chosen=chosen: [solve(i) for i in chosen])
            gap = max(np.abs(c - ours[:, i]).max() for c, i in zip(columns, chosen, strict=True))
            print(
                f"  {name:12} {peer:42} {seconds * len(X) / len(chosen):7.1f} s"
                f" (scaled up from {len(chosen)} samples)  {gap:.1e}",
                flush=True,
            )


# ------------------------------------------------------------------ MixturePPCA


def mixture() -> None:
    print("\nMixturePPCA, G = 3: seconds for 20 passes, and the log-likelihood an entry")
    try:
        import ppca_rs
    except ImportError:
        ppca_rs = None
        print("  ppca-rs is not installed: left out")
    for n, size, k in ((2000, 60, 5), (1500, 400, 20), (760, 1024, 50)):
        rng = np.random.default_rng(0)
        X = np.concatenate(
            [
                rng.standard_normal((n // 3, k)) @ rng.standard_normal((k, size))
                + rng.standard_normal(size)
                for _ in range(3)
            ]
        )
        X += rng.standard_normal(X.shape)
        model = MixturePPCA(k, n_mixtures=3, n_init=1, max_iter=20, tol=0, random_state=0)
        seconds, _ = timed(lambda model=model, X=X: model.fit(X))
        print(f"  {X.shape!s:12} K={k:3d} tenvec  {seconds:7.2f} s  {model.score(X) / size:.4f}")
        full = MixturePPCA(k, n_mixtures=3, random_state=0)
        seconds, _ = timed(lambda full=full, X=X: full.fit(X))
        print(
            f"  {X.shape!s:12} K={k:3d} tenvec, to convergence, 4 starts"
            f"  {seconds:7.2f} s  {full.score(X) / size:.4f}"
        )
        if ppca_rs is not None:
            data = ppca_rs.Dataset(X, weights=None)
            passes = 20 if X.size < 200_000 else 2

            def peer(
                data: Any = data, k: int = k, X: Array = X, passes: int = passes, rng: Any = rng
            ) -> Any:
                spread = [
                    ppca_rs.PPCAModel(
                        isotropic_noise=float(X.std()),
                        transform=rng.standard_normal((X.shape[1], k)),
                        mean=X[rng.integers(len(X))].reshape(-1, 1),
                    )
                    for _ in range(3)
                ]
                found = ppca_rs.PPCAMix(spread, np.zeros(3))
                for _ in range(passes):
                    found = found.iterate(data)
                return found

            seconds, found = timed(peer)
            print(
                f"  {X.shape!s:12} K={k:3d} ppca-rs {seconds * 20 / passes:7.2f} s"
                f"  {found.llk(data) / X.size:.4f}  ({passes} passes run)",
                flush=True,
            )


def features(n_runs: int) -> None:
    """1-NN on what the mixture could give a classifier, on the paper's face protocols."""
    if "TENVEC_DATA" not in os.environ:
        print("\nfeatures: TENVEC_DATA is not set, left out")
        return
    from tenvec.datasets import load_ar, load_extended_yale_b, load_feret

    def split(data: Any, seed: int, persons: int | None, train: int) -> tuple[Array, ...]:
        rng = np.random.default_rng(seed)
        people = np.unique(data.target)
        people = people if persons is None else rng.permutation(people)[:persons]
        first, rest = [], []
        for person in people:
            index = np.flatnonzero(data.target == person)
            index = rng.permutation(index) if persons is None else index
            first += list(index[:train])
            rest += list(index[train:])
        X = np.asarray(data.data, dtype=np.float64)
        return X[first], data.target[first], X[rest], data.target[rest]

    protocols = {
        "Yale(20)": (load_extended_yale_b(), None, 20),
        "FERET(30)": (load_feret(), 30, 5),
        "AR(30)": (load_ar(), 30, 7),
    }
    print(f"\nFeatures of MixturePPCA: 1-NN, Euclidean / cosine, mean of {n_runs} seeds")
    print(
        "  posterior means: by component (transform) | summed | rebuilt samples | whitened PCA(K)"
    )
    for name, (data, persons, train) in protocols.items():
        for n_mixtures, k in ((1, 50), (2, 10), (2, 20), (2, 50), (3, 20), (5, 20)):
            scores: dict[str, list[float]] = {}
            for seed in range(n_runs):
                X, y, X_new, y_new = split(data, seed, persons, train)
                model = MixturePPCA(k, n_mixtures=n_mixtures, random_state=seed).fit(X)
                pair = model.transform(X), model.transform(X_new)
                local = n_mixtures * k if model.n_mixtures_ == n_mixtures else model.n_mixtures_ * k
                summed = [H[:, :local].reshape(len(H), -1, k).sum(axis=1) for H in pair]
                rebuilt = [model.inverse_transform(H).reshape(len(H), -1) for H in pair]
                white = ScikitPCA(k, whiten=True).fit(X.reshape(len(X), -1))
                whitened = [white.transform(Z.reshape(len(Z), -1)) for Z in (X, X_new)]
                choices = {
                    "local": pair,
                    "summed": summed,
                    "rebuilt": rebuilt,
                    "whitened": whitened,
                }
                for choice, (H, H_new) in choices.items():
                    for metric in ("euclidean", "cosine"):
                        scores.setdefault(f"{choice} {metric}", []).append(
                            nearest_neighbour_accuracy(H, y, H_new, y_new, metric)
                        )
            cells = " | ".join(
                "{:.3f} / {:.3f}".format(
                    summarize_runs(scores[f"{choice} euclidean"]).mean,
                    summarize_runs(scores[f"{choice} cosine"]).mean,
                )
                for choice in ("local", "summed", "rebuilt", "whitened")
            )
            print(f"  {name:10} G={n_mixtures} K={k:3d}  {cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ["lrr", "ssc", "mixture", "features"]
    parser.add_argument("--part", nargs="+", choices=parts, default=parts)
    parser.add_argument("--threads", type=int, default=None, help="BLAS threads; default: all")
    parser.add_argument("--every", type=int, default=20, help="samples the SSC peers skip")
    parser.add_argument("--runs", type=int, default=3, help="seeds of the features' table")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(arguments.threads):
        if "lrr" in arguments.part:
            lrr()
        if "ssc" in arguments.part:
            ssc(arguments.every)
        if "mixture" in arguments.part:
            mixture()
        if "features" in arguments.part:
            features(arguments.runs)


if __name__ == "__main__":
    main()

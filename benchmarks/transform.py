"""Features of new samples: one large sample, and many small ones beside scikit-learn's PCA.

OPENBLAS_NUM_THREADS=2 python benchmarks/transform.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from tenvec import TBVDR


def milliseconds(run: Callable[[], Any], repeats: int) -> np.ndarray:
    """Times of single calls, after a warm-up."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - begin))
    return np.array(times)


def main() -> None:
    rng = np.random.default_rng(0)
    model = TBVDR(100, rank=100, init="normal", max_iter=2, tol=0, random_state=0)
    model.fit(rng.standard_normal((120, 64, 64, 32)))
    sample = rng.standard_normal((1, 64, 64, 32))
    times = milliseconds(lambda: model.transform(sample), 300)
    print(
        f"one sample of 64 × 64 × 32, K = R = 100: median {np.median(times):.2f} ms, "
        f"99th percentile {np.percentile(times, 99):.2f} ms"
    )
    for dtype in (np.float64, np.float32):
        X = rng.standard_normal((100_000, 32, 32)).astype(dtype)
        flat = X.reshape(len(X), -1)
        model = TBVDR(100, rank=100, init="normal", max_iter=2, tol=0, random_state=0)
        model.fit(X[:5000])
        pca = PCA(100, svd_solver="covariance_eigh").fit(flat[:5000])
        ours, theirs = [], []
        for _ in range(5):  # in turn, so that both meet the same machine
            ours.append(milliseconds(lambda m=model, X=X: m.transform(X), 1)[0])
            theirs.append(milliseconds(lambda p=pca, X=flat: p.transform(X), 1)[0])
        print(
            f"100 000 samples of 32 × 32, {np.dtype(dtype).name}: {np.median(ours):.0f} ms, "
            f"scikit-learn's PCA {np.median(theirs):.0f} ms, "
            f"ratio {np.median(ours) / np.median(theirs):.2f}"
        )


if __name__ == "__main__":
    main()

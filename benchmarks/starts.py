"""Five starts that share their passes over the data, against one after the other.

    OPENBLAS_NUM_THREADS=2 python benchmarks/starts.py

Ten passes each, R = K, samples that are read at every pass (more entries than samples); seconds,
smallest of three runs.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

import tenvec.samples.shared
from tenvec import TBVDR

STARTS = 5
SIZES = [(713, (30, 30, 12)), (500, (64, 64))]
COMPONENTS = (5, 10, 20, 50, 100)


def seconds(X: np.ndarray, k: int, widest: int) -> float:
    """Of a fit whose shared products have so many columns at most."""
    tenvec.samples.shared.WIDEST = widest
    best = np.inf
    for _ in range(3):
        model = TBVDR(k, rank=k, init="normal", n_init=STARTS, random_state=0, max_iter=10, tol=0)
        begin = time.perf_counter()
        model.fit(X)
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    widest = tenvec.samples.shared.WIDEST
    for n_samples, shape in SIZES:
        weights, basis = rng.standard_normal((n_samples, 30)), rng.standard_normal((30, *shape))
        X = np.tensordot(weights, basis, 1) + 3 * rng.standard_normal((n_samples, *shape))
        for k in COMPONENTS:
            alone, together = seconds(X, k, 1), seconds(X, k, widest)
            print(
                f"{n_samples} × {'×'.join(map(str, shape)):9} K = {k:3}: one by one {alone:.3f} s, "
                f"together {together:.3f} s, {together / alone:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

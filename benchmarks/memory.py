"""Peak memory of a fit above the data, against 3 · (M + P) · max(K, R) numbers.

    python benchmarks/memory.py

Measured with tracemalloc, which NumPy reports its arrays to.
"""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np

from tenvec import TBVDR

CASES = [
    # n_samples, sample shape, K, R
    (713, (30, 30, 12), 50, 50),
    (713, (30, 30, 12), 50, 100),
    (300, (64, 64), 100, 100),
    (300, (64, 64), 100, 200),
    (200, (32, 32, 32), 20, 40),
]


def main() -> None:
    warnings.simplefilter("ignore")
    print("M, shape, K, R: peak above the data / allowed")
    for n_samples, shape, k, rank in CASES:
        rng = np.random.default_rng(0)
        samples = rng.standard_normal((n_samples, *shape))
        for init in ("svd", "normal"):
            model = TBVDR(k, rank=rank, init=init, random_state=0, max_iter=5, tol=0)
            tracemalloc.start()
            model.fit(samples)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            allowed = 3 * (n_samples + samples[0].size) * max(k, rank) * 8
            print(
                f"{n_samples}, {shape}, {k}, {rank}, {init}: {peak / 2**20:.1f} MiB / "
                f"{allowed / 2**20:.1f} MiB = {peak / allowed:.2f}"
            )


if __name__ == "__main__":
    main()

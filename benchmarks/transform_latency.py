"""Milliseconds to transform one sample of 64 × 64 × 32 with K = R = 100.

python benchmarks/transform_latency.py
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from tenvec import TBVDR


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    shape = (64, 64, 32)
    model = TBVDR(100, rank=100, init="normal", random_state=0, max_iter=2)
    model.fit(rng.standard_normal((110, *shape)))
    samples = rng.standard_normal((20, 1, *shape))
    for sample in samples:
        model.transform(sample)
    milliseconds = []
    for index in range(300):
        start = time.perf_counter()
        model.transform(samples[index % 20])
        milliseconds.append(1e3 * (time.perf_counter() - start))
    median, late = np.percentile(milliseconds, [50, 99])
    print(f"one sample of {shape}, K = R = 100: median {median:.2f} ms, 99th percentile {late:.2f}")


if __name__ == "__main__":
    main()

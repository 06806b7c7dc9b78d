"""The two products of a pass in their equal forms: which one this machine's BLAS computes fastest.

    OPENBLAS_NUM_THREADS=2 python benchmarks/products.py
    OPENBLAS_CORETYPE=SKYLAKEX OPENBLAS_NUM_THREADS=2 python benchmarks/products.py

Milliseconds, medians of 30. ``tenvec.samples.products`` chooses by these figures.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from iteration import medians
from threadpoolctl import threadpool_info

SIZES = [
    (1520, 1024, 50),
    (1520, 1024, 100),
    (1520, 1024, 200),
    (713, 10_800, 50),
    (8192, 1024, 20),
]


def main() -> None:
    kernels = {library.get("architecture") for library in threadpool_info()}
    print("kernels:", ", ".join(sorted(filter(None, kernels))))
    print("type     M, P, K                 Y C, YᵀU    CᵀYᵀ, UᵀY   as written: Y C, UᵀY")
    for dtype in (np.float64, np.float32):
        for n_samples, n_entries, k in SIZES:
            rng = np.random.default_rng(0)
            Y = rng.standard_normal((n_samples, n_entries), dtype=dtype)
            C = rng.standard_normal((n_entries, k), dtype=dtype)
            times = medians(
                {
                    "columns": partial(lambda Y, C: Y.T @ (Y @ C), Y, C),
                    "rows": partial(lambda Y, C: (C.T @ Y.T) @ Y, Y, C),
                    "written": partial(lambda Y, C: (Y @ C).T @ Y, Y, C),
                },
                30,
            )
            print(
                f"{np.dtype(dtype).name:8} {n_samples:5} {n_entries:6} {k:4}      "
                f"{times['columns']:10.2f} {times['rows']:12.2f} {times['written']:14.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

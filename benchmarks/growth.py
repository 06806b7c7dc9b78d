"""How the time of a fit grows: with the samples, the entries, K, R and the order. Draws a picture.

    OPENBLAS_NUM_THREADS=2 python benchmarks/growth.py

Ten passes of px-em in float32, streamed or compressed as the estimator chooses; each point is the
smallest of ``--repeats`` runs, the slope that of a line through the upper half of the points.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from tenvec import TBVDR

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

PASSES = 10


def seconds(n_samples: int, shape: tuple[int, ...], k: int, rank: int, repeats: int) -> float:
    """Smallest time of a fit of ten passes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, *shape), dtype=np.float32)
    model = TBVDR(k, rank=rank, init="normal", random_state=0, tol=0, max_iter=PASSES)
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        model.fit(X)
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/images/growth.png"))
    options = parser.parse_args()
    series: list[tuple[str, Iterable[int], Callable[[int], tuple[Any, ...]]]] = [
        (
            "samples M  (32 × 32, K = R = 50)",
            (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
            lambda m: (m, (32, 32), 50, 50),
        ),
        (
            "entries P  (M = 1000, square, K = R = 50)",
            (256, 1024, 4096, 16_384, 65_536),
            lambda p: (1000, (round(p**0.5), round(p**0.5)), 50, 50),
        ),
        (
            "features K  (M = 2000, 32 × 32, R = 400)",
            (10, 20, 50, 100, 200, 400),
            lambda k: (2000, (32, 32), k, 400),
        ),
        (
            "rank R  (M = 2000, 32 × 32, K = 50)",
            (50, 100, 200, 400, 800),
            lambda r: (2000, (32, 32), 50, r),
        ),
        (
            "order N  (M = 2000, P = 4096, K = R = 50)",
            (1, 2, 3, 4, 6),
            lambda n: (2000, (round(4096 ** (1 / n)),) * n, 50, 50),
        ),
    ]
    figure, axes = plt.subplots(1, 5, figsize=(17, 3.6), layout="constrained")
    for axis, (name, values, arguments) in zip(axes, series, strict=True):
        values = np.array(list(values))
        times = np.array([seconds(*arguments(int(v)), options.repeats) for v in values])
        print(name, dict(zip(values.tolist(), times.round(3).tolist(), strict=True)), flush=True)
        axis.plot(values, times, "o-", color="tab:blue")
        axis.set_title(name, fontsize=9)
        axis.set_ylim(times.min() / 2, times.max() * 2)
        if name.startswith("order"):
            axis.set_yscale("log")
            axis.set_xticks(values)
        else:
            axis.loglog()
            axis.xaxis.set_minor_formatter(NullFormatter())
            if values[-1] < 1000:  # less than two decades: every point has its label
                axis.set_xticks(values, [str(value) for value in values])
            upper = slice(len(values) // 2, None)
            slope = np.polyfit(np.log(values[upper]), np.log(times[upper]), 1)[0]
            axis.text(0.05, 0.9, f"slope {slope:.2f}", transform=axis.transAxes)
            print(f"  slope {slope:.2f}")
    axes[0].set_ylabel(f"seconds, {PASSES} passes")
    figure.savefig(options.out, dpi=110)
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()

"""One iteration of px-em against its two bare matrix products, on the CPU.

    OPENBLAS_NUM_THREADS=2 python benchmarks/iteration.py

Streamed (no second moments), one sweep and ten, float64 and float32; medians. ``--profile`` adds
where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tenvec.learning.evidence import NoisePrior
from tenvec.learning.expectation import expectation
from tenvec.learning.initialization import start
from tenvec.learning.iteration import ParameterExpandedEM, finished
from tenvec.learning.maximization import maximization, whitened
from tenvec.learning.parameters import Parameters
from tenvec.samples.array import ArraySamples
from tenvec.samples.normalization import measure

SIZES = [
    (1520, (32, 32), 100),
    (1520, (32, 32), 200),
    (713, (30, 30, 12), 50),
    (20_000, (64, 64), 100),
]
TARGETS = [1.4, 1.5, 1.3, 1.1]


def medians(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Milliseconds of each, taken in turn so that all meet the same machine."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats + 1):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            times[name].append(1e3 * (time.perf_counter() - begin))
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    for (n_samples, shape, k), target in zip(SIZES, TARGETS, strict=True):
        for dtype in (np.float64, np.float32):
            X = np.random.default_rng(0).standard_normal((n_samples, *shape), dtype=dtype)
            flat = X.reshape(n_samples, -1)
            C = np.ascontiguousarray(flat[:k].T)
            normalization = measure(X, center=True, scale_axes=None)
            samples = ArraySamples(X, normalization)
            factors, wh = start(samples, k, k, "normal", 0, unit=normalization.unit, raw_unit=None)
            parameters = Parameters(factors, wh, 10.0)
            one = ParameterExpandedEM(NoisePrior(1e-6, 1e-6), 1e-4, 1)
            ten = replace(one, n_sweeps=10)
            for _ in range(3):
                parameters = one.update(samples, parameters).parameters
            moments = expectation(samples, parameters)
            wide = C.astype(np.float64)
            repeats = options.repeats * (1 if n_samples > 10_000 else 6)
            times = medians(
                {
                    "products": partial(lambda flat, C: (flat @ C).T @ flat, flat, C),
                    "pass": partial(samples.moments, wide),
                    "M-step": lambda m=moments, p=parameters: maximization(
                        *whitened(m, p, 1)[:2], 1
                    ),
                    "one": lambda s=samples, p=parameters, a=one: finished(s, a.update(s, p)),
                    "ten": lambda s=samples, p=parameters, a=ten: finished(s, a.update(s, p)),
                },
                repeats,
            )
            bare = times["products"]
            print(
                f"{n_samples:6} × {'×'.join(map(str, shape)):9} {k:4} {np.dtype(dtype).name:8}"
                f" products {bare:8.2f}  pass {times['pass']:8.2f}  M-step {times['M-step']:7.2f}"
                f"  one sweep {times['one']:8.2f} = {times['one'] / bare:5.2f} (≤ {target})"
                f"  ten sweeps {times['ten']:8.2f} = {times['ten'] / bare:5.2f}",
                flush=True,
            )
            if options.profile:
                profiler = cProfile.Profile()
                profiler.enable()
                for _ in range(10):
                    finished(samples, one.update(samples, parameters))
                profiler.disable()
                pstats.Stats(profiler).sort_stats("tottime").print_stats(14)


if __name__ == "__main__":
    main()

"""How often BayesianCP finds the planted rank, at the settings of Zhao, Zhang and Cichocki (2015).

    python benchmarks/bayesian_cp_rank.py [--runs 100] [--start-rank 30]

Order 3, size 30, rank 5, standard normal factors, SNR 20 dB, 0 / 30 / 60 % of the entries missing.
The error is that of the missing entries (of all, where none is missing) against the truth without
noise; coverage is the share of truths, and of fresh noisy readings, within 1.96 deviations.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

from tenvec.baselines import BayesianCP

SIZE, RANK, DECIBELS = 30, 5, 20.0


def planted(seed: int, missing: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((SIZE, RANK)) for _ in range(3)]
    truth = np.einsum("ir,jr,kr->ijk", *factors)
    deviation = float(np.sqrt(np.var(truth) * 10 ** (-DECIBELS / 10)))
    X = truth + deviation * rng.standard_normal(truth.shape)
    hidden = rng.random(truth.shape) < missing
    return truth, np.where(hidden, np.nan, X), hidden, deviation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--start-rank", type=int, default=30)
    arguments = parser.parse_args()
    for missing in (0.0, 0.3, 0.6):
        ranks: Counter[int] = Counter()
        errors, truths, readings, seconds, gains = [], [], [], [], []
        for seed in range(arguments.runs):
            truth, X, hidden, deviation = planted(seed, missing)
            start = time.perf_counter()
            model = BayesianCP(arguments.start_rank).fit(X)
            seconds.append(time.perf_counter() - start)
            ranks[model.n_components_] += 1
            gains.append(np.diff(model.lower_bounds_).min())
            where = hidden if missing else np.ones_like(hidden)
            means, deviations = model.predict(X, return_std=True)
            errors.append(np.linalg.norm((means - truth)[where]) / np.linalg.norm(truth[where]))
            own = np.sqrt(deviations**2 - model.noise_variance_)
            truths.append(np.mean(np.abs(truth - means)[where] < 1.96 * own[where]))
            fresh = truth + deviation * np.random.default_rng(seed + 10**6).standard_normal(X.shape)
            readings.append(np.mean(np.abs(fresh - means)[where] < 1.96 * deviations[where]))
        print(
            f"{missing:.0%} missing: rank {RANK} in {ranks[RANK]} of {arguments.runs} runs "
            f"{dict(sorted(ranks.items()))}; relative error mean {np.mean(errors):.4f}, largest "
            f"{max(errors):.4f}; coverage of the truth {np.mean(truths):.3f}, of new readings "
            f"{np.mean(readings):.3f}; smallest gain of a sweep {min(gains):.1e} nats; "
            f"{np.mean(seconds):.3f} s a fit",
            flush=True,
        )


if __name__ == "__main__":
    main()

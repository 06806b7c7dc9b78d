"""Seconds to the reconstruction error of CP-ALS after 100 sweeps: Extended Yale, K = R = 100.

    TENVEC_DATA=… python benchmarks/yale_speed.py

tensorly's ``parafac`` and pyttb's ``cp_als`` decompose the same (1520, 32, 32) array in the same
process; TBV-DR (uncentred, px-em) is timed from the call of ``fit`` to the pass that reaches each
one's error. All are medians of ``--repeats`` runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyttb
import tensorly
from sklearn.decomposition import PCA
from tensorly.decomposition import parafac

from tenvec import TBVDR
from tenvec.datasets import load_extended_yale_b

RANK = 100
SWEEPS = 100


def training_images(per_person: int = 40) -> np.ndarray:
    """The first images of each person, in the order of the file."""
    data = load_extended_yale_b()
    index = np.concatenate(
        [np.flatnonzero(data.target == person)[:per_person] for person in np.unique(data.target)]
    )
    return np.ascontiguousarray(data.data[index], dtype=np.float64)


def timed(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median seconds, and what the last run returned."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def tensorly_error(images: np.ndarray) -> float:
    """Relative error after the sweeps."""
    cp = parafac(
        images,
        RANK,
        n_iter_max=SWEEPS,
        tol=0,
        init="random",
        random_state=0,
        normalize_factors=False,
    )
    return float(np.linalg.norm(tensorly.cp_to_tensor(cp) - images) / np.linalg.norm(images))


def pyttb_error(images: np.ndarray) -> float:
    """Relative error after the sweeps."""
    np.random.seed(0)  # noqa: NPY002 - pyttb draws from the global generator
    tensor = pyttb.tensor(images)
    model, _, _ = pyttb.cp_als(tensor, RANK, maxiters=SWEEPS, stoptol=0, printitn=0)
    return float(np.linalg.norm(model.full().data - images) / np.linalg.norm(images))


def passes_to(error: float, images: np.ndarray) -> int:
    """Passes after which TBV-DR's reconstruction is as good."""
    model = TBVDR(RANK, rank=RANK, center=False, tol=0, max_iter=150).fit(images)
    reached = np.flatnonzero(model.reconstruction_scores_ >= 1 - error)
    if not len(reached):
        raise SystemExit(f"TBV-DR does not reach {error:.4f} in 150 passes")
    return int(reached[0]) + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    images = training_images()
    peers = {"tensorly parafac": tensorly_error, "pyttb cp_als": pyttb_error}
    for name, run in peers.items():
        theirs, error = timed(lambda run=run: run(images), repeats)
        passes = passes_to(error, images)
        model = TBVDR(RANK, rank=RANK, center=False, tol=0, max_iter=passes)
        ours, _ = timed(lambda model=model: model.fit(images), repeats)
        print(
            f"{name:17} {SWEEPS} sweeps: {theirs:.2f} s, error {error:.4f};  TBV-DR: {passes} "
            f"passes, {ours:.3f} s;  {theirs / ours:.1f} × faster"
        )
    seconds, model = timed(lambda: TBVDR(RANK, rank=RANK, center=False).fit(images), repeats)
    print(
        f"TBV-DR to its own end: {model.n_iter_} passes, {seconds:.2f} s, "
        f"error {1 - model.reconstruction_scores_[-1]:.4f}"
    )
    flat = images.reshape(len(images), -1)
    print(f"scikit-learn PCA({RANK}): {timed(lambda: PCA(RANK).fit(flat), repeats)[0]:.3f} s")


if __name__ == "__main__":
    main()

"""Seconds to the reconstruction error of CP-ALS after 100 sweeps, and to that of the paper's EM.

    TENVEC_DATA=… OPENBLAS_NUM_THREADS=2 python benchmarks/time_to_error.py

tensorly's ``parafac`` and pyttb's ``cp_als`` decompose the same array in the same process, from a
random start; TBV-DR (uncentred, px-em, K = R = 100, else defaults) is timed from the call of
``fit`` to the pass that reaches each one's error. Then, on Extended Yale, the time to the
reconstruction score at which ``algorithm="em"`` stops by the paper's rule, beside scikit-learn's
PCA. All are medians of ``--repeats`` runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyttb
import tensorly
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from tensorly.decomposition import parafac

from tenvec import TBVDR
from tenvec.datasets import load_ar, load_extended_yale_b, load_feret
from tenvec.paper import SETTINGS

RANK = 100
SWEEPS = 100


def first_images(data: Any, per_person: int, people: int | None = None) -> np.ndarray:
    """The first images of each person, in the order of the file."""
    persons = np.unique(data.target)[:people]
    index = np.concatenate(
        [np.flatnonzero(data.target == person)[:per_person] for person in persons]
    )
    return np.ascontiguousarray(data.data[index], dtype=np.float64)


def cases() -> Iterator[tuple[str, np.ndarray]]:
    """Names and arrays of samples."""
    yield "Yale, 40 images a person", first_images(load_extended_yale_b(), 40)
    yield "AR, 70 people", first_images(load_ar(), 7, 70)
    yield "FERET, 100 people", first_images(load_feret(), 5, 100)
    digits = load_digits().images
    triples = digits[: len(digits) // 3 * 3].reshape(-1, 3, 8, 8)
    yield "digits, three in a row", np.ascontiguousarray(np.moveaxis(triples, 1, 3))


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


def passes_to(error: float, images: np.ndarray, n_sweeps: int | None) -> int:
    """Passes after which TBV-DR's reconstruction is as good."""
    model = TBVDR(RANK, rank=RANK, center=False, tol=0, max_iter=150, n_sweeps=n_sweeps).fit(images)
    reached = np.flatnonzero(model.reconstruction_scores_ >= 1 - error)
    if not len(reached):
        raise SystemExit(f"TBV-DR does not reach {error:.4f} in 150 passes")
    return int(reached[0]) + 1


def ours_to(
    error: float, images: np.ndarray, repeats: int, n_sweeps: int | None = None
) -> tuple[float, int]:
    """Median seconds to an error, and passes."""
    passes = passes_to(error, images, n_sweeps)
    model = TBVDR(RANK, rank=RANK, center=False, tol=0, max_iter=passes, n_sweeps=n_sweeps)
    return timed(lambda: model.fit(images), repeats)[0], passes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--part", choices=["peers", "pca"], help="only one of the two")
    options = parser.parse_args()
    repeats = options.repeats
    warnings.simplefilter("ignore")
    peers = {"tensorly parafac": tensorly_error, "pyttb cp_als": pyttb_error}
    for case, images in cases() if options.part != "pca" else ():
        print(f"{case}, {images.shape}, K = R = {RANK}")
        for name, run in peers.items():
            theirs, error = timed(lambda run=run, images=images: run(images), repeats)
            for n_sweeps in (None, 5, 10):
                ours, passes = ours_to(error, images, repeats, n_sweeps)
                print(
                    f"  {name:17} {theirs:6.2f} s, error {error:.4f};  TBV-DR, "
                    f"{n_sweeps or 'default'} sweeps a pass: {passes} passes, {ours:.3f} s;  "
                    f"{theirs / ours:.1f} × faster",
                    flush=True,
                )
    if options.part == "peers":
        return
    images = next(cases())[1]
    em = TBVDR(RANK, **SETTINGS, random_state=0).fit(images)
    error = 1 - em.reconstruction_scores_[-1]
    ours, passes = ours_to(error, images, repeats)
    flat = images.reshape(len(images), -1)
    pca = timed(lambda: PCA(RANK).fit(flat), repeats)[0]
    print(
        f"em stops after {em.n_iter_} passes at error {error:.4f}; px-em is there after {passes} "
        f"passes, {ours:.3f} s; scikit-learn's PCA({RANK}) {pca:.3f} s; ratio {ours / pca:.2f}"
    )
    seconds, model = timed(lambda: TBVDR(RANK, rank=RANK, center=False).fit(images), repeats)
    print(
        f"px-em to its own end: {model.n_iter_} passes, {seconds:.2f} s, "
        f"error {1 - model.reconstruction_scores_[-1]:.4f}"
    )


if __name__ == "__main__":
    main()

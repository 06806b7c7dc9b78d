"""What sweeps of the M-step cost and gain: passes, seconds and bound by their number a pass.

    TENVEC_DATA=… OPENBLAS_NUM_THREADS=2 python benchmarks/sweeps.py

Fits with the default tolerance. "To the common bound" is the time to the lowest of the bounds that
the numbers of sweeps end at (within 1e-4 nats an entry): what each of them needs for the same.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from time_to_error import cases

from tenvec import TBVDR
from tenvec.learning.schedule import balanced_sweeps

SWEEPS = (1, 2, 3, 5, 7, 10, 15, 20)


def problems() -> Iterator[tuple[str, np.ndarray, dict[str, Any]]]:
    """Names, samples and settings."""
    yield "digits", load_digits().images, {"n_components": 20}
    for name, images in cases():
        yield name, images, {"n_components": 30}
        yield name, images, {"n_components": 100, "rank": 100, "center": False}


def main() -> None:
    warnings.simplefilter("ignore")
    for name, X, settings in problems():
        k = settings["n_components"]
        chosen = balanced_sweeps(len(X), X.shape[1:], k, settings.get("rank", 2 * k))
        print(f"{name}, {X.shape}, {settings}: {chosen} sweeps by default")
        rows = []
        for n_sweeps in SWEEPS:
            seconds = []
            for _ in range(2):
                begin = time.perf_counter()
                model = TBVDR(**settings, n_sweeps=n_sweeps).fit(X)
                seconds.append(time.perf_counter() - begin)
            rows.append((n_sweeps, min(seconds), model.n_iter_, model.lower_bounds_ / X.size))
        common = min(bounds[-1] for *_, bounds in rows) - 1e-4
        for n_sweeps, seconds, passes, bounds in rows:
            needed = int(np.argmax(bounds >= common)) + 1
            to_common = f"{needed:4} passes, {seconds * needed / passes:6.3f} s"
            print(
                f"  {n_sweeps:3} sweeps: {passes:4} passes, {seconds:6.3f} s, "
                f"{bounds[-1]:8.4f} nats an entry; to the common bound {to_common}",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""The starts of a fit: one by one, in joblib's workers, or sharing passes over the data."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from array_api_compat import is_numpy_array
from joblib import Parallel, delayed
from sklearn import config_context, get_config

from tenvec.progress import FitProgress
from tenvec.samples import Samples
from tenvec.samples.shared import SharedPasses, SharedSamples, starts_together

Outcome = TypeVar("Outcome")
Run = Callable[[int, Samples], Outcome]
"""A start by its number, with the samples that it is to learn from."""


def run_starts(
    run: Run[Outcome], samples: Samples, n_components: int, n_starts: int, progress: FitProgress
) -> list[Outcome]:
    """What every start comes to, in their order."""
    groups = starts_together(samples, n_components, n_starts)
    # One accelerator serves one start at a time.
    n_jobs = None if samples.streamed or is_numpy_array(samples.zeros) else 1
    with progress.together():
        outcomes = Parallel(n_jobs, require="sharedmem")(
            delayed(_run_together)(run, samples, group, progress) for group in groups
        )
    return [outcome for group in outcomes for outcome in group]


def _run_together(
    run: Run[Outcome], samples: Samples, starts: range, progress: FitProgress
) -> list[Outcome]:
    """Starts that share their passes; they do not depend on who is the faster."""
    if len(starts) == 1:
        return [run(starts[0], samples)]
    passes = SharedPasses(samples, starts)
    configuration = get_config()

    def run_one(start: int) -> Outcome:
        try:
            with config_context(**configuration), progress.together(), passes.turn:
                return run(start, SharedSamples(passes, start))
        finally:
            passes.leave(start)

    futures: list[Future[Outcome]] = []
    with ThreadPoolExecutor(len(starts)) as threads, progress.together():
        try:
            # What the caller has set for NumPy and scikit-learn holds in the threads too.
            futures.extend(threads.submit(copy_context().run, run_one, start) for start in starts)
            return [future.result() for future in futures]
        finally:
            for start in starts[len(futures) :]:
                passes.leave(start)  # never begun: nobody need wait for it

"""CP, Tucker and GLRAM against tensorly, pyttb and pykale's MPCA; BayesianCP against the clock.

    TENVEC_DATA=… python benchmarks/baselines_cp_tucker.py [--part cp tucker bayes]

Every peer makes a fixed number of iterations, CP from a random start. CP of ours is timed until it
reaches the peer's final error, from its own start and from a random one; where it never does, the
time is infinite. HOOI is deterministic: Tucker and GLRAM make as many iterations as the peer from
the same HOSVD start, and the errors are printed. Seconds are the least of three runs, or of fewer
where they take more than five. Without TENVEC_DATA the cases are planted arrays of the same sizes.

pykale's MPCA needs neither torch nor lightning itself: `pip install --no-deps --target DIR pykale`
and PYTHONPATH=DIR are enough for this comparison. It is left out where it cannot be imported.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyttb
import tensorly.decomposition
from threadpoolctl import threadpool_info

from tenvec.baselines import CP, GLRAM, BayesianCP, Tucker
from tenvec.datasets import load_extended_yale_b, load_weizmann

try:
    from kale.embed.factorization import MPCA
except ImportError:
    MPCA = None

ITERATIONS = 50


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    seconds, result = [], None
    while len(seconds) < 3 and sum(seconds) < 5:
        with contextlib.redirect_stdout(io.StringIO()):  # pyttb talks
            start = time.perf_counter()
            result = run()
            seconds.append(time.perf_counter() - start)
    return min(seconds), result


def spread_over(data: np.ndarray, count: int) -> np.ndarray:
    chosen = np.linspace(0, len(data) - 1, count).astype(int)
    return np.ascontiguousarray(data[chosen], dtype=np.float64)


def cases() -> list[tuple[str, np.ndarray]]:
    if os.environ.get("TENVEC_DATA"):
        faces, clips = load_extended_yale_b().data, load_weizmann().data
        spread = [
            np.linspace(0, len(x) - 1, n).astype(int) for x, n in ((faces, 760), (clips, 400))
        ]
        return [
            ("Yale", np.ascontiguousarray(faces[spread[0]], dtype=np.float64)),
            ("Weizmann", np.ascontiguousarray(clips[spread[1]], dtype=np.float64)),
        ]
    rng = np.random.default_rng(0)
    made = []
    for shape in ((760, 32, 32), (400, 30, 30, 12)):
        factors = [rng.random((size, 40)) ** 4 for size in shape]
        letters = "ijkl"[: len(shape)]
        subscripts = ",".join(f"{letter}r" for letter in letters) + "->" + letters
        signal = np.einsum(subscripts, *factors, optimize=True)
        made.append((f"planted {shape}", signal + 0.1 * rng.standard_normal(shape)))
    return made


def compare(name: str, ours: float, peers: dict[str, float]) -> None:
    fastest = min(peers, key=lambda peer: peers[peer])
    listed = ", ".join(f"{peer} {seconds:.3f} s" for peer, seconds in peers.items())
    verdict = "faster" if ours <= peers[fastest] else "SLOWER"
    print(
        f"{name}: tenvec {ours:.3f} s; {listed}: {peers[fastest] / ours:.2f} times {fastest}, "
        f"{verdict}",
        flush=True,
    )


def ours_to_error(X: np.ndarray, rank: int, error: float, init: str) -> tuple[float, int]:
    """Seconds and passes until CP is at most that far off; infinite where it never is."""
    settings = {"init": init, "random_state": 0, "tol": 0}
    errors = CP(rank, max_iter=200, **settings).fit(X).errors_
    reached = np.flatnonzero(errors <= error)
    if not reached.size:
        return float("inf"), 0
    passes = int(reached[0]) + 1
    return timed(lambda: CP(rank, max_iter=passes, **settings).fit(X))[0], passes


def cp(name: str, X: np.ndarray, rank: int) -> None:
    norm = np.linalg.norm(X)

    def tensorly_cp() -> float:
        _, errors = tensorly.decomposition.parafac(
            X, rank, init="random", random_state=0, n_iter_max=ITERATIONS, tol=0, return_errors=True
        )
        return float(errors[-1])

    def pyttb_cp() -> float:
        np.random.seed(0)  # noqa: NPY002 (its own starts come from there)
        model, _, _ = pyttb.cp_als(
            pyttb.tensor(X, copy=False), rank, maxiters=ITERATIONS, stoptol=0, printitn=0
        )
        factors, weights = model.factor_matrices, model.weights
        square = weights @ np.prod([f.T @ f for f in factors], axis=0) @ weights
        inner = model.innerprod(pyttb.tensor(X, copy=False))
        return float(np.sqrt(max(norm**2 - 2 * inner + square, 0)) / norm)

    for peer, run in (("tensorly", tensorly_cp), ("pyttb", pyttb_cp)):
        try:
            seconds, error = timed(run)
        except np.linalg.LinAlgError as failure:
            print(f"CP {name}, R = {rank}: {peer} failed: {failure}")
            continue
        for init in ("svd", "uniform"):
            ours, passes = ours_to_error(X, rank, error, init)
            compare(
                f"CP {name}, R = {rank}, to the error {error:.4f} of {ITERATIONS} iterations "
                f"(ours {passes} passes from {init!r})",
                ours,
                {peer: seconds},
            )


def tucker(name: str, X: np.ndarray, ranks: tuple[int, ...]) -> None:
    iterations = 10
    all_ranks = [20, *ranks]
    ours, model = timed(
        lambda: Tucker(20, ranks=ranks, init="hosvd", max_iter=iterations, tol=0).fit(X)
    )
    theirs, (_, errors) = timed(
        lambda: tensorly.decomposition.tucker(
            X, rank=all_ranks, init="svd", n_iter_max=iterations, tol=0, return_errors=True
        )
    )
    data = pyttb.tensor(X, copy=False)

    def pyttb_tucker() -> Any:
        return pyttb.tucker_als(
            data, np.array(all_ranks), maxiters=iterations, stoptol=0, init="nvecs", printitn=0
        )

    pyttb_seconds, (fitted, _, _) = timed(pyttb_tucker)
    norm = np.linalg.norm(X)
    pyttb_error = np.sqrt(max(norm**2 - np.linalg.norm(fitted.core.data) ** 2, 0)) / norm
    compare(
        f"Tucker {name}, {all_ranks}, {iterations} iterations (errors {model.errors_[-1]:.6f}, "
        f"{float(errors[-1]):.6f}, {pyttb_error:.6f})",
        ours,
        {"tensorly": theirs, "pyttb": pyttb_seconds},
    )
    ours, model = timed(lambda: Tucker(20, ranks=ranks, max_iter=0).fit(X))
    theirs, fitted = timed(
        lambda: pyttb.hosvd(data, 0.0, verbosity=0, sequential=True, ranks=np.array(all_ranks))
    )
    pyttb_error = np.sqrt(max(norm**2 - np.linalg.norm(fitted.core.data) ** 2, 0)) / norm
    compare(
        f"ST-HOSVD {name}, {all_ranks} (errors {model.errors_[-1]:.6f}, {pyttb_error:.6f})",
        ours,
        {"pyttb": theirs},
    )


def glram(name: str, X: np.ndarray, ranks: tuple[int, ...]) -> None:
    iterations = 10
    modes = list(range(1, X.ndim))
    ours, model = timed(lambda: GLRAM(ranks, max_iter=iterations, tol=0).fit(X))
    theirs, (_, errors) = timed(
        lambda: tensorly.decomposition.partial_tucker(
            X, rank=list(ranks), modes=modes, init="svd", n_iter_max=iterations, tol=0
        )
    )
    compare(
        f"GLRAM {name}, {ranks}, {iterations} iterations (errors {model.errors_[-1]:.6f}, "
        f"{float(errors[-1]):.6f})",
        ours,
        {"tensorly": theirs},
    )
    if MPCA is None:
        print("pykale cannot be imported: its MPCA is left out.")
        return
    theirs, fitted = timed(lambda: MPCA(var_ratio=0.9, max_iter=iterations).fit(X))
    same = tuple(int(size) for size in fitted.shape_out)
    ours, model = timed(lambda: GLRAM(same, center=True, max_iter=iterations, tol=0).fit(X))
    restored = fitted.inverse_transform(fitted.transform(X))
    error = np.linalg.norm(restored - X) / np.linalg.norm(X - X.mean(axis=0))
    compare(
        f"MPCA {name}, {same}, {iterations} iterations (errors {model.errors_[-1]:.6f}, "
        f"{error:.6f})",
        ours,
        {"pykale": theirs},
    )


def bayes(name: str, X: np.ndarray) -> None:
    for rank in (50, 100):
        seconds, model = timed(lambda rank=rank: BayesianCP(rank).fit(X))
        print(
            f"BayesianCP {name}, at most {rank} components: {seconds:.2f} s, {model.n_iter_} "
            f"sweeps, {model.n_components_} components, {model.stop_reason_}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ["cp", "tucker", "bayes"]
    parser.add_argument("--part", nargs="+", choices=parts, default=parts)
    parser.add_argument("--ranks", nargs="+", type=int, default=[20, 50, 100], help="of CP")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    pools = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    print(f"BLAS threads: {sorted(pools)}; peers: tensorly, pyttb{', pykale' if MPCA else ''}")
    for name, X in cases():
        print(f"{name}: {X.shape}")
        if "cp" in arguments.part:
            for rank in arguments.ranks:
                cp(name, X, rank)
        if "tucker" in arguments.part:
            for ranks in ((10, 10, 6), (20, 20, 8)):
                tucker(name, X, ranks[: X.ndim - 1])
                glram(name, X, ranks[: X.ndim - 1])
        if "bayes" in arguments.part:
            bayes(name, X)


if __name__ == "__main__":
    main()

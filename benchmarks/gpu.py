"""One GPU: an iteration against its two matrix products, whole fits, and streaming from the host.

    python benchmarks/gpu.py check iteration fits stream

Medians of 20 after a warm-up, by device events. ``fits`` runs the same on the CPU and tensorly's
CP-ALS, on its PyTorch backend, on the same tensors. ``stream`` needs 70 GB of host memory
(``--gigabytes`` takes less).
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from tenvec import TBVDR
from tenvec.learning.evidence import NoisePrior
from tenvec.learning.expectation import expectation, posterior
from tenvec.learning.initialization import start
from tenvec.learning.iteration import ParameterExpandedEM, finished
from tenvec.learning.maximization import maximization, whitened
from tenvec.learning.parameters import Parameters
from tenvec.learning.replay import replayed
from tenvec.samples.array import ArraySamples
from tenvec.samples.host import HostArray
from tenvec.samples.normalization import measure

REPEATS = 20


def milliseconds(run: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Median over repeats, by events on the device."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def planted(n_samples: int, shape: tuple[int, ...], k: int, dtype: Any, device: str) -> Any:
    """Samples of a random basis of k tensors, with as much noise as signal."""
    generator = torch.Generator(device).manual_seed(0)
    size = int(np.prod(shape))
    basis = torch.randn(k, size, generator=generator, device=device, dtype=dtype) / k**0.5
    X = torch.randn(n_samples, size, generator=generator, device=device, dtype=dtype)
    for begin in range(0, n_samples, 50_000):
        part = X[begin : begin + 50_000]
        weights = torch.randn(len(part), k, generator=generator, device=device, dtype=dtype)
        part += weights @ basis
    return X.reshape(n_samples, *shape)


def iteration() -> None:
    """One pass with one sweep: M = 200 000 samples of 64 × 64, K = R = 100."""
    n_samples, shape, k = 200_000, (64, 64), 100
    print("\niteration: 200 000 × 64 × 64, K = R = 100, one sweep; milliseconds")
    for name, dtype, tf32 in [
        ("float64", torch.float64, False),
        ("float32", torch.float32, False),
        ("TF32", torch.float32, True),
    ]:
        X = planted(n_samples, shape, k, dtype, "cuda")
        flat = X.reshape(n_samples, -1)
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        C = torch.randn(flat.shape[1], k, dtype=dtype, device="cuda")
        normalization = measure(X, center=True, scale_axes=None)
        samples = ArraySamples(X, normalization)
        factors, wh = start(samples, k, k, "normal", 0, unit=normalization.unit, raw_unit=None)
        parameters = Parameters(factors, wh, 10.0)
        algorithm = ParameterExpandedEM(NoisePrior(1e-6, 1e-6), 1e-4, 1)
        for _ in range(3):
            parameters = algorithm.update(samples, parameters).parameters
        moments = expectation(samples, parameters)
        update = partial(algorithm.update, samples)
        replay = replayed(update, parameters)
        rows = {
            "two products, U = YC and UᵀY": lambda flat=flat, C=C: (flat @ C).T @ flat,
            "the same, Uᵀ = CᵀYᵀ": lambda flat=flat, C=C: (C.T @ flat.T) @ flat,
            "a pass": lambda s=samples, C=C: s.moments(C.to(torch.float64)),
            "posterior": lambda p=parameters: posterior(p),
            "M-step, one sweep": lambda m=moments, p=parameters: maximization(
                *whitened(m, p, 1)[:2], 1
            ),
            "iteration, kernel by kernel": lambda s=samples, p=parameters, u=update: finished(
                s, u(p)
            ),
            "iteration": lambda s=samples, p=parameters, r=replay: finished(s, r(p)),
        }
        for what, run in rows.items():
            print(f"  {name:8} {what:30} {milliseconds(run):8.3f}", flush=True)
        if tf32:
            exact = expectation(samples, parameters).with_data
            torch.set_float32_matmul_precision("highest")
            error = (exact - expectation(samples, parameters).with_data).norm() / exact.norm()
            print(f"  TF32's relative error of UᵀY: {float(error):.1e}")
        if name == "float64":
            profile(lambda u=update, p=parameters: u(p))
        del X, flat, samples
        torch.cuda.empty_cache()
    torch.set_float32_matmul_precision("highest")


def profile(run: Callable[[], Any]) -> None:
    """The kernels of an iteration that take longest."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as recorded:
        for _ in range(5):
            run()
    rows = [row for row in recorded.key_averages() if row.self_device_time_total > 0]
    rows.sort(key=lambda row: -row.self_device_time_total)
    print(f"  profile of 5 iterations: {sum(row.count for row in rows)} device activities")
    for row in rows[:14]:
        print(
            f"    {row.self_device_time_total / 5e3:8.3f} ms {row.count / 5:6.1f} × {row.key[:70]}"
        )


def check() -> None:
    """Small fits on every library's GPU arrays against NumPy's."""
    rng = np.random.default_rng(0)
    X = np.tensordot(rng.standard_normal((500, 4)), rng.standard_normal((4, 6, 5)), 1)
    X += 0.3 * rng.standard_normal(X.shape) + 2
    expected = TBVDR(4, tol=0, max_iter=20).fit(X)
    features = expected.transform(X)
    libraries: dict[str, Any] = {"torch": lambda: torch.asarray(X, device="cuda")}
    try:
        import cupy

        libraries["cupy"] = lambda: cupy.asarray(X)
    except ImportError:
        print("  CuPy is not installed")
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        libraries["jax"] = lambda: jax.numpy.asarray(X)
    except ImportError:
        print("  JAX is not installed")
    for name, convert in libraries.items():
        there = convert()
        model = TBVDR(4, tol=0, max_iter=20).fit(there)
        moved = model.move_to(X)
        error = np.abs(moved.transform(X) - features).max()
        where = type(model.transform(there)).__module__
        print(f"  {name:6} features within {error:.1e} of NumPy's; results are {where}'s")
    streamed = TBVDR(4, tol=0, max_iter=20, device="cuda").fit(X)
    error = np.abs(streamed.transform(X) - features).max()
    print(f"  streamed to the GPU: within {error:.1e}")


def fits(cpu_seconds: float) -> None:
    """Whole fits in float32, beside the CPU and tensorly."""
    import tensorly
    from tensorly.decomposition import parafac

    tensorly.set_backend("pytorch")
    for n_samples, shape, k in [(100_000, (30, 30, 12), 200), (1_000_000, (32, 32), 100)]:
        print(f"\nfit: {n_samples} × {shape}, K = R = {k}, float32")
        X = planted(n_samples, shape, k, torch.float32, "cuda")
        settings: dict[str, Any] = {"n_components": k, "rank": k, "random_state": 0}
        TBVDR(**settings, max_iter=2, tol=0).fit(X)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        model = TBVDR(**settings).fit(X)
        seconds = time.perf_counter() - begin
        score = model.reconstruction_scores_[-1]
        print(f"  GPU {seconds:8.2f} s, {model.n_iter_} passes, e = {score:.5f}", flush=True)
        try:
            begin = time.perf_counter()
            cp = parafac(X, k, n_iter_max=10, tol=0, init="random", random_state=0)
            torch.cuda.synchronize()
            theirs = time.perf_counter() - begin
            error = tensorly.norm(tensorly.cp_to_tensor(cp) - X) / tensorly.norm(X)
            print(f"  tensorly CP-ALS, 10 sweeps {theirs:8.2f} s, e = {1 - float(error):.5f}")
        except torch.cuda.OutOfMemoryError as error:
            print(f"  tensorly CP-ALS: {str(error).splitlines()[0][:90]}")
        torch.cuda.empty_cache()
        host = X.cpu().numpy()
        del X
        torch.cuda.empty_cache()
        begin = time.perf_counter()
        TBVDR(**settings, max_iter=2, tol=0).fit(host)
        two = time.perf_counter() - begin
        if two / 2 * model.n_iter_ < cpu_seconds:
            begin = time.perf_counter()
            again = TBVDR(**settings).fit(host)
            seconds = time.perf_counter() - begin
            print(f"  CPU {seconds:8.2f} s, {again.n_iter_} passes", flush=True)
        else:
            print(f"  CPU {two:8.2f} s for 2 passes of {model.n_iter_}", flush=True)
        begin = time.perf_counter()
        streamed = TBVDR(**settings, device="cuda").fit(host)
        seconds = time.perf_counter() - begin
        print(f"  GPU from host memory {seconds:8.2f} s, {streamed.n_iter_} passes", flush=True)


def stream(gigabytes: float) -> None:
    """Samples in pageable host memory that are larger than would be kept on the device."""
    n_samples = int(gigabytes * 1e9 / 4 / 4096)
    print(f"\nstream: {n_samples} × 64 × 64 float32, {gigabytes:g} GB of pageable host memory")
    X = np.empty((n_samples, 64, 64), dtype=np.float32)
    tile = planted(50_000, (64, 64), 20, torch.float32, "cuda").cpu().numpy()
    for begin in range(0, n_samples, len(tile)):
        part = X[begin : begin + len(tile)]
        part[...] = tile[: len(part)]
    source = torch.empty(2**30, dtype=torch.float32, pin_memory=True)
    pinned = 4 * source.numel() / milliseconds(lambda: source.to("cuda", non_blocking=True), 5)
    print(f"  pinned copy {pinned / 1e6:.1f} GB/s", flush=True)
    pageable = torch.from_numpy(X[:50_000])
    rate = pageable.nbytes / milliseconds(lambda: pageable.to("cuda"), 3)
    print(f"  PyTorch's own copy of pageable memory {rate / 1e6:.1f} GB/s", flush=True)
    for what in ("copy alone", "a pass of the fit"):
        samples = HostArray(X, torch.device("cuda"))
        if what == "a pass of the fit":
            normalization = measure(X[:50_000], center=True, scale_axes=None)
            learned = ArraySamples(
                samples, normalization.__class__(**_on_gpu(normalization.__dict__))
            )
            C = torch.randn(4096, 100, dtype=torch.float64, device="cuda")
        for _ in range(2):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            if what == "copy alone":
                for _ in samples.blocks():
                    pass
            else:
                learned.moments(C)
            torch.cuda.synchronize()
            seconds = time.perf_counter() - begin
        rate = X.nbytes / seconds / 1e9
        print(f"  {what}: {seconds:.2f} s, {rate:.1f} GB/s, {rate / pinned * 1e6:.0%} of pinned")
    begin = time.perf_counter()
    model = TBVDR(100, rank=100, init="normal", random_state=0, max_iter=5, tol=0, device="cuda")
    model.fit(X)
    seconds = time.perf_counter() - begin
    print(f"  a fit of 5 passes and one to measure: {seconds:.1f} s")


def _on_gpu(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: torch.asarray(value, device="cuda") if isinstance(value, np.ndarray) else value
        for name, value in fields.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=["check", "iteration", "fits", "stream"])
    parser.add_argument("--gigabytes", type=float, default=64)
    parser.add_argument("--cpu-seconds", type=float, default=100, help="longest fit on the CPU")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{torch.cuda.get_device_name()}, {os.cpu_count()} CPU cores, Python "
        f"{platform.python_version()}, PyTorch {torch.__version__}, NumPy {np.__version__}"
    )
    for part in options.parts:
        if part == "check":
            check()
        elif part == "iteration":
            iteration()
        elif part == "fits":
            fits(options.cpu_seconds)
        else:
            stream(options.gigabytes)


if __name__ == "__main__":
    main()
